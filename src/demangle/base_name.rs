//! The short name of a function: what is left without scopes, template arguments, parameters and result.

/// Operators made of symbols, longest first, so that `<<=` is not read as `<<`.
const SYMBOLS: &[&str] = &[
    "<=>", "<<=", ">>=", "->*", "()", "[]", "<<", ">>", "<=", ">=", "->", "==", "!=", "&&", "||", "++", "--", "+=",
    "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<", ">", "+", "-", "*", "/", "%", "&", "|", "^", "~", "!", "=", ",",
];

pub(super) const ANONYMOUS: &str = "(anonymous namespace)";

/// Returns the name of a function without namespaces, template arguments, parameters and return type.
///
/// `void at::native::foo<int>(int)` gives `foo`. Understands the notations of c++filt, nvprof and nsys. What has
/// no such parts, like `[CUDA memset]` or a name that is still mangled, is returned whole.
pub fn base_name(demangled: &str) -> &str {
    let mut at = 0;
    let mut last = None;
    while at < demangled.len() {
        let component = Component::read(demangled, at);
        let name = &demangled[component.start..component.end];
        // Appended by a compiler pass, behind the last name there is.
        if name.starts_with("[clone") {
            break;
        }
        if !name.is_empty() && name != "decltype" {
            last = Some(name);
        }
        at = component.after;
        let rest = &demangled[at..];
        // The second is `void (*name(int)) (char)`: a function that returns a pointer to a function.
        let opens_declarator = name.is_empty() && (rest.starts_with("(*") || rest.starts_with("(&"));
        if rest.starts_with("::") || opens_declarator {
            at += 2;
        } else if rest.starts_with('(') {
            at = group_end(demangled, at);
            if name == "decltype" {
                continue;
            }
            // Parameters end the name, unless it is the scope of something local.
            match scope_after_parameters(&demangled[at..]) {
                Some(skipped) => at += skipped,
                None => break,
            }
        } else if let Some(next) = rest.chars().next() {
            // Between a result type and the name: spaces, stars, references.
            if component.after == component.start {
                at += next.len_utf8();
            }
        }
    }
    last.unwrap_or(demangled)
}

/// One part of a qualified name, without what the next part starts with.
struct Component {
    start: usize,
    /// Where template arguments and tags begin.
    end: usize,
    after: usize,
}

impl Component {
    fn read(text: &str, start: usize) -> Component {
        if let Some(end) = operator_end(text, start) {
            let spaces = text[end..].len() - text[end..].trim_start().len();
            let args = end + spaces;
            let after = if text[args..].starts_with('<') { group_end(text, args) } else { end };
            return Component { start, end, after };
        }
        let bytes = text.as_bytes();
        let mut at = start;
        let mut end = None;
        while at < bytes.len() {
            match bytes[at] {
                b' ' | b'*' | b'&' | b')' | b',' => break,
                b':' if text[at..].starts_with("::") => break,
                b'(' if at == start && text[at..].starts_with(ANONYMOUS) => at += ANONYMOUS.len(),
                // `void (*name(int)) (char)`: a function that returns a pointer to a function.
                b'(' if at == start && matches!(bytes.get(at + 1), Some(b'*' | b'&')) => {
                    return Component { start, end: start, after: start };
                }
                b'(' => break,
                b'<' | b'[' | b'{' => {
                    // At the start it is a name of its own, such as `{lambda()#1}` or `<unnamed>`.
                    if at > start {
                        end = end.or(Some(at));
                    }
                    at = group_end(text, at);
                }
                _ if end.is_some() => break,
                _ => at += 1,
            }
        }
        Component { start, end: end.unwrap_or(at), after: at }
    }
}

/// Finds the end of an operator's name that starts at `start`, if one does.
pub(super) fn operator_end(text: &str, start: usize) -> Option<usize> {
    let rest = &text[start..];
    if let Some(symbol) = rest.strip_prefix("__operator_") {
        let length = symbol.find("__")?;
        return Some(start + "__operator_".len() + length + 2);
    }
    let tail = rest.strip_prefix("operator")?;
    let at = start + "operator".len();
    // nsys puts a space before the symbol.
    let spaced = tail.strip_prefix(' ').unwrap_or(tail);
    if let Some(symbol) = SYMBOLS.iter().find(|symbol| spaced.starts_with(**symbol)) {
        return Some(at + (tail.len() - spaced.len()) + symbol.len());
    }
    if !tail.starts_with([' ', '"']) {
        return None;
    }
    // `operator new[]`, `operator"" _x`, or a conversion, whose type may have parentheses of its own: then the last
    // ones are the parameters.
    let mut end = at;
    let mut params = None;
    while end < text.len() {
        end = match text.as_bytes()[end] {
            b'<' if tail.starts_with('"') => break,
            b'<' => group_end(text, end),
            b'(' => {
                params = Some(end);
                let after = group_end(text, end);
                if scope_after_parameters(&text[after..]).is_some() {
                    break;
                }
                after
            }
            _ => end + text[end..].chars().next().map_or(1, char::len_utf8),
        };
    }
    Some(params.unwrap_or(end))
}

/// Finds the end of the bracketed group that starts at `start`; the end of the text if it never closes.
pub(super) fn group_end(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let mut open = Vec::new();
    let mut at = start;
    while at < bytes.len() {
        if bytes[at] == b'o'
            && text.is_char_boundary(at)
            && let Some(tail) = text[at..].strip_prefix("operator")
            && let Some(symbol) = SYMBOLS.iter().find(|symbol| tail.starts_with(**symbol))
        {
            at += "operator".len() + symbol.len();
            continue;
        }
        match bytes[at] {
            c @ (b'(' | b'[' | b'{' | b'<') => open.push(c),
            // A comparison inside parentheses closes nothing, and neither does an arrow.
            b'>' if open.last() == Some(&b'<') && bytes[at - 1] != b'-' => {
                open.pop();
            }
            c @ (b')' | b']' | b'}') => {
                let opener = match c {
                    b')' => b'(',
                    b']' => b'[',
                    _ => b'{',
                };
                if let Some(place) = open.iter().rposition(|&c| c == opener) {
                    open.truncate(place);
                }
            }
            _ => {}
        }
        at += 1;
        if open.is_empty() {
            break;
        }
    }
    at
}

/// Skips `const`, `&` and the like behind parameters, up to and including a `::`; `None` if there is none.
pub(super) fn scope_after_parameters(text: &str) -> Option<usize> {
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        if let Some(tail) = rest.strip_prefix("::") {
            return Some(text.len() - tail.len());
        }
        rest = ["const", "volatile", "&&", "&"].iter().find_map(|word| rest.strip_prefix(word))?;
    }
}
