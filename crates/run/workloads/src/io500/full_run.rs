//! What a run of IO500 at its real length needs, computed from a rehearsal: how much each test has
//! to have to write for 300 seconds, the space, the time, and what would make it invalid.
//!
//! Rates stay as they are here: what changes them over the longer time, such as caches that are
//! full, no rehearsal can know. Nothing here is a score.

use treering_classic::ior::counts::TransferCounts;
use treering_classic::mdtest::counts::ItemCounts;
use treering_model::{PhaseTotals, RANKS_ARTIFACT, RankPhase, RankTable, TaskTotals, Trial};

use super::find::FindCounts;
use super::limits::{DEFAULT_BLOCK_BYTES, DEFAULT_ITEMS, DEFAULT_SEGMENTS};
use super::phases::{Benchmark, Measured, STEPS, Step};
use super::session::SETUP;
use super::size::{EASY_TRANSFER_BYTES, HARD_FILE_BYTES, HARD_TRANSFER_BYTES};

/// For so long IO500 writes in a valid run, in seconds.
pub const FULL_SECONDS: u64 = 300;
/// So many times what the rehearsal's fastest worker would reach is proposed: what is too much ends
/// by time and costs nothing, what is too little makes the run invalid.
const MARGIN: u64 = 2;
/// Fewer seconds say nothing of a spread.
const SECONDS_LEAST: usize = 3;
/// What a file of mdtest-hard takes, in blocks.
const BLOCK_BYTES: u64 = 4096;
const GIB: f64 = (1_u64 << 30) as f64;

/// Whether a trial is a rehearsal of which this can be computed: one with figures.
pub fn is_rehearsal(trial: &Trial) -> bool {
    trial.beginning.workload == "io500"
        && STEPS.iter().any(|step| trial.tasks.iter().any(|task| task.kind == step.name))
}

/// Where the lowest and the highest rate are from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The lowest, in the unit of the phase.
    pub low: f64,
    /// The highest.
    pub high: f64,
    /// Of so many slices of a second each; 0 where these are the workers, each by its own time.
    pub seconds: usize,
}

/// A phase as it was rehearsed.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseFigures {
    /// Its name.
    pub name: &'static str,
    /// Whether its rate is GiB/s; else it is kIOPS: thousands of operations a second.
    pub moves_data: bool,
    /// All workers together, from the first beginning to the last end.
    pub rate: f64,
    /// That time, in seconds.
    pub seconds: f64,
    /// Items or transfers of all workers.
    pub items: u64,
    /// How far the rate varied; `None` where that is not known.
    pub spread: Option<Spread>,
    /// Who worked longest, and by how many percent longer than the median: the rank where there are
    /// several, else the worker. `None` where one worked alone.
    pub slowest: Option<(u64, f64)>,
    /// The share of the workers' time in which they used a CPU, in percent.
    pub cpu_percent: f64,
    /// Items whose data were wrong, or that were not there.
    pub faults: u64,
}

/// What a test needs in its configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    /// The test.
    pub test: Benchmark,
    /// The option: `blockSize`, `n`, `segmentCount`.
    pub option: &'static str,
    /// What the fastest worker reaches in the full time, in the unit of the option: MiB of
    /// `blockSize`, else a number.
    pub reached: u64,
    /// The same with the margin, rounded up: what to set.
    pub proposed: u64,
    /// What the option is where nothing is set.
    pub default: u64,
    /// Bytes that all workers write in the full time.
    pub bytes: u64,
    /// Files that they make.
    pub files: u64,
    /// Whether time ended the rehearsal's phase. If not, it had written all that it may, and the
    /// rate of that shorter time was taken.
    pub was_ended_by_time: bool,
}

impl Need {
    /// The value for a configuration.
    pub fn value(&self) -> String {
        let unit = if self.test == Benchmark::IorEasy { "m" } else { "" };
        format!("{}{unit}", self.proposed)
    }
}

