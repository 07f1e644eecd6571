//! A timeline of characters: how high a block is says how much of its time was busy.

use super::layout::Picture;
use super::rows::Class;
use super::{Options, shorten};
use crate::error::{Error, Result};
use std::io::Write;

/// Blocks by level, and what stands for them in ASCII.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: [char; 9] = [' ', '.', ':', '-', '=', '+', '*', '#', '@'];

/// Room for shares.
const SHARE_WIDTH: usize = 8;

fn label_width(width: usize) -> usize {
    (width * 3 / 10).clamp(16, 44)
}

/// Characters that the columns of a line take.
pub(super) fn plot_width(width: usize) -> usize {
    width.saturating_sub(label_width(width) + SHARE_WIDTH + 2).max(1)
}

/// Foreground colours, as terminals number them: the user's own palette decides what they look like.
fn code(class: Class) -> u8 {
    match class {
        Class::Kernel | Class::Graph => 32,
        Class::CopyIn => 33,
        Class::CopyOut => 35,
        Class::Copy | Class::Fill => 37,
        Class::Migration => 31,
        Class::Call => 34,
        Class::Range => 36,
    }
}

pub(super) fn write(picture: &Picture, width: usize, options: &Options, out: &mut dyn Write) -> Result<()> {
    let mut text = String::new();
    let (labels, columns) = (label_width(width), picture.columns.count);
    let (blocks, ellipsis) = if options.ascii { (ASCII, "..") } else { (BLOCKS, "…") };
    let line = |text: &mut String, content: &str| {
        text.push_str(content.trim_end());
        text.push('\n');
    };
    line(&mut text, &shorten(&plain(&picture.title, options), width, ellipsis));
    line(&mut text, &plain(&picture.subtitle, options));
    text.push('\n');
    axis(picture, labels + SHARE_WIDTH + 2, options, &mut text);
    for shown in &picture.lines {
        let label = format!("{}{}", "  ".repeat(shown.depth), plain(&shown.label, options));
        let Some(busy) = &shown.busy else {
            line(&mut text, &shorten(&label, width, ellipsis));
            continue;
        };
        let label = shorten(&label, labels, ellipsis);
        let share = picture.share(busy);
        text.push_str(&format!("{label:labels$}{share:>SHARE_WIDTH$}  "));
        let mut colored = None;
        let mut blank = 0;
        for i in 0..columns {
            let Some((level, class)) = picture.level(busy, i) else {
                blank += 1;
                continue;
            };
            text.extend(std::iter::repeat_n(' ', std::mem::take(&mut blank)));
            if options.color && colored != Some(class) {
                text.push_str(&format!("\u{1b}[{}m", code(class)));
                colored = Some(class);
            }
            text.push(blocks[usize::from(level)]);
        }
        if colored.is_some() {
            text.push_str("\u{1b}[0m");
        }
        text.truncate(text.trim_end_matches(' ').len());
        text.push('\n');
    }
    text.push('\n');
    legend(picture, blocks, width, options, &mut text);
    out.write_all(text.as_bytes()).map_err(|e| Error::output(&e))
}

/// A label in the characters that were asked for.
fn plain(label: &str, options: &Options) -> String {
    match options.ascii {
        true => label.replace('µ', "u").replace(|c: char| !c.is_ascii(), "?"),
        false => label.to_owned(),
    }
}

/// The times, and a line with a mark for each.
fn axis(picture: &Picture, indent: usize, options: &Options, text: &mut String) {
    let columns = picture.columns.count;
    let (mut names, mut marks) = (String::new(), String::new());
    let (dash, mark) = if options.ascii { ('-', '+') } else { ('─', '┬') };
    for (column, label) in picture.ticks(columns / 10) {
        let label = if options.ascii { label.replace('µ', "u") } else { label };
        let at = names.chars().count();
        // Room for the label, and a space between it and the one before.
        if column < columns && (at == 0 || at < column) && column + label.chars().count() <= columns {
            names.extend(std::iter::repeat_n(' ', column - at));
            names.push_str(&label);
            let at = marks.chars().count();
            marks.extend(std::iter::repeat_n(dash, column - at));
            marks.push(mark);
        }
    }
    let at = marks.chars().count();
    marks.extend(std::iter::repeat_n(dash, columns.saturating_sub(at)));
    let head = format!("{:>at$}", "busy", at = indent - 2);
    text.push_str(&format!("{head}  {names}\n{:indent$}{marks}\n", ""));
}

/// What blocks and colours mean, and what is not shown.
fn legend(picture: &Picture, blocks: [char; 9], width: usize, options: &Options, text: &mut String) {
    let looks = format!("busy from {} (little) to {} (all) of that time", blocks[1], blocks[8]);
    for note in picture.notes(&looks) {
        wrap(&if options.ascii { note.replace('µ', "u") } else { note }, width, text);
    }
    if options.color {
        let names = picture.classes().into_iter();
        let names: Vec<String> =
            names.map(|class| format!("\u{1b}[{}m{}\u{1b}[0m {}", code(class), blocks[8], class.text())).collect();
        text.push_str(&names.join("  "));
        text.push('\n');
    }
}

/// Words in lines of at most `width` characters.
fn wrap(words: &str, width: usize, text: &mut String) {
    let mut used = 0;
    for word in words.split(' ') {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            text.push('\n');
            used = 0;
        } else if used > 0 {
            text.push(' ');
            used += 1;
        }
        text.push_str(word);
        used += length;
    }
    text.push('\n');
}
