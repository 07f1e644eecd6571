//! What nsys said while it recorded. Its warnings and errors answer why something is missing from the file ("CUDA
//! profiling might have not been started correctly"), so they are passed on as notes.

use super::Reader;

/// `ENUM_DIAGNOSTIC_SEVERITY_LEVEL`.
const WARNING: u32 = 2;
const ERROR: u32 = 3;

/// Messages passed on at most.
const MESSAGES: usize = 10;

/// Characters of a message that are shown.
const CHARACTERS: usize = 300;

/// Passes warnings and errors on, errors first, each text once; the other messages are counted.
pub(super) fn pass_on(r: &mut Reader) {
    let Some(mut scan) = r.scan("DIAGNOSTIC_EVENT") else { return };
    let [severity, text] = ["severity", "text"].map(|name| scan.col(name));
    let mut messages: Vec<(u32, String)> = Vec::new();
    let mut others = 0;
    let tally = scan.run(|row| {
        let level = row.id(severity);
        let message = (level.unwrap_or(0), one_line(row.bytes(text).unwrap_or_default()));
        if !matches!(level, Some(WARNING | ERROR)) || message.1.is_empty() {
            others += 1;
        } else if !messages.contains(&message) {
            if messages.len() < MESSAGES { messages.push(message) } else { others += 1 }
        }
        true
    });
    r.close(tally);
    messages.sort_by_key(|&(level, _)| std::cmp::Reverse(level));
    for (level, message) in messages {
        let says = if level == ERROR { "reported an error" } else { "warned" };
        let text = format!("{}: while it recorded, nsys {says}: {message}", r.path.display());
        r.sink.note("nsys-diagnostic", text);
    }
    r.unread.add(b"DIAGNOSTIC_EVENT", others);
}

/// A message without line breaks and without the full stop that ends no note, cut where it is very long.
fn one_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty()).collect();
    let line = words.join(" ");
    match line.char_indices().nth(CHARACTERS) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.trim_end_matches('.').to_owned(),
    }
}
