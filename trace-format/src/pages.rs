//! Pages of Parquet: integers and levels in Parquet's encodings, and the headers before them.
//!
//! The Parquet library would do it at three times the cost: it hashes every value of a dictionary column as a slice of
//! bytes, copies every page twice, and looks at what never changes value by value (`benches/collector`). Footers are
//! the library's own. Frames ([`crate::frame`]) and `gpuprof export --format parquet` are made of these.

mod bits;
pub mod delta;
mod dictionary;
mod header;
pub mod hybrid;
mod laid;
mod levels;
mod number;

pub use dictionary::Dictionary;
pub use header::{Sizes, put_data_header, put_dictionary_header};
pub use laid::Laid;
pub use levels::{put_levels, put_levels_all_present};
pub use number::Number;
