//! The letters of PNG pictures: shades of DejaVu Sans Condensed in large, brought to the size of the picture.
//!
//! `scripts/picture_letters.py` writes `letters.bin` and says what is in it; its licence is `letters.LICENSE`. A line of
//! text is put together in large and then averaged down, so that letters stand at fractions of a pixel and lines have no
//! stairs. At [`Size::Text`] the heights of letters are whole pixels at every scale.

use flate2::read::ZlibDecoder;
use std::collections::HashMap;
use std::io::Read;
use std::sync::LazyLock;

static PACKED: &[u8] = include_bytes!("letters.bin");

/// Pixels that an em has in `letters.bin`.
const EM: usize = 66;
/// Parts of a pixel in small.
const PARTS: usize = 2 * EM;
/// Rows of a line in large that are above the base line. With the sizes below it falls between two pixels.
const BASELINE: usize = 72;
/// Rows of a line in large.
const HEIGHT: usize = 96;
/// What the left edges of letters are counted from.
const LEFT: usize = 32;
/// The darkest shade.
const DARKEST: usize = 15;

/// How large text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    /// 11 units for an em.
    Text,
    /// 16.5 units for an em.
    Title,
}

impl Size {
    /// Half units of an em.
    fn halves(self) -> usize {
        match self {
            Size::Text => 22,
            Size::Title => 33,
        }
    }
}

/// One letter in large.
struct Letter {
    advance: usize,
    left: usize,
    top: usize,
    width: usize,
    height: usize,
    /// Where its shades begin, of which each byte has two.
    shades: usize,
}

/// One face.
type Face = HashMap<u32, Letter>;

/// All letters: book and bold.
struct Letters {
    faces: [Face; 2],
    shades: Vec<u8>,
}

static LETTERS: LazyLock<Letters> = LazyLock::new(|| Letters::unpack().unwrap_or_else(Letters::none));

impl Letters {
    fn none() -> Letters {
        Letters { faces: [Face::new(), Face::new()], shades: Vec::new() }
    }

    /// `None` if the file, which is part of the program, is not what its script writes.
    fn unpack() -> Option<Letters> {
        let mut bytes = Vec::new();
        ZlibDecoder::new(PACKED).read_to_end(&mut bytes).ok()?;
        let mut rest = &bytes[..];
        let mut take = |length: usize| {
            let (head, tail) = rest.split_at_checked(length)?;
            rest = tail;
            Some(head)
        };
        let mut letters = Letters::none();
        let mut shades = 0;
        for face in &mut letters.faces {
            let count = u16::from_le_bytes(take(2)?.try_into().ok()?);
            for _ in 0..count {
                let code = u32::from_le_bytes(take(4)?.try_into().ok()?);
                let &[advance, left, top, width, height] = take(5)? else { return None };
                let [advance, left, top, width, height] = [advance, left, top, width, height].map(usize::from);
                face.insert(code, Letter { advance, left, top, width, height, shades });
                shades += width * height;
            }
        }
        letters.shades = rest.to_vec();
        Some(letters)
    }

    /// The letter of a face; what is not there is a hollow box.
    fn letter(&self, c: char, bold: bool) -> Option<&Letter> {
        let face = &self.faces[usize::from(bold)];
        face.get(&u32::from(c)).or_else(|| face.get(&u32::from('□')))
    }

    fn shade(&self, at: usize) -> u8 {
        let both = self.shades.get(at / 2).copied().unwrap_or(0);
        if at.is_multiple_of(2) { both >> 4 } else { both & 15 }
    }

    fn advance(&self, text: &str, bold: bool) -> usize {
        text.chars().filter_map(|c| self.letter(c, bold)).map(|letter| letter.advance).sum()
    }
}

/// Units that text takes.
pub(super) fn width(text: &str, size: Size, bold: bool) -> usize {
    (LETTERS.advance(text, bold) * size.halves()).div_ceil(PARTS)
}

/// How strong each pixel of a line of text is, from 0 to 255.
pub(super) struct Coverage {
    /// Pixels of a row.
    pub width: usize,
    /// Rows above the base line.
    pub ascent: usize,
    /// Rows of pixels.
    pub rows: Vec<u8>,
    /// Pixels that are left of where the text begins: some letters reach out.
    pub before: usize,
}

