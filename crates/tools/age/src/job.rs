//! Aging job with all its settings: the profile, its rules, and the session that carries it out.

use std::sync::Arc;

use treering_model::{Caution, CautionCode, Metric, WorkLimit};
use treering_script::{
    ConfigError, Footprint, Job, OutlineLine, RunRequest, Session, Settings, TargetFacts,
};

use super::calls::ROOT;
use super::ending::EndingMonitor;
use super::fast_forward::ReplayLookahead;
use super::generator::OperationGenerator;
use super::history::{BYTES_MAX, History, ReplayState};
use super::history_session::HistorySession;
use super::maintenance::costs::maintenance_metrics;
use super::maintenance::plan::MaintenancePart;
use super::options::NativeOptions;
use super::profile::{FilesPlan, InitialSize, Model, OperationKind, Profile, load};
use super::progress::foreseen;
use super::rules::EndRule;
use super::session::AgeSession;
use super::source_tree::SourceTree;
use super::steps::{OtherOperations, StepRecord, draw_again};
use super::through::WorkloadSession;
use treering_compilebench::{AGING_PHASE, aging};
use treering_kit::occupied::refuse_existing;

/// Live bytes that a dry run assumes, in place of half of the free space.
const LIVE_BYTES_UNKNOWN: u64 = 1 << 30;
/// Number of operations that the plan assumes for a run without a rule that counts operations, if
/// the profile runs another workload.
const PLANNED_OPERATIONS: u64 = 2000;
/// Name of the workload for profiles that replay a history.
const HISTORY: &str = "history";
/// Used fraction above which a filesystem is not new: reserves and logs take less.
const USED_MUCH: f64 = 0.25;
/// Share of the requested level to which the initial files fill the filesystem, since their
/// overhead is only estimated.
const FILLED_FIRST: f64 = 0.97;
/// Size of an inode and a directory entry, in bytes.
const NAME_BYTES: u64 = 512;
/// Default number of commits between two measurements.
const COMMITS_EVERY: u64 = 100;

/// Source of the operations of a profile.
enum OperationSource {
    Model(Model),
    Workload(Box<dyn Job>),
    /// Commits between two measurements.
    History(Arc<History>, u64),
}

/// A profile with its rules.
pub(super) struct AgeJob {
    by: OperationSource,
    rules: Vec<EndRule>,
    seed: u64,
    live: Option<u64>,
    fast_forward: bool,
    request: RunRequest,
    /// Steps of the interrupted run that this one continues; empty for a new run.
    earlier: Vec<StepRecord>,
}

impl AgeJob {
    pub(super) fn new(settings: &Settings) -> Result<Self, ConfigError> {
        let mut options = NativeOptions::read(settings)?;
        // As they are recorded, with commas between, they can be given again.
        let words = options.until.iter().flat_map(|text| text.split(','));
        let rules = words.map(|text| EndRule::read(text, settings));
        let rules: Vec<EndRule> = rules.collect::<Result<_, _>>()?;
        options.until = rules.iter().map(EndRule::to_string).collect();
        let by = match load(&options.profile, settings)? {
            Profile::Model(model) => OperationSource::Model(adapted(model, &options, settings)?),
            Profile::Workload { name, .. } if name == HISTORY => by_history(&options, settings)?,
            Profile::Workload { name, options: profile_options } => OperationSource::Workload(
                other(&name, profile_options, &options, &rules, settings)?,
            ),
        };
        let has_operations = match &by {
            OperationSource::Model(model) => !model.operations.is_empty(),
            OperationSource::Workload(_) => true,
            // It ends by itself.
            OperationSource::History(..) => false,
        };
        if options.history.is_some() && !matches!(by, OperationSource::History(..)) {
            return Err(ConfigError::new("--history has no effect on this profile")
                .hint("name --profile source-history"));
        }
        if has_operations && rules.is_empty() {
            return Err(ConfigError::new("--until is missing: nothing would end it")
                .hint("for example --until operations=10000, --until steady or --until full=70%"));
        }
        let NativeOptions { seed, live, fast_forward, .. } = options;
        let request = RunRequest::native(options.parameters());
        let earlier = Vec::new();
        Ok(Self { by, rules, seed, live, fast_forward, request, earlier })
    }

