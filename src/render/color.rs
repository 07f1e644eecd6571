//! Colour for a terminal: headings stand out, rules step back, what became slower, failed or is a problem is red.

const BOLD: &str = "1";
const DIM: &str = "2";
const RED: &str = "31";
const GREEN: &str = "32";

/// Whether text for the standard output is coloured, by the rules of <https://no-color.org> and
/// <https://bixense.com/clicolors>: `NO_COLOR` says no, `CLICOLOR_FORCE` yes, whatever the output is; else a terminal
/// is coloured unless `CLICOLOR` is 0 or `TERM` is dumb.
pub fn is_wanted(is_terminal: bool) -> bool {
    wanted(is_terminal, |name| std::env::var(name).ok())
}

fn wanted(is_terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
    let is = |name: &str, value: &str| variable(name).as_deref() == Some(value);
    let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    if is_set("NO_COLOR") {
        return false;
    }
    if is_set("CLICOLOR_FORCE") && !is("CLICOLOR_FORCE", "0") {
        return true;
    }
    is_terminal && !is("CLICOLOR", "0") && !is("TERM", "dumb")
}

/// Colours lines by what they are. What a rule of dashes underlines is a heading, so each line is held until the next one
/// is known.
#[derive(Default)]
pub struct Painter {
    held: Option<String>,
    /// The line that comes next is a heading, as in nvprof's tables, which have no rules.
    heading_next: bool,
}

impl Painter {
    /// Takes a line without its end; gives back the line before, coloured.
    pub fn next(&mut self, line: &str) -> Option<String> {
        let before = self.held.take();
        let painted = before.map(|before| match is_rule(line) {
            true if !is_rule(&before) && !before.is_empty() => in_style(BOLD, &before),
            _ => self.style(before),
        });
        self.held = Some(line.to_owned());
        painted
    }

    /// Gives back the last line, coloured.
    pub fn last(&mut self) -> Option<String> {
        let held = self.held.take()?;
        Some(self.style(held))
    }

    fn style(&mut self, line: String) -> String {
        let is_heading = std::mem::take(&mut self.heading_next);
        self.heading_next = line.starts_with("==") && line.ends_with(" result:");
        let style = match first_word(&line) {
            _ if line.is_empty() => return line,
            _ if is_rule(&line) => DIM,
            _ if is_heading || self.heading_next || line.starts_with(" ** ") || line == "Insights" => BOLD,
            "change" if line.ends_with("  name") => BOLD,
            "Slower:" | "slower" | "Failed:" => RED,
            // Of `gpuprof doctor`, whose lines have the level in a column of their own.
            "problem" if line.starts_with("problem  ") => RED,
            "Faster:" | "faster" => GREEN,
            _ => return line,
        };
        in_style(style, &line)
    }
}

/// A line that only underlines, whole or cut to the width of the terminal.
fn is_rule(line: &str) -> bool {
    let line = line.trim_end_matches(['…', '.']);
    line.contains("---") && line.bytes().all(|byte| matches!(byte, b'-' | b' '))
}

/// The word that a line begins with; nothing if it is indented.
fn first_word(line: &str) -> &str {
    line.split(' ').next().unwrap_or_default()
}

fn in_style(style: &str, line: &str) -> String {
    format!("\x1b[{style}m{line}\x1b[0m")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn painted(text: &str) -> Vec<String> {
        let mut painter = Painter::default();
        let mut lines: Vec<String> = text.lines().filter_map(|line| painter.next(line)).collect();
        lines.extend(painter.last());
        lines
    }

    #[test]
    fn headings_are_bold_rules_dim_and_rows_plain() {
        let table = " ** T (t):\n\n Time  Name\n ----  ----\n    1  a --- b\n";
        let expected = [
            "\x1b[1m ** T (t):\x1b[0m",
            "",
            "\x1b[1m Time  Name\x1b[0m",
            "\x1b[2m ----  ----\x1b[0m",
            "    1  a --- b",
        ];
        assert_eq!(painted(table), expected);
        let nvprof = "======== Profiling result:\n  Type  Name\n  GPU  a\n";
        let expected = ["\x1b[1m======== Profiling result:\x1b[0m", "\x1b[1m  Type  Name\x1b[0m", "  GPU  a"];
        assert_eq!(painted(nvprof), expected);
        assert_eq!(painted("slower  1  a\n slower\n"), ["\x1b[31mslower  1  a\x1b[0m", " slower"]);
        let doctor = painted("problem  driver: none\nok       disk: 1 GiB\nproblem: x\n");
        assert_eq!(doctor, ["\x1b[31mproblem  driver: none\x1b[0m", "ok       disk: 1 GiB", "problem: x"]);
        assert!(painted("").is_empty());
    }

    #[test]
    fn the_environment_decides_whether_there_is_colour() {
        let of = |is_terminal, pairs: &'static [(&str, &str)]| {
            wanted(is_terminal, move |name| {
                pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(of(true, &[]) && !of(false, &[]) && of(true, &[("NO_COLOR", ""), ("CLICOLOR", "1")]));
        for refused in
            [&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")][..], &[("CLICOLOR", "0")], &[("TERM", "dumb")]]
        {
            assert!(!of(true, refused), "{refused:?}");
        }
        assert!(of(false, &[("CLICOLOR_FORCE", "1"), ("CLICOLOR", "0")]) && !of(false, &[("CLICOLOR_FORCE", "0")]));
    }
}
