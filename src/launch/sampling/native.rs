//! Native stacks: a thread is stopped, its registers and the top of its stack are copied, it runs on; then framehop
//! follows the unwind tables of the files that are mapped, so code without frame pointers is no obstacle.

pub mod image;
pub mod maps;
pub mod stop;

use super::{Frame, NATIVE};
use crate::os::memory;
use framehop::{ExplicitModuleSectionInfo, Module, Unwinder as _};
use hashbrown::HashMap;
use image::Image;
use maps::Mapping;
use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stop::{Refused, Registers, Stopped};

#[cfg(target_arch = "aarch64")]
use framehop::aarch64::{CacheAarch64 as Cache, UnwinderAarch64 as Unwinder};
#[cfg(target_arch = "x86_64")]
use framehop::x86_64::{CacheX86_64 as Cache, UnwinderX86_64 as Unwinder};

/// So much of a stack is copied while its thread stands still: 10 to 20 µs. Deeper frames are not seen.
const STACK_BYTES: usize = 96 << 10;
/// Frames of one stack at most.
const MOST_FRAMES: usize = 512;
/// How often the mappings of a process are read again at most, when code is met that belongs to none.
const MAPS_AGE: Duration = Duration::from_secs(1);
/// Names of addresses that are remembered per process.
const MOST_NAMES: usize = 1 << 16;

/// Files that were read, by device and number.
#[derive(Default)]
pub struct Images(HashMap<(String, u64), Arc<Image>>);

impl Images {
    fn of(&mut self, pid: u32, mapping: &Mapping) -> Arc<Image> {
        let key = (mapping.device.clone(), mapping.inode);
        self.0.entry(key).or_insert_with(|| Arc::new(open(pid, mapping).unwrap_or_default())).clone()
    }
}

/// The file behind a mapping, if it still is the one that was mapped.
fn open(pid: u32, mapping: &Mapping) -> Option<Image> {
    let file = File::open(format!("/proc/{pid}/root{}", mapping.path)).ok()?;
    (file.metadata().ok()?.ino() == mapping.inode).then(|| Image::read(file))
}

/// A thread as it stood when it was stopped.
pub struct Snapshot {
    registers: Registers,
    stack: Vec<u8>,
}

/// Stops the thread, copies what unwinding needs, and lets it run on.
///
/// # Errors
/// Fails if the thread could not be stopped.
pub fn snapshot(pid: u32, tid: u32) -> Result<Snapshot, Refused> {
    let mut stack = vec![0; STACK_BYTES];
    let stopped = Stopped::stop(tid)?;
    let registers = stopped.registers().ok_or(Refused::Gone)?;
    let length = memory::read(pid, registers.sp, &mut stack);
    drop(stopped);
    // Without a stack there still is the innermost function.
    stack.truncate(length.unwrap_or(0));
    Ok(Snapshot { registers, stack })
}

/// A thread that sleeps in a system call, without touching it: the kernel tells where it went to sleep. There is no
/// frame pointer to be had, so a stack that needs one ends early.
pub fn asleep(pid: u32, tid: u32) -> Option<Snapshot> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).ok()?;
    // Number, arguments, stack pointer, program counter; or the one word `running`.
    let mut words = text.split_ascii_whitespace().rev();
    let mut address = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
    let (pc, sp) = (address()?, address()?);
    let mut stack = vec![0; STACK_BYTES];
    let length = memory::read(pid, sp, &mut stack).ok()?;
    stack.truncate(length);
    Some(Snapshot { registers: Registers { pc, sp, ..Registers::default() }, stack })
}

struct Mapped {
    mapping: Mapping,
    image: Arc<Image>,
    /// What to subtract from an address to get the one that the file states.
    bias: u64,
}

/// The code of one process.
pub struct NativeProcess {
    pid: u32,
    unwinder: Unwinder<Arc<[u8]>>,
    cache: Cache,
    mapped: Vec<Mapped>,
    read_at: Option<Instant>,
    names: HashMap<u64, Frame>,
}

impl NativeProcess {
    /// Nothing is read before the first stack.
    pub fn new(pid: u32) -> NativeProcess {
        let (unwinder, cache) = (Unwinder::new(), Cache::new());
        NativeProcess { pid, unwinder, cache, mapped: Vec::new(), read_at: None, names: HashMap::new() }
    }

    /// The stack of a thread, outermost frame first.
    pub fn stack(&mut self, snapshot: &Snapshot, images: &mut Images) -> Vec<Frame> {
        let mut addresses = self.unwind(snapshot);
        if addresses.iter().any(|address| self.find(*address).is_none()) && self.reload(images) {
            addresses = self.unwind(snapshot);
        }
        addresses.iter().rev().map(|address| self.frame(*address)).collect()
    }