    /// Job that continues after these steps.
    pub(super) fn going_on(mut self, earlier: Vec<StepRecord>) -> Result<Self, ConfigError> {
        let cannot = |why: &str| {
            ConfigError::new(format!("this run cannot go on: {why}"))
                .hint("`treering lab clean DIR` removes what it left")
        };
        let model = self.resumable().map_err(cannot)?;
        if earlier.is_empty() {
            return Err(cannot("no step of it was completed"));
        }
        self.replayed(model, &earlier).map_err(|other| cannot(&other.to_string()))?;
        self.earlier = earlier;
        Ok(self)
    }

    /// Profile of a run that can continue after its steps, or the reason why it cannot.
    pub(super) fn resumable(&self) -> Result<&Model, &'static str> {
        let OperationSource::Model(model) = &self.by else {
            return Err("only profiles of operations can, no history and no other workload");
        };
        if self.fast_forward {
            return Err("which files have data only in part is not known with --fast-forward");
        }
        if model.files.iter().any(|plan| plan.tree.is_some()) {
            return Err("files of a data set are not put back");
        }
        Ok(model)
    }

    /// Generator of the interrupted run as it was after its steps.
    fn replayed(
        &self,
        model: &Model,
        earlier: &[StepRecord],
    ) -> Result<OperationGenerator, OtherOperations> {
        let live_bytes = earlier.first().map_or(0, |step| step.live_bytes);
        let mut generator = OperationGenerator::new(model.clone(), self.seed, live_bytes);
        draw_again(&mut generator, earlier)?;
        Ok(generator)
    }

    /// Target for the total size of the files that exist at a time.
    fn live_bytes(&self, facts: &TargetFacts) -> u64 {
        if let OperationSource::Model(Model { hold_full: Some(level), files, .. }) = &self.by
            && facts.capacity_bytes < u64::MAX
        {
            return held_bytes(*level, files, facts);
        }
        if let (None, OperationSource::Model(model)) = (self.live, &self.by)
            && let Some(bytes) = tree_bytes(&model.files)
        {
            return bytes;
        }
        let free = Some(facts.free_bytes).filter(|free| *free < u64::MAX).map(|free| free / 2);
        self.live.or(free).unwrap_or(LIVE_BYTES_UNKNOWN)
    }

    /// Maximum number of operations, if a rule counts them.
    fn operations(&self) -> Option<u64> {
        let counted = |rule: &EndRule| match rule {
            EndRule::Operations(number) => Some(*number),
            _ => None,
        };
        self.rules.iter().filter_map(counted).min()
    }

    fn steps(&self, model: &Model) -> u64 {
        self.operations().map_or(0, |number| number.div_ceil(model.measure_every))
    }
}

/// Bytes of the files, if all that have a share are a tree like one on disk.
fn tree_bytes(files: &[FilesPlan]) -> Option<u64> {
    let mut shared = files.iter().filter(|plan| matches!(plan.amount, InitialSize::Share(_)));
    let plan = shared.next()?;
    let InitialSize::Share(share) = plan.amount else { return None };
    let bytes = plan.classes.as_ref()?.files().saturating_mul(plan.sizes.mean());
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and the largest number stands for more"
    )]
    let of_all = (bytes as f64 / share).round() as u64;
    shared.next().is_none().then_some(of_all)
}

/// Bytes of files that fill a filesystem nearly to this level. The overhead beside their content is
/// estimated; the run then follows the reported use.
fn held_bytes(level: f64, files: &[FilesPlan], facts: &TargetFacts) -> u64 {
    let used = facts.capacity_bytes.saturating_sub(facts.free_bytes) as f64;
    let room = (facts.capacity_bytes as f64 * level - used).max(0.0);
    // Each file takes half a block more than its bytes, and an inode and an entry.
    let beside = facts.block_bytes as f64 / 2.0 + NAME_BYTES as f64;
    let share_taken = |plan: &FilesPlan| match plan.amount {
        InitialSize::Share(share) => share * (1.0 + beside / plan.sizes.mean().max(1) as f64),
        InitialSize::Count(_) => 0.0,
    };
    let taken: f64 = files.iter().map(share_taken).sum();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and below the size of a filesystem"
    )]
    let bytes = (room * FILLED_FIRST / taken.max(1.0)) as u64;
    bytes
}

