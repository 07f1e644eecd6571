//! Reads JSON by its tokens: the fields of objects, without copying or checking more than is asked for.

/// Text and the tokens in it.
#[derive(Clone, Copy)]
pub struct Tape<'t> {
    /// The text.
    pub text: &'t [u8],
    /// Positions in `text`, ascending.
    pub tokens: &'t [u32],
}

/// A JSON value, not yet looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Value<'t> {
    /// The key was not there.
    #[default]
    Missing,
    /// A number, `true`, `false`, `null`, or something that is no JSON, such as `NaN`.
    Bare(&'t [u8]),
    /// A string as it is written, escapes and all, without its quotes.
    Text(&'t [u8]),
    /// An object or an array: the index of its opening bracket's token.
    Nested(usize),
}

impl<'t> Tape<'t> {
    /// The byte a token stands at.
    pub fn byte(&self, token: usize) -> Option<u8> {
        self.tokens.get(token).map(|&at| self.text[at as usize])
    }

    /// The token after the bracket that closes the one at `open`, if it is there.
    pub fn after(&self, open: usize) -> Option<usize> {
        let mut depth = 0usize;
        for (i, &at) in self.tokens.get(open..)?.iter().enumerate() {
            match self.text[at as usize] {
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth <= 1 => return Some(open + i + 1),
                b'}' | b']' => depth -= 1,
                _ => {}
            }
        }
        None
    }

    /// As [`Tape::after`], with a look behind every string: after an odd quote, strings and what lies between them have
    /// changed places, and counting brackets would run on into other events.
    pub fn nest(&self, open: usize) -> Nest {
        let mut depth = 0usize;
        let mut at = open;
        while let Some(&token) = self.tokens.get(at) {
            match self.text[token as usize] {
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth <= 1 => return Nest::Whole(at + 1),
                b'}' | b']' => depth -= 1,
                _ => {
                    let Some(&close) = self.tokens.get(at + 1) else { return Nest::Cut };
                    let behind = self.text[close as usize + 1..].iter().find(|byte| !byte.is_ascii_whitespace());
                    // A second string is a comma too few and no quote too many.
                    if !matches!(behind, None | Some(b':' | b',' | b'}' | b']' | b'"')) {
                        return Nest::Broken;
                    }
                    at += 1;
                }
            }
            at += 1;
        }
        Nest::Cut
    }

    /// The fields of the object whose opening bracket is token `open`.
    pub fn fields(self, open: usize) -> Fields<'t> {
        self.fields_from(open + 1)
    }

    /// The fields of an object from the one on whose key begins at token `key`.
    pub fn fields_from(self, key: usize) -> Fields<'t> {
        Fields { tape: self, at: key }
    }

    /// The nested values of the array whose opening bracket is token `open`.
    pub fn elements(self, open: usize) -> impl Iterator<Item = usize> {
        let mut at = open + 1;
        std::iter::from_fn(move || {
            while self.byte(at) == Some(b'"') {
                at += 2;
            }
            let element = at;
            matches!(self.byte(at)?, b'{' | b'[').then_some(())?;
            at = self.after(at)?;
            Some(element)
        })
    }

    /// The values of the array whose opening bracket is token `open`, as far as they are there.
    pub fn values(self, open: usize) -> Vec<Value<'t>> {
        let mut values = Vec::new();
        let Some(&start) = self.tokens.get(open) else { return values };
        let mut from = start as usize + 1;
        let mut at = open + 1;
        while let Some(&token) = self.tokens.get(at) {
            let token = token as usize;
            let bare = self.text[from..token].split(|&b| b == b',').map(<[u8]>::trim_ascii);
            values.extend(bare.filter(|text| !text.is_empty()).map(Value::Bare));
            let last = match self.text[token] {
                b'"' => {
                    let Some(&close) = self.tokens.get(at + 1) else { break };
                    values.push(Value::Text(&self.text[token + 1..close as usize]));
                    at + 1
                }
                b'{' | b'[' => {
                    let Some(after) = self.after(at) else { break };
                    values.push(Value::Nested(at));
                    after - 1
                }
                _ => break,
            };
            from = self.tokens[last] as usize + 1;
            at = last + 1;
        }
        values
    }

    /// What is written of the array or object `open`, brackets included.
    pub fn whole(&self, open: usize) -> &'t [u8] {
        let end = self.after(open).map_or(self.text.len(), |after| self.tokens[after - 1] as usize + 1);
        &self.text[self.tokens[open] as usize..end]
    }

    /// What is written inside the brackets of the array or object `open`, e.g. `1, 2, 3`.
    pub fn inner(&self, open: usize) -> &'t [u8] {
        let end = self.after(open).map_or(self.text.len(), |after| self.tokens[after - 1] as usize);
        &self.text[self.tokens[open] as usize + 1..end]
    }
}

