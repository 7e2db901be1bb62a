//! Statistics of a worker's calls: counts and latencies by kind, and the rate in each second.
//!
//! Each worker has its own recorder. Between two samples nothing is allocated, locked or printed;
//! only the list of seconds may grow, once a second, in phases of more than an hour. Reading the
//! clock costs more than everything else, so the sampling mode is an option.

use treering_model::{IntervalTotals, Latency, Op, OpTotals};
use treering_sys::CallClock;

/// Selection of timed calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LatencyMode {
    /// Times every call: two clock readings a call.
    All,
    /// Times every sync and fsync, and one in 32 calls of each other kind on average, at random
    /// distances.
    #[default]
    Sampled,
    /// Times no call.
    Off,
}

/// Longest distance between two samples; distances are uniform from 1, so the mean is 32.
const LONGEST_GAP: u64 = 63;
/// Number of calls without a sample after which the clock is read, to separate the seconds.
const UNCLOCKED_MAX: u32 = 64;
const SECOND_NS: u64 = 1_000_000_000;
/// Number of intervals allocated in advance.
const SECONDS_RESERVED: usize = 4096;

/// Counters of one call kind: half a cache line, so that a call touches one.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct CallCounts {
    /// Calls of this kind left until the next timed one.
    gap: u64,
    calls: u64,
    errors: u64,
    bytes: u64,
}

/// Counts and times the calls of one worker.
#[derive(Debug)]
pub struct CallRecorder {
    mode: LatencyMode,
    clock: CallClock,
    counts: [CallCounts; Op::COUNT],
    unclocked: u32,
    /// End of the previous step, if it was timed.
    ended_ns: Option<u64>,
    next_tick_ns: u64,
    random: u64,
    phase_began_ns: u64,
    /// Interval that is being counted, including earlier tasks.
    present: IntervalTotals,
    /// Calls and bytes of the current task already added to `present` or `intervals`.
    placed: (u64, u64),
    intervals: Vec<IntervalTotals>,
    latencies: Vec<Latency>,
}

/// Array index of a kind of call.
const fn place(op: Op) -> usize {
    op as usize
}

impl CallRecorder {
    /// Recorder whose sample distances are drawn from `seed`; it takes samples once it is prepared.
    pub fn new(mode: LatencyMode, seed: u64) -> Self {
        let mut recorder = Self {
            mode,
            clock: CallClock::new(),
            counts: [CallCounts::default(); Op::COUNT],
            unclocked: 0,
            ended_ns: None,
            next_tick_ns: u64::MAX,
            // The generator must not start at zero; equal seeds may give equal distances.
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            phase_began_ns: 0,
            present: IntervalTotals::default(),
            placed: (0, 0),
            intervals: Vec::new(),
            latencies: Vec::new(),
        };
        for op in Op::ALL {
            recorder.counts[place(op)].gap = recorder.gap(op);
        }
        recorder
    }

    /// Allocates all that samples need, in the process that takes them: a fork copies the tables of
    /// all memory that its parent has, so that many workers of a parent that held it for each of
    /// them would take a time that grows with their square.
    pub fn prepare(&mut self) {
        if self.latencies.is_empty() {
            self.latencies = (0..Op::COUNT).map(|_| Latency::new()).collect();
            self.intervals.reserve(SECONDS_RESERVED);
        }
    }

    /// Begins a phase that began at `began_ns` of the monotonic clock; its seconds are counted from
    /// there.
    pub fn begin_phase(&mut self, began_ns: u64) {
        self.phase_began_ns = began_ns;
        self.next_tick_ns = began_ns.saturating_add(SECOND_NS);
        self.present = IntervalTotals::default();
        self.intervals.clear();
    }

    /// Starts a task at `now_ns`: earlier calls stay in their own intervals.
    pub(crate) fn begin_task(&mut self, now_ns: u64) {
        self.unclocked = 0;
        self.ended_ns = None;
        self.clock.begin_at(now_ns);
        self.tick(now_ns);
    }

    /// Starts a step: returns the start time if the step is to be timed. Waiting for requests
    /// starts at the end of the previous step, which saves a clock reading.
    #[inline]
    pub fn before(&mut self, op: Op) -> Option<u64> {
        let gap = &mut self.counts[place(op)].gap;
        *gap -= 1;
        if *gap > 0 {
            return None;
        }
        let known = self.ended_ns.filter(|_| op == Op::Reap);
        Some(known.unwrap_or_else(|| self.clock.now_ns()))
    }

