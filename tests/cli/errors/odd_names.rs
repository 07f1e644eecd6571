//! Odd names.

use super::*;

/// The rows of RFC 4180 text.
fn csv(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, quoted) {
            ('"', true) if chars.peek() == Some(&'"') => cell.push(chars.next().unwrap()),
            ('"', _) => quoted = !quoted,
            (',', false) => row.push(std::mem::take(&mut cell)),
            ('\n', false) => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            _ => cell.push(c),
        }
    }
    rows
}

/// Names that break tables, and what they are once they are text.
const ODD_NAMES: [(&[u8], &str); 8] = [
    (b"with \"quotes\"", "with \"quotes\""),
    (b"with, commas, in it", "with, commas, in it"),
    (b"two\nlines", "two\nlines"),
    (b"carriage\r\nreturn", "carriage\r\nreturn"),
    (b"a\ttab", "a\ttab"),
    (b"a|pipe", "a|pipe"),
    (b"not utf-8: \xff\xfe", r"not utf-8: \xff\xfe"),
    (b"\x1b[31mred\x07", "\u{1b}[31mred\u{7}"),
];

#[test]
fn odd_names_survive_every_machine_format() {
    let folder = TempFolder::new("err-names");
    let mut story = Story::empty();
    for (i, (name, _)) in ODD_NAMES.iter().enumerate() {
        story = story.with_kernel(Name::plain(name), 1_000_000 + i as i64, 1_000 * (100 - i as i64));
    }
    for (kind, bytes) in every_kind(&story) {
        let path = folder.argument("t", &bytes);
        let print = |format: &str| gpuprof(&["report", "--print-gpu-summary", "--format", format, &path]).stdout;
        // JSON has no bytes that are not UTF-8: what wrote it has replaced them.
        let in_json = kind.starts_with("kineto");
        let text = |(name, text): &(&[u8], &str)| match in_json {
            true => String::from_utf8_lossy(name).into_owned(),
            false => (*text).to_owned(),
        };
        let texts: Vec<String> = ODD_NAMES.iter().map(text).collect();
        let json: serde_json::Value = serde_json::from_str(&print("json")).unwrap();
        let names: Vec<&str> =
            json["tables"][0]["rows"].as_array().unwrap().iter().map(|row| row["Name"].as_str().unwrap()).collect();
        assert_eq!(names, texts, "{kind} json");
        let rows = csv(&print("csv"));
        assert_eq!(
            rows[1..].iter().map(|row| row.last().unwrap().as_str()).collect::<Vec<_>>(),
            texts,
            "{kind} csv"
        );
        let tsv = print("tsv");
        let columns = rows[0].len();
        assert_eq!(tsv.lines().count(), 1 + ODD_NAMES.len(), "{kind} tsv");
        assert!(tsv.lines().all(|line| line.split('\t').count() == columns), "{kind} tsv: {tsv}");
        let markdown = print("markdown");
        assert_eq!(markdown.lines().count(), 2 + ODD_NAMES.len(), "{kind} markdown");
        let bars = |line: &str| line.replace("\\|", "").matches('|').count();
        assert!(markdown.lines().all(|line| bars(line) == columns + 1), "{kind} markdown: {markdown}");
    }
}

#[test]
fn odd_names_do_not_break_text_tables_or_the_terminal() {
    let folder = TempFolder::new("err-terminal");
    let mut story = Story::empty();
    for (i, (name, _)) in ODD_NAMES.iter().enumerate() {
        story = story.with_kernel(Name::plain(name), 1_000_000 + i as i64 * 200_000, 1_000 * (100 - i as i64));
        story.ranges.push(NvtxRange {
            name: String::from_utf8_lossy(name).into_owned(),
            domain: None,
            start: 1_000,
            end: Some(2_000 + i as i64),
            style: 0,
            tid: THREAD,
        });
    }
    let path = folder.argument("t.gpuprof", &native(&story));
    for options in [
        &["--print-gpu-summary"][..],
        &["--print-gpu-trace"],
        &["--print-summary"],
        &["--print-summary-per-gpu"],
        &["--print-gpu-summary", "--format", "table"],
        &["--print-gpu-summary", "--format", "markdown"],
        &["--view", "cuda_gpu_kern_sum"],
    ] {
        let text = gpuprof(&[&["report"], options, &[&path]].concat()).stdout;
        let kernels = text.lines().filter(|line| line.contains("with \"quotes\"") || line.contains("lines"));
        assert!(kernels.clone().count() >= 2, "{options:?}: {text}");
        let torn = text.lines().any(|line| line.starts_with("lines") || line.starts_with("return"));
        assert!(!torn, "{options:?}: a name tears its row apart: {text}");
        assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{options:?}: control characters: {text:?}");
    }
}

