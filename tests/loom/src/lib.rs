//! Models of the collector's lock-free parts, for loom: the real modules of `cupti-shim`, over [`sync`], with stand-ins
//! for what they call and what is not examined. The models are in `tests/`.
#![allow(missing_docs, dead_code, clippy::new_without_default, reason = "half of the collector is not here")]

pub mod sync;

#[path = "../../../cupti-shim/src"]
mod shim {
    pub mod buffers;
    pub mod correlation;
    pub mod gate;
    pub mod names;
    pub mod writer {
        pub mod shared;
        pub use shared::{Progress, Shared};
        /// What only the writer may call.
        pub mod as_writer {
            use super::shared::{Completed, Phase, Shared};
            pub fn next_block(shared: &Shared) -> Option<Completed> {
                shared.next_block()
            }
            pub fn bytes(block: &Completed) -> (*mut u8, usize) {
                (block.ptr, block.valid_bytes)
            }
            pub fn prepare(shared: &Shared, blocks: usize, takes_null: bool) -> bool {
                shared.prepare_pool(
                    crate::buffers::DROP_BLOCK_BYTES,
                    blocks * crate::buffers::DROP_BLOCK_BYTES,
                    takes_null,
                )
            }
            pub fn wake_count(shared: &Shared) -> u32 {
                shared.wake_count()
            }
            pub fn sleep(shared: &Shared, seen: u32) {
                shared.sleep(seen, None);
            }
            pub fn answer(shared: &Shared, ticket: u32) {
                shared.answer(ticket);
            }
            pub fn next_message(shared: &Shared) -> Option<crate::messages::Message> {
                shared.next_message()
            }
            pub fn set_phase(shared: &Shared, phase: Phase) {
                shared.set_phase(phase);
            }
        }
    }
}
pub use shim::{buffers, correlation, gate, names, writer};

pub mod messages {
    #[derive(Clone, Debug, Default)]
    pub struct CaptureRow {
        pub start_ns: i64,
        pub end_ns: Option<i64>,
        pub first_correlation: Option<u64>,
        pub last_correlation: Option<u64>,
        pub starts: i64,
        pub stops: i64,
        pub excluded_rows: i64,
    }
    #[derive(Clone, Debug)]
    pub enum Message {
        Capture(CaptureRow),
        Flush { ticket: u32 },
        Loss(Loss),
    }
    #[derive(Clone, Debug)]
    pub enum Cause {
        FlushDeadline,
    }
    #[derive(Clone, Debug)]
    pub struct Loss {
        pub start_ns: Option<i64>,
        pub end_ns: Option<i64>,
        pub rows: u64,
        pub cause: Cause,
        pub detail: Option<std::borrow::Cow<'static, str>>,
    }
}

pub mod strides {
    pub struct Strides;
}

pub mod decode {
    #[derive(Clone, Copy, Debug)]
    pub struct Facts {
        pub kind: u32,
        pub correlation: Option<u64>,
        pub start_ns: i64,
        pub end_ns: i64,
        pub tid: u32,
    }

    pub mod names {
        use crate::names::Names;
        use crate::strides::Strides;

        pub struct Walk {
            pub records: u64,
            pub unknown_bytes: usize,
            pub first_ns: i64,
            pub last_ns: i64,
        }

        /// The first four bytes of a block are a name; its id takes their place.
        pub unsafe fn intern_block(records: &mut [u8], _: &Strides, names: &Names) {
            if let Some(name) = records.first_chunk_mut::<4>() {
                *name = names.intern(name).to_le_bytes();
            }
        }

        pub unsafe fn drop_block(_: &mut [u8], _: &Strides) -> Walk {
            Walk { records: 1, unknown_bytes: 0, first_ns: 1, last_ns: 2 }
        }
    }
}

pub mod sys {
    use crate::sync::Futex;
    use crate::sync::atomic::AtomicU32;

    pub fn futex_wait(word: &AtomicU32, expected: u32, _: Option<i64>) {
        Futex::of(word).wait(word, expected);
    }
    pub fn pause(_: i64) {
        loom::thread::yield_now();
    }
    pub fn futex_wake(word: &AtomicU32, all: bool) {
        Futex::of(word).wake(all);
    }
    pub fn signal(word: &AtomicU32) {
        word.fetch_add(1, crate::sync::atomic::Ordering::Release);
        futex_wake(word, true);
    }
    /// Time stands still: nothing here depends on it.
    pub fn monotonic_ns() -> i64 {
        1
    }
    pub fn realtime_ns() -> i64 {
        1
    }
    pub fn is_ours() -> bool {
        true
    }
    pub fn is_own_thread(_: u32) -> bool {
        false
    }
    pub fn thread_cpu_ns() -> i64 {
        1
    }
    pub fn getpid() -> u32 {
        1
    }
}

pub mod cupti {
    pub fn may_call() -> bool {
        true
    }
    pub fn mute() {}
}

pub mod own_cost {
    pub fn of_others() -> i64 {
        1
    }
}

pub mod log {
    pub fn line(_: u8, _: std::fmt::Arguments<'_>) {}
}

pub mod load {
    pub struct Loaded {
        pub settings: shim_config::Settings,
    }
    pub fn loaded() -> &'static Loaded {
        panic!("not in a model")
    }
}

pub mod session {
    use crate::sync::atomic::{AtomicBool, Ordering};
    use crate::writer::Shared;

    pub struct Cupti;
    impl Cupti {
        pub fn timestamp_ns(&self) -> Option<i64> {
            Some(1)
        }
    }

    pub struct Driver;
    impl Driver {
        pub fn device_count(&self) -> Option<i32> {
            None
        }
    }

    /// As much of a session as the gate uses: kinds are two switches.
    pub struct Session {
        pub settings: &'static shim_config::Settings,
        pub shared: &'static Shared,
        pub cupti: Cupti,
        pub driver: Driver,
        pub gpu_kinds: AtomicBool,
        pub api_kinds: AtomicBool,
    }

    pub fn current() -> Option<&'static Session> {
        None
    }

    impl Session {
        pub fn switch_gpu_kinds(&self, on: bool) {
            self.gpu_kinds.store(on, Ordering::Relaxed);
        }
        pub fn switch_api_kinds(&self, on: bool) {
            self.api_kinds.store(on, Ordering::Relaxed);
        }
        pub fn hears_calls(&self) -> bool {
            false
        }
        pub fn current_correlation(&self) -> Option<u32> {
            None
        }
        pub fn call_numbered(&self, _: usize, _: impl FnMut(u32) -> bool) -> Option<()> {
            None
        }
        pub fn wake_flush_thread(&self) {}
        pub fn synchronize_if_asked(&self) {}
    }
}
