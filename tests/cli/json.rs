//! Every answer in JSON says in which form it is, and which records the trace does not have.

use crate::common::build::{Story, labelled, native};
use crate::common::{TempFolder, command, gpuprof};
use gpuprof::render::schemas::SCHEMAS;
use serde_json::Value;
use std::path::Path;

fn json(args: &[&str]) -> Value {
    let output = command(args).output().expect("gpuprof runs");
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{args:?}: {e}: {}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn every_answer_has_the_schema_that_the_documentation_lists() {
    let folder = TempFolder::new("cli-json-schemas");
    let trace = folder.argument("run.gpuprof", &native(&Story::sample(200)));
    let baselines = folder.path().join("baselines").to_str().expect("a path").to_owned();
    gpuprof(&["baseline", "save", "main", "--baselines", &baselines, &trace]);
    let documented =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/json.md")).expect("docs/json.md");
    for schema in SCHEMAS {
        let row = format!("| `{}` | `{}` | {} |", schema.name, schema.command, schema.keys);
        assert!(documented.contains(&row), "docs/json.md has no row {row}");
        let mut args: Vec<&str> = schema.command.split(' ').skip(1).collect();
        match args[0] {
            // It compares two.
            "diff" => args.extend([trace.as_str(), trace.as_str()]),
            "query" => args.extend([trace.as_str(), "SELECT count(*) AS n FROM kernel"]),
            "top" => args.extend(["--once", trace.as_str()]),
            "doctor" | "ctl" | "config" => {}
            "baseline" => args.extend(["--baselines", &baselines]),
            _ => args.push(&trace),
        }
        let answer = json(&args);
        assert_eq!(answer["schema"], schema.name, "{args:?}");
        let first = answer.as_object().expect("an object").keys().next().expect("a key");
        assert_eq!(first, "schema", "{args:?}");
        let keys: Vec<&str> = schema.keys.split('`').skip(1).step_by(2).collect();
        for key in keys {
            assert!(answer.get(key).is_some(), "{args:?} has no {key}: {answer}");
        }
    }
    let rows = documented.lines().filter(|line| line.starts_with("| `gpuprof/")).count();
    assert_eq!(rows, SCHEMAS.len());
}

#[test]
fn records_that_a_trace_does_not_have_are_named_with_the_views_that_read_them() {
    let folder = TempFolder::new("cli-json-absent");
    let all = Story::sample(200).with_ranges();
    let without = Story { calls: Vec::new(), ranges: Vec::new(), ..all.clone() };
    let [all, without] = [("all", &all), ("without", &without)]
        .map(|(name, story)| folder.argument(&format!("{name}.gpuprof"), &native(story)));
    let views =
        ["--view", "nvtx_sum", "--view", "cuda_api_sum", "--view", "cuda_kern_exec_sum", "--format", "json"];
    let absent = |trace: &str, table: &str| {
        let answer = json(&[&["report", trace], &views[..]].concat());
        let found = answer["absent"].as_array().expect("a list").iter().find(|entry| entry["table"] == table);
        found.map(|entry| entry["views"].clone())
    };
    for table in ["api", "range", "kernel"] {
        assert_eq!(absent(&all, table), None, "{table}");
    }
    assert_eq!(absent(&without, "kernel"), None);
    assert_eq!(absent(&without, "range"), Some(serde_json::json!(["nvtx_sum"])));
    let readers = absent(&without, "api").expect("calls are missing");
    let readers = readers.as_array().expect("views");
    assert!(
        readers.contains(&"cuda_api_sum".into()) && readers.contains(&"cuda_kern_exec_sum".into()),
        "{readers:?}"
    );

    let summary = json(&["report", &without, "--format", "json"]);
    let found: Vec<&Value> = summary["absent"].as_array().expect("a list").iter().collect();
    assert!(
        found.iter().any(|entry| entry["table"] == "api" && entry["views"] == serde_json::json!(["api_summary"]))
    );
    assert!(!found.iter().any(|entry| entry["table"] == "kernel"), "{found:?}");
}

#[test]
fn the_findings_about_a_trace_are_short_enough_to_be_read_at_once() {
    let folder = TempFolder::new("cli-json-short");
    let mut most = 0;
    for (number, case) in labelled().into_iter().enumerate().filter(|(_, case)| case.planted.len() > 1) {
        let trace = folder.argument(&format!("{number}.gpuprof"), &case.player.native());
        let answer = json(&["report", &trace, "--view", "insights", "--format", "json"]);
        most = most.max(answer.to_string().len());
    }
    // 4 KB; and not nothing.
    assert!((500..=4096).contains(&most), "{most} bytes");
}
