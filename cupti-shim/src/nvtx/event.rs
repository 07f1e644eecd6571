//! What one NVTX call leaves behind: a fixed number of bytes, copied through a queue to the writer thread.

/// Which call it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum EventKind {
    /// `nvtxRangePush`: begins a range of this thread.
    Push,
    /// `nvtxRangePop`: ends the newest range of this thread and domain.
    Pop,
    /// `nvtxRangeStart`: begins a range that any thread may end.
    Start,
    /// `nvtxRangeEnd`.
    End,
    /// `nvtxMark`: a moment.
    Mark,
    /// `nvtxNameOsThread`: `tid` is the thread that was named.
    Thread,
    /// `nvtxNameCategory`: `name` is a whole sentence for a note.
    Category,
    /// A CUDA device was named.
    Device,
    /// A CUDA context was named.
    Context,
    /// A CUDA stream was named.
    Stream,
    /// A CUDA event was named.
    CudaEvent,
}

/// The value a program attached to a range or mark.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Payload {
    /// None, or of a type that nobody knows.
    #[default]
    None,
    /// An integer of up to 64 bits.
    Int(i64),
    /// A number with a fraction, or an unsigned one beyond `i64`.
    Float(f64),
}

/// One call. String ids are those of [`crate::names`], so that they are in the file before the row that uses them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// When: the end of a call that begins a range, the beginning of one that ends it, so that our own work is outside.
    ///
    /// CLOCK_REALTIME as the front stamps it; whoever takes the event from the queue moves it to the trace's clock.
    pub time_ns: i64,
    /// What belongs together. Start and end: the id that the program was given. Push and pop: see [`Event::nested`].
    /// Device, context, stream, event: the program's handle.
    pub pair: u64,
    /// Value attached by the program.
    pub payload: Payload,
    /// Name of the domain; 0: the default domain.
    pub domain: u32,
    /// Which domain: two of one name are still two, each with a stack of its own.
    pub domain_key: u32,
    /// Text.
    pub name: u32,
    /// NVTX category; 0: none. Of a named device, context, stream or event: string id of a sentence for a note.
    pub category: u32,
    /// ARGB.
    pub color: Option<u32>,
    /// The kernel's id of the thread.
    pub tid: u32,
    /// Which call.
    pub kind: EventKind,
}

/// Level of a push or pop beyond what a thread keeps track of.
pub const UNTRACKED: u16 = u16::MAX;

impl Event {
    /// `pair` of a push or pop: nesting level within thread and domain, and a number by which the two of one range
    /// are known. Where events were lost on the way, levels alone would marry a range to another one's end.
    pub fn nested(level: u16, serial: u32) -> u64 {
        u64::from(level) << 32 | u64::from(serial)
    }

    /// Level of a push or pop.
    pub fn level(&self) -> u16 {
        (self.pair >> 32) as u16
    }

    /// Serial number of a push or pop; 0 where the level is [`UNTRACKED`].
    pub fn serial(&self) -> u32 {
        self.pair as u32
    }
}
