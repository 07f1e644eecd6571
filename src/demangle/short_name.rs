//! A function's name for little room: it begins with what tells it from others.

use super::base_name::{ANONYMOUS, base_name, group_end, operator_end, scope_after_parameters};
use std::borrow::Cow;

/// Template arguments inside template arguments that are shown; deeper ones are three dots.
const DEEPEST: usize = 12;

/// Bytes after which nothing more is written: who has room for more reads the whole name.
const LONGEST: usize = 4096;

/// What else stands where a name is missing.
const NO_NAMES: [&str; 4] = [ANONYMOUS, "<unnamed>", "{anonymous}", "_GLOBAL__N__"];

/// Types whose values speak for themselves: `(int)4` and `int=4` are `4`.
const PLAIN_TYPES: [&str; 17] = [
    "bool",
    "char",
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned int",
    "unsigned",
    "long",
    "unsigned long",
    "long long",
    "unsigned long long",
    "__int64",
    "unsigned __int64",
    "size_t",
    "std::size_t",
];

/// The name of a function without result, scopes and parameters, and with its template arguments shortened the same way.
///
/// `void at::native::fill<(int)4, at::native::Add<float>>(int, T2)` gives `fill<4, Add<float>>`. Lambdas keep the function
/// that they are in, which is what people know them by: `scale::lambda#2`. A name without such parts is returned as it is.
pub fn short_name(demangled: &str) -> Cow<'_, str> {
    let base = base_name(demangled);
    if base.len() == demangled.len() {
        return Cow::Borrowed(demangled);
    }
    let start = base.as_ptr() as usize - demangled.as_ptr() as usize;
    let end = start + base.len();
    let mut short = String::new();
    if base.starts_with(['{', '[']) || base.replace(' ', "") == "operator()" {
        push_part(&demangled[..end], 0, &mut short);
        let result = short.rfind(' ').map_or(0, |space| space + 1);
        short.drain(..result);
    } else {
        short.push_str(base);
    }
    let rest = demangled[end..].trim_start();
    if rest.starts_with('<') {
        push_group(&rest[..group_end(rest, 0)], 0, &mut short);
    }
    Cow::Owned(short)
}

/// A bracketed list with each of its parts shortened.
fn push_group(group: &str, depth: usize, out: &mut String) {
    let mut chars = group.chars();
    let (open, close) = (chars.next(), chars.next_back());
    out.extend(open);
    if depth < DEEPEST {
        let mut list = chars.as_str();
        while !list.is_empty() {
            if out.len() > LONGEST {
                out.push_str("...");
                break;
            }
            let length = part_length(list);
            push_part(list[..length].trim(), depth + 1, out);
            list = &list[length..];
            if let Some(more) = list.strip_prefix(',') {
                out.push_str(", ");
                list = more;
            }
        }
    } else if !chars.as_str().is_empty() {
        out.push_str("...");
    }
    out.extend(close);
}

/// Where the first part of a list ends: at a comma that is in no brackets.
fn part_length(list: &str) -> usize {
    let mut at = 0;
    while let Some(c) = list[at..].chars().next() {
        at = match c {
            ',' => return at,
            '(' | '<' | '[' | '{' => group_end(list, at),
            'o' if begins_word(list, at) => operator_end(list, at).unwrap_or(at + 1),
            _ => at + c.len_utf8(),
        };
    }
    at
}