/// A line of text with `scale` pixels for each unit.
pub(super) fn cover(text: &str, size: Size, bold: bool, scale: usize) -> Coverage {
    let letters = &*LETTERS;
    // The width of a pixel in large, in parts of a pixel in small. A pixel in small has `PARTS` parts.
    let finer = size.halves() * scale;
    // The text begins with a whole pixel both in large and in small.
    let before = (LEFT * finer).div_ceil(PARTS).next_multiple_of(6);
    let mut pen = before * PARTS / finer;
    let wide = pen + letters.advance(text, bold) + EM;
    let mut large = vec![0_u8; wide * HEIGHT];
    for letter in text.chars().filter_map(|c| letters.letter(c, bold)) {
        let left = (pen + letter.left).saturating_sub(LEFT);
        for row in 0..letter.height.min(HEIGHT.saturating_sub(letter.top)) {
            for column in 0..letter.width.min(wide.saturating_sub(left)) {
                let shade = letters.shade(letter.shades + row * letter.width + column);
                let pixel = &mut large[(letter.top + row) * wide + left + column];
                *pixel = (*pixel).max(shade);
            }
        }
        pen += letter.advance;
    }
    let (width, height) = ((wide * finer).div_ceil(PARTS), (HEIGHT * finer).div_ceil(PARTS));
    let rows = large.chunks(wide).map(|row| shrunk(row.iter().map(|&shade| usize::from(shade)), width, finer));
    let narrow: Vec<Vec<usize>> = rows.collect();
    let mut rows = vec![0; width * height];
    for x in 0..width {
        for (y, sum) in shrunk(narrow.iter().map(|row| row[x]), height, finer).into_iter().enumerate() {
            rows[y * width + x] = (sum * 255 / (DARKEST * PARTS * PARTS)) as u8;
        }
    }
    Coverage { width, ascent: BASELINE * finer / PARTS, rows, before }
}

/// A row or column of pixels in large brought to `length` pixels, each the sum of what lies in it, by parts.
fn shrunk(line: impl Iterator<Item = usize>, length: usize, finer: usize) -> Vec<usize> {
    let mut sums = vec![0; length];
    for (i, shade) in line.enumerate().filter(|(_, shade)| *shade > 0) {
        let (from, to) = (i * finer, (i + 1) * finer);
        for (x, sum) in sums.iter_mut().enumerate().take((to - 1) / PARTS + 1).skip(from / PARTS) {
            *sum += shade * (to.min((x + 1) * PARTS) - from.max(x * PARTS));
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_letters_are_there() {
        let letters = Letters::unpack().expect("letters.bin");
        for face in &letters.faces {
            assert!(face.len() > 400);
            let end = |letter: &Letter| letter.shades + letter.width * letter.height;
            assert!(face.values().all(|letter| end(letter) <= letters.shades.len() * 2));
            assert!(face.values().all(|letter| letter.top + letter.height <= HEIGHT));
        }
        let missing = |c| letters.letter(c, false).map(|letter| letter.shades);
        assert_eq!(missing('漢'), missing('□'));
    }

    /// Rows of pixels that text touches, as first row above the base line and rows in all, and its darkest pixel.
    fn ink(text: &str, size: Size, scale: usize) -> (usize, usize, u8) {
        let cover = cover(text, size, false, scale);
        // Heights are whole pixels but for a few hundredths.
        let inked: Vec<usize> =
            (0..cover.rows.len()).filter(|&i| cover.rows[i] > 48).map(|i| i / cover.width).collect();
        let (first, last) = (inked[0], inked[inked.len() - 1]);
        (cover.ascent - first, last + 1 - first, cover.rows.iter().copied().max().unwrap_or(0))
    }

    #[test]
    fn text_is_sharp_above_and_below_and_smooth_between() {
        for scale in 1..=4 {
            let (above, tall, darkest) = ink("EH", Size::Text, scale);
            assert_eq!((above, tall), (8 * scale, 8 * scale), "scale {scale}");
            assert!(darkest > 200);
            assert_eq!(ink("xz", Size::Text, scale).0, 6 * scale, "scale {scale}");
            let (above, tall, _) = ink("EH", Size::Title, scale);
            assert_eq!((above, tall), (12 * scale, 12 * scale), "scale {scale}");
        }
        let slanted = cover("/", Size::Text, false, 1).rows;
        let mut shades: Vec<u8> = slanted.into_iter().filter(|&shade| shade > 0).collect();
        shades.sort_unstable();
        shades.dedup();
        assert!(shades.len() > 6, "{shades:?}");
    }

    #[test]
    fn text_is_as_wide_as_it_is_said_to_be() {
        let text = "void at::native::copy<float>";
        for (size, scale) in [(Size::Text, 1), (Size::Text, 3), (Size::Title, 2)] {
            let cover = cover(text, size, true, scale);
            let columns = (0..cover.rows.len()).filter(|&i| cover.rows[i] > 24).map(|i| i % cover.width);
            let last = columns.max().unwrap_or(0) + 1 - cover.before;
            let said = width(text, size, true) * scale;
            assert!(last <= said && said - last <= 2 * scale, "{last} of {said}");
        }
        assert_eq!(width("", Size::Text, false), 0);
    }
}