#[test]
fn odd_names_are_quoted_in_nvprofs_csv() {
    let folder = TempFolder::new("err-nvprof-csv");
    let mut story = Story::empty();
    for (i, (name, _)) in ODD_NAMES.iter().enumerate() {
        story = story.with_kernel(Name::plain(name), 1_000_000 + i as i64 * 200_000, 1_000 * (100 - i as i64));
    }
    let path = folder.argument("t.gpuprof", &native(&story));
    for (option, columns) in [("--print-gpu-summary", 8), ("--print-gpu-trace", 19)] {
        let text = gpuprof(&["report", option, "--csv", &path]).stdout;
        let rows = csv(&text);
        // The first line is `======== Profiling result:`, then header and units.
        assert_eq!(rows.len(), 3 + ODD_NAMES.len(), "{option}: {text}");
        assert!(rows[1..].iter().all(|row| row.len() == columns || row.len() == rows[1].len()), "{option}: {text}");
        for (row, (_, expected)) in rows[3..].iter().zip(&ODD_NAMES) {
            let name = row.iter().find(|cell| cell.contains(&expected[..3])).unwrap_or_else(|| panic!("{text}"));
            assert!(name.starts_with(expected), "{option}: {name:?} is not {expected:?}");
        }
    }
}

#[test]
fn names_of_64_kib_and_invalid_mangled_names_never_stop_a_report() {
    let folder = TempFolder::new("err-long");
    let long = "k".repeat(64 << 10);
    let deep = format!("_Z1f{}i", "P".repeat(60_000));
    let nested = format!("_ZN{}E", "1aI".repeat(20_000));
    let names = [
        long.as_str(),
        &deep,
        &nested,
        "_Z",
        "_ZN",
        "_Z999999999999999999999f",
        "_Z1fS_",
        "_Z1fS99999999999_",
        "_Z1fT_T_T_",
        "_ZN1aIXadL_Z1bEEE",
        "_ZNK3fooILi-5EE",
        "__Z3foov",
        "_Z3foov.cold.17",
        "_Z1fDpDpDpDp",
        "",
    ];
    let mut story = Story::empty();
    for (i, name) in names.iter().enumerate() {
        story = story.with_kernel(Name::plain(name), 1_000_000 + i as i64, 5_000);
    }
    for (kind, bytes) in [("native", native(&story)), ("nsys", nsys(&story, NsysEra::Of2026))] {
        let path = folder.argument("t", &bytes);
        for demangling in ["on", "nvprof", "off"] {
            let begun = std::time::Instant::now();
            for option in ["--print-gpu-summary", "--print-gpu-trace"] {
                let answer = gpuprof(&["report", option, "--demangling", demangling, &path]);
                assert!(answer.stdout.contains(&long), "{kind} {demangling} {option}");
            }
            let json =
                gpuprof(&["report", "--print-gpu-summary", "--demangling", demangling, "--format", "json", &path]);
            let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
            let rows = json["tables"][0]["rows"].as_array().unwrap();
            let calls: u64 = rows.iter().map(|row| row["Calls"].as_u64().unwrap()).sum();
            assert_eq!(calls, names.len() as u64, "{kind} {demangling}");
            assert!(begun.elapsed().as_secs() < 20, "{kind} {demangling}: {:?}", begun.elapsed());
        }
    }
}
