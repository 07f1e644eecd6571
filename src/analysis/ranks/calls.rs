//! Kernels of NCCL and RCCL, and what traces say about them: which collective, how many bytes, in which communicator.
//!
//! The collective stands in the kernel's name, in the words of every version of NCCL. PyTorch also writes arguments beside
//! its kernels (communicator, sequence number, elements, type): table `details` keeps them as they were.

use crate::analysis::labels::Labels;
use crate::analysis::work_class::CommunicationKernels;
use crate::error::Result;
use crate::trace::select::Filter;
use hashbrown::HashMap;
use std::collections::BTreeSet;
use trace_format::tables;
use trace_format::tables::column::{details, kernel};

/// What a kernel of communication does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Op {
    /// Everybody gets the sum.
    AllReduce,
    /// Everybody gets everything.
    AllGather,
    /// Everybody gets a part of the sum.
    ReduceScatter,
    /// Everybody sends something else to everybody.
    AllToAll,
    /// One sends to all.
    Broadcast,
    /// One gets the sum.
    Reduce,
    /// From one to another, or several of these at once.
    SendRecv,
    /// The name does not say.
    Other,
}

impl Op {
    /// As users read it.
    pub fn word(self) -> &'static str {
        match self {
            Op::AllReduce => "AllReduce",
            Op::AllGather => "AllGather",
            Op::ReduceScatter => "ReduceScatter",
            Op::AllToAll => "AllToAll",
            Op::Broadcast => "Broadcast",
            Op::Reduce => "Reduce",
            Op::SendRecv => "SendRecv",
            Op::Other => "Other",
        }
    }

    /// Whether nobody can end before everybody has begun. In the others one may be done before another comes.
    pub fn waits_for_all(self) -> bool {
        matches!(self, Op::AllReduce | Op::AllGather | Op::ReduceScatter | Op::AllToAll)
    }

    /// What the bandwidth of the algorithm is multiplied with to be that of the slowest link, as `nccl-tests` does it.
    pub fn bus_factor(self, ranks: u32) -> f64 {
        let n = f64::from(ranks.max(1));
        match self {
            Op::AllReduce => 2.0 * (n - 1.0) / n,
            Op::AllGather | Op::ReduceScatter | Op::AllToAll => (n - 1.0) / n,
            Op::Broadcast | Op::Reduce | Op::SendRecv | Op::Other => 1.0,
        }
    }

    /// By a kernel's name: `ncclDevKernel_AllReduce_Sum_f32_RING_LL`, `ncclAllReduceRingLLKernel_sum_f32`; or by what
    /// PyTorch calls a collective: `_allgather_base`, `all_to_allv`.
    pub fn of_name(name: &str) -> Op {
        // Not of the arguments of a template.
        let name = name.split('(').next().unwrap_or_default();
        let folded: String =
            name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
        const WORDS: [(&str, Op); 14] = [
            ("allreduce", Op::AllReduce),
            ("allgather", Op::AllGather),
            ("reducescatter", Op::ReduceScatter),
            ("alltoall", Op::AllToAll),
            ("barrier", Op::AllReduce),
            ("broadcast", Op::Broadcast),
            ("sendrecv", Op::SendRecv),
            ("send", Op::SendRecv),
            ("recv", Op::SendRecv),
            ("gather", Op::SendRecv),
            ("scatter", Op::SendRecv),
            ("coalesced", Op::Other),
            ("reduce", Op::Reduce),
            ("generic", Op::Other),
        ];
        WORDS.iter().find(|(word, _)| folded.contains(word)).map_or(Op::Other, |(_, op)| *op)
    }
}

/// One kernel of communication.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Ordinal of its process.
    pub process: u32,
    /// CUDA device index in that process.
    pub device: u32,
    /// Stream id.
    pub stream: u32,
    /// Start, on the clock of its process: Unix nanoseconds where the trace has an epoch.
    pub start_ns: i64,
    /// End.
    pub end_ns: i64,
    /// What it does.
    pub op: Op,
    /// What the trace says about it.
    pub said: Option<Said>,
}

/// What PyTorch says about a kernel of NCCL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// The communicator: its place in [`KernelCalls::groups`].
    pub group: usize,
    /// Number of the collective in its communicator.
    pub sequence: Option<i64>,
    /// Bytes of the larger side on one rank.
    pub bytes: Option<u64>,
    /// Ranks in the communicator.
    pub size: Option<u32>,
    /// The collective as PyTorch calls it.
    pub op: Option<Op>,
}

/// A communicator that a trace names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group {
    /// PyTorch's name of the process group.
    pub name: String,
    /// Its ranks as the trace writes them: `[0, 1]`; empty: it does not say.
    pub ranks: String,
}

