//! What never comes: of work that still runs when its kind is disabled, and of who has unsubscribed.

use super::{
    Buffer, COMPLETE, DELIVERY, DROPPED, FULL, OWNED, REQUEST, SEALED, Sealed, all_slots, count, end_offset,
};
use crate::faults::wishes;
use crate::settings::{self, word};
use crate::{driver, subscribers};
use std::sync::atomic::Ordering;

/// Disabling a kind forgets what is still running of it.
pub fn forget_unfinished(place: usize, kind: u32) {
    if end_offset(kind).is_none() || wishes().keep_on_disable {
        return;
    }
    let now = driver::now();
    for slot in all_slots().filter(|slot| slot.place == place) {
        if let Ok(mut guard) = slot.buffer.lock()
            && let Some(buffer) = guard.as_mut()
        {
            forget_in(buffer, kind, now);
        }
    }
    if let Ok(mut full) = FULL.lock() {
        for buffer in full.iter_mut().filter(|buffer| buffer.place == place) {
            forget_in(buffer, kind, now);
        }
    }
}

/// Somebody unsubscribed: what he did not fetch before never comes.
pub fn forget(place: usize) {
    let delivery = DELIVERY.lock();
    REQUEST[place].store(0, Ordering::Release);
    COMPLETE[place].store(0, Ordering::Release);
    DROPPED[place].store(0, Ordering::Release);
    let slots = all_slots().filter(|slot| slot.place == place);
    let mut all: Vec<Buffer> = slots.filter_map(|slot| slot.buffer.lock().ok()?.take()).collect();
    if let Ok(mut full) = FULL.lock() {
        let (gone, kept): (Vec<Buffer>, Vec<Buffer>) = full.drain(..).partition(|buffer| buffer.place == place);
        full.extend(kept);
        all.extend(gone);
    }
    if let Ok(mut sealed) = SEALED.lock() {
        let (gone, kept): (Vec<Sealed>, Vec<Sealed>) =
            sealed.drain(..).partition(|sealed| sealed.buffer.place == place);
        sealed.extend(kept);
        all.extend(gone.into_iter().map(|sealed| sealed.buffer));
    }
    drop(delivery);
    for buffer in all {
        if let Ok(mut owned) = OWNED.lock()
            && let Some(owned) = owned.as_mut()
        {
            owned.remove(&(buffer.start as usize));
        }
        if subscribers::is_counted(place) {
            settings::subtract(word::BUFFERS_OWNED, 1);
        }
        // SAFETY: nobody gets the names any more.
        unsafe { buffer.names.die() };
    }
}

fn forget_in(buffer: &mut Buffer, kind: u32, now: u64) {
    if buffer.finished_ns <= now {
        return;
    }
    let list = buffer.walk();
    let (mut to, mut records, mut finished) = (0, 0, 0);
    for (at, of, bytes) in list {
        let end = buffer.end_of(at, of);
        if of == kind && end > now {
            count(buffer.place, word::DROPPED_OF + (kind as usize).min(127), 1);
            continue;
        }
        // SAFETY: both inside the buffer; `to` is never after `at`.
        unsafe { std::ptr::copy(buffer.start.add(at), buffer.start.add(to), bytes) };
        to += bytes;
        records += 1;
        finished = finished.max(end);
    }
    // SAFETY: the rest of what was written: a tool that promised zeroes gets zeroes behind the last record.
    unsafe { std::ptr::write_bytes(buffer.start.add(to), 0, buffer.used - to) };
    (buffer.used, buffer.records, buffer.finished_ns) = (to, records, finished);
}
