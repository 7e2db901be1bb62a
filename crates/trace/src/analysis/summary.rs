//! Summary of a whole trace and its phases, optionally limited to a window.

use super::analyst::TraceAnalyzer;
use super::digest::TraceDigest;
use crate::error::TraceFileError;
use crate::event::{RequestEvent, TraceEntry};

/// Limit of distinguished phases; events of further phases are not reported by phase.
const PHASES_MAX: usize = 1000;

/// Part of a trace to analyse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceWindow {
    /// Time range in nanoseconds after the beginning of the trace.
    pub times_ns: Option<(u64, u64)>,
    /// Offset range in bytes of the device.
    pub offsets: Option<(u64, u64)>,
}

/// Results of a trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceSummary {
    /// Results of the whole trace.
    pub whole: TraceDigest,
    /// Results per phase, with phase names; empty for a trace without phases.
    pub phases: Vec<(String, TraceDigest)>,
    /// Beginning of the trace in nanoseconds of its clock.
    pub begin_ns: u64,
    /// Beginning of the window in nanoseconds after `begin_ns`; results are relative to it.
    pub from_ns: u64,
}

impl TraceWindow {
    /// Reports whether a request overlaps the window; a request across an edge counts on both
    /// sides.
    fn holds(&self, event: &RequestEvent, begin_ns: u64) -> bool {
        let after = event.time_ns.saturating_sub(begin_ns);
        let first = event.sector.saturating_mul(512);
        let behind = event.end().saturating_mul(512).max(first.saturating_add(1));
        self.times_ns.is_none_or(|(from, until)| (from..until).contains(&after))
            && self.offsets.is_none_or(|(from, until)| first < until && behind > from)
    }

    /// Starts an analysis of the window, with the map limited to its offsets.
    fn analyst(&self, begin_ns: u64) -> TraceAnalyzer {
        let analyst = TraceAnalyzer::new(begin_ns);
        match self.offsets {
            Some((from, until)) => analyst.showing(from / 512, until.div_ceil(512) - 1),
            None => analyst,
        }
    }
}

/// Reads a trace to its end and summarises the window.
///
/// # Errors
/// Errors returned by `next`.
pub fn summarise(
    window: TraceWindow,
    mut next: impl FnMut() -> Result<Option<TraceEntry>, TraceFileError>,
) -> Result<TraceSummary, TraceFileError> {
    let mut work = Summarizer::default();
    while let Some(entry) = next()? {
        work.entry(&entry, window);
    }
    Ok(work.end(window))
}

/// Analysis of the whole trace and of the current phase.
#[derive(Debug, Default)]
struct Summarizer {
    whole: Option<TraceAnalyzer>,
    phase: Option<(String, TraceAnalyzer)>,
    phases: Vec<(String, TraceDigest)>,
    /// Device entries, which may precede the first timestamp.
    waiting: Vec<TraceEntry>,
    begin_ns: u64,
    now_ns: u64,
    notes: RecordingNotes,
}

/// Notes about the recording as a whole.
#[derive(Debug, Default)]
struct RecordingNotes {
    end_ns: Option<u64>,
    program_write_bytes: Option<u64>,
    missing_bytes: Option<u64>,
}

impl Summarizer {
    fn entry(&mut self, entry: &TraceEntry, window: TraceWindow) {
        match entry {
            TraceEntry::Event(event) => {
                self.begin(event.time_ns, window);
                self.now_ns = self.now_ns.max(event.time_ns);
                if window.holds(event, self.begin_ns) {
                    self.tell(entry);
                }
            }
            TraceEntry::Phase { time_ns, name } => {
                self.begin(*time_ns, window);
                self.now_ns = self.now_ns.max(*time_ns);
                self.end_phase();
                if !name.is_empty() && self.phases.len() < PHASES_MAX {
                    let mut analyst = window.analyst(*time_ns);
                    self.waiting.iter().for_each(|device| analyst.entry(device));
                    self.phase = Some((name.clone(), analyst));
                }
            }
            TraceEntry::Device(_) => {
                if self.waiting.len() < 4096 {
                    self.waiting.push(entry.clone());
                }
                self.tell(entry);
            }
            TraceEntry::Lost { .. } => {
                self.begin(self.now_ns, window);
                self.tell(entry);
            }
            TraceEntry::Note { name, value } => self.note(name, *value, window),
            TraceEntry::Process { .. } => {}
        }
    }

    fn note(&mut self, name: &str, value: u64, window: TraceWindow) {
        match name {
            TraceEntry::BEGIN_NS => {
                self.now_ns = self.now_ns.max(value);
                self.begin(value, window);
            }
            TraceEntry::END_NS => self.notes.end_ns = Some(value),
            TraceEntry::PROGRAM_WRITE_BYTES => self.notes.program_write_bytes = Some(value),
            TraceEntry::MISSING_BYTES => self.notes.missing_bytes = Some(value),
            _ => {}
        }
    }

    fn begin(&mut self, time_ns: u64, window: TraceWindow) {
        if self.whole.is_some() {
            return;
        }
        self.begin_ns = time_ns;
        let from = window.times_ns.map_or(0, |(from, _)| from);
        let mut analyst = window.analyst(time_ns.saturating_add(from));
        self.waiting.iter().for_each(|device| analyst.entry(device));
        self.whole = Some(analyst);
    }

    fn tell(&mut self, entry: &TraceEntry) {
        let phase = self.phase.as_mut().map(|(_, analyst)| analyst);
        self.whole.iter_mut().chain(phase).for_each(|analyst| analyst.entry(entry));
    }

    fn end_phase(&mut self) {
        if let Some((name, mut analyst)) = self.phase.take() {
            self.phases.push((name, analyst.cut(self.now_ns)));
        }
    }

    fn end(mut self, window: TraceWindow) -> TraceSummary {
        self.end_phase();
        let now_ns = self.now_ns.max(self.notes.end_ns.unwrap_or(0));
        let until = window.times_ns.map(|(_, until)| self.begin_ns.saturating_add(until));
        let until = until.map_or(now_ns, |until| until.min(now_ns));
        let mut whole = self.whole.map(|mut analyst| analyst.end(until)).unwrap_or_default();
        if window == TraceWindow::default() {
            // These notes cover the whole recording, not a window.
            whole.figures.program_write_bytes = self.notes.program_write_bytes;
            whole.figures.missing_bytes = self.notes.missing_bytes.unwrap_or(0);
        }
        let from_ns = window.times_ns.map_or(0, |(from, _)| from);
        TraceSummary { whole, phases: self.phases, begin_ns: self.begin_ns, from_ns }
    }
}
