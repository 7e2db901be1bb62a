//! `treering load`: searches the highest rate of requests at which the latency bounds are met.
//!
//! A probe is a native trial of a fio job file whose requests come by the clock; which rate is
//! probed next is decided in `treering_stats`. Files stay from probe to probe, and go at the end.

mod answer;
mod page;
mod probe;

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{ArgMatches, FromArgMatches};
use treering_engine::Target;
use treering_fio::{Fio, OfferedLoad};
use treering_lab::RunTree;
use treering_model::{Ending, Trial, TrialId};
use treering_script::{Settings, Workload};
use treering_stats::{LoadAnswer, LoadSearch, LoadTerms};
use treering_sys::{SignalWatch, wake_on_time};

use self::answer::keep;
use self::probe::Probe;
use super::{native, output};
use crate::arguments::{AnyRunArgs, Bound, LoadArgs, NativeRunArgs, percentage, settings};
use crate::classic_output::say;
use crate::failure::{Failure, Kind};
use crate::storage::{failure, open_to_read};

/// Expected number of requests beyond each percentile, at least; determines the length of a probe.
const BEYOND_LEAST: f64 = 5.0;
/// Upper limit of the length of a probe from [`BEYOND_LEAST`], in seconds.
const LONGEST: f64 = 60.0;
/// Rate of the probe of a nearly idle filesystem, per second.
const IDLE_RATE: u64 = 20;

/// Parsed arguments and state of a load search.
struct Load {
    args: LoadArgs,
    any: AnyRunArgs,
    own: NativeRunArgs,
    bounds: Vec<Bound>,
    settings: Settings,
    seed: u64,
    /// Trees left by probes, to be reused by later ones.
    kept: RefCell<Vec<RunTree>>,
}

/// Result of a load search.
struct Found {
    answer: LoadAnswer,
    probes: Vec<Probe>,
    /// Newest trial, from which the answer takes its directory and command line.
    newest: Option<Trial>,
    /// Probe with hardly any load, made if the lowest rate failed.
    idle: Option<Probe>,
    is_interrupted: bool,
}

/// Runs the search.
pub(crate) fn run(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let load = Load::of(matches)?;
    let precision = percentage("--precision", &load.args.precision)?;
    if load.args.max_rate < load.args.min_rate {
        return Err(Failure::new(Kind::Usage, "--max-rate is below --min-rate"));
    }
    if load.any.dry_run {
        return load.outline();
    }
    let terms = LoadTerms {
        allowed: 1.0 - load.bounds.iter().map(|bound| bound.share).fold(0.0, f64::max),
        lowest: load.args.min_rate as f64,
        highest: load.args.max_rate as f64,
        precision,
        seed: load.seed,
    };
    let dir = load.own.dir.clone().unwrap_or_default();
    wake_on_time();
    // Over all probes: between two of them a signal would end us with the files still there.
    let _until_they_are_removed = SignalWatch::begin().map_err(|error| {
        Failure::new(Kind::Environment, format!("cannot watch for signals: {error}"))
    })?;
    let found = load.search(terms);
    if !load.own.keep {
        remove_kept(&dir, &load.kept.take());
    }
    let found = found?;
    if found.probes.is_empty() {
        return Ok(ExitCode::from(Kind::Interrupted.code()));
    }
    let kept = keep(&found, &load)?;
    if !load.own.quiet || load.any.no_store || load.args.page.format().is_some() {
        let names = load.names_of(&found)?;
        page::write(&found, &load.bounds, (kept, &names), &load.args.page)?;
    }
    Ok(match (found.is_interrupted, found.answer) {
        (true, _) => ExitCode::from(Kind::Interrupted.code()),
        (false, LoadAnswer::BelowLowest | LoadAnswer::Open { .. }) => {
            ExitCode::from(crate::exit_codes::UNCLEAR)
        }
        (false, _) => ExitCode::SUCCESS,
    })
}

impl Load {
    fn of(matches: &ArgMatches) -> Result<Self, Failure> {
        let usage = |error: clap::Error| Failure::new(Kind::Usage, error.to_string());
        let (_, below) = matches
            .subcommand()
            .ok_or_else(|| Failure::new(Kind::Usage, "the load is missing: fio"))?;
        let args = LoadArgs::from_arg_matches(matches).map_err(usage)?;
        let own = NativeRunArgs::from_arg_matches(below).map_err(usage)?;
        let mut specs = Fio.manifest().native.to_vec();
        specs.retain(|spec| !Fio::of_offered_load(spec.name));
        let settings = settings(&specs, below);
        if settings.text("with-fio").is_some() {
            let message = "--with-fio: the installed fio cannot be offered a load by the clock";
            return Err(Failure::new(Kind::Usage, message).hint("leave it out"));
        }
        let seed = settings.number(Fio.manifest().native, "seed", 0..=u64::MAX)?.unwrap_or(1);
        let bounds = args.bounds();
        let any = AnyRunArgs::from_arg_matches(below).map_err(usage)?;
        Ok(Self { args, any, own, bounds, settings, seed, kept: RefCell::default() })
    }

