//! `treering repeat`: runs the plan or the runs of a pack on this machine, and compares each
//! variant with itself.

use std::fs::File;
use std::path::Path;
use std::process::ExitCode;

use treering_analysis::compare::{
    ComparedVariant, ComparisonTerms, Factor, compare_observed, environment,
};
use treering_conduct::plan::Plan;
use treering_model::{CellRole, Trial, TrialBuilder, TrialEvent, TrialId};
use treering_observe::{ObserverContext, ObserverOptions, look};
use treering_pack::{PackReader, PackedPlan};
use treering_report::pages::comparison::{ComparisonView, page};
use treering_store::{Filter, LoadDetail};

use super::failure as unreadable;
use super::repeated_plan::{PackedFiles, of_document, of_runs, settle};
use crate::arguments::{CompareArgs, MergeArgs, OutputArgs, PageArgs, RepeatArgs};
use crate::classic_output::say;
use crate::commands::compare::{Conducted, conduct, show_plan};
use crate::commands::trial::quoted;
use crate::commands::{lab, output};
use crate::failure::{Failure, Kind};
use crate::storage::{failure, no_results, open_to_read};

/// Facts of a machine that are compared before anything is run.
const OF_MACHINE: [&str; 7] = [
    "machine.architecture",
    "cpu.model",
    "cpu.count",
    "memory.bytes",
    "kernel.release",
    "kernel.config",
    "memory.transparent_hugepages",
];

/// Repeats the pack.
pub(crate) fn run(args: &RepeatArgs) -> Result<ExitCode, Failure> {
    let packed = Packed::read(&args.file)?.chosen(args)?;
    let files = PackedFiles::of(&packed.trials)?;
    let mut plan = match packed.document() {
        Some(document) => of_document(document, &files)?,
        None if packed.is_of_plan() => {
            let message = format!("{}: the pack has no plan", args.file.display());
            let hint = "the first trial of a campaign has it: pack it whole, with --campaign ID";
            return Err(Failure::new(Kind::Usage, message).hint(hint));
        }
        None => of_runs(&packed.trials, &files)?,
    };
    let mut others = settle(&mut plan, &packed.trials, args)?;
    others.extend(packed.of_machine());
    for words in &others {
        say(&format!("not the same: {words}"));
    }
    let comparing = CompareArgs {
        erase: args.erase.clone(),
        quiet: args.quiet,
        is_part: true,
        page: PageArgs { store: args.store.clone(), ..PageArgs::default() },
        ..CompareArgs::default()
    };
    if args.dry_run {
        return show_plan(&plan, &comparing);
    }
    let merging = MergeArgs { file: args.file.clone(), dry_run: false, store: args.store.clone() };
    super::merge::add(&merging)?;
    let lab = lab::open();
    match conduct(&plan, &comparing, &lab)? {
        Conducted::Done(code) if code == ExitCode::SUCCESS => {}
        Conducted::Done(code) => return Ok(code),
        Conducted::GivenUp { why, .. } => return Err(Failure::new(Kind::Trial, why)),
    }
    compare(&packed, &plan, args)
}

/// Contents of a pack.
struct Packed {
    plans: Vec<PackedPlan>,
    trials: Vec<Trial>,
}

impl Packed {
    fn read(path: &Path) -> Result<Self, Failure> {
        let file = File::open(path).map_err(|error| Failure::of_path(path, &error))?;
        let wrong = |error| unreadable(path, &error);
        let mut pack = PackReader::open(file).map_err(wrong)?;
        let plans = pack.plans().to_vec();
        let mut trials = Vec::new();
        while let Some(beginning) = pack.next_trial().map_err(wrong)? {
            let mut builder = TrialBuilder::default();
            let mut next = Some(TrialEvent::Began(beginning));
            while let Some(event) = next {
                builder.push(&event).map_err(|error| Failure::of(Kind::Usage, &error))?;
                next = pack.next_event().map_err(wrong)?;
            }
            let mut annotations = Vec::new();
            while let Some(annotation) = pack.next_annotation().map_err(wrong)? {
                annotations.push(annotation);
            }
            trials.extend(builder.finish().map(|trial| Trial { annotations, ..trial }));
        }
        Ok(Self { plans, trials })
    }

