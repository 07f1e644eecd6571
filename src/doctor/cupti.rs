//! Which libcupti a program would get, and what every other one on this machine is worth.

use super::World;
use super::child::{self, Failure};
use super::driver::cuda;
use super::finding::{Finding, Level};
use super::probe::{Cupti, Driver};
use super::program::Program;
use serde::Serialize;
use shim_config::Cause;
use shim_config::find::{self, Candidate, Facts, FoundLibraries, Why};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A machine with more toolkits than that is better tidied up than probed for minutes.
const MOST_PROBES: usize = 16;

/// `CUPTI_DEVICE_VIRTUALIZATION_MODE_VIRTUAL_GPU`.
const VIRTUAL_GPU: i32 = 2;

/// Another tool in the process holds CUPTI; no other file changes that.
const MULTIPLE_SUBSCRIBERS: i32 = 39;

/// One libcupti and what came of trying it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tried {
    /// The file, or the name that the loader was asked for.
    pub path: PathBuf,
    /// The reason for its place in the order.
    pub why: String,
    /// Its own name.
    pub soname: Option<String>,
    /// What `cuptiGetVersion` says.
    pub version: Option<u32>,
    /// The CUDA toolkit of that version.
    pub toolkit: Option<String>,
    /// Whether it can record on this machine; null if no driver or GPU was there to say.
    pub accepted: Option<bool>,
    /// Why it cannot, or is not to be loaded.
    pub objection: Option<String>,
    /// What to do about it.
    pub help: Option<String>,
    /// Whether gpuprof takes this one.
    pub taken: bool,
    /// Whether it says that one of the GPUs is a virtual one.
    pub on_virtual_gpu: bool,
    /// Whether one of another version may do better.
    #[serde(skip)]
    is_of_wrong_version: bool,
    /// Whether programs that get it crash.
    #[serde(skip)]
    is_fatal: bool,
}

/// Tries every candidate for a process with these facts, each in a process of its own.
pub fn try_all(world: &World, facts: &Facts, driver: Option<&Driver>) -> Vec<Tried> {
    let found = find::search(facts);
    let probed: Vec<(Candidate, Result<Cupti, Failure>)> = found
        .candidates
        .iter()
        .take(MOST_PROBES)
        .map(|candidate| {
            let arguments = [OsStr::new("--probe-cupti"), candidate.path.as_os_str()];
            (candidate.clone(), child::ask(world, &arguments))
        })
        .collect();
    weigh(probed, &found, driver)
}

/// The order with a verdict on each, and which of them the collector would take: as it does, the first that the
/// driver accepts, of each SONAME only the first that loads, and none once another tool turns out to hold the slot.
/// It cannot go by the GPUs: when it has to choose, the driver is not up yet.
fn weigh(
    probed: Vec<(Candidate, Result<Cupti, Failure>)>,
    found: &FoundLibraries,
    driver: Option<&Driver>,
) -> Vec<Tried> {
    let mut all: Vec<Tried> = Vec::new();
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut loaded: Vec<String> = Vec::new();
    let mut is_over = false;
    for (candidate, answer) in probed {
        let is_name_only = candidate.path.components().count() == 1;
        if is_name_only && answer.as_ref().is_ok_and(|cupti| cupti.load_error.as_deref().is_some_and(is_absent)) {
            continue;
        }
        // The loader may well find what was already tried by its path.
        if let Some(real) = answer.as_ref().ok().and_then(|cupti| cupti.path.clone()) {
            if seen.contains(&real) {
                continue;
            }
            seen.push(real);
        }
        let crashes = answer.is_err();
        let loads = answer.as_ref().is_ok_and(|cupti| cupti.load_error.is_none());
        let refusal = answer.as_ref().ok().and_then(|cupti| cupti.refused.clone());
        let mut tried = verdict(&candidate, answer, driver);
        if !is_over && candidate.soname.as_ref().is_some_and(|soname| loaded.contains(soname)) {
            tried.objection.get_or_insert_with(|| "another file of its name is loaded before it".to_owned());
        } else if !is_over && (loads || crashes) {
            loaded.extend(candidate.soname.clone());
            tried.taken = loads && refusal.is_none() && tried.accepted.is_some();
            // Once it has subscribed there is no way back, whatever is refused then.
            let stays =
                |(function, code): (String, i32)| function != "cuptiSubscribe" || code == MULTIPLE_SUBSCRIBERS;
            is_over = tried.taken || tried.is_fatal || refusal.is_some_and(stays);
        }
        all.push(tried);
    }
    for (candidate, skip) in &found.skipped {
        all.push(Tried { objection: Some(skip.to_string()), accepted: Some(false), ..untried(candidate) });
    }
    all
}

fn untried(candidate: &Candidate) -> Tried {
    Tried {
        path: candidate.path.clone(),
        why: candidate.why.to_string(),
        soname: candidate.soname.clone(),
        version: None,
        toolkit: None,
        accepted: None,
        objection: None,
        help: None,
        taken: false,
        on_virtual_gpu: false,
        is_of_wrong_version: false,
        is_fatal: false,
    }
}

