//! The walk gives the same however the text arrives and wherever it stops.

use super::*;

/// Writes down everything it is told.
#[derive(Default, Debug, PartialEq)]
struct Log(Vec<String>);

impl Visitor for Log {
    fn wants(&mut self, key: &[u8]) -> bool {
        key.starts_with(b"want")
    }

    fn header(&mut self, key: &[u8], value: Value, tape: Tape) {
        let value = match value {
            Value::Nested(open) => format!("({})", show(tape.inner(open))),
            Value::Bare(text) => show(text),
            Value::Text(text) => format!("'{}'", show(text)),
            Value::Missing => unreachable!("a field has a value"),
        };
        self.0.push(format!("{}={value}", show(key)));
    }

    fn event(&mut self, event: &Event, _: Tape, offset: u64) {
        let name = if let Value::Text(name) = event.name { show(name) } else { "?".to_owned() };
        self.0.push(format!("{name}@{offset}"));
    }

    fn broken(&mut self, offset: u64) {
        self.0.push(format!("broken@{offset}"));
    }

    fn oversized(&mut self, offset: u64) {
        self.0.push(format!("oversized@{offset}"));
    }

    fn stray_comma(&mut self, offset: u64) {
        self.0.push(format!("comma@{offset}"));
    }
}

fn show(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

/// What is logged, and how it ends, if the text comes in pieces of this many bytes.
fn walk(text: &[u8], piece: usize) -> (Vec<String>, End, u64) {
    let mut pieces = text.chunks(piece);
    let mut source = |into: &mut Vec<u8>| {
        let next = pieces.next();
        into.extend_from_slice(next.unwrap_or_default());
        next.is_some()
    };
    let mut document = Document::new(&mut source);
    let mut log = Log::default();
    let end = document.walk(&mut log);
    let rest = if let End::Closed(_) = end { document.rest() } else { 0 };
    (log.0, end, rest)
}

const OBJECT: &str = r#"
{ "a": {"traceEvents": [{"name":"not this"}]}, "want1" : 17 , "b\"]}": "]}\\",
  "want2": {"x": [1, 2]},"want3":"s\"t", "want4":[],
  "traceEvents" : [ {"ph":"X","name":"one {\"[","args":{"a":[{"b":"}"}]}},{"name":"two"} ,
  null, 3, "stray", [{"name":"nested"}], {"name" "broken"}, {"name":"three\\","x":1}, ],
  "c": [[]], "want5":NaN, "want\u0036":true}  "#;

#[test]
fn every_piece_size_gives_the_same() {
    let at = |what: &str| OBJECT.find(what).expect("it is there");
    let expected = [
        "want1=17".to_owned(),
        r#"want2=("x": [1, 2])"#.to_owned(),
        r#"want3='s\"t'"#.to_owned(),
        "want4=()".to_owned(),
        format!(r#"one {{\"[@{}"#, at(r#"{"ph""#)),
        format!("two@{}", at(r#"{"name":"two"#)),
        format!("broken@{}", at(r#""stray"#)),
        format!("broken@{}", at(r#"[{"name":"nested"#)),
        format!("broken@{}", at(r#"{"name" "broken"#)),
        format!(r"three\\@{}", at(r#"{"name":"three"#)),
        "want5=NaN".to_owned(),
        "want6=true".to_owned(),
    ];
    for piece in 1..=OBJECT.len() {
        let (log, end, rest) = walk(OBJECT.as_bytes(), piece);
        assert_eq!(log, expected, "pieces of {piece}");
        assert_eq!((end, rest), (End::Closed(OBJECT.len() as u64 - 2), 0), "pieces of {piece}");
    }
}

#[test]
fn a_bare_array_is_a_list_of_events() {
    for text in [
        r#"[{"name":"a"},{"name":"b"}]"#,
        r#"[{"name":"a"},{"name":"b"},]"#,
        "\u{feff} [{\"name\":\"a\"}, {\"name\":\"b\"}]",
    ] {
        for piece in 1..=text.len() {
            let (log, end, _) = walk(text.as_bytes(), piece);
            assert_eq!(log.len(), 2, "{text}");
            assert!(log[0].starts_with("a@") && log[1].starts_with("b@"), "{log:?}");
            assert_eq!(end, End::Closed(text.len() as u64));
        }
    }
}

#[test]
fn commas_without_an_item_are_told_wherever_pieces_end() {
    for (text, expected) in [
        (r#"[,{"name":"a"}]"#, &["comma@1", "a@2"][..]),
        (r#"[ , ,{"name":"a"} , ,{"name":"b"},,]"#, &["comma@2", "comma@4", "a@5", "comma@20", "b@21", "comma@34"]),
        (r#"{"traceEvents":[,{"name":"a"}],"x":1}"#, &["comma@16", "a@17"]),
        // The comma behind the last item is one that many programs write, and other items have commas of their own.
        (r#"[{"name":"a"},]"#, &["a@1"]),
        (r#"[null, 3, {"name":"a"}, null, {"name":"b"}]"#, &["a@10", "b@30"]),
    ] {
        for piece in 1..=text.len() {
            let (log, end, _) = walk(text.as_bytes(), piece);
            assert_eq!(log, expected, "{text} in pieces of {piece}");
            assert_eq!(end, End::Closed(text.len() as u64), "{text} in pieces of {piece}");
        }
    }
}

#[test]
fn every_prefix_gives_its_whole_items() {
    let (all, ..) = walk(OBJECT.as_bytes(), 1000);
    let mut most = 0;
    for length in 0..OBJECT.trim_end().len() {
        for piece in [1, 7, 1000] {
            let (log, end, _) = walk(&OBJECT.as_bytes()[..length], piece);
            assert_eq!(log, all[..log.len()], "prefix of {length}");
            assert!(log.len() >= most, "prefix of {length} loses an item");
            most = log.len();
            match end {
                End::Cut(at, item) => {
                    assert_eq!(at, length as u64);
                    assert!(item.is_none_or(|item| item < at));
                }
                End::NotJson => assert_eq!(OBJECT[..length].trim(), ""),
                End::Closed(_) => panic!("prefix of {length} has no end"),
            }
        }
    }
    // The last field's value ends only with the bracket that no prefix has.
    assert_eq!(most, all.len() - 1);
}

#[test]
fn a_cut_names_the_item_it_is_in() {
    let (log, end, _) = walk(br#"[{"name":"a"}, {"name":"b"#, 5);
    assert_eq!((log.len(), end), (1, End::Cut(25, Some(15))));
    let (log, end, _) = walk(br#"[{"name":"a"}, "#, 5);
    assert_eq!((log.len(), end), (1, End::Cut(15, None)));
}

#[test]
fn what_follows_the_end_is_counted() {
    for piece in [1, 3, 100] {
        assert_eq!(walk(b"[] \n x y", piece), (vec![], End::Closed(2), 2));
    }
}

#[test]
fn what_is_no_json_is_none() {
    for text in ["", "  ", "x[]", "\u{feff}", "\u{e9}{}", "1", "\"[]\""] {
        assert_eq!(walk(text.as_bytes(), 2).1, End::NotJson, "{text}");
    }
}

#[test]
fn a_field_without_a_value_is_passed_over() {
    let (log, end, _) = walk(br#"{"want1":,"want2":1,"x","want3":2,"y":}"#, 3);
    assert_eq!(log, ["want1=", "want2=1", "broken@20", "want3=2"]);
    assert_eq!(end, End::Closed(39));
    let (log, end, _) = walk(br#"{"want1":}"#, 3);
    assert_eq!((log, end), (vec!["broken@1".to_owned()], End::Closed(10)));
}

#[test]
fn items_beyond_the_limit_are_left_out_and_the_next_are_read() {
    let long = "x".repeat(ITEM_LIMIT + 1);
    let deep = "[".repeat(1000) + &"]".repeat(1000);
    let event = format!(r#"{{"name":"big","args":{{"a":{deep},"b":"{long}\\"}}}}"#);
    let text =
        format!(r#"{{"want1":"{long}","skip":[{event}],"{long}":1,"traceEvents":[{event},{{"name":"b"}}]}}"#);
    let expected = [
        "oversized@1".to_owned(),
        format!("oversized@{}", text.rfind(&format!("\"{long}\":1")).expect("key")),
        format!("oversized@{}", text.rfind(r#"{"name":"big""#).expect("event")),
        format!("b@{}", text.len() - 14),
    ];
    for piece in [100_000, 1 << 20, ITEM_LIMIT, usize::MAX] {
        let (log, end, _) = walk(text.as_bytes(), piece);
        assert!(log == expected && end == End::Closed(text.len() as u64), "pieces of {piece}");
    }
}

#[test]
fn the_limit_is_exact_however_the_text_arrives() {
    for (more, kept) in [(0, true), (1, false)] {
        let event = r#"{"name":"a","b":""}"#;
        let text = format!(r#"[{{"name":"a","b":"{}"}}]"#, "x".repeat(ITEM_LIMIT + 1 - event.len() + more));
        for piece in [1 << 20, 3_000_001, usize::MAX] {
            let expected = if kept { "a@1" } else { "oversized@1" };
            assert_eq!(walk(text.as_bytes(), piece).0, [expected], "pieces of {piece}");
        }
    }
}

#[test]
fn a_quote_too_many_or_too_few_costs_one_event() {
    let event = |name: &str| format!(r#"{{"ph":"X","name":"{name}","args":{{"at":[1,{{"x":"y"}}]}}}}"#);
    let good = |name: &str| event(name);
    for (damaged, what) in [
        (event("a<5>\""), "a quote too many in the name"),
        (event("a").replacen("\"a\"", "\"a", 1), "a quote too few behind the name"),
        (event("a").replacen("\"a\"", "a\"", 1), "a quote too few before the name"),
        (event("C:\\dir\\").replace("\\\\", "\\"), "a backslash before the closing quote"),
        (event("a").replacen("\"y\"", "\"y\"\"", 1).replacen("\"x\"", "\"x", 1), "quotes inside of the arguments"),
        (event("a").replacen("}}", "}", 1), "a brace too few"),
    ] {
        let (first, second, third) = (good("first"), good("second"), good("third"));
        let text = format!("{{\"traceEvents\": [{first},\n{damaged},\n{second}, {third}], \"want1\": 5}}");
        let at = |what: &str| text.find(what).expect("it is there");
        let expected = [
            format!("first@{}", at(&first)),
            format!("broken@{}", at(&damaged)),
            format!("second@{}", at(&second)),
            format!("third@{}", at(&third)),
            "want1=5".to_owned(),
        ];
        for piece in [1, 9, 64, 10_000] {
            let (log, end, rest) = walk(text.as_bytes(), piece);
            assert_eq!((log.as_slice(), rest), (&expected[..], 0), "{what}, by {piece} bytes: {text}");
            assert_eq!(end, End::Closed(text.len() as u64), "{what}");
        }
    }
}
