//! How many bytes each kind of record takes in the CUPTI that is running.
//!
//! Records grow from release to release, and one release can grow them twice (GREEN_CONTEXT has 152 bytes in 13.2.23,
//! 168 in 13.2.75), so the size is neither compiled in nor looked up by version: the library's own walker is asked.

use std::ptr;

use cupti_sys::{CUPTI_SUCCESS, CUpti_Activity};

#[cfg(test)]
pub use cupti_sys::ActivityGetNextRecordFn as GetNextRecordFn;

/// Kinds that are looked at. The newest known one is 59; CUPTI numbers them without gaps.
const KINDS: usize = 128;

/// Bytes per record by kind; 0: this CUPTI does not know the kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strides([u16; KINDS]);

/// What the probe lets CUPTI walk over. Larger than any two records, so that a walker which steps has stepped inside.
#[repr(C, align(8))]
struct Page([u32; 1024]);

impl Strides {
    /// Asks the running library, in some tens of microseconds: a buffer in which every eighth byte begins a record of
    /// the same kind, so that wherever the second record lies, one is found there.
    ///
    /// `next` must be CUPTI's own `cuptiActivityGetNextRecord`, of a library that has been initialised (13.2 and later
    /// recurse until the stack ends in a process without a driver): buffer, bytes, record.
    pub fn probe(next: impl Fn(*mut u8, usize, *mut *mut CUpti_Activity) -> u32) -> Strides {
        let mut page = Page([0; 1024]);
        let mut strides = [0; KINDS];
        for (kind, stride) in strides.iter_mut().enumerate().skip(1) {
            for pair in page.0.chunks_exact_mut(2) {
                pair[0] = kind as u32;
            }
            let buffer = page.0.as_mut_ptr().cast::<u8>();
            let mut record: *mut CUpti_Activity = ptr::null_mut();
            let first = next(buffer, size_of::<Page>(), &mut record);
            if first != CUPTI_SUCCESS || record.cast::<u8>() != buffer {
                continue;
            }
            let second = next(buffer, size_of::<Page>(), &mut record);
            let step = record.addr().wrapping_sub(buffer.addr());
            if second == CUPTI_SUCCESS && (8..=size_of::<Page>() - 8).contains(&step) && step.is_multiple_of(8) {
                *stride = step as u16;
            }
        }
        Strides(strides)
    }

    /// Bytes of a record of this kind; 0 where the kind is not known.
    #[inline]
    pub fn of(&self, kind: u32) -> usize {
        self.0.get(kind as usize).map_or(0, |&stride| usize::from(stride))
    }

    /// How many kinds are known.
    #[cfg(test)]
    pub fn known_kinds(&self) -> usize {
        self.0.iter().filter(|&&stride| stride != 0).count()
    }

    /// For tests: the same of a function as it is looked up.
    #[cfg(test)]
    pub fn probe_fn(next: GetNextRecordFn) -> Strides {
        // SAFETY: the buffer is as long as is said and outlives the call; the walker reads it and keeps nothing.
        Strides::probe(|buffer, bytes, record| unsafe { next(buffer, bytes, record) })
    }

    /// For tests: the table of a toolkit (`"12.4"`) or of a package (`"13.2.23"`), as seen when they were collected.
    #[cfg(test)]
    pub fn of_toolkit(version: &str) -> Option<Strides> {
        let known = cupti_sys::strides_of(version)?;
        let mut strides = [0; KINDS];
        strides.iter_mut().zip(known.strides).for_each(|(to, from)| *to = from);
        Some(Strides(strides))
    }

    /// Another size for a kind, for tests of what nobody has seen yet.
    #[cfg(test)]
    pub fn set(&mut self, kind: u32, bytes: u16) {
        self.0[kind as usize] = bytes;
    }

    /// For tests: the table of the newest toolkit that is known here.
    #[cfg(test)]
    pub fn newest() -> Strides {
        let newest = cupti_sys::layouts::STRIDES.last();
        newest.and_then(|p| Strides::of_toolkit(p.package)).unwrap_or(Strides([0; KINDS]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        static TABLE: std::cell::RefCell<Strides> = const { std::cell::RefCell::new(Strides([0; KINDS])) };
    }

    /// A walker that behaves as CUPTI's does, over the table of this thread.
    unsafe extern "C" fn walker(buffer: *mut u8, bytes: usize, record: *mut *mut CUpti_Activity) -> u32 {
        // SAFETY: `probe` passes a buffer of `bytes` bytes, and a record inside it or null.
        unsafe {
            let at = if (*record).is_null() {
                0
            } else {
                let kind = (*record).cast::<u32>().read();
                (*record).addr() - buffer.addr() + TABLE.with_borrow(|t| t.of(kind))
            };
            if at + 8 > bytes {
                return cupti_sys::CUPTI_ERROR_MAX_LIMIT_REACHED;
            }
            let stride = TABLE.with_borrow(|t| t.of(buffer.add(at).cast::<u32>().read()));
            if stride == 0 {
                return cupti_sys::CUPTI_ERROR_INVALID_KIND;
            }
            if at + stride > bytes {
                return cupti_sys::CUPTI_ERROR_MAX_LIMIT_REACHED;
            }
            *record = buffer.add(at).cast();
        }
        CUPTI_SUCCESS
    }

    #[test]
    fn the_probe_finds_what_the_walker_steps_over() {
        // Miri needs a minute for each.
        for package in cupti_sys::layouts::STRIDES.iter().step_by(if cfg!(miri) { 27 } else { 1 }) {
            let table = Strides::of_toolkit(package.package).unwrap();
            TABLE.with_borrow_mut(|t| t.clone_from(&table));
            assert_eq!(Strides::probe_fn(walker), table, "{}", package.package);
        }
    }

    #[test]
    fn a_walker_that_refuses_everything_leaves_nothing_known() {
        unsafe extern "C" fn refuses(_: *mut u8, _: usize, _: *mut *mut CUpti_Activity) -> u32 {
            999
        }
        unsafe extern "C" fn stands_still(buffer: *mut u8, _: usize, record: *mut *mut CUpti_Activity) -> u32 {
            // SAFETY: `probe` passes the address of its own variable.
            unsafe { *record = buffer.cast() };
            CUPTI_SUCCESS
        }
        assert_eq!(Strides::probe_fn(refuses).known_kinds(), 0);
        assert_eq!(Strides::probe_fn(stands_still).known_kinds(), 0);
        assert_eq!(Strides::newest().of(10), 248);
        assert_eq!(Strides::newest().of(u32::MAX), 0);
    }
}
