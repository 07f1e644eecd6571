//! C++ names as people write them: the Itanium ABI demangler, and nvprof's own idea of it.
mod expressions;
mod node;
mod nvprof;
mod parse;
mod print;
mod types;

/// What to do with mangled names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demangling {
    /// Demangle correctly.
    On,
    /// Print what nvprof 11.8 would have printed, mistakes included.
    Nvprof,
    /// Leave names as they are.
    Off,
}

/// Longest name that is demangled; anything longer is not a name a compiler wrote for people.
const MAX_NAME: usize = 64 * 1024;

/// Turns a mangled name into C++; returns what is no valid mangled name as it is.
pub fn demangle(name: &[u8], mode: Demangling) -> String {
    let demangled = match mode {
        _ if name.len() > MAX_NAME => None,
        Demangling::On => demangle_correctly(name),
        Demangling::Nvprof => nvprof::demangle(name),
        Demangling::Off => None,
    };
    demangled.unwrap_or_else(|| String::from_utf8_lossy(name).into_owned())
}

fn demangle_correctly(name: &[u8]) -> Option<String> {
    let mangled = name.strip_prefix(b"_Z")?;
    let mut parser = parse::Parser::new(mangled);
    let root = parser.mangled_name().ok()?;
    print::print(&parser.tree, root).ok()
}

/// base
pub fn base_name(demangled: &str) -> &str { demangled }
