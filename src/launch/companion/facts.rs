//! Who wrote the launcher's trace: the JSON in table `process`.

use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::fs;
use std::time::Duration;
use trace_format::tables::{ROLE, ROLE_LAUNCHER};

/// What the launcher says about itself.
pub struct Facts<'a> {
    /// The program and its arguments.
    pub command: &'a [OsString],
    /// Names and periods of the samplers.
    pub samplers: Vec<(&'static str, Duration)>,
    /// When the trace was begun.
    pub start_unix_ns: i64,
}

impl Facts<'_> {
    /// The facts in the form in which they are written to the file.
    pub fn to_json(&self) -> Value {
        let mut map = Map::new();
        map.insert(ROLE.to_owned(), json!(ROLE_LAUNCHER));
        map.insert("pid".to_owned(), json!(std::process::id()));
        map.insert("ppid".to_owned(), json!(std::os::unix::process::parent_id()));
        let argv = self.command.iter().map(|word| Value::from(word.to_string_lossy()));
        map.insert("launched".to_owned(), argv.collect());
        for (key, path) in [("host", "/proc/sys/kernel/hostname"), ("boot_id", "/proc/sys/kernel/random/boot_id")] {
            if let Ok(text) = fs::read_to_string(path) {
                map.insert(key.to_owned(), json!(text.trim()));
            }
        }
        map.insert("start_unix_ns".to_owned(), json!(self.start_unix_ns));
        map.insert("versions".to_owned(), json!({"gpuprof": env!("CARGO_PKG_VERSION")}));
        let samplers = self.samplers.iter().map(|(name, period)| {
            json!({"name": name, "period_ns": u64::try_from(period.as_nanos()).unwrap_or(u64::MAX)})
        });
        map.insert("samplers".to_owned(), samplers.collect());
        Value::Object(map)
    }
}
