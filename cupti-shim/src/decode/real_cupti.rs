//! NVIDIA's own libcupti, without a GPU and without a driver: its walker reads the blocks that we make, of every kind
//! and every release that can be had, and must see the records that we see.
//!
//! `scripts/fetch-cupti` brings the libraries from PyPI once. Two of them in one process share a SONAME and would get
//! in each other's way, so each release has a process of its own: this test program again, running [`child`].

use std::ffi::CStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr;

use cupti_sys::{
    CUPTI_ERROR_MAX_LIMIT_REACHED, CUPTI_SUCCESS, CUpti_Activity, GetCallbackNameFn, GetVersionFn, cbid, layouts,
    strides_of,
};

use super::expected::{SEPARATE, compare};
use super::synthetic::Writer;
use super::tests::decode;
use super::*;
use crate::strides::GetNextRecordFn;

/// Releases whose walker works with no driver in the machine.
const PACKAGES: [&str; 8] =
    ["11.8.87", "12.1.105", "12.4.127", "12.6.80", "12.8.90", "12.9.79", "13.0.85", "13.1.115"];

/// Releases that do nothing, or recurse until the stack ends, unless there is a real `libcuda.so.1`.
const PACKAGES_WITH_DRIVER: [&str; 4] = ["13.2.86", "13.3.75", "13.4.92", "13.5.25"];

/// Names the library for [`child`], as `PACKAGE=PATH`.
const LIBRARY: &str = "GPUPROF_TEST_REAL_CUPTI";

/// Has a script fetch something, and returns the folder it names; `None`, said loudly and counted, if it cannot.
fn fetch(test: &str, script: &str, args: &[&str]) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts").join(script);
    let fetched = Command::new(&path).args(args).output().unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    if !fetched.status.success() {
        skip(test, &String::from_utf8_lossy(&fetched.stderr));
        return None;
    }
    Some(PathBuf::from(String::from_utf8(fetched.stdout).expect("a path").trim_end()))
}

/// Runs [`child`] on a release.
fn compare_with(cache: &Path, package: &str, libcuda: Option<&Path>) {
    let folder = std::fs::read_dir(cache.join(package)).unwrap_or_else(|e| panic!("{package}: {e}"));
    let library = folder.map(|entry| entry.expect("an entry").path()).next().expect("a library");
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .args(["--exact", "--ignored", "--nocapture", "decode::real_cupti::child"])
        .env(LIBRARY, format!("{package}={}", library.display()));
    if let Some(folder) = libcuda {
        command.env("LD_LIBRARY_PATH", folder);
    }
    let answer = command.output().expect("this program again");
    let [stdout, stderr] = [answer.stdout, answer.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let passed = answer.status.success() && stdout.contains("1 passed");
    assert!(passed, "CUPTI {package}: {}\n{stdout}\n{stderr}", answer.status);
}

#[test]
fn the_vendor_s_walker_and_decoder_agree_with_ours() {
    let test = "the_vendor_s_walker_and_decoder_agree_with_ours";
    let Some(cache) = fetch(test, "fetch-cupti", &PACKAGES) else { return };
    PACKAGES.iter().for_each(|package| compare_with(&cache, package, None));
}

#[test]
fn the_vendor_s_newest_walkers_agree_where_a_real_libcuda_can_be_had() {
    let test = "the_vendor_s_newest_walkers_agree_where_a_real_libcuda_can_be_had";
    let Some(libcuda) = fetch(test, "fetch-libcuda", &[]) else { return };
    let Some(cache) = fetch(test, "fetch-cupti", &PACKAGES_WITH_DRIVER) else { return };
    PACKAGES_WITH_DRIVER.iter().for_each(|package| compare_with(&cache, package, Some(&libcuda)));
}

/// Says that the test did not run, and why; `scripts/test` counts these.
fn skip(test: &str, reason: &str) {
    eprintln!("SKIPPED: {test}: {}", reason.trim_end());
    if let Some(list) = std::env::var_os("GPUPROF_SKIPS") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(list);
        let _ = file.and_then(|mut f| f.write_all(format!("{test}: {}\n", reason.trim_end()).as_bytes()));
    }
}

