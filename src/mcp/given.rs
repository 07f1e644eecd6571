//! The arguments that a client gives to a tool.

use super::folders::Folders;
use crate::error::{Error, Result};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// The arguments of one call.
pub(super) struct Given<'a> {
    pub(super) values: &'a Map<String, Value>,
    pub(super) folders: &'a Folders,
}

impl Given<'_> {
    /// A text, if it was given.
    ///
    /// # Errors
    /// Fails if the value is something else.
    pub(super) fn text(&self, name: &str) -> Result<Option<&str>> {
        match self.values.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(Error::new(format!("{name}: not a text but {other}"))),
        }
    }

    /// A text that has to be there.
    ///
    /// # Errors
    /// Fails if it is not, or if the value is something else.
    pub(super) fn needed_text(&self, name: &str) -> Result<&str> {
        self.text(name)?.ok_or_else(|| Error::new(format!("{name}: is needed and was not given")))
    }

    /// The path of a trace.
    ///
    /// # Errors
    /// Fails if it was not given or may not be read.
    pub(super) fn path(&self, name: &str) -> Result<PathBuf> {
        self.folders.path(self.needed_text(name)?)
    }

    /// The paths of traces.
    ///
    /// # Errors
    /// Fails if none was given, or if one of them may not be read.
    pub(super) fn paths(&self, name: &str) -> Result<Vec<PathBuf>> {
        let texts = match self.values.get(name) {
            Some(Value::Array(texts)) if !texts.is_empty() => texts.as_slice(),
            Some(text @ Value::String(_)) => std::slice::from_ref(text),
            _ => return Err(Error::new(format!("{name}: a list of paths is needed"))),
        };
        let path = |text: &Value| match text {
            Value::String(text) => self.folders.path(text),
            other => Err(Error::new(format!("{name}: not a path but {other}"))),
        };
        texts.iter().map(path).collect()
    }

    /// A whole number from 1 to `most`; `usual` if it was not given.
    ///
    /// # Errors
    /// Fails if it is something else.
    pub(super) fn number(&self, name: &str, usual: usize, most: usize) -> Result<usize> {
        let Some(value) = self.values.get(name).filter(|value| !value.is_null()) else { return Ok(usual) };
        let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
        match number.filter(|number| (1..=most).contains(number)) {
            Some(number) => Ok(number),
            None => Err(Error::new(format!("{name}: not a whole number from 1 to {most} but {value}"))),
        }
    }
}
