//! Page of `treering report`: comparison of sets of trials. It shows the verdict in words, all
//! ratios in one chart, the cautions, each job, the environment, and the command that reproduces
//! the page.
//!
//! Sentences are in `words`, tables in `tables`, charts in `charts`; the machine-readable formats,
//! which need numbers instead of a page, have a file each: `json`, `csv`, `benchstat`, `lkp`.

mod answer;
mod benchstat;
mod charts;
mod csv;
mod json;
mod lkp;
mod observed;
mod series;
mod tables;
mod words;

use std::io;

use treering_analysis::compare::{
    EnvironmentFact, JobProfile, MetricComparison, ObservedJob, Outcome, Verdict,
};
use treering_analysis::leading_counters;
use treering_model::metrics::{is_call_latency, is_counter, is_observation};
use treering_model::{Scope, counted};

use self::answer::answer;
use self::charts::{forest, raw_numbers, rounds};
use self::observed::{charts_of, counters_of, tables_of};
use self::series::JobSeries;
use self::tables::{INTERVAL, brief, by_metric, figures, variants, verdicts};
use self::words::{beside_time, control, emulated, hidden};
pub use self::words::{interim_lines, sentences};
use super::environment::{differences, everything};
use super::profile;
use crate::{Block, Chart, PageOrigin, Report, Warning};

/// Maximum number of contenders named in the title; further ones are counted.
const TITLED: usize = 6;

/// Maximum number of kernel and device counters in a job's table of the largest differences.
const MOST_COUNTERS: usize = 8;

/// Maximum number of charts of one sort over all jobs, which keeps the page small enough to mail.
const MOST_CHARTS: usize = 36;
const MOST_ROUNDS_CHARTS: usize = 150;

/// Context of a comparison page.
#[derive(Clone, Copy, Debug, Default)]
pub struct ComparisonView<'v> {
    /// Question that the plan of the variants asks.
    pub question: Option<&'v str>,
    /// Command line that reproduces the page, quoted for a shell.
    pub command: &'v str,
    /// Command lines that repeat a trial, each with the name of its variant.
    pub repeat: &'v [(String, String)],
    /// Remarks about the selection of trials.
    pub notes: &'v [String],
    /// Facts of the environment on all variants, in the order of the outcome.
    pub environment: &'v [EnvironmentFact],
    /// Profiles of the trials over time, for formats with graphics.
    pub profiles: &'v [JobProfile],
    /// Observer results of the jobs, for formats with graphics.
    pub observed: &'v [ObservedJob],
    /// Origin of the figures, for the foot of a whole page.
    pub origin: Option<&'v PageOrigin>,
    /// Amount of detail on the page.
    pub detail: PageDetail,
}

/// Amount of detail on a comparison page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageDetail {
    /// Answer on one screen: sentences, the primary metrics in one table, the worst caution.
    Answer,
    /// Page that fits a mail: sentences, cautions without advice, primary metrics.
    Brief,
    /// Whole page.
    #[default]
    Full,
}

treering_model::named_enum! {
    /// Machine-readable formats of a comparison.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum DataFormat {
        /// Documented JSON (docs/json.md).
        Json = "json",
        /// CSV with one row for each comparison.
        Csv = "csv",
        /// Go benchmark lines for benchstat, one value for each trial.
        Benchstat = "benchstat",
        /// Table in the style of the kernel test robot's mails.
        Lkp = "lkp",
    }
}

impl DataFormat {
    /// Looks up a format by its name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Writes the comparison in this format.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write(self, outcome: &Outcome, out: &mut dyn io::Write) -> io::Result<()> {
        match self {
            Self::Json => json::write(outcome, out),
            Self::Csv => csv::write(outcome, out),
            Self::Benchstat => benchstat::write(outcome, out),
            Self::Lkp => lkp::write(outcome, out),
        }
    }
}