#[test]
#[ignore = "run by the tests above, once for each release of CUPTI"]
fn child() {
    let variable = std::env::var(LIBRARY).expect("the tests above set it");
    let (package, path) = variable.split_once('=').expect("PACKAGE=PATH");
    // SAFETY: NVIDIA's library, whose constructors touch nothing but itself.
    let cupti = unsafe { libloading::Library::new(path) }.expect("a library");
    // Never unloaded: it leaves destructors with the threads that called it, which then jump into nothing.
    let cupti = std::mem::ManuallyDrop::new(cupti);
    // SAFETY: the types are those of the headers.
    let (next, version, name) = unsafe {
        (
            *cupti.get::<GetNextRecordFn>(b"cuptiActivityGetNextRecord\0").expect("the walker"),
            *cupti.get::<GetVersionFn>(b"cuptiGetVersion\0").expect("the version"),
            *cupti.get::<GetCallbackNameFn>(b"cuptiGetCallbackName\0").expect("the names"),
        )
    };
    let known = strides_of(package).expect("a package that we know");
    let mut number = 0;
    // SAFETY: writes one number.
    assert_eq!((unsafe { version(&mut number) }, number), (CUPTI_SUCCESS, known.api_version));
    let strides = Strides::probe_fn(next);
    assert_eq!(Some(&strides), Strides::of_toolkit(package).as_ref(), "strides of {package}");
    callback_ids_name_the_calls_we_think(name);
    let blocks = mixed_blocks(&strides, known.toolkit);
    for block in &blocks {
        walked_alike(block, &strides, next);
    }
    cut_off_anywhere(&blocks[0], &strides, next);
    decoded_as_put_in(&blocks[0], &strides, next);
}

/// Blocks of every kind that this release knows, in different orders, with noise wherever nothing is defined.
fn mixed_blocks(strides: &Strides, toolkit: u16) -> Vec<Vec<u8>> {
    let kinds: Vec<u32> = (1..64).filter(|&kind| strides.of(kind) != 0).collect();
    assert!(kinds.len() >= 39, "{kinds:?}");
    (0..20)
        .map(|order| {
            let mut block = Writer::new(strides);
            for i in 0..5 * kinds.len() {
                block.full(kinds[i * (2 * order + 1) % kinds.len()], toolkit, i as u64);
            }
            block.bytes
        })
        .collect()
}

/// Where the vendor's walker sees records begin, and what it says at the end.
fn vendor_walk(block: &[u8], next: GetNextRecordFn) -> (Vec<usize>, u32) {
    let mut starts = Vec::new();
    // As CUPTI wants it: aligned to 8.
    let mut aligned = vec![0u64; block.len().div_ceil(8) + 1];
    let buffer = aligned.as_mut_ptr().cast::<u8>();
    // SAFETY: the vector has room for the block.
    unsafe { ptr::copy_nonoverlapping(block.as_ptr(), buffer, block.len()) };
    let mut record: *mut CUpti_Activity = ptr::null_mut();
    loop {
        // SAFETY: the buffer holds that many valid bytes.
        let result = unsafe { next(buffer, block.len(), &mut record) };
        if result != CUPTI_SUCCESS {
            return (starts, result);
        }
        starts.push(record.addr() - buffer.addr());
    }
}

fn our_walk(block: &[u8], strides: &Strides) -> (Vec<usize>, usize) {
    let mut records = Records { rest: block, strides };
    let mut starts = Vec::new();
    loop {
        let at = block.len() - records.rest.len();
        if records.next().is_none() {
            return (starts, records.left().0);
        }
        starts.push(at);
    }
}

fn walked_alike(block: &[u8], strides: &Strides, next: GetNextRecordFn) {
    let (theirs, result) = vendor_walk(block, next);
    let (ours, left) = our_walk(block, strides);
    assert_eq!(theirs, ours);
    assert_eq!((result, left), (CUPTI_ERROR_MAX_LIMIT_REACHED, 0));
    assert_eq!(decode(block, strides).0.records, ours.len() as u64);
}

