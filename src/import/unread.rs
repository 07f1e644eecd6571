//! What a reader saw and made no row of, counted by what the file calls it, so that one note says all of it.

use crate::numbers::grouped;
use crate::trace::sink::Sink;
use std::path::Path;

/// Kinds told apart at most: a damaged file may have as many as rows. The rest are counted together.
const KINDS: usize = 200;

/// Kinds named in the note; more than this nobody reads.
const NAMED: usize = 12;

/// Bytes of a name that are shown.
const NAME_BYTES: usize = 60;

/// Counts of rows that are not read, by kind.
#[derive(Default, Debug)]
pub struct Unread {
    kinds: Vec<UnreadKind>,
    /// Index of the kind that was counted last: rows of one kind stand together.
    last: usize,
    others: u64,
}

#[derive(Debug)]
struct UnreadKind {
    name: Box<[u8]>,
    rows: u64,
    /// The number was estimated, because counting would have cost more than reading the rest.
    estimated: bool,
}

impl Unread {
    /// Counts `rows` more rows of a kind.
    pub fn add(&mut self, name: &[u8], rows: u64) {
        if let Some(index) = self.find(name) {
            self.kinds[index].rows += rows;
        } else {
            self.others += rows;
        }
    }

    /// Counts rows of a kind whose number is known roughly.
    pub fn add_about(&mut self, name: &[u8], rows: u64) {
        self.add(name, rows);
        if let Some(index) = self.find(name) {
            self.kinds[index].estimated = true;
        }
    }

    /// The index of a kind, new or known; `None` if there are too many.
    #[inline]
    fn find(&mut self, name: &[u8]) -> Option<usize> {
        let is_it = |kind: &UnreadKind| *kind.name == *name;
        if !self.kinds.get(self.last).is_some_and(is_it) {
            self.last = match self.kinds.iter().position(is_it) {
                Some(known) => known,
                None if self.kinds.len() >= KINDS => return None,
                None => {
                    self.kinds.push(UnreadKind { name: name.into(), rows: 0, estimated: false });
                    self.kinds.len() - 1
                }
            };
        }
        Some(self.last)
    }

    /// All rows counted so far.
    #[cfg(test)]
    pub fn rows(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.rows).sum::<u64>() + self.others
    }

    /// Says what is not read, most rows first; `unit` is what the file's rows are called.
    pub fn note(mut self, path: &Path, sink: &mut Sink, unit: &str, remedy: &str) {
        self.kinds.retain(|kind| kind.rows > 0);
        self.kinds.sort_by(|a, b| (b.rows, &a.name).cmp(&(a.rows, &b.name)));
        let mut parts: Vec<String> = Vec::new();
        for kind in self.kinds.iter().take(NAMED) {
            let about = if kind.estimated { "about " } else { "" };
            let unit = match (parts.is_empty(), kind.rows) {
                (true, 1) => format!(" {}", unit.strip_suffix('s').unwrap_or(unit)),
                (true, _) => format!(" {unit}"),
                (false, _) => String::new(),
            };
            parts.push(format!("{about}{}{unit} of {}", grouped(kind.rows), shown(&kind.name)));
        }
        let rest = &self.kinds[parts.len()..];
        let others = self.others + rest.iter().map(|kind| kind.rows).sum::<u64>();
        if others > 0 {
            parts.push(format!("{} of other kinds", grouped(others)));
        }
        let Some(last) = parts.pop() else { return };
        let only_one = parts.is_empty() && last.starts_with("1 ");
        let all = if parts.is_empty() { last } else { format!("{} and {last}", parts.join(", ")) };
        let verb = if only_one { "is" } else { "are" };
        let remedy = if remedy.is_empty() { String::new() } else { format!("; {remedy}") };
        sink.note("unread-rows", format!("{}: {all} {verb} not read{remedy}", path.display()));
    }
}

/// A name as a person can read it, whatever its bytes.
fn shown(name: &[u8]) -> String {
    if name.is_empty() {
        return "no category".to_owned();
    }
    let cut = &name[..name.len().min(NAME_BYTES)];
    let text: String = String::from_utf8_lossy(cut).chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if name.len() > NAME_BYTES { format!("{text}...") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::names::{Names, Shapes};

    fn text(unread: Unread, remedy: &str) -> Option<String> {
        let (mut names, mut shapes) = (Names::default(), Shapes::default());
        let mut sink = Sink::new(&mut names, &mut shapes);
        unread.note(Path::new("a.sqlite"), &mut sink, "rows", remedy);
        assert!(sink.notes.len() <= 1 && sink.notes.iter().all(|note| note.code == "unread-rows"));
        sink.notes.pop().map(|note| note.text)
    }

    #[test]
    fn one_note_names_every_kind_with_its_number() {
        let mut unread = Unread::default();
        assert_eq!(text(Unread::default(), ""), None);
        for (name, rows) in [("A", 1), ("SCHED_EVENTS", 1253), ("A", 1), ("SCHED_EVENTS", 1), ("EMPTY", 0)] {
            unread.add(name.as_bytes(), rows);
        }
        unread.add_about(b"BIG", 2_000_000);
        assert_eq!(unread.rows(), 2_001_256);
        let expected = "a.sqlite: about 2,000,000 rows of BIG, 1,254 of SCHED_EVENTS and 2 of A are not read";
        assert_eq!(text(unread, "").unwrap(), expected);
        let mut one = Unread::default();
        one.add(b"", 1);
        assert_eq!(
            text(one, "nvvp shows it").unwrap(),
            "a.sqlite: 1 row of no category is not read; nvvp shows it"
        );
    }

    #[test]
    fn any_number_of_kinds_and_any_bytes_make_one_short_line() {
        let mut unread = Unread::default();
        for i in 0..1000u32 {
            unread.add(format!("kind\n{i:<200}").as_bytes(), 2);
        }
        let text = text(unread, "").unwrap();
        assert!(text.contains(" and 1,976 of other kinds are not read") && !text.contains('\n'), "{text}");
        assert!(text.len() < 1200, "{}", text.len());
    }
}
