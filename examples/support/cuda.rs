//! What the CUDA examples share: PTX kernels through cudarc's driver layer, and a clear answer where there is no driver.
//!
//! cudarc is used without NVRTC, so a module comes from PTX text that the driver compiles; no CUDA toolkit is needed.

#![allow(dead_code, reason = "every example takes what it needs")]
#![allow(unsafe_code, reason = "launching a kernel is unsafe by its nature")]

pub mod nvtx;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, result, sys};
use std::error::Error;
use std::ffi::{CString, c_void};
use std::process::ExitCode;
use std::sync::Arc;

/// What the examples' bodies return.
pub type Answer = Result<(), Box<dyn Error>>;

/// Exit status that means "nothing to run on", as test harnesses know it.
pub const SKIPPED: u8 = 77;

/// Runs `body` on the first GPU, or says why it cannot.
pub fn on_first_gpu(body: fn(&Arc<CudaContext>) -> Answer) -> ExitCode {
    // cudarc panics when the library is missing, so we look first.
    // SAFETY: loads the library and closes it again; its constructors are the driver's own.
    if !unsafe { sys::is_culib_present() } {
        eprintln!("no CUDA driver here: libcuda.so.1 was not found, so there is nothing to profile");
        return ExitCode::from(SKIPPED);
    }
    let context = match CudaContext::new(0) {
        Ok(context) => context,
        Err(error) => {
            eprintln!("the CUDA driver is here, but no GPU that it can use: {error}");
            return ExitCode::from(SKIPPED);
        }
    };
    match body(&context) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("failed: {error}");
            ExitCode::FAILURE
        }
    }
}

/// One argument of a kernel.
#[derive(Clone, Copy)]
pub enum Arg {
    /// An address in the GPU's memory.
    Address(u64),
    /// A float.
    F32(f32),
    /// A count.
    U32(u32),
}

impl Arg {
    /// The value in the low bytes, where a pointer to the whole finds it.
    fn bits(self) -> u64 {
        match self {
            Arg::Address(address) => address,
            Arg::F32(value) => u64::from(value.to_bits()),
            Arg::U32(value) => u64::from(value),
        }
    }
}

/// A kernel out of PTX text.
pub struct Kernel {
    module: sys::CUmodule,
    function: sys::CUfunction,
    context: Arc<CudaContext>,
}

impl Kernel {
    /// Lets the driver compile `ptx` and finds `name` in it.
    pub fn load(context: &Arc<CudaContext>, ptx: &str, name: &str) -> Result<Self, Box<dyn Error>> {
        context.bind_to_thread()?;
        let (text, name) = (CString::new(ptx)?, CString::new(name)?);
        // SAFETY: the text ends with a zero, and the function's module lives as long as `self`.
        unsafe {
            let module = result::module::load_data(text.as_ptr().cast())?;
            let function = result::module::get_function(module, name)?;
            Ok(Self { module, function, context: Arc::clone(context) })
        }
    }

    /// Launches `threads` threads in blocks of 256 on `stream`.
    ///
    /// # Safety
    /// `args` are what the kernel expects, and the memory they point to outlives its run.
    pub unsafe fn launch(&self, stream: &CudaStream, threads: u32, args: &[Arg]) -> Result<(), Box<dyn Error>> {
        self.context.bind_to_thread()?;
        let mut values: Vec<u64> = args.iter().map(|arg| arg.bits()).collect();
        let mut pointers: Vec<*mut c_void> =
            values.iter_mut().map(|value| std::ptr::from_mut(value).cast()).collect();
        let (grid, block) = ((threads.div_ceil(256), 1, 1), (256, 1, 1));
        // SAFETY: the driver copies the arguments before it returns; the caller vouches for what they mean.
        unsafe { result::launch_kernel(self.function, grid, block, 0, stream.cu_stream(), &mut pointers)? };
        Ok(())
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        // A kernel of it may still run.
        let _ = self.context.synchronize();
        // SAFETY: nobody else holds the module.
        let _ = unsafe { result::module::unload(self.module) };
    }
}

/// Where `slice` lies in the GPU's memory, as an argument.
pub fn address<T>(slice: &CudaSlice<T>, stream: &CudaStream) -> Arg {
    Arg::Address(slice.device_ptr(stream).0)
}

/// `axpy`: y = a x + y, and `scale`: x = a x; both with a bound `n`.
pub const PTX: &str = r"
.version 6.4
.target sm_52
.address_size 64

.visible .entry axpy(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .f32 %f<4>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<8>;
    ld.param.f32 %f1, [a];
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd3, %rd1;
    cvta.to.global.u64 %rd4, %rd2;
    mul.wide.u32 %rd5, %r5, 4;
    add.s64 %rd6, %rd3, %rd5;
    add.s64 %rd7, %rd4, %rd5;
    ld.global.f32 %f2, [%rd6];
    ld.global.f32 %f3, [%rd7];
    fma.rn.f32 %f3, %f1, %f2, %f3;
    st.global.f32 [%rd7], %f3;
DONE:
    ret;
}

.visible .entry scale(.param .f32 a, .param .u64 x, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .f32 %f<3>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<5>;
    ld.param.f32 %f1, [a];
    ld.param.u64 %rd1, [x];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r5, 4;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.f32 %f2, [%rd4];
    mul.f32 %f2, %f1, %f2;
    st.global.f32 [%rd4], %f2;
DONE:
    ret;
}
";
