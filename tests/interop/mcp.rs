//! Other people's clients of the Model Context Protocol talk to `gpuprof mcp`: the one of the protocol's SDK for Python, and the
//! protocol's inspector from npm.

use crate::common::TempFolder;
use crate::common::build::{Story, native};
use crate::common::tools::{node_package, python};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const TOOLS: [&str; 7] = ["open", "insights", "view", "query", "diff", "ranks", "picture"];

fn trace(folder: &TempFolder) -> Story {
    let story = Story::sample(500).with_ranges();
    folder.file("run.gpuprof", &native(&story));
    story
}

#[test]
fn the_client_of_the_sdk_asks_everything_and_understands_the_answers() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop");
    let test = "mcp::the_client_of_the_sdk_asks_everything_and_understands_the_answers";
    let Some(python) = python(test, "mcp", &here.join("mcp-requirements.txt")) else { return };
    let folder = TempFolder::new("interop-mcp");
    let story = trace(&folder);
    let output = Command::new(python)
        .arg(here.join("mcp_client.py"))
        .arg(env!("CARGO_BIN_EXE_gpuprof"))
        .arg(folder.path())
        .output()
        .expect("Python");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&seen["name"], &seen["tools"]), (&"gpuprof".into(), &serde_json::json!(TOOLS)));
    let total_ns: i64 = story.kernels.iter().map(|kernel| kernel.end - kernel.start).sum();
    assert_eq!(seen["query"]["rows"], serde_json::json!([{ "n": story.kernels.len(), "ns": total_ns }]));
    let schemas = ["open", "insights", "view", "query", "diff", "ranks"].map(|tool| seen[tool]["schema"].as_str());
    let expected = ["info", "insights", "report", "query", "diff", "ranks"].map(|name| format!("gpuprof/{name}/1"));
    assert_eq!(schemas, expected.each_ref().map(|name| Some(name.as_str())));
    assert_eq!((&seen["diff"]["verdict"], &seen["picture"]), (&"no difference".into(), &"image/png".into()));
    assert!(seen["refused"].as_str().expect("a text").contains("outside of the folders"), "{seen}");
}

#[test]
fn the_inspector_of_the_protocol_lists_and_calls_the_tools() {
    let test = "mcp::the_inspector_of_the_protocol_lists_and_calls_the_tools";
    let Some(inspector) = node_package(test, "@modelcontextprotocol/inspector", "2.12.0") else { return };
    let folder = TempFolder::new("interop-mcp-inspector");
    trace(&folder);
    let ask = |arguments: &[&str]| -> Value {
        let output = Command::new("node")
            .arg(&inspector)
            .args(["--cli", env!("CARGO_BIN_EXE_gpuprof"), "mcp"])
            .arg(folder.path())
            .args(arguments)
            .output()
            .expect("node");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{arguments:?}: {e}"))
    };
    let listed = ask(&["--method", "tools/list"]);
    let names: Vec<&str> =
        listed["tools"].as_array().expect("a list").iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, TOOLS);
    let arguments = ["--method", "tools/call", "--tool-name", "open", "--tool-arg", "path=run.gpuprof"];
    let text = ask(&arguments)["content"][0]["text"].take();
    assert!(text.as_str().expect("a text").contains("gpuprof/info/1"), "{text}");
}
