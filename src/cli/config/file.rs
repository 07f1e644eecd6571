//! The files that hold defaults: where they are looked for, which of them are trusted, and what stands in them.

use crate::error::{Error, Result};
use shim_config::nearest::nearest;
use std::ops::Range;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What such a file is called.
pub const NAME: &str = "gpuprof.toml";

/// The commands that have a section.
pub const SECTIONS: [&str; 2] = ["record", "report"];

/// Whose defaults a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everybody's who works in this folder.
    Project,
    /// The user's.
    User,
}

impl Scope {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Scope::Project => "project",
            Scope::User => "user",
        }
    }
}

/// A file that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Where it is.
    pub path: PathBuf,
    /// Whose defaults it holds.
    pub scope: Scope,
    /// Why it is not read; `None`: it is.
    pub refused: Option<String>,
}

/// What a key is set to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `true` or `false`.
    Switch(bool),
    /// A text or number, or a list of them.
    Texts(Vec<String>),
}

/// A line of a file.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The command that it is for.
    pub command: &'static str,
    /// The long name of the option.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// Whose it is.
    pub scope: Scope,
}

impl Setting {
    /// An error about this line.
    pub fn error(&self, why: impl std::fmt::Display) -> Error {
        Error::at(&self.path, format_args!("line {}: {}: {why}", self.line, self.key))
    }
}

/// Where files are looked for.
pub struct Surroundings {
    /// The current folder.
    pub here: PathBuf,
    /// The user's own folder.
    pub home: Option<PathBuf>,
    /// Where the user's settings are, such as `~/.config`.
    pub settings: Option<PathBuf>,
    /// The user.
    pub uid: u32,
}

impl Surroundings {
    /// Those of this process.
    pub fn new() -> Surroundings {
        let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = absolute("HOME");
        Surroundings {
            here: std::env::current_dir().unwrap_or_default(),
            settings: absolute("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config"))),
            home,
            uid: rustix::process::geteuid().as_raw(),
        }
    }

    /// The files that there are, the one that counts more first. The project's is the nearest one from the current folder
    /// up to the root of the repository or the user's own folder.
    pub fn files(&self) -> Vec<Found> {
        let is_last = |folder: &Path| folder.join(".git").exists() || self.home.as_deref() == Some(folder);
        let mut project = None;
        for folder in self.here.ancestors() {
            let path = folder.join(NAME);
            if path.is_file() {
                project = Some(Found { refused: self.refusal(folder, &path), path, scope: Scope::Project });
                break;
            }
            if is_last(folder) {
                break;
            }
        }
        let user = self.settings.as_ref().map(|folder| folder.join("gpuprof").join(NAME));
        let user = user.filter(|path| path.is_file());
        project.into_iter().chain(user.map(|path| Found { path, scope: Scope::User, refused: None })).collect()
    }

    /// Why a project's file is not to be read: it may name what is run, and where files are written.
    fn refusal(&self, folder: &Path, file: &Path) -> Option<String> {
        for (what, path) in [("its folder", folder), ("it", file)] {
            match path.metadata() {
                Ok(about) if about.uid() != self.uid => {
                    return Some(format!("{what} belongs to another user (uid {})", about.uid()));
                }
                Ok(about) if about.mode() & 0o002 != 0 => return Some(format!("everybody may write to {what}")),
                Ok(_) => {}
                Err(error) => return Some(error.to_string()),
            }
        }
        None
    }
}

/// Reads a file. Names of options are checked against `options`, which gives those of a command.
///
/// # Errors
/// Fails if the file cannot be read or is no TOML, and names file, line and key where it has what nobody knows.
pub fn read(found: &Found, options: &dyn Fn(&str) -> Vec<String>) -> Result<Vec<Setting>> {
    let path = &found.path;
    let text = std::fs::read_to_string(path).map_err(|e| Error::at(path, format_args!("cannot be read: {e}")))?;
    let line = |span: Range<usize>| 1 + text.bytes().take(span.start).filter(|byte| *byte == b'\n').count();
    let document = DeTable::parse(&text).map_err(|error| {
        let at = error.span().map_or(1, line);
        Error::at(path, format_args!("line {at}: {}", error.message().replace('\n', ", ")))
            .remedy("values are written key = \"text\", key = 1 or key = true, under [record] or [report]")
    })?;
    let mut settings = Vec::new();
    for (name, value) in in_order(document.get_ref()) {
        let at = line(name.span());
        let Some(command) = SECTIONS.into_iter().find(|section| *section == name.get_ref().as_ref()) else {
            let error =
                Error::at(path, format_args!("line {at}: there is no section or key \"{}\" here", name.get_ref()));
            return Err(error.remedy(&suggestion(name.get_ref(), &SECTIONS.map(str::to_owned), "sections are")));
        };
        let DeValue::Table(table) = value.get_ref() else {
            return Err(Error::at(path, format_args!("line {at}: {command} is a section"))
                .remedy(&format!("write [{command}] in a line of its own, and the options below it")));
        };
        let known = options(command);
        for (key, value) in in_order(table) {
            let line = line(key.span());
            if !known.iter().any(|known| known == key.get_ref().as_ref()) {
                let what = format_args!("line {line}: `gpuprof {command}` has no option \"{}\"", key.get_ref());
                let known_are = format!("`gpuprof {command} --help` lists them; some are");
                return Err(Error::at(path, what).remedy(&suggestion(key.get_ref(), &known, &known_are)));
            }
            let mut setting = Setting {
                command,
                key: key.get_ref().to_string(),
                value: Value::Switch(false),
                path: path.clone(),
                line,
                scope: found.scope,
            };
            setting.value = plain(value.get_ref())
                .ok_or_else(|| setting.error("the value is no text, number, true or false, nor a list of such"))?;
            settings.push(setting);
        }
    }
    Ok(settings)
}

/// The entries as they stand in the file, so that the first mistake is named.
fn in_order<'a, 't>(
    table: &'a DeTable<'t>,
) -> Vec<(&'a Spanned<std::borrow::Cow<'t, str>>, &'a Spanned<DeValue<'t>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

fn suggestion(name: &str, known: &[String], otherwise: &str) -> String {
    match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean {near}?"),
        None => {
            let some: Vec<&str> = known.iter().take(5).map(String::as_str).collect();
            format!("{otherwise} {}", some.join(", "))
        }
    }
}

fn plain(value: &DeValue) -> Option<Value> {
    let text = |value: &DeValue| match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(number) => Some(number.to_string()),
        _ => None,
    };
    match value {
        DeValue::Boolean(switch) => Some(Value::Switch(*switch)),
        DeValue::Array(list) => {
            list.iter().map(|value| text(value.get_ref())).collect::<Option<_>>().map(Value::Texts)
        }
        single => text(single).map(|text| Value::Texts(vec![text])),
    }
}
