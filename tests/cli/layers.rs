//! The parts of the library stand above each other: a part uses those below it, and never one above. Which may use which
//! is said here and nowhere else.

use crate::sources;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Every part of the library, from the ground up, with the parts that it may use. All of those stand above it in this
/// list, so there is no circle; the order is that in the opening words of `src/lib.rs`.
const LAYERS: &[(&str, &[&str])] = &[
    // Common ground: what is neither about traces nor about files.
    ("os", &[]),
    ("error", &[]),
    ("numbers", &[]),
    ("shell", &[]),
    ("note", &[]),
    ("metrics", &[]),
    ("exchange", &[]),
    ("cupti", &["metrics"]),
    ("demangle", &[]),
    // Collecting.
    ("launch", &["error", "metrics", "os"]),
    ("doctor", &["launch", "numbers", "os"]),
    // Opening.
    ("trace", &["cupti", "demangle", "error", "note", "numbers", "os"]),
    ("import", &["cupti", "demangle", "error", "exchange", "numbers", "os", "trace"]),
    ("open", &["error", "import", "numbers", "os", "trace"]),
    // Answering.
    ("analysis", &["cupti", "demangle", "error", "metrics", "numbers", "trace"]),
    // Showing. Who shows is handed what was opened and does not open it; only a session of queries opens its own.
    ("render", &["demangle", "error", "note", "os"]),
    ("report", &["analysis", "cupti", "error", "metrics", "numbers", "render", "shell", "trace"]),
    ("lines", &["analysis", "cupti", "error", "trace"]),
    ("export", &["analysis", "cupti", "error", "exchange", "lines", "os", "render", "trace"]),
    ("timeline", &["analysis", "demangle", "error", "lines", "metrics", "numbers", "render", "trace"]),
    ("query", &["analysis", "cupti", "demangle", "error", "export", "open", "render", "report", "trace"]),
    ("cluster", &["analysis", "error", "exchange", "note", "render", "report"]),
    // Watching.
    ("live", &["error", "open", "os"]),
    ("top", &["cupti", "demangle", "error", "live", "render", "trace"]),
    ("control", &["error", "os"]),
    // Asking.
    ("mcp", &["error", "render", "report"]),
    (
        "cli",
        &[
            "analysis", "cluster", "control", "demangle", "doctor", "error", "export", "import", "launch", "live",
            "mcp", "numbers", "open", "os", "query", "render", "report", "shell", "timeline", "top", "trace",
        ],
    ),
];

/// The part that a file is of: `trace` for `trace.rs` and for `trace/frames/rows.rs`.
fn part_of(file: &Path) -> String {
    let first = file.iter().next().expect("a path has a first piece").to_str().expect("UTF-8");
    first.trim_end_matches(".rs").to_owned()
}

/// The parts that a file names by `crate::PART`, each with the number of its line. Tests are read as well; comments are
/// not, for they may point up to whoever uses what they describe.
fn used_parts(text: &str) -> Vec<(usize, String)> {
    let mut used = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let code = line.split("//").next().unwrap_or_default();
        for (at, path) in code.match_indices("crate::") {
            let is_whole_word = !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let rest = &code[at + path.len()..];
            let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            if is_whole_word {
                // `crate::{a, b}` names several parts at once; it comes out as an unknown part without a name.
                used.push((number, rest[..length].to_owned()));
            }
        }
    }
    used
}

/// The type that an `impl` at the beginning of a line is of, if it is of no trait.
fn inherent_type(line: &str) -> Option<&str> {
    let behind = line.strip_prefix("impl")?.strip_suffix('{')?;
    // `impl<'a> Labels<'a>`: what stands between the brackets may have spaces.
    let behind = match behind.strip_prefix('<') {
        Some(generic) => generic.split_once("> ")?.1,
        None => behind.strip_prefix(' ')?,
    };
    let path = behind.split(['<', ' ']).next()?;
    (!behind.contains(" for ")).then(|| path.rsplit("::").next().unwrap_or(path))
}

/// The word that `text` begins with.
fn first_word(text: &str) -> &str {
    &text[..text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())]
}

/// The type that a line at the top of a file declares.
fn declared_type(line: &str) -> Option<&str> {
    let (before, behind) = ["struct ", "enum ", "union "].iter().find_map(|kind| line.split_once(kind))?;
    (before.is_empty() || before.starts_with("pub")).then(|| first_word(behind))
}

/// Functions that a part gives to a type of another part, such as `Frames::open`, and the part. Whoever calls one uses that
/// part without naming it.
fn given_functions(sources: &[(PathBuf, String)]) -> BTreeMap<String, String> {
    let types = |(file, text): &(PathBuf, String)| {
        let part = part_of(file);
        text.lines().filter_map(declared_type).map(|name| (part.clone(), name.to_owned())).collect::<Vec<_>>()
    };
    let declared: BTreeSet<(String, String)> = sources.iter().flat_map(types).collect();
    let mut given = BTreeMap::new();
    for (file, text) in sources {
        let part = part_of(file);
        let mut of = None;
        for line in text.lines() {
            if let Some(name) = inherent_type(line) {
                of = (!declared.contains(&(part.clone(), name.to_owned()))).then_some(name);
            } else if line == "}" {
                of = None;
            } else if let Some(name) = of
                && let Some((before, behind)) = line.split_once("fn ")
                && before.trim_start().starts_with("pub")
            {
                given.insert(format!("{name}::{}", first_word(behind)), part.clone());
            }
        }
    }
    given
}

