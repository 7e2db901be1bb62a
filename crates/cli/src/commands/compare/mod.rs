//! `treering compare`: runs a plan's variants under its jobs, in interleaved rounds, and reports
//! the comparison.

mod bisect;
mod guest;
mod host;
mod judging;
mod launched;
mod quick;
mod store;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use treering_conduct::plan::document::{BYTES_MAX, Known, read};
use treering_conduct::plan::{ObservedIn, Observing, Plan, Stopping};
use treering_conduct::{
    LAUNCHED_PROGRAM, PlanEnd, PlanOptions, RankOptions, RebootOptions, dry_run, run_plan,
    warn_of_shortfall,
};
use treering_lab::{Lab, filesystems};
use treering_model::TrialId;
use treering_sys::SignalWatch;

pub(super) use self::bisect::{named, run as bisect_step};
pub(crate) use self::guest::run as run_guest;
pub(super) use self::host::Terminal;
pub(super) use self::store::PlanStore;
use super::lab;
use super::report::{self, Campaign};
use crate::arguments::{CompareArgs, ObserveArgs};
use crate::classic_output::say;
use crate::colour;
use crate::failure::{Failure, Kind};

/// Runs the plan and compares its variants.
pub(crate) fn run(args: &CompareArgs) -> Result<ExitCode, Failure> {
    let lab = if args.dry_run || args.print_plan { lab::look() } else { lab::open() };
    let mut plan = match &args.plan {
        Some(path) => read_plan(path, args.full_size)?,
        None => quick::plan(&args.quick, &lab)?,
    };
    if args.plan.is_some() && !args.quick.kernels.is_empty() {
        plan.variants = quick::under_kernels(plan.variants, plan.guest.as_ref(), &args.quick)?;
    }
    plan.conditions.machine = args.quick.machine.unwrap_or(plan.conditions.machine);
    if args.quick.icount {
        quick::count_instructions(&mut plan, &args.quick)?;
    }
    if let Some(rounds) = args.quick.rounds.filter(|_| args.plan.is_some()) {
        plan.stopping = Stopping::Fixed { rounds: rounds.into() };
    }
    observe(&mut plan.observing, &args.observe)?;
    if args.print_plan {
        super::output::with_writer(args.page.output.as_deref(), |out| {
            out.write_all(plan.to_toml().as_bytes())
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    report::check_format(args.page.format())?;
    report::Gating::of(&args.page)?;
    if args.plan.is_none() {
        quick::refuse_alone(&plan.variants, &args.quick)?;
    }
    if args.dry_run {
        return show_plan(&plan, args);
    }
    match conduct(&plan, args, &lab)? {
        Conducted::Done(code) => Ok(code),
        Conducted::GivenUp { why, .. } => Err(Failure::new(Kind::Trial, why)),
    }
}

/// Result of a conducted plan.
pub(super) enum Conducted {
    /// The plan ended with this exit code.
    Done(ExitCode),
    /// A trial failed, in a plan that ends at the first failed trial.
    GivenUp {
        /// Index of the variant in the plan.
        variant: usize,
        /// Failure message of the trial.
        why: String,
    },
}

/// Overrides the plan's observation settings with those of the command line.
fn observe(observing: &mut Observing, args: &ObserveArgs) -> Result<(), Failure> {
    observing.trace |= args.trace;
    observing.layout |= args.layout;
    observing.layout_every = args.layout_every.unwrap_or(observing.layout_every);
    let place = args.observe_in.as_deref().and_then(ObservedIn::from_name);
    observing.place = place.unwrap_or(observing.place);
    observing.rounds = args.observe_rounds.unwrap_or(observing.rounds);
    let how = [
        ("--observe-in", args.observe_in.is_some()),
        ("--observe-rounds", args.observe_rounds.is_some()),
    ];
    let given = how.into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| option);
    if let Some(option) = given.filter(|_| !observing.is_wanted()) {
        let message = format!("{option} says how to observe, but nothing is to be observed");
        return Err(Failure::new(Kind::Usage, message).hint("give --trace, --layout, or both"));
    }
    if args.observe_rounds.is_some() && observing.place == ObservedIn::Measured {
        let message = "--observe-rounds gives the number of observing rounds, but there are none";
        return Err(Failure::new(Kind::Usage, message)
            .hint("leave it out, or observe in separate rounds (--observe-in own)"));
    }
    Ok(())
}

/// Reads a plan from a file, with its jobs at the small or at the full size.
pub(super) fn read_plan(path: &Path, is_full_size: bool) -> Result<Plan, Failure> {
    let failed =
        |error: std::io::Error| Failure::of_path(path, &error).context("cannot read the plan");
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(failed)?;
    file.take(BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        let message = format!("{}: byte {} is not UTF-8", path.display(), place + 1);
        Failure::new(Kind::Usage, message).hint("a plan is a TOML document in UTF-8")
    })?;
    let names = filesystems::names();
    let known = Known {
        workloads: treering_registry::workloads(),
        filesystems: &names,
        data_dirs: crate::places::dataset_dirs(),
        environment: crate::places::environment(),
        is_full_size,
        base_dir: path.parent().map(Path::to_owned),
    };
    read(&text, &path.to_string_lossy(), &known).map_err(|error| {
        let colour = colour::is_wanted(std::io::IsTerminal::is_terminal(&std::io::stderr()));
        let words = if colour { error.coloured() } else { error.to_string() };
        Failure::new(Kind::Usage, format!("the plan cannot be used\n{}", words.trim_end()))
    })
}

/// Prints the schedule of a plan: every cell in its order, and the estimated time and size.
pub(super) fn show_plan(plan: &Plan, args: &CompareArgs) -> Result<ExitCode, Failure> {
    let lab = lab::look();
    let (store, terminal) = (PlanStore::new(&args.page.store), Terminal { lab: &lab });
    let lines = dry_run(plan, &options(args), (&store, &terminal))?;
    super::output::with_writer(args.page.output.as_deref(), |out| {
        lines.iter().try_for_each(|line| writeln!(out, "{line}"))
    })?;
    if args.point.is_none() && !args.is_part {
        warn_of_shortfall(plan, &terminal);
    }
    Ok(ExitCode::SUCCESS)
}

/// The options of a run of a plan.
fn options(args: &CompareArgs) -> PlanOptions<'static> {
    PlanOptions {
        resume: args.resume,
        quiet: args.quiet,
        gives_up: args.gives_up,
        is_part: args.is_part,
        point: args.point.clone(),
        erase: args.erase.clone(),
        workloads: treering_registry::workloads(),
        search_path: std::env::var_os("PATH").unwrap_or_default(),
        plan_dir: args.plan.as_deref().and_then(Path::parent).map(Path::to_owned),
        ranks: RankOptions {
            program: std::env::var_os(LAUNCHED_PROGRAM).map(PathBuf::from),
            own: std::env::current_exe().unwrap_or_default(),
            own_has_mpi: cfg!(feature = "mpi"),
            host: crate::places::machine().name,
        },
        reboots: RebootOptions {
            is_allowed: args.yes,
            loader: args.boot_loader,
            root: args.root.dir.clone(),
        },
    }
}

