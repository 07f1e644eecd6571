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
            let packed = Base64 { digits: splits.iter().flat_map(|split| split.iter().copied()), bits: 0, held: 0 };
            let version = sqlite::unpack(path, packed, sink).and_then(|bytes| {
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

/// Decodes base 64 as it is read; line breaks, padding and anything else that is no digit are passed over.
struct Base64<I> {
    digits: I,
    bits: u32,
    held: u32,
}

impl<I: Iterator<Item = u8>> Read for Base64<I> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            while self.held < 8 {
                let Some(byte) = self.digits.next() else { return Ok(filled) };
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

#[cfg(test)]
mod tests {
    use crate::import::testing::{TempFile, import};
    use crate::trace::sink::Need;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn packed(kernel_ends: i64) -> Vec<u8> {
        let sql = format!(
            "CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringTable VALUES (1, 'k');
             CREATE TABLE Version (version INT); INSERT INTO Version VALUES (12);
             CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, name INT);
             INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, {kernel_ends}, 1);"
        );
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&TempFile::database("inner.db", &sql).bytes()).unwrap();
        gzip.finish().unwrap()
    }

    fn base64(bytes: &[u8]) -> String {
        const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for chunk in bytes.chunks(3) {
            let bits =
                chunk.iter().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
            for i in 0..4 {
                let digit = DIGITS[(bits >> (18 - 6 * i)) as usize & 63] as char;
                text.push(if i <= chunk.len() { digit } else { '=' });
            }
            if text.len() % 77 == 76 {
                text.push('\n');
            }
        }
        text
    }

    fn session(pdms: &[String]) -> TempFile {
        let pdms: String = pdms.iter().map(|splits| format!("<pdm>{splits}</pdm>\n")).collect();
        let xml = format!(
            "<?xml version=\"1.0\"?>\n<session version=\"2\" name=\"a\">\n<executable args=\"secret\"/>\n\
             <timelinepdm>\n{pdms}</timelinepdm>\n<analysispdm>\n</analysispdm>\n</session>\n"
        );
        TempFile::new("a.nvvp", xml.as_bytes())
    }

    #[test]
    fn a_database_in_several_splits_is_joined() {
        let text = base64(&packed(8));
        let (front, back) = text.split_at(text.len() / 3);
        let found =
            import(&session(&[format!("<split>{front}</split><split>{back}</split>")]), &Need::all()).unwrap();
        assert_eq!(found.importer, "nvvp-session");
        assert_eq!(found.origin, "Visual Profiler session, nvprof database, schema 12");
        assert_eq!(found.integers("kernel", "duration_ns"), [Some(7)]);
    }

    #[test]
    fn every_database_of_a_session_is_a_process_and_a_damaged_one_is_noted() {
        let pdm = |ends| format!("<split>{}</split>", base64(&packed(ends)));
        let found = import(&session(&[pdm(8), "<split>AAAA</split>".into(), pdm(9)]), &Need::all()).unwrap();
        assert_eq!(found.integers("kernel", "duration_ns"), [Some(7), Some(8)]);
        assert_eq!(found.processes.len(), 2);
        assert_eq!(found.note_codes(), ["unreadable-rows"]);
    }

    #[test]
    fn a_session_without_a_readable_timeline_is_an_error_that_says_what_to_do() {
        for (pdms, says) in [
            (vec![], "holds no timeline"),
            (vec!["<split>AAAA</split>".to_owned()], "cannot be unpacked"),
            (vec![String::new()], "cannot be unpacked"),
        ] {
            let error = import(&session(&pdms), &Need::all()).err().unwrap().to_string();
            assert!(error.contains(says) && error.contains("; "), "{error}");
        }
    }

    #[test]
    fn a_cut_off_session_is_read_in_part_or_refused() {
        let whole = session(&[format!("<split>{}</split>", base64(&packed(8)))]).bytes();
        for cut in (300..whole.len()).step_by(97) {
            let file = TempFile::new("cut.nvvp", &whole[..cut]);
            if let Ok(found) = import(&file, &Need::all()) {
                assert!(found.integers("kernel", "duration_ns").len() <= 1);
            }
        }
    }
}
