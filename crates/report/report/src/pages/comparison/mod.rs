//! `treering report`: sets of trials against each other. First the verdict in words, then all
//! ratios in one picture, the cautions, the jobs one by one, the environment, and last the
//! command that gives the same page again.
//!
//! The sentences are in `words`, the tables in `tables`, the charts in
//! `charts`; the formats for programs, which want the numbers and not the page, have a
//! file each: `json`, `csv`, `benchstat`, `lkp`.

mod benchstat;
mod charts;
mod csv;
mod json;
mod lkp;
mod observed;
mod tables;
mod words;

use std::io;

use treering_analysis::compare::{
    EnvironmentFact, JobProfile, MetricComparison, ObservedJob, Outcome,
};
use treering_model::Scope;
use treering_model::metrics::is_observation;

use self::charts::{forest, raw_numbers, rounds};
use self::observed::{charts_of, tables_of};
use self::tables::{INTERVAL, brief, by_metric, figures, variants, verdicts};
use self::words::{control, sentences};
use super::environment::{differences, everything};
use super::profile;
use crate::{Block, Chart, Report, Warning};

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
    /// The command lines that repeat a trial of each variant, with the variant's name.
    pub repeat: &'v [(String, String)],
    /// Remarks about the selection.
    pub notes: &'v [String],
    /// The facts of the environment on all variants, in the order of the outcome.
    pub environment: &'v [EnvironmentFact],
    /// What the trials show of their timeline, for pages with pictures.
    pub profiles: &'v [JobProfile],
    /// What observers saw of the jobs, for pages with pictures.
    pub observed: &'v [ObservedJob],
    /// Only what fits a mail: the sentences, the cautions without advice, the primary metrics.
    pub brief: bool,
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
            Self::Json => json::write(outcome, out),
            Self::Csv => csv::write(outcome, out),
            Self::Benchstat => benchstat::write(outcome, out),
            Self::Lkp => lkp::write(outcome, out),
        }
    }
}

/// The page.
pub fn page(outcome: &Outcome, view: &View<'_>) -> Report {
    let mut page = Report::new(title(outcome));
    for sentence in sentences(outcome) {
        page.paragraph(sentence);
    }
    if let Some(sentence) = control(outcome) {
        page.paragraph(sentence);
    }
    for note in view.notes {
        page.note(note.as_str());
    }
    let primary: Vec<&MetricComparison> =
        outcome.comparisons.iter().filter(|one| one.primary).collect();
    if !view.brief && !primary.is_empty() {
        page.chart(forest(&primary));
    }
    let mut cautions = warnings(outcome);
    if !cautions.is_empty() {
        if view.brief {
            cautions.iter_mut().for_each(|warning| warning.advice.clear());
        }
        page.blocks.push(Block::Cautions { cautions });
    }
    let jobs = jobs(outcome);
    if view.brief {
        add_brief(&mut page, outcome, &jobs, view);
        return page;
    }
    for (place, job) in jobs.iter().enumerate() {
        let charts = profile_charts(view, job, place, jobs.len());
        add_job(&mut page, outcome, job, jobs.len(), charts);
        add_observed(&mut page, outcome, job, view);
    }
    add_environment(&mut page, outcome, view);
    page.heading("Again");
    page.command("The same page", view.command);
    for (variant, line) in view.repeat {
        page.command(&format!("One more trial of '{variant}'"), line);
    }
    page.blocks.extend(raw_numbers(outcome));
    page
}

/// The primary metrics job by job, for a mail.
fn add_brief(
    page: &mut Report,
    outcome: &Outcome,
    jobs: &[Vec<&MetricComparison>],
    view: &View<'_>,
) {
    let several = outcome.contenders().count() > 1;
    let mut any = false;
    for job in jobs {
        let primary: Vec<&MetricComparison> = job.iter().copied().filter(|c| c.primary).collect();
        if !primary.is_empty() {
            let by_metric: Vec<&MetricComparison> =
                by_metric(&primary).into_iter().flatten().collect();
            page.table(brief(&by_metric, several));
            any = true;
        }
    }
    if any {
        let baseline = if outcome.has_one_baseline() { outcome.baseline() } else { "its baseline" };
        page.paragraph(format!("ratio: contender over {baseline}; {INTERVAL}"));
    }
    page.command("The whole page", view.command);
}