fn is_absent(load_error: &str) -> bool {
    load_error.contains("cannot open shared object file: No such file")
}

fn verdict(candidate: &Candidate, answer: Result<Cupti, Failure>, driver: Option<&Driver>) -> Tried {
    let mut tried = untried(candidate);
    let cupti = match answer {
        Ok(cupti) => cupti,
        Err(failure) => {
            let has_driver = driver.is_some();
            // 13.2 overflows its stack in whatever is called first when there is no driver.
            if !has_driver && candidate.soname.as_deref() == Some("libcupti.so.13") {
                tried.objection = Some(format!("{failure}, as 13.2 does wherever there is no driver"));
            } else {
                tried.accepted = Some(false);
                tried.is_fatal = has_driver;
                tried.objection = Some(failure.to_string());
                tried.help =
                    Some("reinstall it, or name another one with GPUPROF_CUPTI=/path/libcupti.so".to_owned());
            }
            return tried;
        }
    };
    if let Some(path) = cupti.path.clone().filter(|_| candidate.path.components().count() == 1) {
        tried.path = path;
    }
    tried.soname = cupti.soname.clone().or(tried.soname);
    tried.version = cupti.version;
    tried.toolkit = cupti.version.and_then(|version| {
        toolkit(version, tried.soname.as_deref().unwrap_or_default(), cupti.has_callback_state)
    });
    if let Some(why) = &cupti.load_error {
        tried.accepted = Some(false);
        tried.objection = Some(why.clone());
        tried.help = Some("it needs libraries that are missing here: reinstall it".to_owned());
        return tried;
    }
    if let Some((function, code)) = &cupti.refused {
        let code = u32::try_from(*code).unwrap_or(999);
        let cause = Cause::CuptiError { code, function: function.clone().into() };
        tried.accepted = Some(false);
        tried.is_of_wrong_version = matches!(code, 2 | 15 | 999);
        tried.objection = Some(cause.to_string());
        tried.help = Some(cause.remedy().to_owned());
        return tried;
    }
    if !cupti.has_driver {
        return tried;
    }
    tried.on_virtual_gpu = cupti.gpus.iter().any(|gpu| gpu.virtualization == Some(VIRTUAL_GPU));
    let unsupported: Vec<String> = cupti
        .gpus
        .iter()
        .filter(|gpu| gpu.compute == Some(false) || gpu.device == Some(false))
        .map(|gpu| named(gpu.ordinal, driver))
        .collect();
    // One GPU that works is worth recording; which of them a program uses is not ours to know.
    tried.accepted = Some(unsupported.is_empty() || unsupported.len() < cupti.gpus.len());
    if !unsupported.is_empty() {
        tried.objection = Some(format!("it does not support {}", unsupported.join(", ")));
        tried.help = Some(
            "records of that GPU would be missing: take the CUPTI of another CUDA, best that of the driver's own \
             version; GPUs before Turing need one of CUDA 12"
                .to_owned(),
        );
    }
    tried
}

fn named(ordinal: i32, driver: Option<&Driver>) -> String {
    let gpu = driver.and_then(|driver| driver.gpus.iter().find(|gpu| gpu.ordinal == ordinal));
    gpu.map_or_else(
        || format!("GPU {ordinal}"),
        |gpu| format!("GPU {ordinal} ({}, compute capability {}.{})", gpu.name, gpu.compute.0, gpu.compute.1),
    )
}

/// The CUDA toolkit of a CUPTI version. 18 stands for three.
fn toolkit(version: u32, soname: &str, has_callback_state: bool) -> Option<String> {
    let text = match version {
        17 => "11.7",
        18 if soname.ends_with(".11.8") => "11.8",
        18 if has_callback_state => "12.1",
        18 => "12.0",
        20 => "12.2",
        21 => "12.3",
        22 => "12.4",
        23 => "12.5",
        24 => "12.6",
        26 => "12.8",
        27 | 28 => "12.9",
        // 130202 is 13.2, update 2.
        130_000.. => return Some(format!("{}.{}", version / 10_000, version / 100 % 100)),
        _ => return None,
    };
    Some(text.to_owned())
}

