//! Every row of the table is read, shown and refused as it says.

use super::*;

fn read(variables: &[(&str, &str)]) -> (Settings, Vec<Problem>) {
    from_env(variables.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())))
}

#[test]
fn the_defaults_in_the_table_are_those_of_the_settings() {
    let defaults = Settings::default();
    for variable in VARIABLES {
        let shown = variable.value_in(&defaults);
        assert_eq!(shown, variable.default, "{}", variable.name);
        if !variable.default.is_empty() {
            let mut settings = Settings::default();
            assert_eq!((variable.read)(&mut settings, variable.default.as_bytes()), Ok(()), "{}", variable.name);
            assert_eq!(settings, defaults, "{}", variable.name);
        }
    }
}

#[test]
fn names_and_flags_are_unique_and_documented() {
    let mut names: Vec<&str> = VARIABLES.iter().map(|v| v.name).collect();
    let flags = VARIABLES.iter().filter_map(|v| match v.flag {
        Flag::Value(name, _) | Flag::Switch(name) => Some(name),
        Flag::None => None,
    });
    names.extend(flags);
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(VARIABLES.len() <= 64, "from_env marks those seen in 64 bits");
    for variable in VARIABLES {
        assert!(variable.name.starts_with(PREFIX), "{}", variable.name);
        assert!(!variable.doc.is_empty() && !variable.doc.ends_with('.'), "{}", variable.name);
        assert!(!variable.range.is_empty(), "{}", variable.name);
    }
}

#[test]
fn every_setting_is_read() {
    let written = [
        ("GPUPROF_OUTPUT", "/tmp/%n-%p.gpuprof"),
        ("GPUPROF_CAPTURE", "nvtx:step@model"),
        ("GPUPROF_BUDGET", "2.5%"),
        ("GPUPROF_MAX_RANGES", "3"),
        ("GPUPROF_MEMBERSHIP", "ran-inside"),
        ("GPUPROF_PREPARE", "on"),
        ("GPUPROF_SYNC_AT_RANGE", "on"),
        ("GPUPROF_PRESET", "light"),
        ("GPUPROF_KINDS", "-sync,+uvm"),
        ("GPUPROF_GRAPH", "node"),
        ("GPUPROF_MUTE", "off"),
        ("GPUPROF_API_CALLS", "by-call"),
        ("GPUPROF_SUBSCRIBERS", "multiple"),
        ("GPUPROF_NVTX", "off"),
        ("GPUPROF_LAUNCH_STACKS", "3"),
        ("GPUPROF_PROCESSES", "name:python*"),
        ("GPUPROF_BLOCK_BYTES", "64KiB"),
        ("GPUPROF_MEMORY_BYTES", "128MiB"),
        ("GPUPROF_FLUSH_MS", "100ms"),
        ("GPUPROF_EXIT_DEADLINE_MS", "500ms"),
        ("GPUPROF_SIZE_LIMIT_BYTES", "1GiB"),
        ("GPUPROF_SIZE_POLICY", "ring"),
        ("GPUPROF_RING", "30s,512MiB"),
        ("GPUPROF_DUMP_ON", "slow:step@model:2.5,error"),
        ("GPUPROF_MAX_DUMPS", "3"),
        ("GPUPROF_DUMP_SIGNAL", "USR2"),
        ("GPUPROF_MIN_FREE_PERCENT", "0"),
        ("GPUPROF_DEVICE_BUFFERS", "8"),
        ("GPUPROF_FSYNC", "on"),
        ("GPUPROF_VERBOSE", "3"),
        ("GPUPROF_CUPTI", "/opt/libcupti.so.12"),
        ("GPUPROF_NVTX_CHAIN", "/opt/nvtx.so"),
        ("GPUPROF_RUNTIME_DIR", "/run/jobs"),
        ("GPUPROF_TOGGLE_SIGNAL", "USR1"),
        ("GPUPROF_SEEN", "/tmp/seen.jsonl"),
        ("GPUPROF_SHIM", "/opt/libgpuprof.so"),
        ("GPUPROF_NVML", "/opt/libnvidia-ml.so.1"),
        ("GPUPROF_DISABLE", "1"),
    ];
    assert_eq!(written.len(), VARIABLES.len(), "a setting is missing here");
    // A budget does not go with most of these.
    let rest: Vec<_> = written.into_iter().filter(|(name, _)| *name != "GPUPROF_BUDGET").collect();
    let (mut settings, problems) = read(&rest);
    assert_eq!(problems, []);
    let budget = VARIABLES.iter().find(|v| v.name == "GPUPROF_BUDGET").expect("a budget");
    assert_eq!(budget.put(&mut settings, b"2.5%"), Ok(()));
    for (name, value) in written {
        let variable = VARIABLES.iter().find(|v| v.name == name).expect(name);
        assert_eq!(variable.value_in(&settings), value, "{name}");
    }
    assert_ne!(settings.kinds, Kinds::default());
}

