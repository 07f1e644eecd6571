//! Who wrote the launcher's trace: the JSON in table `process`.

use crate::os::identity;
use serde_json::{Map, Value, json};
use std::ffi::OsString;
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
        let host = identity::host().and_then(|name| name.into_string().ok());
        for (key, value) in [("host", host), ("boot_id", identity::boot_id())] {
            if let Some(value) = value {
                map.insert(key.to_owned(), value.into());
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
