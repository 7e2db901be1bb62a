//! Searches for the highest request rate that meets latency bounds.
//!
//! A probe is a native trial of a fio job file with requests at scheduled times; `treering_stats`
//! selects the next rate. Probes share their files, which are removed at the end.

mod answer;

use std::path::Path;
use std::time::{Duration, Instant};

use treering_engine::Target;
use treering_fio::{Fio, OfferedLoad};
use treering_lab::RunTree;
use treering_model::workloads::load::{IDLE_RATE, LatencyBound, Probe};
use treering_model::{Ending, Trial, TrialId};
use treering_script::{Settings, Workload};
use treering_stats::{LoadAnswer, LoadProbe, LoadSearch, LoadTerms};
use treering_sys::wake_on_time;

use self::answer::record_answer;
use crate::failure::{Failure, FailureKind, watch_signals};
use crate::host::ResultStore;
use crate::trial::{NativeHost, NativeOptions, NativeRun};

/// Name of the search among workloads.
pub const LOAD: &str = "load";
/// Name of the tool whose job files are the load.
pub(crate) const FIO: &str = "fio";

/// Minimum expected number of requests beyond each percentile; determines the length of a probe.
const BEYOND_PERCENTILE_MIN: f64 = 5.0;
/// Maximum length in seconds to which [`BEYOND_PERCENTILE_MIN`] extends a probe.
const PROBE_SECONDS_MAX: f64 = 60.0;
/// Options of a search.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// Latency bounds; each must be met.
    pub bounds: Vec<LatencyBound>,
    /// Distribution of the arrivals: `poisson` or `fixed`.
    pub arrivals: String,
    /// Minimum length of a probe.
    pub duration: Duration,
    /// Time at the rate of a probe before requests are counted.
    pub warm_up: Duration,
    /// First rate, per second.
    pub min_rate: u64,
    /// Highest rate, per second.
    pub max_rate: u64,
    /// Precision of the answer, as a fraction.
    pub precision: f64,
    /// Precision as written by the user, such as `10%`.
    pub precision_text: String,
    /// Number of minutes after which no probe begins.
    pub minutes: u32,
    /// Seed of the first probe.
    pub seed: u64,
}

impl LoadOptions {
    /// Settings of the first probe, at the lowest rate.
    pub fn first_probe(&self, settings: &Settings) -> Settings {
        Fio::offering(settings, &self.offered(self.min_rate, 0))
    }

    /// Load that probe `number` offers at this rate.
    fn offered(&self, per_second: u64, number: usize) -> OfferedLoad {
        let slowest = self.bounds.iter().map(|bound| bound.ns).max().unwrap_or(0) as f64 / 1e9;
        let share = self.bounds.iter().map(|bound| 1.0 - bound.share).fold(1.0, f64::min);
        let needed = BEYOND_PERCENTILE_MIN / share / per_second as f64;
        let duration = self.duration.as_secs_f64();
        OfferedLoad {
            per_second,
            arrivals: self.arrivals.clone(),
            seconds: duration.max(needed.min(PROBE_SECONDS_MAX)),
            warm_up: self.warm_up.as_secs_f64(),
            // Requests that are still unfinished after this time miss every bound.
            grace: (2.0 * slowest).max(0.5),
            late: self.bounds.iter().map(LatencyBound::text).collect::<Vec<_>>().join(","),
            seed: self.seed.wrapping_add(number as u64),
        }
    }

    fn terms(&self) -> LoadTerms {
        LoadTerms {
            allowed: 1.0 - self.bounds.iter().map(|bound| bound.share).fold(0.0, f64::max),
            lowest: self.min_rate as f64,
            highest: self.max_rate as f64,
            precision: self.precision,
            seed: self.seed,
        }
    }
}

/// Result of a search.
pub struct LoadResult {
    /// The answer.
    pub answer: LoadAnswer,
    /// The probes in their order; empty if the first one was interrupted.
    pub probes: Vec<Probe>,
    /// Newest trial, from which the answer takes its directory and command line.
    newest: Option<Trial>,
    /// Probe with hardly any load, made if the lowest rate failed.
    pub idle: Option<Probe>,
    /// True if a signal ended the search.
    pub is_interrupted: bool,
    /// Trial that records the answer, if there is one.
    pub recorded: Option<TrialId>,
}

