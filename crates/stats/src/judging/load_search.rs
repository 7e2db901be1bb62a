//! Search for the highest rate at which a system keeps a latency limit: choice of the next rate to
//! probe, and evaluation of the probes.
//!
//! Starting at the lowest rate, rates double until one fails twice. Then rates on both sides of the
//! estimate are probed in pairs, in random order, so that neither one lucky probe nor a slow drift
//! of the machine decides the result. The probes are evaluated by [`ThresholdPosterior`] and
//! [`crossing`]. Running a probe is up to the caller.

use crate::generator::Generator;
use crate::inference::crossing::{CountsAtValue, crossing};
use crate::inference::threshold::ThresholdPosterior;
use crate::interval::{Interval, IntervalMethod};

/// Range and precision of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadTerms {
    /// First rate to probe.
    pub lowest: f64,
    /// Highest rate to probe.
    pub highest: f64,
    /// Allowed share of late requests.
    pub allowed: f64,
    /// Relative half-width of the interval at which the search ends.
    pub precision: f64,
    /// Seed of the probe order.
    pub seed: u64,
}

/// Result of one probe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadProbe {
    /// Offered rate.
    pub rate: f64,
    /// Number of requests that were due.
    pub due: f64,
    /// Number of late requests.
    pub late: f64,
}

/// Largest number of probes; further ones would gain little.
pub(crate) const MOST_LOAD_PROBES: usize = 60;
/// Fewest probes after the bracketing phase.
const FEWEST_PROBES: usize = 16;
/// Smallest and largest distance of probes from the estimate, as a fraction: 3 % and 20 %.
const NEAREST: f64 = 0.03;
const FARTHEST: f64 = 0.2;
/// Number of probes that decide at an end of the range, by majority.
const PROBES_AT_END: usize = 3;
const CONFIDENCE: f64 = 0.95;

/// Result of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LoadAnswer {
    /// Estimate of the highest rate.
    At {
        /// Estimate.
        rate: f64,
        /// 95 % interval of the estimate.
        interval: Interval,
    },
    /// The lowest rate already failed.
    BelowLowest,
    /// The highest rate passed.
    AboveHighest,
    /// Too few probes for an estimate.
    Open {
        /// Highest rate that passed.
        passed: Option<f64>,
        /// Lowest rate that failed.
        failed: Option<f64>,
    },
}

#[derive(Debug, Clone)]
enum LoadStage {
    /// Probing the lowest rate: passes and failures so far.
    Lowest([usize; 2]),
    /// Doubling: last rate that passed, and failures of the next one.
    Doubling(f64, usize),
    /// Probing the highest rate: passes and failures so far.
    Highest([usize; 2]),
    Narrowing(Box<ThresholdPosterior>),
}

/// Search in progress.
#[derive(Debug, Clone)]
pub struct LoadSearch {
    terms: LoadTerms,
    stage: LoadStage,
    probes: Vec<LoadProbe>,
    narrowed: usize,
    generator: Generator,
    upper_first: bool,
}

impl LoadSearch {
    /// Starts a search. Rates must be positive; a highest rate below the lowest is replaced by the
    /// lowest.
    pub fn new(terms: LoadTerms) -> Self {
        let lowest = terms.lowest.max(f64::MIN_POSITIVE);
        let terms = LoadTerms { lowest, highest: terms.highest.max(lowest), ..terms };
        Self {
            generator: Generator::seeded(terms.seed),
            terms,
            stage: LoadStage::Lowest([0; 2]),
            probes: Vec::new(),
            narrowed: 0,
            upper_first: false,
        }
    }