    /// Load that the probe of this number offers at this rate.
    fn offered(&self, per_second: u64, number: usize) -> OfferedLoad {
        let slowest = self.bounds.iter().map(|bound| bound.ns).max().unwrap_or(0) as f64 / 1e9;
        let share = self.bounds.iter().map(|bound| 1.0 - bound.share).fold(1.0, f64::min);
        let needed = BEYOND_LEAST / share / per_second as f64;
        let duration = self.args.duration.as_secs_f64();
        OfferedLoad {
            per_second,
            arrivals: self.args.arrivals.clone(),
            seconds: duration.max(needed.min(LONGEST)),
            warm_up: self.args.warm_up.as_secs_f64(),
            // Requests unfinished by then miss every bound.
            grace: (2.0 * slowest).max(0.5),
            late: self.bounds.iter().map(Bound::text).collect::<Vec<_>>().join(","),
            seed: self.seed.wrapping_add(number as u64),
        }
    }

    /// Prints the plan of a probe at the lowest rate.
    fn outline(&self) -> Result<ExitCode, Failure> {
        let settings = Fio::offering(&self.settings, &self.offered(self.args.min_rate, 0));
        native::run_with(&Fio, settings, &self.any, &self.own, (None, &[])).map(|(code, _)| code)
    }

    /// Runs one trial at this rate (operations per second); `None` if it was interrupted.
    fn probe(&self, rate: f64, number: usize) -> Result<Option<(Probe, Trial)>, Failure> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 100M")]
        let per_second = rate.round().max(1.0) as u64;
        let settings = Fio::offering(&self.settings, &self.offered(per_second, number));
        let own = NativeRunArgs { keep: true, quiet: true, ..self.own.clone() };
        let kept = self.kept.borrow().clone();
        let (_, done) = native::run_with(&Fio, settings, &self.any, &own, (None, &kept))?;
        let Some(done) = done else { return Ok(None) };
        self.kept.replace(done.conclusion.kept);
        let Some(trial) = done.trial else { return Ok(None) };
        match &trial.ending {
            Ending::Completed => {}
            Ending::Interrupted => return Ok(None),
            Ending::Failed { why } | Ending::Invalid { why } => {
                let message = format!("the probe at {per_second}/s failed: {why}");
                return Err(Failure::new(Kind::Trial, message)
                    .hint("`treering show last` shows what it did"));
            }
        }
        let probe = Probe::of(&trial, per_second, &self.bounds);
        if !self.own.quiet {
            say(&page::progress(&probe, number + 1, &self.bounds));
        }
        Ok(Some((probe, trial)))
    }

    /// Short names of the probes in the store; probes that the store does not hold are omitted.
    fn names_of(&self, found: &Found) -> Result<HashMap<TrialId, String>, Failure> {
        let store = if self.any.no_store { None } else { open_to_read(self.any.store.as_deref())? };
        let Some(store) = store else { return Ok(HashMap::new()) };
        let all = found.probes.iter().chain(&found.idle);
        let ids: Vec<TrialId> = all.map(|probe| probe.trial).collect();
        let names = store.short_ids(&ids).map_err(|error| failure(&error))?;
        Ok(ids.into_iter().zip(names).collect())
    }

    fn search(&self, terms: LoadTerms) -> Result<Found, Failure> {
        let mut search = LoadSearch::new(terms);
        let began = Instant::now();
        let budget = Duration::from_secs(60 * u64::from(self.args.minutes));
        let (mut probes, mut newest, mut is_interrupted) = (Vec::new(), None, false);
        while let Some(rate) = search.next_rate().filter(|_| began.elapsed() < budget) {
            let Some((probe, trial)) = self.probe(rate, probes.len())? else {
                is_interrupted = true;
                break;
            };
            search.probed(probe.counted(&self.bounds));
            probes.push(probe);
            newest = Some(trial);
        }
        let answer = search.answer();
        let looks = answer == LoadAnswer::BelowLowest && terms.lowest > IDLE_RATE as f64;
        let idle = if looks && !is_interrupted {
            self.probe(IDLE_RATE as f64, probes.len())?.map(|(probe, _)| probe)
        } else {
            None
        };
        Ok(Found { answer, probes, newest, idle, is_interrupted })
    }
}

/// Removes the trees that the probes shared.
fn remove_kept(dir: &Path, kept: &[RunTree]) {
    let Ok(target) = Target::open(dir) else { return };
    for tree in kept {
        if let Err(error) = target.remove(&tree.name, &tree.made) {
            say(&format!("treering: left behind: {error}"));
        }
    }
}
