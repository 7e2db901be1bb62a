//! `treering compare`: runs a plan's variants under its jobs, in interleaved rounds, and reports
//! the comparison.

mod bisect;
mod guest;
mod kernels;
mod quick;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use treering_conduct::plan::document::{Known, VariantRehearsal};
use treering_conduct::plan::{
    self, KernelChoice, ObservedIn, ObservingChanges, Plan, PlanChanges, QuickOptions,
    SHIPPED_PLANS_DIR, ShippedPlan, quick_plan, refuse_alone, rehearse_quick, shipped_plan_lines,
};
use treering_conduct::watch_signals;
use treering_conduct::{
    LAUNCHED_PROGRAM, PlanEnd, PlanOptions, RankOptions, RebootOptions, carry_out, check_variants,
    dry_run, warn_of_plan,
};
use treering_lab::{Lab, filesystems, rehearse};
use treering_model::{TrialId, Variant};
use treering_results::failed_variants;

pub(super) use self::bisect::run as bisect_step;
pub(crate) use self::guest::run as run_guest;
pub(super) use self::kernels::check_kernels;
use super::lab;
use super::report::{self, Campaign};
use super::typed::typed_again;
use crate::arguments::{CompareArgs, StoreArgs};
use crate::classic_output::say;
use crate::colour;
use crate::failure::{Failure, Kind, show};
use crate::launcher::parallel_launch;
use crate::storage::{open_results, plan_store};
use crate::terminal::Terminal;

