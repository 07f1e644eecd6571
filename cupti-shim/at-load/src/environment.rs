//! The environment as the loader hands it over: a list of `NAME=value`, null at its end.

use core::ffi::{CStr, c_char};

use crate::memory::Block;

/// How the driver finds an injection library.
const CUDA_INJECTION: &[u8] = b"CUDA_INJECTION64_PATH";
/// How NVTX finds one.
const NVTX_INJECTION: &[u8] = b"NVTX_INJECTION64_PATH";

unsafe extern "C" {
    // The C library's own name: a program may define a variable `environ` for itself.
    #[link_name = "__environ"]
    static mut environ: *mut *mut c_char;
}

/// The list that the process has now.
pub fn list() -> *const *mut c_char {
    // SAFETY: a plain read of the pointer.
    unsafe { environ }
}

/// The strings of a list.
///
/// # Safety
/// `list` is null, or an array of C strings that ends with a null pointer and does not change meanwhile.
pub unsafe fn entries(list: *const *mut c_char) -> impl Iterator<Item = &'static [u8]> + Clone {
    // SAFETY: as promised; nothing is read behind the null pointer.
    let at = move |i| unsafe { (!list.is_null()).then(|| *list.add(i)).filter(|entry| !entry.is_null()) };
    // SAFETY: as promised.
    (0..).map_while(at).map(|entry| unsafe { CStr::from_ptr(entry) }.to_bytes())
}

/// What follows the last slash of a path.
pub fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|b| *b == b'/').next().unwrap_or(path)
}

/// The value where `entry` is of that variable.
fn value_of<'e>(entry: &'e [u8], name: &[u8]) -> Option<&'e [u8]> {
    entry.strip_prefix(name)?.strip_prefix(b"=")
}

/// Whether LD_PRELOAD names the file at `path`, so that this is the time before `main`.
///
/// # Safety
/// As for [`entries`].
pub unsafe fn is_preloaded(list: *const *mut c_char, path: &[u8]) -> bool {
    let own = file_name(path);
    // SAFETY: passed on from the caller.
    let mut preloads = unsafe { entries(list) }.filter_map(|entry| value_of(entry, b"LD_PRELOAD"));
    let is_between = |byte: &u8| matches!(byte, b':' | b' ');
    preloads.next().is_some_and(|list| list.split(is_between).any(|entry| file_name(entry) == own))
}

/// What is obeyed before `main`; all other settings wait until CUDA or NVTX asks.
fn is_obeyed_at_load(name: &[u8]) -> bool {
    let Some(name) = name.strip_prefix(b"GPUPROF_") else { return false };
    // Compared one by one: a table of names would be addresses, which the loader has to fill in.
    name == b"DISABLE"
        || name == b"NVTX"
        || name == b"NVTX_CHAIN"
        || name == b"SEEN"
        || name == b"PROCESSES"
        || name == b"VERBOSE"
}

/// What the environment says of the things that are done before `main`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variables {
    /// Nothing is set that has a say in them: both variables are to name the collector, and that is all.
    pub is_plain: bool,
    /// Both name the collector already.
    pub are_set: bool,
}

impl Variables {
    /// Reads them. `collector` is the file that they are to name; one that names `door`, which is in front of it, is ours
    /// too.
    ///
    /// # Safety
    /// As for [`entries`].
    pub unsafe fn read(list: *const *mut c_char, collector: &[u8], door: &[u8]) -> Variables {
        let (mut is_plain, mut cuda, mut nvtx) = (true, false, false);
        // SAFETY: passed on from the caller.
        for entry in unsafe { entries(list) } {
            // Nearly all are of others.
            if !matches!(entry.first(), Some(b'C' | b'N' | b'G')) {
                continue;
            }
            let is_ours = |value: &[u8]| value.is_empty() || value == collector || value == door;
            if let Some(value) = value_of(entry, CUDA_INJECTION) {
                is_plain &= is_ours(value);
                cuda |= value == collector;
            } else if let Some(value) = value_of(entry, NVTX_INJECTION) {
                is_plain &= is_ours(value);
                nvtx |= value == collector;
            } else {
                let name = entry.split(|byte| *byte == b'=').next().unwrap_or(entry);
                is_plain &= !is_obeyed_at_load(name);
            }
        }
        Variables { is_plain, are_set: cuda && nvtx }
    }

    /// Sets both.
    ///
    /// # Safety
    /// As for [`set`].
    pub unsafe fn name_collector(path: &[u8], room: Option<Block>) {
        // SAFETY: passed on from the caller.
        unsafe { set(&[(CUDA_INJECTION, path), (NVTX_INJECTION, path)], room) };
    }
}

/// Gives the process a new environment list with these variables in it, in `room` if it is large enough.
///
/// Not `setenv`: programs bring their own (that of bash crashes before its `main`). The C library copies a list that it
/// does not know when it must grow.
///
/// # Safety
/// No other thread may read or change the environment.
pub unsafe fn set(wanted: &[(&[u8], &[u8])], room: Option<Block>) {
    let old = list();
    // SAFETY: as promised, the list does not change meanwhile.
    let entries = || unsafe { entries(old) };
    let slots = entries().count().wrapping_add(wanted.len()).wrapping_add(1);
    let texts = wanted.iter().fold(0, |sum: usize, (name, value)| {
        sum.wrapping_add(name.len()).wrapping_add(value.len()).wrapping_add(2)
    });
    let bytes = slots.wrapping_mul(size_of::<*mut c_char>()).wrapping_add(texts);
    let aligned = bytes.wrapping_add(align_of::<*mut c_char>());
    let room = room.filter(|room| room.has(aligned));
    let Some(mut block) = room.or_else(|| Block::new(aligned)) else { return };
    let fresh = block.room::<*mut c_char>(slots);
    if fresh.is_null() {
        return;
    }
    // SAFETY: at most as many as were counted are written, into room for so many; the strings that are kept stay where
    // they are, and ours are never given back, as `putenv` would need them too.
    unsafe {
        let mut at = fresh;
        for (index, entry) in entries().enumerate() {
            if !wanted.iter().any(|(name, _)| value_of(entry, name).is_some()) {
                at.write(*old.add(index));
                at = at.add(1);
            }
        }
        for (name, value) in wanted {
            let text = block.end();
            if block.put(name) && block.put(b"=") && block.put(value) && block.put(b"\0") {
                at.write(text.cast());
                at = at.add(1);
            }
        }
        environ = fresh;
    }
}
