//! `treering report`: compares stored trials. The selection of variants, the comparison and the
//! page are in other crates.

mod again;
mod gating;
mod known_names;
mod stored;

use std::collections::BTreeSet;
use std::process::ExitCode;

use treering_analysis::compare::{
    ComparisonCautionCode, ComparisonTerms, Factor, Outcome, compare_observed, environment,
};
use treering_analysis::selection::{ComparedTrials, PlannedTerms, SelectedVariant, TrialSelection};
use treering_conduct::plan::Judging;
use treering_model::{Cell, CellRole, Ending, Metric, TrialId};
use treering_report::pages::comparison::{ComparisonView, DataFormat, PageDetail, page, sentences};
use treering_report::{PageOrigin, Report, formats};
use treering_store::{Filter, Store, TrialState, TrialSummary};

use self::again::{again, measured_again, print_plan, repeat};
pub(crate) use self::gating::{Gating, nothing_compared};
pub(crate) use self::known_names::{TrialProperty, check_known, nearest_metrics};
use self::stored::{StoredTrials, failed_selection, query_of, selection, summaries};
use super::charts;
use super::output::{self, unknown_format, with_writer};
use crate::arguments::{CompareArgs, OutputArgs, ReportArgs, metric_names, percentage};
use crate::failure::{Failure, Kind};
use crate::storage::{failure, no_results, open_to_read};

/// Line width of mail, in columns.
const MAIL_COLUMNS: u16 = 72;

/// A campaign that has just been conducted.
pub(crate) struct Campaign<'a> {
    /// The first trial of the campaign, which identifies the campaign.
    pub(crate) trial: TrialId,
    /// The names of the plan's variants, the baseline first.
    pub(crate) variants: Vec<&'a str>,
    /// True if some variants have a baseline other than the first variant, or jobs are compared.
    pub(crate) has_own_baselines: bool,
    /// True if jobs are compared with one another on each variant.
    pub(crate) compares_jobs: bool,
    /// The plan's rules for the comparison.
    pub(crate) judging: &'a Judging,
    /// The command line that conducts the campaign again.
    pub(crate) typed: String,
    /// The command line.
    pub(crate) args: &'a CompareArgs,
}

/// Reports a campaign by its variants.
pub(crate) fn of_campaign(campaign: &Campaign<'_>) -> Result<ExitCode, Failure> {
    let Campaign { trial, variants, has_own_baselines, compares_jobs, judging, typed, args } =
        campaign;
    let store = open_to_read(args.page.store.store.as_deref())?.ok_or_else(no_results)?;
    let short = store.short_ids(&[*trial]).map_err(|error| failure(&error))?.concat();
    let summaries = store.trials(&Filter::default()).map_err(|error| failure(&error))?;
    drop(store);
    let cells = summaries.iter().filter_map(|one| one.cell.as_ref());
    let of_campaign = cells.filter(|cell| cell.campaign == *trial && cell.role == CellRole::Round);
    let there: BTreeSet<&str> = of_campaign.map(|cell| cell.variant.as_str()).collect();
    // Variants for another kernel may have no trials yet.
    let (there, absent): (Vec<&str>, Vec<&str>) =
        variants.iter().partition(|name| there.contains(**name));
    if there.len() < 2 && args.page.gate && !compares_jobs {
        let why = format!("of {} variants {} have trials", variants.len(), there.len());
        return Ok(nothing_compared(&args.page, &why));
    }
    let named = there.iter().filter(|_| !has_own_baselines);
    let mut selectors = named.map(|name| format!("variant:{name}"));
    let report_args = ReportArgs {
        baseline: selectors.next(),
        contender: selectors.collect(),
        by: has_own_baselines.then(|| Factor::Variant.name().to_owned()),
        plan: None,
        campaign: Some(short),
        workload: None,
        ignore: Vec::new(),
        include_excluded: false,
        all_campaigns: false,
        threshold: judging.threshold.map(|share| format!("{}%", share * 100.0)),
        primary: judging.primary.clone(),
        print_plan: false,
        typed: Some(typed.clone()),
        page: args.page.clone(),
    };
    compare_variants(&report_args, &absent, |_| Ok(()))
}

/// Variants of a campaign that have only failed trials, each with its first error.
pub(crate) fn failed_variants(
    campaign: TrialId,
    args: &CompareArgs,
) -> Result<Vec<(String, String)>, Failure> {
    let store = open_to_read(args.page.store.store.as_deref())?.ok_or_else(no_results)?;
    let summaries = store.trials(&Filter::default()).map_err(|error| failure(&error))?;
    let mut variants: Vec<(String, Option<String>)> = Vec::new();
    // Trials are listed newest first.
    for trial in summaries.iter().rev() {
        let cell = trial.cell.as_ref();
        let of_campaign = |cell: &&Cell| cell.campaign == campaign && cell.role == CellRole::Round;
        let Some(cell) = cell.filter(of_campaign) else { continue };
        let error = match &trial.state {
            TrialState::Ended(Ending::Failed { why } | Ending::Invalid { why }) => {
                Some(why.clone())
            }
            _ => None,
        };
        match variants.iter_mut().find(|(name, _)| *name == cell.variant) {
            Some((_, first)) if error.is_none() => *first = None,
            Some(_) => {}
            None => variants.push((cell.variant.clone(), error)),
        }
    }
    Ok(variants.into_iter().filter_map(|(name, error)| Some((name, error?))).collect())
}

