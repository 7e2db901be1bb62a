//! Stream of arrivals: due times of requests, and their assignment to clones.
//!
//! The clones of a section share one stream of arrivals. An idle clone takes the next arrival,
//! waits until it is due, and issues it; when all are busy, arrivals wait for the first clone that
//! is free. So requests are served first come, first served, and a request's wait is part of its
//! latency.

use std::sync::{Arc, Mutex, PoisonError};

use crate::classic::offered::OfferedTally;
use crate::classic::tally::Latencies;
use treering_script::Random;

/// Longest single wait of an idle clone in microseconds, so that it notices the end of a run.
const PIECE_US: u64 = 20_000;

/// Maximum number of lateness limits.
pub(in super::super) const LATE_MOST: usize = 4;

/// Parameters of a stream of arrivals. Times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct ArrivalParameters {
    /// Mean arrival rate per second.
    pub(in super::super) per_second: f64,
    /// True for exponentially distributed gaps, false for equal ones.
    pub(in super::super) is_poisson: bool,
    /// Seed of the random gaps.
    pub(in super::super) seed: u64,
    /// Warm-up, whose arrivals are not counted.
    pub(in super::super) warm_up_ns: u64,
    /// Measured time, which follows the warm-up.
    pub(in super::super) length_ns: u64,
    /// Time after the last arrival in which requests may still end.
    pub(in super::super) grace_ns: u64,
    /// Lateness limits, each with a counter of slower requests; 0 for none.
    pub(in super::super) late_ns: [u64; LATE_MOST],
}

impl ArrivalParameters {
    fn end_ns(&self) -> u64 {
        self.warm_up_ns + self.length_ns
    }
}

/// Stream of the arrivals of a section.
#[derive(Debug)]
pub(in super::super) struct Stream {
    terms: ArrivalParameters,
    drawn: Mutex<ArrivalGenerator>,
}

#[derive(Debug)]
struct ArrivalGenerator {
    random: Random,
    /// Time when the first clone was ready, origin of all arrivals.
    start_ns: Option<u64>,
    /// Time of the last arrival, from the start.
    at_ns: f64,
    /// Number of arrivals in the measured time.
    counted: u64,
}

/// Due time of a request, and whether it falls into the measured time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Arrival {
    due_ns: u64,
    counts: bool,
}

impl Stream {
    pub(in super::super) fn new(terms: ArrivalParameters) -> Self {
        let random = Random::for_part(terms.seed, "arrivals");
        let drawn = ArrivalGenerator { random, start_ns: None, at_ns: 0.0, counted: 0 };
        Self { terms, drawn: Mutex::new(drawn) }
    }

    /// Takes the next arrival for a free clone; `None` after the end of the stream.
    fn take(&self, now_ns: u64) -> Option<Arrival> {
        let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        let start_ns = *drawn.start_ns.get_or_insert(now_ns);
        if now_ns > start_ns + self.terms.end_ns() + self.terms.grace_ns {
            return None;
        }
        let (at_ns, counts) = drawn.next(&self.terms)?;
        Some(Arrival { due_ns: start_ns + at_ns, counts })
    }

    /// Number of requests due in the measured time, whether they were issued or not.
    pub(in super::super) fn due(&self) -> u64 {
        let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        while drawn.next(&self.terms).is_some() {}
        drawn.counted
    }
}

impl ArrivalGenerator {
    /// Draws the next arrival: its time from the start, and true if it falls into the measured
    /// time. `None` after the end.
    fn next(&mut self, terms: &ArrivalParameters) -> Option<(u64, bool)> {
        let mean_ns = 1e9 / terms.per_second;
        let share = if terms.is_poisson {
            // From (0, 1], so that its logarithm is finite.
            -(((self.random.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64).ln()
        } else {
            1.0
        };
        self.at_ns += mean_ns * share;
        if self.at_ns >= terms.end_ns() as f64 {
            self.at_ns = f64::INFINITY;
            return None;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "before it")]
        let at_ns = self.at_ns as u64;
        let counts = at_ns >= terms.warm_up_ns;
        self.counted += u64::from(counts);
        Some((at_ns, counts))
    }
}

/// Decision on a clone's next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Dispatch {
    /// The request is due.
    Now,
    /// The request is due later: pause for this many microseconds, then ask again.
    Wait(u64),
    /// The stream has ended.
    Over,
}

