//! What a client may ask: a tool is one [`Tool`] value and one line in [`TOOLS`].

use super::bounded::bounded;
use super::child::Program;
use super::folders::Folders;
use super::given::Given;
use super::protocol::Problem;
use crate::error::{Error, Result};
use crate::render::schemas;
use crate::report::VIEWS;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};
use std::ffi::OsString;

/// No answer has more bytes of text. A client's model reads every one of them.
const MOST_BYTES: usize = 24 << 10;

/// Rows of a view and of a query, where nothing else is asked for, and at most.
const VIEW_ROWS: [usize; 2] = [20, 200];
const QUERY_ROWS: [usize; 2] = [100, 1000];

/// Something that a client may ask.
struct Tool {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    arguments: &'static [Argument],
    answer: fn(&Given, &Program) -> Result<Answer>,
}

/// Something that a tool is told.
struct Argument {
    name: &'static str,
    /// Its type and what it means, as a JSON schema.
    schema: fn() -> Value,
    is_needed: bool,
}

const fn needed(name: &'static str, schema: fn() -> Value) -> Argument {
    Argument { name, schema, is_needed: true }
}

const fn optional(name: &'static str, schema: fn() -> Value) -> Argument {
    Argument { name, schema, is_needed: false }
}

enum Answer {
    Json(Value),
    Png(Vec<u8>),
}

/// In the order in which they are of use.
static TOOLS: [Tool; 7] = [OPEN, INSIGHTS, VIEW, QUERY, DIFF, RANKS, PICTURE];

const OPEN: Tool = Tool {
    name: "open",
    title: "What a trace is",
    description: "Without a path: lists the files in the folders that can be read. With the path of a trace: what kind of file \
                  it is, who wrote it, when it was recorded, which processes and GPUs it has, how many records of each kind, \
                  and what is missing or damaged. Ask this first.",
    arguments: &[optional("path", path)],
    answer: open,
};

const INSIGHTS: Tool = Tool {
    name: "insights",
    title: "Why the GPU is slow",
    description: "At most seven findings about a trace, the largest possible gain of time first: what costs time, how much could \
                  be won back at most and of which total, the evidence, a query that shows it, how sure it is and what to do. \
                  Says by name which rules could not be judged, and why. Ask this second.",
    arguments: &[needed("path", path), optional("from", time), optional("to", time)],
    answer: insights,
};

const VIEW: Tool = Tool {
    name: "view",
    title: "A table about a trace",
    description: "One of the ready-made tables, named as the reports of Nsight Systems are: for example cuda_gpu_kern_sum \
                  (kernels by total time), cuda_gpu_kern_sum:base, cuda_api_sum, cuda_gpu_mem_time_sum, nvtx_sum, \
                  nvtx_gpu_proj_sum, gpu_gap_causes, gpu_time_breakdown, steps_sum and steps_slow (iterations and why the slowest are \
                  slow), cuda_launch_stats, gpu_hidden_copies. A name that does not exist is answered with \
                  the list of all. Times are in nanoseconds.",
    arguments: &[
        needed("path", path),
        needed("view", view_name),
        optional("rows", view_rows),
        optional("filter", filter),
        optional("from", time),
        optional("to", time),
    ],
    answer: view,
};

const QUERY: Tool = Tool {
    name: "query",
    title: "A trace asked in SQL",
    description: "Answers one SELECT over the records of a trace. There are views such as kernels_by_name, gpu, launches, \
                  gaps and ranges, and tables such as kernel, memcpy and api: the query .tables lists them, .schema lists their \
                  columns. Times are integer nanoseconds. \
                  Put a LIMIT into the query or group: only so many rows come back.",
    arguments: &[needed("path", path), needed("sql", sql), optional("rows", query_rows)],
    answer: query,
};

const DIFF: Tool = Tool {
    name: "diff",
    title: "What changed between runs",
    description: "Compares the runs before a change with the runs after it: faster, slower, no difference, or cannot be \
                  compared and why. Differences smaller than the noise are called no difference; several runs of each side \
                  make smaller differences visible.",
    arguments: &[needed("before", paths), needed("after", paths), optional("by", by), optional("rows", view_rows)],
    answer: diff,
};

const RANKS: Tool = Tool {
    name: "ranks",
    title: "Who makes the others wait",
    description: "Holds the ranks of one distributed run against each other: clocks put on one time, collectives matched, which \
                  ranks begin late again and again and why, bandwidth of communicators, how much of each GPU's time was left over.",
    arguments: &[needed("path", path), optional("rows", view_rows)],
    answer: ranks,
};

const PICTURE: Tool = Tool {
    name: "picture",
    title: "A picture of a trace",
    description: "The timeline of a trace, or of a part of it, as a PNG: a row for each stream and thread.",
    arguments: &[needed("path", path), optional("from", time), optional("to", time)],
    answer: picture,
};

