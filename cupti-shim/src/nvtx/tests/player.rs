//! Plays a library that was built with NVTX, and reads what became of its calls.

use super::*;

/// What a library that was built with NVTX has inside: a variable for each function, and tables that point to them.
pub(super) struct Dso {
    pub(super) variables: [[AtomicPtr<c_void>; MAX_SLOTS]; 7],
    pub(super) slots: [[AtomicPtr<c_void>; MAX_SLOTS]; 7],
    pub(super) lens: [u32; 7],
    pub(super) callbacks: Callbacks,
    pub(super) version: VersionInfo,
}

// SAFETY: the tables are made of atomics and of constants.
unsafe impl Sync for Dso {}
// SAFETY: as above.
unsafe impl Send for Dso {}

/// One DSO per test that needs one to itself: `NvtxGetExportTable` has no argument that says whose.
pub(super) static DSOS: [OnceLock<Dso>; 5] = [const { OnceLock::new() }; 5];
pub(super) const NOT_SET: *mut c_void = 0x1234 as *mut c_void;
pub(super) static VERSION_SET: AtomicU32 = AtomicU32::new(0);

pub(super) fn dso<const N: usize>(lens: [u32; 7]) -> &'static Dso {
    unsafe extern "C" fn module_slots<const N: usize>(module: u32, slots: *mut Slots, len: *mut c_uint) -> c_int {
        let dso = DSOS[N].get().unwrap();
        let module = module as usize;
        if module >= dso.lens.len() || dso.lens[module] == 0 {
            return 0;
        }
        // SAFETY: the caller's variables.
        unsafe {
            *slots = dso.slots[module].as_ptr().cast_mut().cast();
            *len = dso.lens[module];
        }
        1
    }
    unsafe extern "C" fn set_version(version: u32) {
        VERSION_SET.store(version, Ordering::Relaxed);
    }
    let dso = DSOS[N].get_or_init(|| Dso {
        variables: [const { [const { AtomicPtr::new(NOT_SET) }; MAX_SLOTS] }; 7],
        slots: [const { [const { AtomicPtr::new(null_mut()) }; MAX_SLOTS] }; 7],
        lens,
        callbacks: Callbacks { struct_size: size_of::<Callbacks>(), module_slots: Some(module_slots::<N>) },
        version: VersionInfo {
            struct_size: size_of::<VersionInfo>(),
            version: 3,
            reserved: 0,
            set_injection_version: Some(set_version),
        },
    });
    for (slots, variables) in dso.slots.iter().zip(&dso.variables) {
        // Slot 0 is never used and null.
        for (slot, variable) in slots.iter().zip(variables).skip(1) {
            slot.store(variable.as_ptr().cast(), Ordering::Relaxed);
        }
    }
    dso
}

pub(super) unsafe extern "C" fn tables<const N: usize>(table: u32) -> *const c_void {
    let dso = DSOS[N].get().unwrap();
    match table {
        abi::TABLE_CALLBACKS => (&raw const dso.callbacks).cast(),
        abi::TABLE_VERSION => (&raw const dso.version).cast(),
        _ => null(),
    }
}

pub(super) const ALL: [u32; 7] = [0, 16, 9, 15, 7, 16, 7];

impl Dso {
    pub(super) fn get(&self, module: Module, slot: usize) -> *mut c_void {
        self.variables[module as usize][slot].load(Ordering::Relaxed)
    }
}

/// Calls a function through a DSO's variable, as NVTX's headers do.
macro_rules! call {
    ($dso:expr, $module:ident, $slot:expr, fn($($ty:ty),*) $(-> $ret:ty)?, $($argument:expr),*) => {{
        let function = $dso.get(Module::$module, $slot);
        assert!(function != NOT_SET && !function.is_null());
        // SAFETY: the slot's signature, as the headers have it, and arguments that obey them.
        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($ty),*) $(-> $ret)?>(function)($($argument),*) }
    }};
}
pub(super) use call;

/// The tests share one queue: one at a time, each from an empty one.
pub(super) fn exclusive() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    let guard = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    assert!(crate::sys::claim(|| true));
    while pop().is_some() {}
    take_lost();
    guard
}

/// The usual library that uses NVTX 3, attached.
pub(super) fn attached() -> &'static Dso {
    let dso = dso::<0>(ALL);
    // SAFETY: tables as NVTX has them.
    assert_eq!(unsafe { initialize(Some(tables::<0>)) }, 1);
    dso
}

pub(super) fn events() -> Vec<Event> {
    std::iter::from_fn(pop).collect()
}

/// Everything that was queued, as rows, with names instead of ids where the tests know them.
pub(super) struct Trace {
    pub(super) rows: Vec<RangeRow>,
    pub(super) named: Vec<Named>,
    pub(super) counts: RangeCounts,
}

pub(super) fn trace() -> Trace {
    let (mut ranges, mut out) = (Ranges::new(), RangeBuilder::default());
    for event in events() {
        ranges.event(event, &mut out);
    }
    ranges.finish(&mut out);
    let batch = out.take();
    let rows = (0..batch.rows).map(|i| RangeRow::from_batch(&batch, i)).collect();
    Trace { rows, named: ranges.take_named(), counts: ranges.counts() }
}

/// String ids are stable as long as nobody forgets names, which these tests are too small to cause.
pub(super) fn id(text: &str) -> u32 {
    intern(text.as_bytes())
}

pub(super) fn push(dso: &Dso, text: &CStr) -> c_int {
    call!(dso, Core, core::RANGE_PUSH_A, fn(*const c_char) -> c_int, text.as_ptr())
}

pub(super) fn range_pop(dso: &Dso) -> c_int {
    call!(dso, Core, core::RANGE_POP, fn() -> c_int,)
}

pub(super) fn create(dso: &Dso, name: &CStr) -> Handle {
    call!(dso, Core2, core2::DOMAIN_CREATE_A, fn(*const c_char) -> Handle, name.as_ptr())
}

pub(super) fn push_ex(dso: &Dso, domain: Handle, attributes: &EventAttributes) -> c_int {
    call!(dso, Core2, core2::DOMAIN_RANGE_PUSH_EX, fn(Handle, *const EventAttributes) -> c_int, domain, attributes)
}

pub(super) fn pop_in(dso: &Dso, domain: Handle) -> c_int {
    call!(dso, Core2, core2::DOMAIN_RANGE_POP, fn(Handle) -> c_int, domain)
}

pub(super) fn register(dso: &Dso, domain: Handle, text: &CStr) -> Handle {
    call!(dso, Core2, core2::DOMAIN_REGISTER_STRING_A, fn(Handle, *const c_char) -> Handle, domain, text.as_ptr())
}

pub(super) fn attributes(message_type: i32, message: *const c_void) -> EventAttributes {
    EventAttributes {
        version: 3,
        size: 48,
        category: 0,
        color_type: 0,
        color: 0,
        payload_type: 0,
        reserved: 0,
        payload: 0,
        message_type,
        padding: 0,
        message,
    }
}
