//! Help, version, and the table in `docs/nvprof.md`, made from the table of options.

use super::table::{Argument, Does, NvprofOption, OPTIONS};
use std::fmt::Write as _;

/// The generated part of `docs/nvprof.md`, from the repository's root.
pub const PAGE: &str = "docs/nvprof.md";

/// What `--version` prints.
pub fn version() -> String {
    let (version, commit) = (env!("CARGO_PKG_VERSION"), env!("GPUPROF_COMMIT"));
    format!(
        "nvprof: gpuprof {version} ({commit}), a drop-in for nvprof\nOptions and output of release version 11.8.87\n"
    )
}

/// What `--help` prints.
pub fn text() -> String {
    let mut text = String::from(
        "Usage: nvprof [options] [application] [application-arguments]\n\
         Everything is printed to the standard error or the log file, as by nvprof 11.8. Options:\n",
    );
    for option in OPTIONS {
        let _ = writeln!(text, "{}", usage(option));
        let _ = writeln!(text, "                        {}", option.doc);
        match option.does {
            Does::Works => {}
            Does::Sets(what) => _ = writeln!(text, "                        (sets the collector's {what})"),
            Does::Says(why) => _ = writeln!(text, "                        No effect: {why}"),
            Does::Refused(why) => _ = writeln!(text, "                        Refused: {why}"),
        }
    }
    text
}

fn usage(option: &NvprofOption) -> String {
    let letter = option.short.map_or_else(|| "    ".to_owned(), |letter| format!("-{letter}, "));
    format!("  {letter} --{} {}", option.name, option.argument.shown()).trim_end().to_owned()
}

/// The table of options in Markdown, between the lines that mark it in [`PAGE`].
pub fn page() -> String {
    let mut page = String::from("| option | what it is for | here |\n|---|---|---|\n");
    for option in OPTIONS {
        let letter = option.short.map(|letter| format!("`-{letter}` ")).unwrap_or_default();
        let argument = match option.argument {
            Argument::None => String::new(),
            argument => format!(" {}", argument.shown()),
        };
        let here = match option.does {
            Does::Works => "works".to_owned(),
            Does::Sets(what) => format!("works; sets `{what}`"),
            Does::Says(why) => format!("no effect, and says so: {why}"),
            Does::Refused(why) => format!("refused: {why}"),
        };
        let cells = [format!("{letter}`--{}{argument}`", option.name), option.doc.to_owned(), here];
        let cells = cells.map(|cell| cell.replace('|', "\\|"));
        let _ = writeln!(page, "| {} |", cells.join(" | "));
    }
    page
}
