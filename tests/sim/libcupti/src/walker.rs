//! `cuptiActivityGetNextRecord`.

use crate::version::{since, stride};

/// The walker: needs nothing but the bytes.
pub unsafe fn next_record(buffer: *mut u8, valid: usize, record: *mut *mut u8) -> i32 {
    if buffer.is_null() || record.is_null() {
        return 1;
    }
    let bad_kind = if since(1204) { 21 } else { 999 };
    let mut at = 0;
    if !(*record).is_null() {
        let bytes = stride((*record).cast::<u32>().read_unaligned());
        if bytes == 0 {
            return bad_kind;
        }
        at = (*record as usize).wrapping_sub(buffer as usize) + bytes;
    }
    if at + 4 > valid {
        return 12;
    }
    let bytes = stride(buffer.add(at).cast::<u32>().read_unaligned());
    if bytes == 0 {
        return bad_kind;
    }
    if at + bytes > valid {
        return 12;
    }
    *record = buffer.add(at);
    0
}
