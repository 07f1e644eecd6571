//! Kernels that are really computed, known by a part of their name, and how long each kernel takes.

use crate::memory;
use crate::module::Function;
use crate::settings;
use std::sync::OnceLock;

/// What a kernel does to memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Known {
    Nothing,
    /// c = a + b
    Add,
    /// y = a x + y
    Axpy,
    /// x = a x
    Scale,
    /// x = a
    Fill,
    /// y = sin x
    Sin,
}

/// How long a kernel takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Duration {
    /// By its size, or `SIM_KERNEL_NS`.
    BySize,
    Fixed(u64),
    /// The first parameter says, in ns.
    Argument,
    /// It never ends.
    Never,
}

pub fn known(name: &str) -> Known {
    let name = name.to_ascii_lowercase();
    let has = |part: &str| name.contains(part);
    if has("vector_add") || has("vec_add") || has("vecadd") || has("vectoradd") {
        Known::Add
    } else if has("axpy") {
        Known::Axpy
    } else if has("scale") {
        Known::Scale
    } else if has("fill") {
        Known::Fill
    } else if has("sin_kernel") {
        Known::Sin
    } else {
        Known::Nothing
    }
}

/// `…_us250…` takes 250 µs, `spin…` what its first argument says, `hang…` for ever.
pub fn duration(name: &str) -> Duration {
    if let Some((_, rest)) = name.split_once("_us") {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        if let Ok(us) = digits.parse::<u64>() {
            return Duration::Fixed(us * 1000);
        }
    }
    if name.contains("hang") {
        Duration::Never
    } else if name.contains("spin") {
        Duration::Argument
    } else {
        Duration::BySize
    }
}

/// How long a launch takes.
pub fn duration_ns(function: &Function, grid: [u32; 3], block: [u32; 3], params: &[u64]) -> u64 {
    static FIXED: OnceLock<u64> = OnceLock::new();
    match function.duration {
        Duration::Fixed(ns) => ns,
        Duration::Never => u64::MAX,
        Duration::Argument => params.first().copied().unwrap_or(1000),
        Duration::BySize => {
            let fixed = *FIXED.get_or_init(|| settings::number(c"SIM_KERNEL_NS", 0));
            if fixed > 0 {
                return fixed;
            }
            let product = |sides: [u32; 3]| sides.iter().map(|&n| u64::from(n)).product::<u64>();
            1200 + product(grid).saturating_mul(product(block)) / 256
        }
    }
}

/// The values of a launch's parameters, each as the low bytes of a number.
///
/// # Safety
/// `params` points to as many pointers as the function has parameters.
pub unsafe fn read_params(function: &Function, params: *const *const u8) -> Vec<u64> {
    if params.is_null() {
        return Vec::new();
    }
    let mut values = Vec::with_capacity(function.params.len());
    for (i, param) in function.params.iter().enumerate() {
        let from = *params.add(i);
        let mut bytes = [0u8; 8];
        if !from.is_null() {
            std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), param.bytes.min(8));
        }
        values.push(u64::from_le_bytes(bytes));
    }
    values
}

/// `n` floats at an address of device memory; nothing if it is none.
fn floats(address: u64, n: usize) -> Option<&'static mut [f32]> {
    let (start, block) = memory::find(address as usize)?;
    let room = (start + block.bytes - address as usize) / 4;
    // SAFETY: inside a block that is allocated; the program vouches that nobody else uses it meanwhile, as for a real
    // kernel.
    (n <= room).then(|| unsafe { std::slice::from_raw_parts_mut(address as *mut f32, n) })
}

/// Computes what the kernel computes.
pub fn run(function: &Function, grid: [u32; 3], block: [u32; 3], params: &[u64]) {
    if function.compute == Known::Nothing {
        return;
    }
    let (mut pointers, mut scalars, mut count) = (Vec::new(), Vec::new(), None);
    for (param, &value) in function.params.iter().zip(params) {
        if param.float {
            scalars.push(f32::from_bits(value as u32));
        } else if param.bytes == 8 && memory::find(value as usize).is_some() {
            pointers.push(value);
        } else {
            count = Some(value as usize);
        }
    }
    let threads = grid.iter().chain(&block).map(|&n| n as usize).product::<usize>();
    let n = count.unwrap_or(threads).min(threads);
    let at = |i: usize| pointers.get(i).and_then(|&address| floats(address, n));
    let factor = scalars.first().copied().unwrap_or(2.0);
    match (function.compute, at(0), at(1), at(2)) {
        (Known::Add, Some(a), Some(b), Some(c)) => {
            for ((c, a), b) in c.iter_mut().zip(a.iter()).zip(b.iter()) {
                *c = *a + *b;
            }
        }
        (Known::Axpy, Some(x), Some(y), None) => {
            for (y, x) in y.iter_mut().zip(x.iter()) {
                *y += factor * *x;
            }
        }
        (Known::Axpy, Some(x), Some(y), Some(out)) => {
            for ((out, x), y) in out.iter_mut().zip(x.iter()).zip(y.iter()) {
                *out = factor * *x + *y;
            }
        }
        (Known::Scale, Some(x), None, _) => x.iter_mut().for_each(|x| *x *= factor),
        (Known::Scale, Some(a), Some(b), _) => {
            // Out of place; which is the input differs between programs: `out, in` as in cudarc's examples.
            for (a, b) in a.iter_mut().zip(b.iter()) {
                *a = factor * *b;
            }
        }
        (Known::Fill, Some(x), ..) => x.fill(factor),
        (Known::Sin, Some(out), Some(x), _) => {
            for (out, x) in out.iter_mut().zip(x.iter()) {
                *out = x.sin();
            }
        }
        _ => {}
    }
}
