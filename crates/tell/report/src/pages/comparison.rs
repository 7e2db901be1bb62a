//! `treering report`: sets of trials against each other. First the verdict in words, then what is
//! to be doubted, then the figures, last the command that gives the same page again.
//!
//! The tables are in `comparison_tables`, the charts in `comparison_charts`; the formats for
//! programs, which want the numbers and not the page, have a file each: `comparison_json`, `_csv`,
//! `_benchstat`, `_lkp`.

use std::io;

use treering_analysis::compare::{
    EnvironmentFact, JobProfile, MetricComparison, ObservedJob, Outcome, SideSummary, Verdict,
    is_observation,
};
use treering_model::Scope;

use super::comparison_charts::{forest, raw_numbers, rounds};
use super::comparison_observed::{charts_of, tables_of};
use super::comparison_tables::{figures, label, sides, verdicts};
use super::environment::{differences, everything};
use super::{comparison_benchstat, comparison_csv, comparison_json, comparison_lkp, profile};
use crate::{Block, Chart, Report, Warning};

/// Metrics that a sentence names; the others it counts.
const NAMED: usize = 3;

/// Contenders that the title names; the others it counts.
const TITLED: usize = 6;

/// Charts of one sort that all jobs of a page have together, at most: a page is to be mailed.
const MOST_CHARTS: usize = 36;
const MOST_ROUNDS_CHARTS: usize = 150;

/// What the page says beside the comparison.
#[derive(Clone, Copy, Debug, Default)]
pub struct View<'v> {
    /// The command line that gives this page again, quoted for a shell.
    pub command: &'v str,
    /// The command lines that repeat a trial of each side, with the side's name.
    pub repeat: &'v [(String, String)],
    /// Remarks about the selection.
    pub notes: &'v [String],
    /// The facts of the environment on all sides, in the order of the outcome.
    pub environment: &'v [EnvironmentFact],
    /// What the trials show of their course, for pages with pictures.
    pub profiles: &'v [JobProfile],
    /// What observers saw of the jobs, for pages with pictures.
    pub observed: &'v [ObservedJob],
}

/// The formats for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataFormat {
    /// The documented JSON (docs/json.md).
    Json,
    /// One row for each comparison.
    Csv,
    /// Lines of Go benchmarks, a value for each trial: benchstat reads them.
    Benchstat,
    /// The table of mails of the kernel test robot.
    Lkp,
}

impl DataFormat {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Json, Self::Csv, Self::Benchstat, Self::Lkp];

    /// The word that chooses it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Benchstat => "benchstat",
            Self::Lkp => "lkp",
        }
    }

    /// The format with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Writes the comparison.
    ///
    /// # Errors
    /// When the writer does not take it.
    pub fn write(self, outcome: &Outcome, out: &mut dyn io::Write) -> io::Result<()> {
        match self {
            Self::Json => comparison_json::write(outcome, out),
            Self::Csv => comparison_csv::write(outcome, out),
            Self::Benchstat => comparison_benchstat::write(outcome, out),
            Self::Lkp => comparison_lkp::write(outcome, out),
        }
    }
}

/// The page.
pub fn page(outcome: &Outcome, view: &View<'_>) -> Report {
    let mut page = Report::new(title(outcome));
    for sentence in sentences(outcome) {
        page.paragraph(sentence);
    }
    for note in view.notes {
        page.note(note.as_str());
    }
    let cautions = warnings(outcome);
    if !cautions.is_empty() {
        page.blocks.push(Block::Cautions { cautions });
    }
    page.table(sides(outcome));
    let all = std::iter::once(&outcome.baseline).chain(&outcome.contenders);
    let names: Vec<&str> = all.map(|side| side.name.as_str()).collect();
    if let Some(table) = differences(view.environment, &names) {
        page.table(table);
    }
    if let Some(table) = everything(view.environment, &names) {
        page.blocks.push(Block::Folded { title: "The whole environment".to_owned(), table });
    }
    let jobs = jobs(outcome);
    for (place, job) in jobs.iter().enumerate() {
        let charts = profile_charts(view, job, place, jobs.len());
        add_job(&mut page, outcome, job, jobs.len(), charts);
        add_observed(&mut page, outcome, job, view);
    }
    page.heading("Again");
    page.command("The same page", view.command);
    for (side, line) in view.repeat {
        page.command(&format!("One more trial of '{side}'"), line);
    }
    page.blocks.extend(raw_numbers(outcome));
    page
}