#[derive(Clone, Copy, Debug)]
enum ScheduleState {
    Free,
    /// Waits for an arrival; true if the clone has slept meanwhile.
    Waiting(Arrival, bool),
    /// Serves an arrival; the end of its last transfer or sync, if timed.
    Serving(Arrival, Option<u64>),
}

/// Connection of a clone to a stream.
#[derive(Debug)]
pub(in super::super) struct WorkerSchedule {
    stream: Arc<Stream>,
    at: ScheduleState,
    tally: OfferedTally,
}

impl WorkerSchedule {
    pub(in super::super) fn new(stream: Arc<Stream>) -> Self {
        Self {
            stream,
            at: ScheduleState::Free,
            tally: OfferedTally { late: vec![0; LATE_MOST], ..OfferedTally::default() },
        }
    }

    /// Takes the next arrival if the clone is free, and decides whether its request is due.
    pub(in super::super) fn turn(&mut self, now_ns: u64) -> Dispatch {
        if let ScheduleState::Serving(..) = self.at {
            self.settle();
        }
        let (arrival, slept) = match self.at {
            ScheduleState::Waiting(arrival, slept) => (arrival, slept),
            ScheduleState::Free | ScheduleState::Serving(..) => match self.stream.take(now_ns) {
                Some(arrival) => (arrival, false),
                None => return Dispatch::Over,
            },
        };
        let left_ns = arrival.due_ns.saturating_sub(now_ns);
        if left_ns > 0 {
            self.at = ScheduleState::Waiting(arrival, true);
            return Dispatch::Wait(left_ns.div_ceil(1000).min(PIECE_US));
        }
        if slept && arrival.counts {
            self.tally.lag.add(now_ns - arrival.due_ns);
        }
        self.at = ScheduleState::Serving(arrival, None);
        Dispatch::Now
    }

    /// Records the end of a transfer, or of a sync that belongs to the request.
    pub(in super::super) fn ended(&mut self, at_ns: u64) {
        if let ScheduleState::Serving(_, ended_ns) = &mut self.at {
            *ended_ns = Some(at_ns);
        }
    }

    /// Records the latency of the request that was served.
    fn settle(&mut self) {
        if let ScheduleState::Serving(arrival, Some(ended_ns)) =
            std::mem::replace(&mut self.at, ScheduleState::Free)
            && arrival.counts
        {
            let latency_ns = ended_ns.saturating_sub(arrival.due_ns);
            self.tally.latency.add(latency_ns);
            let late_ns = self.stream.terms.late_ns;
            for (count, late_ns) in self.tally.late.iter_mut().zip(late_ns) {
                *count += u64::from(latency_ns > late_ns);
            }
        }
    }

    /// Records the last request and returns the tally.
    pub(in super::super) fn tally(mut self) -> OfferedTally {
        self.settle();
        self.tally
    }
}

