//! The lines: one JSON object each way, `{"gpuprof":1,"do":"status"}` and `{"gpuprof":1,"ok":true,…}`.

use serde_json::{Map, Value, json};
use shim_config::control::{ANSWER_BYTES, VERSION};

/// A request that is well formed.
#[derive(Debug)]
pub(super) struct Request {
    /// What is asked for.
    pub(super) verb: String,
    /// All of the object.
    members: Map<String, Value>,
}

impl Request {
    /// Reads a line.
    ///
    /// Errors: why it is no request. Whoever sends such a thing speaks another language.
    pub(super) fn parse(line: &[u8]) -> Result<Request, String> {
        let value: Value = serde_json::from_slice(line).map_err(|e| format!("not a line of JSON: {e}"))?;
        let Value::Object(members) = value else { return Err("not a JSON object".to_owned()) };
        match members.get("gpuprof") {
            Some(version) if version.as_u64() == Some(VERSION) => {}
            Some(other) => {
                return Err(format!(
                    "version {other} of the protocol is not known here, {VERSION} is: use the gpuprof \
                                    that recorded"
                ));
            }
            None => return Err(format!("no request of gpuprof: it has no \"gpuprof\":{VERSION}")),
        }
        let verb = members.get("do").and_then(Value::as_str).ok_or("it does not say what to \"do\"")?.to_owned();
        Ok(Request { verb, members })
    }

    /// A member, unless it is null.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.members.get(key).filter(|value| !value.is_null())
    }

    /// A text.
    ///
    /// Errors: it is something else.
    pub(super) fn text(&self, key: &str) -> Result<Option<&str>, String> {
        let value = self.get(key);
        value.map(|v| v.as_str().ok_or_else(|| format!("\"{key}\" is no text"))).transpose()
    }

    /// A whole number.
    ///
    /// Errors: it is something else.
    pub(super) fn number(&self, key: &str) -> Result<Option<i64>, String> {
        let value = self.get(key);
        value.map(|v| v.as_i64().ok_or_else(|| format!("\"{key}\" is no whole number"))).transpose()
    }
}

/// The line that says it was done.
pub(super) fn done(facts: Map<String, Value>) -> Vec<u8> {
    let mut answer = Map::new();
    answer.insert("gpuprof".to_owned(), VERSION.into());
    answer.insert("ok".to_owned(), true.into());
    answer.extend(facts);
    let line = line(&Value::Object(answer));
    if line.len() <= ANSWER_BYTES { line } else { refused("the answer is too long for a line") }
}

/// The line that says it was not, and why.
pub(super) fn refused(why: &str) -> Vec<u8> {
    line(&json!({"gpuprof": VERSION, "ok": false, "error": why}))
}

fn line(value: &Value) -> Vec<u8> {
    let mut line = value.to_string().into_bytes();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_request_is_refused_with_a_reason() {
        for (line, why) in [
            ("", "not a line of JSON"),
            ("GET / HTTP/1.1", "not a line of JSON"),
            ("[1]", "not a JSON object"),
            ("{}", "no request of gpuprof"),
            ("{\"gpuprof\":2,\"do\":\"status\"}", "version 2"),
            ("{\"gpuprof\":1}", "what to \"do\""),
            ("{\"gpuprof\":1,\"do\":7}", "what to \"do\""),
        ] {
            let refused = Request::parse(line.as_bytes()).expect_err(line);
            assert!(refused.contains(why), "{line}: {refused}");
        }
        assert!(Request::parse("[".repeat(4000).as_bytes()).is_err(), "no stack overflow");
        assert!(Request::parse(b"\xff\xfe{").is_err());
    }

    #[test]
    fn members_have_the_type_that_is_asked_for_or_an_error_says_so() {
        let request =
            Request::parse(b"{\"gpuprof\":1,\"do\":\"x\",\"a\":\"b\",\"n\":5,\"o\":null}").expect("a request");
        assert_eq!(
            (request.verb.as_str(), request.text("a"), request.number("n")),
            ("x", Ok(Some("b")), Ok(Some(5)))
        );
        assert_eq!((request.text("o"), request.text("missing")), (Ok(None), Ok(None)));
        assert!(request.text("n").is_err() && request.number("a").is_err());
    }

    #[test]
    fn answers_are_single_lines() {
        let facts = [("text".to_owned(), Value::from("two\nlines"))].into_iter().collect();
        let line = done(facts);
        assert_eq!(line, b"{\"gpuprof\":1,\"ok\":true,\"text\":\"two\\nlines\"}\n");
        assert_eq!(refused("no"), b"{\"gpuprof\":1,\"ok\":false,\"error\":\"no\"}\n");
        let long = [("x".to_owned(), Value::from("y".repeat(ANSWER_BYTES)))].into_iter().collect();
        assert!(done(long).len() < 200);
    }
}
