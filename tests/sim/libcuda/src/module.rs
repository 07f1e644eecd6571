//! Modules and functions. The `.entry` names and parameters are read from PTX text; a function's name lives in memory
//! that its module owns, and is overwritten and freed when the module goes.

use crate::abi::{Resource, Work, resource, work};
use crate::{call, clock, context, settings, tool};
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Type of a kernel's parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param {
    pub bytes: usize,
    pub float: bool,
}

pub struct Function {
    /// Never used again for another function.
    pub key: u64,
    pub name: *mut c_char,
    pub name_bytes: usize,
    pub alive: AtomicBool,
    /// Empty if unknown.
    pub params: Vec<Param>,
    pub registers: u32,
    pub compute: crate::compute::Known,
    pub duration: crate::compute::Duration,
    pub module: *mut Module,
}

// SAFETY: nothing of a function changes but `alive`; the name is read only while that is true.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

pub struct Module {
    pub functions: HashMap<Vec<u8>, *mut Function>,
    pub globals: HashMap<Vec<u8>, (usize, usize)>,
}

static NEXT_KEY: AtomicU64 = AtomicU64::new(1);

/// Without comments.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("//").into_iter().chain(rest.find("/*")).min() {
        out.push_str(rest.get(..at).unwrap_or_default());
        let comment = rest.get(at..).unwrap_or_default();
        let (end, skip) = if comment.starts_with("//") { ("\n", 0) } else { ("*/", 2) };
        rest = comment.find(end).and_then(|n| comment.get(n + skip..)).unwrap_or_default();
        out.push(' ');
    }
    out.push_str(rest);
    out
}

/// The names and parameters of the `.entry`s of PTX text.
fn entries(text: &str) -> Vec<(String, Vec<Param>)> {
    let text = plain(text);
    let mut found = Vec::new();
    for part in text.split(".entry").skip(1) {
        let part = part.trim_start();
        let end = part.find(|c: char| c == '(' || c == '{' || c.is_whitespace()).unwrap_or(part.len());
        let name = part.get(..end).unwrap_or_default().to_owned();
        let body = part.find('{').unwrap_or(part.len());
        let params = part.get(..body).unwrap_or_default().split(".param").skip(1).map(parameter).collect();
        found.push((name, params));
    }
    found
}

fn parameter(text: &str) -> Param {
    let word = text.split('.').find(|word| {
        let mut letters = word.chars();
        letters.next().is_some_and(|c| "usbf".contains(c)) && letters.next().is_some_and(|c| c.is_ascii_digit())
    });
    let word = word.unwrap_or("u64").trim();
    let digits: String = word.chars().skip(1).take_while(char::is_ascii_digit).collect();
    let mut bytes = digits.parse::<usize>().unwrap_or(64) / 8;
    // An array: `.param .align 8 .b8 name[24]`.
    if let Some(length) = text.split_once('[').and_then(|(_, rest)| rest.split(']').next()) {
        bytes *= length.trim().parse::<usize>().unwrap_or(1);
    }
    Param { bytes: bytes.max(1), float: word.starts_with('f') }
}

/// Loads an image: PTX text. Null if it is none.
///
/// # Safety
/// `image` is NUL-terminated text, or begins with the header of a `fatbin` wrapper whose third word points to one.
pub unsafe fn load(image: *const c_void) -> *mut Module {
    const FATBIN_WRAPPER: u32 = 0x4662_43b1;
    let mut text = image.cast::<c_char>();
    if image.cast::<u32>().read_unaligned() == FATBIN_WRAPPER {
        text = image.cast::<*const c_char>().add(1).read_unaligned();
    }
    let text = CStr::from_ptr(text).to_string_lossy();
    let entries = entries(&text);
    if entries.is_empty() && !text.contains(".version") {
        return std::ptr::null_mut();
    }
    let start_ns = clock::now();
    let module = Box::into_raw(Box::new(Module { functions: HashMap::new(), globals: HashMap::new() }));
    for (name, params) in entries {
        let bytes = name.len() + 1;
        let memory = libc::malloc(bytes).cast::<c_char>();
        if memory.is_null() {
            return std::ptr::null_mut();
        }
        std::ptr::copy_nonoverlapping(name.as_ptr().cast(), memory, name.len());
        *memory.add(name.len()) = 0;
        let function = Box::into_raw(Box::new(Function {
            key: NEXT_KEY.fetch_add(1, Ordering::Relaxed),
            name: memory,
            name_bytes: bytes,
            alive: AtomicBool::new(true),
            compute: crate::compute::known(&name),
            duration: crate::compute::duration(&name),
            params,
            registers: 16 + (name.len() as u32 * 7) % 48,
            module,
        }));
        (*module).functions.insert(name.into_bytes(), function);
    }
    tell(module, resource::MODULE_LOADED);
    if tool::any() {
        let mut record = Work::new(work::JIT);
        (record.start_ns, record.end_ns) = (start_ns, clock::now());
        record.kind = 2;
        record.correlation = call::next_correlation();
        record.serial = NEXT_KEY.load(Ordering::Relaxed);
        record.name = c"/tmp/simulated-cache".as_ptr();
        record.bytes = 4096;
        tool::work(&record);
    }
    module
}

fn tell(module: *mut Module, cbid: u32) {
    let resource = context::current().map_or_else(context::no_resource, context::describe);
    tool::resource(&Resource { cbid, object: module.cast(), ..resource });
}

/// # Safety
/// `module` came from [`load`] and was not unloaded.
pub unsafe fn unload(module: *mut Module) {
    tell(module, resource::MODULE_UNLOAD_STARTING);
    for function in (*module).functions.values() {
        // The function's box stays, for handles that outlive their module; its name dies.
        (**function).alive.store(false, Ordering::Relaxed);
        let name = (**function).name;
        std::ptr::write_bytes(name.cast::<u8>(), b'#', (**function).name_bytes - 1);
        libc::free(name.cast());
    }
    (*module).functions.clear();
    settings::log("module unloaded");
}
