//! The driver and its GPUs.

use super::World;
use super::child::Failure;
use super::finding::Finding;
use super::probe::{Driver, Gpu};

/// What is left to do on a machine without a GPU.
const ELSEWHERE: &str =
    "record on the machine with the GPU; traces made there can be read here: `gpuprof report FILE`";

/// What to say of the driver: whether it is there, answers, and has GPUs.
pub fn judge(world: &World, driver: &Result<Driver, Failure>) -> Vec<Finding> {
    let driver = match driver {
        Ok(driver) => driver,
        Err(failure) => {
            let text = format!("libcuda.so.1 {failure}");
            let help = "programs will fare no better: reinstall the driver, and see `dmesg` for what it says";
            return vec![Finding::problem("driver", text).help(help)];
        }
    };
    if let Some(why) = &driver.load_error {
        return vec![missing(world, why)];
    }
    let mut findings = vec![version(world, driver)];
    match driver.init {
        Some(0) if driver.gpus.is_empty() => findings.push(no_gpu(world, "the driver counts no GPU")),
        Some(0) => findings.extend(driver.gpus.iter().map(gpu)),
        Some(100) => findings.push(no_gpu(world, "cuInit returned error 100 (no CUDA-capable device)")),
        Some(code) => findings.push(refused(world, driver, code)),
        None => {
            let text = "libcuda.so.1 has no cuInit: it is not NVIDIA's";
            findings.push(Finding::problem("driver", text).help("see which file comes first in LD_LIBRARY_PATH"));
        }
    }
    findings
}

fn missing(world: &World, why: &str) -> Finding {
    // The loader's words name the file anyway; "cannot open shared object file" is all that they add.
    let text = if why.contains("cannot open shared object file") {
        "no NVIDIA driver: libcuda.so.1 is not to be found".to_owned()
    } else {
        format!("libcuda.so.1 cannot be loaded: {why}")
    };
    let mut finding = Finding::problem("driver", text);
    let capabilities = world.text_var("NVIDIA_DRIVER_CAPABILITIES");
    if let Some(capabilities) = capabilities.filter(|c| !c.split(',').any(|c| c == "all" || c == "compute")) {
        finding = finding.help(format!(
            "NVIDIA_DRIVER_CAPABILITIES={capabilities} leaves libcuda out of the container: add `compute`"
        ));
    }
    if world.is_wsl() {
        return finding.help(
            "in WSL the driver comes from Windows: install it there, and keep /usr/lib/wsl/lib on the loader's path",
        );
    }
    if let Some(container) = world.container() {
        let how = match container {
            "Docker" => "docker run --gpus all (with the NVIDIA container toolkit installed on the host)",
            "Podman" => "podman run --device nvidia.com/gpu=all (with the NVIDIA container toolkit on the host)",
            "Apptainer" => "apptainer run --nv",
            "Kubernetes" => "ask for `nvidia.com/gpu` in the pod's resource limits",
            _ => "pass /dev/nvidia* and the driver's libraries in",
        };
        finding =
            finding.help(format!("this is a container ({container}), and it was started without a GPU: {how}"));
    }
    match (world.place("proc/driver/nvidia/version").exists(), world.has_nvidia_hardware()) {
        (true, _) => finding.help(
            "the kernel module is loaded: install the user-mode library of the same version (libcuda1, \
             libnvidia-compute-NNN), or put its folder on the loader's path",
        ),
        (false, Some(true)) => finding.help(
            "a GPU of NVIDIA is plugged in: install its driver, e.g. `apt install nvidia-driver-NNN`, and reboot",
        ),
        (false, _) => finding.help(ELSEWHERE),
    }
}

fn version(world: &World, driver: &Driver) -> Finding {
    let release = release(driver);
    let mut text = match (driver.version, release) {
        (Some(version), Some(release)) => format!("{release}, CUDA {}", cuda(version)),
        (Some(version), None) => format!("CUDA {}", cuda(version)),
        (None, Some(release)) => release.to_owned(),
        (None, None) => "it does not tell its version".to_owned(),
    };
    if let Some(path) = &driver.path {
        text.push_str(&format!(" ({})", path.display()));
    }
    let mut finding = Finding::ok("driver", text);
    if let Some(module) = module_version(world)
        && release.is_some_and(|release| release != module)
    {
        finding = finding.detail(format!("the kernel module is {module}: libcuda is of another version"));
    }
    if driver.version.is_some_and(|version| version < 11_080) {
        finding.level = super::finding::Level::Note;
        finding = finding
            .help("gpuprof knows CUDA 11.8 and later, whose CUPTI may refuse an older driver: update the driver");
    }
    finding
}

