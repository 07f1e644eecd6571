//! The writer's part of the flight recorder: it shows the rules what comes, and makes the dumps.

use std::path::PathBuf;

use cupti_sys::{CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_RUNTIME};
use serde_json::{Value, json};
use shim_config::{DumpRule, Ring, Settings};
use trace_format::schema::RowBuilder as _;
use trace_format::tables::NoteRow;
use trace_format::write::Segments;

use super::losses::Window;
use super::recorder::{Keep, Recorder};
use super::trace::TraceOutput;
use crate::flight::rules::{Progress, Rules};
use crate::flight::{Request, Requests};
use crate::messages::Cause;
use crate::{log, sys};

/// While a request waits for its flush it is looked at this often.
pub(super) const LOOK_NS: i64 = 50_000_000;

/// What a recording with a ring knows about dumps.
pub(super) struct Flight {
    pub(super) requests: &'static Requests,
    pub(super) rules: Rules,
    /// Wakes the thread that flushes.
    wake: fn(),
    most: u64,
    made: u64,
    failed: u64,
    refused: u64,
    /// Kinds that are on for a rule's sake alone; 0: none.
    pub(super) hidden: [u32; 2],
    names_unknown: u64,
}

impl Flight {
    pub(super) fn new(settings: &Settings, ring: Ring, requests: &'static Requests, wake: fn()) -> Flight {
        let watches = settings.dump_on.contains(&DumpRule::Error);
        let hidden = [CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER]
            .map(|kind| if watches && !settings.kinds.contains(kind) { kind } else { 0 });
        Flight {
            requests,
            rules: Rules::new(&settings.dump_on, ring),
            wake,
            most: settings.max_dumps,
            made: 0,
            failed: 0,
            refused: 0,
            hidden,
            names_unknown: 0,
        }
    }

    /// What the closing frame says about dumps.
    pub(super) fn facts(&self) -> Value {
        json!({"made": self.made, "failed": self.failed, "refused": self.refused})
    }
}

impl<S: Segments, K: Keep> Recorder<S, K>
where
    S::Output: TraceOutput,
{
    /// Gives the recording its rules. `Flight`: what it knows about dumps.
    pub(super) fn fly(&mut self, flight: Flight) {
        if !flight.rules.is_empty() {
            self.pace.hold();
        }
        self.flight = Some(flight);
    }

    pub(super) fn progress(&self, now_ns: i64) -> Progress {
        Progress { now_ns, written_bytes: self.trace.written_bytes() }
    }

    /// Takes over the names that the callbacks have interned.
    pub(super) fn drain_names(&mut self) {
        let rules = self.flight.as_mut().map(|flight| &mut flight.rules);
        match rules.filter(|rules| !rules.is_empty()) {
            Some(rules) => self.strings.drain(&mut |id, name| rules.name(id, name)),
            None => self.strings.drain(&mut |_, _| {}),
        }
    }

    /// Shows the rules a block of records.
    pub(super) fn judge_block(&mut self, block: &[u8], now_ns: i64) {
        let progress = self.progress(now_ns);
        if let Some(flight) = self.flight.as_mut().filter(|flight| !flight.rules.is_empty()) {
            flight.rules.block(block, self.decoder.strides(), progress);
        }
    }

    /// Tells the rules that nothing follows.
    pub(super) fn end_rules(&mut self, now_ns: i64) {
        let progress = self.progress(now_ns);
        if let Some(flight) = &mut self.flight {
            flight.rules.end(progress);
        }
    }

    /// Asks for the dumps of the rules that fired.
    pub(super) fn ask_for_dumps(&mut self) {
        let Some(flight) = &mut self.flight else { return };
        let fired = flight.rules.take_fired();
        if fired.is_empty() {
            return;
        }
        for fired in fired {
            let text = match fired.call {
                Some((domain, id)) => format!("{} {}", self.strings.call_text(domain, id), fired.text),
                None => fired.text,
            };
            if flight.requests.ask(&fired.reason, &text).is_none() {
                flight.refused += 1;
            }
        }
        (flight.wake)();
    }

    /// Makes the dumps that are due; `i64::MAX`: all that were asked for.
    pub(super) fn make_dumps(&mut self, due_ns: i64, now_ns: i64) {
        if self.flight.is_some() {
            (self.sources.ask_for_signal)();
        }
        while let Some(request) = self.flight.as_ref().and_then(|flight| flight.requests.due(due_ns)) {
            let made = self.dump(&request, now_ns);
            match &made {
                Ok(path) => log::line(2, format_args!("dump: {} ({})", path.display(), request.reason)),
                Err(why) => log::line(1, format_args!("no dump for {}: {why}", request.reason)),
            }
            if let Some(flight) = &self.flight {
                flight.requests.answer(request.id, made);
            }
        }
    }

    fn dump(&mut self, request: &Request, now_ns: i64) -> Result<PathBuf, String> {
        let Some(flight) = &mut self.flight else { return Err("there is no ring".to_owned()) };
        if flight.made >= flight.most {
            flight.refused += 1;
            let most = flight.most;
            return Err(format!("{most} dumps were made, which is the limit; raise it with --max-dumps"));
        }
        let number = flight.made + 1;
        self.catch_up(now_ns);
        let text = format!("dump {number}, {}: {}", request.reason, request.text);
        let note = NoteRow {
            start_ns: Some(self.trace_ns(sys::realtime_ns())),
            text_id: self.strings.text_id(text.into()),
            detail_id: None,
        };
        self.meta.notes.push(note);
        self.tick(now_ns);
        let kept = self.trace.keep(&format!("{number:03}-{}", request.reason), self.room_for_copies());
        let Some(flight) = &mut self.flight else { return Err("there is no ring".to_owned()) };
        match kept {
            Ok(path) => {
                flight.made += 1;
                Ok(path)
            }
            Err(error) => {
                flight.failed += 1;
                Err(format!("it could not be made: {error}; recording goes on"))
            }
        }
    }

    /// Bytes that may be copied where files cannot have two names: the disk is left as much room as always.
    fn room_for_copies(&self) -> u64 {
        let Some(space) = self.trace.output().space() else { return u64::MAX };
        let needed = u128::from(space.total) * u128::from(self.limits.min_free_percent) / 100;
        space.free.saturating_sub(u64::try_from(needed).unwrap_or(u64::MAX))
    }

    /// Adds what the ring dropped to the totals.
    pub(super) fn account_for_ring(&mut self) {
        let (records, ranges) = self.trace.dropped();
        (self.totals.dropped_by_ring, self.totals.ranges_dropped) = (records, ranges);
        let unknown = self.trace.unknown_names();
        let Some(flight) = &mut self.flight else { return };
        let rows = unknown.saturating_sub(std::mem::replace(&mut flight.names_unknown, unknown));
        if rows > 0 {
            let detail = Some("names that the ring had forgotten; the records are there without them".into());
            self.meta.losses.add(Cause::NamesFull, detail, rows, Window::EMPTY);
        }
    }
}
