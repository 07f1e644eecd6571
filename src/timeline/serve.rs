//! Serves a timeline to a browser on the same machine, to nobody else: for traces that are too large for one page.
//!
//! The address is on the loopback interface and holds a random token, without which nothing is answered. The `Host`
//! header must name this very address, so that no page from elsewhere reaches it under a name of its own (DNS
//! rebinding). Requests are read only, small, and answered from memory.

use super::Timeline;
use super::assemble::served_page;
use crate::error::{Error, Result};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Longest request line and headers.
const MOST_REQUEST_BYTES: usize = 16 << 10;
/// Header lines of a request.
const MOST_HEADERS: usize = 64;
/// Connections at a time; browsers open six.
const MOST_CONNECTIONS: usize = 32;
/// How long a connection may be silent.
const SILENCE: Duration = Duration::from_secs(60);
/// Hits that a search lists at most.
const MOST_HITS: usize = 10_000;

/// A server that listens and does not answer yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    token: String,
}

impl Server {
    /// Listens on a port of the loopback interface; 0: any that is free.
    ///
    /// # Errors
    /// Fails if the port is taken or not allowed, or if the system gives no random numbers.
    pub fn bind(port: u16) -> Result<Server> {
        let failed = |e: io::Error| {
            Error::new(format!("127.0.0.1:{port}: cannot listen: {e}"))
                .remedy("choose another --port, or none for any")
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let mut random = [0; 16];
        getrandom::fill(&mut random)
            .map_err(|e| Error::new(format!("the system gives no random numbers for a token: {e}")))?;
        let token = random.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Server { listener, address, token })
    }

    /// What to open in a browser.
    pub fn url(&self) -> String {
        format!("http://{}/{}/", self.address, self.token)
    }

    /// Answers until the program ends.
    ///
    /// # Errors
    /// Fails if the description of the timeline cannot be made.
    pub fn run(&self, timeline: &Timeline) -> Result<()> {
        let (page, policy) = served_page();
        let site = Site {
            timeline,
            page,
            policy,
            meta: timeline.meta(false)?,
            prefix: format!("/{}/", self.token),
            hosts: ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.address.port())),
        };
        let connections = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for stream in self.listener.incoming() {
                let Ok(stream) = stream else {
                    // Out of descriptors, say: others may end soon.
                    std::thread::sleep(Duration::from_millis(50));
                    continue;
                };
                if connections.fetch_add(1, Ordering::Relaxed) >= MOST_CONNECTIONS {
                    connections.fetch_sub(1, Ordering::Relaxed);
                    let _ = Answer::text(503, "too many connections").send(&stream, &site, true);
                    continue;
                }
                let (site, connections) = (&site, &connections);
                scope.spawn(move || {
                    // A browser that hangs up in the middle of an answer is no trouble of ours.
                    let _ = site.converse(&stream);
                    connections.fetch_sub(1, Ordering::Relaxed);
                });
            }
        });
        Ok(())
    }
}

/// Everything that is answered with.
struct Site<'t> {
    timeline: &'t Timeline,
    page: String,
    policy: String,
    meta: String,
    /// What every path begins with.
    prefix: String,
    /// What `Host` may be.
    hosts: [String; 2],
}

/// One answer.
struct Answer {
    status: u16,
    kind: &'static str,
    body: Vec<u8>,
}

impl Answer {
    fn text(status: u16, text: &str) -> Answer {
        Answer { status, kind: "text/plain; charset=utf-8", body: format!("{text}\n").into_bytes() }
    }

    fn json(body: impl Into<Vec<u8>>) -> Answer {
        Answer { status: 200, kind: "application/json", body: body.into() }
    }

