//! Folded stacks, as `py-spy record --format raw`, `stackcollapse-*.pl` and gpuprof itself write them: a line per
//! stack, `outer;inner 12`, outermost function first, the number of samples behind the last space.

use super::lines::with_lines;
use super::samples::{ByName, Samples};
use super::{HEAD_BYTES, Head, Importer, units};
use crate::error::{Error, Result};
use crate::trace::sink::{Need, Sink};
use crate::trace::summaries::{Content, Summary, Weight};
use std::path::Path;

/// Reads folded stacks.
pub struct Folded;

impl Importer for Folded {
    fn name(&self) -> &'static str {
        "folded-stacks"
    }

    fn describes(&self) -> &'static str {
        "sampled call stacks, one per line (py-spy raw, flame graphs)"
    }

    fn sniff(&self, head: &Head) -> bool {
        let text = &head.text;
        // The last line may be cut off by the end of the head.
        let goes_on = text.len() as u64 >= HEAD_BYTES || head.raw.len() as u64 >= HEAD_BYTES;
        let whole = if goes_on { text.iter().rposition(|&byte| byte == b'\n').unwrap_or(0) } else { text.len() };
        let mut lines = 0u32;
        let mut stacks = 0u32;
        for line in text[..whole].split(|&byte| byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                continue;
            }
            let Some((stack, _)) = split(line) else { return false };
            if line.iter().any(|byte| byte.is_ascii_control()) {
                return false;
            }
            lines += 1;
            stacks += u32::from(stack.contains(&b';'));
        }
        // Lists of words and numbers are common; of stacks, most have more than one function.
        lines > 0 && 2 * stacks >= lines
    }

    fn read(&self, path: &Path, _: &Need, sink: &mut Sink) -> Result<()> {
        let (samples, unusable) = with_lines(path, sink, |lines, _| {
            let mut samples = Samples::default();
            let mut names = ByName::default();
            let (mut unusable, mut stack) = (0u64, Vec::new());
            while let Some(line) = lines.next() {
                if line.is_empty() {
                    continue;
                }
                let Some((frames, count)) = split(line) else {
                    unusable += 1;
                    continue;
                };
                stack.clear();
                stack.extend(frames.split(|&byte| byte == b';').map(|name| names.number(name, &mut samples)));
                samples.add(stack.iter().copied(), count, i128::from(count));
            }
            (samples, unusable)
        })?;
        let profile = samples.finish(String::new(), Weight::Count);
        if profile.samples == 0 {
            return Err(Error::at(path, "folded stacks without a sample").remedy("record again"));
        }
        let path = path.display();
        if unusable > 0 {
            sink.note(
                "left-out",
                format!("{path}: {unusable} lines do not end in a number of samples and are left out"),
            );
        }
        sink.note(
            "samples-only",
            format!("{path}: holds counted samples of call stacks of the CPU alone: no times, because the rate of sampling is not in it, and nothing of a GPU"),
        );
        sink.origin = "folded call stacks".to_owned();
        sink.summary(Summary { maker: "a sampling profiler", pid: None, content: Content::Samples(profile) });
        Ok(())
    }
}

/// A stack and its number of samples. py-spy writes stacks of threads without Python frames as nothing at all.
fn split(line: &[u8]) -> Option<(&[u8], u64)> {
    let space = line.iter().rposition(|&byte| byte == b' ')?;
    let digits = &line[space + 1..];
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let count = is_number.then(|| units::count(digits)).flatten()?;
    Some((line[..space].trim_ascii_end(), count))
}

#[cfg(test)]
mod tests {
    use crate::import::testing::{TempFile, import};
    use crate::trace::sink::Need;
    use crate::trace::summaries::{Content, SampleProfile};

    fn profile(text: &str) -> (SampleProfile, Vec<&'static str>) {
        let imported = import(&TempFile::new("a.txt", text.as_bytes()), &Need::all()).expect("folded stacks");
        assert_eq!(imported.importer, "folded-stacks");
        match &imported.summaries[0].content {
            Content::Samples(profile) => (profile.clone(), imported.note_codes()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_function_counts_once_per_stack_and_its_own_samples_where_it_is_innermost() {
        let (profile, notes) = profile("a (x.py:1);b;a (x.py:1) 3\na (x.py:1);c d 2\n;x 1\n 4\n");
        let row = |name: &str| {
            let row = profile.rows.iter().find(|row| row.name == name).expect(name);
            (row.own, row.total, row.samples)
        };
        assert_eq!(row("a (x.py:1)"), (3, 5, 5));
        assert_eq!(row("b"), (0, 3, 3));
        assert_eq!(row("c d"), (2, 2, 2));
        assert_eq!(row(""), (4, 5, 5));
        assert_eq!((profile.samples, profile.total), (10, 10));
        assert_eq!(notes, ["samples-only"]);
    }

    #[test]
    fn lists_of_other_things_are_not_taken() {
        for text in ["words 1\nmore 2\n", "a;b\n", "a;b 1\nan error\n", "a;b -1\n", "a;b 1.5\n", "\u{1}a;b 1\n"] {
            let file = TempFile::new("a.txt", text.as_bytes());
            let head = crate::import::Head::read(&file.path).expect("a head");
            assert!(!crate::import::claims_to_be_a_trace(&head), "{text:?}");
        }
    }
}
