//! Values by id, made when first asked for. Of millions of ids a report asks for hundreds.

use std::sync::OnceLock;

/// Ids whose slots take memory together.
const BLOCK: usize = 256;

type Block<T> = OnceLock<Box<[OnceLock<T>]>>;

/// A slot for each id below a number.
pub struct Slots<T> {
    blocks: Vec<Block<T>>,
    len: usize,
}

impl<T> Slots<T> {
    /// Empty slots for ids below `len`.
    pub fn new(len: usize) -> Slots<T> {
        Slots { blocks: (0..len.div_ceil(BLOCK)).map(|_| OnceLock::new()).collect(), len }
    }

    /// What `id` has, made if it has nothing yet; `None` for an id without a slot.
    pub fn get_or_init(&self, id: u32, make: impl FnOnce() -> T) -> Option<&T> {
        let id = id as usize;
        if id >= self.len {
            return None;
        }
        let block = self.blocks[id / BLOCK].get_or_init(|| (0..BLOCK).map(|_| OnceLock::new()).collect());
        Some(block[id % BLOCK].get_or_init(make))
    }
}
