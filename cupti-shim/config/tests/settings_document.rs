//! `docs/collector-settings.md` says what holds.

use std::path::Path;

#[test]
fn the_document_is_what_the_tables_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/collector-settings.md");
    let current = shim_config::settings_md();
    if std::env::var_os("GPUPROF_BLESS").is_some() {
        std::fs::write(&path, &current).expect("the document");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == current,
        "docs/collector-settings.md is stale; write it with GPUPROF_BLESS=1 cargo test -p shim-config"
    );
}
