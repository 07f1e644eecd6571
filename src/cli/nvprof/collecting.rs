//! What the collector is told.

use super::request::Request;
use super::samplers;
use shim_config::variables::Flag;
use std::ffi::OsString;

/// `--profile-api-trace`.
pub fn api_trace(request: &mut Request, value: &str) {
    request.kinds.runtime = matches!(value, "runtime" | "all");
    request.kinds.driver = matches!(value, "driver" | "all");
}

/// `--trace`.
pub fn trace(request: &mut Request, value: &str) {
    let has = |what: &str| value.split(',').any(|word| word == what);
    request.kinds.gpu = has("gpu");
    (request.kinds.runtime, request.kinds.driver) = (has("api"), has("api"));
}

/// The collector's settings for a request, by their variables. `launcher`: only what that process starts is recorded.
pub fn variables(request: &Request, launcher: Option<u32>) -> Vec<(&'static str, OsString)> {
    let mut kinds = Vec::new();
    let mut add = |on: bool, word: &str| {
        if on {
            kinds.push(word.to_owned());
        }
    };
    add(!request.kinds.gpu, "-kernel");
    add(!request.kinds.gpu, "-memcpy");
    add(!request.kinds.gpu, "-memset");
    add(!request.kinds.runtime, "-runtime");
    add(!request.kinds.driver, "-driver");
    add(request.unified_memory && request.kinds.gpu, "+uvm");
    add(request.memory, "+memory");
    add(request.latency && request.kinds.gpu, "+latency");
    add(request.openacc, "+openacc");
    add(request.openmp, "+openmp");
    add(samplers::by_cupti(request), "+environment");
    // Which stream waited for which event.
    add(request.dependencies, "+event");
    // nvprof lists every call, and says itself what there is to say.
    let mut variables: Vec<(&'static str, OsString)> =
        vec![("GPUPROF_MUTE", "off".into()), ("GPUPROF_VERBOSE", "0".into())];
    variables.retain(|(name, _)| std::env::var_os(name).is_none());
    if !request.from_start {
        variables.push(("GPUPROF_CAPTURE", "profiler-api".into()));
    }
    if !kinds.is_empty() {
        variables.push(("GPUPROF_KINDS", kinds.join(",").into()));
    }
    if let Some(launcher) = launcher.filter(|_| !request.children) {
        variables.push(("GPUPROF_PROCESSES", format!("children-of:{launcher}").into()));
    }
    if request.timeout_s.is_some() {
        // What is not written when the application is stopped is lost.
        variables.push(("GPUPROF_FLUSH_MS", "100ms".into()));
    }
    variables
}

/// The same as flags of `gpuprof record`.
pub fn flags(request: &Request, launcher: Option<u32>) -> Vec<OsString> {
    let mut flags = Vec::new();
    for (name, value) in variables(request, launcher) {
        let known = shim_config::VARIABLES.iter().find(|variable| variable.name == name);
        if let Some(Flag::Value(flag, _)) = known.map(|variable| variable.flag) {
            // In one word: a value may begin with a sign.
            let mut word = OsString::from(format!("--{flag}="));
            word.push(value);
            flags.push(word);
        }
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::*;

    fn value(line: &str, name: &str) -> Option<String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let request = parse(&words).unwrap_or_else(|e| panic!("{line}: {e}"));
        let variables = variables(&request, Some(42));
        variables.into_iter().find(|(n, _)| *n == name).map(|(_, value)| value.to_string_lossy().into_owned())
    }

    #[test]
    fn options_become_settings() {
        let kinds = |line: &str| value(line, "GPUPROF_KINDS");
        assert_eq!(kinds("app").as_deref(), Some("+uvm"));
        assert_eq!(kinds("--unified-memory-profiling off app"), None);
        assert_eq!(kinds("--profile-api-trace none app").as_deref(), Some("-runtime,-driver,+uvm"));
        assert_eq!(kinds("--profile-api-trace runtime app").as_deref(), Some("-driver,+uvm"));
        assert_eq!(kinds("--trace api app").as_deref(), Some("-kernel,-memcpy,-memset"));
        assert_eq!(kinds("--trace gpu,api --openacc-profiling on app").as_deref(), Some("+uvm,+openacc"));
        assert_eq!(kinds("--track-memory-allocations on app").as_deref(), Some("+uvm,+memory"));
        assert_eq!(kinds("--kernel-latency-timestamps on app").as_deref(), Some("+uvm,+latency"));
        assert_eq!(kinds("--kernel-latency-timestamps off app").as_deref(), Some("+uvm"));
        assert_eq!(
            kinds("--kernel-latency-timestamps on --trace api app").as_deref(),
            Some("-kernel,-memcpy,-memset")
        );
        assert_eq!(value("--profile-from-start off app", "GPUPROF_CAPTURE").as_deref(), Some("profiler-api"));
        assert_eq!(value("app", "GPUPROF_PROCESSES").as_deref(), Some("children-of:42"));
        assert_eq!(value("--profile-child-processes app", "GPUPROF_PROCESSES"), None);
        assert_eq!(value("--timeout 3 app", "GPUPROF_FLUSH_MS").as_deref(), Some("100ms"));
    }

    #[test]
    fn the_collector_takes_them() {
        for line in ["app", "--trace api --openmp-profiling on --dependency-analysis app", "-t 1 app"] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            for (name, value) in variables(&parse(&words).unwrap(), Some(42)) {
                let variable = shim_config::VARIABLES.iter().find(|v| v.name == name).unwrap();
                assert_eq!(variable.check(value.as_encoded_bytes()), Ok(()), "{name}={value:?}");
            }
        }
    }
}
