//! `treering watch`: adds a point to a series. The watched kernel or variant is measured in turns
//! with an anchor that never changes, and the history of their ratios shows changes of level.

mod next;
mod series;

use std::convert::Infallible;
use std::process::ExitCode;

use treering_analysis::history::{DatedTrial, History, HistoryTerms, explain, history};
use treering_conduct::plan::{Machine, Plan, Stopping};
use treering_lab::Lab;
use treering_model::{Trial, TrialId};
use treering_report::pages::history::json::HistoryData;
use treering_report::pages::history::{HistoryView, page};

use self::next::next_commands;
use self::series::Series;
use super::compare::{Conducted, conduct, named, read_plan, show_plan};
use super::history::{dated, gate};
use super::{lab, output};
use crate::arguments::{CompareArgs, PageArgs, WatchArgs};
use crate::classic_output::say;
use crate::clock;
use crate::failure::{Failure, Kind};

/// Factor whose values are the points of the series.
const BY: &str = "label";

/// Measures the points, and shows the history.
pub(crate) fn run(args: &WatchArgs) -> Result<ExitCode, Failure> {
    let plan = plan(args)?;
    if args.dry_run {
        let series = Series::open(&plan, args)?;
        say(&series.words());
        series.refuse_another_anchor(&plan, args)?;
        return show_plan(&plan, &comparing(&series, args));
    }
    let lab = lab::open();
    for _ in 0..args.points {
        let code = one_point(&plan, args, &lab)?;
        if code != ExitCode::SUCCESS {
            return Ok(code);
        }
    }
    show(&plan, args)
}

/// Plan of the series: the anchor first, then the watched variant under the named kernel.
fn plan(args: &WatchArgs) -> Result<Plan, Failure> {
    let usage = |message: String, hint: &str| Failure::new(Kind::Usage, message).hint(hint);
    let mut plan = read_plan(&args.plan, args.full_size)?;
    let file = args.plan.display();
    if plan.conditions.machine == Machine::Reboot {
        let message = format!("{file}: a plan that reboots this machine cannot be watched");
        return Err(usage(message, "boot the kernels in guests: machine = \"guest\""));
    }
    if let Some(name) = &args.anchor {
        let Some(at) = plan.variants.iter().position(|variant| variant.name == *name) else {
            let names: Vec<&str> = plan.variants.iter().map(|one| one.name.as_str()).collect();
            let message = format!("--anchor: {file} has no variant '{name}'");
            return Err(usage(message, &format!("its variants: {}", names.join(", "))));
        };
        if plan.variants.len() < 2 {
            let message =
                format!("{file}: beside the anchor '{name}' there is no variant to watch");
            return Err(usage(message, "add a [[variant]] for what is new"));
        }
        plan.variants[..=at].rotate_right(1);
    }
    if let Some(kernel) = &args.kernel {
        for variant in plan.variants.iter_mut().skip(usize::from(args.anchor.is_some())) {
            let guest = variant.guest.clone().or_else(|| plan.guest.clone());
            variant.guest = guest;
            *variant = named(variant, &variant.name, kernel)?;
        }
    }
    // The anchor is the baseline of every variant.
    plan.variants.iter_mut().for_each(|variant| variant.against = None);
    plan.stopping = Stopping::Fixed { rounds: args.rounds };
    plan.conditions.control = false;
    Ok(plan)
}

/// Arguments that measure a point: a comparison whose trials have the point's label.
fn comparing(series: &Series, args: &WatchArgs) -> CompareArgs {
    CompareArgs {
        plan: Some(args.plan.clone()),
        erase: args.erase.clone(),
        quiet: args.quiet,
        point: Some(series.point(&wanted_label(args))),
        page: PageArgs { store: args.store.clone(), ..PageArgs::default() },
        ..CompareArgs::default()
    }
}

/// Label of the point, from the command line.
fn wanted_label(args: &WatchArgs) -> String {
    let of_kernel = || args.kernel.as_ref()?.file_stem()?.to_str().map(str::to_owned);
    args.label.clone().or_else(of_kernel).unwrap_or_else(clock::day)
}

/// Measures one point.
fn one_point(plan: &Plan, args: &WatchArgs, lab: &Lab) -> Result<ExitCode, Failure> {
    let series = Series::open(plan, args)?;
    series.refuse_another_anchor(plan, args)?;
    if !args.quiet {
        say(&series.words());
    }
    let comparing = comparing(&series, args);
    match conduct(plan, &comparing, lab)? {
        Conducted::Done(code) if code == ExitCode::SUCCESS => {}
        Conducted::Done(code) => return Ok(code),
        Conducted::GivenUp { why, .. } => return Err(Failure::new(Kind::Trial, why)),
    }
    let label = comparing.point.map(|point| point.label).unwrap_or_default();
    Series::open(plan, args)?.judge_newest(&series, &label, args)?;
    Ok(ExitCode::SUCCESS)
}

/// Shows the history of the series, including the new points.
fn show(plan: &Plan, args: &WatchArgs) -> Result<ExitCode, Failure> {
    let series = Series::open(plan, args)?;
    let trials = series.trials;
    let dated: Vec<DatedTrial> = trials.into_iter().filter_map(|trial| dated(trial, BY)).collect();
    let terms = HistoryTerms { metric: None, anchor: args.anchor.clone() };
    let mut found: History =
        history(&dated, &terms).map_err(|error| Failure::of(Kind::Usage, &error))?;
    let of = |ids: &[TrialId]| -> Result<Vec<Trial>, Infallible> {
        let trials = dated.iter().map(|one| &one.trial);
        Ok(trials.filter(|trial| ids.contains(&trial.beginning.trial)).cloned().collect())
    };
    let Ok(()) = explain(&mut found, of);
    let anchor = args.anchor.as_deref();
    let draws = output::is_html(args.output.format());
    let mut shown = page(&found, &HistoryView { by: BY, anchor, draws });
    for (purpose, command) in next_commands(&found, args) {
        shown.command(&purpose, &command);
    }
    output::write_or_data(&shown, &HistoryData::new(&found, BY, anchor), &args.output)?;
    Ok(if args.gate { gate(&found, args.recent) } else { ExitCode::SUCCESS })
}
