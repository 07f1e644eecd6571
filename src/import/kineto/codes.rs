//! What Kineto's names of copies, synchronisations and overheads mean in CUPTI's numbers.

use trace_format::vocabulary::memcpy_kind::{self, DTOD, DTOH, HTOD, HTOH, PTOP};
use trace_format::vocabulary::{memory_kind, overhead_kind, sync_kind};

/// Copy kind, source and destination memory of a copy called e.g. `Memcpy HtoD (Pageable -> Device)`; 0 is unknown.
pub fn copy(name: &[u8]) -> (u32, u32, u32) {
    let Some(rest) = name.strip_prefix(b"Memcpy ") else { return (0, 0, 0) };
    let (kind, rest) = rest.split_at(rest.iter().position(|&b| b == b' ').unwrap_or(rest.len()));
    let kind = match kind {
        // Intel's names: M is memory of the host, D of the device, S shared by both.
        b"M2D" | b"H2D" => HTOD,
        b"D2M" | b"D2H" => DTOH,
        b"D2D" => DTOD,
        b"M2M" | b"H2H" => HTOH,
        _ => memcpy_kind::VOCABULARY.code(kind).unwrap_or(memcpy_kind::UNKNOWN),
    };
    let inner = rest.strip_prefix(b" (").and_then(|r| r.strip_suffix(b")")).unwrap_or_default();
    match inner.windows(4).position(|w| w == b" -> ") {
        Some(arrow) => (kind, memory(&inner[..arrow]), memory(&inner[arrow + 4..])),
        None => (kind, 0, 0),
    }
}

/// The same for a copy as any tool calls it: `MemcpyH2D`, `CopyHostToDevice`, `[CUDA memcpy HtoD]`; `None` if the name
/// is no copy's.
pub fn any_copy(name: &[u8]) -> Option<(u32, u32, u32)> {
    if name.starts_with(b"Memcpy ") {
        return Some(copy(name));
    }
    let lower = name.to_ascii_lowercase();
    let begins = [&b"memcpy"[..], b"[cuda memcpy", b"cuda memcpy", b"copyhost", b"copydevice"];
    if !begins.iter().any(|begin| lower.starts_with(begin)) {
        return None;
    }
    let plain: Vec<u8> = lower.into_iter().filter(u8::is_ascii_alphanumeric).collect();
    let kinds: [(&[u8], u32); 12] = [
        (b"hosttodevice", HTOD),
        (b"devicetohost", DTOH),
        (b"devicetodevice", DTOD),
        (b"hosttohost", HTOH),
        (b"htod", HTOD),
        (b"dtoh", DTOH),
        (b"dtod", DTOD),
        (b"ptop", PTOP),
        (b"h2d", HTOD),
        (b"d2h", DTOH),
        (b"d2d", DTOD),
        (b"p2p", PTOP),
    ];
    let found = kinds.iter().find(|(word, _)| plain.windows(word.len()).any(|part| part == *word));
    Some((found.map_or(0, |&(_, kind)| kind), 0, 0))
}

/// Whether any tool calls a fill so: `Memset`, `[CUDA memset]`.
pub fn is_fill(name: &[u8]) -> bool {
    let lower = name.to_ascii_lowercase();
    [&b"memset"[..], b"[cuda memset", b"cuda memset"].iter().any(|begin| lower.starts_with(begin))
}

/// `CUpti_ActivityMemoryKind` for a word in any case.
pub fn memory_word(word: &[u8]) -> u32 {
    let mut name = word.to_ascii_lowercase();
    if let Some(first) = name.first_mut() {
        first.make_ascii_uppercase();
    }
    memory(&name)
}

/// Memory of a fill called e.g. `Memset (Device)`; 0 is unknown.
pub fn fill(name: &[u8]) -> u32 {
    name.strip_prefix(b"Memset (").and_then(|n| n.strip_suffix(b")")).map_or(0, memory)
}

/// `CUpti_ActivityMemoryKind`. ROCm says `Host` and does not tell pageable from pinned, so that is unknown.
fn memory(name: &[u8]) -> u32 {
    match name {
        // Intel's unified shared memory.
        b"Shared" => memory_kind::MANAGED,
        _ => memory_kind::NVPROF.code(name).unwrap_or(memory_kind::UNKNOWN),
    }
}

/// `CUpti_ActivitySynchronizationType`; 0 is unknown.
pub fn sync(name: &[u8]) -> u32 {
    sync_kind::KINETO.code(name).unwrap_or(sync_kind::UNKNOWN)
}

/// `CUpti_ActivityOverheadKind`; 0 is unknown.
pub fn overhead(name: &[u8]) -> u32 {
    overhead_kind::KINETO.code(name).unwrap_or(overhead_kind::UNKNOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_named_by_kind_and_memories() {
        assert_eq!(copy(b"Memcpy HtoD (Pageable -> Device)"), (1, 1, 3));
        assert_eq!(copy(b"Memcpy DtoH (Device -> Pinned)"), (2, 3, 2));
        assert_eq!(copy(b"Memcpy DtoD (Device -> Device)"), (8, 3, 3));
        assert_eq!(copy(b"Memcpy PtoP (Device Static -> Managed Static)"), (10, 6, 7));
        assert_eq!(copy(b"Memcpy HtoD (Host -> Device)"), (1, 0, 3));
        assert_eq!(copy(b"Memcpy M2D (Memory -> Device)"), (1, 0, 3));
        assert_eq!(copy(b"Memcpy D2M (Device -> Memory)"), (2, 3, 0));
    }

    #[test]
    fn copies_are_known_by_what_other_tools_call_them() {
        assert_eq!(any_copy(b"MemcpyH2D"), Some((1, 0, 0)));
        assert_eq!(any_copy(b"CopyDeviceToHost"), Some((2, 0, 0)));
        assert_eq!(any_copy(b"[CUDA memcpy Device-to-Device]"), Some((8, 0, 0)));
        assert_eq!(
            (any_copy(b"copy_kernel(float*)"), any_copy(b"Memcpy HtoD (Pageable -> Device)")),
            (None, Some((1, 1, 3)))
        );
        assert_eq!([is_fill(b"Memset (Device)"), is_fill(b"[CUDA memset]"), is_fill(b"set")], [true, true, false]);
        assert_eq!([memory_word(b"pageable"), memory_word(b"device"), memory_word(b"?")], [1, 3, 0]);
    }

    #[test]
    fn unknown_names_are_unknown() {
        assert_eq!(copy(b"Memcpy DtoD"), (8, 0, 0));
        assert_eq!(copy(b"Memcpy "), (0, 0, 0));
        assert_eq!(copy(b"Memcpy XtoY (a)"), (0, 0, 0));
        assert_eq!(copy(b"CopyHostToDevice"), (0, 0, 0));
        assert_eq!(copy(b""), (0, 0, 0));
        assert_eq!([fill(b"Memset (Device)"), fill(b"Memset (Unknown)"), fill(b"Memset")], [3, 0, 0]);
        assert_eq!([sync(b"Context Sync"), sync(b"?")], [4, 0]);
        assert_eq!([overhead(b"Lazy Function Loading"), overhead(b"?")], [327_680, 0]);
    }
}
