//! A page: one HTML file that needs nothing from anywhere.

use super::Timeline;
use crate::error::{Error, Result};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use std::io::Write;

/// Records that a page holds at most.
const MOST_RECORDS: u64 = 2_000_000;
/// Size that a page has at most. Two million records make some 65 MiB, which a browser has drawn after two seconds
/// (docs/timeline.md).
const MOST_BYTES: usize = 96 << 20;

const TEMPLATE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/style.css");
/// In the order in which they build on each other.
const SCRIPTS: [&str; 9] = [
    include_str!("page/decode.js"),
    include_str!("page/source.js"),
    include_str!("page/model.js"),
    include_str!("page/draw.js"),
    include_str!("page/overlay.js"),
    include_str!("page/panel.js"),
    include_str!("page/ui.js"),
    include_str!("page/input.js"),
    include_str!("page/main.js"),
];

/// Where the template takes what.
const MARKERS: [&str; 5] = ["<!--CSP-->", "/*STYLE*/", "<!--META-->", "<!--TILES-->", "/*SCRIPT*/"];

/// Where the page gets its tiles from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tiles {
    Inside,
    Served,
}

/// What browsers accept as the hash of an inline script or style.
fn hash(text: &str) -> String {
    format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text.as_bytes())))
}

/// The text of the element that begins with `tag` and has `marker` in it, with `content` in its place.
fn element(tag: &str, marker: &str, content: &str) -> String {
    let (before, after) = TEMPLATE.split_once(marker).unwrap_or_default();
    let before = before.rsplit_once(tag).map_or("", |(_, text)| text);
    let after = after.split_once("</").map_or("", |(text, _)| text);
    [before, content, after].concat()
}

/// The content security policy: nothing but this very script and style, no network but our own address if served.
fn policy(script: &str, tiles: Tiles) -> String {
    let script = hash(&element("<script>", "/*SCRIPT*/", script));
    let style = hash(&element("<style>", "/*STYLE*/", STYLE));
    let connect = if tiles == Tiles::Served { "'self'" } else { "'none'" };
    format!(
        "default-src 'none'; script-src {script}; style-src {style}; img-src data:; connect-src {connect}; \
         base-uri 'none'; form-action 'none'"
    )
}

/// Text that is safe inside a script element: only strings of JSON contain what could end it.
fn escaped(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// Puts everything into the template, which is looked at once: what is put in is never looked at.
fn fill(meta: &str, pack: &str, tiles: Tiles) -> String {
    let script = SCRIPTS.join("\n");
    let csp = format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">", policy(&script, tiles));
    let meta = format!("<script type=\"application/json\" id=\"meta\">{meta}</script>");
    let parts = [csp, STYLE.to_owned(), meta, pack.to_owned(), script];
    let mut out = String::with_capacity(TEMPLATE.len() + parts.iter().map(String::len).sum::<usize>());
    let mut rest = TEMPLATE;
    let next = |rest: &str| MARKERS.iter().enumerate().filter_map(|(i, m)| Some((rest.find(m)?, i))).min();
    while let Some((at, marker)) = next(rest) {
        out.push_str(&rest[..at]);
        out.push_str(&parts[marker]);
        rest = &rest[at + MARKERS[marker].len()..];
    }
    out.push_str(rest);
    out
}

impl Timeline {
    /// The page with everything in it.
    ///
    /// # Errors
    /// Fails if there are more records or bytes than a page should hold.
    pub fn page(&self) -> Result<String> {
        let serve = "run the same command with --serve, which shows traces of any size, or choose a part with --from \
                     and --to";
        let records = self.model.records();
        if records > MOST_RECORDS {
            let text = format!("{records} records are too many for one page, which holds {MOST_RECORDS}");
            return Err(Error::new(text).remedy(serve));
        }
        let meta = escaped(&self.meta(true)?);
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let packed = encoder.write_all(&self.pack()).and_then(|()| encoder.finish());
        let packed = packed.map_err(|e| Error::new(format!("the page's tiles: {e}")))?;
        let tiles = BASE64_STANDARD.encode(packed);
        let tiles = format!("<script type=\"application/octet-stream\" id=\"tiles\">{tiles}</script>");
        let page = fill(&meta, &tiles, Tiles::Inside);
        if page.len() > MOST_BYTES {
            let text = format!("{records} records make a page of {} bytes, more than {MOST_BYTES}", page.len());
            return Err(Error::new(text).remedy(serve));
        }
        Ok(page)
    }
}

/// The page that fetches everything from where it came from, and the policy it is served under.
pub(super) fn served_page() -> (String, String) {
    (fill("{\"served\":true}", "", Tiles::Served), policy(&SCRIPTS.join("\n"), Tiles::Served))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_takes_everything_once() {
        for marker in MARKERS {
            assert_eq!(TEMPLATE.matches(marker).count(), 1, "{marker}");
        }
    }

    #[test]
    fn scripts_cannot_end_their_element() {
        for script in SCRIPTS {
            let script = script.to_lowercase();
            assert!(!script.contains("</script") && !script.contains("<!--"));
        }
        assert!(!STYLE.to_lowercase().contains("</style"));
    }

    #[test]
    fn the_policy_names_the_script_that_is_there() {
        let page = fill("{}", "", Tiles::Inside);
        let text = |start: &str, end: &str| {
            let (_, rest) = page.split_once(start).expect(start);
            rest.split_once(end).expect(end).0.to_owned()
        };
        assert!(page.contains(&format!("script-src {}", hash(&text("<script>", "</script>")))));
        assert!(page.contains(&format!("style-src {}", hash(&text("<style>", "</style>")))));
    }

    #[test]
    fn nothing_that_is_put_in_is_taken_for_a_marker() {
        let inside = MARKERS.concat();
        let page = fill(&inside, &inside, Tiles::Inside);
        assert_eq!(page.matches(&inside).count(), 2);
        assert!(!escaped("\"</script><!--\"").contains('<'));
    }
}
