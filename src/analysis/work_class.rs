//! What sort of work a piece is: computation, communication between GPUs, or memory. Kernels that communicate are known by
//! their names, for nothing else tells.

use super::in_time::WorkKind;
use super::labels::Labels;

/// A class of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Kernels other than those of communication, and graphs traced whole.
    Computation,
    /// Kernels of NCCL and RCCL.
    Communication,
    /// Copies and fills.
    Memory,
}

impl Class {
    /// All of them.
    pub const ALL: [Class; 3] = [Class::Computation, Class::Communication, Class::Memory];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Class::Computation => "computation",
            Class::Communication => "communication",
            Class::Memory => "memory",
        }
    }

    /// Its bit in a set of classes.
    pub fn bit(self) -> usize {
        1 << self as usize
    }
}

/// The kernels of NCCL and RCCL among those of open traces: each launch shape is judged once.
pub struct CommunicationKernels<'a> {
    labels: &'a Labels<'a>,
    known: Vec<Option<bool>>,
}

impl<'a> CommunicationKernels<'a> {
    /// None judged yet.
    pub fn new(labels: &'a Labels<'a>) -> Self {
        CommunicationKernels { labels, known: vec![None; labels.frames().shape_count() + 1] }
    }

    /// Whether the kernel of a launch shape is one.
    #[inline]
    pub fn contains(&mut self, shape: u32) -> bool {
        let labels = self.labels;
        let known = self.known.get_mut(shape as usize);
        known.is_some_and(|known| *known.get_or_insert_with(|| is_communication(labels.kernel(shape))))
    }

    /// The class of a piece of work.
    pub fn class_of(&mut self, kind: WorkKind) -> Class {
        match kind {
            WorkKind::Kernel(shape) if self.contains(shape) => Class::Communication,
            WorkKind::Kernel(_) | WorkKind::Graph(_) => Class::Computation,
            WorkKind::Memcpy { .. } | WorkKind::Memset => Class::Memory,
        }
    }
}

/// Whether a kernel of this demangled name is one of NCCL or RCCL.
pub(super) fn is_communication(name: &str) -> bool {
    let name = name.strip_prefix("void ").unwrap_or(name);
    (name.starts_with("nccl") && name.contains("Kernel")) || name.starts_with("rccl")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_of_communication_are_known_by_name() {
        for (name, is) in [
            ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", true),
            ("ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)", true),
            ("void ncclKernel<1>(int)", true),
            ("rcclGenericKernel", true),
            ("my_ncclKernel", false),
            ("ncclPadding", false),
            ("gemm", false),
        ] {
            assert_eq!(is_communication(name), is, "{name}");
        }
    }
}
