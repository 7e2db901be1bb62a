//! Clock of a clone, driven by the times of its calls.

use crate::language::Section;
use treering_script::Io;

use super::super::tally::Tally;

/// Clock in nanoseconds from the start of the trial.
#[derive(Debug)]
pub(super) struct Clock {
    now_ns: u64,
    /// Start of the last call, if timed and not yet reported.
    began_ns: Option<u64>,
    start_ns: u64,
    pass_ns: u64,
    /// End of the last pause that the job asked for (`thinktime`).
    pause_ns: u64,
    ramp_ns: Option<u64>,
    runtime_ns: Option<u64>,
    over_ns: u64,
    /// Due time of the next sample of a rate.
    sample_ns: u64,
    /// Samplers of bandwidth and of requests per second.
    samplers: [Sampler; 2],
}

/// Period of rate samples, and the counts at the last sample.
#[derive(Debug)]
struct Sampler {
    period_ns: u64,
    next_ns: u64,
    counted: [u64; 3],
}

impl Sampler {
    fn begin(&mut self, now_ns: u64) {
        (self.next_ns, self.counted) = (now_ns + self.period_ns, [0; 3]);
    }

    /// Rates per second since the last sample, by direction; `None` before a sample is due, and 0
    /// for idle directions.
    fn take(&mut self, now_ns: u64, counts: [u64; 3]) -> Option<[u64; 3]> {
        if now_ns < self.next_ns {
            return None;
        }
        let ms = (self.period_ns + now_ns - self.next_ns) / 1_000_000;
        let mut rates = counts;
        for (rate, before) in rates.iter_mut().zip(self.counted) {
            *rate = (*rate - before) * 1000 / ms.max(1);
        }
        (self.counted, self.next_ns) = (counts, now_ns + self.period_ns);
        Some(rates)
    }
}

impl Clock {
    pub(super) fn new(job: &Section) -> Self {
        let runtime_ns = Some(job.runtime_us * 1000).filter(|ns| *ns > 0);
        Self {
            now_ns: 0,
            began_ns: None,
            start_ns: 0,
            pass_ns: 0,
            pause_ns: 0,
            ramp_ns: Some(job.ramp_us * 1000).filter(|ns| *ns > 0),
            runtime_ns,
            over_ns: u64::MAX,
            sample_ns: u64::MAX,
            samplers: job.extras.sampled_ms.map(|ms| Sampler {
                period_ns: ms * 1_000_000,
                next_ns: u64::MAX,
                counted: [0; 3],
            }),
        }
    }

    pub(super) fn began(&mut self, at_ns: u64) {
        self.now_ns = at_ns;
    }

    /// Advances to the end of the last call, if it was timed.
    #[inline]
    pub(super) fn follow(&mut self, io: &dyn Io) {
        if let Some((began_ns, ended_ns)) = io.timed() {
            self.began_ns = Some(began_ns);
            self.now_ns = ended_ns;
        }
    }

    /// Ends a pause: if the call was not timed, advances by the requested length.
    pub(super) fn paused(&mut self, us: u64) {
        if self.began_ns.take().is_none() {
            self.now_ns += us * 1000;
        }
    }

    /// Duration of the last call, reported once.
    #[inline]
    pub(super) fn took(&mut self) -> Option<u64> {
        self.began_ns.take().map(|began_ns| self.now_ns - began_ns)
    }

    /// Start and end of the last call, reported once.
    #[inline]
    pub(super) fn span(&mut self) -> Option<(u64, u64)> {
        self.began_ns.take().map(|began_ns| (began_ns, self.now_ns))
    }

    /// End of the last call; without timing, only pauses advance it.
    pub(super) const fn last_known_ns(&self) -> u64 {
        self.now_ns
    }

    /// Current time; `None` if nothing was timed yet.
    pub(super) fn now_ns(&self) -> Option<u64> {
        Some(self.now_ns).filter(|now_ns| *now_ns > 0)
    }

