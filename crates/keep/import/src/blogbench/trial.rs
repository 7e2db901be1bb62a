//! A run of blogbench as a trial.

use treering_model::{
    BLOGBENCH_RATES, BLOGBENCH_READ_BYTES, BLOGBENCH_SCORES, Better, Caution, CautionCode,
    IMPORT_FACT, ITERATION_PHASE, Metric, PhaseTotals, Scope, Unit, Work,
};

use super::lines::COLUMNS;
use super::version::Version;
use super::{Run, TOOL};
use crate::number::nanoseconds;
use crate::trial::ForeignTrial;

/// What the columns behind the first one count, in their order.
const KINDS: [&str; COLUMNS - 1] = [
    "read article",
    "write article",
    "read picture",
    "write picture",
    "read comment",
    "write comment",
];

/// The trial, when there is one, and what is to be said about it.
pub(super) fn trial(
    run: &Run,
    version: Option<(Version, usize)>,
) -> (Option<ForeignTrial>, Vec<String>) {
    let mut telling = Telling {
        run,
        trial: ForeignTrial { workload: TOOL, ..ForeignTrial::default() },
        remarks: Vec::new(),
    };
    if run.rows.is_empty() && run.writes.is_none() && run.reads.is_none() {
        let what = "blogbench has no result: it failed, or only its beginning is here";
        return (None, vec![what.to_owned()]);
    }
    telling.version(version);
    telling.parameters();
    telling.rows();
    telling.scores();
    telling.doubts();
    (Some(telling.trial), telling.remarks)
}

/// What a run becomes.
struct Telling<'r> {
    run: &'r Run,
    trial: ForeignTrial,
    remarks: Vec<String>,
}

impl Telling<'_> {
    fn remark(&mut self, what: impl Into<String>) {
        self.remarks.push(what.into());
    }

    fn version(&mut self, version: Option<(Version, usize)>) {
        let Some((version, at)) = version else {
            self.trial.fact(IMPORT_FACT, TOOL);
            let message = "the output does not say which version wrote it, nor does the text \
                           around it: 1.2 reads 8 bytes at once, 1.0 and 1.1 read 65536";
            self.remark(message);
            let message = message.to_owned();
            self.trial.cautions.push(Caution { code: CautionCode::VersionUnknown, message });
            return;
        };
        self.trial.fact(IMPORT_FACT, format!("{TOOL} {}", version.name));
        self.trial.parameter(BLOGBENCH_READ_BYTES, version.read_bytes);
        self.remark(format!("taken for version {} by line {}", version.name, at + 1));
    }

    fn parameters(&mut self) {
        let run = self.run;
        run.directory.clone_into(&mut self.trial.target);
        self.trial.fact(Work::FACT, Work::Timed.name());
        if let Some(iterations) = run.iterations {
            self.trial.parameter("iterations", iterations);
        }
        if let Some(seconds) = run.seconds {
            self.trial.parameter("sleep", seconds);
        }
        for (kind, count) in &run.threads {
            self.trial.parameter(kind, count);
        }
    }

    /// How long the rows took together.
    fn seconds(&self) -> Option<f64> {
        let rows = self.run.iterations.unwrap_or(self.run.rows.len() as u64);
        let seconds = self.run.seconds? as f64 * rows as f64;
        (seconds > 0.0).then_some(seconds)
    }

    /// Each row as a phase with its own figures, and what they come to.
    fn rows(&mut self) {
        let run = self.run;
        let every = run.seconds.filter(|seconds| *seconds > 0).map(|seconds| seconds as f64);
        let mut sums = [0_u64; COLUMNS - 1];
        let mut blogs_before = 0;
        for (number, row) in (0..).zip(&run.rows) {
            let name = format!("{ITERATION_PHASE}{}", number + 1);
            let [blogs, counts @ ..] = *row;
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum = sum.saturating_add(count);
            }
            // Columns of reads and of writes take turns.
            let sum = |from: usize| {
                counts.iter().skip(from).step_by(2).fold(0_u64, |sum, one| sum.saturating_add(*one))
            };
            let (read, written) = (sum(0), sum(1));
            self.trial.phases.push(PhaseTotals {
                phase: number,
                name: name.clone(),
                files: read.saturating_add(written),
                ..PhaseTotals::default()
            });
            let Some(every) = every else { continue };
            let figures = [
                ("read_files_per_second", read, Unit::FilesPerSecond),
                ("written_files_per_second", written, Unit::FilesPerSecond),
                ("blogs_written_per_second", blogs - blogs_before, Unit::OpsPerSecond),
            ];
            blogs_before = blogs;
            for (metric, count, unit) in figures {
                let scope = Scope::Phase(name.clone());
                let value = count as f64 / every;
                self.trial.metrics.push(Metric::new(metric, scope, value, unit, Better::Higher));
            }
        }
        let counted = every.map(|every| every * run.rows.len() as f64).filter(|all| *all > 0.0);
        let Some(seconds) = counted else { return };
        self.trial.wall_ns = nanoseconds(seconds).unwrap_or(0);
        for (kind, sum) in KINDS.into_iter().zip(sums) {
            let (scope, value) = (Scope::Kind(kind.to_owned()), sum as f64 / seconds);
            let (unit, better) = (Unit::FilesPerSecond, Better::Higher);
            let metric = Metric::new("files_per_second", scope, value, unit, better);
            self.trial.metrics.push(metric.of_tasks(sum));
        }
    }

    /// The final scores; what decides is their rate, where the length of the run is known.
    fn scores(&mut self) {
        let seconds = self.seconds();
        let scores = [self.run.writes, self.run.reads];
        for ((score, name), rate) in scores.into_iter().zip(BLOGBENCH_SCORES).zip(BLOGBENCH_RATES) {
            let Some(score) = score else { continue };
            let metric = |name: &str, value, unit| {
                Metric::new(name, Scope::Trial, value, unit, Better::Higher)
            };
            let decides = seconds.is_none();
            let total = metric(name, score as f64, Unit::Count).primary_if(decides);
            self.trial.metrics.push(total);
            if let Some(seconds) = seconds {
                let rate = metric(rate, score as f64 / seconds, Unit::OpsPerSecond);
                self.trial.metrics.push(rate.primary());
            }
        }
        if self.trial.wall_ns == 0 {
            self.trial.wall_ns = seconds.and_then(nanoseconds).unwrap_or(0);
        }
    }

    fn doubts(&mut self) {
        let run = self.run;
        if self.seconds().is_none() {
            self.remark(
                "how long it ran is not known, so that its scores compare only with those of a \
                 run of the same length",
            );
        }
        if run.writes.is_none() || run.reads.is_none() {
            self.remark("a final score is missing; kept as interrupted");
            self.trial.is_interrupted = true;
        }
        let rows = run.rows.len() as u64;
        match run.iterations {
            Some(iterations) if rows > 0 && iterations != rows => {
                self.remark(format!("{rows} rows of {iterations} are here"));
            }
            Some(_) | None => {}
        }
        if let (Some(score), Some(last)) = (run.writes, run.rows.last())
            && score != last[0]
        {
            self.remark(format!("its score for writes is {score}, its last row says {}", last[0]));
        }
        if run.is_full {
            let message = "the filesystem was full: its threads failed and waited, and the scores \
                           are those of a part of the run";
            self.remark(message);
            let message = message.to_owned();
            self.trial.cautions.push(Caution { code: CautionCode::MayNotFit, message });
        }
    }
}