/// A type, a value or the name of something local, without the scopes that are namespaces.
fn push_part(part: &str, depth: usize, out: &mut String) {
    let start = out.len();
    let mut at = 0;
    while let Some(c) = part[at..].chars().next() {
        if out.len() > LONGEST {
            out.push_str("...");
            return;
        }
        let rest = &part[at..];
        if let Some(skipped) = nameless_scope(rest) {
            at += skipped;
        } else if rest.starts_with("[lambda") || rest.starts_with("{lambda") {
            let end = group_end(part, at);
            out.push_str("lambda");
            out.push_str(&lambda_number(&part[at..end]));
            at = end;
        } else if let Some(end) = operator_end(part, at).filter(|_| begins_word(part, at)) {
            // Between lambdas it is the call of the outer one.
            match scope_behind(&part[end..]) {
                Some(skipped) => at = end + skipped,
                None => {
                    out.push_str(&part[at..end].replace("operator ", "operator"));
                    at = end;
                }
            }
        } else if is_of_word(c) {
            let (word, behind) = rest.split_at(word_length(rest));
            at += word.len() + push_word(word, behind, start, depth, out);
        } else if matches!(c, '(' | '<' | '[' | '{') {
            let end = group_end(part, at);
            let inner = part[at..end].trim_matches(['(', ')']);
            // A cast in front of a value.
            let is_cast = c == '(' && out.len() == start && end < part.len() && PLAIN_TYPES.contains(&inner);
            if !is_cast {
                push_group(&part[at..end], depth, out);
            }
            at = end;
        } else {
            match c {
                '=' if PLAIN_TYPES.contains(&&out[start..]) => out.truncate(start),
                ' ' if rest[1..].starts_with(['*', '&']) => {}
                c => out.push(c),
            }
            at += c.len_utf8();
        }
    }
}

/// Appends a word unless it is a namespace; returns how much of `rest`, which follows it, that took care of.
fn push_word(word: &str, rest: &str, start: usize, depth: usize, out: &mut String) -> usize {
    if rest.starts_with("::") {
        return 2;
    }
    if rest.starts_with('<') {
        let end = group_end(rest, 0);
        out.push_str(word);
        push_group(&rest[..end], depth, out);
        return end + skip_parameters(&rest[end..], start, out);
    }
    out.push_str(word);
    skip_parameters(rest, start, out)
}

/// Steps over the parameters of a function that something local is in, and drops the function's result.
fn skip_parameters(rest: &str, start: usize, out: &mut String) -> usize {
    if !rest.starts_with('(') {
        return 0;
    }
    let end = group_end(rest, 0);
    let Some(skipped) = scope_after_parameters(&rest[end..]) else { return 0 };
    if let Some(space) = last_space(&out[start..]) {
        out.replace_range(start..=start + space, "");
    }
    out.push_str("::");
    end + skipped
}

/// The last space that is in no brackets.
fn last_space(text: &str) -> Option<usize> {
    let mut depth = 0_i32;
    text.char_indices().rev().find_map(|(at, c)| {
        depth += i32::from(matches!(c, '>' | ')' | ']')) - i32::from(matches!(c, '<' | '(' | '['));
        (c == ' ' && depth == 0).then_some(at)
    })
}

/// How long a scope without a name is that `text` begins with, `::` included.
fn nameless_scope(text: &str) -> Option<usize> {
    NO_NAMES.iter().find_map(|name| {
        let rest = text.strip_prefix(name)?;
        rest.starts_with("::").then_some(name.len() + 2)
    })
}

/// The length of parameters and of the `::` behind them, if both follow an operator.
fn scope_behind(text: &str) -> Option<usize> {
    if !text.starts_with('(') {
        return None;
    }
    let end = group_end(text, 0);
    scope_after_parameters(&text[end..]).map(|skipped| end + skipped)
}

/// Which lambda of its function it is: `{lambda(int)#2}` and `[lambda(int) (instance 2)]` are `#2`.
fn lambda_number(lambda: &str) -> String {
    let behind = lambda.rsplit_once('#').or_else(|| lambda.rsplit_once("(instance "));
    let digits: String =
        behind.map(|(_, number)| number.chars().take_while(char::is_ascii_digit).collect()).unwrap_or_default();
    if digits.is_empty() { digits } else { format!("#{digits}") }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '~')
}

fn word_length(text: &str) -> usize {
    text.find(|c| !is_of_word(c)).unwrap_or(text.len())
}

fn begins_word(text: &str, at: usize) -> bool {
    !text[..at].ends_with(is_of_word)
}