    /// Begins the work.
    pub(super) fn start(&mut self) {
        self.start_ns = self.now_ns;
        self.pause_ns = self.now_ns;
        let now_ns = self.now_ns;
        self.samplers.iter_mut().for_each(|sampler| sampler.begin(now_ns));
        self.sample_ns = self.next_sample_ns();
        if self.ramp_ns.is_none() {
            self.over_ns = self.runtime_ns.map_or(u64::MAX, |ns| self.now_ns + ns);
        }
    }

    /// Begins a pass.
    pub(super) fn begin_pass(&mut self) {
        self.pass_ns = self.now_ns;
    }

    /// True once, when the ramp time ends.
    #[inline]
    pub(super) fn ends_ramp(&mut self) -> bool {
        let Some(ramp_ns) = self.ramp_ns else { return false };
        if self.start_ns == 0 || self.now_ns - self.start_ns < ramp_ns {
            return false;
        }
        self.ramp_ns = None;
        self.start();
        self.begin_pass();
        true
    }

    /// True if the runtime is over.
    #[inline]
    pub(super) const fn is_over(&self) -> bool {
        self.now_ns >= self.over_ns
    }

    /// Microseconds since the start of the work.
    #[inline]
    pub(super) const fn since_start_us(&self) -> u64 {
        (self.now_ns - self.start_ns) / 1000
    }

    /// Begins a pause of this many microseconds.
    pub(super) const fn pauses(&mut self, us: u64) {
        self.pause_ns = self.now_ns + us * 1000;
    }

    /// Microseconds since the end of the last pause.
    pub(super) const fn since_pause_us(&self) -> u64 {
        self.now_ns.saturating_sub(self.pause_ns) / 1000
    }

    /// Start of the work.
    pub(super) const fn began_work_ns(&self) -> u64 {
        self.start_ns
    }

    /// Milliseconds since the start of the work; `None` during the ramp time.
    pub(super) fn logged_ms(&self) -> Option<u64> {
        let since = self.now_ns.saturating_sub(self.start_ns);
        self.ramp_ns.is_none().then_some(since / 1_000_000)
    }

    /// True during the ramp time.
    pub(super) const fn is_in_ramp(&self) -> bool {
        self.ramp_ns.is_some()
    }

    /// Nanoseconds since the start of the pass.
    pub(super) const fn since_pass_ns(&self) -> u64 {
        self.now_ns.saturating_sub(self.pass_ns)
    }

    /// Duration of the pass so far, in milliseconds.
    pub(super) const fn pass_ms(&self) -> u64 {
        (self.now_ns - self.pass_ns).div_ceil(1_000_000)
    }

    /// Runtime so far, in milliseconds; 0 before the work begins.
    pub(super) const fn runtime_ms(&self) -> u64 {
        if self.start_ns == 0 {
            return 0;
        }
        (self.now_ns - self.start_ns) / 1_000_000
    }

    /// Records samples of the rates if they are due.
    #[inline]
    pub(super) fn sample(&mut self, tally: &mut Tally) {
        if self.now_ns >= self.sample_ns {
            self.take_sample(tally);
        }
    }

    fn next_sample_ns(&self) -> u64 {
        let [bytes, requests] = &self.samplers;
        bytes.next_ns.min(requests.next_ns)
    }

    #[cold]
    fn take_sample(&mut self, tally: &mut Tally) {
        let [bytes, requests] = &mut self.samplers;
        let counts = [0, 1, 2].map(|direction: usize| tally.directions[direction].bytes);
        for (direction, rate) in bytes.take(self.now_ns, counts).into_iter().flatten().enumerate() {
            if rate > 0 {
                tally.directions[direction].bandwidth.add(rate / 1024);
            }
        }
        let counts = [0, 1, 2].map(|direction: usize| tally.directions[direction].requests);
        for (direction, rate) in
            requests.take(self.now_ns, counts).into_iter().flatten().enumerate()
        {
            if rate > 0 {
                tally.directions[direction].iops.add(rate);
            }
        }
        self.sample_ns = self.next_sample_ns();
    }
}