/// A buffer that ends inside a record, and one that goes on with a kind that nobody knows.
fn cut_off_anywhere(block: &[u8], strides: &Strides, next: GetNextRecordFn) {
    for bytes in (0..block.len().min(4000)).step_by(4) {
        assert_eq!(vendor_walk(&block[..bytes], next).0, our_walk(&block[..bytes], strides).0, "{bytes}");
    }
    let first = our_walk(block, strides).0;
    for alien in [0u32, 60, 127, 1000, u32::MAX] {
        let mut block = block[..first[3]].to_vec();
        block.extend_from_slice(&alien.to_le_bytes());
        block.resize(first[3] + 512, 0);
        let (theirs, result) = vendor_walk(&block, next);
        assert_eq!(theirs, first[..3], "kind {alien}");
        assert!(result != CUPTI_SUCCESS && result != CUPTI_ERROR_MAX_LIMIT_REACHED, "kind {alien}: {result}");
        let walk = decode(&block, strides).0;
        assert_eq!((walk.records, walk.unknown_bytes, walk.unknown_kind), (3, 512, Some(alien)));
    }
}

/// The bytes between two of the vendor's records, decoded, are what was put into them.
fn decoded_as_put_in(block: &[u8], strides: &Strides, next: GetNextRecordFn) {
    let mut starts = vendor_walk(block, next).0;
    starts.push(block.len());
    let mut compared = std::collections::BTreeSet::new();
    for bounds in starts.windows(2) {
        let record = &block[bounds[0]..bounds[1]];
        let kind = u32::from_le_bytes(record[..4].try_into().expect("four bytes"));
        if kind_of(kind).is_none() || SEPARATE.contains(&kind) || kind == 25 {
            continue;
        }
        let (walk, tables) = decode(record, strides);
        assert_eq!((walk.records, walk.kept), (1, 1));
        compare(record, kind, &tables, 0, "vendor's bounds");
        compared.insert(kind);
    }
    assert!(compared.len() >= 20, "{compared:?}");
}

fn callback_ids_name_the_calls_we_think(name: GetCallbackNameFn) {
    let of = |domain, id| {
        let mut text = ptr::null();
        // SAFETY: writes a pointer to a string that stays.
        let result = unsafe { name(domain, id, &mut text) };
        assert_eq!(result, CUPTI_SUCCESS);
        // SAFETY: as above.
        unsafe { CStr::from_ptr(text) }.to_str().expect("ASCII").to_owned()
    };
    use cupti_sys::{CUPTI_CB_DOMAIN_DRIVER_API as DRIVER, CUPTI_CB_DOMAIN_RUNTIME_API as RUNTIME};
    assert_eq!(of(DRIVER, cbid::driver::PROFILER_START), "cuProfilerStart");
    assert_eq!(of(DRIVER, cbid::driver::PROFILER_STOP), "cuProfilerStop");
    assert_eq!(of(DRIVER, cbid::driver::LAUNCH_KERNEL), "cuLaunchKernel");
    assert_eq!(of(DRIVER, cbid::driver::CTX_SYNCHRONIZE), "cuCtxSynchronize");
    assert_eq!(of(RUNTIME, cbid::runtime::DEVICE_RESET), "cudaDeviceReset_v3020");
    assert_eq!(of(RUNTIME, cbid::runtime::LAUNCH_KERNEL), "cudaLaunchKernel_v7000");
    assert_eq!(of(RUNTIME, cbid::runtime::PROFILER_START), "cudaProfilerStart_v4000");
}

#[test]
fn the_releases_tried_are_in_the_tables() {
    for package in PACKAGES.into_iter().chain(PACKAGES_WITH_DRIVER) {
        assert!(layouts::STRIDES.iter().any(|p| p.package == package && p.newest_of_toolkit), "{package}");
    }
}