    /// Ends a step, given the result of [`CallRecorder::before`], the number of calls, the bytes
    /// moved and whether it failed. Returns start and end if the step was timed.
    #[inline]
    pub fn after(
        &mut self,
        op: Op,
        began_ns: Option<u64>,
        calls: u32,
        bytes: u64,
        refused: bool,
    ) -> Option<(u64, u64)> {
        let timed = began_ns.map(|began_ns| (began_ns, self.sample(op, began_ns, calls > 0)));
        self.ended_ns = timed.map(|(_, ended_ns)| ended_ns);
        if timed.is_none() {
            self.unclocked += 1;
            if self.unclocked >= UNCLOCKED_MAX {
                self.unclocked = 0;
                let now_ns = self.clock.now_ns();
                self.tick(now_ns);
            }
        }
        let counts = &mut self.counts[place(op)];
        counts.calls += u64::from(calls);
        counts.bytes += bytes;
        counts.errors += u64::from(refused);
        timed
    }

    /// Records the latency of a step that made a call; returns the end of the step.
    fn sample(&mut self, op: Op, began_ns: u64, called: bool) -> u64 {
        let now_ns = self.clock.now_ns();
        self.unclocked = 0;
        // Before the call is counted: it ended in the second that may begin here.
        self.tick(now_ns);
        if called {
            self.latencies[place(op)].record(now_ns - began_ns);
        }
        self.counts[place(op)].gap = self.gap(op);
        now_ns
    }

    /// Number of calls until the next sample, inclusive.
    #[inline]
    fn gap(&mut self, op: Op) -> u64 {
        match self.mode {
            LatencyMode::All => 1,
            LatencyMode::Off => u64::MAX,
            LatencyMode::Sampled if matches!(op, Op::Sync | Op::Fsync) => 1,
            LatencyMode::Sampled => {
                // xorshift64 (Marsaglia): any generator will do that has no short period.
                self.random ^= self.random << 13;
                self.random ^= self.random >> 7;
                self.random ^= self.random << 17;
                (self.random >> 32) % LONGEST_GAP + 1
            }
        }
    }

    #[inline]
    fn tick(&mut self, now_ns: u64) {
        if now_ns >= self.next_tick_ns {
            self.cut(now_ns);
        }
    }

    /// Closes the current interval and starts that of `now_ns`.
    #[cold]
    fn cut(&mut self, now_ns: u64) {
        self.place_counts();
        if self.present.calls > 0 || self.present.bytes > 0 {
            self.intervals.push(self.present);
        }
        let second = (now_ns - self.phase_began_ns) / SECOND_NS;
        self.next_tick_ns = self.phase_began_ns + (second + 1) * SECOND_NS;
        // A phase longer than 136 years counts on in its last second.
        self.present = IntervalTotals {
            second: u32::try_from(second).unwrap_or(u32::MAX),
            calls: 0,
            bytes: 0,
        };
    }

    /// Adds the calls counted since the last time to the current second.
    fn place_counts(&mut self) {
        let (calls, bytes) = self
            .counts
            .iter()
            .fold((0, 0), |(calls, bytes), counts| (calls + counts.calls, bytes + counts.bytes));
        self.present.calls += calls - self.placed.0;
        self.present.bytes += bytes - self.placed.1;
        self.placed = (calls, bytes);
    }

    /// Ends a task: returns totals of the call kinds that occurred, and resets counts and
    /// latencies.
    pub(crate) fn end_task(&mut self) -> Vec<OpTotals> {
        self.place_counts();
        self.placed = (0, 0);
        let mut totals = Vec::new();
        for op in Op::ALL {
            let counts = &mut self.counts[place(op)];
            let CallCounts { gap, calls, errors, bytes } = *counts;
            if calls == 0 {
                continue;
            }
            // A sample's distance goes on into the next task, or short tasks would have none.
            *counts = CallCounts { gap, ..CallCounts::default() };
            let latency = self.latencies[place(op)].clone();
            if latency.samples() > 0 {
                self.latencies[place(op)].clear();
            }
            totals.push(OpTotals { op, calls, errors, bytes, latency });
        }
        totals
    }

