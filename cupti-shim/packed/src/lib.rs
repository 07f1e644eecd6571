//! The collector as the program carries it: compressed, which saves one and a half MiB of the program.
//!
//! `build.rs` cannot do it: cargo may still be compiling the collector while that runs. A macro is expanded when all
//! dependencies are there.

use flate2::Compression;
use flate2::write::DeflateEncoder;
use proc_macro::{Literal, TokenStream, TokenTree};
use std::io::Write as _;

/// `packed!("VARIABLE")`: the file that this variable of the compiler's environment names, as bytes of a raw deflate stream.
///
/// # Panics
/// What is wrong becomes an error of the compiler at the place of the macro.
#[proc_macro]
pub fn packed(tokens: TokenStream) -> TokenStream {
    let variable = tokens.to_string();
    let variable = variable.trim_matches('"');
    let packed = std::env::var(variable)
        .map_err(|e| format!("{variable}: {e}"))
        .and_then(|path| pack(&path).map_err(|e| format!("{path}: {e}")));
    match packed {
        Ok(bytes) => TokenTree::from(Literal::byte_string(&bytes)).into(),
        Err(why) => panic!("{why}"),
    }
}

fn pack(path: &str) -> std::io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&std::fs::read(path)?)?;
    encoder.finish()
}
