//! The messages of JSON-RPC 2.0, one a line.

use serde_json::{Map, Value, json};
use std::io::{BufRead, Read};

/// A line is no longer than this. Questions are short, and a client that sends more is broken.
const LINE_LIMIT: u64 = 1 << 20;

/// What a client says.
#[derive(Debug, PartialEq)]
pub(super) enum Message {
    /// A question.
    Request { id: Value, method: String, parameters: Value },
    /// The client no longer waits for the answer to this question.
    Cancel(Value),
    /// What nobody answers: other notifications, and answers to questions that were never asked.
    Unanswered,
    /// Not a message.
    Invalid(Problem),
}

/// Why a question has no answer, by the rules of JSON-RPC.
#[derive(Debug, PartialEq)]
pub(super) struct Problem {
    code: i32,
    text: String,
}

impl Problem {
    /// Parameters that do not fit the method.
    pub(super) fn invalid_parameters(text: impl Into<String>) -> Problem {
        Problem { code: -32602, text: text.into() }
    }

    /// There is no such method.
    pub(super) fn method_not_found(method: &str) -> Problem {
        Problem { code: -32601, text: format!("there is no method \"{method}\"") }
    }

    fn not_json(text: String) -> Message {
        Message::Invalid(Problem { code: -32700, text })
    }

    fn no_message(text: &str) -> Message {
        Message::Invalid(Problem { code: -32600, text: text.to_owned() })
    }

    /// The problem as the answer to question `id`.
    pub(super) fn answer(self, id: &Value) -> Value {
        json!({ "jsonrpc": "2.0", "id": id, "error": { "code": self.code, "message": self.text } })
    }
}

/// Reads messages until the input ends or `each` returns false.
pub(super) fn read(mut input: impl BufRead, mut each: impl FnMut(Message) -> bool) {
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut input).take(LINE_LIMIT).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let is_whole = line.ends_with(b"\n") || (line.len() as u64) < LINE_LIMIT;
        let message = if is_whole {
            if line.trim_ascii().is_empty() {
                continue;
            }
            parse(&line)
        } else {
            if pass_line(&mut input).is_err() {
                return;
            }
            Problem::not_json(format!("a message is longer than {LINE_LIMIT} bytes"))
        };
        if !each(message) {
            return;
        }
    }
}

/// Reads to the end of a line, and keeps nothing.
fn pass_line(input: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        let end = buffer.iter().position(|&byte| byte == b'\n');
        let length = end.map_or(buffer.len(), |at| at + 1);
        input.consume(length);
        if end.is_some() || length == 0 {
            return Ok(());
        }
    }
}

fn parse(line: &[u8]) -> Message {
    let object: Map<String, Value> = match serde_json::from_slice(line) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return Problem::no_message("a message is an object; several at once are not understood"),
        Err(why) => return Problem::not_json(format!("a message is not JSON: {why}")),
    };
    let parameters = object.get("params").cloned().unwrap_or_default();
    let Some(method) = object.get("method") else {
        let is_answer = object.contains_key("result") || object.contains_key("error");
        return if is_answer { Message::Unanswered } else { Problem::no_message("a message without a method") };
    };
    let Some(method) = method.as_str() else { return Problem::no_message("the method is not a string") };
    match object.get("id") {
        Some(id) if id.is_string() || id.is_number() => {
            Message::Request { id: id.clone(), method: method.to_owned(), parameters }
        }
        Some(_) => Problem::no_message("an id is a string or a number"),
        None if method == "notifications/cancelled" => Message::Cancel(parameters["requestId"].clone()),
        None => Message::Unanswered,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<Message> {
        let mut messages = Vec::new();
        read(text.as_bytes(), |message| {
            messages.push(message);
            true
        });
        messages
    }

    #[test]
    fn messages_are_told_apart() {
        let text = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}

{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}
{"jsonrpc":"2.0","id":7,"result":{}}"#;
        let ping = Message::Request { id: 1.into(), method: "ping".to_owned(), parameters: Value::Null };
        let expected = [ping, Message::Unanswered, Message::Cancel("a".into()), Message::Unanswered];
        assert_eq!(all(text), expected);
    }

    #[test]
    fn what_is_no_message_is_answered_by_its_code_and_the_next_is_read() {
        for (line, code) in [
            ("{\"id\":1,", -32700),
            ("\u{0}", -32700),
            ("[{\"id\":1,\"method\":\"ping\"}]", -32600),
            ("17", -32600),
            ("{\"id\":null,\"method\":\"ping\"}", -32600),
            ("{\"id\":1,\"method\":2}", -32600),
            ("{\"id\":1}", -32600),
        ] {
            let messages = all(&format!("{line}\n{{\"id\":2,\"method\":\"ping\"}}\n"));
            let [Message::Invalid(problem), Message::Request { id, .. }] = &messages[..] else {
                panic!("{line}: {messages:?}");
            };
            assert_eq!((problem.code, id), (code, &Value::from(2)), "{line}");
        }
    }

    #[test]
    fn a_line_without_end_costs_its_own_message_alone() {
        let long = "x".repeat(3 * LINE_LIMIT as usize);
        let messages = all(&format!("{{\"id\":1,\"method\":\"{long}\"}}\n{{\"id\":2,\"method\":\"ping\"}}\n"));
        assert_eq!(messages.len(), 2);
        assert!(matches!(&messages[0], Message::Invalid(problem) if problem.text.contains("1048576 bytes")));
        assert!(matches!(&messages[1], Message::Request { .. }));
    }
}