/// Searches for the highest rate, and records the answer. `probed` is called with each probe and
/// its number.
///
/// # Errors
/// When a probe cannot be configured, or fails.
pub fn search_load(
    options: &LoadOptions,
    native: &NativeOptions,
    settings: &Settings,
    (store, host): (&dyn ResultStore, &dyn NativeHost),
    probed: &dyn Fn(&Probe, usize),
) -> Result<LoadResult, Failure> {
    wake_on_time();
    // Catches signals for the whole search: a signal between two probes would otherwise end the
    // process before the files are removed.
    let _until_they_are_removed = watch_signals()?;
    let probe_options = NativeOptions { keep: true, quiet: true, ..native.clone() };
    let mut search = Search {
        options,
        native: &probe_options,
        settings,
        store,
        host,
        probed,
        trees: Vec::new(),
    };
    let result = search.run();
    if !native.keep {
        search.remove_trees(native.dir.as_deref().unwrap_or(Path::new("")));
    }
    let result = result?;
    let recorded = record_answer(&result, options, (store, host))?;
    Ok(LoadResult { recorded, ..result })
}

/// A search in progress.
struct Search<'a> {
    options: &'a LoadOptions,
    native: &'a NativeOptions,
    settings: &'a Settings,
    store: &'a dyn ResultStore,
    host: &'a dyn NativeHost,
    probed: &'a dyn Fn(&Probe, usize),
    /// Trees left by probes, to be reused by later ones.
    trees: Vec<RunTree>,
}

impl Search<'_> {
    fn run(&mut self) -> Result<LoadResult, Failure> {
        let bounds = &self.options.bounds;
        let terms = self.options.terms();
        let mut search = LoadSearch::new(terms);
        let began = Instant::now();
        let budget = Duration::from_secs(60 * u64::from(self.options.minutes));
        let (mut probes, mut newest, mut is_interrupted) = (Vec::new(), None, false);
        while let Some(rate) = search.next_rate().filter(|_| began.elapsed() < budget) {
            let Some((probe, trial)) = self.probe(rate, probes.len())? else {
                is_interrupted = true;
                break;
            };
            search.probed(counted(&probe, bounds));
            probes.push(probe);
            newest = Some(trial);
        }
        let answer = search.answer();
        let needs_idle = answer == LoadAnswer::BelowLowest && terms.lowest > IDLE_RATE as f64;
        let idle = if needs_idle && !is_interrupted {
            self.probe(IDLE_RATE as f64, probes.len())?.map(|(probe, _)| probe)
        } else {
            None
        };
        Ok(LoadResult { answer, probes, newest, idle, is_interrupted, recorded: None })
    }

    /// Runs one trial at this rate (operations per second); `None` if it was interrupted.
    fn probe(&mut self, rate: f64, number: usize) -> Result<Option<(Probe, Trial)>, Failure> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 100M")]
        let per_second = rate.round().max(1.0) as u64;
        let settings = Fio::offering(self.settings, &self.options.offered(per_second, number));
        let run = NativeRun::new(&Fio, settings, self.native, None)?;
        let Some(outcome) = run.run(&self.trees, (self.store, self.host))? else { return Ok(None) };
        self.host.show_ending(&outcome)?;
        self.trees = outcome.conclusion.kept;
        let Some(trial) = outcome.trial else { return Ok(None) };
        match &trial.ending {
            Ending::Completed => {}
            Ending::Interrupted => return Ok(None),
            Ending::Failed { why } | Ending::Invalid { why } => {
                let message = format!("the probe at {per_second}/s failed: {why}");
                return Err(Failure::new(FailureKind::Trial, message)
                    .hint("`treering show last` shows what it did"));
            }
        }
        let probe = Probe::new(&trial, per_second, &self.options.bounds);
        (self.probed)(&probe, number + 1);
        Ok(Some((probe, trial)))
    }

    /// Removes the trees that the probes shared.
    fn remove_trees(&self, dir: &Path) {
        let Ok(target) = Target::open(dir) else { return };
        for tree in &self.trees {
            if let Err(error) = target.remove(&tree.name, &tree.made) {
                self.host.say(&format!("treering: left behind: {error}"));
            }
        }
    }
}

/// Result of a probe for the search. The bound that is missed by the largest factor decides, scaled
/// to the bound that allows the fewest late requests.
fn counted(probe: &Probe, bounds: &[LatencyBound]) -> LoadProbe {
    let excess = |(percent, bound): (&f64, &LatencyBound)| percent / bound.allowed_percent();
    let worst = probe.late_percent.iter().zip(bounds).map(excess).fold(0.0, f64::max);
    let fewest = bounds.iter().map(LatencyBound::allowed_percent).fold(100.0, f64::min) / 100.0;
    let (rate, due) = (probe.operations_per_second as f64, probe.due as f64);
    LoadProbe { rate, due, late: (worst * fewest).min(1.0) * due }
}

/// Seed of a search, from the settings of its probes.
///
/// # Errors
/// When the seed is not a number.
pub fn seed(settings: &Settings) -> Result<u64, Failure> {
    Ok(settings.number(Fio.manifest().native, "seed", 0..=u64::MAX)?.unwrap_or(1))
}
