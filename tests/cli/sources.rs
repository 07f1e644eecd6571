//! The sources of the repository, for tests that read them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// All sources in `folder` (below the root of the repository) with one of these endings, with their paths below that
/// folder, in order.
pub fn all(folder: &str, endings: &[&str]) -> Vec<(PathBuf, String)> {
    fn walk(folder: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("the folder is readable") {
            let path = entry.expect("the entry is readable").path();
            let ending = path.extension().and_then(|ending| ending.to_str());
            match path.is_dir() {
                true => walk(&path, endings, found),
                false if ending.is_some_and(|ending| endings.contains(&ending)) => found.push(path),
                false => {}
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut paths = Vec::new();
    walk(&root, endings, &mut paths);
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("the source is UTF-8");
        (path.strip_prefix(&root).expect("it is below the folder").to_owned(), text)
    };
    paths.into_iter().map(read).collect()
}

/// The same, without files and ends of files that are tests.
pub fn shipped(folder: &str, endings: &[&str]) -> Vec<(PathBuf, String)> {
    let mut sources = all(folder, endings);
    let tests: BTreeSet<PathBuf> =
        sources.iter().flat_map(|(path, text)| test_modules(text).map(|name| module(path, name))).collect();
    // A module of tests is a file, or a folder too.
    sources.retain(|(path, _)| !path.ancestors().any(|above| tests.contains(&above.with_extension(""))));
    for (_, text) in &mut sources {
        text.truncate(without_tests(text).len());
    }
    sources
}

/// The path without ending of the module `name` that the file at `path` declares.
fn module(path: &Path, name: &str) -> PathBuf {
    match path.file_name().and_then(|file| file.to_str()) {
        Some("lib.rs" | "main.rs" | "mod.rs") => path.with_file_name(name),
        _ => path.with_extension("").join(name),
    }
}

/// Modules in files of their own that only tests have.
fn test_modules(text: &str) -> impl Iterator<Item = &str> {
    text.split("#[cfg(test)]\n").skip(1).filter_map(|behind| {
        let declared = behind.lines().next()?.trim().trim_start_matches("pub(crate) ").strip_prefix("mod ")?;
        declared.strip_suffix(';')
    })
}

/// The part of a source above its tests, which stand at its end. What only tests use may stand anywhere, and what is below
/// it is shipped.
pub fn without_tests(text: &str) -> &str {
    text.split_once("\n#[cfg(test)]\nmod tests {").map_or(text, |(code, _)| code)
}

#[test]
fn what_stands_below_a_function_of_tests_alone_is_shipped() {
    let text = "mod a;\n#[cfg(test)]\nmod fixtures;\nmod b;\n#[cfg(test)]\nfn c() {}\nfn d() {}\n\n\
        #[cfg(test)]\nmod tests {\n    fn e() {}\n}\n";
    assert!(without_tests(text).ends_with("fn d() {}\n"));
    assert_eq!(test_modules(text).collect::<Vec<_>>(), ["fixtures"]);
    assert_eq!(module(Path::new("doctor.rs"), "fixtures"), Path::new("doctor/fixtures"));
    let shipped: Vec<PathBuf> = shipped("src", &["rs"]).into_iter().map(|(path, _)| path).collect();
    let has = |path: &str| shipped.iter().any(|shipped| shipped == Path::new(path));
    assert!(has("doctor.rs") && has("doctor/finding.rs") && !has("doctor/fixtures.rs"));
}

#[test]
fn the_files_that_fuzz_targets_share_with_tests_are_there() {
    // Nothing here builds them: they need another compiler.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/fuzz_targets");
    let targets = all("fuzz/fuzz_targets", &["rs"]);
    let named = |text: &str, begin: &str, end: &str| -> Vec<String> {
        let rest = text.lines().filter_map(|line| line.trim().strip_prefix(begin)?.strip_suffix(end));
        rest.map(str::to_owned).collect()
    };
    let (_, shared) = targets.iter().find(|(path, _)| path == Path::new("shared.rs")).expect("what targets share");
    let [tests] = &named(shared, "#[path = \"", "\"]")[..] else { panic!("the folder of tests is named once") };
    let modules = named(shared, "pub mod ", ";");
    assert_eq!(modules, ["build", "exercise", "foreign"]);
    for module in modules {
        let path = folder.join(tests).join(format!("{module}.rs"));
        assert!(path.is_file(), "there is no {}", path.display());
    }
    let manifest = std::fs::read_to_string(folder.with_file_name("Cargo.toml")).expect("the manifest");
    for (path, _) in targets.iter().filter(|(_, text)| text.contains("fuzz_target!")) {
        let listed = format!("path = \"fuzz_targets/{}\"", path.display());
        assert!(manifest.contains(&listed), "fuzz/Cargo.toml lacks {listed}");
    }
}
