//! Offered load: the requests of a job file arrive at a fixed rate, whether earlier ones have ended
//! or not (an open loop).
//!
//! `stream` generates the arrivals; this module parses the options, checks the jobs, and computes
//! the metrics. Up to `iodepth` requests of a clone are in flight at once, each by a thread with
//! synchronous calls.

mod stream;

use std::iter::repeat;
use std::sync::Arc;

use crate::classic::offered::OfferedTally;
use crate::language::{Engine, Section, time_us};
use treering_model::metrics::load::{
    DUE_LATENCY_NANOSECONDS, DUE_OPERATIONS, GENERATOR_LAG_NANOSECONDS, LATE_PERCENT,
    OFFERED_OPERATIONS_PER_SECOND, UNFINISHED_OPERATIONS,
};
use treering_model::{Metric, Scope};
use treering_script::{ConfigError, OptionSpec, Settings};

use super::options::{
    ARRIVALS, GRACE, IN_PLACE, LATE, OF_OFFERED_LOAD as OPTIONS, OFFERED_RATE as RATE,
    OFFERED_SECONDS as SECONDS, REUSE, SET, WARM_UP,
};
use stream::{ArrivalParameters, LATE_MOST, quantile};
pub(super) use stream::{Dispatch, Stream, WorkerSchedule};

/// Maximum number of requests in flight of all sections together.
const IN_FLIGHT_MAX: u64 = 1024;
/// Highest offered rate, in requests per second.
const RATE_MAX: u64 = 100_000_000;
/// Quantile of the latencies from when requests were due that decides a comparison.
const DECIDING: &str = "p99";
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)];

/// Share of the offered load that a section issues.
#[derive(Clone, Copy, Debug, PartialEq)]
struct SectionLoad {
    /// Maximum requests in flight of a clone.
    lanes: u64,
    terms: ArrivalParameters,
}

/// Offered load of a job.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JobLoad {
    per_second: u64,
    grace_ns: u64,
    /// Lateness limits as the user wrote them.
    late: Vec<String>,
    shares: Vec<SectionLoad>,
}

impl JobLoad {
    /// Parses the offered load, records its parameters, and adapts the sections to it. `None` if no
    /// rate is offered.
    pub(super) fn from_settings(
        settings: &Settings,
        specs: &[OptionSpec],
        jobs: &mut [Section],
        parameters: &mut Vec<(String, String)>,
    ) -> Result<Option<Self>, ConfigError> {
        let Some(per_second) = settings.number(specs, RATE, 1..=RATE_MAX)? else {
            return refuse_alone(settings).map(|()| None);
        };
        let arrivals = settings.choice(specs, ARRIVALS)?.unwrap_or("poisson");
        let [length, warm_up, grace] = [(SECONDS, "10"), (WARM_UP, "1"), (GRACE, "1")]
            .map(|(name, usual)| seconds(settings, name, usual).map(|ns| (name, ns)));
        let (length, warm_up, grace) = (length?, warm_up?, grace?);
        let is_poisson = arrivals == "poisson";
        parameters.push((RATE.to_owned(), per_second.to_string()));
        parameters.push((ARRIVALS.to_owned(), arrivals.to_owned()));
        for (name, ns) in [length, warm_up, grace] {
            parameters.push((name.to_owned(), (ns as f64 / 1e9).to_string()));
        }
        let (late, late_ns) = late_times(settings)?;
        if !late.is_empty() {
            parameters.push((LATE.to_owned(), late.join(",")));
        }
        let seed = settings.number(specs, "seed", 0..=u64::MAX)?.unwrap_or(1);
        let weights = weights(jobs);
        let sum: u64 = weights.iter().sum();
        let mut shares = Vec::new();
        for (number, (job, weight)) in jobs.iter_mut().zip(weights).enumerate() {
            let terms = ArrivalParameters {
                per_second: per_second as f64 * weight as f64 / sum.max(1) as f64,
                is_poisson,
                seed: seed.wrapping_add(number as u64),
                warm_up_ns: warm_up.1,
                length_ns: length.1,
                grace_ns: grace.1,
                late_ns,
            };
            shares.push(SectionLoad { lanes: prepared(job, number, &terms)?, terms });
        }
        let lanes = shares.iter().zip(&*jobs).map(|(share, job)| share.lanes * job.clones);
        if lanes.sum::<u64>() > IN_FLIGHT_MAX {
            let message = format!("more than {IN_FLIGHT_MAX} requests could be under way at once");
            return Err(ConfigError::new(message).hint("lower iodepth or numjobs"));
        }
        Ok(Some(Self { per_second, grace_ns: grace.1, late, shares }))
    }