    /// Addresses of the calls, innermost first.
    fn unwind(&mut self, snapshot: &Snapshot) -> Vec<u64> {
        let Registers { pc, sp, .. } = snapshot.registers;
        let mut read = |address: u64| {
            let at = usize::try_from(address.checked_sub(sp).ok_or(())?).map_err(|_| ())?;
            let bytes = snapshot.stack.get(at..).and_then(|rest| rest.first_chunk::<8>()).ok_or(())?;
            Ok(u64::from_le_bytes(*bytes))
        };
        let registers = unwind_registers(&snapshot.registers);
        let mut frames = self.unwinder.iter_frames(pc, registers, &mut self.cache, &mut read);
        let mut addresses = Vec::new();
        // An error is an end too: what was found until then holds.
        while let Ok(Some(frame)) = frames.next() {
            addresses.push(frame.address_for_lookup());
            if addresses.len() >= MOST_FRAMES {
                break;
            }
        }
        addresses
    }

    fn find(&self, address: u64) -> Option<&Mapped> {
        let after = self.mapped.partition_point(|m| m.mapping.start <= address);
        let mapped = self.mapped.get(after.checked_sub(1)?)?;
        (address < mapped.mapping.end).then_some(mapped)
    }

    /// Reads the mappings again, unless that was done a moment ago. Whether it was done now.
    fn reload(&mut self, images: &mut Images) -> bool {
        if self.read_at.is_some_and(|at| at.elapsed() < MAPS_AGE) {
            return false;
        }
        self.read_at = Some(Instant::now());
        let Ok(maps) = maps::executable(self.pid) else { return false };
        if self.mapped.iter().map(|m| &m.mapping).eq(&maps) {
            return false;
        }
        self.names.clear();
        self.unwinder = Unwinder::new();
        self.mapped = maps.into_iter().map(|mapping| self.map(mapping, images)).collect();
        for mapped in &self.mapped {
            self.unwinder.add_module(module(mapped));
        }
        true
    }

    fn map(&self, mapping: Mapping, images: &mut Images) -> Mapped {
        let image = match (mapping.inode, mapping.path.as_str()) {
            (0, "[vdso]") => self.vdso(&mapping),
            (0, _) => Arc::default(),
            _ => images.of(self.pid, &mapping),
        };
        let stated = image.address_at(mapping.offset).unwrap_or(mapping.offset);
        let bias = mapping.start.wrapping_sub(stated);
        Mapped { mapping, image, bias }
    }

    /// The kernel's page is no file, but looks like one.
    fn vdso(&self, mapping: &Mapping) -> Arc<Image> {
        let length = usize::try_from(mapping.end - mapping.start).unwrap_or(0).min(64 << 10);
        let mut bytes = vec![0; length];
        match memory::read(self.pid, mapping.start, &mut bytes) {
            Ok(read) => Arc::new(Image::of_bytes(bytes.get(..read).unwrap_or_default())),
            Err(_) => Arc::default(),
        }
    }

    fn frame(&mut self, address: u64) -> Frame {
        if let Some(known) = self.names.get(&address) {
            return known.clone();
        }
        let frame = match self.find(address) {
            Some(mapped) => {
                let stated = address.wrapping_sub(mapped.bias);
                let file = &mapped.mapping.path;
                let short = file.rsplit('/').next().unwrap_or_default();
                let name = match mapped.image.function(stated) {
                    Some(name) => String::from_utf8_lossy(name).into_owned(),
                    None if short.is_empty() => "[code made at run time]".to_owned(),
                    // The address is cut to its page. Otherwise one stack would become a thousand different stacks.
                    None => format!("{short}+{:#x}", stated & !0xfff),
                };
                Frame { kind: NATIVE, name, file: file.clone(), line: 0 }
            }
            None => Frame { kind: NATIVE, name: "[unknown code]".to_owned(), file: String::new(), line: 0 },
        };
        if self.names.len() >= MOST_NAMES {
            self.names.clear();
        }
        self.names.insert(address, frame.clone());
        frame
    }
}

fn module(mapped: &Mapped) -> Module<Arc<[u8]>> {
    let (mapping, image) = (&mapped.mapping, &mapped.image);
    let range = |section: &Option<image::Section>| section.as_ref().map(|s| s.range.clone());
    let bytes = |section: &Option<image::Section>| section.as_ref().map(|s| s.bytes.clone());
    let sections = ExplicitModuleSectionInfo {
        base_svma: 0,
        text_svma: image.text.clone(),
        eh_frame_svma: range(&image.eh_frame),
        eh_frame: bytes(&image.eh_frame),
        eh_frame_hdr_svma: range(&image.eh_frame_hdr),
        eh_frame_hdr: bytes(&image.eh_frame_hdr),
        ..Default::default()
    };
    Module::new(mapping.path.clone(), mapping.start..mapping.end, mapped.bias, sections)
}

#[cfg(target_arch = "x86_64")]
fn unwind_registers(registers: &Registers) -> framehop::x86_64::UnwindRegsX86_64 {
    framehop::x86_64::UnwindRegsX86_64::new(registers.pc, registers.sp, registers.fp)
}

#[cfg(target_arch = "aarch64")]
fn unwind_registers(registers: &Registers) -> framehop::aarch64::UnwindRegsAarch64 {
    use framehop::aarch64::{PtrAuthMask, UnwindRegsAarch64};
    // User space has 48 bits of address; what is above is a signature.
    let mask = PtrAuthMask::from_max_known_address((1 << 48) - 1);
    UnwindRegsAarch64::new_with_ptr_auth_mask(mask, registers.lr, registers.sp, registers.fp)
}
