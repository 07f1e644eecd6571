//! `gpuprof mcp` as a client meets it: one JSON object a line, each question answered, nothing outside of the folders read.
//! Other people's clients try it in `tests/interop/mcp.rs`.

use crate::common::build::{Player, Story, native};
use crate::common::{TempFolder, command, refused};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

/// A server, and its client's ends of the pipes.
struct Client {
    server: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    id: u64,
}

impl Client {
    fn new(args: &[&str]) -> Client {
        let mut command = command(&[&["mcp"], args].concat());
        let mut server = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("a server");
        let output = BufReader::new(server.stdout.take().expect("its output"));
        let input = server.stdin.take();
        Client { server, input, output, id: 0 }
    }

    fn send(&mut self, line: &str) {
        let input = self.input.as_mut().expect("an open input");
        writeln!(input, "{line}").and_then(|()| input.flush()).expect("the server reads");
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the server answers");
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}"))
    }

    fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        self.id += 1;
        let id = self.id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters }).to_string());
        let answer = self.receive();
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&"2.0".into(), &id.into()));
        answer
    }

    /// The text of a tool's answer, and whether it is an error.
    fn call(&mut self, tool: &str, arguments: &Value) -> (String, bool) {
        let answer = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{tool}: {answer}"));
        (text.to_owned(), result["isError"].as_bool().expect("a word about success"))
    }

    fn answer(&mut self, tool: &str, arguments: &Value) -> Value {
        let (text, is_error) = self.call(tool, arguments);
        assert!(!is_error, "{tool} {arguments}: {text}");
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{tool} {arguments}: {e}: {text}"))
    }

    fn refused(&mut self, tool: &str, arguments: &Value, words: &str) {
        let (text, is_error) = self.call(tool, arguments);
        assert!(is_error && text.contains(words), "{tool} {arguments}: {text}");
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.server.wait();
    }
}

fn run(folder: &TempFolder, name: &str, seed: u64, ns: i64) -> String {
    let mut player = Player::new(seed);
    for _ in 0..60 {
        player.kernel("gemm", 7, ns);
        player.stay_near(7, 3_000_000);
    }
    folder.argument(name, &player.native())
}

#[test]
fn a_client_learns_what_there_is_and_asks_it() {
    let folder = TempFolder::new("cli-mcp");
    let old = run(&folder, "old.gpuprof", 1, 400_000);
    run(&folder, "new.gpuprof", 2, 600_000);
    let mut client = Client::new(&[folder.path().to_str().expect("a path")]);

    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
    let answer = client.ask("initialize", &hello);
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
    assert!(answer["result"]["capabilities"]["tools"].is_object(), "{answer}");
    let instructions = answer["result"]["instructions"].as_str().expect("a text");
    assert!(instructions.contains("What not to conclude"), "{instructions}");
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    // A version that does not exist yet is answered by the newest that is spoken.
    let answer = client.ask("initialize", &json!({ "protocolVersion": "2099-01-01" }));
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(client.ask("ping", &json!({}))["result"], json!({}));

    let answer = client.ask("tools/list", &json!({}));
    let tools = answer["result"]["tools"].as_array().expect("a list");
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["open", "insights", "view", "query", "diff", "ranks", "picture"]);
    for tool in tools {
        assert_eq!(tool["annotations"]["readOnlyHint"], true);
        let schema = &tool["inputSchema"];
        let known = |name: &Value| schema["properties"].get(name.as_str().expect("a name")).is_some();
        assert!(schema["required"].as_array().expect("a list").iter().all(known), "{tool}");
    }

    let files = client.answer("open", &json!({}));
    let paths: Vec<&str> =
        files["files"].as_array().expect("files").iter().filter_map(|file| file["path"].as_str()).collect();
    assert_eq!(paths.len(), 2);
    assert!(paths[0].ends_with("/new.gpuprof") && paths[1].ends_with("/old.gpuprof"), "{paths:?}");
    let opened = client.answer("open", &json!({ "path": "old.gpuprof" }));
    assert_eq!(opened["schema"], "gpuprof/info/1");
    let view = client.answer("view", &json!({ "path": old, "view": "cuda_gpu_kern_sum", "filter": "gem+" }));
    assert_eq!(
        (&view["schema"], &view["tables"][0]["rows"][0]["Instances"]),
        (&"gpuprof/report/1".into(), &60.into())
    );
    assert_eq!(client.answer("insights", &json!({ "path": "old.gpuprof" }))["schema"], "gpuprof/insights/1");
    let sql = "SELECT start_ns FROM kernel ORDER BY start_ns";
    let query = client.answer("query", &json!({ "path": "old.gpuprof", "sql": sql, "rows": 7 }));
    assert_eq!((query["rows"].as_array().map(Vec::len), &query["has_more"]), (Some(7), &true.into()));
    let query = client.answer("query", &json!({ "path": "old.gpuprof", "sql": sql }));
    assert_eq!((query["rows"].as_array().map(Vec::len), &query["has_more"]), (Some(60), &false.into()));
    let schema = client.answer("query", &json!({ "path": "old.gpuprof", "sql": ".tables" }));
    assert!(schema["text"].as_str().expect("a text").contains("kernels_by_name"), "{schema}");
    let diff = client.answer("diff", &json!({ "before": ["old.gpuprof"], "after": ["new.gpuprof"] }));
    assert_eq!((&diff["schema"], &diff["verdict"]), (&"gpuprof/diff/1".into(), &"slower".into()));
    let ranks = client.answer("ranks", &json!({ "path": "old.gpuprof" }));
    assert_eq!((&ranks["schema"], &ranks["verdict"]), (&"gpuprof/ranks/1".into(), &"cannot be judged".into()));
    let drawn = client.ask("tools/call", &json!({ "name": "picture", "arguments": { "path": "old.gpuprof" } }));
    let content = &drawn["result"]["content"][0];
    assert_eq!((&content["type"], &content["mimeType"]), (&"image".into(), &"image/png".into()));
    // The first bytes of every PNG, as base64.
    assert!(content["data"].as_str().expect("bytes").starts_with("iVBORw0KGgo"), "{drawn}");
}

