//! The state of a process before `main`, and how it comes from the door to the collector.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::environment::entries;
use crate::memory::Block;

/// Bytes that are never given back.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Bytes {
    start: *const u8,
    length: usize,
}

impl Bytes {
    const NONE: Bytes = Bytes { start: core::ptr::null(), length: 0 };

    /// The bytes.
    pub fn get(&self) -> &'static [u8] {
        // SAFETY: made by `AtLoad::take` alone, of memory that stays and is not written to again.
        if self.start.is_null() { &[] } else { unsafe { core::slice::from_raw_parts(self.start, self.length) } }
    }
}

/// What a program may change before it calls CUDA.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AtLoad {
    /// `NAME=value`, each ended by a zero.
    pub environment: Bytes,
    /// The command line, arguments ended by zeros; empty: to be read from `/proc`.
    pub cmdline: Bytes,
    /// The program's file.
    pub exe: Bytes,
    /// CLOCK_REALTIME.
    pub start_unix_ns: i64,
    /// Which process this is.
    pub pid: u32,
    /// Which one started it.
    pub parent: u32,
    /// Device and inode of standard error; none if it is closed.
    pub stderr_device: u64,
    /// See `stderr_device`.
    pub stderr_inode: u64,
    /// Whether standard error is open.
    pub has_stderr: bool,
    /// Whether `processors` is known.
    pub has_processors: bool,
    /// The processors that it may run on.
    pub processors: libc::cpu_set_t,
}

/// The longest path.
const LONGEST: usize = libc::PATH_MAX as usize;
/// Room for a new environment list, as it mostly is; what is not touched costs nothing.
const SPARE: usize = 16 << 10;

// SAFETY: never written to after it was made.
unsafe impl Sync for AtLoad {}

/// Where there is no memory to take anything down.
static NOTHING: AtLoad = AtLoad {
    environment: Bytes::NONE,
    cmdline: Bytes::NONE,
    exe: Bytes::NONE,
    start_unix_ns: 0,
    pid: 0,
    parent: 0,
    stderr_device: 0,
    stderr_inode: 0,
    has_stderr: false,
    has_processors: false,
    // SAFETY: all zeros is a valid set.
    processors: unsafe { MaybeUninit::zeroed().assume_init() },
};

impl AtLoad {
    /// Takes the state down. `argv` is null where the time before `main` is over. What is left of the memory that was
    /// mapped for it is for [`crate::set`]: a page more would be touched otherwise.
    ///
    /// # Safety
    /// Both lists as for [`entries`].
    pub unsafe fn take(list: *const *mut c_char, argv: *const *mut c_char) -> (&'static AtLoad, Option<Block>) {
        // SAFETY: passed on from the caller; `exe` has the room that is said. Not `own_proc`: before `main` there is but
        // one thread, and where that has ended its program's file is of no more use.
        unsafe {
            let bytes =
                |list| entries(list).fold(0, |sum: usize, entry| sum.wrapping_add(entry.len()).wrapping_add(1));
            let texts = bytes(list).wrapping_add(bytes(argv));
            let whole = size_of::<AtLoad>().wrapping_add(texts).wrapping_add(LONGEST).wrapping_add(SPARE);
            let Some(mut block) = Block::new(whole) else { return (&NOTHING, None) };
            let taken = block.room::<AtLoad>(1);
            if taken.is_null() {
                return (&NOTHING, None);
            }
            let environment = joined(&mut block, list);
            let cmdline = joined(&mut block, argv);
            let exe = block.end();
            let length = libc::readlink(c"/proc/self/exe".as_ptr(), exe.cast(), LONGEST);
            let length = usize::try_from(length).unwrap_or(0);
            block.room::<u8>(length);
            let exe = Bytes { start: exe, length };
            let stderr = identity(2);
            let (stderr_device, stderr_inode) = stderr.unwrap_or((0, 0));
            let processors = processors();
            taken.write(AtLoad {
                environment,
                cmdline,
                exe,
                start_unix_ns: realtime_ns(),
                pid: libc::syscall(libc::SYS_getpid) as u32,
                parent: libc::getppid().cast_unsigned(),
                stderr_device,
                stderr_inode,
                has_stderr: stderr.is_some(),
                has_processors: processors.is_some(),
                processors: processors.unwrap_or(NOTHING.processors),
            });
            (&*taken, Some(block))
        }
    }
}