#[test]
fn a_preset_says_what_is_collected_unless_kinds_are_named() {
    let kinds = |written: &[(&str, &str)]| {
        let (settings, problems) = read(written);
        (settings.kinds.to_string(), problems.len())
    };
    let light = Kinds::parse(b"kernel,memcpy,memset,device,context,stream,name").unwrap().to_string();
    assert_eq!(kinds(&[("GPUPROF_PRESET", "light")]), (light.clone(), 0));
    assert_eq!(kinds(&[("GPUPROF_PRESET", "default")]), ("default".to_owned(), 0));
    let full = Kinds::parse(b"all").unwrap().to_string();
    assert_eq!(kinds(&[("GPUPROF_PRESET", "full")]), (full, 0));
    // Whichever comes first in the environment.
    let (preset, named) = (("GPUPROF_PRESET", "light"), ("GPUPROF_KINDS", "+uvm"));
    assert_eq!(kinds(&[preset, named]), ("+uvm".to_owned(), 0));
    assert_eq!(kinds(&[named, preset]), ("+uvm".to_owned(), 0));
    // Kinds that nobody understands are no kinds.
    assert_eq!(kinds(&[preset, ("GPUPROF_KINDS", "zebra")]), (light, 1));
    assert_eq!(kinds(&[("GPUPROF_PRESET", "heavy")]), ("default".to_owned(), 1));
}

#[test]
fn a_bad_value_leaves_the_default_and_is_reported_once() {
    for (name, value, word) in [
        ("GPUPROF_OUTPUT", "%x", "unknown placeholder"),
        ("GPUPROF_CAPTURE", "sometimes", "profiler-api"),
        ("GPUPROF_BUDGET", "99%", "0.1% to 50%"),
        ("GPUPROF_MAX_RANGES", "-1", "whole number"),
        ("GPUPROF_MEMBERSHIP", "x", "launched or ran-inside"),
        ("GPUPROF_PREPARE", "x", "auto, on or off"),
        ("GPUPROF_SYNC_AT_RANGE", "x", "neither on nor off"),
        ("GPUPROF_KINDS", "x", "unknown kind"),
        ("GPUPROF_GRAPH", "x", "node or graph"),
        ("GPUPROF_LAUNCH_STACKS", "65", "0 to 64"),
        ("GPUPROF_PROCESSES", "name:", "name:GLOB"),
        ("GPUPROF_BLOCK_BYTES", "1KiB", "16KiB to 16MiB"),
        ("GPUPROF_MEMORY_BYTES", "1", "1MiB to 16GiB"),
        ("GPUPROF_FLUSH_MS", "9", "10ms to 60000ms"),
        ("GPUPROF_SIZE_LIMIT_BYTES", "1KiB", "or 0 for none"),
        ("GPUPROF_RING", "1MiB", "8MiB to 1024TiB"),
        ("GPUPROF_DUMP_ON", "slow:step", "names no factor"),
        ("GPUPROF_MAX_DUMPS", "0", "1 to 999"),
        ("GPUPROF_DUMP_SIGNAL", "KILL", "USR1"),
        ("GPUPROF_MIN_FREE_PERCENT", "51", "0 to 50"),
        ("GPUPROF_DEVICE_BUFFERS", "0", "1 to 250"),
        ("GPUPROF_VERBOSE", "4", "0 to 3"),
    ] {
        let (settings, problems) = read(&[(name, value)]);
        assert_eq!(settings, Settings::default(), "{name}");
        assert_eq!(problems.len(), 1, "{name}");
        let text = problems[0].to_string();
        assert!(text.starts_with(&format!("{name}={value}: ")) && text.contains(word), "{text}");
        assert!(text.ends_with(" is used") || text.ends_with("it is left out"), "{text}");
    }
}