    /// Rate of the next probe; `None` when the search has ended.
    pub fn next_rate(&mut self) -> Option<f64> {
        if self.probes.len() >= MOST_LOAD_PROBES {
            return None;
        }
        match &self.stage {
            LoadStage::Lowest(counts) => {
                (counts[1] * 2 <= PROBES_AT_END).then_some(self.terms.lowest)
            }
            LoadStage::Doubling(passed, _) => Some((passed * 2.0).min(self.terms.highest)),
            LoadStage::Highest(counts) => {
                (counts[0] * 2 <= PROBES_AT_END).then_some(self.terms.highest)
            }
            LoadStage::Narrowing(threshold) => {
                if self.narrowed >= FEWEST_PROBES && self.is_precise(threshold) {
                    return None;
                }
                if self.narrowed.is_multiple_of(2) {
                    self.upper_first = self.generator.coin();
                }
                let is_upper = self.narrowed.is_multiple_of(2) == self.upper_first;
                let rate = self.rate_beside(threshold, is_upper);
                Some(rate.clamp(self.terms.lowest / 2.0, self.terms.highest))
            }
        }
    }

    /// Rate on one side of the estimate, at a distance that matches its uncertainty.
    fn rate_beside(&self, threshold: &ThresholdPosterior, is_upper: bool) -> f64 {
        let Some([low, at, high]) = self.crossing(threshold) else {
            return threshold.quantile(if is_upper { 0.75 } else { 0.25 });
        };
        let distance = ((high - low) / 3.0).clamp(NEAREST, FARTHEST);
        (if is_upper { at + distance } else { at - distance }).exp()
    }

    fn is_precise(&self, threshold: &ThresholdPosterior) -> bool {
        let [low, rate, high] = self.interval_ends(threshold);
        let most = 1.0 + self.terms.precision;
        high <= rate * most && rate <= low * most
    }

    fn passed(&self, probe: &LoadProbe) -> bool {
        probe.late <= self.terms.allowed * probe.due
    }

    /// Records the result of a probe.
    pub fn probed(&mut self, probe: LoadProbe) {
        let (rate, passed) = (probe.rate, self.passed(&probe));
        self.probes.push(probe);
        match &mut self.stage {
            LoadStage::Lowest(counts) => {
                counts[usize::from(!passed)] += 1;
                // The majority of three probes decides; a pass at the first one is enough.
                let continues = passed && (counts[1] == 0 || counts[0] * 2 > PROBES_AT_END);
                if continues {
                    self.stage = self.after(rate);
                }
            }
            LoadStage::Doubling(..) if passed => self.stage = self.after(rate),
            // A single failure may be chance.
            LoadStage::Doubling(_, failures) if *failures == 0 => *failures = 1,
            LoadStage::Doubling(before, _) => {
                let before = *before;
                self.narrow(before, rate);
            }
            LoadStage::Highest(counts) => {
                counts[usize::from(!passed)] += 1;
                if counts[1] * 2 > PROBES_AT_END {
                    self.narrow(rate / 2.0, rate);
                }
            }
            LoadStage::Narrowing(threshold) => {
                threshold.update(rate, passed);
                self.narrowed += 1;
            }
        }
    }

    fn after(&self, passed: f64) -> LoadStage {
        if passed >= self.terms.highest {
            LoadStage::Highest([1, 0])
        } else {
            LoadStage::Doubling(passed, 0)
        }
    }

    fn narrow(&mut self, low: f64, high: f64) {
        let mut threshold = Box::new(ThresholdPosterior::around_bracket(low, high));
        self.probes.iter().for_each(|probe| threshold.update(probe.rate, self.passed(probe)));
        self.stage = LoadStage::Narrowing(threshold);
    }

    /// Result so far.
    pub fn answer(&self) -> LoadAnswer {
        match &self.stage {
            LoadStage::Lowest(counts) if counts[1] * 2 > PROBES_AT_END => LoadAnswer::BelowLowest,
            LoadStage::Highest(counts) if counts[0] * 2 > PROBES_AT_END => LoadAnswer::AboveHighest,
            LoadStage::Narrowing(threshold) if self.narrowed > 0 => {
                let [low, rate, high] = self.interval_ends(threshold);
                let (confidence, method) = (CONFIDENCE, IntervalMethod::StudentT);
                let interval = Interval { low, high, confidence, achieved: None, method };
                LoadAnswer::At { rate, interval }
            }
            _ => LoadAnswer::Open {
                passed: self.rates(true).reduce(f64::max),
                failed: self.rates(false).reduce(f64::min),
            },
        }
    }

