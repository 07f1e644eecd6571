//! What programs do on their GPUs right now: the last seconds of traces that grow, as a screen or as numbers.
//!
//! [`state::State`] listens to one recording ([`crate::live`]) and keeps sums per tenth of a second ([`bins`]): its
//! memory depends on the window, on how many kernels there are and on how many devices, not on how long the program runs.
//! [`view`] makes numbers of them, which [`machine`] writes for scripts, [`text`] for
//! people and [`draw`] on a screen; [`run`] does so again and again.

pub(crate) mod bins;
pub(crate) mod busy;
pub mod draw;
pub(crate) mod machine;
pub(crate) mod names;
pub(crate) mod queue;
pub(crate) mod run;
pub mod screen;
pub(crate) mod state;
mod terminal;
pub(crate) mod text;
pub(crate) mod units;
pub mod view;
