//! Putting our functions where the program's NVTX looks for them.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::{null, null_mut};

use super::abi::{
    self, Callbacks, GetExportTable, MAX_SLOTS, Module, Slots, TABLE_CALLBACKS, TABLE_VERSION, VersionInfo,
};
use super::{calls, chain, queue, record};
use crate::log;

/// The modules whose functions we take.
const MODULES: [Module; 4] = [Module::Core, Module::Core2, Module::Cuda, Module::Cudart];

/// The slots of one module in one DSO.
#[derive(Clone, Copy)]
struct Table {
    slots: Slots,
    len: usize,
}

impl Table {
    /// Where slot `i` keeps its function; none: there is no such slot, or it is not to be set.
    fn slot(&self, i: usize) -> Option<*mut *const c_void> {
        if i >= self.len {
            return None;
        }
        // SAFETY: NVTX states that the array has `len` entries, null or valid for as long as the DSO is mapped.
        let slot = unsafe { self.slots.add(i).read() };
        (!slot.is_null()).then_some(slot)
    }

    fn values(&self) -> [*const c_void; MAX_SLOTS] {
        let mut values = [null(); MAX_SLOTS];
        for (i, value) in values.iter_mut().enumerate() {
            if let Some(slot) = self.slot(i) {
                // SAFETY: see `slot`; other threads wait until initialisation is over, or read the old value.
                *value = unsafe { slot.read_volatile() };
            }
        }
        values
    }

    fn set(&self, i: usize, function: *const c_void) {
        if let Some(slot) = self.slot(i) {
            // SAFETY: see `slot`. One store of one word: a thread that reads it now sees the old or the new one.
            unsafe { slot.write_volatile(function) };
        }
    }
}

/// The body of `InitializeInjectionNvtx2`: takes the tables of one DSO that uses NVTX.
///
/// Called by NVTX at the first NVTX call of each such DSO, so several times. Returns 0 where that DSO is to do
/// without us; NVTX then makes all of its functions do nothing.
///
/// # Safety
/// `get` is the function that NVTX passes to `InitializeInjectionNvtx2`.
pub unsafe fn initialize(get: Option<GetExportTable>) -> c_int {
    let Some(get) = get else { return 0 };
    // SAFETY: passed on.
    record::guarded(0, || unsafe { take(get) })
}

unsafe fn take(get: GetExportTable) -> c_int {
    // SAFETY: NVTX promises a table of that type, or null.
    let Some(callbacks) = (unsafe { get(TABLE_CALLBACKS).cast::<Callbacks>().as_ref() }) else { return 0 };
    let covered = callbacks.struct_size >= size_of::<Callbacks>();
    let Some(module_slots) = callbacks.module_slots.filter(|_| covered) else { return 0 };
    let table = |module: Module| {
        let (mut slots, mut len): (Slots, c_uint) = (null_mut(), 0);
        // SAFETY: both answers are ours to write to.
        let found = unsafe { module_slots(module as u32, &mut slots, &mut len) } != 0;
        let len = if found && !slots.is_null() { (len as usize).min(MAX_SLOTS) } else { 0 };
        Table { slots, len }
    };
    let tables = MODULES.map(|module| (module, table(module)));
    if tables.first().is_none_or(|(_, core)| core.len == 0) {
        log::line(2, format_args!("an NVTX without functions asked for an injection; it is left alone"));
        return 0;
    }
    queue::prepare();
    let before = tables.map(|(_, table)| table.values());
    // SAFETY: passed on.
    let chained = unsafe { chain::initialize(get) };
    for ((module, table), before) in tables.iter().zip(before) {
        for (i, (was, is)) in before.into_iter().zip(table.values()).enumerate() {
            // What they left alone is NVTX's own function, which would come back here for ever.
            if chained && is != was && !is.is_null() {
                chain::remember(*module, i, is);
            }
        }
        for &(i, function) in calls::of(*module) {
            table.set(i, function.0);
        }
    }
    // SAFETY: NVTX promises a table of that type, or null; old versions have a shorter one or none.
    if let Some(version) = unsafe { get(TABLE_VERSION).cast::<VersionInfo>().as_ref() }
        && version.struct_size >= size_of::<VersionInfo>()
        && let Some(set) = version.set_injection_version
    {
        // SAFETY: the function takes any number.
        unsafe { set(abi::VERSION) };
    }
    1
}
