//! As much of SQL's spelling as is needed to cut statements, complete words and name what Polars did not understand.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A keyword, a name, a function.
    Word,
    /// A name in double quotes or backticks.
    Quoted,
    /// Text in single quotes.
    Text,
    /// A number.
    Number,
    /// A single other character.
    Symbol,
}

/// One token and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// What it is.
    pub kind: TokenKind,
    /// The text as it was typed, with its quotes.
    pub text: &'a str,
    /// Byte at which it begins.
    pub at: usize,
}

impl Token<'_> {
    /// Whether it is this keyword, in any case.
    pub fn is(&self, word: &str) -> bool {
        self.kind == TokenKind::Word && self.text.eq_ignore_ascii_case(word)
    }

    /// Whether it is this character.
    pub fn is_symbol(&self, symbol: &str) -> bool {
        self.kind == TokenKind::Symbol && self.text == symbol
    }

    /// The name it stands for: a word as it is, a quoted name without its quotes.
    pub fn name(&self) -> Option<String> {
        match self.kind {
            TokenKind::Word => Some(self.text.to_owned()),
            TokenKind::Quoted => {
                let quote = &self.text[..1];
                let inner = self.text.strip_prefix(quote)?;
                let inner = inner.strip_suffix(quote).unwrap_or(inner);
                Some(inner.replace(&quote.repeat(2), quote))
            }
            _ => None,
        }
    }
}

/// All tokens of `sql`; comments and space are left out. Anything is accepted: what is open at the end ends there.
pub fn tokens(sql: &str) -> Vec<Token<'_>> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some((kind, length)) = next(&sql[at..]) {
        if let Some(kind) = kind {
            out.push(Token { kind, text: &sql[at..at + length], at });
        }
        at += length;
    }
    out
}

/// Kind and length of what `rest` begins with; no kind for space and comments.
fn next(rest: &str) -> Option<(Option<TokenKind>, usize)> {
    let first = rest.chars().next()?;
    let up_to = |end: &str| rest.find(end).map_or(rest.len(), |i| i + end.len());
    let run = |more: fn(char) -> bool| rest.find(|c| !more(c)).unwrap_or(rest.len());
    Some(match first {
        _ if first.is_whitespace() => (None, run(char::is_whitespace)),
        '-' if rest.starts_with("--") => (None, up_to("\n")),
        '/' if rest.starts_with("/*") => (None, comment(rest)),
        '\'' => (Some(TokenKind::Text), quoted(rest, '\'')),
        '"' | '`' => (Some(TokenKind::Quoted), quoted(rest, first)),
        _ if first.is_ascii_digit() => (Some(TokenKind::Number), run(|c| c.is_ascii_alphanumeric() || c == '.')),
        _ if first.is_alphanumeric() || first == '_' => {
            (Some(TokenKind::Word), run(|c| c.is_alphanumeric() || c == '_' || c == '$'))
        }
        _ => (Some(TokenKind::Symbol), first.len_utf8()),
    })
}

/// Length of the quoted text that `rest` begins with; a doubled quote stands for itself.
fn quoted(rest: &str, quote: char) -> usize {
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((i, c)) = characters.next() {
        if c == quote && characters.next_if(|(_, next)| *next == quote).is_none() {
            return i + 1;
        }
    }
    rest.len()
}

/// Length of the comment that `rest` begins with. Comments nest.
fn comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        let (step, change) = match &rest.as_bytes()[at..] {
            [b'/', b'*', ..] => (2, 1),
            [b'*', b'/', ..] => (2, -1),
            _ => (1, 0),
        };
        at += step;
        depth += change;
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// The statements of `sql`, cut at semicolons, those without a token left out. The second value says whether the last
/// one is still open: no semicolon behind it.
pub fn statements(sql: &str) -> (Vec<&str>, bool) {
    let mut out = Vec::new();
    let mut from: Option<usize> = None;
    let mut end = 0;
    for token in tokens(sql) {
        if token.is_symbol(";") {
            out.extend(from.take().map(|from| &sql[from..end]));
            continue;
        }
        from.get_or_insert(token.at);
        end = token.at + token.text.len();
    }
    let open = from.is_some();
    out.extend(from.map(|from| &sql[from..end]));
    (out, open)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(sql: &str) -> Vec<&str> {
        tokens(sql).iter().map(|t| t.text).collect()
    }

    #[test]
    fn quotes_and_comments_hide_what_is_in_them() {
        assert_eq!(texts("a -- b\n'c''d;' /* x /* y */ ; */ \"e\"\"f\""), ["a", "'c''d;'", "\"e\"\"f\""]);
        assert_eq!(tokens("\"e\"\"f\"")[0].name().as_deref(), Some("e\"f"));
        assert_eq!(texts("x>=1.5e3,y"), ["x", ">", "=", "1.5e3", ",", "y"]);
    }

    #[test]
    fn what_is_open_at_the_end_ends_there() {
        assert_eq!(texts("'a"), ["'a"]);
        assert_eq!(texts("/* a"), [""; 0]);
        assert_eq!(tokens("\"é")[0].name().as_deref(), Some("é"));
        assert_eq!(tokens("`")[0].name().as_deref(), Some(""));
    }

    #[test]
    fn statements_are_cut_at_semicolons_outside_quotes() {
        assert_eq!(statements("SELECT ';' ; ; SELECT 2 -- ;\n"), (vec!["SELECT ';'", "SELECT 2"], true));
        assert_eq!(statements("SELECT 1;"), (vec!["SELECT 1"], false));
        assert_eq!(statements(" ; -- nothing"), (vec![], false));
    }
}
