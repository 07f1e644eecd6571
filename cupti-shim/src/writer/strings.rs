//! The string table of the file, as it grows.

use std::borrow::Cow;
use std::collections::HashMap;

use trace_format::columns::Batch;
use trace_format::schema::RowBuilder;
use trace_format::tables::StringRow;
use trace_format::tables::string::StringBuilder;

use crate::decode::Own;
use crate::names::Names;

/// Texts of our own that are remembered; more are written again.
const MOST_TEXTS: usize = 1_024;
/// Strings are written when there are so many bytes of them, whatever else there is.
const MANY_BYTES: usize = 1 << 20;
/// Memory for strings that cannot be written, while a disk is full; beyond, names stay unknown.
const MOST_BYTES: usize = 8 << 20;

/// Asks CUPTI for the name of a call: domain and callback id.
pub(super) type CallName = Box<dyn FnMut(u32, u32) -> Option<Vec<u8>>>;

/// Strings that are not in the file yet, and ids for the writer's own.
pub(super) struct Strings {
    names: &'static Names,
    call_name: CallName,
    rows: StringBuilder,
    bytes: usize,
    texts: HashMap<Cow<'static, str>, u32>,
}

impl Strings {
    pub(super) fn new(names: &'static Names, call_name: CallName) -> Strings {
        Strings { names, call_name, rows: StringBuilder::default(), bytes: 0, texts: HashMap::new() }
    }

    /// Takes over what the callbacks have interned, and shows each name to `heard`. To be called before the block or event that may refer to it is
    /// looked at.
    pub(super) fn drain(&mut self, heard: &mut dyn FnMut(u32, &[u8])) {
        let (rows, bytes) = (&mut self.rows, &mut self.bytes);
        self.names.drain(&mut |id, name| {
            heard(id, name);
            push(rows, bytes, id, name);
        });
    }

    /// The name of a call, for a person.
    pub(super) fn call_text(&mut self, domain: u32, cbid: u32) -> String {
        let name = (self.call_name)(domain, cbid);
        name.map_or_else(|| format!("call {cbid}"), |name| String::from_utf8_lossy(&name).into_owned())
    }

    /// The id of a text of our own.
    pub(super) fn text_id(&mut self, text: Cow<'static, str>) -> u32 {
        if let Some(&id) = self.texts.get(&text) {
            return id;
        }
        let id = self.names.own();
        push(&mut self.rows, &mut self.bytes, id, text.as_bytes());
        if self.texts.len() >= MOST_TEXTS {
            self.texts.clear();
        }
        self.texts.insert(text, id);
        id
    }

    /// Rows that wait.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether they should be written without waiting for a frame of records.
    pub(super) fn are_many(&self) -> bool {
        self.bytes >= MANY_BYTES
    }

    /// The rows that wait; none: there are none.
    pub(super) fn take(&mut self) -> Option<Batch> {
        self.bytes = 0;
        (!self.rows.is_empty()).then(|| self.rows.take())
    }
}

fn push(rows: &mut StringBuilder, bytes: &mut usize, id: u32, name: &[u8]) {
    *bytes += name.len();
    if *bytes <= MOST_BYTES {
        rows.push(StringRow { id, bytes: name.to_vec() });
    }
}

impl Own for Strings {
    fn api_name(&mut self, domain: u32, cbid: u32) -> u32 {
        let Some(name) = (self.call_name)(domain, cbid) else { return 0 };
        let id = self.names.own();
        push(&mut self.rows, &mut self.bytes, id, &name);
        id
    }

    fn text(&mut self, text: &'static str) -> u32 {
        self.text_id(text.into())
    }
}