/// What became of looking for the end of an object or array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nest {
    /// It is all there; the token after it.
    Whole(usize),
    /// The tokens end before it does.
    Cut,
    /// A string in it is followed by what JSON does not allow: a quote is too many or too few, and where it ends cannot
    /// be told from its brackets.
    Broken,
}

/// Walks the fields of one object.
pub struct Fields<'t> {
    tape: Tape<'t>,
    at: usize,
}

/// One step of [`Fields`].
pub enum Step<'t> {
    /// A key as written, and its value.
    Field(&'t [u8], Value<'t>),
    /// The object ended; the token after it.
    End(usize),
    /// The tokens end before the object does.
    Cut,
    /// This is no object; nothing more can be read from it.
    Broken,
}

impl<'t> Fields<'t> {
    /// The token after the last field.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The next field.
    #[inline]
    pub fn step(&mut self) -> Step<'t> {
        let Tape { text, tokens } = self.tape;
        // The token after the key tells where a bare value must have ended, so without it there is no field yet.
        let [key, close, next] = match tokens.get(self.at..) {
            Some([open, ..]) if text[*open as usize] == b'}' => return Step::End(self.at + 1),
            Some([open, ..]) if text[*open as usize] != b'"' => return Step::Broken,
            Some([open, close, next, ..]) => [*open as usize, *close as usize, *next as usize],
            _ => return Step::Cut,
        };
        let Some(start) = value_start(&text[close + 1..next]) else { return Step::Broken };
        let start = close + 1 + start;
        let key = &text[key + 1..close];
        self.at += 2;
        if start < next {
            return Step::Field(key, Value::Bare(bare(&text[start..next])));
        }
        match text[next] {
            b'"' => {
                let Some(&end) = tokens.get(self.at + 1) else { return Step::Cut };
                self.at += 2;
                Step::Field(key, Value::Text(&text[next + 1..end as usize]))
            }
            b'{' | b'[' => {
                let nested = self.at;
                match self.tape.nest(nested) {
                    Nest::Whole(after) => self.at = after,
                    Nest::Cut => return Step::Cut,
                    Nest::Broken => return Step::Broken,
                }
                Step::Field(key, Value::Nested(nested))
            }
            _ => Step::Broken,
        }
    }
}

impl<'t> Iterator for Fields<'t> {
    type Item = (&'t [u8], Value<'t>);

    /// The next field, of an object that is known to be whole.
    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self.step() {
            Step::Field(key, value) => Some((key, value)),
            _ => None,
        }
    }
}

/// Where the value begins in what stands between a key and the next token; `None` without a colon.
#[inline]
pub fn value_start(between: &[u8]) -> Option<usize> {
    let space = |from: usize| from + between[from..].iter().take_while(|b| b.is_ascii_whitespace()).count();
    let colon = space(0);
    (between.get(colon) == Some(&b':')).then(|| space(colon + 1))
}