/// Reads the history that the options name.
fn by_history(
    options: &NativeOptions,
    settings: &Settings,
) -> Result<OperationSource, ConfigError> {
    let unused = [
        ("--live", options.live.is_some()),
        ("--shuffled", options.shuffled.is_some()),
        ("--hold-full", options.hold_full.is_some()),
    ];
    if let Some((option, _)) = unused.into_iter().find(|(_, is_given)| *is_given) {
        return Err(ConfigError::new(format!("{option} has no effect on this profile"))
            .hint("the history says which files stand, and they are written whole"));
    }
    let name = options.history.as_deref().ok_or_else(|| {
        ConfigError::new("--history is missing: the profile replays a file")
            .hint("`treering age extract GIT_DIR -o FILE` writes one")
    })?;
    let path = settings.file(name);
    let failed = |message: String| ConfigError::new(format!("{}: {message}", path.display()));
    let text = settings.files.read(&path, BYTES_MAX + 1);
    let text = text.map_err(|error| failed(error.to_string()))?;
    if text.len() as u64 > BYTES_MAX {
        return Err(failed("longer than 1 GiB".to_owned()));
    }
    let history = History::read(name, text)?;
    if options.fast_forward && history.has_git {
        return Err(ConfigError::new("--fast-forward: the history has what git itself writes")
            .hint("extract it without --with-git, or replay it without --fast-forward"));
    }
    Ok(OperationSource::History(Arc::new(history), options.measure_every.unwrap_or(COMMITS_EVERY)))
}

fn footprint_of(history: &History, facts: &TargetFacts) -> Footprint {
    let rounded_up = history.peak_files.saturating_mul(facts.block_bytes / 2);
    Footprint {
        peak_files: history.peak_files,
        peak_dirs: 1 + history.made_dirs,
        peak_bytes: history.peak_bytes,
        peak_block_bytes: history.peak_bytes.saturating_add(rounded_up),
        written_files: history.written_files,
        written_bytes: history.written_bytes,
    }
}

/// Applies the options to a model.
fn adapted(
    mut model: Model,
    options: &NativeOptions,
    settings: &Settings,
) -> Result<Model, ConfigError> {
    for plan in &mut model.files {
        let Some(name) = &plan.dataset else { continue };
        let InitialSize::Count(count) = plan.amount else { continue };
        let tree = SourceTree::load(name, count, settings)?;
        plan.amount = InitialSize::Count(tree.len() as u64);
        plan.tree = Some(Arc::new(tree));
    }
    if let Some(measure_every) = options.measure_every {
        model.measure_every = measure_every;
        model.sync_every = model.sync_every.min(measure_every);
    }
    if let Some(share) = options.shuffled {
        model.files.iter_mut().for_each(|plan| plan.shuffled = share);
    }
    if let Some(every) = options.remount_every {
        model.remount_every = Some(every);
    }
    if options.hold_full.is_some() {
        model.hold_full = options.hold_full;
    }
    check_maintenance(&model, options)?;
    if model.hold_full.is_some() && !model.can_hold() {
        return Err(ConfigError::new("--hold-full: this profile cannot keep a level")
            .hint("it takes [[files]] with a `share` that are created and deleted"));
    }
    if model.hold_full.is_some() && options.live.is_some() {
        return Err(ConfigError::new("--live and --hold-full exclude each other")
            .hint("with --hold-full the level says how many bytes stand"));
    }
    if let Some(every) = model
        .remount_every
        .filter(|every_remount| !every_remount.is_multiple_of(model.measure_every))
    {
        let measure = model.measure_every;
        return Err(ConfigError::new(format!(
            "--remount-every: {every} is not a multiple of the {measure} operations of a step"
        ))
        .hint(format!("add --measure-every {every}")));
    }
    Ok(model)
}

