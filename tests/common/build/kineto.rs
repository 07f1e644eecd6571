//! The story as PyTorch's profiler writes it.

use super::*;

/// Which Kineto wrote a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KinetoEra {
    /// December 2020: a bare array, capitalised categories, whole microseconds since 1970.
    Bare2020,
    /// 2021: an object with the same events.
    Object2021,
    /// 2022 and 2023: today's categories.
    Plain2022,
    /// Early 2024: absolute times as floats.
    Float2024,
    /// April 2024 on: microseconds with three decimals from `baseTimeNanoseconds` on.
    Base2024,
}

pub const KINETO_ERAS: [KinetoEra; 5] =
    [KinetoEra::Bare2020, KinetoEra::Object2021, KinetoEra::Plain2022, KinetoEra::Float2024, KinetoEra::Base2024];

/// The story as a PyTorch profiler trace.
pub fn kineto(story: &Story, era: KinetoEra) -> Vec<u8> {
    use KinetoEra::*;
    let epoch = if era == Base2024 { 0 } else { story.epoch.unwrap_or(0) };
    // Times are put in as text, because no float holds them.
    let micros = |ns: i64| match era {
        Bare2020 | Object2021 | Plain2022 => format!("{}", ns / 1_000),
        Float2024 => format!("{}.{}", ns / 1_000, ns % 1_000),
        Base2024 => format!("{}.{:03}", ns / 1_000, ns % 1_000),
    };
    let old = matches!(era, Bare2020 | Object2021);
    let category = |newer: &'static str, older: &'static str| if old { older } else { newer };
    let mut events: Vec<String> = Vec::new();
    let mut add = |cat: &str, name: &str, lane: (Value, Value), (start, end): (i64, i64), args: Value| {
        let (pid, tid) = lane;
        let (ts, dur) = (micros(start + epoch), micros(end - start));
        events.push(format!(
            r#"{{"ph": "X", "cat": {}, "name": {}, "pid": {pid}, "tid": {tid}, "ts": {ts}, "dur": {dur}, "args": {args}}}"#,
            json!(cat),
            json!(name)
        ));
    };
    let lane = |device: u32, stream: u32| match era {
        Bare2020 => (json!(device), json!(format!("stream {stream}"))),
        _ => (json!(device), json!(stream)),
    };
    for k in &story.kernels {
        let args = json!({"device": k.device, "context": k.context, "stream": k.stream, "correlation": k.correlation,
            "registers per thread": 32, "shared memory": 0, "grid": k.grid, "block": k.block});
        let name = String::from_utf8_lossy(&k.name.demangled).into_owned();
        add(category("kernel", "Kernel"), &name, lane(k.device, k.stream), (k.start, k.end), args);
    }
    for c in &story.copies {
        let word = |kind: u32| if kind == 1 { "Pageable" } else { "Device" };
        let (src, dst) = c.memories();
        let name = format!("Memcpy {} ({} -> {})", copy_word(c.kind), word(src), word(dst));
        let args = json!({"device": c.device, "context": c.context, "stream": c.stream, "correlation": c.correlation,
            "bytes": c.bytes});
        add(category("gpu_memcpy", "Memcpy"), &name, lane(c.device, c.stream), (c.start, c.end), args);
    }
    for f in &story.fills {
        let args = json!({"device": f.device, "context": f.context, "stream": f.stream, "correlation": f.correlation,
            "bytes": f.bytes});
        add(category("gpu_memset", "Memset"), "Memset (Device)", lane(f.device, f.stream), (f.start, f.end), args);
    }
    for c in &story.calls {
        let (function, cbid, domain) = c.function;
        let name = function.split("_v").next().unwrap_or(function);
        let cat = if domain == 1 { "cuda_driver" } else { category("cuda_runtime", "Runtime") };
        let lane = (json!(story.pid), json!(c.tid));
        add(cat, name, lane, (c.start, c.end), json!({"cbid": cbid, "correlation": c.correlation}));
    }
    for range in story.ranges.iter().filter(|range| !old && range.style == 0) {
        if let Some(end) = range.end {
            let lane = (json!(story.pid), json!(range.tid));
            add("user_annotation", &range.name, lane, (range.start, end), json!({}));
        }
    }
    // What is no GPU work although it stands on the GPU's rows.
    let noise = (1_000_000, 9_000_000);
    add("gpu_user_annotation", "step", (json!(0), json!(7)), noise, json!({}));
    add("Trace", "PyTorch Profiler (0)", (json!("Spans"), json!("PyTorch Profiler")), noise, json!({}));
    for (tid, name) in &story.threads {
        let event = json!({"ph": "M", "name": "thread_name", "pid": story.pid, "tid": tid, "ts": 0, "args": {"name": name}});
        events.push(event.to_string());
    }
    let events = format!("[\n{}\n]", events.join(",\n"));
    if era == Bare2020 {
        return events.into_bytes();
    }
    let devices: Vec<Value> = story
        .devices
        .iter()
        .enumerate()
        .map(|(id, name)| {
            json!({"id": id, "name": name, "totalGlobalMem": 34_000_000_000_i64, "computeMajor": 7, "computeMinor": 0,
                "numSms": 80})
        })
        .collect();
    let mut header = json!({"schemaVersion": 1, "deviceProperties": devices});
    if let Some((rank, world)) = story.rank {
        header["distributedInfo"] = json!({"backend": "nccl", "rank": rank, "world_size": world});
    }
    let header = header.to_string();
    let header = header.strip_suffix('}').expect("an object");
    let mut text = format!("{header}, \"traceEvents\": {events}");
    if era == Base2024 {
        // It may follow the events, and does in real files.
        text.push_str(&format!(
            ", \"displayTimeUnit\": \"ms\", \"baseTimeNanoseconds\": {}",
            story.epoch.unwrap_or(0)
        ));
    }
    text.push_str("\n}\n");
    text.into_bytes()
}