    fn send(&self, mut stream: &TcpStream, site: &Site, close: bool) -> io::Result<()> {
        let reason = match self.status {
            200 => "OK",
            400 => "Bad Request",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            431 => "Request Header Fields Too Large",
            _ => "Service Unavailable",
        };
        let head = format!(
            "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nX-Frame-Options: DENY\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nContent-Security-Policy: {}; frame-ancestors 'none'\r\n\
             Connection: {}\r\n{}\r\n",
            self.status,
            self.kind,
            self.body.len(),
            site.policy,
            if close { "close" } else { "keep-alive" },
            if self.status == 405 { "Allow: GET\r\n" } else { "" },
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(&self.body)?;
        stream.flush()
    }
}

impl Site<'_> {
    /// Reads requests and answers them, until either side has enough.
    fn converse(&self, mut stream: &TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_write_timeout(Some(SILENCE))?;
        stream.set_nodelay(true)?;
        let mut received = Vec::new();
        let mut piece = [0; 4096];
        loop {
            let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
            let mut request = httparse::Request::new(&mut headers);
            match request.parse(&received) {
                Ok(httparse::Status::Complete(length)) => {
                    let answer = self.answer(&request);
                    // What has a body is not asked for in earnest, and where it ends is not worth finding out.
                    let close = answer.status != 200 || asks_to_close(&request);
                    if close {
                        return self.finish(stream, &answer);
                    }
                    answer.send(stream, self, close)?;
                    received.drain(..length);
                }
                Ok(httparse::Status::Partial) if received.len() < MOST_REQUEST_BYTES => {
                    let n = stream.read(&mut piece)?;
                    if n == 0 {
                        return Ok(());
                    }
                    received.extend_from_slice(&piece[..n]);
                }
                Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
                    return self.finish(stream, &Answer::text(431, "the request is too long"));
                }
                Err(_) => return self.finish(stream, &Answer::text(400, "not a request")),
            }
        }
    }

    /// Sends the last answer of a connection, and lets the other side finish talking: closing while it does would
    /// throw the answer away.
    fn finish(&self, mut stream: &TcpStream, answer: &Answer) -> io::Result<()> {
        answer.send(stream, self, true)?;
        stream.shutdown(Shutdown::Write)?;
        stream.set_read_timeout(Some(Duration::from_millis(500)))?;
        let mut piece = [0; 4096];
        let mut left = 4 * MOST_REQUEST_BYTES;
        while left > 0 {
            let n = stream.read(&mut piece)?;
            if n == 0 {
                break;
            }
            left = left.saturating_sub(n);
        }
        Ok(())
    }

    fn answer(&self, request: &httparse::Request) -> Answer {
        let mut hosts = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("host"));
        let host = hosts.next().map(|header| header.value);
        let known = |host: &[u8]| self.hosts.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(host));
        if hosts.next().is_some() || !host.is_some_and(known) {
            return Answer::text(403, "this address is for the machine it runs on");
        }
        let target = request.path.unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let Some(path) = without_prefix(path, &self.prefix) else { return Answer::text(404, "nothing here") };
        if request.method != Some("GET") {
            return Answer::text(405, "only GET is answered");
        }
        let body = |header: &&httparse::Header| {
            header.name.eq_ignore_ascii_case("transfer-encoding")
                || (header.name.eq_ignore_ascii_case("content-length") && header.value != b"0")
        };
        if request.headers.iter().any(|header| body(&header)) {
            return Answer::text(400, "requests have no body here");
        }
        self.get(path, query).unwrap_or_else(|| Answer::text(404, "nothing here"))
    }

    /// What is at a path below the token.
    fn get(&self, path: &str, query: &str) -> Option<Answer> {
        let number = |name: &str| parameter(query, name)?.parse::<u64>().ok();
        match path {
            "" => {
                let kind = "text/html; charset=utf-8";
                Some(Answer { status: 200, kind, body: self.page.clone().into_bytes() })
            }
            "meta.json" => Some(Answer::json(self.meta.clone())),
            "search" => {
                let limit = number("limit").map_or(1000, |limit| limit.min(MOST_HITS as u64) as usize);
                Some(match self.timeline.search(&parameter(query, "q")?, limit) {
                    Ok(found) => Answer::json(found.to_string()),
                    Err(error) => Answer::text(400, &error.to_string()),
                })
            }
            "select" => {
                // A view reaches a little beyond both ends.
                let begin = parameter(query, "from")?.parse::<i64>().ok()?.max(0) as u64;
                let end = parameter(query, "to")?.parse::<i64>().ok()?.max(0) as u64;
                Some(Answer::json(self.timeline.select(begin, end).to_string()))
            }
            _ => {
                let mut numbers = path.strip_prefix("tile/")?.split('/').map(|n| n.parse::<u64>().ok());
                let (row, level, index) = (numbers.next()??, numbers.next()??, numbers.next()??);
                let (row, level) = (usize::try_from(row).ok()?, u32::try_from(level).ok()?);
                if numbers.next().is_some() || !self.timeline.has_tile(row, level, index) {
                    return None;
                }
                // One byte: no bins.
                let body = self.timeline.tile(row, level, index).unwrap_or_else(|| vec![0]);
                Some(Answer { status: 200, kind: "application/octet-stream", body })
            }
        }
    }
}

fn asks_to_close(request: &httparse::Request) -> bool {
    let closes = |header: &httparse::Header| {
        header.name.eq_ignore_ascii_case("connection") && header.value.eq_ignore_ascii_case(b"close")
    };
    request.version != Some(1) || request.headers.iter().any(closes)
}

/// The rest of a path that begins with `prefix`. Takes as long whichever byte differs: how much of a token is right is
/// not to be found out by trying.
fn without_prefix<'p>(path: &'p str, prefix: &str) -> Option<&'p str> {
    let begin = path.as_bytes().get(..prefix.len())?;
    let differences = begin.iter().zip(prefix.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    if differences == 0 { path.get(prefix.len()..) } else { None }
}

/// A parameter of a query, decoded.
fn parameter(query: &str, name: &str) -> Option<String> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(key, _)| *key == name)?;
    let bytes = value.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let hex = |i: usize| bytes.get(i).and_then(|&b| (b as char).to_digit(16));
        at += 1;
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let (high, low) = (hex(at)?, hex(at + 1)?);
                at += 2;
                (high * 16 + low) as u8
            }
            _ => byte,
        });
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        let query = "q=a%20b%2Bc+d%C3%A9&limit=10&bad=%4&worse=%ff";
        assert_eq!(parameter(query, "q").as_deref(), Some("a b+c dé"));
        assert_eq!(parameter(query, "limit").as_deref(), Some("10"));
        assert_eq!(parameter(query, "bad"), None);
        assert_eq!(parameter(query, "worse"), None, "not UTF-8");
        assert_eq!(parameter(query, "none"), None);
    }

    #[test]
    fn only_the_whole_token_opens_anything() {
        assert_eq!(without_prefix("/abc/meta.json", "/abc/"), Some("meta.json"));
        for path in ["", "/", "/abc", "/abd/meta.json", "//abc/", "/abc0/"] {
            assert_eq!(without_prefix(path, "/abc/"), None, "{path}");
        }
    }
}
