//! Parquet's DELTA_BINARY_PACKED: differences to the value before, packed in blocks of four miniblocks.

use super::bits::{pack, put_varint, put_zigzag};
use super::number::Number;

const MINIBLOCKS: usize = 4;
/// The length of a block in which all numbers have the greatest width.
const LONGEST_BLOCK: usize = 64 * MINIBLOCKS;

/// Appends `values`.
pub fn encode<N: Number>(values: &[N], out: &mut Vec<u8>) {
    let first = values.first().copied().unwrap_or_default();
    put_header(first, values.len(), out);
    let (mut before, mut differences, mut packed) = (first, [0i64; LONGEST_BLOCK], [0u64; 64]);
    for block in values.get(1..).unwrap_or_default().chunks(N::MINIBLOCK * MINIBLOCKS) {
        let mut least = i64::MAX;
        for (difference, &value) in differences.iter_mut().zip(block) {
            *difference = value.since(before);
            before = value;
            least = least.min(*difference);
        }
        put_zigzag(out, least);
        let widths_at = out.len();
        out.extend_from_slice(&[0; MINIBLOCKS]);
        let miniblocks = differences[..block.len()].chunks(N::MINIBLOCK);
        for (i, miniblock) in miniblocks.enumerate() {
            let mut any = 0;
            for (packed, &difference) in packed.iter_mut().zip(miniblock) {
                *packed = N::above(difference, least);
                any |= *packed;
            }
            // The last one is filled up with zeros.
            packed[miniblock.len()..].fill(0);
            let width = u64::BITS - any.leading_zeros();
            out[widths_at + i] = width as u8;
            pack(out, &packed[..N::MINIBLOCK], width);
        }
    }
}

/// Appends `rows` times the same value.
pub fn encode_constant<N: Number>(value: N, rows: usize, out: &mut Vec<u8>) {
    put_header(value, rows, out);
    // The least difference and the widths are 0, and no bits follow.
    let blocks = rows.saturating_sub(1).div_ceil(N::MINIBLOCK * MINIBLOCKS);
    out.resize(out.len() + blocks * (1 + MINIBLOCKS), 0);
}

fn put_header<N: Number>(first: N, values: usize, out: &mut Vec<u8>) {
    put_varint(out, (N::MINIBLOCK * MINIBLOCKS) as u64);
    put_varint(out, MINIBLOCKS as u64);
    put_varint(out, values as u64);
    put_zigzag(out, first.signed());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_is_the_same_either_way() {
        for rows in [0, 1, 2, 128, 129, 130, 256, 257, 258, 1_000] {
            for value in [0u64, 7, u64::MAX] {
                let (mut short, mut long) = (Vec::new(), Vec::new());
                encode_constant(value as u32, rows, &mut short);
                encode(&vec![value as u32; rows], &mut long);
                encode_constant(value, rows, &mut short);
                encode(&vec![value; rows], &mut long);
                if rows > 0 {
                    assert_eq!(short, long, "{rows} times {value}");
                }
            }
        }
    }
}
