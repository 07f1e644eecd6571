//! Which rows of an optional column are null, as they stand at the head of a data page.

use super::bits::put_varint;
use super::hybrid;

/// Appends the definition levels of an optional column, behind their length; `scratch` is memory to use again.
pub fn put_levels(validity: &[bool], scratch: &mut Vec<u64>, page: &mut Vec<u8>) {
    scratch.clear();
    scratch.extend(validity.iter().map(|&valid| u64::from(valid)));
    let at = page.len();
    page.extend_from_slice(&[0; 4]);
    hybrid::encode(scratch, 1, page);
    let length = (page.len() - at - 4) as u32;
    page[at..at + 4].copy_from_slice(&length.to_le_bytes());
}

/// The same for `rows` rows of which none is null, or all are.
pub fn put_levels_all_present(rows: usize, present: bool, page: &mut Vec<u8>) {
    let at = page.len();
    page.extend_from_slice(&[0; 4]);
    if rows > 0 {
        put_varint(page, (rows as u64) << 1);
        page.push(u8::from(present));
    }
    let length = (page.len() - at - 4) as u32;
    page[at..at + 4].copy_from_slice(&length.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_the_same_either_way() {
        for rows in [0, 1, 7, 8, 300] {
            for present in [false, true] {
                let (mut short, mut long) = (Vec::new(), Vec::new());
                put_levels_all_present(rows, present, &mut short);
                put_levels(&vec![present; rows], &mut Vec::new(), &mut long);
                assert_eq!(short, long, "{rows} {present}");
            }
        }
    }
}
