//! In the place of `cupti-shim/src/sync.rs`: the same names, every access one that loom decides the outcome of.
//!
//! Loom's own atomics cannot be made by a constant, nor lie in memory that was zeroed; the collector's do both. So these
//! hold only the value that they began with, and loom's are found by their address. Loom wants them made before a thread
//! that uses them begins: there is a stock of those that begin with common values, all made by [`begin`]; any other
//! must be used first by who has made it.

use std::any::Any;
use std::cell::{RefCell, UnsafeCell};
use std::collections::{HashMap, VecDeque};
use std::ops::{Deref, DerefMut};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

pub const MODEL: bool = true;

thread_local! {
    /// By address. Loom runs all threads of a model on one thread of the system.
    static KNOWN: RefCell<HashMap<usize, &'static dyn Any>> = RefCell::default();
}

/// One type's stock, by the value they begin with.
type Stock<V, A> = RefCell<Vec<(V, Vec<A>)>>;

macro_rules! stock {
    ($($name:ident: $value:ty, $of:path, $number:literal of [$($first:expr),+];)+) => {
        thread_local! { $(static $name: Stock<$value, $of> = const { RefCell::new(Vec::new()) };)+ }
        fn fill_stock() {
            $($name.set(vec![$(($first, (0..$number).map(|_| <$of>::new($first)).collect())),+]);)+
        }
    };
}

stock! {
    U8: u8, loom::sync::atomic::AtomicU8, 8 of [0];
    U32: u32, loom::sync::atomic::AtomicU32, 40 of [0, 1];
    U64: u64, loom::sync::atomic::AtomicU64, 40 of [0, 1];
    I64: i64, loom::sync::atomic::AtomicI64, 4 of [0, i64::MIN, i64::MAX];
    BOOL: bool, loom::sync::atomic::AtomicBool, 8 of [false];
    PTR: *mut (), loom::sync::atomic::AtomicPtr<()>, 8 of [std::ptr::null_mut()];
    CELL: (), loom::cell::UnsafeCell<()>, 24 of [()];
}

/// From the stock; none: there is none that begins like that.
fn taken<V: PartialEq, A>(stock: &'static std::thread::LocalKey<Stock<V, A>>, value: &V) -> Option<A> {
    stock.with_borrow_mut(|stock| stock.iter_mut().find(|(first, _)| first == value)?.1.pop())
}

/// To be called first in every model: what lay at an address in the run before is no more.
pub fn begin() {
    KNOWN.with_borrow_mut(HashMap::clear);
    fill_stock();
}

fn known<T: Any>(address: usize, make: impl FnOnce() -> T) -> &'static T {
    let found = KNOWN.with_borrow(|known| known.get(&address).copied());
    let found = found.unwrap_or_else(|| {
        // Not freed: some hundred bytes a run.
        let fresh: &'static dyn Any = Box::leak(Box::new(make()));
        KNOWN.with_borrow_mut(|known| known.insert(address, fresh));
        fresh
    });
    found.downcast_ref().expect("one type at each address")
}

pub mod atomic {
    use super::*;
    pub use std::sync::atomic::Ordering;

    /// Loom takes sequentially consistent accesses for `AcqRel`; its sequentially consistent fences are what they say.
    fn fenced<R>(order: Ordering, weaker: Ordering, f: impl FnOnce(Ordering) -> R) -> R {
        if order != Ordering::SeqCst {
            return f(order);
        }
        loom::sync::atomic::fence(Ordering::SeqCst);
        let result = f(weaker);
        loom::sync::atomic::fence(Ordering::SeqCst);
        result
    }