/// Why the full run would be invalid, fail, or mean less than it seems to.
#[derive(Clone, Debug, PartialEq)]
pub struct Risk {
    /// The phase; empty for the whole run.
    pub phase: &'static str,
    /// Whether IO500 itself would say INVALID. Else the run fails, or is valid and measures
    /// something else.
    pub is_invalid: bool,
    /// What happens, and why.
    pub why: String,
}

/// The machines that run it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clients {
    /// How many.
    pub count: u64,
    /// Memory of one, in bytes; 0 where it is not known.
    pub memory_bytes: u64,
    /// What is free on the filesystem, in bytes; 0 where it is not known.
    pub free_bytes: u64,
}

/// The whole.
#[derive(Clone, Debug, PartialEq)]
pub struct FullRun {
    /// Phases that were measured, in their order.
    pub phases: Vec<PhaseFigures>,
    /// What the four tests need, as far as they were measured.
    pub needs: Vec<Need>,
    /// What would go wrong.
    pub risks: Vec<Risk>,
    /// Bytes that are written in the full run.
    pub bytes: u64,
    /// Files that are made in it.
    pub files: u64,
    /// How long all its phases take together, in seconds.
    pub seconds: f64,
    /// The rehearsal's seconds of writing.
    pub rehearsed_seconds: u64,
}

impl FullRun {
    /// What a rehearsal says of a full run on these machines.
    pub fn of(trial: &Trial, clients: Clients) -> Self {
        let seconds = trial.beginning.parameters.iter().find(|(name, _)| name == "seconds");
        let seconds: u64 = seconds.and_then(|(_, value)| value.parse().ok()).unwrap_or(1).max(1);
        let measured: Vec<Phase<'_>> =
            STEPS.iter().filter_map(|step| Phase::of(trial, step)).collect();
        let ranks = rank_phases(trial);
        let phases = measured.iter().map(|phase| phase.figures(&ranks)).collect();
        let needs: Vec<Need> = measured.iter().filter_map(|phase| phase.need(seconds)).collect();
        let mut full = Self {
            phases,
            bytes: needs.iter().fold(0, |all, need| all.saturating_add(need.bytes)),
            files: needs.iter().fold(0, |all, need| all.saturating_add(need.files)),
            needs,
            risks: Vec::new(),
            seconds: 0.0,
            rehearsed_seconds: seconds,
        };
        full.seconds = measured.iter().map(|phase| full.length(phase)).sum();
        full.risks = risks(trial, &full, clients);
        full
    }

    /// How long a phase of the full run takes.
    fn length(&self, phase: &Phase<'_>) -> f64 {
        let rate = phase.per_second();
        let needed = |test: Benchmark| self.needs.iter().find(|need| need.test == test);
        let items = match phase.step.measured {
            Measured::Written(test) | Measured::Worked(test) => needed(test).map_or(0, Need::items),
            Measured::Found => self.files,
            Measured::Nothing => 0,
        };
        let length = items as f64 / rate.max(f64::MIN_POSITIVE);
        let is_written = matches!(phase.step.measured, Measured::Written(_));
        if is_written { length.max(FULL_SECONDS as f64) } else { length }
    }
}

impl Need {
    /// Items or transfers of all workers in the full run.
    const fn items(&self) -> u64 {
        match self.test {
            Benchmark::IorEasy => self.bytes / EASY_TRANSFER_BYTES as u64,
            Benchmark::IorHard => self.bytes / HARD_TRANSFER_BYTES as u64,
            Benchmark::MdtestEasy | Benchmark::MdtestHard => self.files,
        }
    }
}

/// A task, and what it counted.
#[derive(Clone, Copy)]
struct Done<'t> {
    task: &'t TaskTotals,
    items: u64,
    faults: u64,
    is_wear_out: bool,
    was_ended_by_time: bool,
}

