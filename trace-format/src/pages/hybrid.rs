//! Parquet's hybrid of run lengths and packed bits: for indices into a dictionary, and for which rows are null.

use super::bits::{pack, put_varint};

/// Most groups of eight in one packed run: their number then fits the one byte that the Parquet library takes for it.
const MOST_GROUPS: usize = 63;

/// Appends `values`, none of more than `width` bits.
pub fn encode(values: &[u64], width: u32, out: &mut Vec<u8>) {
    // A run costs its length, its value, and a new head for what is packed behind it: three bytes for narrow values.
    // A shorter run takes no more bytes than that if its values are packed.
    let worth_it = 24usize.div_ceil(width.max(1) as usize).next_multiple_of(8);
    let mut rest = values;
    while let Some(&first) = rest.first() {
        let run = run_length(rest, rest.len());
        if run >= worth_it || run == rest.len() {
            put_varint(out, (run as u64) << 1);
            out.extend_from_slice(&first.to_le_bytes()[..width.div_ceil(8) as usize]);
            rest = &rest[run..];
            continue;
        }
        let mut packed = 8;
        while packed < rest.len() && packed < MOST_GROUPS * 8 && run_length(&rest[packed..], worth_it) < worth_it {
            packed += 8;
        }
        out.push((packed / 8) as u8 * 2 + 1);
        let (whole, behind) = rest.split_at(packed.min(rest.len()) / 8 * 8);
        pack(out, whole, width);
        rest = behind;
        if whole.len() < packed {
            // The last group of all is filled up with zeros.
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            pack(out, &last, width);
            rest = &[];
        }
    }
}

/// How often the first value is repeated, counted up to `most`.
fn run_length(values: &[u64], most: usize) -> usize {
    let first = values.first();
    values.iter().take(most).position(|v| Some(v) != first).unwrap_or(values.len().min(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the letter of the format, for widths up to 8.
    fn decode(mut bytes: &[u8], width: usize, values: usize) -> Vec<u64> {
        let mut found = Vec::new();
        while let Some((&head, mut rest)) = bytes.split_first() {
            let (mut head_value, mut shift, mut byte) = (u64::from(head & 0x7F), 7, head);
            while byte & 0x80 != 0 {
                byte = rest[0];
                rest = &rest[1..];
                head_value |= u64::from(byte & 0x7F) << shift;
                shift += 7;
            }
            let count = (head_value >> 1) as usize;
            if head_value & 1 == 0 {
                let size = width.div_ceil(8);
                found.resize(found.len() + count, rest[..size].first().map_or(0, |&b| u64::from(b)));
                bytes = &rest[size..];
            } else {
                let bit = |at: usize| u64::from(rest[at / 8] >> (at % 8) & 1);
                let value = |i: usize| (0..width).fold(0, |sum, b| sum | bit(i * width + b) << b);
                found.extend((0..count * 8).map(value));
                bytes = &rest[count * width..];
            }
        }
        assert!((values..values + 8).contains(&found.len()));
        found.truncate(values);
        found
    }

    #[test]
    fn runs_and_noise_come_back() {
        let mut noise = 7u64;
        let mut next = || {
            noise = noise.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            noise >> 33
        };
        for width in [0, 1, 2, 3, 5, 8] {
            for _ in 0..200 {
                let length = (next() % 1_500) as usize;
                let mut values = Vec::new();
                while values.len() < length {
                    let value = next() & ((1 << width) - 1);
                    let run = if next() % 3 == 0 { next() % 200 } else { 1 };
                    values.resize(values.len() + run as usize, value);
                }
                let mut out = Vec::new();
                encode(&values, width, &mut out);
                assert_eq!(decode(&out, width as usize, values.len()), values, "width {width}");
            }
        }
    }

    #[test]
    fn one_value_takes_one_run() {
        let mut out = Vec::new();
        encode(&[3; 1_000], 2, &mut out);
        assert_eq!(out, [0xD0, 0x0F, 3]);
    }
}