/// All kernels of communication of open traces.
#[derive(Debug, Default)]
pub struct KernelCalls {
    /// By process, start, end and stream.
    pub calls: Vec<Call>,
    /// Processes and devices on which any kernel ran.
    pub places: BTreeSet<(u32, u32)>,
    /// Communicators that traces name, in order.
    pub groups: Vec<Group>,
}

/// A call before its name and arguments are looked at: its shape and correlation.
type Raw = (Call, u32, u64);

impl KernelCalls {
    /// Reads them. Memory: some hundred bytes for each kernel of communication, nothing for others.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub fn read(labels: &Labels, filter: &Filter) -> Result<KernelCalls> {
        /// What one thread finds. Each judges names of its own, so that none waits for another.
        type Found<'l> = (Vec<Raw>, BTreeSet<(u32, u32)>, CommunicationKernels<'l>);
        let frames = labels.frames();
        let (mut raw, places, _) = frames.fold(
            &tables::KERNEL,
            &[
                kernel::START_NS,
                kernel::DURATION_NS,
                kernel::SHAPE_ID,
                kernel::DEVICE,
                kernel::STREAM,
                kernel::CORRELATION,
            ],
            filter,
            || (Vec::new(), BTreeSet::new(), CommunicationKernels::new(labels)),
            |(raw, places, communication): &mut Found, batch| {
                let (start, duration) = (batch.get(kernel::START_NS), batch.get(kernel::DURATION_NS));
                let (shape, device) = (batch.get(kernel::SHAPE_ID), batch.get(kernel::DEVICE));
                let (stream, correlation) = (batch.get(kernel::STREAM), batch.get(kernel::CORRELATION));
                let mut last = None;
                batch.for_each_row(|i| {
                    let device = device.get(i).unwrap_or(0);
                    if last != Some(device) {
                        places.insert((batch.process, device));
                        last = Some(device);
                    }
                    let shape = shape.get(i).unwrap_or(u32::MAX);
                    let (Some(start), Some(ns)) = (start.get(i), duration.get(i)) else { return };
                    if !communication.contains(shape) {
                        return;
                    }
                    let start_ns = start.saturating_add(batch.offset_ns);
                    let call = Call {
                        process: batch.process,
                        device,
                        stream: stream.get(i).unwrap_or(0),
                        start_ns,
                        end_ns: start_ns.saturating_add(ns),
                        op: Op::Other,
                        said: None,
                    };
                    raw.push((call, shape, correlation.get(i).unwrap_or(0)));
                });
            },
            |a, mut b| {
                a.0.append(&mut b.0);
                a.1.extend(b.1);
            },
        )?;
        raw.sort_by_key(|(call, shape, correlation)| {
            (call.process, call.start_ns, call.end_ns, call.device, call.stream, *correlation, *shape)
        });
        let mut ops: HashMap<u32, Op> = HashMap::new();
        for (call, shape, _) in &mut raw {
            call.op = *ops.entry(*shape).or_insert_with(|| Op::of_name(labels.kernel(*shape)));
        }
        let groups = add_arguments(labels, &mut raw)?;
        let calls = raw.into_iter().map(|(call, ..)| call).collect();
        Ok(KernelCalls { calls, places, groups })
    }
}

/// Puts what table `details` says beside the kernels, and gives the communicators.
fn add_arguments(labels: &Labels, raw: &mut [Raw]) -> Result<Vec<Group>> {
    let frames = labels.frames();
    if raw.is_empty() || frames.rows(&tables::DETAILS) == 0 {
        return Ok(Vec::new());
    }
    let key = |process: u32, start_ns: i64, correlation: u64| (process, start_ns, correlation);
    let wanted: HashMap<(u32, i64, u64), usize> =
        raw.iter().enumerate().map(|(i, (call, _, id))| (key(call.process, call.start_ns, *id), i)).collect();
    let mut found: Vec<(usize, u32)> = frames.fold(
        &tables::DETAILS,
        &[details::START_NS, details::OF_TABLE, details::OF_ID, details::ARGUMENTS_ID],
        &Filter::everything(),
        Vec::new,
        |found: &mut Vec<(usize, u32)>, batch| {
            let (start, table) = (batch.get(details::START_NS), batch.get(details::OF_TABLE));
            let (id, arguments) = (batch.get(details::OF_ID), batch.get(details::ARGUMENTS_ID));
            batch.for_each_row(|i| {
                let (Some(start), Some(arguments)) = (start.get(i), arguments.get(i)) else { return };
                if table.get(i) != Some(tables::KERNEL.id.into()) {
                    return;
                }
                let key = key(batch.process, start.saturating_add(batch.offset_ns), id.get(i).unwrap_or(0));
                found.extend(wanted.get(&key).map(|&at| (at, arguments)));
            });
        },
        |a, mut b| a.append(&mut b),
    )?;
    found.sort_unstable();
    let mut known: HashMap<u32, Option<(Group, Said)>> = HashMap::new();
    for &(_, arguments) in &found {
        known.entry(arguments).or_insert_with(|| said(frames.names.get(arguments)));
    }
    let named: BTreeSet<&Group> = known.values().flatten().map(|(group, _)| group).collect();
    let groups: Vec<Group> = named.into_iter().cloned().collect();
    for (at, arguments) in found {
        if let Some(Some((group, said))) = known.get(&arguments) {
            let (call, ..) = &mut raw[at];
            call.said = groups.binary_search(group).ok().map(|group| Said { group, ..said.clone() });
            call.op = said.op.unwrap_or(call.op);
        }
    }
    Ok(groups)
}