fn done<'t>(step: &Step, task: &'t TaskTotals) -> Done<'t> {
    let counters = &task.counters;
    let (items, faults, is_wear_out, was_ended_by_time) = match step.measured {
        Measured::Written(test) | Measured::Worked(test) if test.moves_data() => {
            let counts = counters.read::<TransferCounts>().unwrap_or_default();
            (counts.transfers, counts.wrong, counts.is_wear_out, counts.ended_by_time)
        }
        Measured::Found => {
            (counters.read::<FindCounts>().unwrap_or_default().files, 0, false, false)
        }
        _ => {
            let counts = counters.read::<ItemCounts>().unwrap_or_default();
            let faults = counts.wrong + counts.missed;
            (counts.done, faults, counts.is_wear_out, counts.ended_by_time)
        }
    };
    Done { task, items, faults, is_wear_out, was_ended_by_time }
}

/// A phase of the trial.
struct Phase<'t> {
    step: &'static Step,
    totals: Option<&'t PhaseTotals>,
    tasks: Vec<Done<'t>>,
    began_ns: u64,
    ended_ns: u64,
}

impl<'t> Phase<'t> {
    fn of(trial: &'t Trial, step: &'static Step) -> Option<Self> {
        let tasks = trial.tasks.iter().filter(|task| task.kind == step.name && task.kind != SETUP);
        let tasks: Vec<Done<'t>> = tasks.map(|task| done(step, task)).collect();
        let began_ns = tasks.iter().map(|one| one.task.began_ns).min()?;
        let ended_ns = tasks.iter().map(|one| one.task.began_ns + one.task.wall_ns).max()?;
        let totals = trial.phases.iter().find(|phase| phase.name == step.name);
        let ended_ns = ended_ns.max(began_ns + 1);
        let phase = Self { step, totals, tasks, began_ns, ended_ns };
        (phase.items() > 0).then_some(phase)
    }

    fn items(&self) -> u64 {
        self.tasks.iter().map(|one| one.items).sum()
    }

    fn seconds(&self) -> f64 {
        (self.ended_ns - self.began_ns) as f64 / 1e9
    }

    /// Items a second.
    fn per_second(&self) -> f64 {
        self.items() as f64 / self.seconds()
    }

    fn test(&self) -> Option<Benchmark> {
        match self.step.measured {
            Measured::Written(test) | Measured::Worked(test) => Some(test),
            Measured::Found | Measured::Nothing => None,
        }
    }

    /// From items a second to the unit of IO500.
    fn in_its_unit(&self, per_second: f64) -> f64 {
        match self.test() {
            Some(Benchmark::IorEasy) => per_second * f64::from(EASY_TRANSFER_BYTES) / GIB,
            Some(Benchmark::IorHard) => per_second * f64::from(HARD_TRANSFER_BYTES) / GIB,
            _ => per_second / 1000.0,
        }
    }

    fn figures(&self, ranks: &[RankPhase]) -> PhaseFigures {
        let worked_ns: u64 = self.tasks.iter().map(|one| one.task.wall_ns).sum();
        let cpu_ns: u64 = self.tasks.iter().map(|one| one.task.cpu.total_ns()).sum();
        PhaseFigures {
            name: self.step.name,
            moves_data: self.test().is_some_and(Benchmark::moves_data),
            rate: self.in_its_unit(self.per_second()),
            seconds: self.seconds(),
            items: self.items(),
            spread: self.over_seconds().or_else(|| self.over_workers()),
            slowest: self.slowest(ranks),
            cpu_percent: cpu_ns as f64 / worked_ns.max(1) as f64 * 100.0,
            faults: self.tasks.iter().map(|one| one.faults).sum(),
        }
    }

    /// The seconds between the first and the last one that had calls.
    fn over_seconds(&self) -> Option<Spread> {
        let all = &self.totals?.intervals;
        let calls: u64 = all.iter().map(|slice| slice.calls).sum();
        let inner = all.get(1..all.len().checked_sub(1)?)?;
        if inner.len() < SECONDS_LEAST || calls == 0 {
            return None;
        }
        let each = self.items() as f64 / calls as f64;
        let rates = inner.iter().map(|slice| self.in_its_unit(slice.calls as f64 * each));
        let (low, high) = ends(rates)?;
        Some(Spread { low, high, seconds: inner.len() })
    }

