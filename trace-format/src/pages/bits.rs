//! Numbers at the bit widths they need, as Parquet lays them out: lowest bits first.

/// Appends an unsigned number, seven bits a byte.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed number, small ones of either sign short.
pub fn put_zigzag(out: &mut Vec<u8>, value: i64) {
    put_varint(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// Appends `values`, a multiple of eight of them and none of more than `width` bits, `width` bits each.
pub fn pack(out: &mut Vec<u8>, values: &[u64], width: u32) {
    debug_assert!(values.len().is_multiple_of(8) && width <= 64);
    debug_assert!(values.iter().all(|v| width == 64 || v >> width == 0));
    // What several values become in one word does not wait for the word before, so narrow values go in groups.
    match width {
        0 => {}
        1..=8 => pack_groups::<8>(out, values, width),
        9..=16 => pack_groups::<4>(out, values, width),
        17..=32 => pack_groups::<2>(out, values, width),
        _ => pack_groups::<1>(out, values, width),
    }
}

/// `N` values together have 64 bits at most.
#[inline(always)]
fn pack_groups<const N: usize>(out: &mut Vec<u8>, values: &[u64], width: u32) {
    let end = out.len() + values.len() / 8 * width as usize;
    let step = width * N as u32;
    let (mut word, mut filled) = (0u64, 0u32);
    out.reserve(end - out.len() + 8);
    for group in values.chunks_exact(N) {
        let mut bits = 0;
        for (i, value) in group.iter().enumerate() {
            bits |= value << (i as u32 * width);
        }
        word |= bits << filled;
        filled += step;
        if filled >= 64 {
            out.extend_from_slice(&word.to_le_bytes());
            filled -= 64;
            // Twice, because a shift by all 64 bits is none.
            word = bits >> 1 >> (step - filled - 1);
        }
    }
    out.extend_from_slice(&word.to_le_bytes());
    out.truncate(end);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_comes_back() {
        let mut noise = 1u64;
        for width in 0..=64u32 {
            let values: Vec<u64> = (0..72)
                .map(|_| {
                    noise = noise.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
                    if width == 0 { 0 } else { noise >> (64 - width) }
                })
                .collect();
            let mut out = vec![0xAA];
            pack(&mut out, &values, width);
            assert_eq!(out.len(), 1 + 72 / 8 * width as usize);
            let bit = |at: usize| u64::from(out[1 + at / 8] >> (at % 8) & 1);
            for (i, value) in values.iter().enumerate() {
                let back = (0..width as usize).fold(0, |sum, b| sum | bit(i * width as usize + b) << b);
                assert_eq!(back, *value, "width {width}, value {i}");
            }
        }
    }

    #[test]
    fn numbers_of_any_length() {
        let bytes = |value| {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            out
        };
        assert_eq!(bytes(0), [0]);
        assert_eq!(bytes(300), [0xAC, 2]);
        assert_eq!(bytes(u64::MAX).len(), 10);
        let mut out = Vec::new();
        [0, -1, 1, i64::MIN].into_iter().for_each(|v| put_zigzag(&mut out, v));
        assert_eq!(out[..3], [0, 1, 2]);
        assert_eq!(out[3..], bytes(u64::MAX));
    }
}
