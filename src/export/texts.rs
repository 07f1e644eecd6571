//! Texts by number, each once, in a table of a database.

use super::database::Rows;
use crate::error::Result;
use crate::trace::names::Names;
use hashbrown::HashMap;
use std::borrow::Cow;

/// Texts that got their numbers so far: those that some row refers to.
pub struct Texts<'a> {
    names: &'a Names,
    /// Rows of number and text.
    rows: Rows<'a>,
    ids: HashMap<String, i64>,
    /// Ids by name id, 0 where none was asked for.
    by_name: Vec<i64>,
}

impl<'a> Texts<'a> {
    /// Will write number and text to `rows`; numbers begin at 1.
    pub fn new(names: &'a Names, rows: Rows<'a>) -> Texts<'a> {
        Texts { names, rows, ids: HashMap::new(), by_name: vec![0; names.len()] }
    }

    /// The text of a name of the trace. Bytes that are not UTF-8 are replaced: one such string would keep most tools
    /// from reading any.
    pub fn text_of(&self, name: u32) -> Cow<'a, str> {
        self.names.text(name)
    }

    /// The number of a name of the trace.
    ///
    /// # Errors
    /// Fails with what SQLite says; as a rule, the disk is full.
    pub fn name(&mut self, name: u32) -> Result<i64> {
        let known = self.by_name.get(name as usize).copied().unwrap_or(0);
        if known != 0 {
            return Ok(known);
        }
        let id = self.text(&self.names.text(name))?;
        if let Some(slot) = self.by_name.get_mut(name as usize) {
            *slot = id;
        }
        Ok(id)
    }

    /// The number of a name that there may be none of.
    ///
    /// # Errors
    /// Fails with what SQLite says; as a rule, the disk is full.
    pub fn name_if_any(&mut self, name: Option<u32>) -> Result<Option<i64>> {
        name.filter(|&name| name != 0).map(|name| self.name(name)).transpose()
    }

    /// The number of any text.
    ///
    /// # Errors
    /// Fails with what SQLite says; as a rule, the disk is full.
    pub fn text(&mut self, text: &str) -> Result<i64> {
        if let Some(&id) = self.ids.get(text) {
            return Ok(id);
        }
        let id = self.ids.len() as i64 + 1;
        self.rows.add([id.into(), text.into()])?;
        self.ids.insert(text.to_owned(), id);
        Ok(id)
    }
}