    macro_rules! common {
        ([$($generic:tt)*] $name:ty, $loom:ty, $value:ty, $stock:ident, $there:expr, $back:expr) => {
            // SAFETY: the cell is only read, and written only by who has `&mut`.
            unsafe impl<$($generic)*> Sync for $name {}
            impl<$($generic)*> $name {
                pub const fn new(value: $value) -> Self {
                    Self(UnsafeCell::new(value))
                }
                pub(super) fn loom(&self) -> &'static $loom {
                    // SAFETY: as above.
                    let first = $there(unsafe { *self.0.get() });
                    known(self.0.get() as usize, || taken(&$stock, &first).unwrap_or_else(|| <$loom>::new(first)))
                }
                pub fn get_mut(&mut self) -> &mut $value {
                    let now = $back(self.loom().load(Ordering::Acquire));
                    *self.0.get_mut() = now;
                    self.0.get_mut()
                }
                pub fn load(&self, order: Ordering) -> $value {
                    $back(fenced(order, Ordering::Acquire, |order| self.loom().load(order)))
                }
                pub fn store(&self, value: $value, order: Ordering) {
                    fenced(order, Ordering::Release, |order| self.loom().store($there(value), order))
                }
                pub fn swap(&self, value: $value, order: Ordering) -> $value {
                    $back(fenced(order, Ordering::AcqRel, |order| self.loom().swap($there(value), order)))
                }
                pub fn compare_exchange(&self, from: $value, to: $value, ok: Ordering, not: Ordering)
                    -> Result<$value, $value> {
                    self.loom().compare_exchange($there(from), $there(to), ok, not).map($back).map_err($back)
                }
                pub fn compare_exchange_weak(&self, from: $value, to: $value, ok: Ordering, not: Ordering)
                    -> Result<$value, $value> {
                    self.loom().compare_exchange($there(from), $there(to), ok, not).map($back).map_err($back)
                }
            }
        };
    }

    macro_rules! integer {
        ($name:ident, $ty:ty, $stock:ident) => {
            #[repr(transparent)]
            pub struct $name(UnsafeCell<$ty>);
            common!([] $name, loom::sync::atomic::$name, $ty, $stock, |v: $ty| v, |v: $ty| v);
            impl $name {
                pub fn fetch_add(&self, value: $ty, order: Ordering) -> $ty {
                    fenced(order, Ordering::AcqRel, |order| self.loom().fetch_add(value, order))
                }
                pub fn fetch_sub(&self, value: $ty, order: Ordering) -> $ty {
                    fenced(order, Ordering::AcqRel, |order| self.loom().fetch_sub(value, order))
                }
                pub fn fetch_max(&self, value: $ty, order: Ordering) -> $ty {
                    self.loom().fetch_max(value, order)
                }
                pub fn fetch_min(&self, value: $ty, order: Ordering) -> $ty {
                    self.loom().fetch_min(value, order)
                }
                pub fn fetch_update(&self, ok: Ordering, not: Ordering, f: impl FnMut($ty) -> Option<$ty>)
                    -> Result<$ty, $ty> {
                    self.loom().fetch_update(ok, not, f)
                }
            }
        };
    }

    integer!(AtomicU8, u8, U8);
    integer!(AtomicU32, u32, U32);
    integer!(AtomicU64, u64, U64);
    integer!(AtomicI64, i64, I64);

    #[repr(transparent)]
    pub struct AtomicBool(UnsafeCell<bool>);
    common!([] AtomicBool, loom::sync::atomic::AtomicBool, bool, BOOL, |v: bool| v, |v: bool| v);

    #[repr(transparent)]
    pub struct AtomicPtr<T>(UnsafeCell<*mut T>);
    common!([T: 'static] AtomicPtr<T>, loom::sync::atomic::AtomicPtr<()>, *mut T, PTR, |v: *mut T| v.cast::<()>(), |v: *mut ()| v.cast::<T>());
    // SAFETY: an address, nothing more.
    unsafe impl<T> Send for AtomicPtr<T> {}
}

/// What loom watches in the place of memory that is not atomic.
fn watched(address: usize) -> &'static loom::cell::UnsafeCell<()> {
    // Beside the address, where an atomic may be.
    known(address | 1, || taken(&CELL, &()).unwrap_or_else(|| loom::cell::UnsafeCell::new(())))
}