    /// Maximum requests in flight of a clone of this section.
    pub(super) fn lanes(&self, section: usize) -> u64 {
        self.shares.get(section).map_or(1, |share| share.lanes)
    }

    /// Metrics that a run will have. The values of the latencies are meaningless.
    pub(super) fn foreseen(&self) -> Vec<Metric> {
        let words = QUANTILES.map(|(word, _)| word).into_iter().chain(["max"]);
        let latency = |word: &str| {
            let metric = DUE_LATENCY_NANOSECONDS.of_member(&[word], Scope::Trial, 1.0);
            metric.primary_if(word == DECIDING)
        };
        let rate = OFFERED_OPERATIONS_PER_SECOND.of(Scope::Trial, self.per_second as f64);
        words.map(latency).chain([rate]).collect()
    }

    /// Creates the streams of a run.
    pub(super) fn begin(&self) -> RunningLoad {
        let streams = self.shares.iter().map(|share| Arc::new(Stream::new(share.terms))).collect();
        RunningLoad { offered: self.clone(), streams, tally: OfferedTally::default() }
    }
}

/// Metrics of a run, those from when requests were due first. They decide in place of the rates,
/// which are offered and not reached.
pub(super) fn led_by_due(offered: Vec<Metric>, headline: Vec<Metric>) -> Vec<Metric> {
    let is_led = offered.iter().any(|metric| metric.primary);
    let follows = |metric: Metric| if is_led { metric.primary_if(false) } else { metric };
    let (due, others): (Vec<Metric>, Vec<Metric>) = offered
        .into_iter()
        .partition(|metric| DUE_LATENCY_NANOSECONDS.word_of(&metric.name).is_some());
    due.into_iter().chain(headline.into_iter().map(follows)).chain(others).collect()
}

/// Refuses options of an offered load without a rate.
fn refuse_alone(settings: &Settings) -> Result<(), ConfigError> {
    match OPTIONS[1..].iter().find(|name| settings.text(name).is_some()) {
        None => Ok(()),
        Some(name) => Err(ConfigError::new(format!("--{name} goes with --{RATE} only"))
            .hint(format!("say how many requests a second are offered: --{RATE} 1000"))),
    }
}

/// Refuses `--with-fio`, since the original has no offered load.
pub(super) fn refuse_with_fio(settings: &Settings) -> Result<(), ConfigError> {
    match OPTIONS
        .into_iter()
        .chain([SET, REUSE, IN_PLACE])
        .find(|option| settings.text(option).is_some())
    {
        None => Ok(()),
        Some(name) => Err(ConfigError::new(format!("--{name} does not go with --with-fio"))
            .hint("run the job natively: leave --with-fio out")),
    }
}

fn seconds(settings: &Settings, name: &str, usual: &str) -> Result<u64, ConfigError> {
    let text = settings.text(name).unwrap_or(usual);
    let number = text.parse::<f64>().ok().filter(|number| (0.0..=1e6).contains(number));
    let number = number.filter(|number| name != SECONDS || *number >= 0.001);
    number
        .map(|number| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
            let ns = (number * 1e9).round() as u64;
            ns
        })
        .ok_or_else(|| {
            ConfigError::new(format!("--{name}: '{text}' is no number of seconds"))
                .hint("a number up to 1000000, such as 2.5")
        })
}

/// Parses times separated by commas; returns their words, and nanoseconds.
fn late_times(settings: &Settings) -> Result<(Vec<String>, [u64; LATE_MOST]), ConfigError> {
    let (mut words, mut times) = (Vec::new(), [0; LATE_MOST]);
    for text in settings.text(LATE).into_iter().flat_map(|text| text.split(',')).map(str::trim) {
        let us = time_us(text, 1).filter(|us| (1..=3_600_000_000).contains(us));
        let (Some(us), true) = (us, words.len() < LATE_MOST) else {
            let message = format!("--{LATE}: '{text}' is no time of the first {LATE_MOST}");
            return Err(ConfigError::new(message)
                .hint("times with commas between, each with its unit: 5ms,1s"));
        };
        times[words.len()] = us * 1000;
        words.push(text.to_owned());
    }
    Ok((words, times))
}