    /// The workers, as if each of them stood for all.
    fn over_workers(&self) -> Option<Spread> {
        let first = || self.tasks.iter().filter(|one| !one.is_wear_out);
        let count = first().count() as f64;
        if count < 2.0 {
            return None;
        }
        let rates = first().map(|one| {
            let seconds = one.task.wall_ns.max(1) as f64 / 1e9;
            self.in_its_unit(one.items as f64 / seconds * count)
        });
        let (low, high) = ends(rates)?;
        Some(Spread { low, high, seconds: 0 })
    }

    fn slowest(&self, ranks: &[RankPhase]) -> Option<(u64, f64)> {
        let longer =
            |longest: u64, median: u64| (longest as f64 / median.max(1) as f64 - 1.0) * 100.0;
        if let Some(rank) = ranks.iter().find(|rank| rank.name == self.step.name) {
            return Some((rank.slowest, longer(rank.slowest_ns, rank.median_ns)));
        }
        let mut all: Vec<(u64, u64)> = self
            .tasks
            .iter()
            .filter(|one| !one.is_wear_out)
            .map(|one| (one.task.wall_ns, one.task.worker.into()))
            .collect();
        all.sort_unstable();
        let &(longest, worker) = all.last().filter(|_| all.len() > 1)?;
        let median = u64::midpoint(all[(all.len() - 1) / 2].0, all[all.len() / 2].0);
        Some((worker, longer(longest, median)))
    }

    /// What the test needs to write for the full time, where this phase is its writing.
    fn need(&self, seconds: u64) -> Option<Need> {
        let Measured::Written(test) = self.step.measured else { return None };
        let first: Vec<&Done<'_>> = self.tasks.iter().filter(|one| !one.is_wear_out).collect();
        let was_ended_by_time = first.iter().any(|one| one.was_ended_by_time);
        // Without what followed on the time: an fsync, or what the slower ones had to catch up.
        let rate = |one: &&Done<'_>| {
            let worked = one.task.wall_ns.max(1) as f64 / 1e9;
            let worked = if one.was_ended_by_time { worked.min(seconds as f64) } else { worked };
            one.items as f64 / worked
        };
        let fastest = first.iter().map(rate).fold(0.0, f64::max);
        let reached = whole(fastest * FULL_SECONDS as f64);
        let all = reached.saturating_mul(first.len() as u64);
        let bytes_each = match test {
            Benchmark::IorEasy => EASY_TRANSFER_BYTES.into(),
            Benchmark::IorHard => HARD_TRANSFER_BYTES.into(),
            Benchmark::MdtestEasy => 0,
            Benchmark::MdtestHard => u64::from(HARD_FILE_BYTES).div_ceil(BLOCK_BYTES) * BLOCK_BYTES,
        };
        let in_option = if test == Benchmark::IorEasy { 2 } else { 1 };
        let proposed = rounded_up(reached.saturating_mul(MARGIN)).saturating_mul(in_option);
        let (option, default) = match test {
            Benchmark::IorEasy => ("blockSize", DEFAULT_BLOCK_BYTES >> 20),
            Benchmark::IorHard => ("segmentCount", DEFAULT_SEGMENTS),
            Benchmark::MdtestEasy | Benchmark::MdtestHard => ("n", DEFAULT_ITEMS),
        };
        Some(Need {
            test,
            option,
            reached: reached.saturating_mul(in_option),
            proposed,
            default,
            // ior has all as data, mdtest all as files.
            bytes: all.saturating_mul(bytes_each),
            files: match test {
                Benchmark::IorEasy => first.len() as u64,
                Benchmark::IorHard => 1,
                Benchmark::MdtestEasy | Benchmark::MdtestHard => all,
            },
            was_ended_by_time,
        })
    }
}

/// The lowest and the highest.
fn ends(rates: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    rates.fold(None, |ends, rate| {
        let (low, high) = ends.unwrap_or((rate, rate));
        Some((low.min(rate), high.max(rate)))
    })
}

/// Rounded up; the largest number where it is larger.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it saturates, and is not negative"
)]
fn whole(number: f64) -> u64 {
    number.ceil() as u64
}

