//! Defaults from files, put into a command line as if they had been typed before everything else.

use super::file::{self, Found, SECTIONS, Scope, Setting, Surroundings, Value};
use crate::cli::Cli;
use crate::error::{Error, Result};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory as _};
use std::ffi::OsString;
use std::io::{self, Write as _};

/// The variable that says that no file is read.
const OFF: &str = "GPUPROF_NO_CONFIG";

/// What files say.
pub struct Defaults {
    /// The files that there are.
    pub files: Vec<Found>,
    /// What stands in those that are read; the project's first, which counts more.
    pub settings: Vec<Setting>,
}

impl Defaults {
    /// Reads the files that there are.
    ///
    /// # Errors
    /// Fails if a file is wrong: the error names file, line and key.
    pub fn read() -> Result<Defaults> {
        let mut defaults = Defaults { files: Vec::new(), settings: Vec::new() };
        if std::env::var_os(OFF).is_some_and(|value| !value.is_empty()) {
            return Ok(defaults);
        }
        defaults.files = Surroundings::new().files();
        if defaults.files.is_empty() {
            return Ok(defaults);
        }
        let root = root();
        let options = |command: &str| options(&root, command).map(|arg| long(arg).to_owned()).collect();
        for found in defaults.files.iter().filter(|found| found.refused.is_none()) {
            let settings = file::read(found, &options)?;
            for setting in &settings {
                check(&root, setting)?;
            }
            defaults.settings.extend(settings);
        }
        Ok(defaults)
    }

    /// What is in force of a command, if nothing is typed: of a key that both files have, the project's.
    pub fn of<'a>(&'a self, command: &str) -> Vec<&'a Setting> {
        let mut chosen: Vec<&Setting> = Vec::new();
        for setting in self.settings.iter().filter(|setting| setting.command == command) {
            if chosen.iter().all(|other| other.key != setting.key) {
                chosen.push(setting);
            }
        }
        chosen
    }

    /// What a person has to know about files that are not read.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        self.files.iter().filter_map(|found| {
            let why = found.refused.as_ref()?;
            Some(format!(
                "{}: not read, as {why}, and it could name what is run and where files are written; copy it to {} to use it",
                found.path.display(),
                "~/.config/gpuprof/gpuprof.toml"
            ))
        })
    }
}

/// The command with everything below it, as clap completes it before it parses.
pub fn root() -> Command {
    let mut root = Cli::command();
    root.build();
    root
}

/// The options of a command that a file may set.
pub fn options<'a>(root: &'a Command, command: &str) -> impl Iterator<Item = &'a Arg> {
    let command = root.find_subcommand(command);
    command.into_iter().flat_map(Command::get_arguments).filter(|arg| {
        arg.get_long().is_some()
            && !arg.is_hide_set()
            && !matches!(arg.get_action(), ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong)
    })
}

/// The long name of an option.
pub fn long(arg: &Arg) -> &str {
    arg.get_long().unwrap_or_default()
}

/// The variable of the environment that sets an option of `record`, if it is set.
pub fn variable(command: &str, arg: &Arg) -> Option<(String, String)> {
    let name = match (command, arg.get_id().as_str()) {
        ("record", "output") => "GPUPROF_OUTPUT",
        // Flags of the collector's settings are called as the variable is.
        ("record", id) if id.starts_with(shim_config::variables::PREFIX) => id,
        _ => return None,
    };
    let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
    Some((name.to_owned(), value.to_string_lossy().into_owned()))
}

/// The words that stand for a setting.
fn words(arg: &Arg, setting: &Setting) -> Result<Vec<OsString>> {
    let key = &setting.key;
    let takes_values = arg.get_num_args().is_some_and(|range| range.takes_values());
    // Settings of the collector are switched by these words.
    let of_the_collector = shim_config::VARIABLES.iter().find(|variable| variable.name == arg.get_id().as_str());
    let is_switched = of_the_collector.is_some_and(|variable| variable.check(b"off").is_ok());
    match &setting.value {
        Value::Switch(on) if is_switched => Ok(vec![format!("--{key}={}", if *on { "on" } else { "off" }).into()]),
        Value::Switch(_) if takes_values => Err(setting.error("takes a value and is not switched on or off")),
        Value::Switch(on) => Ok(on.then(|| format!("--{key}").into()).into_iter().collect()),
        Value::Texts(_) if !takes_values => Err(setting.error("is a switch: true or false")),
        Value::Texts(texts) if texts.len() != 1 && !matches!(arg.get_action(), ArgAction::Append) => {
            Err(setting.error("takes one value, not a list"))
        }
        Value::Texts(texts) => Ok(texts.iter().map(|text| format!("--{key}={text}").into()).collect()),
    }
}