/// 12.4 of 12040.
pub fn cuda(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

/// `550.54.15` of `/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15`.
fn release(driver: &Driver) -> Option<&str> {
    let release = driver.path.as_deref()?.file_name()?.to_str()?.strip_prefix("libcuda.so.")?;
    release.contains('.').then_some(release)
}

/// The version of the loaded kernel module.
fn module_version(world: &World) -> Option<String> {
    let text = world.read("proc/driver/nvidia/version")?;
    let first = text.lines().next()?;
    let is_version =
        |word: &&str| word.split('.').count() >= 2 && word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    first.split_whitespace().find(is_version).map(str::to_owned)
}

fn gpu(gpu: &Gpu) -> Finding {
    let (major, minor) = gpu.compute;
    let mut finding = Finding::ok(
        "gpu",
        format!(
            "{}: {}, compute capability {major}.{minor}, {} multiprocessors, {:.1} GiB, {}",
            gpu.ordinal,
            gpu.name,
            gpu.multiprocessors,
            gpu.memory_bytes as f64 / f64::from(1 << 30),
            gpu.uuid
        ),
    );
    if gpu.uuid.starts_with("MIG-") {
        finding =
            finding.detail("a part of a GPU (MIG): tracing works if no other part shares its compute instance");
    }
    finding
}

fn no_gpu(world: &World, text: &str) -> Finding {
    let mut finding = Finding::problem("gpu", text);
    if let Some(visible) = world.text_var("CUDA_VISIBLE_DEVICES") {
        return finding.help(format!(
            "CUDA_VISIBLE_DEVICES={visible} may hide them all: `env -u CUDA_VISIBLE_DEVICES gpuprof doctor` shows \
             what is there"
        ));
    }
    // Set but empty hides every GPU.
    if world.env.contains_key(std::ffi::OsStr::new("CUDA_VISIBLE_DEVICES")) {
        return finding.help("CUDA_VISIBLE_DEVICES is set to nothing, which hides every GPU: unset it");
    }
    if !world.place("dev/nvidia0").exists() && !world.is_wsl() {
        finding = finding.detail("there is no /dev/nvidia0");
        if world.container().is_some() {
            finding = finding.help(
                "start the container with a GPU: docker run --gpus all, podman run --device nvidia.com/gpu=all, \
                 apptainer run --nv",
            );
        }
    }
    if !world.place("proc/driver/nvidia/version").exists() && world.has_nvidia_hardware() != Some(false) {
        finding = finding.help("the kernel module is not loaded: `modprobe nvidia nvidia-uvm`");
    }
    finding.help(ELSEWHERE)
}

/// cuInit failed for another reason than a want of GPUs.
fn refused(world: &World, driver: &Driver, code: i32) -> Finding {
    let (meaning, help) = match code {
        2 => ("out of memory", "something uses up the host's or the GPU's memory: see nvidia-smi"),
        3 => ("not initialized", "the driver is being taken down: try again, else reboot"),
        34 => (
            "this is the stub of a toolkit, not a driver",
            "take the toolkit's `stubs` folder out of LD_LIBRARY_PATH",
        ),
        36 | 803 => (
            "the kernel module and libcuda are of different versions",
            "the driver was updated under a running system: reboot, or unload and load the nvidia modules",
        ),
        46 => {
            ("the GPU is in use exclusively or not available", "see nvidia-smi for its compute mode and processes")
        }
        101 => ("invalid device", "CUDA_VISIBLE_DEVICES names a GPU that is not there"),
        304 => (
            "a system call failed",
            "see that /dev/nvidiactl, /dev/nvidia-uvm and /dev/nvidia0 may be read and written",
        ),
        802 => ("the system is not ready", "start the fabric manager: `systemctl start nvidia-fabricmanager`"),
        804 => (
            "forward compatibility is not offered by this GPU",
            "take /usr/local/cuda/compat out of the loader's path, so that the driver's own libcuda is found",
        ),
        999 => (
            "unknown",
            "often /dev/nvidia-uvm is missing (`nvidia-modprobe -u -c=0`), or the GPU hangs: see `dmesg` for Xid",
        ),
        _ => ("see CUresult in NVIDIA's documentation", "see `dmesg` for what the driver says"),
    };
    let mut finding = Finding::problem("driver", format!("cuInit returned error {code} ({meaning})")).help(help);
    if let (Some(module), Some(release)) = (module_version(world), release(driver))
        && module != release
    {
        finding = finding.detail(format!("kernel module {module}, libcuda {release}"));
    }
    finding
}

/// What `CUDA_VISIBLE_DEVICES` hides. `all` is how many GPUs there are without it.
pub fn visible(world: &World, driver: &Driver, all: Option<usize>) -> Option<Finding> {
    let visible = world.text_var("CUDA_VISIBLE_DEVICES")?;
    let seen = driver.gpus.len();
    if driver.init != Some(0) || seen == 0 {
        return None;
    }
    let of = all.map_or(String::new(), |all| format!(" of {all}"));
    let text = format!("CUDA_VISIBLE_DEVICES={visible}: programs see {seen}{of} GPUs and number them from 0");
    Some(Finding::note("gpu", text))
}

#[cfg(test)]
mod tests;
