//! Table `process`: who is recorded, by what, how. Facts for the reader; nothing here decides anything.

use std::ffi::CStr;

use serde_json::{Map, Value, json};
use shim_config::rank::{LAUNCHERS, place};
use shim_config::{Capture, Cause, VARIABLES};
use trace_format::tables::{BUDGET, CONFIGURATION, STEPS, budget};

use crate::gate::{Account, GATE};
use crate::load::Loaded;
use crate::session::Session;
use crate::sys;

/// Variables that say how a job was started or how CUDA behaves. Everything else of the environment may be a secret.
const ENVIRONMENT: &[&str] = &[
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_CACHE_DISABLE",
    "CUDA_HOME",
    "CUDA_MPS_PIPE_DIRECTORY",
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_TF32_OVERRIDE",
    "NCCL_DEBUG",
    "NCCL_ALGO",
    "NCCL_PROTO",
    "PYTORCH_CUDA_ALLOC_CONF",
    "OMP_NUM_THREADS",
    "SLURM_JOB_ID",
    "SLURM_NODEID",
];

fn text(bytes: &[u8]) -> Value {
    Value::String(String::from_utf8_lossy(bytes).into_owned())
}

fn file(path: &CStr) -> Option<String> {
    sys::read_file(path).map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned())
}

/// This machine's name.
pub fn host() -> Vec<u8> {
    let mut name = [0u8; 256];
    // SAFETY: the buffer is as long as said, and zeroed, so that it ends in a zero whatever happens.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    CStr::from_bytes_until_nul(&name).map(|n| n.to_bytes().to_vec()).unwrap_or_default()
}

/// The process as JSON. `cause`: why the trace is empty, with details. `steps`: how many steps the program made, recorded or
/// not; known at its end. `account`: what came of the budget; known at the end, too.
pub fn describe(
    loaded: &Loaded,
    session: Option<&Session>,
    cause: Option<(&Cause, &str)>,
    steps: Option<u64>,
    account: Option<&Account>,
) -> Value {
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| {
        if !value.is_null() {
            map.insert(key.to_owned(), value);
        }
    };
    let place = place(&|name| loaded.var(name));
    put("pid", json!(sys::getpid()));
    // SAFETY: these cannot fail.
    let (ppid, uid) = unsafe { (libc::getppid(), libc::getuid()) };
    put("ppid", json!(ppid));
    put("uid", json!(uid));
    put("argv", loaded.cmdline.split(|b| *b == 0).filter(|a| !a.is_empty()).map(text).collect());
    put("exe", text(&loaded.exe));
    put("cwd", json!(std::env::current_dir().ok().map(|p| p.display().to_string())));
    put("host", text(&host()));
    put("boot_id", json!(file(c"/proc/sys/kernel/random/boot_id")));
    put("start_unix_ns", json!(loaded.start_unix_ns));
    put("rank", json!(place.rank));
    put("local_rank", json!(place.local_rank));
    put("world_size", json!(place.world_size));
    put("environment", environment(loaded));
    put("versions", versions(session));
    let settings = &loaded.settings;
    let configuration: Map<String, Value> =
        VARIABLES.iter().map(|v| (v.name.to_owned(), Value::String(v.value_in(settings)))).collect();
    put(CONFIGURATION, Value::Object(configuration));
    if settings.budget.is_some()
        && let Some(session) = session
    {
        put(BUDGET, budget_json(GATE.budget_began_ns(session), account));
    }
    let is_sample = |cycle: bool| cycle || settings.budget.is_some();
    if matches!(&settings.capture, Capture::Nvtx { cycle, .. } if is_sample(cycle.is_some())) {
        // Sums over the recorded steps become estimates of sums over all of them.
        put(STEPS, json!(steps));
    }
    if let Some(session) = session {
        put("cupti_path", json!(session.cupti.path.display().to_string()));
        put("per_thread_buffers", json!(session.per_thread_buffers));
        put("api_calls", json!(session.api_calls()));
        let denied = session.denied.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let denied: Vec<Value> = denied
            .iter()
            .map(|d| {
                let (kind, reason) = (cupti_sys::kind_name(d.kind), cupti_sys::result_name(d.code));
                json!({"kind": d.kind, "name": kind, "code": d.code, "reason": reason})
            })
            .collect();
        if !denied.is_empty() {
            put("denied_kinds", Value::Array(denied));
        }
        let muted = session.muted.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !muted.is_empty() {
            put("muted_calls", muted.iter().map(|name| Value::from(*name)).collect());
        }
    }
    if let Some((cause, detail)) = cause {
        put("cause", json!(cause.code()));
        put("cause_text", json!(cause.to_string()));
        put("cause_remedy", json!(cause.remedy()));
        if let Cause::CuptiError { code, function } = cause {
            put("cause_code", json!(code));
            put("cause_function", json!(function));
        }
        if !detail.is_empty() {
            put("cause_detail", json!(detail));
        }
    }
    Value::Object(map)
}

/// When the budget began to count, and what came of it once that is known.
fn budget_json(began_ns: i64, account: Option<&Account>) -> Value {
    let mut map = Map::new();
    map.insert(budget::BEGAN_NS.to_owned(), json!(began_ns));
    if let Some(account) = account {
        let whole = |ns: f64| json!(ns.round() as u64);
        let spent = &account.spent;
        let spent = [
            (budget::CALLS, spent.calls_ns),
            (budget::WORK, spent.work_ns),
            (budget::THREADS, spent.threads_ns),
            (budget::SWITCHING, spent.switching_ns),
        ];
        let spent: Map<String, Value> = spent.into_iter().map(|(key, ns)| (key.to_owned(), whole(ns))).collect();
        map.insert(budget::ENDED_NS.to_owned(), json!(account.ended_ns));
        map.insert(budget::CALL_NS.to_owned(), whole(account.call_ns));
        map.insert(budget::SPENT_NS.to_owned(), Value::Object(spent));
    }
    Value::Object(map)
}

fn environment(loaded: &Loaded) -> Value {
    let launchers = LAUNCHERS.iter().flat_map(|l| [l.rank, l.local_rank, l.world_size]);
    let names = ENVIRONMENT.iter().copied().chain(launchers);
    let found = names.filter_map(|n| loaded.var(n.as_bytes()).map(|v| (n.to_owned(), text(&v))));
    Value::Object(found.collect())
}

fn versions(session: Option<&Session>) -> Value {
    let mut map = Map::new();
    map.insert("gpuprof".to_owned(), json!(env!("CARGO_PKG_VERSION")));
    if let Some(session) = session {
        map.insert("cupti".to_owned(), json!(session.cupti_version));
        if let Some(driver) = session.driver.version() {
            map.insert("driver_cuda".to_owned(), json!(driver));
        }
    }
    // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Release Build ..."
    if let Some(line) = file(c"/proc/driver/nvidia/version") {
        let is_version = |w: &&str| w.contains('.') && w.chars().all(|c| c.is_ascii_digit() || c == '.');
        if let Some(version) = line.split_whitespace().find(is_version) {
            map.insert("driver".to_owned(), json!(version));
        }
    }
    Value::Object(map)
}