/// Fails if the value of a setting is none that its option takes.
fn check(root: &Command, setting: &Setting) -> Result<()> {
    let arg = options(root, setting.command).find(|arg| long(arg) == setting.key);
    let (Some(arg), Some(command)) = (arg, root.find_subcommand(setting.command)) else { return Ok(()) };
    let words = words(arg, setting)?;
    let parsed = command.clone().try_get_matches_from(std::iter::once(setting.command.into()).chain(words));
    match parsed {
        Err(error) if matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation) => {
            Err(setting.error(said(&error)))
        }
        // What else is missing, such as the program to record, may be typed.
        _ => Ok(()),
    }
}

/// What clap says, in one line and without its form.
fn said(error: &clap::Error) -> String {
    let text = error.to_string();
    let lines =
        text.lines().map(str::trim).take_while(|line| !line.starts_with("For more") && !line.starts_with("Usage"));
    let words: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    words.join(" ").trim_start_matches("error: ").to_owned()
}

/// What of a command line comes from files.
#[derive(Clone, Debug, Default)]
pub struct FromFiles(Vec<Setting>);

impl FromFiles {
    /// The line, for people.
    fn place(setting: &Setting) -> String {
        format!("{} line {}: {}", setting.path.display(), setting.line, setting.key)
    }

    /// An error about options that nobody typed says where they stand.
    pub fn explain(&self, error: Error) -> Error {
        let text = error.to_string();
        let is_named = |setting: &&Setting| {
            let option = format!("--{}", setting.key);
            let rest = text.split(&option).skip(1);
            rest.into_iter().any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-'))
        };
        let places: Vec<String> = self.0.iter().filter(is_named).map(FromFiles::place).collect();
        match places.is_empty() || error.is_verbatim() || error.is_closed_pipe() {
            true => error,
            false => error.remedy(&format!("not typed but from {}; {OFF}=1 leaves files out", places.join(", "))),
        }
    }

    /// What to say where a command line is only wrong with what files add to it.
    pub fn contradiction(&self, error: &clap::Error) -> Error {
        let places: Vec<String> = self.0.iter().map(FromFiles::place).collect();
        Error::new(format!("what is typed does not go with what files say: {}", said(error)))
            .remedy(&format!("{OFF}=1 leaves files out; they say: {}", places.join("; ")))
    }
}

/// A command line of `record` or `report` with what files say put behind the name of the command: what was not typed and
/// what no variable of the environment says; `None`: files have nothing to add.
///
/// # Errors
/// Fails if a file is wrong.
pub fn with_defaults(words: &[OsString]) -> Result<Option<(Vec<OsString>, FromFiles)>> {
    let (mut added, mut from_files) = (Vec::new(), FromFiles::default());
    let [program, name, rest @ ..] = words else { return Ok(None) };
    let Some(command) = SECTIONS.into_iter().find(|section| name == section) else { return Ok(None) };
    let defaults = Defaults::read()?;
    for note in defaults.notes() {
        // Nobody may be listening any more.
        let _ = writeln!(io::stderr(), "gpuprof: {note}");
    }
    let chosen = defaults.of(command);
    if chosen.is_empty() {
        return Ok(None);
    }
    let root = root();
    let typed = root.find_subcommand(command).and_then(|command| {
        let command = command.clone().ignore_errors(true);
        command.try_get_matches_from(words.get(1..).unwrap_or_default()).ok()
    });
    for setting in chosen {
        let Some(arg) = options(&root, command).find(|arg| long(arg) == setting.key) else { continue };
        let is_typed =
            |matches: &ArgMatches| matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
        if typed.as_ref().is_some_and(is_typed) || variable(command, arg).is_some() {
            continue;
        }
        added.extend(self::words(arg, setting)?);
        from_files.0.push(setting.clone());
    }
    let before = [program.clone(), name.clone()];
    Ok(Some((before.into_iter().chain(added).chain(rest.iter().cloned()).collect(), from_files)))
}

/// The word for where a setting comes from.
pub fn origin(setting: &Setting) -> String {
    let Setting { path, line, .. } = setting;
    match setting.scope {
        Scope::Project => format!("project: {}:{line}", path.display()),
        Scope::User => format!("user: {}:{line}", path.display()),
    }
}