/// Checks that the maintenance of a model fits its steps and its way to fill files.
fn check_maintenance(model: &Model, options: &NativeOptions) -> Result<(), ConfigError> {
    let step = model.measure_every;
    for plan in &model.maintenance {
        if let Some(every) = plan.every.filter(|every| !every.is_multiple_of(step)) {
            return Err(ConfigError::new(format!(
                "[[maintenance]] {}: every {every} is not a multiple of the {step} operations of \
                 a step",
                plan.name
            ))
            .hint(format!("add --measure-every {every}")));
        }
    }
    if options.fast_forward && model.needs_data() {
        return Err(ConfigError::new(
            "--fast-forward: this profile works on the data of its files",
        )
        .hint("copy, reflink, punch and [[maintenance]] need files that are written"));
    }
    Ok(())
}

/// Builds the job of another workload.
fn other(
    name: &str,
    mut parameters: Vec<(String, String)>,
    options: &NativeOptions,
    rules: &[EndRule],
    settings: &Settings,
) -> Result<Box<dyn Job>, ConfigError> {
    if name != "compilebench" {
        return Err(ConfigError::new(format!("workload '{name}' carries no profile out"))
            .hint("compilebench does"));
    }
    let unused = [
        ("--live", options.live.is_some()),
        ("--shuffled", options.shuffled.is_some()),
        ("--hold-full", options.hold_full.is_some()),
        ("--measure-every", options.measure_every.is_some_and(|every| every != 1)),
    ];
    if let Some((option, _)) = unused.into_iter().find(|(_, is_given)| *is_given) {
        return Err(ConfigError::new(format!("{option} has no effect on this profile"))
            .hint("its trees are given by the options in the profile"));
    }
    let most = rules.iter().filter_map(|rule| match rule {
        EndRule::Operations(number) => Some(*number),
        _ => None,
    });
    let runs = most.min().unwrap_or(PLANNED_OPERATIONS);
    parameters.push(("runs".to_owned(), runs.to_string()));
    parameters.push(("seed".to_owned(), options.seed.to_string()));
    aging(&settings.with_options(parameters), options.fast_forward)
}

impl Job for AgeJob {
    fn request(&self) -> &RunRequest {
        &self.request
    }

    fn check(&self, facts: &TargetFacts) -> Result<Vec<Caution>, ConfigError> {
        if let OperationSource::Workload(job) = &self.by {
            return job.check(facts);
        }
        if !self.earlier.is_empty() {
            let is_there = facts.existing.iter().any(|name| name == ROOT);
            return is_there.then(Vec::new).ok_or_else(|| {
                ConfigError::new(format!("there is no {ROOT}: the files of the run are gone"))
                    .hint("begin anew, without --resume")
            });
        }
        if let OperationSource::Model(model) = &self.by {
            model.refuse_too_many_files(self.live_bytes(facts))?;
        }
        refuse_existing(facts, |name| name == ROOT)?;
        Ok(not_fresh(facts).into_iter().collect())
    }

