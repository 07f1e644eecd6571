//! `docs/collector-settings.md`, made from the tables so that it cannot disagree with them.

use crate::kinds::{GROUPS, LATENCY};
use crate::variables::{Flag, VARIABLES};
use std::fmt::Write as _;

/// The document.
pub fn settings_md() -> String {
    let mut text = String::from(
        "# Settings of the collector\n\n\
         Each is an environment variable that every process of a run reads when `libgpuprof.so` is loaded, and a flag \
         of `gpuprof record` that sets it. A value that cannot be read is reported in one line, and the default \
         holds.\n\n\
         Sizes take KiB, MiB, GiB, TiB; times take us, ms, s, min.\n\n\
         | variable | flag | default | values | what it does |\n|---|---|---|---|---|\n",
    );
    for v in VARIABLES {
        let flag = match v.flag {
            Flag::Value(name, value) => format!("`--{name} {}`", escaped(value)),
            Flag::Switch(name) => format!("`--{name}`"),
            Flag::None if v.name == "GPUPROF_OUTPUT" => "`-o PATH`".to_owned(),
            Flag::None => String::new(),
        };
        let default = if v.default.is_empty() { String::new() } else { format!("`{}`", v.default) };
        // Writing into a String cannot fail.
        let _ = writeln!(text, "| `{}` | {flag} | {default} | {} | {} |", v.name, escaped(v.range), escaped(v.doc));
    }
    text.push_str(
        "\n## Kinds\n\n\
         `--kinds +uvm,-sync` changes the default set; `--kinds kernel,memcpy` replaces it. `default`, `all` (without \
         `graph`), `none` and `api` (runtime and driver) stand for several.\n\n\
         | name | by default | what it is | CUPTI's kinds |\n|---|---|---|---|\n",
    );
    for group in GROUPS {
        let kinds: Vec<String> = group.kinds.iter().filter(|k| **k != LATENCY).map(u32::to_string).collect();
        let default = if group.default { "yes" } else { "" };
        let _ = writeln!(text, "| `{}` | {default} | {} | {} |", group.name, group.doc, kinds.join(", "));
    }
    text
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_is_what_the_tables_say() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/collector-settings.md");
        let current = settings_md();
        if std::env::var_os("GPUPROF_BLESS").is_some() {
            std::fs::write(&path, &current).expect("the document");
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            written == current,
            "docs/collector-settings.md is stale; write it with GPUPROF_BLESS=1 cargo test -p shim-config"
        );
    }

    #[test]
    fn every_setting_and_every_kind_has_a_row() {
        let text = settings_md();
        for variable in VARIABLES {
            assert_eq!(text.matches(&format!("| `{}` |", variable.name)).count(), 1, "{}", variable.name);
        }
        for group in GROUPS {
            assert_eq!(text.matches(&format!("| `{}` |", group.name)).count(), 1, "{}", group.name);
        }
        assert!(
            text.lines().filter(|l| l.starts_with('|')).all(|l| l.replace("\\|", "").matches('|').count() >= 5)
        );
    }
}