/// Compares the trials that the arguments select.
pub(crate) fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    compare_variants(args, &[], |compared| check_primary(args, compared))
}

/// Compares the variants that have trials, after `check` has accepted them; `absent` lists those
/// without trials.
fn compare_variants(
    args: &ReportArgs,
    absent: &[&str],
    check: impl Fn(&ComparedTrials) -> Result<(), Failure>,
) -> Result<ExitCode, Failure> {
    check_format(args.page.format())?;
    let gating = Gating::of(&args.page)?;
    let format = DataFormat::by_name(args.page.format().unwrap_or_default());
    let Some(store) = open_to_read(args.page.store.store.as_deref())? else {
        return if args.page.gate {
            Ok(nothing_compared(&args.page, "there are no results yet"))
        } else {
            Err(no_results())
        };
    };
    let (source, query) = (StoredTrials(&store), query_of(args));
    let summaries = summaries(&store, args)?;
    if args.print_plan {
        let newest = summaries.iter().rev().find_map(|one| one.cell.as_ref());
        print_plan(args, &store, newest.map(|cell| cell.campaign))?;
        return Ok(ExitCode::SUCCESS);
    }
    let selection = selection(&source, summaries, &query)?;
    if let Some(why) = selection.nothing_to_compare(&query).filter(|_| args.page.gate) {
        return Ok(nothing_compared(&args.page, &why));
    }
    let planned = selection.planned_terms(&query).map_err(failed_selection)?;
    let args = &as_planned(args, &planned);
    let variants = selection.variants(&query).map_err(failed_selection)?;
    let mut compared = compared(&source, &selection, &variants)?;
    check(&compared)?;
    // Jobs without trials yet may have parameters that the plan ignores.
    compared.ignore_parameters(&planned.ignore);
    if let Some(name) = compared.ignore_parameters(&args.ignore) {
        return Err(unknown_parameter(name));
    }
    compared.notes.extend(selection.excluded_and_named(&variants).map_err(failed_selection)?);
    compared.excluded = selection.excluded_of(&variants).map_err(failed_selection)?;
    let outcome = tell(args, format, &source, &variants, compared, gating.accepted.clone())?;
    Ok(gating.answer(&outcome, absent))
}

/// Error for an ignored parameter that no trial has.
fn unknown_parameter(name: &str) -> Failure {
    let message = format!("--ignore: no trial of the variants has a parameter '{name}'");
    Failure::usage(message).hint("`treering show ID` lists the parameters of a trial")
}

/// Rejects a primary metric of the command line that no trial of the variants has.
fn check_primary(args: &ReportArgs, compared: &ComparedTrials) -> Result<(), Failure> {
    let contenders = compared.contenders.iter().chain(&compared.observed);
    let trials = std::iter::once(&compared.baseline).chain(contenders).flat_map(|one| &one.trials);
    let metrics: BTreeSet<String> =
        trials.flat_map(|trial| &trial.metrics).map(Metric::full_name).collect();
    let asked = metric_names(&args.primary);
    let Some(unknown) = asked.iter().find(|name| !metrics.contains(*name)) else { return Ok(()) };
    let message = format!("--primary {unknown}: no trial of the variants has this metric");
    Err(Failure::usage(message).hint(nearest_metrics(unknown, &metrics)))
}

/// Completes the arguments with the primary metrics and the threshold of the plan.
fn as_planned(args: &ReportArgs, planned: &PlannedTerms) -> ReportArgs {
    let mut completed = args.clone();
    if completed.primary.is_empty() {
        completed.primary.clone_from(&planned.primary);
    }
    completed.threshold = completed.threshold.or_else(|| planned.threshold.clone());
    completed
}

/// Reads the trials of the variants, with their controls and observed rounds.
fn compared<'s>(
    source: &'s StoredTrials<'s>,
    selection: &TrialSelection<'_, StoredTrials<'s>>,
    variants: &[SelectedVariant],
) -> Result<ComparedTrials, Failure> {
    let (control, observed) = (selection.control(&variants[0]), selection.observed(variants));
    let mut compared = ComparedTrials::read(source, variants, control.as_ref(), &observed)
        .map_err(failed_selection)?;
    compared.notes.extend(selection.notes().iter().cloned());
    Ok(compared)
}