/// What arguments say; `None`: they are not of a collective.
fn said(arguments: &[u8]) -> Option<(Group, Said)> {
    let text = [b"{", arguments, b"}"].concat();
    let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(&text).ok()?;
    let text = |key: &str| fields.get(key).and_then(|value| value.as_str()).map(str::to_owned);
    let number = |key: &str| fields.get(key).and_then(|value| value.as_i64());
    let name = text("Process Group Name")?;
    let elements = [number("In msg nelems"), number("Out msg nelems")].into_iter().flatten().max();
    let bytes = match (elements, text("dtype").as_deref().and_then(bytes_of)) {
        (Some(elements), Some(each)) => u64::try_from(elements).ok().and_then(|n| n.checked_mul(each)),
        _ => None,
    };
    let said = Said {
        group: 0,
        sequence: number("Seq").or_else(|| number("Seq Number")),
        bytes: bytes.filter(|bytes| *bytes > 0),
        size: number("Group size").and_then(|size| u32::try_from(size).ok()).filter(|size| *size > 0),
        op: text("Collective name").map(|name| Op::of_name(&name)).filter(|op| *op != Op::Other),
    };
    Some((Group { name, ranks: text("Process Group Ranks").unwrap_or_default() }, said))
}

/// Bytes of one element of a type of PyTorch.
fn bytes_of(dtype: &str) -> Option<u64> {
    Some(match dtype {
        "Byte" | "Char" | "Bool" | "QInt8" | "QUInt8" => 1,
        "Short" | "Half" | "BFloat16" | "UInt16" => 2,
        "Int" | "Float" | "UInt32" | "QInt32" | "ComplexHalf" => 4,
        "Long" | "Double" | "UInt64" | "ComplexFloat" => 8,
        "ComplexDouble" => 16,
        other if other.starts_with("Float8") => 1,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collectives_are_known_by_the_names_of_all_versions() {
        for (name, op) in [
            ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", Op::AllReduce),
            ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)", Op::AllReduce),
            ("ncclAllReduceTreeLLKernel_sum_i32(ncclColl)", Op::AllReduce),
            ("ncclBroadcastRingLLKernel_copy_i8(ncclColl)", Op::Broadcast),
            ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", Op::ReduceScatter),
            ("ncclDevKernel_Reduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", Op::Reduce),
            ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", Op::SendRecv),
            ("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", Op::AllGather),
            ("rcclGenericKernel", Op::Other),
            ("_allgather_base", Op::AllGather),
            ("all_to_allv", Op::AllToAll),
            ("_reduce_scatter_base", Op::ReduceScatter),
            ("allreduce_coalesced", Op::AllReduce),
        ] {
            assert_eq!(Op::of_name(name), op, "{name}");
        }
    }

    #[test]
    fn arguments_say_communicator_bytes_and_sequence() {
        let text =
            br#""Collective name":"_allgather_base","In msg nelems":25136,"Out msg nelems":201088,"Group size":8,
            "dtype":"BFloat16","Seq":17,"Process Group Name":"3","Process Group Ranks":"[0, 1]""#;
        let (group, said) = said(text).expect("arguments of a collective");
        assert_eq!(group, Group { name: "3".into(), ranks: "[0, 1]".into() });
        let expected =
            Said { group: 0, sequence: Some(17), bytes: Some(402_176), size: Some(8), op: Some(Op::AllGather) };
        assert_eq!(said, expected);
        assert_eq!(super::said(br#""queued":0"#), None);
    }

    #[test]
    fn bus_bandwidth_is_that_of_nccl_tests() {
        assert_eq!(Op::AllReduce.bus_factor(8), 1.75);
        assert_eq!(Op::AllGather.bus_factor(8), 0.875);
        assert_eq!(Op::Broadcast.bus_factor(8), 1.0);
    }
}