/// Latency quantile over all due requests, with those that never ended as the slowest; `None` if
/// the quantile is one of these.
pub(in super::super) fn quantile(ended: &Latencies, due: u64, share: f64) -> Option<u64> {
    let count = ended.stat.samples;
    let place = share * due.max(count) as f64;
    if count == 0 || place > count as f64 {
        return None;
    }
    ended.histogram.clone().percentiles(&[100.0 * place / count as f64]).first().copied()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{ArrivalParameters, Dispatch, Latencies, Stream, WorkerSchedule, quantile};

    const MS: u64 = 1_000_000;

    fn terms(per_second: f64, is_poisson: bool) -> ArrivalParameters {
        let (warm_up_ns, length_ns, grace_ns) = (100 * MS, 1000 * MS, 50 * MS);
        ArrivalParameters {
            per_second,
            is_poisson,
            seed: 3,
            warm_up_ns,
            length_ns,
            grace_ns,
            late_ns: [5 * MS, 0, 0, 0],
        }
    }

    /// Runs a single clone with this service time, and returns its lane at the end.
    fn served(stream: &Arc<Stream>, service_ns: u64) -> WorkerSchedule {
        served_until(stream, |now_ns| now_ns + service_ns)
    }

    /// Runs a single clone whose request that begins at a time ends at the time that is returned.
    fn served_until(stream: &Arc<Stream>, mut end_ns: impl FnMut(u64) -> u64) -> WorkerSchedule {
        let mut lane = WorkerSchedule::new(Arc::clone(stream));
        let mut now_ns = 7 * MS;
        loop {
            match lane.turn(now_ns) {
                Dispatch::Wait(us) => now_ns += us * 1000,
                Dispatch::Now => {
                    now_ns = end_ns(now_ns);
                    lane.ended(now_ns);
                }
                Dispatch::Over => return lane,
            }
        }
    }

    #[test]
    fn latency_is_measured_from_the_due_time() {
        // 100 requests a second, each of 1 ms: nothing waits, and none is late.
        let stream = Arc::new(Stream::new(terms(100.0, false)));
        let tally = served(&stream, MS).tally();
        assert_eq!((tally.latency.stat.samples, stream.due()), (100, 100));
        assert_eq!((tally.latency.stat.least, tally.latency.stat.most), (MS, MS));
        assert_eq!(tally.late, [0, 100, 100, 100]);
        assert_eq!((tally.lag.stat.samples, tally.lag.stat.most), (100, 0));
        // Each of 20 ms: every other one is served until the end of the grace, and the last of
        // those waited for nearly all of the time. The service time was always 20 ms.
        let stream = Arc::new(Stream::new(terms(100.0, false)));
        let tally = served(&stream, 20 * MS).tally();
        let (ended, due) = (tally.latency.stat.samples, stream.due());
        assert_eq!(due, 100);
        assert!((45..=52).contains(&ended), "{ended}");
        assert!(tally.latency.stat.most > 500 * MS, "{}", tally.latency.stat.most);
        assert_eq!(quantile(&tally.latency, due, 0.99), None, "it never ended");
        assert!(quantile(&tally.latency, due, 0.25).is_some());
    }

    /// A device that stalls for a second under 200 requests a second: one call is slow, and all
    /// requests that were due in that second are late.
    #[test]
    fn a_stall_counts_for_each_request_that_was_due_in_it() {
        let terms = ArrivalParameters { length_ns: 10_000 * MS, ..terms(200.0, true) };
        let stream = Arc::new(Stream::new(terms));
        let mut calls = Latencies::default();
        let lane = served_until(&stream, |now_ns| {
            let is_stalled = (4000 * MS..5000 * MS).contains(&now_ns);
            let end_ns = if is_stalled { 5000 * MS } else { now_ns } + MS;
            calls.add(end_ns - now_ns);
            end_ns
        });
        let latency = lane.tally().latency;
        let p99 = |latencies: &Latencies, count| quantile(latencies, count, 0.99).unwrap() / MS;
        let (of_calls, from_due) = (p99(&calls, 0), p99(&latency, stream.due()));
        assert!(of_calls == 1 && calls.stat.most > 900 * MS, "{of_calls}");
        assert!((850..=1000).contains(&from_due), "{from_due}");
    }

    #[test]
    fn arrivals_form_a_poisson_process() {
        let stream =
            Stream::new(ArrivalParameters { length_ns: 100_000 * MS, ..terms(1000.0, true) });
        let mut times = Vec::new();
        while let Some(arrival) = stream.take(0) {
            times.push(arrival.due_ns);
        }
        let gaps: Vec<f64> = times.windows(2).map(|two| (two[1] - two[0]) as f64 / 1e6).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 0.02 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
        assert!(times.len() > 99_000 && stream.due() <= times.len() as u64);
    }

    #[test]
    fn requests_that_never_end_count_as_slowest() {
        let mut ended = Latencies::default();
        (1..=90).for_each(|ms| ended.add(ms * MS));
        let of = |due, share| quantile(&ended, due, share).map(|ns| ns.div_ceil(MS));
        assert!(of(90, 0.5).is_some_and(|ms| (44..=47).contains(&ms)));
        assert!(of(180, 0.25).is_some_and(|ms| (44..=47).contains(&ms)));
        assert_eq!((of(180, 0.6), quantile(&Latencies::default(), 0, 0.5)), (None, None));
    }
}
