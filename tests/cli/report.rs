//! Every option of `gpuprof report`, through the real program.

mod budget;
mod choosing;
mod folding;
mod follow;
mod insights;
mod manners;
mod output;
mod partial;
mod paths;
mod sections;
mod steps;
mod summaries;

use crate::common::build::*;
use crate::common::{
    self, Answer, DEADLINE, TempFolder, answer, command, gpuprof, gpuprof_in, gpuprof_with, refused,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::time::Instant;

/// Count and total by name, of GPU activities and of API calls.
type Totals = [BTreeMap<String, (u64, u128)>; 2];

fn json(args: &[&str]) -> Value {
    let answer = gpuprof(&[&["report", "--format", "json"], args].concat());
    serde_json::from_str(&answer.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}: {}", answer.stdout))
}

/// The rows of the table called `name`.
fn rows<'d>(document: &'d Value, name: &str) -> &'d [Value] {
    let tables = document["tables"].as_array().expect("tables");
    let table = tables.iter().find(|table| table["name"] == name).unwrap_or_else(|| panic!("no table {name}"));
    table["rows"].as_array().expect("rows")
}

fn totals(args: &[&str]) -> Totals {
    let document = json(args);
    ["gpu_summary", "api_summary"].map(|name| {
        let row = |row: &Value| {
            let name = row["Name"].as_str().expect("a name").to_owned();
            let total = row["Total Time (ns)"].as_u64().expect("a total").into();
            (name, (row["Calls"].as_u64().expect("a count"), total))
        };
        rows(&document, name).iter().map(row).collect()
    })
}

fn names(args: &[&str], table: &str) -> Vec<String> {
    let document = json(args);
    rows(&document, table).iter().map(|row| row["Name"].as_str().expect("a name").to_owned()).collect()
}
