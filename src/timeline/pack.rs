//! All tiles of a page in one piece.

use super::Timeline;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::fmt::Write as _;

/// A tile with its row, level and number.
type Tile = (usize, usize, u64, Vec<u8>);

impl Timeline {
    /// The length of the directory (four bytes, little-endian), the directory (JSON: `"row/level/index": [offset,
    /// length]`, offsets from its end on), and the tiles end to end: what the page draws first comes first, as it draws
    /// while it unpacks.
    pub fn pack(&self) -> Vec<u8> {
        let rows = (0..self.rows.len()).into_par_iter();
        let mut tiles: Vec<Tile> = rows.flat_map_iter(|row| self.row_tiles(row)).collect();
        // From coarse to fine; the records of rows that have no bins before all other records.
        tiles.sort_by_key(|&(row, level, _, _)| (Reverse(level), self.rows[row].levels));
        let mut directory = String::from("{");
        let mut offset = 0;
        for (row, level, index, bytes) in &tiles {
            let comma = if offset == 0 { "" } else { "," };
            // Writing to a string cannot fail.
            let _ = write!(directory, "{comma}\"{row}/{level}/{index}\":[{offset},{}]", bytes.len());
            offset += bytes.len();
        }
        directory.push('}');
        let mut out = Vec::with_capacity(4 + directory.len() + offset);
        out.extend_from_slice(&(directory.len() as u32).to_le_bytes());
        out.extend_from_slice(directory.as_bytes());
        for (_, _, _, bytes) in tiles {
            out.extend_from_slice(&bytes);
        }
        out
    }

    fn row_tiles(&self, row: usize) -> Vec<Tile> {
        let facts = &self.rows[row];
        let records = (0..facts.tile_spans.len() as u64).map(|index| (0, index));
        let bins = facts.tiles.iter().enumerate();
        let bins = bins.flat_map(|(level, tiles)| tiles.iter().map(move |(index, _)| (level + 1, *index)));
        let tile = |(level, index): (usize, u64)| Some((row, level, index, self.tile(row, level as u32, index)?));
        records.chain(bins).filter_map(tile).collect()
    }
}
