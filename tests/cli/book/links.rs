//! Links of the book: to files that are there and to headings that are in them.

use super::root;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Every link of README, the book and what it links to, that leads nowhere, as `PAGE: LINK: WHY`.
pub fn broken() -> Vec<String> {
    let mut paths = vec![root().join("README.md"), root().join("trace-format/FORMAT.md")];
    super::pages::markdown(&root().join("docs"), &mut paths);
    let mut broken = Vec::new();
    let mut links = 0;
    for path in &paths {
        let text = std::fs::read_to_string(path).expect("a page");
        for target in targets(&without_code(&text)) {
            links += 1;
            if let Err(why) = check(path, &target) {
                let page = path.strip_prefix(root()).expect("below the root");
                broken.push(format!("{}: ({target}): {why}", page.display()));
            }
        }
    }
    assert!(links > 150, "only {links} links were found");
    broken
}

fn check(page: &Path, target: &str) -> Result<(), String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return Ok(());
    }
    let (file, anchor) = target.split_once('#').map_or((target, None), |(file, anchor)| (file, Some(anchor)));
    let path = if file.is_empty() { page.to_owned() } else { page.parent().expect("a folder").join(file) };
    if !path.exists() {
        return Err("no such file".to_owned());
    }
    let Some(anchor) = anchor else { return Ok(()) };
    let known = anchors(&path);
    match known.contains(anchor) {
        true => Ok(()),
        false => Err(format!("no such heading; there are {known:?}")),
    }
}

/// What links and pictures lead to.
fn targets(text: &str) -> Vec<String> {
    let behind = text.split("](").skip(1);
    behind.filter_map(|rest| rest.split([')', ' ']).next()).map(str::to_owned).collect()
}

/// The text without fences and without `code`, in which brackets mean something else, and without what is commented out.
fn without_code(text: &str) -> String {
    let mut out = String::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced && !line.starts_with("<!--") {
            out.extend(line.split('`').step_by(2));
            out.push('\n');
        }
    }
    out
}

/// The names by which headings can be linked to, as GitHub and mdbook make them.
fn anchors(path: &PathBuf) -> BTreeSet<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let mut anchors = BTreeSet::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        let Some(heading) = line.strip_prefix('#').filter(|_| !fenced) else { continue };
        let name = slug(heading.trim_start_matches('#').trim());
        // Of several that are called alike, the later ones have a number.
        let numbered = (1..).map(|n| format!("{name}-{n}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !anchors.contains(name));
        anchors.extend(free);
    }
    anchors
}

fn slug(heading: &str) -> String {
    // A link in a heading counts by its text.
    let mut text = String::new();
    let mut rest = heading;
    while let Some((before, behind)) = rest.split_once("](") {
        text.push_str(&before.replace('[', ""));
        rest = behind.split_once(')').map_or("", |(_, behind)| behind);
    }
    text.push_str(rest);
    let kept = text.chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        letter => letter.is_alphanumeric().then(|| letter.to_ascii_lowercase()),
    });
    kept.collect()
}

#[test]
fn headings_and_links_are_read_as_viewers_read_them() {
    assert_eq!(slug("`gpuprof nvprof`: nvprof's command line"), "gpuprof-nvprof-nvprofs-command-line");
    assert_eq!(targets("[a](b.md#c) and ![p](x.svg \"t\")"), ["b.md#c", "x.svg"]);
    assert_eq!(without_code("a `[x](y)` b\n```\n[z](q)\n```\n<!-- [z](q) -->\n"), "a  b\n");
    let page = root().join("docs/troubleshooting.md");
    assert!(check(&page, "#nothing-was-recorded").is_ok() && check(&page, "#no-such-heading").is_err());
    assert!(check(&page, "no-such-file.md").is_err() && check(&page, "https://example.org").is_ok());
}