/// Writes the comparison in the requested format; returns the outcome for the gate.
fn tell(
    args: &ReportArgs,
    format: Option<DataFormat>,
    source: &StoredTrials<'_>,
    variants: &[SelectedVariant],
    mut compared: ComparedTrials,
    accepted: Vec<ComparisonCautionCode>,
) -> Result<Outcome, Failure> {
    let mut outcome = compare_and_check(args, &compared)?;
    outcome.accepted = accepted;
    if let Some(format) = format {
        with_writer(args.page.output.as_deref(), |out| format.write(&outcome, out))?;
    }
    if format.is_none() || args.page.charts.is_some() {
        let about = (args, variants, &outcome);
        let detail = args.page.detail();
        let page = build_page(about, source, &mut compared, detail)?;
        if format.is_none() {
            let (format, output) =
                (args.page.format().map(str::to_owned), args.page.output.clone());
            // Brief output is meant for mail.
            let width = args.page.width.or(args.page.brief.then_some(MAIL_COLUMNS));
            output::write(&page, &OutputArgs { format, output, width })?;
        }
        if let Some(dir) = &args.page.charts {
            // A short answer has no charts.
            let whole = match detail {
                PageDetail::Full => page,
                _ => build_page(about, source, &mut compared, PageDetail::Full)?,
            };
            charts::write(&whole, dir, args.page.paper)?;
        }
    }
    Ok(outcome)
}

/// Compares the variants and checks the control.
fn compare_and_check(args: &ReportArgs, compared: &ComparedTrials) -> Result<Outcome, Failure> {
    let refused = |error| Failure::of(Kind::Usage, &error);
    let threshold = args.threshold.as_deref().map(|text| percentage("--threshold", text));
    let terms =
        ComparisonTerms { threshold: threshold.transpose()?, primary: metric_names(&args.primary) };
    let ComparedTrials { baseline, contenders, control, observed, .. } = compared;
    let mut outcome = compare_observed(baseline, contenders, observed, &terms).map_err(refused)?;
    if let Some(control) = control {
        outcome.check_control(baseline, control, &terms).map_err(refused)?;
    }
    outcome.cautions.extend(compared.excluded.clone());
    Ok(outcome)
}

/// Builds the page of a comparison.
fn build_page(
    (args, variants, outcome): (&ReportArgs, &[SelectedVariant], &Outcome),
    source: &StoredTrials<'_>,
    compared: &mut ComparedTrials,
    detail: PageDetail,
) -> Result<Report, Failure> {
    let environment = environment(&compared.baseline, &compared.contenders);
    let repeat = repeat(&compared.baseline, &compared.contenders);
    let draws = args.page.charts.is_some() || output::is_html(args.page.format());
    let profiles =
        if draws { compared.profiles(source).map_err(failed_selection)? } else { Vec::new() };
    let observed =
        if draws { compared.observed_jobs(source).map_err(failed_selection)? } else { Vec::new() };
    let origin = origin_of(args, source.0, compared)?;
    let view = ComparisonView {
        command: &again(args, variants),
        repeat: &repeat,
        notes: &compared.notes,
        environment: &environment,
        profiles: &profiles,
        observed: &observed,
        origin: Some(&origin),
        detail,
    };
    Ok(page(outcome, &view))
}

/// Origin of the figures of a comparison, with the command that measures it again.
fn origin_of(
    args: &ReportArgs,
    store: &Store,
    compared: &ComparedTrials,
) -> Result<PageOrigin, Failure> {
    let variants = std::iter::once(&compared.baseline).chain(&compared.contenders);
    let origin = PageOrigin::of_trials(variants.flat_map(|variant| &variant.trials));
    let again = measured_again(args, store, &compared.baseline)?;
    Ok(match again {
        Some((purpose, line)) => origin.with_command(purpose, &line),
        None => origin,
    })
}

/// Page of a campaign with the verdict on each contender in a sentence; `None` if its variants
/// cannot be compared. Trials are in the order of time.
pub(crate) fn page_of_campaign(
    store: &Store,
    campaign: &str,
    trials: Vec<TrialSummary>,
) -> Result<Option<(Report, Vec<String>)>, Failure> {
    let args = ReportArgs { campaign: Some(campaign.to_owned()), ..ReportArgs::default() };
    let (source, query) = (StoredTrials(store), query_of(&args));
    let selection = selection(&source, trials, &query)?;
    if selection.nothing_to_compare(&query).is_some() {
        return Ok(None);
    }
    let planned = selection.planned_terms(&query).map_err(failed_selection)?;
    let args = as_planned(&args, &planned);
    let variants = selection.variants(&query).map_err(failed_selection)?;
    let mut compared = compared(&source, &selection, &variants)?;
    compared.ignore_parameters(&planned.ignore);
    // The variants may have no job in common.
    let Ok(outcome) = compare_and_check(&args, &compared) else { return Ok(None) };
    let about = (&args, &variants[..], &outcome);
    let page = build_page(about, &source, &mut compared, PageDetail::Full)?;
    Ok(Some((page, sentences(&outcome))))
}

/// Rejects an unknown format before any trial is read.
pub(crate) fn check_format(name: Option<&str>) -> Result<(), Failure> {
    let Some(name) = name else { return Ok(()) };
    if DataFormat::by_name(name).is_some() || formats::by_name(name).is_some() {
        return Ok(());
    }
    let pages = formats::ALL.iter().map(|format| format.name());
    let others = DataFormat::ALL.iter().map(|format| format.name());
    let mut names: Vec<&str> = pages.chain(others).collect();
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    Err(unknown_format(name, &names))
}