/// The parts whose functions a file calls on types of other parts, each with the number of its line.
fn called_parts(text: &str, given: &BTreeMap<String, String>) -> Vec<(usize, String)> {
    let mut called = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let code = line.split("//").next().unwrap_or_default();
        for (function, part) in given {
            let is_whole = |at: usize| {
                let is_part = |c: char| c.is_alphanumeric() || c == '_';
                !code[..at].ends_with(is_part) && !code[at + function.len()..].starts_with(is_part)
            };
            if code.match_indices(function.as_str()).any(|(at, _)| is_whole(at)) {
                called.push((number, part.clone()));
            }
        }
    }
    called
}

/// What is wrong with the arrows of these sources, and the arrows that were found.
fn judge(sources: &[(PathBuf, String)]) -> (String, BTreeSet<(String, String)>) {
    let mut wrong = String::new();
    let mut found = BTreeSet::new();
    let given = given_functions(sources);
    for (file, text) in sources {
        let part = part_of(file);
        let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == part) else {
            // `lib.rs` names the parts, and `main.rs` is another crate.
            if part != "lib" && part != "main" {
                let _ = writeln!(wrong, "src/{}: part {part} is not in LAYERS", file.display());
            }
            continue;
        };
        let used = used_parts(text).into_iter().chain(called_parts(text, &given));
        for (line, used) in used.filter(|(_, used)| *used != part) {
            if !allowed.contains(&used.as_str()) {
                let _ = writeln!(wrong, "src/{}:{line}: {part} -> {used} is not allowed", file.display());
            }
            found.insert((part.clone(), used));
        }
    }
    (wrong, found)
}

#[test]
fn no_part_uses_one_above_it() {
    let (wrong, found) = judge(&sources::all("src", &["rs"]));
    assert!(wrong.is_empty(), "arrows that LAYERS in tests/cli/layers.rs does not allow:\n{wrong}");
    let allowed = LAYERS.iter().flat_map(|(part, uses)| uses.iter().map(move |used| (*part, *used)));
    let unused: Vec<_> = allowed.filter(|(a, b)| !found.contains(&((*a).to_owned(), (*b).to_owned()))).collect();
    assert!(unused.is_empty(), "arrows that LAYERS allows and no source has, so that they can go: {unused:?}");
}

#[test]
fn the_layers_are_the_parts_of_the_library_and_every_arrow_points_down() {
    let library = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).expect("UTF-8");
    // Parts are public or `pub(crate)`; both are parts.
    let begins = ["pub mod ", "pub(crate) mod "];
    let declared = library
        .lines()
        .filter_map(|line| begins.iter().find_map(|begin| line.strip_prefix(begin))?.strip_suffix(';'));
    let known: BTreeSet<&str> = LAYERS.iter().map(|(part, _)| *part).collect();
    assert_eq!(declared.collect::<BTreeSet<_>>(), known);
    for (at, (part, uses)) in LAYERS.iter().enumerate() {
        for used in *uses {
            assert!(LAYERS[..at].iter().any(|(below, _)| below == used), "{part} -> {used} points up");
        }
    }
}

#[test]
fn an_arrow_that_is_not_allowed_is_named_with_file_and_line() {
    let source = |path: &str, text: &str| (PathBuf::from(path), text.to_owned());
    let sources = [
        source(
            "trace/frames.rs",
            "//! See [`crate::open`].\nuse crate::error::Result;\nuse crate::import::Head;\n",
        ),
        source("render.rs", "fn f() { other_crate::trace::f(); let _ = crate::trace::batch::f; } // crate::cli\n"),
        source("analysis/labels.rs", "use crate::{cupti, import};\n"),
        source("attic/box.rs", ""),
        source(
            "trace/batch.rs",
            "pub struct Frames<'a> {}\npub struct Batch;\nimpl Batch {\n    pub fn new() {}\n}\n",
        ),
        source(
            "open/files.rs",
            "impl<'a> Frames<'a> {\n    pub fn open(paths: &[PathBuf]) {}\n    fn own() {}\n}\n",
        ),
        source("export/text.rs", "fn f() {\n    Frames::open(&[]);\n    Frames::own();\n    Batch::new();\n}\n"),
    ];
    let expected = "src/trace/frames.rs:3: trace -> import is not allowed\n\
        src/render.rs:1: render -> trace is not allowed\n\
        src/analysis/labels.rs:1: analysis ->  is not allowed\n\
        src/attic/box.rs: part attic is not in LAYERS\n\
        src/export/text.rs:2: export -> open is not allowed\n";
    assert_eq!(judge(&sources).0, expected);
}
