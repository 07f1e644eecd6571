//! What Kineto's names of copies, synchronisations and overheads mean in CUPTI's numbers.

/// Copy kind, source and destination memory of a copy called e.g. `Memcpy HtoD (Pageable -> Device)`; 0 is unknown.
pub fn copy(name: &[u8]) -> (u32, u32, u32) {
    let Some(rest) = name.strip_prefix(b"Memcpy ") else { return (0, 0, 0) };
    let (kind, rest) = rest.split_at(rest.iter().position(|&b| b == b' ').unwrap_or(rest.len()));
    let kind = match kind {
        // Intel's names: M is memory of the host, D of the device, S shared by both.
        b"HtoD" | b"M2D" | b"H2D" => 1,
        b"DtoH" | b"D2M" | b"D2H" => 2,
        b"HtoA" => 3,
        b"AtoH" => 4,
        b"AtoA" => 5,
        b"AtoD" => 6,
        b"DtoA" => 7,
        b"DtoD" | b"D2D" => 8,
        b"HtoH" | b"M2M" | b"H2H" => 9,
        b"PtoP" => 10,
        _ => 0,
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
        (b"hosttodevice", 1),
        (b"devicetohost", 2),
        (b"devicetodevice", 8),
        (b"hosttohost", 9),
        (b"htod", 1),
        (b"dtoh", 2),
        (b"dtod", 8),
        (b"ptop", 10),
        (b"h2d", 1),
        (b"d2h", 2),
        (b"d2d", 8),
        (b"p2p", 10),
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
        b"Pageable" => 1,
        b"Pinned" => 2,
        b"Device" => 3,
        b"Array" => 4,
        b"Managed" => 5,
        b"Device Static" => 6,
        b"Managed Static" => 7,
        // Intel's unified shared memory.
        b"Shared" => 5,
        _ => 0,
    }
}

/// `CUpti_ActivitySynchronizationType`; 0 is unknown.
pub fn sync(name: &[u8]) -> u32 {
    match name {
        b"Event Sync" => 1,
        b"Stream Wait Event" => 2,
        b"Stream Sync" => 3,
        b"Context Sync" => 4,
        _ => 0,
    }
}

/// `CUpti_ActivityOverheadKind`; 0 is unknown.
pub fn overhead(name: &[u8]) -> u32 {
    match name {
        b"Driver Compiler" => 1,
        b"Buffer Flush" => 1 << 16,
        b"Instrumentation" => 2 << 16,
        b"Resource" => 3 << 16,
        b"Runtime Triggered Module Loading" => 4 << 16,
        b"Lazy Function Loading" => 5 << 16,
        b"Command Buffer Full" => 6 << 16,
        b"Activity Buffer Request" => 7 << 16,
        b"UVM Activity Init" => 8 << 16,
        _ => 0,
    }
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