/// Two digits, rounded up.
fn rounded_up(number: u64) -> u64 {
    let mut unit = 1;
    while number / unit >= 100 {
        unit *= 10;
    }
    number.div_ceil(unit).saturating_mul(unit)
}

fn rank_phases(trial: &Trial) -> Vec<RankPhase> {
    let found = trial.artifacts.iter().find(|artifact| artifact.kind == RANKS_ARTIFACT);
    let table = found.and_then(|found| serde_json::from_str::<RankTable>(&found.body).ok());
    table.unwrap_or_default().phases
}

/// What would go wrong, as far as it can be known.
fn risks(trial: &Trial, full: &FullRun, clients: Clients) -> Vec<Risk> {
    let mut risks = Vec::new();
    for (need, step) in full.needs.iter().filter_map(|need| Some((need, writing(need.test)?))) {
        if need.reached > need.default {
            let why = format!(
                "the default {} = {} is written before {FULL_SECONDS} s are over: about {} are \
                 reached by then",
                need.option, need.default, need.reached
            );
            risks.push(Risk { phase: step.name, is_invalid: true, why });
        }
    }
    for phase in full.phases.iter().filter(|phase| phase.faults > 0) {
        let why = format!("{} items were not there, or had other data", phase.faults);
        risks.push(Risk { phase: phase.name, is_invalid: true, why });
    }
    let found = trial.fact("io500.found").and_then(|found| found.parse::<u64>().ok());
    if found == Some(0) {
        let why = "the search found no file; too few were made here, or its answer is wrong";
        risks.push(Risk { phase: "find", is_invalid: true, why: why.to_owned() });
    }
    if clients.free_bytes > 0 && full.bytes > clients.free_bytes {
        let why = format!(
            "{:.1} GiB are written, and {:.1} GiB are free: the run fails when it is full",
            full.bytes as f64 / GIB,
            clients.free_bytes as f64 / GIB
        );
        risks.push(Risk { phase: "", is_invalid: false, why });
    }
    risks.extend(from_memory(full, clients));
    risks
}

/// Reads that the memory of the clients may answer.
fn from_memory(full: &FullRun, clients: Clients) -> Vec<Risk> {
    let reads = [
        ("ior-easy-read", Benchmark::IorEasy),
        ("ior-hard-read", Benchmark::IorHard),
        ("mdtest-hard-read", Benchmark::MdtestHard),
    ];
    let risk = |(phase, test): (&'static str, Benchmark)| {
        let need = full.needs.iter().find(|need| need.test == test)?;
        let each = need.bytes / clients.count.max(1);
        (clients.memory_bytes > each).then(|| Risk {
            phase,
            is_invalid: false,
            why: format!(
                "each client has written {:.1} GiB and has {:.1} GiB of memory, which can answer \
                 the reads; IO500 does not look at that",
                each as f64 / GIB,
                clients.memory_bytes as f64 / GIB
            ),
        })
    };
    reads.into_iter().filter_map(risk).collect()
}

fn writing(test: Benchmark) -> Option<&'static Step> {
    STEPS.iter().find(|step| step.measured == Measured::Written(test))
}

#[cfg(test)]
mod tests {
    use super::{Benchmark, Clients, FullRun, rounded_up};
    use treering_classic::ior::counts::TransferCounts;
    use treering_classic::mdtest::counts::ItemCounts;
    use treering_model::{
        Beginning, Counters, Ending, Fact, Interval, Mode, PhaseTotals, TaskTotals, Trial, TrialId,
    };

    const SECOND: u64 = 1_000_000_000;

    fn task(kind: &str, worker: u16, seconds: u64, counters: Counters) -> TaskTotals {
        TaskTotals {
            kind: kind.to_owned(),
            worker,
            wall_ns: seconds * SECOND,
            counters,
            ..TaskTotals::default()
        }
    }

