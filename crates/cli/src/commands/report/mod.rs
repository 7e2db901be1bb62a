//! `treering report`: compares stored trials. The selection of variants, the comparison and the
//! page are in other crates.

mod gating;

use std::collections::BTreeSet;
use std::process::ExitCode;

use treering_analysis::compare::{Factor, Outcome};
use treering_analysis::selection::ComparedTrials;
use treering_conduct::plan::Judging;
use treering_model::TrialId;
use treering_report::formats;
use treering_report::pages::comparison::{DataFormat, PageDetail};
use treering_results::{
    ComparisonInput, ComparisonPage, ComparisonRequest, StoredComparison, StoredTrials,
    measured_variants, no_results, plan_text,
};

pub(crate) use self::gating::{Gating, nothing_compared};
use super::charts;
use super::output::{self, unknown_format, with_writer};
use crate::arguments::{CompareArgs, OutputArgs, PageArgs, ReportArgs};
use crate::failure::Failure;
use crate::storage::{failure, open_results, open_to_read};

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
    let store = open_results(&args.page.store)?;
    let short = store.short_ids(&[*trial]).map_err(|error| failure(&error))?.concat();
    let measured = measured_variants(&store, *trial)?;
    drop(store);
    // Variants for another kernel may have no trials yet.
    let (there, absent): (Vec<&str>, Vec<&str>) =
        variants.iter().partition(|name| measured.contains(**name));
    if there.len() < 2 && args.page.gate && !compares_jobs {
        let why = format!("of {} variants {} have trials", variants.len(), there.len());
        return Ok(nothing_compared(&args.page, &why));
    }
    let named = there.iter().filter(|_| !has_own_baselines);
    let mut selectors = named.map(|name| format!("variant:{name}"));
    let request = ComparisonRequest {
        baseline: selectors.next(),
        contenders: selectors.collect(),
        by: has_own_baselines.then(|| Factor::Variant.name().to_owned()),
        campaign: Some(short),
        threshold: judging.threshold.map(|share| format!("{}%", share * 100.0)),
        primary: judging.primary.clone(),
        ..ComparisonRequest::default()
    };
    let asked = RequestedPage { request, typed: Some(typed), page: &args.page };
    asked.compare(&absent, |_| Ok(()))
}

/// Compares the trials that the arguments select, or prints their plan.
pub(crate) fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    let asked = RequestedPage { request: request(args), typed: None, page: &args.page };
    if args.print_plan {
        check_format(args.page.format())?;
        return print_plan(args, &asked.request);
    }
    asked.compare(&[], |trials| asked.request.check_primary(trials))
}

/// Request of the comparison, from the arguments.
fn request(args: &ReportArgs) -> ComparisonRequest {
    let args = args.clone();
    ComparisonRequest {
        baseline: args.baseline,
        contenders: args.contender,
        by: args.by,
        plan: args.plan,
        campaign: args.campaign,
        workload: args.workload,
        ignore: args.ignore,
        includes_excluded: args.include_excluded,
        pools_campaigns: args.all_campaigns,
        threshold: args.threshold,
        primary: args.primary,
    }
}

/// Prints the plan of the campaign to which the trials belong.
fn print_plan(args: &ReportArgs, request: &ComparisonRequest) -> Result<ExitCode, Failure> {
    let store = open_results(&args.page.store)?;
    let summaries = request.summaries(&store)?;
    let newest = summaries.iter().rev().find_map(|one| one.cell.as_ref());
    let text = newest.and_then(|cell| plan_text(&store, cell.campaign)).ok_or_else(|| {
        Failure::usage("--print-plan: these trials are of no plan in the store")
            .hint("`--plan NAME` or `--campaign ID` selects the trials of one")
    })?;
    with_writer(args.page.output.as_deref(), |out| out.write_all(text.as_bytes()))?;
    Ok(ExitCode::SUCCESS)
}

/// Comparison with the page that the arguments ask for.
struct RequestedPage<'a> {
    request: ComparisonRequest,
    /// Command line that conducted the campaign, if that has just been done.
    typed: Option<&'a str>,
    page: &'a PageArgs,
}

impl RequestedPage<'_> {
    /// Compares the variants that have trials, after `check` has accepted them; `absent` lists
    /// those without trials.
    fn compare(
        &self,
        absent: &[&str],
        check: impl Fn(&ComparedTrials) -> Result<(), Failure>,
    ) -> Result<ExitCode, Failure> {
        check_format(self.page.format())?;
        let gating = Gating::of(self.page)?;
        let Some(store) = open_to_read(&self.page.store)? else {
            return if self.page.gate {
                Ok(nothing_compared(self.page, "there are no results yet"))
            } else {
                Err(no_results())
            };
        };
        let source = StoredTrials(&store);
        let summaries = self.request.summaries(&store)?;
        let request = self.request.clone().of_only_plan(&summaries);
        let mut comparison =
            match StoredComparison::read(&source, summaries, &request, self.page.gate)? {
                ComparisonInput::Variants(comparison) => comparison,
                ComparisonInput::Nothing(why) => return Ok(nothing_compared(self.page, &why)),
            };
        check(&comparison.trials)?;
        comparison.ignore_parameters()?;
        comparison.add_excluded()?;
        let mut outcome = comparison.outcome()?;
        outcome.accepted.clone_from(&gating.accepted);
        self.write(&mut comparison, &outcome)?;
        Ok(gating.answer(&outcome, absent))
    }

    /// Writes the comparison in the requested format, and its charts.
    fn write(
        &self,
        comparison: &mut StoredComparison<'_>,
        outcome: &Outcome,
    ) -> Result<(), Failure> {
        let format = DataFormat::by_name(self.page.format().unwrap_or_default());
        if let Some(format) = format {
            with_writer(self.page.output.as_deref(), |out| format.write(outcome, out))?;
        }
        if format.is_some() && self.page.charts.is_none() {
            return Ok(());
        }
        let detail = self.page.detail();
        let options = ComparisonPage {
            detail,
            draws: self.page.charts.is_some() || output::is_html(self.page.format()),
            store: self.page.store.store.as_deref(),
            typed: self.typed,
        };
        let page = comparison.page(outcome, &options)?;
        if format.is_none() {
            let (format, output) =
                (self.page.format().map(str::to_owned), self.page.output.clone());
            // Brief output is meant for mail.
            let width = self.page.width.or(self.page.brief.then_some(MAIL_COLUMNS));
            output::write(&page, &OutputArgs { format, output, width })?;
        }
        if let Some(dir) = &self.page.charts {
            // A short answer has no charts.
            let whole = match detail {
                PageDetail::Full => page,
                _ => {
                    let options = ComparisonPage { detail: PageDetail::Full, ..options };
                    comparison.page(outcome, &options)?
                }
            };
            charts::write(&whole, dir, self.page.paper)?;
        }
        Ok(())
    }
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
