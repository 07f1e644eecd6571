//! The functions of NVTX 2 and 3 that name a domain.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::AtomicU8;

use super::{Function, forward};
use crate::nvtx::abi::{EventAttributes, Handle, NO_TRACKING, ResourceAttributes, Wide, core2 as slot};
use crate::nvtx::chain;
use crate::nvtx::event::EventKind;
use crate::nvtx::handles::{self, Domain, domain};
use crate::nvtx::record::{self, guarded};
use crate::nvtx::text::{Attributes, Text, ascii, resource, wide};

/// Slot and function.
pub static FUNCTIONS: &[(usize, Function)] = &[
    (slot::DOMAIN_MARK_EX, Function(mark_ex as *const _)),
    (slot::DOMAIN_RANGE_START_EX, Function(range_start_ex as *const _)),
    (slot::DOMAIN_RANGE_END, Function(range_end as *const _)),
    (slot::DOMAIN_RANGE_PUSH_EX, Function(range_push_ex as *const _)),
    (slot::DOMAIN_RANGE_POP, Function(range_pop as *const _)),
    (slot::DOMAIN_RESOURCE_CREATE, Function(resource_create as *const _)),
    (slot::DOMAIN_RESOURCE_DESTROY, Function(resource_destroy as *const _)),
    (slot::DOMAIN_NAME_CATEGORY_A, Function(name_category_a as *const _)),
    (slot::DOMAIN_NAME_CATEGORY_W, Function(name_category_w as *const _)),
    (slot::DOMAIN_REGISTER_STRING_A, Function(register_string_a as *const _)),
    (slot::DOMAIN_REGISTER_STRING_W, Function(register_string_w as *const _)),
    (slot::DOMAIN_CREATE_A, Function(create_a as *const _)),
    (slot::DOMAIN_CREATE_W, Function(create_w as *const _)),
    (slot::DOMAIN_DESTROY, Function(destroy as *const _)),
    (slot::INITIALIZE, Function(initialize as *const _)),
];

/// Resources are named and forgotten; all share a handle, which is only not null.
static RESOURCE: AtomicU8 = AtomicU8::new(0);

// SAFETY of all functions here: NVTX calls them with the program's arguments, of which its headers demand texts that
// end in a zero and attribute structures of the size that they state. Handles may be anything.

unsafe extern "C" fn mark_ex(handle: Handle, attributes: *const EventAttributes) {
    let domain = domain(handle);
    // SAFETY: see above, and so in all that follow.
    let for_them = || unsafe { chain::event_attributes(attributes) };
    forward!(
        Core2,
        slot::DOMAIN_MARK_EX,
        unsafe extern "C" fn(Handle, *const EventAttributes),
        (domain.theirs(), for_them().pointer())
    );
    guarded((), || unsafe {
        let a = Attributes::read(attributes);
        a.message.read(|text| record::mark(domain, &a, text));
    });
}

unsafe extern "C" fn range_start_ex(handle: Handle, attributes: *const EventAttributes) -> u64 {
    let domain = domain(handle);
    let for_them = || unsafe { chain::event_attributes(attributes) };
    let theirs = forward!(
        Core2,
        slot::DOMAIN_RANGE_START_EX,
        unsafe extern "C" fn(Handle, *const EventAttributes) -> u64,
        (domain.theirs(), for_them().pointer())
    );
    guarded(theirs.unwrap_or(0), || unsafe {
        let a = Attributes::read(attributes);
        a.message.read(|text| record::start(domain, &a, text, theirs))
    })
}

unsafe extern "C" fn range_end(handle: Handle, id: u64) {
    let domain = domain(handle);
    guarded((), || record::end(domain, id));
    forward!(Core2, slot::DOMAIN_RANGE_END, unsafe extern "C" fn(Handle, u64), (domain.theirs(), id));
}

unsafe extern "C" fn range_push_ex(handle: Handle, attributes: *const EventAttributes) -> c_int {
    let domain = domain(handle);
    let for_them = || unsafe { chain::event_attributes(attributes) };
    let theirs = forward!(
        Core2,
        slot::DOMAIN_RANGE_PUSH_EX,
        unsafe extern "C" fn(Handle, *const EventAttributes) -> c_int,
        (domain.theirs(), for_them().pointer())
    );
    let ours = guarded(NO_TRACKING, || unsafe {
        let a = Attributes::read(attributes);
        a.message.read(|text| record::push(domain, &a, text))
    });
    theirs.unwrap_or(ours)
}

unsafe extern "C" fn range_pop(handle: Handle) -> c_int {
    let domain = domain(handle);
    let ours = guarded(NO_TRACKING, || record::pop(domain));
    forward!(Core2, slot::DOMAIN_RANGE_POP, unsafe extern "C" fn(Handle) -> c_int, (domain.theirs()))
        .unwrap_or(ours)
}

