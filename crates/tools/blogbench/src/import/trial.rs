//! Conversion of a blogbench run to a trial.

use treering_model::metrics::blogbench::{
    BLOGS_SO_FAR, BLOGS_WRITTEN_PER_SECOND, READ_FILES_PER_SECOND, ROW_FILES, SCORES,
    SCORES_PER_SECOND, WRITTEN_FILES_PER_SECOND,
};
use treering_model::metrics::rates;
use treering_model::{
    BLOGBENCH_READ_BYTES, Caution, CautionCode, IMPORT_FACT, ITERATION_PHASE, PhaseTotals, Scope,
    WorkLimit,
};

use super::lines::COLUMNS;
use super::version::BlogbenchVersion;
use super::{ParsedRun, TOOL};
use treering_kit::import::number::nanoseconds;
use treering_kit::import::trial::ForeignTrial;

/// Kinds counted by the columns after the first, in order.
const KINDS: [&str; COLUMNS - 1] = [
    "read article",
    "write article",
    "read picture",
    "write picture",
    "read comment",
    "write comment",
];

/// Converts a run to a trial, if it has results, and remarks about it.
pub(super) fn trial(
    run: &ParsedRun,
    version: Option<(BlogbenchVersion, usize)>,
) -> (Option<ForeignTrial>, Vec<String>) {
    let mut telling = TrialBuilder {
        run,
        trial: ForeignTrial { workload: TOOL, ..ForeignTrial::default() },
        remarks: Vec::new(),
    };
    if run.rows.is_empty() && run.writes.is_none() && run.reads.is_none() {
        let message = "blogbench has no result: it failed, or its output is truncated";
        return (None, vec![message.to_owned()]);
    }
    telling.version(version);
    telling.parameters();
    telling.rows();
    telling.scores();
    telling.cautions();
    (Some(telling.trial), telling.remarks)
}

/// Builder of the trial.
struct TrialBuilder<'r> {
    run: &'r ParsedRun,
    trial: ForeignTrial,
    remarks: Vec<String>,
}

impl TrialBuilder<'_> {
    fn remark(&mut self, message: impl Into<String>) {
        self.remarks.push(message.into());
    }

    fn version(&mut self, version: Option<(BlogbenchVersion, usize)>) {
        let Some((version, at)) = version else {
            self.trial.fact(IMPORT_FACT, TOOL);
            let message = "neither the output nor the text around it names the version: 1.2 reads \
                           8 bytes per call, 1.0 and 1.1 read 65536";
            self.remark(message);
            let message = message.to_owned();
            self.trial.cautions.push(Caution { code: CautionCode::VersionUnknown, message });
            return;
        };
        self.trial.fact(IMPORT_FACT, format!("{TOOL} {}", version.name));
        self.trial.parameter(BLOGBENCH_READ_BYTES, version.read_bytes);
        self.remark(format!("assumed to be version {} because of line {}", version.name, at + 1));
    }

    fn parameters(&mut self) {
        let run = self.run;
        run.directory.clone_into(&mut self.trial.target);
        self.trial.fact(WorkLimit::FACT, WorkLimit::Timed.name());
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

    /// Total time of the rows, in seconds, if known.
    fn seconds(&self) -> Option<f64> {
        let rows = self.run.iterations.unwrap_or(self.run.rows.len() as u64);
        let seconds = self.run.seconds? as f64 * rows as f64;
        (seconds > 0.0).then_some(seconds)
    }

    /// Adds each row as a phase with its metrics, and the rates over all rows.
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
            // Columns of reads and writes alternate.
            let sum = |from: usize| {
                counts
                    .iter()
                    .skip(from)
                    .step_by(2)
                    .fold(0_u64, |sum, count| sum.saturating_add(*count))
            };
            let (read, written) = (sum(0), sum(1));
            self.trial.phases.push(PhaseTotals {
                phase: number,
                name: name.clone(),
                files: read.saturating_add(written),
                ..PhaseTotals::default()
            });
            if blogs > 0 {
                let scope = Scope::Phase(name.clone());
                self.trial.metrics.push(BLOGS_SO_FAR.of(scope, blogs as f64));
            }
            for (kind, count) in KINDS.into_iter().zip(counts).filter(|(_, count)| *count > 0) {
                let scope = Scope::Phase(name.clone());
                let word = kind.replace(' ', "_");
                self.trial.metrics.push(ROW_FILES.of_member(&[&word], scope, count as f64));
            }
            let Some(every) = every else { continue };
            let figures = [
                (READ_FILES_PER_SECOND, read),
                (WRITTEN_FILES_PER_SECOND, written),
                (BLOGS_WRITTEN_PER_SECOND, blogs - blogs_before),
            ];
            blogs_before = blogs;
            for (spec, count) in figures {
                let scope = Scope::Phase(name.clone());
                self.trial.metrics.push(spec.of(scope, count as f64 / every));
            }
        }
        let counted = every.map(|every| every * run.rows.len() as f64).filter(|total| *total > 0.0);
        let Some(seconds) = counted else { return };
        self.trial.wall_ns = nanoseconds(seconds).unwrap_or(0);
        for (kind, sum) in KINDS.into_iter().zip(sums) {
            let (scope, value) = (Scope::Kind(kind.to_owned()), sum as f64 / seconds);
            self.trial.metrics.push(rates::FILES_PER_SECOND.of(scope, value).of_tasks(sum));
        }
    }

    /// Adds the final scores; their rate is primary where the length of the run is known.
    fn scores(&mut self) {
        let seconds = self.seconds();
        let scores = [self.run.writes, self.run.reads];
        let specs = SCORES.into_iter().zip(SCORES_PER_SECOND);
        for (score, (total, rate)) in scores.into_iter().zip(specs) {
            let Some(score) = score.map(|score| score as f64) else { continue };
            let decides = seconds.is_none();
            self.trial.metrics.push(total.of(Scope::Trial, score).primary_if(decides));
            if let Some(seconds) = seconds {
                self.trial.metrics.push(rate.of(Scope::Trial, score / seconds).primary());
            }
        }
        if self.trial.wall_ns == 0 {
            self.trial.wall_ns = seconds.and_then(nanoseconds).unwrap_or(0);
        }
    }

    fn cautions(&mut self) {
        let run = self.run;
        if self.seconds().is_none() {
            self.remark(
                "unknown run time: its scores compare only with those of a run of the same length",
            );
        }
        if run.writes.is_none() || run.reads.is_none() {
            self.remark("a final score is missing; kept as interrupted");
            self.trial.is_interrupted = true;
        }
        let rows = run.rows.len() as u64;
        match run.iterations {
            Some(iterations) if rows > 0 && iterations != rows => {
                self.remark(format!("{rows} of {iterations} rows present"));
            }
            Some(_) | None => {}
        }
        if let (Some(score), Some(last)) = (run.writes, run.rows.last())
            && score != last[0]
        {
            self.remark(format!(
                "its score for writes is {score}, but its last row has {}",
                last[0]
            ));
        }
        if run.is_full {
            let message = "the filesystem was full: threads failed and waited, and the scores \
                           cover only part of the run";
            self.remark(message);
            let message = message.to_owned();
            self.trial.cautions.push(Caution { code: CautionCode::MayNotFit, message });
        }
    }
}
