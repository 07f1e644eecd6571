//! Folded stacks, as `py-spy record --format raw`, `stackcollapse-*.pl` and gpuprof itself write them: a line per
//! stack, `outer;inner 12`, outermost function first, the number of samples behind the last space.

use super::lines::with_lines;
use super::samples::{ByName, Samples};
use super::{HEAD_BYTES, Head, Importer, units};
use crate::error::{Error, Result};
use crate::numbers::items;
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
        let (mut lines, mut stacks, mut others) = (0u32, 0u32, 0u32);
        for line in text[..whole].split(|&byte| byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() || is_comment(line) {
                continue;
            }
            if line.iter().any(|byte| byte.is_ascii_control()) {
                return false;
            }
            lines += 1;
            match split(line) {
                Line::Stack(stack, _) | Line::Fraction(stack) => stacks += u32::from(stack.contains(&b';')),
                Line::Other => others += 1,
            }
        }
        // Lists of words and numbers are common; of stacks, most have more than one function. A message of the sampler
        // among them makes no other file of it.
        lines > 0 && 2 * stacks >= lines && 4 * others <= lines
    }

    fn read(&self, path: &Path, _: &Need, sink: &mut Sink) -> Result<()> {
        let (samples, left_out, fraction) = with_lines(path, sink, |lines, _| {
            let mut samples = Samples::default();
            let mut names = ByName::default();
            let (mut left_out, mut fraction, mut stack) = ((0u64, 0u64), None, Vec::new());
            while let Some(line) = lines.next() {
                let is_empty = line.is_empty();
                match split(line) {
                    Line::Stack(frames, count) if !is_comment(line) => {
                        stack.clear();
                        let functions = frames.split(|&byte| byte == b';');
                        stack.extend(functions.map(|name| names.number(name, &mut samples)));
                        samples.add(stack.iter().copied(), count, i128::from(count));
                        continue;
                    }
                    Line::Fraction(_) if !is_comment(line) => fraction = fraction.or(Some(lines.number)),
                    _ => {}
                }
                match is_empty {
                    true => lines.vouch(),
                    false if left_out.0 == 0 => left_out = (1, lines.number),
                    false => left_out.0 += 1,
                }
            }
            (samples, left_out, fraction)
        })?;
        if let Some(line) = fraction {
            return Err(Error::at(
                path,
                format_args!("line {line}: folded stacks with fractions of samples, and gpuprof counts whole ones"),
            )
            .remedy("multiply the numbers so that all are whole, or fold the samples again without weights"));
        }
        let profile = samples.finish(String::new(), Weight::Count);
        if profile.samples == 0 {
            return Err(Error::at(path, "folded stacks without a sample").remedy("record again"));
        }
        let path = path.display();
        if let (count @ 1.., first) = left_out {
            sink.note(
                "left-out",
                format!(
                    "{path}: {} left out; the first is line {first}",
                    items(
                        count,
                        "line is a comment or does not end in a number of samples and is",
                        "lines are comments or do not end in a number of samples and are"
                    )
                ),
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

/// What a line is.
enum Line<'l> {
    /// A stack and its number of samples.
    Stack(&'l [u8], u64),
    /// A stack and a number with decimals, as flamegraph.pl takes them for weights.
    Fraction(&'l [u8]),
    /// Neither.
    Other,
}

/// Comments may well end in a number.
fn is_comment(line: &[u8]) -> bool {
    line.starts_with(b"#")
}

/// Takes a line apart. py-spy writes stacks of threads without Python frames as nothing at all.
fn split(line: &[u8]) -> Line<'_> {
    let Some(space) = line.iter().rposition(|&byte| byte == b' ') else { return Line::Other };
    let (stack, number) = (line[..space].trim_ascii_end(), &line[space + 1..]);
    let mut parts = number.split(|&byte| byte == b'.');
    let are_digits = |part: Option<&[u8]>| part.is_some_and(|p| !p.is_empty() && p.iter().all(u8::is_ascii_digit));
    let whole = are_digits(parts.next());
    match (whole, parts.next()) {
        (true, None) => units::count(number).map_or(Line::Other, |count| Line::Stack(stack, count)),
        (true, fraction) if are_digits(fraction) && parts.next().is_none() => Line::Fraction(stack),
        _ => Line::Other,
    }
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
        for text in ["words 1\nmore 2\n", "a;b\n", "a;b 1\nan error\n", "a;b -1\n", "a;b 1.5.2\n", "\u{1}a;b 1\n"] {
            let file = TempFile::new("a.txt", text.as_bytes());
            let head = crate::import::Head::read(&file.path).expect("a head");
            assert!(!crate::import::claims_to_be_a_trace(&head), "{text:?}");
        }
    }

    #[test]
    fn comments_and_messages_are_left_out_and_said() {
        let (profile, notes) =
            profile("# recorded on node 7\nmain;step;gemm 40\nmain;step;relu 10\nmain;load 5\nnot a stack\n");
        assert_eq!((profile.samples, profile.rows.len()), (55, 5));
        assert_eq!(notes, ["left-out", "samples-only"]);
    }

    #[test]
    fn a_number_that_may_be_cut_short_is_said() {
        assert_eq!(profile("a;b 3\na;c 12").1, ["incomplete-line", "samples-only"]);
        assert_eq!(profile("a;b 3\na;c 12\n").1, ["samples-only"]);
    }

    #[test]
    fn fractions_are_refused_by_line() {
        let file = TempFile::new("a.txt", b"a;b 3\na;c 40.5\n");
        let error = import(&file, &Need::all()).err().expect("refused").to_string();
        assert!(error.contains("line 2") && error.contains("fractions"), "{error}");
    }
}