/// What to say about them.
pub fn judge(tried: &[Tried], program: Option<&Program>, driver: Option<&Driver>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let whose = program.filter(|p| p.is_python()).map(|p| {
        let hint = if p.is_assumed { " (another one: `gpuprof doctor -- PROGRAM`)" } else { "" };
        format!("looked for what {} would get{hint}", Path::new(&p.argv0).display())
    });
    let lines = || tried.iter().map(line);
    let with = |mut finding: Finding| {
        finding.details.extend(whose.clone());
        finding.details.extend(lines());
        finding
    };
    if let Some(fatal) = tried.iter().take_while(|t| !t.taken).find(|t| t.is_fatal) {
        let text = format!("{} would take programs down with it", describe(fatal));
        let help = fatal.help.clone().unwrap_or_default();
        findings.push(with(Finding::problem("cupti", text)).help(help));
    } else if let Some(taken) = tried.iter().find(|t| t.taken) {
        let mut finding = with(Finding::ok("cupti", format!("{}, {}", describe(taken), taken.why)));
        if taken.objection.is_some() {
            finding.level = if taken.accepted == Some(true) { Level::Note } else { Level::Problem };
            // What is known to work here is the better advice.
            let other = tried.iter().find(|t| !t.taken && t.accepted == Some(true) && t.help.is_none());
            finding = match other {
                Some(other) => {
                    finding.help(format!("GPUPROF_CUPTI={} supports all GPUs here", other.path.display()))
                }
                None => finding.help(taken.help.clone().unwrap_or_default()).help(how_to_get(driver)),
            };
        }
        findings.push(finding);
    } else if tried.is_empty() {
        let finding = Finding::problem("cupti", "no libcupti is to be found")
            .help("install the toolkit's cuda-cupti package, or name a file: GPUPROF_CUPTI=/path/libcupti.so.12");
        findings.push(with(finding.help(how_to_get(driver))));
    } else if driver.is_some_and(Driver::works) {
        let mut finding = with(Finding::problem("cupti", "no libcupti here can be used"));
        for help in tried.iter().filter_map(|t| t.help.as_ref()) {
            if !finding.help.contains(help) {
                finding = finding.help(help.clone());
            }
        }
        // Another file is no help against another tool or a want of rights.
        if tried.iter().any(|t| t.is_of_wrong_version) {
            finding = finding.help(how_to_get(driver));
        }
        findings.push(finding);
    } else {
        // Which of them the driver takes cannot be known without one.
        let text = "found, but without a driver and a GPU none can be tried in earnest";
        findings.push(with(Finding::note("cupti", text)));
    }
    let is_asked = |t: &&Tried| t.why == Why::Asked.to_string();
    if let Some(asked) = tried.iter().find(is_asked).filter(|t| !t.taken && t.accepted == Some(false)) {
        let why = asked.objection.as_deref().unwrap_or("it does not work");
        let text = format!("GPUPROF_CUPTI is passed over: {why}");
        findings.push(Finding::note("cupti", text).help("unset it, or name another file"));
    }
    if let (Some(asked), Some(own)) = (
        tried.iter().find(|t| is_asked(t) && t.accepted != Some(false)),
        tried.iter().find(|t| t.why == Why::Torch.to_string()),
    ) && asked.soname == own.soname
    {
        let text = format!(
            "PyTorch will get the libcupti of GPUPROF_CUPTI in place of its own ({}): if that is older, `import torch` \
             fails",
            own.path.display()
        );
        findings.push(Finding::note("cupti", text).help("unset GPUPROF_CUPTI: gpuprof finds PyTorch's own copy"));
    }
    findings
}

/// Where the CUPTI of the driver's own CUDA can be had, which it accepts and which knows its GPUs.
fn how_to_get(driver: Option<&Driver>) -> String {
    let (package, version, folder) = match driver.and_then(|driver| driver.version) {
        Some(12_070) => ("nvidia-cuda-cupti-cu12", "==12.6.*".to_owned(), "cuda_cupti"),
        Some(version) if version >= 13_000 => ("nvidia-cuda-cupti", format!("=={}.*", cuda(version)), "cu13"),
        Some(version) if version >= 12_000 => {
            ("nvidia-cuda-cupti-cu12", format!("=={}.*", cuda(version)), "cuda_cupti")
        }
        Some(_) => ("nvidia-cuda-cupti-cu11", "==11.8.*".to_owned(), "cuda_cupti"),
        None => ("nvidia-cuda-cupti-cu12", String::new(), "cuda_cupti"),
    };
    format!("`pip install --target DIR '{package}{version}'`, then GPUPROF_CUPTI=DIR/nvidia/{folder}/lib")
}

/// `12.4 (/usr/…/libcupti.so.12)`.
fn describe(tried: &Tried) -> String {
    let version = match (&tried.toolkit, tried.version) {
        (Some(toolkit), _) => toolkit.clone(),
        (None, Some(version)) => format!("version {version}"),
        (None, None) => tried.soname.clone().unwrap_or_else(|| "of unknown version".to_owned()),
    };
    format!("{version} ({})", tried.path.display())
}

fn line(tried: &Tried) -> String {
    let state = match (tried.taken, tried.accepted) {
        (true, _) => "taken",
        (false, Some(true)) => "works",
        (false, Some(false)) => "not usable",
        (false, None) => "not tried",
    };
    let mut text = format!("{state:<10} {}: {}", describe(tried), tried.why);
    if let Some(objection) = &tried.objection {
        text.push_str("; ");
        text.push_str(objection);
    }
    text
}

#[cfg(test)]
mod tests;