    fn footprint(&self, facts: &TargetFacts) -> Footprint {
        let model = match &self.by {
            OperationSource::Workload(job) => return job.footprint(facts),
            OperationSource::History(history, _) => return footprint_of(history, facts),
            OperationSource::Model(model) => model,
        };
        let live_bytes = self.live_bytes(facts);
        let mut footprint = Footprint::default();
        if !self.earlier.is_empty() {
            // The files of the operation are there.
            return footprint;
        }
        for plan in &model.files {
            let per_unit = plan.unit.map_or(1, |(least, most)| u64::midpoint(least, most));
            let largest_unit = plan.unit.map_or(1, |(_, most)| most);
            let mean = plan.sizes.mean();
            if let Some(tree) = &plan.tree {
                footprint.peak_dirs += tree.directories();
            }
            let (files, bytes) = match plan.amount {
                InitialSize::Count(count) if plan.tree.is_some() => {
                    (count, plan.tree.as_ref().map_or(0, |tree| tree.bytes()))
                }
                InitialSize::Count(count) => {
                    let files = count.saturating_mul(per_unit);
                    (files, files.saturating_mul(mean))
                }
                InitialSize::Share(share) => {
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "a share of a number is not above it"
                    )]
                    let bytes = (live_bytes as f64 * share) as u64;
                    // The last one goes beyond the share.
                    (bytes / mean.max(1) + largest_unit, bytes.saturating_add(largest_unit * mean))
                }
            };
            let rounded_up = files.saturating_mul(facts.block_bytes / 2);
            footprint.peak_files = footprint.peak_files.saturating_add(files);
            // Only units are directories of their own.
            let units = plan.unit.map_or(0, |_| files / per_unit);
            let directories = plan.classes.as_ref().map_or(plan.directories, |classes| {
                classes.directories().saturating_mul(files).div_ceil(classes.files())
            });
            footprint.peak_dirs += directories + units;
            footprint.peak_bytes = footprint.peak_bytes.saturating_add(bytes);
            footprint.peak_block_bytes =
                footprint.peak_block_bytes.saturating_add(bytes).saturating_add(rounded_up);
        }
        if model.hold_full.is_some() {
            // The level is kept by deleting, so there is always room.
            let names = footprint.peak_files.saturating_add(footprint.peak_dirs);
            let left = facts.free_bytes.saturating_sub(names.saturating_mul(NAME_BYTES));
            footprint.peak_block_bytes = footprint.peak_block_bytes.min(left);
        }
        footprint.written_files = footprint.peak_files;
        footprint.written_bytes =
            footprint.peak_bytes.saturating_add(written(model, self.operations()));
        footprint
    }

    fn outline(&self, facts: &TargetFacts) -> Vec<OutlineLine> {
        let model = match &self.by {
            OperationSource::Workload(job) => return job.outline(facts),
            OperationSource::History(history, every) => {
                let later = history.steps - 1;
                return vec![
                    "fill with the first commit".to_owned(),
                    format!("age by {later} commits, {every} in a step"),
                ];
            }
            OperationSource::Model(model) => model,
        };
        let mut generator =
            OperationGenerator::new(model.clone(), self.seed, self.live_bytes(facts));
        let mut lines = vec!["fill directories".to_owned()];
        for (place, plan) in model.files.iter().enumerate() {
            let files = generator.initial(place);
            let unit_word = if plan.unit.is_some() { "units" } else { "files" };
            let directories = generator.model().files[place].directories;
            lines.push(format!(
                "fill {}: {files} {unit_word} in {directories} directories",
                plan.name
            ));
        }
        let rules: Vec<String> = self.rules.iter().map(EndRule::to_string).collect();
        if !model.operations.is_empty() {
            let every = model.measure_every;
            lines.push(format!("age in steps of {every} operations until {}", rules.join(" or ")));
        }
        for plan in &model.maintenance {
            let when = plan
                .every
                .map_or("at the end".to_owned(), |every| format!("every {every} operations"));
            let reads = if plan.reads { ", and read cold before and after" } else { "" };
            lines.push(format!("{} {when}{reads}", plan.name));
        }
        if self.fast_forward {
            lines.push("write what was allocated and still stands".to_owned());
        }
        lines
    }

    fn remounts(&self) -> bool {
        matches!(&self.by, OperationSource::Model(model) if model.remount_every.is_some())
    }

    fn work(&self) -> WorkLimit {
        let is_counted =
            |rule: &EndRule| matches!(rule, EndRule::Operations(_) | EndRule::Written(_));
        let holds = matches!(&self.by, OperationSource::Model(model) if model.hold_full.is_some());
        if !holds && self.rules.iter().all(is_counted) {
            WorkLimit::Fixed
        } else {
            WorkLimit::Drawn
        }
    }

    fn tasks(&self, facts: &TargetFacts) -> u64 {
        match &self.by {
            OperationSource::Workload(job) => job.tasks(facts),
            OperationSource::History(history, every) => {
                let later = (history.steps - 1).min(self.operations().unwrap_or(u64::MAX));
                1 + later.div_ceil(*every)
            }
            OperationSource::Model(model) => {
                let populations = model.files.len() as u64;
                let written = if self.fast_forward { populations } else { 0 };
                let operations = self.operations().unwrap_or(0);
                let maintained = model.maintenance.iter().map(|plan| {
                    let runs = plan.every.map_or(1, |every| operations / every);
                    let tasks = MaintenancePart::of(plan).iter().map(|part| part.tasks());
                    runs * u64::from(tasks.sum::<u32>())
                });
                1 + populations + self.steps(model) + written + maintained.sum::<u64>()
            }
        }
    }

    fn foreseen_metrics(&self, facts: &TargetFacts) -> Vec<Metric> {
        match &self.by {
            OperationSource::Workload(job) => job.foreseen_metrics(facts),
            OperationSource::Model(model) => {
                foreseen().into_iter().chain(maintenance_metrics(&model.maintenance)).collect()
            }
            OperationSource::History(..) => foreseen(),
        }
    }

    fn begin(&self, facts: &TargetFacts) -> Box<dyn Session + '_> {
        let ending = EndingMonitor::new(self.rules.clone(), facts.capacity_bytes);
        match &self.by {
            OperationSource::Workload(job) => {
                let inner = job.begin(facts);
                Box::new(WorkloadSession::new(inner, ending, AGING_PHASE))
            }
            OperationSource::History(history, every) => {
                let replay = ReplayState::new(Arc::clone(history));
                // With the first commit, which is none of the operations.
                let steps = self.operations().unwrap_or(u64::MAX).saturating_add(1);
                let lookahead =
                    self.fast_forward.then(|| ReplayLookahead::new(history.fates(steps)));
                Box::new(HistorySession::new(replay, ending, *every, lookahead))
            }
            OperationSource::Model(model) if !self.earlier.is_empty() => {
                let live_bytes = self.earlier.first().map_or(0, |step| step.live_bytes);
                // The operation was drawn once before, when the job was made.
                let generator = self.replayed(model, &self.earlier).unwrap_or_else(|_| {
                    OperationGenerator::new(model.clone(), self.seed, live_bytes)
                });
                let session = AgeSession::new(generator, ending, live_bytes, false)
                    .on(facts.filesystem.as_deref());
                Box::new(session.going_on(self.earlier.clone(), model.files.len()))
            }
            OperationSource::Model(model) => {
                let live_bytes = self.live_bytes(facts);
                let generator = OperationGenerator::new(model.clone(), self.seed, live_bytes);
                let session = AgeSession::new(generator, ending, live_bytes, self.fast_forward);
                Box::new(session.on(facts.filesystem.as_deref()))
            }
        }
    }
}

