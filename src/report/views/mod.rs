//! The named tables. Each file holds one report or a family that shares its rows.

use super::View;

/// Every view, in the order of help and error messages.
pub static VIEWS: &[&dyn View] = &[];