pub fn reads<T>(ptr: *const T) {
    watched(ptr as usize).with(|_| ());
}

pub fn writes<T>(ptr: *const T) {
    watched(ptr as usize).with_mut(|_| ());
}

pub fn zeroed(ptr: *const u8, bytes: usize) {
    let within = ptr as usize..ptr as usize + bytes;
    let mut all: Vec<(usize, &'static dyn Any)> = KNOWN.with_borrow(|known| {
        known.iter().filter(|(at, _)| within.contains(at)).map(|(at, it)| (*at, *it)).collect()
    });
    // In the same order in every run.
    all.sort_by_key(|(at, _)| *at);
    for (_, it) in all {
        if let Some(cell) = it.downcast_ref::<loom::cell::UnsafeCell<()>>() {
            cell.with_mut(|_| ());
        } else if let Some(word) = it.downcast_ref::<loom::sync::atomic::AtomicU32>() {
            word.store(0, std::sync::atomic::Ordering::Relaxed);
        } else if let Some(word) = it.downcast_ref::<loom::sync::atomic::AtomicU64>() {
            word.store(0, std::sync::atomic::Ordering::Relaxed);
        }
    }
}

/// Loom's mutex, made at the first lock.
pub struct Mutex<T>(UnsafeCell<T>);

// SAFETY: whoever gets at the value holds loom's lock.
unsafe impl<T: Send> Sync for Mutex<T> {}

pub struct MutexGuard<'a, T> {
    value: &'a mut T,
    _locked: loom::sync::MutexGuard<'static, ()>,
}

impl<T> Mutex<T> {
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(UnsafeCell::new(value))
    }

    fn loom(&self) -> &'static loom::sync::Mutex<()> {
        known(self.0.get() as usize, || loom::sync::Mutex::new(()))
    }

    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let locked = self.loom().lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: nobody else has it as long as the lock is held.
        Ok(MutexGuard { value: unsafe { &mut *self.0.get() }, _locked: locked })
    }

    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let Ok(locked) = self.loom().try_lock() else { return Err(TryLockError::WouldBlock) };
        // SAFETY: as above.
        Ok(MutexGuard { value: unsafe { &mut *self.0.get() }, _locked: locked })
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.value
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value
    }
}

/// The queue of crossbeam is not what is examined here: one under a lock, which hands over as much.
pub struct ArrayQueue<T>(Mutex<VecDeque<T>>, usize);

impl<T> ArrayQueue<T> {
    pub fn new(most: usize) -> ArrayQueue<T> {
        ArrayQueue(Mutex::new(VecDeque::new()), most)
    }

    pub fn push(&self, value: T) -> Result<(), T> {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.len() == self.1 {
            return Err(value);
        }
        queue.push_back(value);
        Ok(())
    }

    pub fn pop(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    pub fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// What a futex is: a comparison and a sleep that no wake can come between.
pub struct Futex {
    lock: loom::sync::Mutex<()>,
    sleepers: loom::sync::Condvar,
}

impl Futex {
    pub fn of(word: &atomic::AtomicU32) -> &'static Futex {
        // Beside the word itself.
        known(std::ptr::from_ref(word) as usize | 2, || Futex {
            lock: loom::sync::Mutex::new(()),
            sleepers: loom::sync::Condvar::new(),
        })
    }

    pub fn wait(&self, word: &atomic::AtomicU32, expected: u32) {
        let held = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if word.load(atomic::Ordering::SeqCst) == expected {
            // Never by itself: a wake that gets lost shows as a thread that sleeps for ever.
            drop(self.sleepers.wait(held));
        }
    }

    pub fn wake(&self, all: bool) {
        let _held = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if all { self.sleepers.notify_all() } else { self.sleepers.notify_one() }
    }
}
