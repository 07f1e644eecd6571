//! Every option of nvprof 11.8, as its `--help` lists them: name, argument, and what becomes of it here. The parser,
//! `gpuprof nvprof --help` and the table in `docs/nvprof.md` derive from it.

mod rows;

use super::request::Request;

pub use rows::OPTIONS;

/// What follows an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// No value follows.
    None,
    /// `on` or `off`.
    Switch,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A whole number from the first to the second, both included.
    Number(u64, u64),
    /// Anything, shown so in help.
    Text(&'static str),
}

impl Argument {
    /// The text that help shows for it.
    pub fn shown(self) -> String {
        match self {
            Argument::None => String::new(),
            Argument::Switch => "<on|off>".to_owned(),
            Argument::Word(words) => format!("<{}>", words.join("|")),
            Argument::Number(..) => "<number>".to_owned(),
            Argument::Text(what) => format!("<{what}>"),
        }
    }

    /// Whether nvprof takes `value`. What it does not take it calls an invalid option.
    pub fn takes(self, value: &str) -> bool {
        match self {
            Argument::None => false,
            Argument::Switch => matches!(value, "on" | "off"),
            Argument::Word(words) => words.contains(&value),
            Argument::Number(least, most) => value.parse().is_ok_and(|n: u64| (least..=most).contains(&n)),
            Argument::Text(_) => true,
        }
    }
}

/// What becomes of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// What it does in nvprof.
    Works,
    /// It sets the collector, by this variable or this flag of `gpuprof record`.
    Sets(&'static str),
    /// It has no effect; one line says why and what to use, and the run goes on.
    Says(&'static str),
    /// It is refused with one line that says why and what to use; status 2.
    Refused(&'static str),
}

/// One option.
pub struct NvprofOption {
    /// Its name, without dashes.
    pub name: &'static str,
    /// Its letter.
    pub short: Option<char>,
    /// What follows it.
    pub argument: Argument,
    /// What becomes of it.
    pub does: Does,
    /// What it is for, in one line.
    pub doc: &'static str,
    /// Notes it in the request. Only called with an argument that [`Argument::takes`].
    pub set: fn(&mut Request, &str),
}

/// The option of this name.
pub fn by_name(name: &str) -> Option<&'static NvprofOption> {
    OPTIONS.iter().find(|option| option.name == name)
}

/// The option of this letter.
pub fn by_letter(letter: char) -> Option<&'static NvprofOption> {
    OPTIONS.iter().find(|option| option.short == Some(letter))
}

/// Whether the option asks for anything with this argument: what is off by default may be switched off.
pub fn asks(option: &NvprofOption, value: &str) -> bool {
    let default = match option.name {
        "concurrent-kernels" => "on",
        "cpu-profiling-scope" => "function",
        _ => "off",
    };
    value != default
}