fn path() -> Value {
    json!({ "type": "string", "description": "A trace of any kind (gpuprof, nvprof, Nsight Systems, PyTorch), or a folder with \
        the traces of one run. Relative paths count from the first folder of the server." })
}

fn paths() -> Value {
    json!({ "type": "array", "items": { "type": "string" }, "minItems": 1, "description": "A trace, or a folder with the traces \
        of one run, for each run" })
}

fn time() -> Value {
    json!({ "type": "string", "description": "A time from the start of the trace, such as 1.5s, 250ms or 40us" })
}

fn view_name() -> Value {
    json!({ "type": "string", "description": "The name of the table" })
}

fn filter() -> Value {
    json!({ "type": "string", "description": "Only what has a name that this regular expression matches, for example gemm|conv" })
}

fn sql() -> Value {
    json!({ "type": "string", "description": "A query that begins with SELECT or WITH, or .tables, or .schema" })
}

fn by() -> Value {
    let all = ["kernel", "base-name", "class", "stream", "api", "range", "step"];
    json!({ "type": "string", "enum": all, "description": "What makes a row; the names of kernels if nothing is said" })
}

fn rows([usual, most]: [usize; 2]) -> Value {
    json!({ "type": "integer", "minimum": 1, "maximum": most, "default": usual, "description": "Rows at most" })
}

fn view_rows() -> Value {
    rows(VIEW_ROWS)
}

fn query_rows() -> Value {
    rows(QUERY_ROWS)
}

/// The tools as the protocol lists them.
pub(super) fn list() -> Value {
    let tool = |tool: &Tool| {
        let properties: Map<String, Value> =
            tool.arguments.iter().map(|argument| (argument.name.to_owned(), (argument.schema)())).collect();
        let needed = tool.arguments.iter().filter(|argument| argument.is_needed).map(|argument| argument.name);
        let needed: Vec<&str> = needed.collect();
        json!({
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "inputSchema": {
                "type": "object", "properties": properties, "required": needed, "additionalProperties": false,
            },
            "annotations": {
                "title": tool.title, "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true,
                "openWorldHint": false,
            },
        })
    };
    TOOLS.iter().map(tool).collect()
}

/// Answers a call. What went wrong in answering is an answer too, which the client's model reads; a call of no tool is not.
///
/// # Errors
/// Fails if there is no such tool.
pub(super) fn call(
    parameters: &Value,
    folders: &Folders,
    program: &Program,
) -> std::result::Result<Value, Problem> {
    let name = parameters["name"].as_str().unwrap_or_default();
    let Some(tool) = TOOLS.iter().find(|tool| tool.name == name) else {
        let known: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        return Err(Problem::invalid_parameters(format!(
            "there is no tool \"{name}\"; there are {}",
            known.join(", ")
        )));
    };
    let none = Map::new();
    let values = match &parameters["arguments"] {
        Value::Object(values) => values,
        Value::Null => &none,
        other => return Err(Problem::invalid_parameters(format!("the arguments are not an object but {other}"))),
    };
    let answer = known_only(tool, values).and_then(|()| (tool.answer)(&Given { values, folders }, program));
    Ok(match answer {
        Ok(Answer::Json(answer)) => {
            let text = bounded(answer, MOST_BYTES).to_string();
            json!({ "content": [{ "type": "text", "text": text }], "isError": false })
        }
        Ok(Answer::Png(bytes)) => {
            let data = BASE64_STANDARD.encode(bytes);
            json!({ "content": [{ "type": "image", "data": data, "mimeType": "image/png" }], "isError": false })
        }
        Err(why) => json!({ "content": [{ "type": "text", "text": why.to_string() }], "isError": true }),
    })
}

/// An argument that nobody knows is a mistake, and the answer without it would be about something else.
fn known_only(tool: &Tool, values: &Map<String, Value>) -> Result<()> {
    let known = |name: &str| tool.arguments.iter().any(|argument| argument.name == name);
    match values.keys().find(|name| !known(name)) {
        None => Ok(()),
        Some(name) => {
            let names: Vec<&str> = tool.arguments.iter().map(|argument| argument.name).collect();
            let remedy = format!("{} takes {}", tool.name, names.join(", "));
            Err(Error::new(format!("{name}: unknown argument")).remedy(&remedy))
        }
    }
}

/// `--name=value` for arguments that were given.
fn options(given: &Given, names: &[&str]) -> Result<Vec<OsString>> {
    let mut options = Vec::new();
    for name in names {
        // With `=`, so that a value that begins with a dash is no option.
        options.extend(given.text(name)?.map(|value| format!("--{name}={value}").into()));
    }
    Ok(options)
}