/// Conducts a plan, and shows the comparison.
pub(super) fn conduct(plan: &Plan, args: &CompareArgs, lab: &Lab) -> Result<Conducted, Failure> {
    launched::refuse(plan)?;
    // Before hours are spent, not after.
    if let Some(dir) = &args.page.charts {
        super::charts::prepare(dir)?;
    }
    let signals = SignalWatch::begin().map_err(|error| {
        Failure::new(Kind::Environment, format!("cannot watch for signals: {error}"))
    })?;
    let (store, terminal) = (PlanStore::new(&args.page.store), Terminal { lab });
    let around = (&store as _, &terminal as _);
    let campaign = match run_plan(plan, &options(args), around, lab, signals.flag())? {
        PlanEnd::GivenUp { variant, why } => return Ok(Conducted::GivenUp { variant, why }),
        PlanEnd::Rebooting => return Ok(Conducted::Done(ExitCode::SUCCESS)),
        PlanEnd::Done { campaign } => campaign,
    };
    if signals.flag().is_raised() {
        say("interrupted: finished trials are kept; --resume continues with the rest");
        return Ok(Conducted::Done(ExitCode::from(Kind::Interrupted.code())));
    }
    if args.point.is_some() || args.is_part {
        return Ok(Conducted::Done(ExitCode::SUCCESS));
    }
    page(plan, args, campaign).map(Conducted::Done)
}

/// Shows the comparison. If every trial of a variant failed, the command fails too, with the error
/// of the variant's first trial.
fn page(plan: &Plan, args: &CompareArgs, campaign: Option<TrialId>) -> Result<ExitCode, Failure> {
    let Some(campaign) = campaign else {
        let why = "nothing in this plan runs under this kernel";
        return Ok(report::nothing_compared(&args.page, why));
    };
    let failed = report::failed_variants(campaign, args)?;
    for (variant, error) in &failed {
        say(&format!("treering: every trial of '{variant}' failed; the first: {error}"));
    }
    match page_of(plan, args, campaign) {
        Ok(code) if failed.is_empty() || code != ExitCode::SUCCESS => Ok(code),
        Err(failure) if failed.is_empty() => Err(failure),
        shown => {
            let _printed = shown.unwrap_or_else(|failure| failure.show());
            Ok(ExitCode::from(Kind::Trial.code()))
        }
    }
}

/// Shows the comparison page of a campaign.
fn page_of(plan: &Plan, args: &CompareArgs, campaign: TrialId) -> Result<ExitCode, Failure> {
    if plan.variants.len() < 2 {
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
        has_own_baselines: plan.variants.iter().any(|variant| variant.against.is_some()),
        judging: &plan.judging,
        args,
    })
}