/// A bare value ends at a comma or at white space.
#[inline]
fn bare(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|&b| b == b',' || b.is_ascii_whitespace()).unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::kineto::index::Indexer;

    fn fields_of(text: &str) -> Vec<(String, String)> {
        let mut indexer = Indexer::default();
        indexer.index(text.as_bytes(), 0, true);
        let tape = Tape { text: text.as_bytes(), tokens: indexer.tokens() };
        let show = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
        let fields = tape.fields(0).map(|(key, value)| {
            let value = match value {
                Value::Bare(text) => show(text),
                Value::Text(text) => format!("'{}'", show(text)),
                Value::Nested(open) => format!("({})", show(tape.inner(open))),
                Value::Missing => unreachable!("no such field"),
            };
            (show(key), value)
        });
        fields.collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect()
    }

    #[test]
    fn fields_of_every_kind_are_found() {
        let text = r#"{ "a":1,"b" : "x, \"y" ,"c":[1, {"a":9}],"d":null, "e":{},"f":NaN ,"g":""}"#;
        let expected = [
            ("a", "1"),
            ("b", r#"'x, \"y'"#),
            ("c", r#"(1, {"a":9})"#),
            ("d", "null"),
            ("e", "()"),
            ("f", "NaN"),
            ("g", "''"),
        ];
        assert_eq!(fields_of(text), pairs(&expected));
        assert_eq!(fields_of("{}"), []);
    }

    #[test]
    fn an_odd_quote_inside_is_noticed_where_it_stands() {
        for (text, expected) in [
            (r#"{"a": ["b", {"c" : "d"} ]}, 1"#, Nest::Whole(14)),
            (r#"{"a": ["b", {"c" : "#, Nest::Cut),
            (r#"{"a": "b"c", "d": 1}, {"e": "f"g"}"#, Nest::Broken),
        ] {
            let mut indexer = Indexer::default();
            indexer.index(text.as_bytes(), 0, true);
            let tape = Tape { text: text.as_bytes(), tokens: indexer.tokens() };
            assert_eq!(tape.nest(0), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_object_ends_the_fields() {
        assert_eq!(fields_of(r#"{"a":1,"b" 2,"c":3}"#), pairs(&[("a", "1")]));
        assert_eq!(fields_of(r#"{"a":}"#), []);
        assert_eq!(fields_of(r#"{[1]}"#), []);
        assert_eq!(fields_of(r#"{"a":1,"b":"#), pairs(&[("a", "1")]));
    }

    #[test]
    fn values_of_every_kind_are_in_order() {
        let text = br#"["x", 1 ,null,[3,"]"] , {"a":1},2,"",true]"#;
        let mut indexer = Indexer::default();
        indexer.index(text, 0, true);
        let tape = Tape { text, tokens: indexer.tokens() };
        let values = tape.values(0);
        let bare = |text: &'static str| Value::Bare(text.as_bytes());
        let [a, b] = [values[3], values[4]].map(|value| match value {
            Value::Nested(open) => tape.inner(open),
            _ => b"",
        });
        assert_eq!((a, b), (&br#"3,"]""#[..], &br#""a":1"#[..]));
        let ends = [values[0], values[1], values[2], values[5], values[6], values[7]];
        assert_eq!(ends, [Value::Text(b"x"), bare("1"), bare("null"), bare("2"), Value::Text(b""), bare("true")]);
        assert_eq!(values.len(), 8);
    }

    #[test]
    fn elements_are_the_nested_values_alone() {
        let text = br#"["x", {"a":1}, 2, [3], {"b":[]}]"#;
        let mut indexer = Indexer::default();
        indexer.index(text, 0, true);
        let tape = Tape { text, tokens: indexer.tokens() };
        let inner: Vec<_> = tape.elements(0).map(|e| tape.inner(e)).collect();
        assert_eq!(inner, [&b"\"a\":1"[..], b"3", b"\"b\":[]"]);
    }
}