/// Weight of each section in the load: its `rate_iops` if all sections state one, else its number
/// of clones.
fn weights(jobs: &[Section]) -> Vec<u64> {
    let stated: Vec<u64> = jobs.iter().map(|job| job.rate_iops.iter().sum()).collect();
    if stated.iter().all(|rate| *rate > 0) {
        return stated;
    }
    jobs.iter().map(|job| job.clones).collect()
}

/// Adapts a section to an offered load, and returns the maximum requests in flight of a clone.
fn prepared(
    job: &mut Section,
    number: usize,
    terms: &ArrivalParameters,
) -> Result<u64, ConfigError> {
    if let Some((what, hint)) = reason_against(job, number) {
        let message = format!("[{}]: {what} does not go with --{RATE}", job.name.escape_debug());
        return Err(ConfigError::new(message).hint(hint));
    }
    let lanes = job.depth.max(1);
    if job.engine.is_queued() {
        job.engine = Engine::Psync;
    }
    job.depth = 1;
    (job.rate, job.rate_iops, job.extras.is_poisson) = ([0; 3], [0; 3], false);
    (job.thread, job.group_reporting, job.new_group) = (true, true, number > 0);
    (job.time_based, job.ramp_us) = (true, 0);
    let whole_ns = terms.warm_up_ns + terms.length_ns + terms.grace_ns;
    job.runtime_us = whole_ns.div_ceil(1000) + 100_000;
    Ok(lanes)
}

/// Reason why a section cannot issue an offered load, and a hint: options that time requests
/// themselves, or jobs without data requests. `None` if it can.
fn reason_against(job: &Section, number: usize) -> Option<(&'static str, &'static str)> {
    let leave_out = "leave it out: requests come by the clock";
    let extras = &job.extras;
    let hindrances = [
        (job.think.us > 0, "thinktime", leave_out),
        (extras.flow.weight > 0, "flow", "state shares by rate_iops in each section"),
        (extras.latency.ns > 0, "latency_target", "treering load searches the rate itself"),
        (extras.steady.seconds > 0, "steadystate", leave_out),
        (extras.lowest.are_any(), "rate_min", leave_out),
        (job.number_ios > 0, "number_ios", "leave it out: the time ends the run"),
        (job.start_delay_us[1] > 0, "startdelay", leave_out),
        (extras.waits_for.is_some(), "wait_for", leave_out),
        (job.stonewall && number > 0, "stonewall", "choose the sections that run at once: section"),
        (extras.verify.kind.is_some(), "verify", "leave it out: reading again is no request"),
        (extras.creates_only, "create_only", "choose a section with requests"),
        (job.rw.trims, "trim", "choose reads and writes"),
        (
            job.engine.works_by_opening(),
            "an engine that works by opening files",
            "choose one that reads and writes, such as psync",
        ),
    ];
    hindrances.into_iter().find(|(is, ..)| *is).map(|(_, what, hint)| (what, hint))
}

/// Offered load of a running job.
#[derive(Debug)]
pub(super) struct RunningLoad {
    offered: JobLoad,
    streams: Vec<Arc<Stream>>,
    tally: OfferedTally,
}

impl RunningLoad {
    /// Stream of a section, for one of its clones.
    pub(super) fn stream(&self, section: usize) -> Option<Arc<Stream>> {
        self.streams.get(section).map(Arc::clone)
    }

    /// Adds the tally of a clone that ended.
    pub(super) fn worked(&mut self, tally: &OfferedTally) {
        self.tally.merge(tally);
    }

