//! Another tool's injection beside ours, played by functions of this test.

use std::cell::RefCell;

use super::*;

thread_local! {
    static THEY_HEARD: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn they_heard() -> Vec<String> {
    THEY_HEARD.take()
}

fn hear(what: String) {
    THEY_HEARD.with_borrow_mut(|h| h.push(what));
}

unsafe extern "C" fn their_push_a(text: *const c_char) -> c_int {
    // SAFETY: a terminated text.
    hear(format!("push {}", unsafe { CStr::from_ptr(text) }.to_string_lossy()));
    42
}

unsafe extern "C" fn their_start_a(_text: *const c_char) -> u64 {
    hear("start".to_owned());
    777
}

unsafe extern "C" fn their_end(id: u64) {
    hear(format!("end {id}"));
}

unsafe extern "C" fn their_create(_name: *const c_char) -> Handle {
    0x1D0usize as Handle
}

unsafe extern "C" fn their_register(domain: Handle, _text: *const c_char) -> Handle {
    hear(format!("register in {:#x}", domain as usize));
    0x57Fusize as Handle
}

unsafe extern "C" fn their_push_ex(domain: Handle, attributes: *const EventAttributes) -> c_int {
    // SAFETY: the tests pass whole structures.
    let a = unsafe { *attributes };
    hear(format!("push {:#x} in {:#x}, type {}", a.message as usize, domain as usize, a.message_type));
    7
}

/// The other tool takes some slots, as CUPTI does.
unsafe extern "C" fn their_initialize(get: Option<GetExportTable>) -> c_int {
    // SAFETY: the tables of these tests.
    let table = unsafe { &*get.unwrap()(abi::TABLE_CALLBACKS).cast::<Callbacks>() };
    let set = |module: Module, slot: usize, function: *const c_void| {
        let (mut slots, mut len): (Slots, c_uint) = (null_mut(), 0);
        // SAFETY: as NVTX has it.
        unsafe {
            assert_eq!(table.module_slots.unwrap()(module as u32, &mut slots, &mut len), 1);
            **slots.add(slot) = function;
        }
    };
    set(Module::Core, core::RANGE_PUSH_A, their_push_a as *const _);
    set(Module::Core, core::RANGE_START_A, their_start_a as *const _);
    set(Module::Core, core::RANGE_END, their_end as *const _);
    set(Module::Core2, core2::DOMAIN_CREATE_A, their_create as *const _);
    set(Module::Core2, core2::DOMAIN_REGISTER_STRING_A, their_register as *const _);
    set(Module::Core2, core2::DOMAIN_RANGE_PUSH_EX, their_push_ex as *const _);
    1
}

#[test]
fn both_tools_hear_every_call_and_the_program_gets_the_other_ones_answers() {
    let _one = exclusive();
    let dso = dso::<3>(ALL);
    chain::with_injection(their_initialize, || {
        // SAFETY: tables as NVTX has them.
        assert_eq!(unsafe { initialize(Some(tables::<3>)) }, 1);
        // Ours are in the slots, not theirs.
        assert_ne!(dso.get(Module::Core, core::RANGE_PUSH_A), their_push_a as *mut c_void);
        they_heard();
        assert_eq!(push(dso, c"both"), 42);
        // They do not want pops: ours is the answer.
        assert_eq!(range_pop(dso), 0);
        let started = call!(dso, Core, core::RANGE_START_A, fn(*const c_char) -> u64, c"s".as_ptr());
        assert_eq!(started, 777);
        call!(dso, Core, core::RANGE_END, fn(u64), started);
        let domain = create(dso, c"chained");
        assert_ne!(domain as usize, 0x1D0);
        let string = register(dso, domain, c"chained text");
        assert_ne!(string as usize, 0x57F);
        assert_eq!(push_ex(dso, domain, &attributes(abi::MESSAGE_REGISTERED, string)), 7);
        assert_eq!(pop_in(dso, domain), 0);
        let expected = ["push both", "start", "end 777", "register in 0x1d0", "push 0x57f in 0x1d0, type 3"];
        assert_eq!(they_heard(), expected);
    });
    let trace = trace();
    let names: Vec<u32> = trace.rows.iter().map(|r| r.name_id).collect();
    assert_eq!(names, [id("both"), id("s"), id("chained text")]);
    assert!(trace.rows.iter().all(|r| r.end_ns.is_some()));
}

#[test]
fn a_tool_that_refuses_leaves_nothing_behind() {
    unsafe extern "C" fn refuse(get: Option<GetExportTable>) -> c_int {
        // SAFETY: as above; what it sets has to be undone.
        unsafe { their_initialize(get) };
        0
    }
    let _one = exclusive();
    let dso = dso::<4>(ALL);
    chain::with_injection(refuse, || {
        // SAFETY: tables as NVTX has them.
        assert_eq!(unsafe { initialize(Some(tables::<4>)) }, 1);
        they_heard();
        assert_eq!(push(dso, c"ours alone"), 0);
        assert_eq!(range_pop(dso), 0);
        assert!(they_heard().is_empty());
    });
    assert_eq!(trace().rows.len(), 1);
}

#[test]
fn we_are_never_chained_to_ourselves() {
    let own = std::env::current_exe().unwrap();
    let own = std::ffi::CString::new(own.to_str().unwrap()).unwrap();
    assert!(chain::load(&own).is_none());
    assert!(chain::load(c"/nonexistent/libinjection.so").is_none());
    // No injection at all.
    assert!(chain::load(c"libm.so.6").is_none());
}
