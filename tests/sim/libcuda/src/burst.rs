//! Launches as fast as they can be made, for benchmarks: `sim_cuda_burst`. Each launch is a runtime call, a driver call
//! and a kernel, with invented times, told to the tools as if it had been made, without callbacks' cost on clocks.

use crate::abi::{ApiCall, DRIVER, RUNTIME, Work, work};
use crate::stream::Stream;
use crate::{call, clock, context, settings, tool};
use std::ffi::c_void;

/// Names of the burst's kernels.
const NAMES: [&std::ffi::CStr; 8] = [
    c"_Z9burst_addPKfS0_Pfi",
    c"_Z10burst_gemmILi128ELi64EEvPKfS1_Pfiii",
    c"_Z13burst_softmaxPfi",
    c"_Z15burst_layernormPKfS0_S0_Pfi",
    c"_Z10burst_geluPfi",
    c"_Z15burst_transposePKfPfii",
    c"_Z12burst_reducePKfPfi",
    c"_Z11burst_adamwPfS_S_PKffi",
];

/// `launches` launches from each of `threads` threads, together at `per_second` (0: unpaced). Returns the nanoseconds
/// it took.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sim_cuda_burst(launches: u64, threads: u32, per_second: u64) -> u64 {
    let (handle, _) = context::current_handle();
    let begin = clock::monotonic_ns();
    let per_thread = per_second / u64::from(threads.max(1));
    let handle = handle as usize;
    let workers: Vec<_> = (1..threads)
        .map(|i| {
            std::thread::spawn(move || {
                context::set_current(handle as *mut c_void);
                one(launches, i, per_thread);
            })
        })
        .collect();
    one(launches, 0, per_thread);
    for worker in workers {
        let _ = worker.join();
    }
    clock::monotonic_ns() - begin
}

/// Launches made between two looks at the clock.
const BATCH: u64 = 64;

fn one(launches: u64, thread: u32, per_second: u64) {
    let Some(context) = context::current() else { return };
    let stream: &Stream = &context.null_stream;
    let name = |domain| if domain == RUNTIME { c"cudaLaunchKernel" } else { c"cuLaunchKernel" };
    let api = |domain, cbid| ApiCall {
        domain,
        cbid,
        name: name(domain).as_ptr(),
        correlation: 0,
        result: 0,
        start_ns: 0,
        end_ns: 0,
        symbol: std::ptr::null(),
        context: std::ptr::null_mut(),
        context_uid: context.uid,
        entered: 2,
        correlation_data: 0,
        outer: std::ptr::null_mut(),
    };
    let (mut runtime, mut driver) = (api(RUNTIME, 211), api(DRIVER, 307));
    let mut kernel = Work::new(work::KERNEL);
    (kernel.device, kernel.context) = (context.device, context.uid);
    kernel.stream = stream.uid + thread;
    let begin = clock::monotonic_ns();
    let mut done = 0;
    while done < launches {
        let n = BATCH.min(launches - done);
        let mut now = clock::now();
        // Behind the clock, so that nothing is unfinished.
        now -= 400 * BATCH + 20_000;
        let first = call::take_correlations(n as u32);
        for i in 0..n {
            let serial = done + i;
            let correlation = first.wrapping_add(i as u32);
            let jitter = serial.wrapping_mul(0x9e37_79b9) >> 7 & 127;
            (runtime.correlation, driver.correlation, kernel.correlation) = (correlation, correlation, correlation);
            runtime.start_ns = now + i * 400;
            driver.start_ns = runtime.start_ns + 90;
            driver.end_ns = driver.start_ns + 150 + jitter;
            runtime.end_ns = driver.end_ns + 60;
            kernel.start_ns = runtime.end_ns + 2000;
            kernel.end_ns = kernel.start_ns + 900 + 8 * jitter;
            let which = (serial.wrapping_mul(2_654_435_761) >> 16) as usize % NAMES.len();
            kernel.name = NAMES.get(which).map_or(std::ptr::null(), |name| name.as_ptr());
            kernel.name_key = u64::MAX - which as u64;
            kernel.grid = [16 + which as u32, 1, 1];
            kernel.block = [256, 1, 1];
            kernel.registers = 32 + which as u32;
            tool::work(&kernel);
            tool::api_exit(&mut driver);
            tool::api_exit(&mut runtime);
        }
        done += n;
        settings::add(settings::word::LAUNCHED, n);
        if per_second > 0 {
            let due = begin + (done as u128 * 1_000_000_000 / u128::from(per_second)) as u64;
            let now = clock::monotonic_ns();
            if due > now + 200_000 {
                std::thread::sleep(std::time::Duration::from_nanos(due - now));
            }
        }
    }
}
