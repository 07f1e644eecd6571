//! nvprof's command line, read as nvprof reads it: options before the application, exact names, `--name value` (and
//! `--name=value`, which nvprof never took), letters in a row of which the last may have an argument.

use super::request::Request;
use super::table::{self, Argument, Does, NvprofOption};
use crate::error::{Error, Result};
use crate::report::nvprof::logfile;
use crate::report::nvprof::messages::Message;
use std::ffi::OsString;

/// Reads a command line, without the name of the program.
///
/// # Errors
/// Fails where nvprof reports an error, with nvprof's words, and if an option is refused.
pub fn parse(words: &[OsString]) -> Result<Request> {
    let mut request = Request::default();
    let mut said = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let Some(text) = word.to_str().filter(|text| text.len() > 1 && text.starts_with('-')) else { break };
        at += 1;
        if text == "--" {
            break;
        }
        let (option, inline) = option_of(text)?;
        for option in &option[..option.len() - 1] {
            if option.argument != Argument::None {
                // Only the last of several letters may have one.
                return Err(missing_argument(text));
            }
            take(&mut request, &mut said, option, "")?;
        }
        let Some(option) = option.last() else { continue };
        let value = match (option.argument, inline) {
            (Argument::None, None) => String::new(),
            (Argument::None, Some(_)) => return Err(invalid(text)),
            (_, Some(inline)) => inline,
            (_, None) => {
                let value = words.get(at).and_then(|word| word.to_str()).filter(|word| !word.starts_with('-'));
                at += 1;
                value.ok_or_else(|| missing_argument(text))?.to_owned()
            }
        };
        if option.argument != Argument::None && !option.argument.takes(&value) {
            return Err(invalid(&value));
        }
        take(&mut request, &mut said, option, &value)?;
    }
    request.command = words[at.min(words.len())..].to_vec();
    request.said = said;
    super::rules::check(&mut request)?;
    Ok(request)
}

/// The options that a word of dashes names, and the argument that it carries.
fn option_of(text: &str) -> Result<(Vec<&'static NvprofOption>, Option<String>)> {
    if let Some(name) = text.strip_prefix("--") {
        let (name, inline) = match name.split_once('=') {
            Some((name, inline)) => (name, Some(inline.to_owned())),
            None => (name, None),
        };
        let option = table::by_name(name).ok_or_else(|| invalid(text))?;
        return Ok((vec![option], inline));
    }
    let letters = text[1..].chars();
    let option = |letter: char| table::by_letter(letter).ok_or_else(|| invalid(&letter.to_string()));
    Ok((letters.map(option).collect::<Result<_>>()?, None))
}

fn take(request: &mut Request, said: &mut Vec<String>, option: &NvprofOption, value: &str) -> Result<()> {
    check_value(option, value)?;
    match option.does {
        Does::Refused(why) => return Err(error(&format!("--{}: {why}", option.name))),
        Does::Says(why) if table::asks(option, value) => {
            let shown = if value.is_empty() { String::new() } else { format!(" \"{value}\"") };
            said.push(format!("The option --{}{shown} has no effect: {why}.", option.name));
        }
        Does::Works | Does::Sets(_) | Does::Says(_) => {}
    }
    (option.set)(request, value);
    Ok(())
}

/// What a table cannot say about an argument.
fn check_value(option: &NvprofOption, value: &str) -> Result<()> {
    match option.name {
        "kernels" => super::kernels::check(value)
            .map_err(|_| error("Invalid kernel path syntax. See \"nvprof --help\" for more detail.")),
        "devices" => {
            let is_list = value == "all" || value.split(',').all(|id| id.parse::<u32>().is_ok());
            if is_list { Ok(()) } else { Err(invalid(value)) }
        }
        "trace" => {
            let is_list = !value.is_empty() && value.split(',').all(|what| matches!(what, "gpu" | "api"));
            if is_list { Ok(()) } else { Err(invalid(value)) }
        }
        "log-file" if matches!(value, "%1" | "%2") => Ok(()),
        "log-file" | "export-profile" | "process-name" => pattern(value, false),
        "context-name" | "stream-name" => pattern(value, true),
        _ => Ok(()),
    }
}

/// Checks a name with `%p` and its like; `%i` where it `numbers` contexts and streams.
fn pattern(value: &str, numbers: bool) -> Result<()> {
    let plain = if numbers { super::names::without_ids(value) } else { value.to_owned() };
    logfile::expand(&plain, 0, "", |name| std::env::var(name).ok()).map(drop).map_err(|e| match e {
        logfile::ExpandError::Unset(name) => error(&format!("cannot find environment variable \"{name}\"")),
        logfile::ExpandError::Illegal(_) => invalid(value),
    })
}

/// nvprof's words about an option, or an argument, that it does not know.
fn invalid(what: &str) -> Error {
    with_help(&format!("Encountered invalid option : {what}"))
}

fn missing_argument(option: &str) -> Error {
    let text = said(&Message::Error(&format!("Missing argument for option : {option}")));
    Error::verbatim(format!("{text}\n{}", said(&Message::Error("missing command-line arguments."))))
}

/// An error in nvprof's form.
pub fn error(text: &str) -> Error {
    Error::verbatim(said(&Message::Error(text)))
}

/// The same, with where to read more.
pub fn with_help(text: &str) -> Error {
    Error::verbatim(format!(
        "{}\n======== Use \"nvprof --help\" to get more information.",
        said(&Message::Error(text))
    ))
}

fn said(message: &Message) -> String {
    format!("======== {message}")
}
