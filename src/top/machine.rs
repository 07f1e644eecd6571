//! The numbers for scripts: JSON with every figure, CSV with a figure a line. Base units, said in the names.

use super::view::Process;
use crate::render::schemas;
use crate::render::table::quote_csv;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// One measurement as one JSON object.
pub fn json(processes: &[Process], window_ns: i64, time_unix_ns: i64) -> Value {
    json!({
        "schema": schemas::TOP,
        "time_unix_ns": time_unix_ns,
        "window_ns": window_ns,
        "processes": processes,
    })
}

/// The columns of [`csv()`].
pub const CSV_HEADINGS: &str = "time_unix_ns,pid,rank,host,state,path,device,name,figure,value";

/// One measurement as lines of CSV without headings. A line holds one figure: of a process, or of one of its devices,
/// or of a direction of copies or a kernel (`name`) on a device.
pub fn csv(processes: &[Process], time_unix_ns: i64) -> String {
    let mut out = String::new();
    for process in processes {
        let mut lines = Lines { out: &mut out, prefix: prefix(process, time_unix_ns) };
        lines.process(process);
        for device in &process.devices {
            let place = Some(device.device);
            let own = [
                ("busy_share", json!(device.busy_share)),
                ("busy_ns", json!(device.busy_ns)),
                ("kernels", json!(device.kernels)),
                ("kernel_ns", json!(device.kernel_ns)),
            ];
            lines.all(place, "", &own);
            for copies in &device.copies {
                let own = [
                    ("copy_count", json!(copies.count)),
                    ("copy_bytes", json!(copies.bytes)),
                    ("copy_bytes_per_s", json!(copies.bytes_per_s)),
                    ("copy_total_ns", json!(copies.total_ns)),
                ];
                lines.all(place, &copies.direction, &own);
            }
        }
        for kernel in &process.kernels {
            let own = [
                ("kernel_count", json!(kernel.count)),
                ("kernel_total_ns", json!(kernel.total_ns)),
                ("kernel_mean_ns", json!(kernel.mean_ns)),
                ("kernel_max_ns", json!(kernel.max_ns)),
                ("kernel_window_share", json!(kernel.window_share)),
            ];
            lines.all(Some(kernel.device), &kernel.name, &own);
        }
    }
    out
}

fn prefix(process: &Process, time_unix_ns: i64) -> String {
    let number = |value: Option<u64>| value.map(|v| v.to_string()).unwrap_or_default();
    let host = quote_csv(process.host.as_deref().unwrap_or_default());
    let path = quote_csv(&process.path.to_string_lossy());
    let (pid, rank) = (number(process.pid), number(process.rank));
    format!("{time_unix_ns},{pid},{rank},{host},{},{path}", process.state)
}

struct Lines<'a> {
    out: &'a mut String,
    prefix: String,
}

impl Lines<'_> {
    /// Figures that a process does not have are left out.
    fn all(&mut self, device: Option<u32>, name: &str, figures: &[(&str, Value)]) {
        for (figure, value) in figures.iter().filter(|(_, value)| !value.is_null()) {
            let device = device.map(|device| device.to_string()).unwrap_or_default();
            let _ = writeln!(self.out, "{},{device},{},{figure},{value}", self.prefix, quote_csv(name));
        }
    }

    fn process(&mut self, process: &Process) {
        // The figures of the JSON object, in its order: what is added there is here too.
        let Ok(Value::Object(object)) = serde_json::to_value(process) else { return };
        let is_figure =
            |(key, value): &(&String, &Value)| value.is_number() && !matches!(key.as_str(), "pid" | "rank");
        let figures: Vec<(String, Value)> =
            object.iter().filter(is_figure).map(|(key, value)| (key.clone(), value.clone())).collect();
        let figures: Vec<(&str, Value)> =
            figures.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
        self.all(None, "", &figures);
    }
}