/// Runs a command that answers with one JSON object.
fn object(program: &Program, arguments: &[OsString]) -> Result<Answer> {
    let printed = program.run(arguments, None, None)?;
    match serde_json::from_slice(&printed.output) {
        Ok(answer) => Ok(Answer::Json(answer)),
        Err(_) => Err(Error::new(printed.words.join("\n"))),
    }
}

fn open(given: &Given, program: &Program) -> Result<Answer> {
    if given.text("path")?.is_none() {
        let (files, has_more) = given.folders.files();
        let files: Vec<Value> =
            files.iter().map(|file| json!({ "path": file.path.to_string_lossy(), "bytes": file.bytes })).collect();
        return Ok(Answer::Json(json!({ "files": files, "has_more": has_more })));
    }
    let path = given.path("path")?;
    object(program, &["info".into(), "--format=json".into(), path.into()])
}

fn insights(given: &Given, program: &Program) -> Result<Answer> {
    let mut arguments: Vec<OsString> =
        ["report", "--quiet", "--format=json", "--view=insights"].map(Into::into).to_vec();
    arguments.extend(options(given, &["from", "to"])?);
    arguments.push(given.path("path")?.into());
    object(program, &arguments)
}

fn view(given: &Given, program: &Program) -> Result<Answer> {
    let name = given.needed_text("view")?;
    if crate::report::find_view(name).is_err() {
        let names: Vec<&str> = VIEWS.iter().map(|view| view.name()).collect();
        return Err(Error::new(format!("there is no view \"{name}\"; there are {}", names.join(", "))));
    }
    let top = given.number("rows", VIEW_ROWS[0], VIEW_ROWS[1])?;
    let mut arguments: Vec<OsString> = ["report", "--quiet", "--format=json"].map(Into::into).to_vec();
    arguments.extend([format!("--view={name}").into(), format!("--top={top}").into()]);
    arguments.extend(options(given, &["filter", "from", "to"])?);
    arguments.push(given.path("path")?.into());
    object(program, &arguments)
}

fn query(given: &Given, program: &Program) -> Result<Answer> {
    let sql = given.needed_text("sql")?;
    let most = given.number("rows", QUERY_ROWS[0], QUERY_ROWS[1])?;
    let path = given.path("path")?;
    if sql.trim_start().starts_with('.') {
        let printed = program.run(&["query".into(), path.into(), "--file=-".into()], Some(sql), None)?;
        let text = String::from_utf8_lossy(&printed.output).into_owned();
        return Ok(Answer::Json(json!({ "schema": schemas::QUERY, "notes": printed.words, "text": text })));
    }
    // A row a line, so that the command can be ended when there are enough. The query goes through a pipe: as an argument it
    // could name a file.
    let arguments = ["query".into(), path.into(), "--format=jsonl".into(), "--file=-".into()];
    let printed = program.run(&arguments, Some(sql), Some(most))?;
    let lines = printed.output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let rows: Vec<Value> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    Ok(Answer::Json(json!({
        "schema": schemas::QUERY,
        "notes": printed.words,
        "has_more": printed.has_more,
        "rows": rows,
    })))
}

fn diff(given: &Given, program: &Program) -> Result<Answer> {
    let top = given.number("rows", VIEW_ROWS[0], VIEW_ROWS[1])?;
    let mut arguments: Vec<OsString> = ["diff", "--quiet", "--format=json"].map(Into::into).to_vec();
    arguments.push(format!("--top={top}").into());
    arguments.extend(options(given, &["by"])?);
    for side in ["before", "after"] {
        arguments.push(format!("--{side}").into());
        arguments.extend(given.paths(side)?.into_iter().map(OsString::from));
    }
    object(program, &arguments)
}

fn ranks(given: &Given, program: &Program) -> Result<Answer> {
    let top = given.number("rows", VIEW_ROWS[0], VIEW_ROWS[1])?;
    let mut arguments: Vec<OsString> = ["ranks", "--quiet", "--format=json"].map(Into::into).to_vec();
    arguments.push(format!("--top={top}").into());
    arguments.push(given.path("path")?.into());
    object(program, &arguments)
}

fn picture(given: &Given, program: &Program) -> Result<Answer> {
    let mut arguments: Vec<OsString> =
        ["timeline", "--quiet", "--format=png", "--output=-"].map(Into::into).to_vec();
    arguments.extend(options(given, &["from", "to"])?);
    arguments.push(given.path("path")?.into());
    let printed = program.run(&arguments, None, None)?;
    if printed.output.starts_with(b"\x89PNG") {
        Ok(Answer::Png(printed.output))
    } else {
        Err(Error::new(printed.words.join("\n")))
    }
}
