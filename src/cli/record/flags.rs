//! The flags that set the collector's variables: one for each row of [`VARIABLES`] that has one.

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Arg, ArgMatches, Command};
use shim_config::variables::Flag;
use shim_config::{VARIABLES, Variable};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;

/// The settings that were given as flags, checked.
#[derive(Clone, Debug, Default)]
pub struct SettingFlags(Vec<(&'static str, OsString)>);

impl SettingFlags {
    /// Names of variables with the values that the flags ask for.
    pub fn variables(&self) -> impl Iterator<Item = (&'static str, &OsString)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }
}

fn flag_name(variable: &Variable) -> Option<&'static str> {
    match variable.flag {
        Flag::Value(name, _) | Flag::Switch(name) => Some(name),
        Flag::None => None,
    }
}

/// The settings that the short help shows; the long one has all.
const SHORT: [&str; 6] = [
    "GPUPROF_CAPTURE",
    "GPUPROF_BUDGET",
    "GPUPROF_MAX_RANGES",
    "GPUPROF_PRESET",
    "GPUPROF_RING",
    "GPUPROF_DUMP_ON",
];

fn argument(variable: &'static Variable, name: &'static str) -> Arg {
    let check = move |value: OsString| variable.check(value.as_bytes()).map(|()| value);
    let default =
        if variable.default.is_empty() { String::new() } else { format!(" [default: {}]", variable.default) };
    let arg = Arg::new(variable.name)
        .long(name)
        .help(format!("{}: {}{default}", variable.doc, variable.range))
        .hide_short_help(!SHORT.contains(&variable.name))
        .help_heading("Settings of the collector (each also a variable GPUPROF_...)")
        .value_parser(OsStringValueParser::new().try_map(check));
    match variable.flag {
        Flag::Value(_, value_name) => arg.value_name(value_name),
        _ => arg.value_name("on|off").num_args(0..=1).require_equals(true).default_missing_value("on"),
    }
}

impl clap::FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = SettingFlags::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let given = |variable: &Variable| matches.get_one::<OsString>(variable.name).cloned();
        let with_flags = VARIABLES.iter().filter(|variable| flag_name(variable).is_some());
        self.0 = with_flags.filter_map(|v| Some((v.name, given(v)?))).collect();
        Ok(())
    }
}

impl clap::Args for SettingFlags {
    fn augment_args(command: Command) -> Command {
        let flags = VARIABLES.iter().filter_map(|variable| Some(argument(variable, flag_name(variable)?)));
        command.args(flags)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
