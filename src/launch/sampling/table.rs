//! Frames and stacks by id: a prefix tree, so that a sample is one number.

use super::Frame;
use hashbrown::HashMap;

/// Different frames at most. A program that makes functions without end must not fill this process.
const MOST_FRAMES: usize = 1 << 20;
/// Different stacks at most, prefixes included: 24 bytes each, and the table that finds them.
const MOST_STACKS: usize = 1 << 22;

/// Receives what is new, before anything refers to it.
pub trait Definitions {
    /// A frame with its id, the first of which is 1.
    fn frame(&mut self, id: u32, frame: &Frame);
    /// A stack: its id, the id of the stack without its innermost frame (0: there is none), and that frame.
    fn stack(&mut self, id: u32, parent: u32, frame: u32);
}

/// Ids given so far.
#[derive(Default)]
pub struct Table {
    frames: HashMap<Frame, u32>,
    stacks: HashMap<(u32, u32), u32>,
}

impl Table {
    /// The id of the stack, outermost frame first. `None`: it is empty, or there is no room for what is new in it.
    pub fn stack(&mut self, frames: &[Frame], new: &mut dyn Definitions) -> Option<u32> {
        let mut at = 0;
        for frame in frames {
            let frame_id = self.frame(frame, new)?;
            at = match self.stacks.get(&(at, frame_id)) {
                Some(&known) => known,
                None if self.stacks.len() >= MOST_STACKS => return None,
                None => {
                    let id = self.stacks.len() as u32 + 1;
                    self.stacks.insert((at, frame_id), id);
                    new.stack(id, at, frame_id);
                    id
                }
            };
        }
        (at != 0).then_some(at)
    }

    fn frame(&mut self, frame: &Frame, new: &mut dyn Definitions) -> Option<u32> {
        if let Some(&known) = self.frames.get(frame) {
            return Some(known);
        }
        if self.frames.len() >= MOST_FRAMES {
            return None;
        }
        let id = self.frames.len() as u32 + 1;
        self.frames.insert(frame.clone(), id);
        new.frame(id, frame);
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Seen {
        frames: Vec<(u32, String)>,
        stacks: Vec<(u32, u32, u32)>,
    }

    impl Definitions for Seen {
        fn frame(&mut self, id: u32, frame: &Frame) {
            self.frames.push((id, frame.name.clone()));
        }
        fn stack(&mut self, id: u32, parent: u32, frame: u32) {
            self.stacks.push((id, parent, frame));
        }
    }

    fn stack(names: &[&str]) -> Vec<Frame> {
        names.iter().map(|name| Frame { name: (*name).to_owned(), ..Frame::default() }).collect()
    }

    #[test]
    fn stacks_that_begin_alike_share_their_beginning() {
        let (mut table, mut seen) = (Table::default(), Seen::default());
        let ids: Vec<_> = [&["main", "a", "b"][..], &["main", "a"], &["main", "b", "a"], &["main", "a", "b"], &[]]
            .iter()
            .map(|names| table.stack(&stack(names), &mut seen))
            .collect();
        assert_eq!(ids, [Some(3), Some(2), Some(5), Some(3), None]);
        assert_eq!(seen.frames, [(1, "main".to_owned()), (2, "a".to_owned()), (3, "b".to_owned())]);
        assert_eq!(seen.stacks, [(1, 0, 1), (2, 1, 2), (3, 2, 3), (4, 1, 3), (5, 4, 2)]);
    }
}