/// Page of a comparison.
pub fn page(outcome: &Outcome, view: &ComparisonView<'_>) -> Report {
    if view.detail == PageDetail::Answer {
        return answer(outcome, view);
    }
    let is_brief = view.detail == PageDetail::Brief;
    let mut page = Report::new(title(outcome));
    for sentence in view.question.into_iter().chain(emulated(outcome)) {
        page.paragraph(sentence);
    }
    for sentence in sentences(outcome).into_iter().chain(hidden(outcome)) {
        page.paragraph(sentence);
    }
    let primary: Vec<&MetricComparison> =
        outcome.comparisons.iter().filter(|comparison| comparison.primary).collect();
    if !is_brief && !primary.is_empty() {
        page.chart(forest(&primary));
    }
    let jobs = jobs(outcome);
    if let Some(series) = JobSeries::new(&jobs).filter(|_| !is_brief && !primary.is_empty()) {
        page.table(series.table(&primary, outcome.contenders().count()));
    }
    for sentence in beside_time(outcome).into_iter().chain(control(outcome)) {
        page.paragraph(sentence);
    }
    for note in view.notes {
        page.note(note.as_str());
    }
    let mut cautions = warnings(outcome);
    if !cautions.is_empty() {
        if is_brief {
            cautions.iter_mut().for_each(|warning| warning.advice.clear());
        }
        page.blocks.push(Block::Cautions { cautions });
    }
    if is_brief {
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
    page.blocks.extend(view.origin.cloned().map(Block::Origin));
    page
}

/// Adds the primary metrics by job, for a mail.
fn add_brief(
    page: &mut Report,
    outcome: &Outcome,
    jobs: &[Vec<&MetricComparison>],
    view: &ComparisonView<'_>,
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
        page.paragraph(format!("× as good as {baseline}: more than 1 is better; {INTERVAL}"));
    }
    page.command("The whole page", view.command);
}