/// A job: the charts and tables of its primary metrics, how its trials went, all other metrics.
fn add_job(
    page: &mut Report,
    outcome: &Outcome,
    job: &[&MetricComparison],
    jobs: usize,
    charts: Vec<Block>,
) {
    let first = job[0];
    let mode = first.mode.name();
    let name = if first.job.is_empty() { String::new() } else { format!(": {}", first.job) };
    page.heading(&format!("{} ({mode}){name}", first.workload));
    let several = outcome.contenders.len() > 1;
    let of = |primary: bool| -> Vec<&MetricComparison> {
        job.iter().copied().filter(|c| c.primary == primary).collect()
    };
    if let primary @ [_, ..] = of(true).as_slice() {
        page.chart(forest(primary));
        let most = (MOST_ROUNDS_CHARTS / jobs).max(1);
        rounds(primary, most).into_iter().for_each(|chart| page.chart(chart));
        page.table(verdicts(primary, true, several));
    }
    for side in &outcome.contenders {
        let own = |c: &&MetricComparison| c.contender == side.name && !is_observation(&c.name);
        let own: Vec<&MetricComparison> = job.iter().copied().filter(own).collect();
        if !own.is_empty() {
            page.table(figures(&own));
        }
    }
    page.blocks.extend(charts);
    let mut others = of(false);
    others.retain(|one| !is_observation(&one.name));
    if !others.is_empty() {
        page.table(verdicts(&others, false, several));
    }
}

/// What observers saw of a job: seeks and all else that traces tell, where the files lie.
fn add_observed(page: &mut Report, outcome: &Outcome, job: &[&MetricComparison], view: &View<'_>) {
    let several = outcome.contenders.len() > 1;
    let seen = |one: &&&MetricComparison| !one.primary && is_observation(&one.name);
    let seen: Vec<&MetricComparison> = job.iter().filter(seen).copied().collect();
    if !seen.is_empty() {
        tables_of(&seen, several).into_iter().for_each(|table| page.table(table));
    }
    let first = job[0];
    let same = |known: &&ObservedJob| {
        let given = (&known.workload, known.mode, &known.job);
        given == (&first.workload, first.mode, &first.job)
    };
    if let Some(observed) = view.observed.iter().find(same) {
        page.blocks.extend(charts_of(observed, view.observed.len()));
    }
}

/// The charts of what the trials of a job show of their course; of many jobs only the first.
fn profile_charts(
    view: &View<'_>,
    job: &[&MetricComparison],
    place: usize,
    jobs: usize,
) -> Vec<Block> {
    if place == MOST_CHARTS && !view.profiles.is_empty() {
        let text = format!(
            "Latency, rate over time and aging are drawn of the first {MOST_CHARTS} jobs of a \
             page; choose fewer jobs to see those of the others."
        );
        return vec![Block::Chart(Chart::Remark { title: String::new(), text })];
    }
    if place > MOST_CHARTS {
        return Vec::new();
    }
    let first = job[0];
    let same = |profile: &&JobProfile| {
        let given = (&profile.workload, profile.mode, &profile.job);
        given == (&first.workload, first.mode, &first.job)
    };
    let Some(profile) = view.profiles.iter().find(same) else { return Vec::new() };
    let kind = |one: &&&MetricComparison| one.primary;
    let kinds: Vec<&str> = (job.iter().filter(kind))
        .filter_map(|one| match &one.scope {
            Scope::Kind(kind) => Some(kind.as_str()),
            Scope::Trial | Scope::Phase(_) => None,
        })
        .collect();
    profile::of_job(profile, Some(&kinds), (MOST_CHARTS / jobs).max(1))
}

/// The verdict in words, one sentence for each contender.
pub(crate) fn sentences(outcome: &Outcome) -> Vec<String> {
    outcome.contenders.iter().map(|side| sentence(outcome, side)).collect()
}

