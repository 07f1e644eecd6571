//! What contexts, streams and the process are called: `--context-name`, `--stream-name`, `--process-name`.

use super::request::Names;
use crate::analysis::labels::PlaceNames;
use crate::os::identity;
use crate::report::nvprof::logfile;

/// The host's name; empty if it is no text.
pub fn host() -> String {
    identity::host().and_then(|name| name.into_string().ok()).unwrap_or_default()
}

/// Replaces all patterns but `%i`. The pattern was checked when it was read.
pub fn expand(pattern: &str, pid: u32) -> String {
    let kept = pattern.replace("%i", "%%i");
    logfile::expand(&kept, pid, &host(), |name| std::env::var(name).ok()).unwrap_or_else(|_| pattern.to_owned())
}

/// A pattern without its `%i`, which only names of contexts and streams know.
pub fn without_ids(pattern: &str) -> String {
    pattern.replace("%i", "")
}

/// How rows of the process name their places.
pub fn of_places(names: &Names, pid: u32) -> PlaceNames {
    let expanded = |pattern: &Option<String>| pattern.as_ref().map(|pattern| expand(pattern, pid));
    PlaceNames {
        process: expanded(&names.process),
        context: expanded(&names.context),
        stream: expanded(&names.stream),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_stay_for_later() {
        assert_eq!(expand("rank %p ctx %i 100%%", 7), "rank 7 ctx %i 100%");
        assert_eq!(without_ids("ctx %i"), "ctx ");
    }
}
