//! What nsys's reports call things.

use super::super::Context;
use crate::analysis::labels::Labels;
use crate::render::table::Cell;
use crate::trace::frames::Frames;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::LazyLock;
use trace_format::vocabulary::{memcpy_kind, range_style};

/// Arguments of views that print kernel names.
pub(super) const KERNEL_NAMES: &[&str] = &["base", "mangled"];

/// Which of a kernel's names is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KernelName {
    /// As its producer demangled it, else as we do.
    Full,
    /// Without namespaces, arguments and template arguments.
    Base,
    /// As the compiler spelled it, where the trace has that.
    Mangled,
}

impl KernelName {
    /// What the view's arguments ask for; of two, the later one counts.
    pub(super) fn of(context: &Context) -> Self {
        let chosen = context.arguments.iter().rev().find_map(|argument| match argument.as_str() {
            "base" => Some(KernelName::Base),
            "mangled" => Some(KernelName::Mangled),
            _ => None,
        });
        chosen.unwrap_or(KernelName::Full)
    }

    /// The name of the kernel of a launch shape.
    pub(super) fn text<'l>(self, labels: &'l Labels, shape: u32) -> &'l str {
        match self {
            KernelName::Full => labels.kernel_as_stored(shape),
            KernelName::Base => labels.kernel_base(shape),
            KernelName::Mangled => match labels.frames().kernel(shape) {
                Some(kernel) if kernel.name_id != 0 => labels.text(kernel.name_id),
                _ => labels.kernel_as_stored(shape),
            },
        }
    }
}

/// Grid and block of a launch; each `None` where the trace does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct LaunchSize([Option<[i64; 3]>; 2]);

/// Numbers below this take the four characters that they are given, so that they have the order of their texts.
const FOUR_DIGITS: Range<i64> = 0..10_000;

impl LaunchSize {
    /// The size of a launch shape.
    pub(super) fn of(frames: &Frames, shape: u32) -> LaunchSize {
        LaunchSize(frames.launch_size(shape).map(|[x, y, z]| Some([x?, y?, z?])))
    }

    /// Grid and block, empty where the trace does not say.
    pub(super) fn cells(&self) -> [Cell; 2] {
        self.0.map(|sizes| sizes.map_or_else(|| Cell::from(""), Cell::Sizes))
    }

    /// As printed.
    fn texts(&self) -> [String; 2] {
        self.cells().map(|cell| cell.plain())
    }

    /// The order of the texts.
    pub(super) fn text_order(&self, other: &LaunchSize) -> Ordering {
        let is_short = |size: &LaunchSize| size.0.iter().flatten().flatten().all(|n| FOUR_DIGITS.contains(n));
        // The empty text comes first, as does `None`.
        if is_short(self) && is_short(other) { self.0.cmp(&other.0) } else { self.texts().cmp(&other.texts()) }
    }
}

/// A migration of unified memory, by `CUpti_ActivityUnifiedMemoryCounterKind`; `None` for events that move nothing.
pub(super) fn migration_name(kind: u32) -> Option<&'static str> {
    memcpy_kind::of_migration(kind).map(memcpy_name)
}

/// A copy, by `CUpti_ActivityMemcpyKind`, in the words that nsys has used since 2023; before, `HtoD` stood for
/// `Host-to-Device`.
pub(super) fn memcpy_name(kind: u32) -> &'static str {
    static NAMES: LazyLock<Vec<(u32, String)>> = LazyLock::new(|| {
        memcpy_kind::NSYS.0.iter().map(|&(kind, word)| (kind, format!("[CUDA memcpy {word}]"))).collect()
    });
    NAMES.iter().find(|(known, _)| *known == kind).map_or("[CUDA memcpy Unknown]", |(_, name)| name)
}

/// `range.style` in nsys's words.
pub(super) fn range_style(style: u32) -> &'static str {
    range_style::NSYS.word(style).unwrap_or("Unknown")
}

/// A range in summaries: `domain:text`, `:text` in the default domain.
pub(super) fn range_name(labels: &Labels, domain: u32, name: u32) -> String {
    format!("{}:{}", labels.text(domain), labels.text(name))
}

/// A range in listings: its text, behind its domain if that has a name.
pub(super) fn range_text(labels: &Labels, domain: u32, name: u32) -> String {
    if domain == 0 { labels.text(name).to_owned() } else { range_name(labels, domain, name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_order_of_their_texts() {
        let numbers = [0, 1, 9, 10, 99, 4_095, 9_999, 10_000, 65_535, 2_147_483_647, -1];
        let mut sizes = vec![LaunchSize::default()];
        for x in numbers {
            for y in [1, 64, 12_345] {
                sizes.push(LaunchSize([Some([x, y, 1]), Some([128, 1, 1])]));
                sizes.push(LaunchSize([Some([y, x, 1]), None]));
            }
        }
        for a in &sizes {
            for b in &sizes {
                assert_eq!(a.text_order(b), a.texts().cmp(&b.texts()), "{a:?} {b:?}");
            }
        }
    }
}
