//! The pages of the book, with the commands in them.

use super::root;
use std::path::{Path, PathBuf};

/// A page.
pub struct Page {
    /// Its path from the root of the repository.
    pub name: String,
    /// Its fences of commands.
    pub fences: Vec<Fence>,
    /// What stands in fences without a language, with the number of the line.
    pub plain_lines: Vec<(usize, String)>,
}

/// A fence that begins with ```` ```console ````.
pub struct Fence {
    /// The line of its beginning.
    pub line: usize,
    /// What its commands need that tests do not have.
    pub needs: Option<String>,
    /// Its commands.
    pub commands: Vec<Shown>,
}

/// A command.
pub struct Shown {
    /// What is typed, behind `$ `.
    pub line: String,
    /// What the page shows of its output, where the fence says `exact`.
    pub output: Option<String>,
}

/// README and all of docs/, but for the table of contents.
pub fn all() -> Vec<Page> {
    let mut paths = vec![root().join("README.md")];
    markdown(&root().join("docs"), &mut paths);
    paths.retain(|path| !path.ends_with("docs/SUMMARY.md"));
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

/// All files of Markdown in a folder and below.
pub fn markdown(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in folder.read_dir().expect("a folder") {
        let path = entry.expect("an entry").path();
        // What mdbook has built is no source of it.
        if path.is_dir() && !path.ends_with("docs/book") {
            markdown(&path, paths);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            paths.push(path);
        }
    }
}

fn read(path: &Path) -> Page {
    let text = std::fs::read_to_string(path).expect("a page");
    let name = path.strip_prefix(root()).expect("below the root").to_str().expect("UTF-8").to_owned();
    let mut page = Page { name, fences: Vec::new(), plain_lines: Vec::new() };
    let mut inside: Option<(String, usize, Vec<&str>)> = None;
    for (number, line) in (1..).zip(text.lines()) {
        match (&mut inside, line.trim_start().strip_prefix("```")) {
            (None, Some(info)) => inside = Some((info.trim().to_owned(), number, Vec::new())),
            (Some(_), Some(_)) => {
                let (info, begin, lines) = inside.take().expect("a fence");
                if info.split(',').next() == Some("console") {
                    page.fences.push(fence(&info, begin, &lines));
                } else if info.is_empty() {
                    page.plain_lines
                        .extend((begin + 1..).zip(lines.iter().map(|line| line.trim_start().to_owned())));
                }
            }
            (Some((_, _, lines)), None) => lines.push(line),
            (None, None) => {}
        }
    }
    assert!(inside.is_none(), "{}: a fence has no end", page.name);
    page
}

fn fence(info: &str, line: usize, lines: &[&str]) -> Fence {
    let mut fence = Fence { line, needs: None, commands: Vec::new() };
    let mut exact = false;
    for word in info.split(',').skip(1).map(str::trim) {
        match word.strip_prefix("needs=") {
            Some(what) => fence.needs = Some(what.to_owned()),
            None if word == "exact" => exact = true,
            None => panic!("line {line}: ```console,{word}: known are needs=WHAT and exact"),
        }
    }
    for &text in lines {
        match (text.trim_start().strip_prefix("$ "), fence.commands.last_mut()) {
            (_, Some(last)) if last.line.ends_with('\\') => {
                last.line.truncate(last.line.len() - 1);
                last.line.push_str(text.trim_start());
            }
            (Some(command), _) => {
                fence.commands.push(Shown { line: command.to_owned(), output: exact.then(String::new) });
            }
            (None, Some(Shown { output: Some(output), .. })) => {
                output.push_str(text);
                output.push('\n');
            }
            (None, _) => {}
        }
    }
    fence
}