    /// Ends a phase; returns calls and bytes of each second that has any.
    pub(crate) fn end_phase(&mut self) -> Vec<IntervalTotals> {
        if self.present.calls > 0 || self.present.bytes > 0 {
            self.intervals.push(self.present);
        }
        self.present = IntervalTotals::default();
        self.next_tick_ns = u64::MAX;
        self.intervals.drain(..).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{CallRecorder, LatencyMode};
    use treering_model::Op;
    use treering_sys::monotonic_ns;

    fn record(mode: LatencyMode, calls: u32) -> CallRecorder {
        let mut recorder = CallRecorder::new(mode, 7);
        recorder.prepare();
        recorder.begin_phase(monotonic_ns());
        for _ in 0..calls {
            for op in [Op::Write, Op::Sync] {
                let began = recorder.before(op);
                recorder.after(op, began, 1, 10, false);
            }
        }
        recorder
    }

    fn samples(mode: LatencyMode) -> (u64, u64) {
        let totals = record(mode, 32_000).end_task();
        assert_eq!(totals.len(), 2);
        assert_eq!((totals[0].calls, totals[0].bytes), (32_000, 320_000));
        (totals[0].latency.samples(), totals[1].latency.samples())
    }

    #[test]
    fn each_latency_mode_takes_its_samples() {
        assert_eq!(samples(LatencyMode::All), (32_000, 32_000));
        assert_eq!(samples(LatencyMode::Off), (0, 0));
        let (sampled, syncs) = samples(LatencyMode::Sampled);
        // 1,000 expected; the distances' spread allows about 18 either way.
        assert!((920..1080).contains(&sampled), "{sampled}");
        assert_eq!(syncs, 32_000);
    }

    #[test]
    fn waiting_time_starts_at_the_end_of_the_previous_step() {
        let mut recorder = CallRecorder::new(LatencyMode::All, 1);
        recorder.prepare();
        recorder.begin_phase(monotonic_ns());
        let began = recorder.before(Op::Submit);
        let submitted = recorder.after(Op::Submit, began, 1, 0, false).unwrap();
        let began = recorder.before(Op::Reap);
        assert_eq!(began, Some(submitted.1));
        let seen = recorder.after(Op::Reap, began, 0, 10, false).unwrap();
        // Requests that had already completed took no call, and are no sample.
        let began = recorder.before(Op::Reap);
        assert_eq!(began, Some(seen.1));
        recorder.after(Op::Reap, began, 1, 10, false);
        let totals = recorder.end_task();
        let counts = totals.iter().map(|op| (op.op, op.calls, op.bytes, op.latency.samples()));
        assert_eq!(counts.collect::<Vec<_>>(), [(Op::Submit, 1, 0, 1), (Op::Reap, 1, 20, 1)]);
    }

    #[test]
    fn sampling_distances_are_not_periodic() {
        let mut recorder = CallRecorder::new(LatencyMode::Sampled, 1);
        recorder.prepare();
        let gaps: Vec<u64> = (0..63_000).map(|_| recorder.gap(Op::Read)).collect();
        for gap in 1..=63 {
            let met = gaps.iter().filter(|&&drawn| drawn == gap).count();
            assert!((850..1150).contains(&met), "{gap}: {met}");
        }
        let pairs = gaps.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert!((800..1200).contains(&pairs), "{pairs}");
    }

    #[test]
    fn interval_counts_add_up_and_calls_are_in_their_second() {
        let mut recorder = CallRecorder::new(LatencyMode::All, 1);
        recorder.prepare();
        let began = monotonic_ns();
        // As if the phase had begun 5.9 seconds ago, and a tick is near.
        let phase_began = began - 5_900_000_000;
        recorder.begin_phase(phase_began);
        recorder.begin_task(began);
        let (mut calls, mut expected) = (0u64, [0u64; 8]);
        while monotonic_ns() < began + 250_000_000 {
            let start = recorder.before(Op::Read);
            let earlier = monotonic_ns();
            recorder.after(Op::Read, start, 1, 3, false);
            calls += 1;
            expected[usize::try_from((earlier - phase_began) / 1_000_000_000).unwrap()] += 1;
        }
        let totals = recorder.end_task();
        recorder.begin_task(monotonic_ns());
        let start = recorder.before(Op::Write);
        recorder.after(Op::Write, start, 2, 0, true);
        let second = recorder.end_task();
        assert_eq!((second[0].calls, second[0].errors), (2, 1));
        let intervals = recorder.end_phase();
        assert_eq!(totals[0].calls, calls);
        let seconds: Vec<u32> = intervals.iter().map(|interval| interval.second).collect();
        assert_eq!(seconds, [5, 6]);
        assert!(intervals[0].calls.abs_diff(expected[5]) <= 1);
        assert_eq!(intervals.iter().map(|interval| interval.calls).sum::<u64>(), calls + 2);
        assert_eq!(intervals.iter().map(|interval| interval.bytes).sum::<u64>(), calls * 3);
    }

    #[test]
    fn the_clock_is_read_regularly_without_samples() {
        let mut recorder = record(LatencyMode::Off, 10);
        recorder.end_task();
        recorder.phase_began_ns -= 3_000_000_000;
        recorder.next_tick_ns -= 3_000_000_000;
        for _ in 0..64 {
            let began = recorder.before(Op::Read);
            recorder.after(Op::Read, began, 1, 1, false);
        }
        recorder.end_task();
        let intervals = recorder.end_phase();
        assert_eq!(intervals.iter().map(|interval| interval.calls).sum::<u64>(), 84);
        assert_eq!(intervals.last().map(|interval| interval.second), Some(3));
    }
}