    /// Ten seconds, after which two workers had made 10,000 and 8000 files, and 500 and 400
    /// transfers; then all had as many, and synced for two seconds.
    fn trial() -> Trial {
        let items = |done, is_wear_out: bool| {
            let ended_by_time = !is_wear_out;
            Counters::of(&ItemCounts { done, is_wear_out, ended_by_time, ..ItemCounts::default() })
        };
        let transfers = |transfers| {
            let counts = TransferCounts { transfers, ended_by_time: true, ..Default::default() };
            Counters::of(&counts)
        };
        let mut beginning = Beginning::new(TrialId::new(), "io500", Mode::Native);
        beginning.parameters = vec![("seconds".to_owned(), "10".to_owned())];
        let worn_out = TaskTotals {
            began_ns: 12 * SECOND,
            ..task("mdtest-easy-write", 1, 1, items(2000, true))
        };
        let slices = (0..12).map(|second| Interval {
            second,
            calls: 3000 + 10 * u64::from(second),
            bytes: 0,
        });
        Trial {
            beginning,
            facts: vec![Fact { name: "io500.found".to_owned(), value: "0".to_owned() }],
            phases: vec![PhaseTotals {
                name: "mdtest-easy-write".to_owned(),
                intervals: slices.collect(),
                ..PhaseTotals::default()
            }],
            tasks: vec![
                task("ior-easy-write", 0, 12, transfers(500)),
                task("ior-easy-write", 1, 12, transfers(400)),
                task("mdtest-easy-write", 0, 12, items(10_000, false)),
                task("mdtest-easy-write", 1, 12, items(8000, false)),
                worn_out,
            ],
            metrics: Vec::new(),
            artifacts: Vec::new(),
            cautions: Vec::new(),
            annotations: Vec::new(),
            ending: Ending::Completed,
            wall_ns: 0,
        }
    }

    #[test]
    fn what_is_needed_follows_from_the_fastest_worker_until_time_ended_it() {
        let clients = Clients { count: 1, memory_bytes: 64 << 30, free_bytes: 16 << 30 };
        let full = FullRun::of(&trial(), clients);
        let names: Vec<&str> = full.phases.iter().map(|phase| phase.name).collect();
        assert_eq!(names, ["ior-easy-write", "mdtest-easy-write"]);
        let [ior, mdtest] = full.needs.as_slice() else { panic!("{:?}", full.needs) };
        assert_eq!((ior.test, ior.option), (Benchmark::IorEasy, "blockSize"));
        // 50 transfers of 2 MiB a second, for 300 seconds, and twice as much.
        assert_eq!((ior.reached, ior.proposed), (30_000, 60_000));
        assert_eq!((ior.value().as_str(), ior.bytes), ("60000m", (2 * 30_000) << 20));
        assert_eq!((mdtest.reached, mdtest.proposed, mdtest.files), (300_000, 600_000, 600_000));
        assert!(mdtest.was_ended_by_time);
        let mdtest = &full.phases[1];
        // 20,000 files until the wear-out ended, 13 seconds after the beginning.
        assert!((mdtest.rate - 20.0 / 13.0).abs() < 1e-9 && !mdtest.moves_data);
        assert_eq!(mdtest.spread.map(|spread| spread.seconds), Some(10));
        assert_eq!(full.phases[0].spread.map(|spread| spread.seconds), Some(0), "the workers");
    }

    #[test]
    fn what_would_go_wrong_is_told_and_who_says_so() {
        let clients = Clients { count: 1, memory_bytes: 64 << 30, free_bytes: 16 << 30 };
        let full = FullRun::of(&trial(), clients);
        let all: Vec<(&str, bool)> =
            full.risks.iter().map(|risk| (risk.phase, risk.is_invalid)).collect();
        assert_eq!(all, [("find", true), ("", false), ("ior-easy-read", false)]);
        let clients = Clients { count: 8, memory_bytes: 4 << 30, free_bytes: 0 };
        let full = FullRun::of(&trial(), clients);
        assert_eq!(full.risks.len(), 1, "{:?}", full.risks);
    }

    #[test]
    fn two_digits_are_kept_and_rounded_up() {
        assert_eq!(
            [1, 99, 100, 101, 1234, 199_999].map(rounded_up),
            [1, 99, 100, 110, 1300, 200_000]
        );
        assert!(rounded_up(u64::MAX) >= u64::MAX / 2);
    }
}