/// The strings of a list, each ended by a zero.
unsafe fn joined(block: &mut Block, list: *const *mut c_char) -> Bytes {
    let start = block.end().cast_const();
    let mut length = 0usize;
    // SAFETY: passed on from the caller.
    for entry in unsafe { entries(list) } {
        if block.put(entry) && block.put(b"\0") {
            length = length.wrapping_add(entry.len()).wrapping_add(1);
        }
    }
    Bytes { start, length }
}

/// Device and inode of a descriptor, none when it is closed.
pub fn identity(fd: c_int) -> Option<(u64, u64)> {
    let mut stat = MaybeUninit::<libc::stat>::zeroed();
    // The system call: `fstat` is a function of the C library only since glibc 2.33. The kernel's structure is the same.
    // SAFETY: `stat` is writable; all zeros is a valid value of it.
    let (rc, stat) = unsafe { (libc::syscall(libc::SYS_fstat, fd, stat.as_mut_ptr()), stat.assume_init()) };
    (rc == 0).then_some((stat.st_dev, stat.st_ino))
}

/// The processors that the calling thread may run on. None: there are more than 1024.
pub fn processors() -> Option<libc::cpu_set_t> {
    let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: `set` has the size given, and is valid when it is all zeros.
    unsafe {
        let rc = libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), set.as_mut_ptr());
        (rc == 0).then(|| set.assume_init())
    }
}

/// CLOCK_REALTIME, nanoseconds since 1970.
pub fn realtime_ns() -> i64 {
    let mut t = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: `t` is writable and of the right type; on failure it stays zero, which is a valid value.
    let t = unsafe {
        libc::clock_gettime(libc::CLOCK_REALTIME, t.as_mut_ptr());
        t.assume_init()
    };
    t.tv_sec.wrapping_mul(1_000_000_000).wrapping_add(t.tv_nsec)
}

/// Whether the program runs with more rights than its caller: then nothing of the caller's environment is obeyed.
pub fn is_privileged() -> bool {
    // SAFETY: reads the auxiliary vector.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// What the door holds ready for the collector. It exports it as [`DOOR`].
#[repr(C)]
pub struct Door {
    /// Null until the door's constructor ran.
    pub taken: AtomicPtr<AtLoad>,
    /// The door's own file, as it was preloaded.
    pub path: AtomicPtr<c_char>,
    /// `dlsym(RTLD_NEXT, name)` seen from the door, which has a place in the order of libraries where the collector has
    /// none: a `fn(*const c_char) -> *mut c_void`.
    pub next: AtomicPtr<c_void>,
    /// The collector is being mapped before `main`, to do what the settings want done by then.
    pub asks: AtomicBool,
}

impl Door {
    /// Before the constructor ran.
    pub const fn closed() -> Door {
        Door {
            taken: AtomicPtr::new(null_mut()),
            path: AtomicPtr::new(null_mut()),
            next: AtomicPtr::new(null_mut()),
            asks: AtomicBool::new(false),
        }
    }

    /// What was taken down.
    pub fn taken(&self) -> Option<&'static AtLoad> {
        // SAFETY: null or what `AtLoad::take` returned.
        unsafe { self.taken.load(Ordering::Acquire).as_ref() }
    }

    /// The door's own file; empty if it is not known.
    pub fn path(&self) -> &'static [u8] {
        let path = self.path.load(Ordering::Acquire);
        // SAFETY: null or a name that the loader keeps, of a library that is never unloaded.
        if path.is_null() { &[] } else { unsafe { CStr::from_ptr(path) }.to_bytes() }
    }

    /// What stands behind the door by the name of one of its own functions.
    pub fn next(&self, name: &CStr) -> *mut c_void {
        let next = self.next.load(Ordering::Acquire);
        if next.is_null() {
            return next;
        }
        // SAFETY: the door stores a function of this type.
        let next =
            unsafe { core::mem::transmute::<*mut c_void, extern "C" fn(*const c_char) -> *mut c_void>(next) };
        next(name.as_ptr())
    }
}

/// The name by which the collector finds it. The number is that of the layout of [`Door`] and [`AtLoad`]: a door and a
/// collector of different versions must not take each other's for their own.
pub const DOOR: &CStr = c"gpuprof_door_1";

/// The door that this process came through, if it did. For the collector.
pub fn door() -> Option<&'static Door> {
    // SAFETY: a terminated name. What has it is a door, which is never unloaded.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, DOOR.as_ptr()).cast::<Door>().as_ref() }
}
