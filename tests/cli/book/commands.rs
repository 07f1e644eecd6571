//! Whether the program understands the commands of the book: their `gpuprof …` parts go through its own parser.

use gpuprof::cli::{Asked, read};
use std::ffi::OsString;

/// Fails unless every call of gpuprof in a line for a shell can be parsed. What stands in `$(…)` counts too.
pub fn parse(page: &str, line: &str) {
    for call in calls(line) {
        // By nvprof's rules, which no parser of ours has.
        if call.get(1).is_some_and(|word| word == "nvprof") {
            continue;
        }
        let words: Vec<OsString> = call.iter().map(OsString::from).collect();
        match read(&words) {
            Ok(Asked::For(_)) => {}
            Ok(Asked::Nothing(help)) if !help.use_stderr() => {}
            Ok(Asked::Nothing(error)) => panic!("{page}: {line}: {error}"),
            Err(error) => panic!("{page}: {line}: {error}"),
        }
    }
}

/// The calls of gpuprof in a line: from the word to the end of its command.
pub fn calls(line: &str) -> Vec<Vec<String>> {
    let mut calls = Vec::new();
    let mut call: Option<Vec<String>> = None;
    for token in tokens(line) {
        match token {
            Token::End => calls.extend(call.take()),
            Token::Word(word) => match &mut call {
                Some(call) => call.push(word),
                None if word == "gpuprof" => call = Some(vec![word]),
                None => {}
            },
        }
    }
    calls.extend(call);
    calls
}

enum Token {
    Word(String),
    /// Of a command: `|`, `&&`, `;`, a redirection, a parenthesis.
    End,
}

fn tokens(line: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(end), letter) if letter == end => quote = None,
            (Some('"'), '\\') => word.get_or_insert_default().extend(letters.next()),
            (Some(_), letter) => word.get_or_insert_default().push(letter),
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, '\\') => word.get_or_insert_default().extend(letters.next()),
            (None, '#') if word.is_none() => break,
            (None, ' ' | '\t') => tokens.extend(word.take().map(Token::Word)),
            (None, '|' | ';' | '&' | '(' | ')' | '<' | '>') => {
                tokens.extend(word.take().map(Token::Word));
                tokens.push(Token::End);
            }
            (None, letter) => word.get_or_insert_default().push(letter),
        }
    }
    assert!(quote.is_none(), "{line}: a quote has no end");
    tokens.extend(word.take().map(Token::Word));
    tokens
}

#[test]
fn calls_are_found_wherever_they_stand() {
    let found = |line: &str| calls(line).iter().map(|call| call[1..].join("|")).collect::<Vec<_>>();
    assert_eq!(found("mpirun -n 4 gpuprof record -o run -- ./a 'b c'  # gpuprof x"), ["record|-o|run|--|./a|b c"]);
    assert_eq!(
        found("LD_PRELOAD=$(gpuprof preload-path) ./a | gpuprof report - > x"),
        ["preload-path", "report|-"]
    );
    assert_eq!(found("gpuprof ctl start && sleep 10 && gpuprof ctl stop"), ["ctl|start", "ctl|stop"]);
    assert!(found("echo gpuprofs").is_empty());
}

#[test]
#[should_panic(expected = "--nope")]
fn an_option_that_does_not_exist_is_found() {
    parse("a page", "sleep 1 && gpuprof report run.gpuprof --nope");
}