/// Caution about a target that was used before, since its layout also reflects the earlier use.
fn not_fresh(facts: &TargetFacts) -> Option<Caution> {
    let entry = facts.existing.iter().find(|name| *name != "lost+found");
    let used = facts.capacity_bytes.saturating_sub(facts.free_bytes) as f64;
    let used = used / facts.capacity_bytes.max(1) as f64;
    let text = match entry {
        Some(name) => format!("the directory is not empty, it has {name}"),
        None if used > USED_MUCH => {
            format!("{:.0} % of the filesystem were in use before", used * 100.0)
        }
        None => return None,
    };
    let message = format!("the filesystem is not fresh: {text}");
    Some(Caution { code: CautionCode::NotFresh, message })
}

/// Estimates the bytes that this many operations write.
fn written(model: &Model, operations: Option<u64>) -> u64 {
    let weights: u64 = model.operations.iter().map(|plan| plan.weight).sum();
    let of = |place: usize| &model.operations[place];
    let mean: u128 = (0..model.operations.len())
        .map(|place| {
            let plan = of(place);
            let bytes = match plan.kind {
                OperationKind::Rename
                | OperationKind::Delete
                | OperationKind::Reflink
                | OperationKind::Punch => 0,
                OperationKind::Create | OperationKind::Copy => model.files[plan.files].sizes.mean(),
                OperationKind::Compact => plan.inputs * model.files[plan.files].sizes.mean(),
                _ => plan.bytes.mean(),
            };
            u128::from(bytes) * u128::from(plan.weight)
        })
        .sum();
    let written_bytes = mean * u128::from(operations.unwrap_or(0)) / u128::from(weights.max(1));
    u64::try_from(written_bytes).unwrap_or(u64::MAX)
}
