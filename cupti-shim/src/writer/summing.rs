//! Adds up what was lost outside of the writer, and writes the totals at the end of a trace.

use serde_json::{Value, json};
use trace_format::schema::RowBuilder;
use trace_format::tables::NoteRow;
use trace_format::write::Segments;

use super::losses::Window;
use super::recorder::{Keep, LossPatience, Recorder};
use super::trace::TraceOutput;
use crate::buffers::Dry;
use crate::log;
use crate::messages::{Cause, Loss};

/// Intervals after which requests that found no block are reported even if CUPTI says nothing of dropped records.
const DRY_PATIENCE: u32 = 4;

impl<S: Segments, K: Keep> Recorder<S, K>
where
    S::Output: TraceOutput,
{
    /// Somebody else knows of records that are missing.
    pub(super) fn told_of_loss(&mut self, loss: Loss) {
        match loss.cause {
            Cause::Cupti => {
                self.totals.delivered += loss.rows;
                self.totals.lost += loss.rows;
                self.totals.dropped_by_cupti += loss.rows;
                // If CUPTI found no free block, that is why the records are missing, and the time window of that
                // shortage is known more exactly.
                let Some((dry, _)) = self.dry.take() else { return self.meta.losses.push(loss) };
                let window = self.dry_window(&dry);
                self.meta.losses.add(Cause::QueueFull, None, loss.rows, window);
            }
            _ => {
                self.totals.delivered += loss.rows;
                self.totals.lost += loss.rows;
                self.meta.losses.push(loss);
            }
        }
    }

    fn dry_window(&self, dry: &Dry) -> Window {
        Window { start_ns: self.trace_ns(dry.first_unix_ns), end_ns: self.trace_ns(dry.last_unix_ns) }
    }

    /// Gathers what was lost elsewhere. `last`: there will be no other time.
    pub(super) fn collect_losses(&mut self, last: bool) {
        if let Some(dropped) = self.shared.take_dropped() {
            self.totals.delivered += dropped.records;
            self.totals.lost += dropped.records;
            let mut window = Window { start_ns: dropped.first_ns, end_ns: dropped.last_ns };
            // `dry` describes the same loss with less exact times, so it is used only if none of the dropped records
            // had a time.
            if let Some(dry) = self.shared.pool.take_dry()
                && window.start_ns > window.end_ns
            {
                window = self.dry_window(&dry);
            }
            self.meta.losses.add(Cause::QueueFull, None, dropped.records, window);
        }
        if let Some(dry) = self.shared.pool.take_dry() {
            let (known, _) = self.dry.get_or_insert((dry, 0));
            known.first_unix_ns = known.first_unix_ns.min(dry.first_unix_ns);
            known.last_unix_ns = known.last_unix_ns.max(dry.last_unix_ns);
        }
        if let Some((dry, intervals)) = &mut self.dry {
            *intervals += 1;
            let dry = *dry;
            if *intervals > DRY_PATIENCE || last {
                self.dry = None;
                let window = self.dry_window(&dry);
                let detail = Some("no buffer was left; how many records that cost, CUPTI did not say".into());
                self.meta.losses.add(Cause::QueueFull, detail, 0, window);
            }
        }
        let refused = self.shared.names.refused();
        if refused > self.names_refused {
            let rows = refused - self.names_refused;
            self.names_refused = refused;
            let detail = Some("names; the records are there without them".into());
            self.meta.losses.add(Cause::NamesFull, detail, rows, Window::EMPTY);
        }
        if let Some(lost) = (self.sources.take_lost_calls)() {
            self.totals.delivered += lost.calls;
            self.totals.heard += lost.calls;
            self.totals.lost += lost.calls;
            let window = Window { start_ns: lost.start_ns, end_ns: lost.end_ns };
            self.meta.losses.add(Cause::QueueFull, Some("API calls".into()), lost.calls, window);
        }
        if let Some(lost) = (self.sources.take_lost_events)() {
            self.totals.ranges_lost += lost.events;
            let window = Window { start_ns: self.trace_ns(lost.start_ns), end_ns: self.trace_ns(lost.end_ns) };
            self.meta.losses.add(Cause::QueueFull, Some("calls of NVTX".into()), lost.events, window);
        }
    }

    /// Writes everything and ends the file.
    pub(super) fn close(&mut self, reason: &'static str, now_ns: i64) {
        // Ranges are judged as they are written. Whatever asks for a dump now, or asked for one before, has no later turn.
        self.write_all(now_ns);
        self.end_rules(now_ns);
        self.ask_for_dumps();
        self.make_dumps(i64::MAX, now_ns);
        self.ranges.finish(&mut self.range_rows);
        self.note_skipped_launches();
        self.collect_losses(true);
        // A last attempt, whatever stood in the way before.
        if self.obstacle.as_ref().is_some_and(|o| o.retry_ns.is_some()) {
            self.obstacle = None;
        }
        self.later = LossPatience::default();
        self.write_all(now_ns);
        self.account_for_ring();
        let totals = self.closing_facts(reason, now_ns);
        if let Err(error) = self.trace.finish(&totals)
            && !self.complained
        {
            log::line(1, format_args!("the trace could not be closed: {error}; what was written is kept"));
        }
        if self.limits.fsync {
            let _ = self.trace.output().sync_data();
        }
        self.closed = true;
    }

    /// Says how many launches have no Python stack because there was no time or no room for it.
    fn note_skipped_launches(&mut self) {
        let skipped = (self.sources.skipped_launches)();
        if skipped > 0 {
            let text = format!("{skipped} launches have no Python stack: taking it would have cost more than 2 %");
            let text_id = self.strings.text_id(text.into());
            self.meta.notes.push(NoteRow { text_id, ..NoteRow::default() });
        }
    }

    fn closing_facts(&self, reason: &str, now_ns: i64) -> Value {
        let mut facts = self.totals.to_json();
        let pool = &self.shared.pool;
        let nvtx = (self.sources.event_counts)();
        let ranges = self.ranges.counts();
        let more = json!({
            "reason": reason,
            "blocks": {
                "requested": pool.requested(),
                "refused": pool.refused(),
                "foreign": self.shared.foreign_blocks(),
            },
            "names": {"refused": self.shared.names.refused(), "cut": self.shared.names.cut()},
            "messages_lost": self.shared.messages_lost(),
            "launch_stacks": (self.sources.launch_facts)(),
            "nvtx": {
                "without_end": ranges.without_end,
                "without_start": ranges.without_start,
                "still_open": self.ranges.open(),
                "pops_without_push": nvtx.pops_without_push,
                "strange_handles": nvtx.strange_handles,
            },
        });
        if let (Some(facts), Value::Object(more)) = (facts.as_object_mut(), more) {
            facts.extend(more);
            let (key, cost) = (self.sources.own_cost)(now_ns.saturating_sub(self.began_ns)).entry();
            facts.insert(key.to_owned(), cost);
        }
        if let (Some(facts), Some(flight)) = (facts.as_object_mut(), &self.flight) {
            facts.insert("dumps".to_owned(), flight.facts());
        }
        facts
    }
}