/// Runs the plan and compares its variants.
pub(crate) fn run(args: &CompareArgs) -> Result<ExitCode, Failure> {
    if args.list {
        return list_shipped(args.page.output.as_deref());
    }
    let is_shown_only = args.dry_run || args.print_plan;
    let lab = if is_shown_only { lab::open_read_only() } else { lab::open() };
    let signals = watch_signals()?;
    // A dry run also rehearses the variants, in a lab that records what it makes.
    let trying = if args.dry_run { lab::recording() } else { lab.clone() };
    let rehearsal = |variant: &Variant| rehearse(variant, !args.quick.kernels.is_empty(), &trying);
    // A resumed plan was rehearsed when it began.
    let rehearsal: Option<&VariantRehearsal<'_>> =
        if args.print_plan || args.resume { None } else { Some(&rehearsal) };
    // An error of a plan file is reported before a kernel is built, which can take an hour.
    let read = |path: &PathBuf| read_plan(path, args.full_size, rehearsal);
    let mut read = args.plan.as_ref().map(read).transpose()?;
    let given = args.plan.is_none().then(|| quick::options(&args.quick)).transpose()?;
    let mut chosen = kernels::chosen(&args.quick, !is_shown_only, signals.flag())?;
    if let Some(plan) = &mut read {
        let found = kernels::found(plan, &args.quick, !is_shown_only, signals.flag())?;
        chosen.unbuilt.extend(found);
    }
    if !chosen.unbuilt.is_empty() {
        if args.print_plan {
            return Err(Failure::usage(chosen.unbuilt.join("\n"))
                .hint("run it without --print-plan first, which builds them"));
        }
        let lines = chosen.unbuilt.join("\n") + "\n";
        super::output::with_writer(args.page.output.as_deref(), |out| {
            out.write_all(lines.as_bytes())
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let quick = given.map(|given| QuickOptions { kernels: chosen.kernels.clone(), ..given });
    let mut plan = match (read, &quick) {
        (Some(plan), _) => plan,
        (None, Some(options)) => {
            let plan = quick_plan(options, &lab)?;
            rehearsal.map_or(Ok(()), |rehearsal| rehearse_quick(&plan.variants, rehearsal))?;
            plan
        }
        (None, None) => return Err(Failure::new(Kind::Bug, "neither a plan nor options of one")),
    };
    if signals.flag().is_raised() {
        return Ok(ExitCode::from(Kind::Interrupted.code()));
    }
    plan.change(&changes(args, chosen.kernels), quick.is_some())?;
    if args.print_plan {
        super::output::with_writer(args.page.output.as_deref(), |out| {
            out.write_all(plan.to_toml().as_bytes())
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    report::check_format(args.page.format())?;
    report::Gating::of(&args.page)?;
    quick.map_or(Ok(()), |options| refuse_alone(&plan.variants, &options))?;
    if args.dry_run {
        check_variants(&plan, &lab)?;
        return show_plan(&plan, &options(args), &args.page.store, args.page.output.as_deref());
    }
    // A directory that cannot be made must be reported before hours are spent.
    args.page.charts.as_deref().map_or(Ok(()), super::charts::prepare)?;
    let store = plan_store(&args.page.store);
    match carry_out(&plan, &options(args), (&store, &Terminal), &lab)? {
        PlanEnd::Done { campaign } => page(&plan, args, campaign),
        PlanEnd::GivenUp { why, .. } => Err(Failure::new(Kind::Trial, why)),
        PlanEnd::Rebooting => Ok(ExitCode::SUCCESS),
        PlanEnd::Interrupted => Ok(ExitCode::from(Kind::Interrupted.code())),
    }
}

/// Options that change the plan.
fn changes(args: &CompareArgs, kernels: Vec<KernelChoice>) -> PlanChanges {
    let observe = &args.observe;
    PlanChanges {
        kernels,
        machine: args.quick.machine,
        counts_instructions: (args.quick.icount || args.quick.no_icount)
            .then_some(args.quick.icount),
        rounds: args.quick.rounds.map(u32::from),
        minutes: args.quick.minutes,
        phase_seconds: args.quick.phase_seconds.map(u32::from),
        observing: ObservingChanges {
            trace: observe.trace,
            layout: observe.layout,
            layout_every: observe.layout_every,
            functions: observe.functions.clone(),
            place: observe.observe_in.as_deref().and_then(ObservedIn::from_name),
            rounds: observe.observe_rounds,
        },
    }
}

/// Reads a plan from a file, or a built-in one by its name, with its jobs at the small or at the
/// full size. If `rehearsal` is given, it tries each variant.
pub(super) fn read_plan(
    path: &Path,
    is_full_size: bool,
    rehearsal: Option<&VariantRehearsal<'_>>,
) -> Result<Plan, Failure> {
    let names = filesystems::names();
    let known = Known {
        workloads: treering_registry::workloads(),
        filesystems: &names,
        data_dirs: crate::places::dataset_dirs(),
        environment: crate::places::environment(),
        is_full_size,
        rehearsal,
        ..Known::default()
    };
    let in_colour = colour::is_wanted(std::io::stderr().is_terminal());
    match inside_program(path)? {
        Some(shipped) => shipped.read(known, in_colour),
        None => plan::read_plan(path, known, in_colour),
    }
}

/// Reads a plan and tries its variants in this lab. Filesystems for another kernel are made, but
/// not mounted.
pub(super) fn read_rehearsed(
    path: &Path,
    is_full_size: bool,
    (is_for_other_kernel, lab): (bool, &Lab),
) -> Result<Plan, Failure> {
    let signals = watch_signals()?;
    let rehearsal = |variant: &Variant| rehearse(variant, is_for_other_kernel, lab);
    let plan = read_plan(path, is_full_size, Some(&rehearsal))?;
    if signals.flag().is_raised() {
        let message = "interrupted while the variants were tried; nothing has been measured";
        return Err(Failure::new(Kind::Interrupted, message));
    }
    Ok(plan)
}

/// Built-in plan of this name; `None` for a path, and for a name that a file has.
fn inside_program(named: &Path) -> Result<Option<&'static ShippedPlan>, Failure> {
    let is_name = named.components().count() == 1 && named.extension().is_none();
    match named.to_str() {
        Some(name) if is_name && (!named.exists() || named.is_dir()) => {
            ShippedPlan::named(name).map(Some)
        }
        _ => Ok(None),
    }
}

/// Prints a built-in plan.
pub(crate) fn show_shipped(name: &str) -> Result<ExitCode, Failure> {
    let text = ShippedPlan::named(name)?.text;
    super::output::with_writer(None, |out| out.write_all(text.as_bytes()))?;
    Ok(ExitCode::SUCCESS)
}

/// Lists the plans inside the program.
pub(crate) fn list_shipped(output: Option<&Path>) -> Result<ExitCode, Failure> {
    let lines = shipped_plan_lines();
    super::output::with_writer(output, |out| {
        lines.iter().try_for_each(|line| writeln!(out, "{line}"))
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the schedule of a plan: every cell in its order, and the estimated time and size.
pub(super) fn show_plan(
    plan: &Plan,
    options: &PlanOptions<'_>,
    store: &StoreArgs,
    output: Option<&Path>,
) -> Result<ExitCode, Failure> {
    let lines = dry_run(plan, options, (&plan_store(store), &Terminal))?;
    super::output::with_writer(output, |out| {
        lines.iter().try_for_each(|line| writeln!(out, "{line}"))
    })?;
    if options.point.is_none() && !options.is_part {
        warn_of_plan(plan, &Terminal);
    }
    Ok(ExitCode::SUCCESS)
}

/// Options for running the plan.
fn options(args: &CompareArgs) -> PlanOptions<'static> {
    PlanOptions {
        resume: args.resume,
        quiet: args.quiet,
        erase: args.erase.clone(),
        reboots: RebootOptions {
            is_allowed: args.yes,
            loader: args.boot_loader,
            root: args.root.dir.clone(),
        },
        ..usual_options(args.plan.as_deref())
    }
}

/// Options for running any plan of this file, or of no file, on this machine.
pub(super) fn usual_options(plan_file: Option<&Path>) -> PlanOptions<'static> {
    PlanOptions {
        workloads: treering_registry::workloads(),
        search_path: std::env::var_os("PATH").unwrap_or_default(),
        plan_dir: plan_file.and_then(|file| match inside_program(file) {
            Ok(Some(_)) => Some(SHIPPED_PLANS_DIR.into()),
            _ => file.parent().map(Path::to_owned),
        }),
        ranks: RankOptions {
            program: std::env::var_os(LAUNCHED_PROGRAM).map(PathBuf::from),
            own: std::env::current_exe().unwrap_or_default(),
            own_has_mpi: cfg!(feature = "mpi"),
            host: crate::places::machine().name,
            launch: parallel_launch(),
        },
        ..PlanOptions::default()
    }
}

/// Shows the comparison. If every trial of a variant failed, the command fails too, with the error
/// of the variant's first trial.
fn page(plan: &Plan, args: &CompareArgs, campaign: Option<TrialId>) -> Result<ExitCode, Failure> {
    let Some(campaign) = campaign else {
        let why = "nothing in this plan runs under this kernel";
        return Ok(report::nothing_compared(&args.page, why));
    };
    let failed = failed_variants(&open_results(&args.page.store)?, campaign)?;
    for (variant, error) in &failed {
        say(&format!("treering: every trial of '{variant}' failed; the first: {error}"));
    }
    match page_of(plan, args, campaign) {
        Ok(code) if failed.is_empty() || code != ExitCode::SUCCESS => Ok(code),
        Err(failure) if failed.is_empty() => Err(failure),
        shown => {
            let _printed = shown.unwrap_or_else(|failure| show(&failure));
            Ok(ExitCode::from(Kind::Trial.code()))
        }
    }
}

/// Shows the comparison page of a campaign.
fn page_of(plan: &Plan, args: &CompareArgs, campaign: TrialId) -> Result<ExitCode, Failure> {
    if plan.is_sweep_of_one() {
        let name = super::trial::quoted(&plan.name);
        let why = format!("the curves of this sweep: treering plan sweep --plan {name}");
        return Ok(report::nothing_compared(&args.page, &why));
    }
    if plan.variants.len() < 2 && !plan.compares_jobs() {
        let why = format!(
            "here one variant has nothing to be compared with; `treering report --plan {} --by \
             kernel` joins runs under several kernels",
            super::trial::quoted(&plan.name)
        );
        return Ok(report::nothing_compared(&args.page, &why));
    }
    report::of_campaign(&Campaign {
        trial: campaign,
        variants: plan.variants.iter().map(|variant| variant.name.as_str()).collect(),
        has_own_baselines: plan.compares_jobs()
            || plan.variants.iter().any(|variant| variant.against.is_some()),
        compares_jobs: plan.compares_jobs(),
        judging: &plan.judging,
        typed: typed_again(std::env::args_os()),
        args,
    })
}