    /// Keeps only the trials of the requested campaign, or those outside of campaigns.
    fn chosen(mut self, args: &RepeatArgs) -> Result<Self, Failure> {
        let mut campaigns: Vec<TrialId> = Vec::new();
        let cells = self.trials.iter().filter_map(|trial| trial.beginning.cell.as_ref());
        for cell in cells.filter(|cell| {
            let wanted = args.campaign.as_deref();
            wanted.is_none_or(|prefix| cell.campaign.text().starts_with(prefix))
        }) {
            if !campaigns.contains(&cell.campaign) {
                campaigns.push(cell.campaign);
            }
        }
        let usage = |message: String| Failure::new(Kind::Usage, message);
        let path = args.file.display();
        let chosen = match (campaigns.as_slice(), &args.campaign) {
            ([], Some(prefix)) => {
                return Err(usage(format!("--campaign {prefix}: {path} has no such campaign")));
            }
            ([], None) => None,
            ([one], _) => Some(*one),
            (several, _) => {
                let names: Vec<String> = several.iter().map(|one| one.text()).collect();
                let message = format!("{path} has {} campaigns", several.len());
                let hint = format!("choose one with --campaign: {}", names.join(", "));
                return Err(usage(message).hint(hint));
            }
        };
        self.trials
            .retain(|trial| trial.beginning.cell.as_ref().map(|cell| cell.campaign) == chosen);
        self.plans.retain(|plan| Some(plan.campaign) == chosen);
        if self.trials.is_empty() {
            return Err(usage(format!("{path} has no trial")));
        }
        Ok(self)
    }

    fn document(&self) -> Option<&str> {
        self.plans.first().map(|plan| plan.document.as_str())
    }

    fn is_of_plan(&self) -> bool {
        self.trials.iter().any(|trial| trial.beginning.cell.is_some())
    }

    /// Differences between this machine and that of the packed trials; empty for trials in guests.
    fn of_machine(&self) -> Vec<String> {
        let is_on_machine = |trial: &&Trial| trial.fact("guest.kernel").is_none();
        let Some(trial) = self.trials.iter().find(is_on_machine) else { return Vec::new() };
        let here =
            look(&ObserverContext { target: Path::new("/"), options: ObserverOptions::default() })
                .facts;
        let differs = |name: &&str| {
            let was = trial.fact(name)?;
            let is = here.iter().find(|fact| fact.name == **name)?.value.as_str();
            let short = |value: &str| value.chars().take(80).collect::<String>();
            (was != is).then(|| format!("{name} is {} here, and was {}", short(is), short(was)))
        };
        OF_MACHINE.iter().filter_map(differs).collect()
    }
}

/// Compares each variant with itself: as packed, and as measured here.
fn compare(packed: &Packed, plan: &Plan, args: &RepeatArgs) -> Result<ExitCode, Failure> {
    let store = open_to_read(args.store.store.as_deref())?.ok_or_else(no_results)?;
    let filter = Filter { plan: Some(plan.name.clone()), ..Filter::default() };
    let all = store.trials(&filter).map_err(|error| failure(&error))?;
    let newest = all.first().and_then(|one| one.cell.as_ref()).map(|cell| cell.campaign);
    let digest = plan.digest();
    for variant in &plan.variants {
        let is_own = |cell: &treering_model::Cell| {
            Some(cell.campaign) == newest
                && cell.digest == digest
                && cell.variant == variant.name
                && cell.role == CellRole::Round
        };
        let own = all.iter().filter(|one| one.cell.as_ref().is_some_and(is_own));
        let here: Vec<TrialId> = own.map(|one| one.trial).rev().collect();
        let here = store.load_many(&here, LoadDetail::Tasks).map_err(|error| failure(&error))?;
        let was = packed.trials.iter().filter(|trial| match &trial.beginning.cell {
            None => true,
            Some(cell) => cell.variant == variant.name && cell.role == CellRole::Round,
        });
        let was: Vec<Trial> = was.filter(|trial| trial.exclusion().is_none()).cloned().collect();
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
    let view = ComparisonView {
        command: &command,
        repeat: &[],
        notes: &[],
        environment: &environment,
        profiles: &[],
        observed: &[],
        brief: false,
    };
    let format = OutputArgs { format: args.format.clone(), ..OutputArgs::default() };
    output::write(&page(&outcome, &view), &format)
}