#[test]
fn nothing_outside_of_the_folders_is_read_and_mistakes_are_explained() {
    let folder = TempFolder::new("cli-mcp-refused");
    let secret = folder.argument("secret/run.gpuprof", &native(&Story::sample(100)));
    folder.argument("open/run.gpuprof", &native(&Story::sample(100)));
    folder.argument("open/notes.txt", b"not a trace");
    let open = folder.path().join("open");
    std::os::unix::fs::symlink(&secret, open.join("link.gpuprof")).expect("a link");
    let mut client = Client::new(&[open.to_str().expect("a path")]);

    for path in [secret.as_str(), "../secret/run.gpuprof", "link.gpuprof", "/etc/passwd"] {
        client.refused("open", &json!({ "path": path }), "outside of the folders");
        client.refused("diff", &json!({ "before": ["run.gpuprof"], "after": [path] }), "outside of the folders");
    }
    client.refused("insights", &json!({ "path": "." }), "leads out");
    client.refused("view", &json!({ "path": "r*.gpuprof", "view": "cuda_gpu_kern_sum" }), "patterns");
    // A query is not the name of a file with a query in it, and an option is not an option.
    client.refused("query", &json!({ "path": "run.gpuprof", "sql": format!("@{secret}") }), "");
    client.refused("query", &json!({ "path": "--help", "sql": "SELECT 1" }), "No such file");
    let dashes = json!({ "path": "run.gpuprof", "view": "cuda_gpu_kern_sum", "filter": "--view=nvtx_sum" });
    assert_eq!(client.answer("view", &dashes)["tables"][0]["rows"], json!([]));
    client.refused("view", &json!({ "path": "run.gpuprof", "view": "nothing" }), "there are cuda_gpu_kern_sum, ");
    client.refused("view", &json!({ "path": "run.gpuprof", "view": "nvtx_sum", "rows": 0 }), "from 1 to 200");
    client.refused("view", &json!({ "path": "run.gpuprof" }), "view: is needed");
    client.refused("open", &json!({ "file": "run.gpuprof" }), "file: unknown argument; open takes path");
    client.refused("open", &json!({ "path": "notes.txt" }), "notes.txt");
    client.refused("query", &json!({ "path": "run.gpuprof", "sql": "SELECT nothing FROM kernel" }), "nothing");

    let unknown = client.ask("tools/call", &json!({ "name": "remove", "arguments": {} }));
    assert_eq!(unknown["error"]["code"], -32602);
    assert_eq!(client.ask("resources/list", &json!({}))["error"]["code"], -32601);
    client.send("no JSON");
    assert_eq!(client.receive()["error"]["code"], -32700);
    // It goes on.
    assert_eq!(client.answer("open", &json!({ "path": "run.gpuprof" }))["schema"], "gpuprof/info/1");

    refused(&["mcp", "/nowhere/at/all"], &["/nowhere/at/all", "No such file"]);
    refused(&["mcp", open.join("run.gpuprof").to_str().expect("a path")], &["not a folder"]);
}

#[test]
fn questions_that_nobody_waits_for_are_given_up_and_waiting_ones_answered_before_the_end() {
    let folder = TempFolder::new("cli-mcp-cancel");
    folder.argument("run.gpuprof", &native(&Story::sample(20_000)));
    let path = folder.path().to_str().expect("a path").to_owned();
    let mut client = Client::new(&[&path]);
    // The first two keep the server busy until it has heard that nobody waits for the third.
    for id in 1..=3 {
        let query = json!({ "path": "run.gpuprof", "sql": "SELECT count(*) AS n FROM kernel" });
        let call = json!({ "name": "query", "arguments": query });
        client.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call }).to_string());
    }
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 3 } });
    client.send(&cancel.to_string());
    client.send(r#"{"jsonrpc":"2.0","id":4,"method":"ping"}"#);
    drop(client.input.take());
    let ids: Vec<Value> = (0..3).map(|_| client.receive()["id"].take()).collect();
    assert_eq!(ids, [1, 2, 4]);
    let mut rest = String::new();
    assert_eq!(client.output.read_line(&mut rest).expect("the end"), 0, "{rest}");
    let status = client.server.wait().expect("the server ends");
    assert!(status.success(), "{status}");

    // A trace that takes too long costs its own question. No time at all is too little for any.
    let fifo = folder.path().join("fifo.gpuprof");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo");
    assert!(made.success());
    let mut client = Client::new(&["--timeout", "1", &path]);
    let begin = Instant::now();
    client.refused("open", &json!({ "path": "fifo.gpuprof" }), "");
    assert!(begin.elapsed() < Duration::from_secs(60));
    assert_eq!(client.answer("open", &json!({ "path": "run.gpuprof" }))["schema"], "gpuprof/info/1");
}
