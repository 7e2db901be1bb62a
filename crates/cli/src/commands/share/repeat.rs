//! `treering plan repeat`: runs the plan or the runs of a pack on this machine, and compares each
//! variant with itself.

use std::process::ExitCode;

use treering_analysis::compare::{
    ComparedVariant, ComparisonTerms, Factor, compare_observed, environment,
};
use treering_conduct::plan::Plan;
use treering_conduct::repeat::{RepeatOptions, Repetition};
use treering_conduct::{PlanEnd, PlanOptions, carry_out};
use treering_model::Trial;
use treering_report::PageOrigin;
use treering_report::pages::comparison::{ComparisonView, page};
use treering_results::{merge, packed_trials, trials_of_plan};

use super::canon;
use crate::arguments::{OutputArgs, RepeatArgs};
use crate::classic_output::say;
use crate::commands::compare::{show_plan, usual_options};
use crate::commands::trial::quoted;
use crate::commands::{lab, output};
use crate::failure::{Failure, Kind};
use crate::places;
use crate::storage::{open_results, place_of, plan_store};
use crate::terminal::Terminal;

/// Repeats the pack.
pub(crate) fn run(args: &RepeatArgs) -> Result<ExitCode, Failure> {
    let repetition = Repetition::prepare(packed_trials(&args.file)?, &options(args), &Terminal)?;
    for words in &repetition.differences {
        say(&format!("not the same: {words}"));
    }
    let plan_options = PlanOptions {
        erase: args.erase.clone(),
        quiet: args.quiet,
        is_part: true,
        ..usual_options(None)
    };
    if args.dry_run {
        return show_plan(&repetition.plan, &plan_options, &args.store, None);
    }
    merge(&args.file, place_of(&args.store), None, &canon)?;
    let around = (&plan_store(&args.store) as _, &Terminal as _);
    match carry_out(&repetition.plan, &plan_options, around, &lab::open())? {
        PlanEnd::Done { .. } | PlanEnd::Rebooting => compare(&repetition, args),
        PlanEnd::Interrupted => Ok(ExitCode::from(Kind::Interrupted.code())),
        PlanEnd::GivenUp { why, .. } => Err(Failure::new(Kind::Trial, why)),
    }
}

/// Options of the repetition, from the arguments.
fn options(args: &RepeatArgs) -> RepeatOptions<'static> {
    RepeatOptions {
        campaign: args.campaign.clone(),
        dir: args.dir.clone(),
        devices: args.block.clone(),
        kernels: args.kernel.clone(),
        rounds: args.rounds,
        dry_run: args.dry_run,
        workloads: treering_registry::workloads(),
        data_dirs: places::dataset_dirs(),
        environment: places::environment(),
        temporary_dir: std::env::temp_dir(),
    }
}

/// Compares each variant with itself: as packed, and as measured here.
fn compare(repetition: &Repetition, args: &RepeatArgs) -> Result<ExitCode, Failure> {
    let plan = &repetition.plan;
    let store = open_results(&args.store)?;
    for variant in &plan.variants {
        let here = trials_of_plan(&store, plan, &variant.name)?;
        let was = repetition.packed_trials(&variant.name);
        if here.is_empty() || was.is_empty() {
            say(&format!("{}: there is nothing to compare", variant.name));
            continue;
        }
        show(&variant.name, was, here, plan, args)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn show(
    name: &str,
    was: Vec<Trial>,
    here: Vec<Trial>,
    plan: &Plan,
    args: &RepeatArgs,
) -> Result<(), Failure> {
    let side = |side: &str, trials| ComparedVariant {
        name: format!("{name}, {side}"),
        factor: Factor::Id,
        against: None,
        trials,
    };
    let ids = |trials: &[Trial]| {
        let ids: Vec<String> = trials.iter().map(|trial| trial.beginning.trial.text()).collect();
        format!("id:{}", ids.join(","))
    };
    let mut command =
        format!("treering report --baseline {} --contender {}", ids(&was), ids(&here));
    if let Some(store) = &args.store.store {
        command += &format!(" --store {}", quoted(&store.to_string_lossy()));
    }
    let (was, here) = (side("packed", was), [side("here", here)]);
    let terms = ComparisonTerms {
        threshold: plan.judging.threshold,
        primary: plan.judging.primary.clone(),
    };
    let outcome = compare_observed(&was, &here, &[], &terms)
        .map_err(|error| Failure::of(Kind::Usage, &error))?;
    let environment = environment(&was, &here);
    let variants = std::iter::once(&was).chain(&here);
    let origin = PageOrigin::of_trials(variants.flat_map(|variant| &variant.trials));
    let view = ComparisonView {
        command: &command,
        environment: &environment,
        origin: Some(&origin),
        ..ComparisonView::default()
    };
    let format = OutputArgs { format: args.format.clone(), ..OutputArgs::default() };
    output::write(&page(&outcome, &view), &format)
}