/// Adds the variants and their environment.
fn add_environment(page: &mut Report, outcome: &Outcome, view: &ComparisonView<'_>) {
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

/// Adds a job: charts and tables of its primary metrics, profile charts, and all other metrics.
fn add_job(
    page: &mut Report,
    outcome: &Outcome,
    job: &[&MetricComparison],
    jobs: usize,
    charts: Vec<Block>,
) {
    page.heading(&heading(job[0]));
    let several = outcome.contenders().count() > 1;
    // Other units of a primary result are listed below it, even if they are not primary.
    let decides = |this_comparison: &MetricComparison| {
        let leads = |other: &&MetricComparison| {
            other.primary
                && other.contender == this_comparison.contender
                && this_comparison.same_as.as_deref() == Some(other.metric().as_str())
        };
        this_comparison.primary || this_comparison.same_as.is_some() && job.iter().any(leads)
    };
    let (primary, others): (Vec<&MetricComparison>, Vec<&MetricComparison>) =
        job.iter().copied().partition(|this_comparison| decides(this_comparison));
    if !primary.is_empty() {
        let leading: Vec<&MetricComparison> =
            primary.iter().copied().filter(|comparison| comparison.primary).collect();
        // A single value needs no picture.
        let drawn: Vec<&MetricComparison> = leading
            .into_iter()
            .filter(|comparison| comparison.verdict != Verdict::SingleRun)
            .collect();
        let most = (MOST_ROUNDS_CHARTS / jobs).max(1);
        page.table(verdicts(&primary, true, several));
        rounds(&drawn, most).into_iter().for_each(|chart| page.chart(chart));
    }
    let own: Vec<&MetricComparison> =
        job.iter().copied().filter(|one| is_of_workload(&one.name)).collect();
    if !own.is_empty() {
        page.table(figures(&own).folded("Elapsed time and CPU"));
    }
    page.blocks.extend(charts);
    let others: Vec<&MetricComparison> =
        others.into_iter().filter(|one| !is_observation(&one.name)).collect();
    let (calls, others): (Vec<&MetricComparison>, Vec<&MetricComparison>) =
        others.into_iter().partition(|one| is_call_latency(&one.name));
    if !others.is_empty() {
        let title = format!("Exploratory: {}", counted(others.len(), "other result"));
        page.table(verdicts(&others, false, several).folded(title));
    }
    if !calls.is_empty() {
        let title = format!("Exploratory: latencies of {}", counted(calls.len(), "system call"));
        page.table(verdicts(&calls, false, several).folded(title));
    }
}

/// Reports whether the workload reported a metric itself.
fn is_of_workload(name: &str) -> bool {
    !is_observation(name) && !is_call_latency(name)
}

/// Heading of a job's section.
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

/// Adds the observer results of a job: the counters that differ most, seeks and other trace
/// figures, and file layouts.
fn add_observed(
    page: &mut Report,
    outcome: &Outcome,
    job: &[&MetricComparison],
    view: &ComparisonView<'_>,
) {
    let several = outcome.contenders().count() > 1;
    let (leading, counters) = leading_counters(job, MOST_COUNTERS);
    if !leading.is_empty() {
        page.table(counters_of(&leading, counters, several));
    }
    let seen = |one: &&&MetricComparison| {
        !one.primary && is_observation(&one.name) && !is_counter(&one.name)
    };
    let seen: Vec<&MetricComparison> = job.iter().filter(seen).copied().collect();
    if !seen.is_empty() {
        tables_of(&seen, several).into_iter().for_each(|table| page.table(table));
    }
    let first = job[0];
    let same = |known: &&ObservedJob| {
        let identity = (&known.workload, known.mode, &known.job);
        identity == (&first.workload, first.mode, &first.job)
    };
    if let Some(observed) = view.observed.iter().find(same) {
        page.blocks.extend(charts_of(observed, view.observed.len()));
    }
}

/// Profile charts of a job over time; with many jobs, only for the first ones.
fn profile_charts(
    view: &ComparisonView<'_>,
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
        let identity = (&profile.workload, profile.mode, &profile.job);
        identity == (&first.workload, first.mode, &first.job)
    };
    let Some(profile) = view.profiles.iter().find(same) else { return Vec::new() };
    let kind = |comparison: &&&MetricComparison| comparison.primary;
    let kinds: Vec<&str> = (job.iter().filter(kind))
        .filter_map(|comparison| match &comparison.scope {
            Scope::Kind(kind) => Some(kind.as_str()),
            Scope::Trial | Scope::Phase(_) => None,
        })
        .collect();
    profile::of_job(profile, Some(&kinds), (MOST_CHARTS / jobs).max(1))
}

/// Cautions with their advice.
pub(super) fn warnings(outcome: &Outcome) -> Vec<Warning> {
    let warning = |caution: &treering_analysis::compare::ComparisonCaution| Warning {
        code: caution.code.name().to_owned(),
        message: caution.message.clone(),
        advice: caution.code.advice().to_owned(),
    };
    outcome.cautions.iter().map(warning).collect()
}

fn title(outcome: &Outcome) -> String {
    let metrics: Vec<(&str, &str)> =
        outcome.contenders().map(|(base, variant)| (base, variant.name.as_str())).collect();
    let more = match metrics.len().saturating_sub(TITLED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = metrics.iter().take(TITLED);
    if !outcome.has_one_baseline() {
        let pairs: Vec<String> =
            named.map(|(base, name)| format!("{name} against {base}")).collect();
        return format!("{}{more}", pairs.join("; "));
    }
    let names: Vec<&str> = named.map(|(_, name)| *name).collect();
    format!("{}{more} against {}", names.join(", "), outcome.baseline())
}

/// Groups the comparisons by workload and job, in order of occurrence.
pub(super) fn jobs(outcome: &Outcome) -> Vec<Vec<&MetricComparison>> {
    let mut jobs: Vec<Vec<&MetricComparison>> = Vec::new();
    for comparison in &outcome.comparisons {
        let same = |job: &&mut Vec<&MetricComparison>| {
            let first = job[0];
            first.workload == comparison.workload
                && first.mode == comparison.mode
                && first.job == comparison.job
        };
        match jobs.iter_mut().find(same) {
            Some(job) => job.push(comparison),
            None => jobs.push(vec![comparison]),
        }
    }
    jobs
}
