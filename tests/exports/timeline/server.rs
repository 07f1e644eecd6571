//! The server: who may ask, and that it answers with what a page has inside.

use super::page::{Page, u};
use crate::common::build::{self, Story};
use crate::common::{TempFolder, command};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

struct Server {
    child: Child,
    address: String,
    prefix: String,
}

impl Server {
    fn start(paths: &[&str]) -> Server {
        let mut child = command(&[&["timeline", "--serve"], paths].concat())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (_, url) = line.split_once("http://").unwrap_or_else(|| panic!("no address: {line}"));
        let url = url.split_whitespace().next().unwrap();
        let (address, path) = url.split_once('/').unwrap();
        assert!(address.starts_with("127.0.0.1:"), "{address}");
        Server { child, address: address.to_owned(), prefix: format!("/{path}") }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    /// Sends bytes and gives back everything until the connection is closed.
    fn raw(&self, request: &[u8]) -> (u16, String, Vec<u8>) {
        let mut stream = self.connect();
        stream.write_all(request).unwrap();
        let mut answer = Vec::new();
        // A server that has had enough may close before it has read everything.
        let _ = stream.read_to_end(&mut answer);
        split(&answer)
    }

    fn ask(&self, line: &str, host: &str) -> (u16, String, Vec<u8>) {
        self.raw(format!("{line} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes())
    }

    /// Gets what is at a path below the token.
    fn get(&self, path: &str) -> (u16, Vec<u8>) {
        let (status, _, body) = self.ask(&format!("GET {}{path}", self.prefix), &self.address);
        (status, body)
    }

    fn json(&self, path: &str) -> Value {
        let (status, body) = self.get(path);
        assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(&body));
        serde_json::from_slice(&body).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Status, headers and body of one answer.
fn split(answer: &[u8]) -> (u16, String, Vec<u8>) {
    let end = answer.windows(4).position(|w| w == b"\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
    let head = String::from_utf8(answer[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head, answer[end + 4..].to_vec())
}

fn sample(name: &str) -> (TempFolder, String, Page) {
    let folder = TempFolder::new(name);
    let story = Story::sample(12_000).with_ranges();
    let path = folder.argument("a.gpuprof", &build::native(&story));
    let answer = super::gpuprof(&["timeline", &path, "-o", "-"]);
    let page = Page::parse(&answer.stdout);
    (folder, path, page)
}

#[test]
fn the_server_answers_with_what_a_page_has_inside() {
    let (_folder, path, page) = sample("timeline-serve");
    let server = Server::start(&[&path]);
    let (status, head, body) = server.ask(&format!("GET {}", server.prefix), &server.address);
    let html = String::from_utf8(body).unwrap();
    assert_eq!(status, 200);
    assert!(html.contains("id=\"meta\">{\"served\":true}</script>") && html.contains("connect-src 'self'"));
    assert!(head.contains("Content-Security-Policy: default-src 'none'; script-src 'sha256-"), "{head}");
    assert!(head.contains("nosniff") && head.contains("no-referrer"));
    let mut meta = server.json("meta.json");
    assert_eq!(meta["inline"], false);
    meta["inline"] = true.into();
    assert_eq!(meta, page.meta);
    for key in page.keys() {
        let [row, level, index] = key.split('/').map(|n| n.parse().unwrap()).collect::<Vec<u64>>()[..] else {
            panic!("{key}")
        };
        let (status, body) = server.get(&format!("tile/{key}"));
        assert_eq!((status, &body[..]), (200, page.tile(row, level, index).unwrap()), "{key}");
    }
    // A tile in which nothing happens is there and empty: this thread has one range, at the start.
    let thread = page.rows().iter().find(|row| row["label"] == "Thread 4244").unwrap();
    let (id, last) = (u(&thread["id"]), u(&page.meta["duration_ns"]) / page.bin_ns(1) / 1024);
    assert!(page.tile(id, 1, last).is_none());
    assert_eq!(server.get(&format!("tile/{id}/1/{last}")), (200, vec![0]));
    assert_eq!(server.get(&format!("tile/{id}/1/{}", last + 1)).0, 404);
}

#[test]
fn the_server_answers_only_those_who_know_the_address() {
    let (_folder, path, _) = sample("timeline-serve-who");
    let server = Server::start(&[&path]);
    let status = |line: &str, host: &str| server.ask(line, host).0;
    let (meta, address) = (format!("GET {}meta.json", server.prefix), server.address.clone());
    let port = address.split_once(':').unwrap().1.to_owned();
    assert_eq!(status(&meta, &address), 200);
    assert_eq!(status(&meta, &format!("localhost:{port}")), 200);
    for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1", "localhost", "127.0.0.1:1", ""] {
        assert_eq!(status(&meta, host), 403, "Host: {host}");
    }
    assert_eq!(server.raw(format!("{meta} HTTP/1.1\r\n\r\n").as_bytes()).0, 403, "no Host");
    let twice = format!("{meta} HTTP/1.1\r\nHost: {address}\r\nHost: evil.example\r\n\r\n");
    assert_eq!(server.raw(twice.as_bytes()).0, 403, "two of them");
    // Whoever does not know the token learns nothing, whatever the method.
    let wrong = format!("/{}/", "0".repeat(32));
    for path in ["/", "/meta.json", &wrong, &format!("{wrong}meta.json"), server.prefix.trim_end_matches('/')] {
        assert_eq!(status(&format!("GET {path}"), &address), 404, "{path}");
        assert_eq!(status(&format!("POST {path}"), &address), 404, "{path}");
    }
    assert_eq!(server.prefix.len(), 34, "128 random bits");
    let other = Server::start(&[&path]);
    assert_ne!(other.prefix, server.prefix);
    for method in ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"] {
        assert_eq!(status(&format!("{method} {}meta.json", server.prefix), &address), 405, "{method}");
    }
    for path in [
        "nothing",
        "tile",
        "tile/",
        "tile/0",
        "tile/0/0",
        "tile/0/0/0/0",
        "tile/0/0/0",
        "tile/99999/1/0",
        "tile/0/99/0",
        "tile/1/1/99999999",
        "tile/-1/1/0",
        "tile/a/1/0",
        "tile/18446744073709551616/0/0",
        "../meta.json",
        "search",
        "select?from=a&to=b",
        "select",
    ] {
        assert_eq!(server.get(path).0, 404, "{path}");
    }
    let large = format!("GET {}{} HTTP/1.1\r\n", server.prefix, "a".repeat(20_000));
    assert_eq!(server.raw(large.as_bytes()).0, 431);
    let many = "X: y\r\n".repeat(100);
    assert_eq!(server.raw(format!("{meta} HTTP/1.1\r\n{many}\r\n").as_bytes()).0, 431);
    assert_eq!(server.raw(b"\x16\x03\x01 nonsense\r\n\r\n").0, 400);
    let body = format!("{meta} HTTP/1.1\r\nHost: {address}\r\nContent-Length: 3\r\n\r\nabc");
    assert_eq!(server.raw(body.as_bytes()).0, 400);
    assert_eq!(status(&meta, &address), 200, "it is still there");
}

#[test]
fn connections_stay_open_and_several_are_served_at_once() {
    let (_folder, path, _) = sample("timeline-serve-many");
    let server = Server::start(&[&path]);
    // One that says nothing does not keep the others waiting.
    let _silent = server.connect();
    let request = format!("GET {}tile/0/1/0 HTTP/1.1\r\nHost: {}\r\n\r\n", server.prefix, server.address);
    let mut streams: Vec<TcpStream> = (0..6).map(|_| server.connect()).collect();
    let mut expected = None;
    for _ in 0..3 {
        for stream in &mut streams {
            // Two requests in one go.
            stream.write_all(request.repeat(2).as_bytes()).unwrap();
        }
        for stream in &mut streams {
            for _ in 0..2 {
                let body = one_answer(stream);
                assert_eq!(*expected.get_or_insert_with(|| body.clone()), body);
            }
        }
    }
}

/// Reads one answer from a connection that stays open.
fn one_answer(stream: &mut TcpStream) -> Vec<u8> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap().parse().unwrap();
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    body
}

#[test]
fn searching_and_selecting_count_what_is_there() {
    let (_folder, path, page) = sample("timeline-serve-find");
    let server = Server::start(&[&path]);
    let counted = |matches: &dyn Fn(&str) -> bool| -> usize {
        let rows = page.rows().iter().filter(|row| row["table"].is_string());
        rows.flat_map(|row| page.records(row)).filter(|r| matches(page.name(r["name"].unwrap()))).count()
    };
    for (query, matches) in [
        ("SAXPY", &(|name: &str| name.contains("saxpy")) as &dyn Fn(&str) -> bool),
        ("%2F%5Ecuda.*Kernel%24%2F", &|name| name == "cudaLaunchKernel"),
        ("memcpy", &|name| name.to_lowercase().contains("memcpy")),
        ("nothing+like+this", &|_| false),
    ] {
        let found = server.json(&format!("search?q={query}&limit=10"));
        let expected = counted(matches);
        assert_eq!(u(&found["total"]) as usize, expected, "{query}");
        let hits = found["hits"].as_array().unwrap();
        assert_eq!(hits.len(), expected.min(10));
        assert!(hits.is_sorted_by_key(|hit| u(&hit["start_ns"])));
        for hit in hits {
            let record = &page.records(&page.rows()[u(&hit["row"]) as usize])[u(&hit["index"]) as usize];
            assert_eq!(hit["start_ns"], record["start_ns"].unwrap());
            assert_eq!(hit["name"], page.name(record["name"].unwrap()));
            assert!(matches(hit["name"].as_str().unwrap()));
        }
    }
    assert_eq!(server.get("search?q=%2F%5B%2F&limit=1").0, 400, "a broken expression is said to be one");
    let duration = u(&page.meta["duration_ns"]);
    for (from, to) in [(0, duration + 1), (duration / 3, duration / 2), (duration / 2, duration / 2)] {
        let selected = server.json(&format!("select?from={from}&to={to}"));
        let rows = selected["rows"].as_array().unwrap();
        for row in page.rows().iter().filter(|row| u(&row["records"]) > 0) {
            let records = page.records(row);
            let inside: Vec<_> = records.iter().filter(|r| (from..to).contains(&r["start_ns"].unwrap())).collect();
            let found = rows.iter().find(|found| found["row"] == row["id"]);
            let Some(found) = found else {
                assert!(inside.is_empty(), "{row}");
                continue;
            };
            assert_eq!(u(&found["count"]) as usize, inside.len());
            let total: u64 = inside.iter().map(|r| r["duration_ns"].unwrap_or(0)).sum();
            let names = found["names"].as_array().unwrap();
            assert_eq!(names.iter().map(|name| u(&name["total_ns"])).sum::<u64>(), total);
            assert_eq!(names.iter().map(|name| u(&name["count"])).sum::<u64>() as usize, inside.len());
            if to > duration {
                assert_eq!(found["busy_ns"], row["busy_ns"]);
            }
        }
    }
}
