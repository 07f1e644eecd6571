//! Visual Profiler sessions: XML around an nvprof database. Every `<pdm>` of `<timelinepdm>` is one database, packed
//! with gzip and written in base 64, in one `<split>` or several. The rest of the XML is the state of windows and the
//! command line that was run, and stays in the file.

use super::{Head, Importer, nvprof, sqlite};
use crate::error::{Error, Result};
use crate::trace::sink::{Need, Sink};
use std::io::Read;
use std::path::Path;

/// Reads Visual Profiler sessions.
pub struct NvvpSession;

impl Importer for NvvpSession {
    fn name(&self) -> &'static str {
        "nvvp-session"
    }

    fn describes(&self) -> &'static str {
        "Visual Profiler session (XML around an nvprof database)"
    }

    fn sniff(&self, head: &Head) -> bool {
        session_version(&head.text) == Some(b"2")
    }

    fn read(&self, path: &Path, need: &Need, sink: &mut Sink) -> Result<()> {
        let bytes = std::fs::read(path).map_err(|e| Error::at(path, format_args!("cannot be read: {e}")))?;
        let mut xml = Vec::new();
        let xml = if bytes.starts_with(&super::GZIP_MAGIC) {
            let unpacked = flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut xml);
            unpacked.map_err(|e| Error::at(path, format_args!("cannot be unpacked: {e}")))?;
            &xml[..]
        } else {
            &bytes[..]
        };
        let timeline = elements(xml, "timelinepdm").next();
        let databases: Vec<&[u8]> = timeline.into_iter().flat_map(|inner| elements(inner, "pdm")).collect();
        if databases.is_empty() {
            return Err(Error::at(path, "this Visual Profiler session holds no timeline")
                .remedy("import the profile that it was made from, or save the session after a run"));
        }
        for (i, database) in databases.iter().enumerate() {
            let splits: Vec<&[u8]> = elements(database, "split").collect();
            let version = database_of(path, &splits).and_then(|bytes| {
                let database = sqlite::from_bytes(path, bytes)?;
                nvprof::read_database(&database.connection, path, need, sink)
            });
            match version {
                Ok(version) => sink.origin = format!("Visual Profiler session, nvprof database, {version}"),
                Err(error) if databases.len() == 1 => return Err(error),
                Err(error) => sink.note("unreadable-rows", format!("database {} of a session: {error}", i + 1)),
            }
        }
        Ok(())
    }
}

/// The version of a Visual Profiler session, if the text is one.
pub(super) fn session_version(text: &[u8]) -> Option<&[u8]> {
    let text = &text[..text.len().min(4096)];
    let tag = find(text, b"<session ")?;
    let declared = find(text, b"<?xml")?;
    let attributes = &text[tag..];
    let attributes = &attributes[..find(attributes, b">")?];
    let value = &attributes[find(attributes, b"version=\"")? + b"version=\"".len()..];
    (declared < tag).then_some(&value[..find(value, b"\"")?])
}

/// The insides of all elements called `name` in order. The Visual Profiler writes these tags without attributes, and
/// base 64 holds no `<`, so an XML parser has nothing to add here.
fn elements<'x>(xml: &'x [u8], name: &str) -> impl Iterator<Item = &'x [u8]> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let mut rest = xml;
    std::iter::from_fn(move || {
        let inner = &rest[find(rest, open.as_bytes())? + open.len()..];
        // A cut-off file ends inside its last element.
        let end = find(inner, close.as_bytes()).unwrap_or(inner.len());
        rest = &inner[end..];
        Some(&inner[..end])
    })
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    let first = *needle.first()?;
    let mut from = 0;
    loop {
        from += haystack.get(from..)?.iter().position(|&byte| byte == first)?;
        if haystack[from..].starts_with(needle) {
            return Some(from);
        }
        from += 1;
    }
}

/// Decodes and unpacks one database.
fn database_of(path: &Path, splits: &[&[u8]]) -> Result<Vec<u8>> {
    let packed = Base64 { bytes: splits.iter().flat_map(|split| split.iter().copied()), bits: 0, held: 0 };
    let mut database = Vec::new();
    let unpacked = flate2::read::MultiGzDecoder::new(packed).read_to_end(&mut database);
    match unpacked {
        // The front of a database is one that can be read in part.
        _ if database.starts_with(super::SQLITE_MAGIC) => Ok(database),
        Err(e) => Err(Error::at(
            path,
            format_args!("the timeline of this Visual Profiler session cannot be unpacked: {e}"),
        )
        .remedy("the file may be cut off or damaged: copy it again")),
        Ok(_) => Err(Error::at(path, "the timeline of this Visual Profiler session is no database").remedy(
            "it may be of an older version: open it in the Visual Profiler of CUDA 8 to 12 and save it again",
        )),
    }
}

/// Decodes base 64 as it is read; line breaks, padding and anything else that is no digit are passed over.
struct Base64<I> {
    bytes: I,
    bits: u32,
    held: u32,
}

impl<I: Iterator<Item = u8>> Read for Base64<I> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            while self.held < 8 {
                let Some(byte) = self.bytes.next() else { return Ok(filled) };
                let digit = match byte {
                    b'A'..=b'Z' => byte - b'A',
                    b'a'..=b'z' => byte - b'a' + 26,
                    b'0'..=b'9' => byte - b'0' + 52,
                    b'+' | b'-' => 62,
                    b'/' | b'_' => 63,
                    _ => continue,
                };
                self.bits = self.bits << 6 | u32::from(digit);
                self.held += 6;
            }
            self.held -= 8;
            buffer[filled] = (self.bits >> self.held) as u8;
            filled += 1;
        }
        Ok(filled)
    }
}