/// The doubts with their advice.
pub(super) fn warnings(outcome: &Outcome) -> Vec<Warning> {
    let warning = |caution: &treering_analysis::compare::ComparisonCaution| Warning {
        code: caution.code.name().to_owned(),
        message: caution.message.clone(),
        advice: caution.code.advice().to_owned(),
    };
    outcome.cautions.iter().map(warning).collect()
}

fn title(outcome: &Outcome) -> String {
    let all = &outcome.contenders;
    let names: Vec<&str> = all.iter().take(TITLED).map(|side| side.name.as_str()).collect();
    let more = match all.len().saturating_sub(TITLED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more} against {}", names.join(", "), outcome.baseline.name)
}

/// The comparisons of each job of each workload, in the order in which they come.
pub(super) fn jobs(outcome: &Outcome) -> Vec<Vec<&MetricComparison>> {
    let mut jobs: Vec<Vec<&MetricComparison>> = Vec::new();
    for one in &outcome.comparisons {
        let same = |job: &&mut Vec<&MetricComparison>| {
            let first = job[0];
            first.workload == one.workload && first.mode == one.mode && first.job == one.job
        };
        match jobs.iter_mut().find(same) {
            Some(job) => job.push(one),
            None => jobs.push(vec![one]),
        }
    }
    jobs
}

fn sentence(outcome: &Outcome, side: &SideSummary) -> String {
    let (contender, baseline) = (&side.name, &outcome.baseline.name);
    let primary: Vec<&MetricComparison> = outcome.primary_of(contender).collect();
    if primary.is_empty() {
        let any = outcome.comparisons.iter().any(|c| c.contender == *contender);
        return if any {
            format!("{contender} against {baseline}: no verdict, since no metric is primary.")
        } else {
            format!("{contender} against {baseline}: nothing can be compared.")
        };
    }
    if primary.iter().all(|c| c.verdict == Verdict::SingleRun) {
        return format!(
            "{contender} against {baseline}: no verdict. There is one run on a side; its ratios \
             show what happened once and prove nothing."
        );
    }
    let of = |verdict: Verdict| -> Vec<&MetricComparison> {
        primary.iter().copied().filter(|c| c.verdict == verdict).collect()
    };
    let clause = |verdict: Verdict| {
        let found = of(verdict);
        let count = found.len();
        (count > 0).then(|| match verdict {
            Verdict::Worse => format!("worse at {count} ({})", changes(&found)),
            Verdict::Better => format!("better at {count} ({})", changes(&found)),
            Verdict::Small => format!("only slightly different at {count}"),
            Verdict::Same => format!("the same at {count}"),
            Verdict::Unclear => format!("unclear at {count}{}", still_needed(&found)),
            Verdict::SingleRun => format!("run only once at {count}"),
        })
    };
    let order = [
        Verdict::Worse,
        Verdict::Better,
        Verdict::Small,
        Verdict::Same,
        Verdict::Unclear,
        Verdict::SingleRun,
    ];
    let clauses: Vec<String> = order.into_iter().filter_map(clause).collect();
    let metrics = if primary.len() == 1 { "metric" } else { "metrics" };
    format!(
        "{contender} against {baseline}, {} primary {metrics}: {}.",
        primary.len(),
        clauses.join("; ")
    )
}

/// The largest changes by name: `create MiB/s +5.2 %, read MiB/s +3.3 % and 2 more`.
fn changes(found: &[&MetricComparison]) -> String {
    let size = |c: &MetricComparison| c.ratio.map_or(0.0, |ratio| ratio.value.ln().abs());
    let mut sorted = found.to_vec();
    sorted.sort_by(|left, right| size(right).total_cmp(&size(left)));
    let named = sorted.iter().take(NAMED).map(|c| match c.ratio {
        Some(ratio) => format!("{} {:+.1}%", label(c), (ratio.value - 1.0) * 100.0),
        None => label(c),
    });
    let named = named.collect::<Vec<_>>().join(", ");
    match sorted.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// How many rounds would settle all that is unclear.
fn still_needed(found: &[&MetricComparison]) -> String {
    match found.iter().map(|c| c.rounds_needed).collect::<Option<Vec<u32>>>() {
        Some(needed) => match needed.iter().max() {
            Some(most) => format!(" (about {most} rounds would settle it)"),
            None => String::new(),
        },
        None => " (more rounds would hardly settle it all)".to_owned(),
    }
}
