//! `gpuprof config`: which defaults are in force for `record` and `report`, and where they come from.

mod apply;
mod file;

use super::screen::{ScreenArgs, written};
use crate::error::Result;
use crate::render::document::Document;
use crate::render::schemas;
use crate::render::table::{Cell, Format, Heading, Table};
use crate::trace::sink::Note;
use apply::{Defaults, long, options, origin, root, variable};
pub(super) use apply::{FromFiles, with_defaults};
use clap::{Arg, Command};
use file::{SECTIONS, Setting, Value};
use std::io::Write as _;

/// The beginning of the long help.
pub(super) const ABOUT: &str = "Show which defaults are in force for record and report, and where they come from.

What is typed counts most, then the variables GPUPROF_... of the environment, then gpuprof.toml of the project (the nearest \
one from the current folder up to the root of the repository or the home folder), then gpuprof.toml of the user in \
$XDG_CONFIG_HOME/gpuprof or ~/.config/gpuprof. Keys are called as the long options are, under [record] and [report]. A project's \
file that belongs to another user, or lies in such a folder, is not read. GPUPROF_NO_CONFIG=1 leaves out all files.";

/// Arguments of `config`.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  gpuprof config
  gpuprof config --format json
  printf '[report]\\ntop = 20\\nno-insights = true\\n' > gpuprof.toml")]
pub struct Args {
    /// How the answer is written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,

    #[command(flatten)]
    screen: ScreenArgs,
}

/// Runs `config`.
///
/// # Errors
/// Fails if a file is wrong, or if the output cannot be written.
pub fn run(args: &Args) -> Result<()> {
    let defaults = Defaults::read()?;
    let notes: Vec<Note> = defaults.notes().map(|text| Note { code: "config-not-read", text }).collect();
    super::report::say(&notes);
    let for_people = args.format == Format::Table;
    let document =
        Document { notes, tables: vec![files(&defaults), settings(&defaults)], ..Document::new(schemas::CONFIG) };
    let mut out = args.screen.text(for_people).lines(args.screen.open(for_people));
    written(document.write(&mut out, args.format).and_then(|()| out.flush()))
}

fn text(name: &'static str) -> Heading {
    Heading { name, is_text: true }
}

fn files(defaults: &Defaults) -> Table {
    let mut table =
        Table::new("files", "Files", vec![text("Scope"), text("Path"), text("Read")]).with_key(&["Path"]);
    for found in &defaults.files {
        let read = found.refused.as_ref().map_or("yes".to_owned(), |why| format!("no: {why}"));
        table.rows.push(vec![
            found.scope.word().into(),
            Cell::Text(found.path.display().to_string()),
            Cell::Text(read),
        ]);
    }
    table
}

/// Every option that has a value if it is not typed.
fn settings(defaults: &Defaults) -> Table {
    let headings = vec![text("Command"), text("Option"), text("Value"), text("From")];
    let mut table = Table::new("settings", "Settings in Force", headings).with_key(&["Command", "Option"]);
    let root: Command = root();
    for command in SECTIONS {
        let chosen = defaults.of(command);
        for arg in options(&root, command) {
            let Some((value, from)) = in_force(command, arg, &chosen) else { continue };
            let cells = [command.to_owned(), long(arg).to_owned(), value, from];
            table.rows.push(cells.into_iter().map(Cell::Text).collect());
        }
    }
    table
}

/// The value of an option that is not typed, and where it comes from; `None`: it has none.
fn in_force(command: &str, arg: &Arg, chosen: &[&Setting]) -> Option<(String, String)> {
    if let Some((name, value)) = variable(command, arg) {
        return Some((value, format!("environment: {name}")));
    }
    if let Some(setting) = chosen.iter().find(|setting| setting.key == long(arg)) {
        let value = match &setting.value {
            Value::Switch(on) => on.to_string(),
            Value::Texts(texts) => texts.join(", "),
        };
        return Some((value, origin(setting)));
    }
    let of_the_collector = shim_config::VARIABLES.iter().find(|variable| variable.name == arg.get_id().as_str());
    let default = match of_the_collector {
        Some(variable) => variable.default.to_owned(),
        None => {
            let values = arg.get_default_values().iter().map(|value| value.to_string_lossy());
            values.collect::<Vec<_>>().join(", ")
        }
    };
    (!default.is_empty()).then(|| (default, "default".to_owned()))
}