    /// Latency metrics of all due requests, of all sections together.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        let (latency, lag) = (&self.tally.latency, &self.tally.lag);
        let due: u64 = self.streams.iter().map(|stream| stream.due()).sum();
        let unfinished = due.saturating_sub(latency.stat.samples);
        let mut metrics = vec![
            OFFERED_OPERATIONS_PER_SECOND.of(Scope::Trial, self.offered.per_second as f64),
            DUE_OPERATIONS.of(Scope::Trial, due as f64),
            UNFINISHED_OPERATIONS.of(Scope::Trial, unfinished as f64),
        ];
        let late = self.offered.late.iter().zip(self.tally.late.iter().chain(repeat(&0)));
        metrics.extend(late.filter(|_| due > 0).map(|(word, late)| {
            let percent = 100.0 * (late + unfinished) as f64 / due as f64;
            LATE_PERCENT.of_member(&[word], Scope::Trial, percent).of_tasks(due)
        }));
        if due == 0 || latency.stat.samples == 0 {
            return metrics;
        }
        let of = |word: &str, ns: u64| {
            let metric = DUE_LATENCY_NANOSECONDS.of_member(&[word], Scope::Trial, ns as f64);
            metric.primary_if(word == DECIDING).of_tasks(due)
        };
        // Requests that did not end within the grace took longer than that, or than the slowest
        // that did.
        let beyond = self.offered.grace_ns.max(latency.stat.most);
        let at = |share: f64| quantile(latency, due, share).unwrap_or(beyond);
        metrics.extend(QUANTILES.map(|(word, share)| of(word, at(share))));
        let most = if unfinished > 0 { beyond } else { latency.stat.most };
        metrics.push(of("max", most));
        if lag.stat.samples > 0 {
            metrics.extend(QUANTILES.map(|(word, share)| {
                let ns = quantile(lag, lag.stat.samples, share).unwrap_or(0);
                let metric = GENERATOR_LAG_NANOSECONDS.of_member(&[word], Scope::Trial, ns as f64);
                metric.of_tasks(lag.stat.samples)
            }));
        }
        metrics
    }
}

#[cfg(test)]
mod tests {
    use crate::language::{Engine, Section};
    use treering_model::Scope;
    use treering_model::metrics::load::OFFERED_OPERATIONS_PER_SECOND;
    use treering_script::Settings;

    use super::super::options::NATIVE;
    use super::{JobLoad, RATE, led_by_due};

    fn job_load(jobs: &mut [Section]) -> JobLoad {
        let settings = Settings::new(vec![(RATE.to_owned(), "100".to_owned())]);
        JobLoad::from_settings(&settings, NATIVE, jobs, &mut Vec::new()).unwrap().unwrap()
    }

    #[test]
    fn sections_share_the_offered_load_by_rates_or_clones() {
        let rates = |offered: &JobLoad| -> Vec<f64> {
            offered.shares.iter().map(|share| share.terms.per_second).collect()
        };
        let mut jobs = [Section::default(), Section::default()];
        jobs[0].clones = 3;
        assert_eq!(rates(&job_load(&mut jobs)), [75.0, 25.0]);
        jobs[0].rate_iops = [700, 0, 0];
        jobs[1].rate_iops = [0, 200, 100];
        assert_eq!(rates(&job_load(&mut jobs)), [70.0, 30.0]);
        assert_eq!(jobs[0].rate_iops, [0; 3], "the stream says when requests come");
    }

    #[test]
    fn latencies_from_when_requests_were_due_come_first_and_decide() {
        let offered = job_load(&mut [Section::default()]);
        let rate = OFFERED_OPERATIONS_PER_SECOND.of(Scope::Trial, 100.0).primary_if(true);
        let metrics = led_by_due(offered.foreseen(), vec![rate.clone()]);
        let primary: Vec<&str> =
            metrics.iter().filter(|metric| metric.primary).map(|one| one.name.as_str()).collect();
        assert_eq!(primary, ["due_latency_p99_nanoseconds"]);
        assert!(metrics[0].name.starts_with("due_latency"), "{metrics:?}");
        assert_eq!(led_by_due(Vec::new(), vec![rate.clone()]), [rate], "without an offered load");
    }

    #[test]
    fn an_asynchronous_queue_becomes_synchronous_threads() {
        let mut jobs = [Section::default()];
        (jobs[0].engine, jobs[0].depth) = (Engine::Libaio, 16);
        let offered = job_load(&mut jobs);
        assert_eq!((offered.lanes(0), jobs[0].engine, jobs[0].depth), (16, Engine::Psync, 1));
        assert!(jobs[0].thread && jobs[0].time_based && jobs[0].runtime_us > 12_000_000);
    }
}