unsafe extern "C" fn resource_create(handle: Handle, attributes: *mut ResourceAttributes) -> Handle {
    let domain = domain(handle);
    let for_them = || unsafe { chain::resource_attributes(attributes) };
    let theirs = forward!(
        Core2,
        slot::DOMAIN_RESOURCE_CREATE,
        unsafe extern "C" fn(Handle, *const ResourceAttributes) -> Handle,
        (domain.theirs(), for_them().pointer())
    );
    guarded((), || unsafe {
        let Some(resource) = resource(attributes) else { return };
        let Some(kind) = record::resource_kind(resource.kind) else { return };
        resource.message.read(|text| match kind {
            EventKind::Thread => record::name_thread(resource.identifier as u32, text),
            kind => record::name_object(kind, resource.identifier, text),
        });
    });
    theirs.unwrap_or_else(|| RESOURCE.as_ptr().cast::<c_void>())
}

unsafe extern "C" fn resource_destroy(resource: Handle) {
    forward!(Core2, slot::DOMAIN_RESOURCE_DESTROY, unsafe extern "C" fn(Handle), (resource));
}

unsafe extern "C" fn name_category_a(handle: Handle, category: u32, name: *const c_char) {
    let domain = domain(handle);
    forward!(
        Core2,
        slot::DOMAIN_NAME_CATEGORY_A,
        unsafe extern "C" fn(Handle, u32, *const c_char),
        (domain.theirs(), category, name)
    );
    guarded((), || unsafe { ascii(name, |text| record::name_category(domain, category, text)) });
}

unsafe extern "C" fn name_category_w(handle: Handle, category: u32, name: *const Wide) {
    let domain = domain(handle);
    forward!(
        Core2,
        slot::DOMAIN_NAME_CATEGORY_W,
        unsafe extern "C" fn(Handle, u32, *const Wide),
        (domain.theirs(), category, name)
    );
    guarded((), || unsafe { wide(name, |text| record::name_category(domain, category, text)) });
}

/// Strings and domains get their handles in a silent child too: the program may become ours later and keep them.
fn registered(domain: Domain, text: Text<'_>, theirs: Option<Handle>) -> Handle {
    let ours = handles::register(domain.key, text.bytes());
    if let Some(theirs) = theirs {
        handles::set_theirs(ours, theirs);
    }
    ours
}

unsafe extern "C" fn register_string_a(handle: Handle, text: *const c_char) -> Handle {
    let domain = domain(handle);
    let theirs = forward!(
        Core2,
        slot::DOMAIN_REGISTER_STRING_A,
        unsafe extern "C" fn(Handle, *const c_char) -> Handle,
        (domain.theirs(), text)
    );
    guarded(null_mut(), || unsafe { ascii(text, |text| registered(domain, text, theirs)) })
}

unsafe extern "C" fn register_string_w(handle: Handle, text: *const Wide) -> Handle {
    let domain = domain(handle);
    let theirs = forward!(
        Core2,
        slot::DOMAIN_REGISTER_STRING_W,
        unsafe extern "C" fn(Handle, *const Wide) -> Handle,
        (domain.theirs(), text)
    );
    guarded(null_mut(), || unsafe { wide(text, |text| registered(domain, text, theirs)) })
}

fn created(text: Text<'_>, theirs: Option<Handle>) -> Handle {
    let ours = handles::create_domain(text.bytes());
    if let Some(theirs) = theirs {
        handles::set_theirs(ours, theirs);
    }
    ours
}

unsafe extern "C" fn create_a(name: *const c_char) -> Handle {
    let theirs = forward!(Core2, slot::DOMAIN_CREATE_A, unsafe extern "C" fn(*const c_char) -> Handle, (name));
    guarded(null_mut(), || unsafe { ascii(name, |text| created(text, theirs)) })
}

unsafe extern "C" fn create_w(name: *const Wide) -> Handle {
    let theirs = forward!(Core2, slot::DOMAIN_CREATE_W, unsafe extern "C" fn(*const Wide) -> Handle, (name));
    guarded(null_mut(), || unsafe { wide(name, |text| created(text, theirs)) })
}

unsafe extern "C" fn destroy(handle: Handle) {
    let theirs = domain(handle).theirs();
    forward!(Core2, slot::DOMAIN_DESTROY, unsafe extern "C" fn(Handle), (theirs));
    guarded((), || handles::destroy_domain(handle));
}

unsafe extern "C" fn initialize(reserved: *const c_void) {
    // By the time this is called the tables are taken: there is nothing left to do.
    forward!(Core2, slot::INITIALIZE, unsafe extern "C" fn(*const c_void), (reserved));
}