/// The variants and what they ran on.
fn add_environment(page: &mut Report, outcome: &Outcome, view: &View<'_>) {
    page.heading("Environment");
    page.table(variants(outcome));
    let names: Vec<&str> = outcome.variants.iter().map(|variant| variant.name.as_str()).collect();
    if let Some(table) = differences(view.environment, &names) {
        page.table(table);
    }
    if let Some(table) = everything(view.environment, &names) {
        page.blocks.push(Block::Folded { title: "The whole environment".to_owned(), table });
    }
}

/// A job: the charts and tables of its primary metrics, how its trials went, all other metrics.
fn add_job(
    page: &mut Report,
    outcome: &Outcome,
    job: &[&MetricComparison],
    jobs: usize,
    charts: Vec<Block>,
) {
    page.heading(&heading(job[0]));
    let several = outcome.contenders().count() > 1;
    // Other units of a primary result stand below it, whatever they are alone.
    let decides = |one: &MetricComparison| {
        let leads = |other: &&MetricComparison| {
            other.primary
                && other.contender == one.contender
                && one.same_as.as_deref() == Some(other.metric().as_str())
        };
        one.primary || one.same_as.is_some() && job.iter().any(leads)
    };
    let (primary, others): (Vec<&MetricComparison>, Vec<&MetricComparison>) =
        job.iter().copied().partition(|one| decides(one));
    if !primary.is_empty() {
        let leading: Vec<&MetricComparison> =
            primary.iter().copied().filter(|one| one.primary).collect();
        let most = (MOST_ROUNDS_CHARTS / jobs).max(1);
        page.table(verdicts(&primary, true, several));
        rounds(&leading, most).into_iter().for_each(|chart| page.chart(chart));
    }
    let own: Vec<&MetricComparison> =
        job.iter().copied().filter(|one| !is_observation(&one.name)).collect();
    if !own.is_empty() {
        page.table(figures(&own).folded("Elapsed time and CPU"));
    }
    page.blocks.extend(charts);
    let others: Vec<&MetricComparison> =
        others.into_iter().filter(|one| !is_observation(&one.name)).collect();
    if !others.is_empty() {
        let title = format!("Exploratory: {} other results", others.len());
        page.table(verdicts(&others, false, several).folded(title));
    }
}

/// What a job is called above its part of the page.
fn heading(first: &MetricComparison) -> String {
    let plain = format!("{} {}", first.workload, first.job);
    let run = format!("{} ({})", first.workload, first.mode.name());
    match (first.title == plain.trim_end(), first.job.is_empty()) {
        (true, true) => run,
        (true, false) => format!("{run}: {}", first.job),
        (false, true) => format!("{}: {run}", first.title),
        (false, false) => format!("{}: {run}, {}", first.title, first.job),
    }
}

/// What observers saw of a job: seeks and all else that traces tell, where the files lie.
fn add_observed(page: &mut Report, outcome: &Outcome, job: &[&MetricComparison], view: &View<'_>) {
    let several = outcome.contenders().count() > 1;
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

/// The charts of what the trials of a job show of their timeline; of many jobs only the first.
fn profile_charts(
    view: &View<'_>,
    job: &[&MetricComparison],
    place: usize,
    jobs: usize,
) -> Vec<Block> {
    if place == MOST_CHARTS && !view.profiles.is_empty() {
        let text = format!(
            "Latency, rate over time and aging are drawn for the first {MOST_CHARTS} jobs of a \
             page; choose fewer jobs to see the others."
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

/// The cautions with their advice.
pub(super) fn warnings(outcome: &Outcome) -> Vec<Warning> {
    let warning = |caution: &treering_analysis::compare::ComparisonCaution| Warning {
        code: caution.code.name().to_owned(),
        message: caution.message.clone(),
        advice: caution.code.advice().to_owned(),
    };
    outcome.cautions.iter().map(warning).collect()
}

fn title(outcome: &Outcome) -> String {
    let all: Vec<(&str, &str)> =
        outcome.contenders().map(|(base, variant)| (base, variant.name.as_str())).collect();
    let more = match all.len().saturating_sub(TITLED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = all.iter().take(TITLED);
    if !outcome.has_one_baseline() {
        let pairs: Vec<String> =
            named.map(|(base, name)| format!("{name} against {base}")).collect();
        return format!("{}{more}", pairs.join(", "));
    }
    let names: Vec<&str> = named.map(|(_, name)| *name).collect();
    format!("{}{more} against {}", names.join(", "), outcome.baseline())
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