    /// Rates of the probes that passed, or failed.
    fn rates(&self, passed: bool) -> impl Iterator<Item = f64> {
        let with_verdict = self.probes.iter().filter(move |probe| self.passed(probe) == passed);
        with_verdict.map(|probe| probe.rate)
    }

    /// Highest rate that passed, and lowest that failed.
    fn extremes(&self) -> Option<[f64; 2]> {
        Some([self.rates(true).reduce(f64::max)?, self.rates(false).reduce(f64::min)?])
    }

    /// Lower end, estimate and upper end of the interval. They come from the passes and failures if
    /// the shares of late requests give no estimate, as when none or nearly all requests are late.
    fn interval_ends(&self, threshold: &ThresholdPosterior) -> [f64; 3] {
        let beside = (1.0 - CONFIDENCE) / 2.0;
        let ends = || [beside, 0.5, 1.0 - beside].map(|share| threshold.quantile(share));
        self.crossing(threshold).map_or_else(ends, |logs| logs.map(f64::exp))
    }

    /// Logarithms of these three values from the shares of late requests; `None` if every rate that
    /// passed is below every rate that failed, as the transition is too sharp for the fitted curve.
    fn crossing(&self, threshold: &ThresholdPosterior) -> Option<[f64; 3]> {
        if self.extremes().is_none_or(|[passed, failed]| passed < failed) {
            return None;
        }
        let counted = |probe: &LoadProbe| CountsAtValue {
            x: probe.rate.ln(),
            all: probe.due,
            late: probe.late,
        };
        let counts: Vec<CountsAtValue> = self.probes.iter().map(counted).collect();
        crossing(&counts, threshold.quantile(0.5).ln(), self.terms.allowed, CONFIDENCE)
    }

    /// Number of probes so far.
    pub fn probes(&self) -> usize {
        self.probes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::{LoadAnswer, LoadProbe, LoadSearch, LoadTerms, MOST_LOAD_PROBES};

    const TERMS: LoadTerms =
        LoadTerms { lowest: 100.0, highest: 1e6, allowed: 0.01, precision: 0.05, seed: 1 };

    fn searched(terms: LoadTerms, mut passes: impl FnMut(f64) -> bool) -> LoadSearch {
        let mut search = LoadSearch::new(terms);
        while let Some(rate) = search.next_rate() {
            let late = if passes(rate) { 0.0 } else { 500.0 };
            search.probed(LoadProbe { rate, due: 1000.0, late });
        }
        search
    }

    #[test]
    fn a_sharp_threshold_is_found() {
        for at in [130.0, 1000.0, 77_777.0, 900_000.0] {
            let search = searched(TERMS, |rate| rate <= at);
            let LoadAnswer::At { rate, interval } = search.answer() else { panic!("{at}") };
            assert!((rate / at).ln().abs() < 0.06 && interval.contains(at), "{at} {rate}");
            assert!(search.probes() < MOST_LOAD_PROBES, "{}", search.probes());
        }
    }

    #[test]
    fn thresholds_outside_the_range_are_reported() {
        assert_eq!(searched(TERMS, |_| false).answer(), LoadAnswer::BelowLowest);
        assert_eq!(searched(TERMS, |_| false).probes(), 2);
        assert_eq!(searched(TERMS, |_| true).answer(), LoadAnswer::AboveHighest);
        let mut first = true;
        let search = searched(TERMS, |rate| !std::mem::take(&mut first) && rate < 3000.0);
        assert!(matches!(search.answer(), LoadAnswer::At { .. }), "one failure is not believed");
        let none = LoadSearch::new(TERMS).answer();
        assert_eq!(none, LoadAnswer::Open { passed: None, failed: None });
    }

    #[test]
    fn the_highest_rate_is_not_exceeded() {
        let terms = LoadTerms { highest: 3000.0, ..TERMS };
        let search = searched(terms, |rate| {
            assert!(rate <= 3000.0);
            rate < 2900.0
        });
        assert!(matches!(search.answer(), LoadAnswer::At { .. }), "{:?}", search.answer());
    }
}
