//! Before `main`.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::Ordering;

use at_load::{AtLoad, Door, Variables};

use crate::{behind, dl};

/// What the collector finds by the name [`at_load::DOOR`].
#[unsafe(no_mangle)]
static gpuprof_door_1: Door = Door::closed();

/// The body of the constructor.
///
/// # Safety
/// The arguments must be those that the loader passes to constructors.
unsafe fn on_load(argv: *const *mut c_char, envp: *const *mut c_char) {
    if at_load::is_privileged() {
        return;
    }
    let Some(path) = own_path() else { return };
    gpuprof_door_1.path.store(path.as_ptr().cast_mut(), Ordering::Release);
    let list = if envp.is_null() { at_load::list() } else { envp };
    // SAFETY: the loader's lists; preloaded libraries are constructed one after the other before `main`. If this one is
    // not preloaded, the driver or NVTX is mapping it, and nothing is changed.
    unsafe {
        if !at_load::is_preloaded(list, path.to_bytes()) {
            return;
        }
        gpuprof_door_1.next.store(next as *mut c_void, Ordering::Release);
        let (taken, room) = AtLoad::take(list, argv);
        gpuprof_door_1.taken.store(core::ptr::from_ref(taken).cast_mut(), Ordering::Release);
        behind::with_path(path, |collector| {
            let variables = Variables::read(list, collector.to_bytes(), path.to_bytes());
            // A relative path is for the collector, too: it makes it one that children in other folders can use.
            if !variables.is_plain || !path.to_bytes().starts_with(b"/") {
                gpuprof_door_1.asks.store(true, Ordering::Release);
                if dl::open(collector).is_null() {
                    behind::say_missing(collector);
                }
                gpuprof_door_1.asks.store(false, Ordering::Release);
            } else if !variables.are_set && behind::is_there(collector) {
                Variables::name_collector(collector.to_bytes(), room);
            }
        });
    }
}

/// Looks for the object that this code lies in.
unsafe extern "C" fn is_own(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
    // SAFETY: the loader's description of one object, and the place that `own_path` passes for its name.
    unsafe {
        let (info, here) = (&*info, constructor as *const c_void as u64);
        for index in 0..usize::from(info.dlpi_phnum) {
            let segment = &*info.dlpi_phdr.add(index);
            let start = info.dlpi_addr.wrapping_add(segment.p_vaddr);
            if segment.p_type == libc::PT_LOAD && here.wrapping_sub(start) < segment.p_memsz {
                *found.cast::<*const c_char>() = info.dlpi_name;
                return 1;
            }
        }
        0
    }
}

/// The path by which this library was loaded. (`dladdr` would say it too, but lies in another library of older glibcs.)
pub fn own_path() -> Option<&'static CStr> {
    let mut name: *const c_char = null_mut();
    // SAFETY: a place for one pointer; the loader keeps the name as long as it keeps us, which is for good.
    unsafe {
        libc::dl_iterate_phdr(Some(is_own), (&raw mut name).cast());
        (!name.is_null()).then(|| CStr::from_ptr(name))
    }
}

/// See [`Door::next`].
extern "C" fn next(name: *const c_char) -> *mut c_void {
    // The loader tells who asks by the address that it is to return to. That must be one of ours: something has to be left
    // to do here after the call.
    core::hint::black_box(dl::symbol(libc::RTLD_NEXT, name))
}

/// The library's constructor, called by the loader with the program's arguments and environment.
///
/// # Safety
/// Only for the loader.
unsafe extern "C-unwind" fn constructor(_argc: c_int, argv: *const *mut c_char, envp: *const *mut c_char) {
    // SAFETY: errno is the thread's own. Programs may rely on it being zero when `main` begins. The rest is passed on.
    unsafe {
        let saved = *libc::__errno_location();
        on_load(argv, envp);
        *libc::__errno_location() = saved;
    }
}

/// Where the loader looks for it.
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: unsafe extern "C-unwind" fn(c_int, *const *mut c_char, *const *mut c_char) = constructor;
