//! A sampled profile: stacks first, weights later, or the other way round.

use super::{Number, Read, Unit, each_item_of, in_unit, number, rest};
use crate::import::json_stream::{Token, Tokens};
use crate::import::kineto::number::scaled;
use crate::import::samples::{ByName, Samples};
use hashbrown::HashMap;

/// What was read of it.
#[derive(Default)]
pub struct Sampled {
    /// Distinct stacks: frame numbers, outermost first.
    stacks: Vec<Box<[u32]>>,
    index: HashMap<Box<[u32]>, u32>,
    /// The stack of each sample.
    samples: Vec<u32>,
    weights: Vec<Option<Number>>,
    unusable: u64,
}

/// Stands for what is no frame number.
const NO_FRAME: u32 = u32::MAX;

impl Sampled {
    /// Reads the list of stacks.
    pub fn samples(&mut self, tokens: &mut Tokens) -> Read {
        let mut stack = Vec::new();
        each_item_of(tokens, |tokens, first| {
            stack.clear();
            if first == Token::Array {
                loop {
                    match tokens.next()? {
                        Token::EndArray => break,
                        Token::Bare(digits) => {
                            let frame = scaled(&digits, 0).and_then(|frame| u32::try_from(frame).ok());
                            stack.push(frame.unwrap_or(NO_FRAME));
                        }
                        other => {
                            rest(tokens, &other)?;
                            stack.push(NO_FRAME);
                        }
                    }
                }
            } else {
                rest(tokens, &first)?;
                stack.push(NO_FRAME);
            }
            let known = self.index.get(&stack[..]).copied();
            let number = known.unwrap_or_else(|| {
                let number = self.stacks.len() as u32;
                self.stacks.push(stack.as_slice().into());
                self.index.insert(stack.as_slice().into(), number);
                number
            });
            self.samples.push(number);
            Ok(())
        })
    }

    /// Reads the list of weights.
    pub fn weights(&mut self, tokens: &mut Tokens) -> Read {
        each_item_of(tokens, |tokens, first| {
            let weight = match first {
                Token::Bare(digits) => number(&digits),
                other => {
                    rest(tokens, &other)?;
                    None
                }
            };
            self.weights.push(weight);
            Ok(())
        })
    }

    /// How many weights there are, and how many samples they are for, if these differ.
    pub fn unlike_weights(&self) -> Option<(u64, u64)> {
        let (weights, samples) = (self.weights.len() as u64, self.samples.len() as u64);
        (weights > samples).then_some((weights, samples))
    }

    /// The sums, by what frames are called, and how many samples could not be used.
    pub fn finish(mut self, unit: Unit, labels: &[Vec<u8>]) -> (Samples, u64) {
        // All samples of one stack together; without weights each sample weighs one.
        let mut sums = vec![(0u64, 0i128); self.stacks.len()];
        for (at, &stack) in self.samples.iter().enumerate() {
            let weight = match self.weights.get(at) {
                Some(Some(weight)) => *weight,
                None if self.weights.is_empty() => 1_000_000_000,
                _ => {
                    self.unusable += 1;
                    continue;
                }
            };
            let sum = &mut sums[stack as usize];
            sum.0 += 1;
            sum.1 = sum.1.saturating_add(weight);
        }
        let mut samples = Samples::default();
        let mut names = ByName::default();
        let mut numbers = Vec::new();
        for (stack, (count, weight)) in self.stacks.iter().zip(sums) {
            if count == 0 {
                continue;
            }
            if stack.iter().any(|&frame| frame as usize >= labels.len()) {
                self.unusable += count;
                continue;
            }
            numbers.clear();
            numbers.extend(stack.iter().map(|&frame| names.number(&labels[frame as usize], &mut samples)));
            samples.add(numbers.iter().copied(), count, in_unit(weight, unit));
        }
        (samples, self.unusable)
    }
}
