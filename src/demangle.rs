//! C++ names as people write them: the Itanium ABI demangler, and nvprof's own idea of it.
//!
//! Traces hold kernel names mangled. [`demangle`] turns them into C++ in one of two ways:
//!
//! - [`Demangling::On`] is right for every name a compiler writes. It keeps nvprof's notation (`float const *`,
//!   `int=4`, `(void)`), so a name that nvprof gets right reads the same in both.
//! - [`Demangling::Nvprof`] repeats the mistakes of nvprof 11.8, for comparing with reports made by it.
//!
//! The two share nothing but tables. The correct one reads with `parse.rs`, `special.rs`, `types.rs` and
//! `expressions.rs` into the tree of `node.rs`, and prints that with `print.rs` and `scope.rs`; the other is all of
//! `nvprof/`. Both bound depth, output and work, because names come from files and a few bytes of substitutions can stand for gigabytes of text.

mod base_name;
mod expressions;
mod node;
mod nvprof;
mod operators;
mod parse;
mod print;
mod readable;
mod scope;
mod short_name;
mod special;
#[cfg(test)]
mod tests;
mod types;

pub use base_name::base_name;
pub use readable::readable;
pub use short_name::short_name;

/// What to do with mangled names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Demangling {
    /// Demangle correctly, in nvprof's notation.
    On,
    /// Print what nvprof 11.8 would have printed, mistakes included.
    Nvprof,
    /// Leave names as they are.
    Off,
}

/// Longest name that is demangled; anything longer is not a name a compiler wrote for people.
const MAX_NAME: usize = 64 * 1024;

/// Turns a mangled name into C++; returns what is no valid mangled name as it is.
///
/// Bytes that are no UTF-8 become replacement characters. The result is at most 1 MiB long unless the name
/// itself is longer.
pub fn demangle(name: &[u8], mode: Demangling) -> String {
    let demangled = match mode {
        _ if name.len() > MAX_NAME => None,
        Demangling::On => demangle_correctly(name),
        Demangling::Nvprof => nvprof::demangle(name),
        Demangling::Off => None,
    };
    // A name of no letters (`_Z0`) is none.
    demangled.filter(|text| !text.is_empty()).unwrap_or_else(|| readable(name).into_owned())
}

fn demangle_correctly(name: &[u8]) -> Option<String> {
    let mangled = strip_static_prefix(name).strip_prefix(b"_Z")?;
    let mut parser = parse::Parser::new(mangled);
    let root = parser.mangled_name().ok()?;
    print::print(&parser.tree, root).ok()
}

/// Drops what old nvcc puts before a static function's name: `__nv_static_45__<45 bytes>_` and then `_Z...`.
fn strip_static_prefix(name: &[u8]) -> &[u8] {
    let stripped = || {
        let rest = name.strip_prefix(b"__nv_static_")?;
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let length: usize = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
        let rest = rest[digits..].strip_prefix(b"__")?.get(length..)?;
        // The separator has been one underscore or none.
        if rest.starts_with(b"_Z") { Some(rest) } else { rest.strip_prefix(b"_").filter(|r| r.starts_with(b"_Z")) }
    };
    stripped().unwrap_or(name)
}