#[test]
fn unknown_names_are_reported_with_the_nearest_known_one() {
    let (_, problems) = read(&[("GPUPROF_FLUSH", "1"), ("GPUPROF_CAPTRUE", "all"), ("GPUPROF_ZZZ", "")]);
    let texts: Vec<String> = problems.iter().map(Problem::to_string).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].contains("did you mean GPUPROF_FLUSH_MS?"), "{texts:?}");
    assert!(texts[1].contains("did you mean GPUPROF_CAPTURE?"), "{texts:?}");
    let (_, problems) = read(&[("GPUPROF_SKIPS", "x"), ("GPUPROF_TEST_NAME", "x"), ("PATH", "/bin")]);
    assert_eq!(problems, [], "what builds and tests gpuprof is no mistake");
    let (_, problems) = read(&[("GPUPROF_PAGER", "less"), ("GPUPROF_NO_CONFIG", "1")]);
    assert_eq!(problems, [], "what is for the launcher alone is no mistake in a program");
}

#[test]
fn empty_variables_count_as_not_set_and_the_first_of_two_counts() {
    let (settings, problems) =
        read(&[("GPUPROF_FLUSH_MS", ""), ("GPUPROF_FLUSH_MS", "50"), ("GPUPROF_FLUSH_MS", "x")]);
    assert_eq!((settings.flush_ms, problems.len()), (50, 0));
    assert!(!read(&[("GPUPROF_DISABLE", "")]).0.disable);
    assert!(read(&[("GPUPROF_DISABLE", "0")]).0.disable, "any value");
}

#[test]
fn whole_graphs_can_be_asked_for_in_two_ways() {
    for (name, value) in [("GPUPROF_GRAPH", "graph"), ("GPUPROF_KINDS", "+graph")] {
        let (settings, _) = read(&[(name, value)]);
        assert!(settings.kinds.contains(GRAPH_TRACE), "{name}");
        assert_eq!(settings.graph, Graph::Graph, "{name}");
    }
}

#[test]
fn blocks_are_whole_pages() {
    assert_eq!(read(&[("GPUPROF_BLOCK_BYTES", "20000")]).0.block_bytes, 20480);
}

#[test]
fn processes_are_chosen_by_file_name() {
    let (settings, _) = read(&[("GPUPROF_PROCESSES", "name:python*")]);
    assert!(settings.processes.wants(b"python3.12", 1));
    assert!(!settings.processes.wants(b"bash", 1));
    assert!(Processes::All.wants(b"bash", 1));
}

#[test]
fn processes_are_chosen_by_who_started_them() {
    let (settings, problems) = read(&[("GPUPROF_PROCESSES", "children-of:4242")]);
    assert_eq!((settings.processes.clone(), problems.len()), (Processes::ChildrenOf(4242), 0));
    assert!(settings.processes.wants(b"bash", 4242));
    assert!(!settings.processes.wants(b"bash", 1));
    for wrong in ["children-of:", "children-of:0", "children-of:x", "children-of:4294967296"] {
        let (settings, problems) = read(&[("GPUPROF_PROCESSES", wrong)]);
        assert_eq!((settings.processes, problems.len()), (Processes::All, 1), "{wrong}");
    }
}
