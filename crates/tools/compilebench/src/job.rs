//! A configured compilebench: from settings to plan, footprint and session.

use std::path::{Path, PathBuf};

use treering_datasets::{Dataset, classic, library};
use treering_model::metrics::times;
use treering_model::{Caution, CautionCode, Metric};
use treering_script::{
    ConfigError, Footprint, Job, NameId, NodeKind as NameKind, OutlineLine, Random, RunRequest,
    ScaleUnit, Session, Settings, TargetFacts, WorkScale, with_causes,
};

use super::classic_plan::{self, ClassicShape};
use super::footprint::footprint;
use super::forward::FastForward;
use super::headline;
use super::native_plan::{self, NativeShape, OperationMix, SyncPolicy};
use super::options::{ClassicOptions, NativeOptions, RUNS_MAX};
use super::plan::{INITIAL_CREATE, NATIVE_ORDER, OPERATIONS, PlannedPhase, TaskWork};
use super::recipes::{NativeList, Recipe, Recipes};
use super::session::{AgingSession, OperationStyle, kind_name, native_tree};
use super::text;

/// Numbers of trees and runs that are planned to find the kinds of operation of a run.
const FORESEEN_TREES: u32 = 100;
const FORESEEN_RUNS: u32 = 1_000;
/// Maximum size of a request; one call on Linux moves slightly less than 2 GiB.
const LARGEST_CHUNK: u64 = 1 << 30;

#[derive(Clone, Debug)]
enum RunShape {
    Classic(ClassicShape),
    Native {
        shape: NativeShape,
        /// Target fraction of used space, in place of a number of trees.
        fill: Option<f64>,
    },
}

/// compilebench with all its settings.
#[derive(Debug)]
pub(super) struct AgingJob {
    shape: RunShape,
    style: OperationStyle,
    recipes: Recipes,
    /// Directories of one tree in all its states.
    tree_dirs: u64,
    request: RunRequest,
    /// True if files that are removed before the end are only allocated.
    fast_forward: bool,
}

impl AgingJob {
    /// Reads the classic command line.
    pub(super) fn classic(settings: &Settings) -> Result<Self, ConfigError> {
        let mut options = ClassicOptions::read(settings)?;
        let chunk_bytes = chunk(options.buffer_size)?;
        let dataset = match settings.text("sources") {
            Some(source) => load(source, settings)?,
            None if Path::new("dataset-unpatched").exists() => load(".", settings)?,
            None => load("linux-6.1", settings)?,
        };
        let (mut recipes, shuffled) = Recipes::classic(&dataset);
        let shape = ClassicShape {
            seed: options.seed,
            initial_dirs: options.initial_dirs,
            runs: options.runs,
            makej: options.makej,
            sync: !options.no_sync,
            shuffled,
        };
        sort(&mut recipes);
        for recipe in [Recipe::Compile, Recipe::Clean] {
            // The same generator for both: a clean removes in the order of the compile.
            shuffle(&mut recipes, recipe, &mut Random::for_part(shape.seed, "compile order"));
        }
        options.sources = lasting_name(settings.text("sources").unwrap_or(&dataset.name));
        let style = OperationStyle { classic: true, chunk_bytes };
        let request = RunRequest::classic(options.parameters());
        Ok(Self::new(RunShape::Classic(shape), style, recipes, &dataset, request))
    }

    /// Reads native options.
    pub(super) fn native(settings: &Settings) -> Result<Self, ConfigError> {
        let mut options = NativeOptions::read(settings)?;
        let chunk_bytes = chunk(options.buffer_size)?;
        let fill = options.fill;
        if fill.is_some() && settings.text("initial-dirs").is_some() {
            return Err(ConfigError::new("--fill and --initial-dirs exclude each other")
                .hint("give the share to fill, or the number of trees"));
        }
        let shape = NativeShape {
            seed: options.seed,
            initial_dirs: options.initial_dirs.unwrap_or_default(),
            runs: options.runs,
            makej: options.makej,
            threads: options.threads,
            mix: OperationMix::parse(&options.mix)?,
            sync: match options.sync {
                "end" => SyncPolicy::End,
                "none" => SyncPolicy::Never,
                _ => SyncPolicy::Each,
            },
            drop_caches: options.drop_caches == "each",
            native_order: options.order == "native",
        };
        let dataset = load(&options.dataset, settings)?;
        let mut recipes = Recipes::native(&dataset);
        arrange_native(&mut recipes, options.order, shape.seed);
        options.dataset = lasting_name(&options.dataset);
        options.initial_dirs = options.initial_dirs.filter(|_| fill.is_none());
        options.mix = shape.mix.text();
        let style = OperationStyle { classic: false, chunk_bytes };
        let shape = RunShape::Native { shape, fill };
        let request = RunRequest::native(options.parameters());
        Ok(Self::new(shape, style, recipes, &dataset, request))
    }

    /// Sets whether files that are removed before the end are only allocated.
    pub(super) fn with_fast_forward(self, fast_forward: bool) -> Self {
        Self { fast_forward, ..self }
    }

    fn new(
        shape: RunShape,
        style: OperationStyle,
        recipes: Recipes,
        dataset: &Dataset,
        request: RunRequest,
    ) -> Self {
        let is_dir = |id: &u32| dataset.names.kind(NameId(*id)) == NameKind::Directory;
        let names = u32::try_from(dataset.names.len()).unwrap_or(u32::MAX);
        let tree_dirs = (0..names).filter(is_dir).count() as u64;
        Self { shape, style, recipes, tree_dirs, request, fast_forward: false }
    }

    fn phases(&self, facts: &TargetFacts) -> Vec<PlannedPhase> {
        match &self.shape {
            RunShape::Classic(shape) => classic_plan::phases(shape, &facts.existing),
            RunShape::Native { shape, fill } => {
                let initial_dirs =
                    fill.map_or(shape.initial_dirs, |fill| self.trees_to(fill, facts));
                native_plan::phases(&NativeShape { initial_dirs, ..shape.clone() })
            }
        }
    }

    /// Number of clean trees that fill the filesystem to this fraction of its capacity; a few
    /// stand for those on a filesystem of unknown size.
    fn trees_to(&self, fill: f64, facts: &TargetFacts) -> u32 {
        if facts.capacity_bytes == u64::MAX {
            return FORESEEN_TREES;
        }
        let used = facts.capacity_bytes.saturating_sub(facts.free_bytes);
        let wanted = facts.capacity_bytes as f64 * fill - used as f64;
        let block_bytes = facts.block_bytes.max(1);
        let files = &self.recipes.get(Recipe::Create).writes;
        // Each directory takes a block, on average.
        let blocks: u64 = files.iter().map(|(_, size)| size.div_ceil(block_bytes)).sum();
        let a_tree = (blocks + self.tree_dirs).saturating_mul(block_bytes).max(1);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a negative share is no tree, and the cast saturates"
        )]
        let trees = (wanted / a_tree as f64).ceil().max(0.0) as u32;
        trees.min(1_000_000)
    }

    fn trees_there(facts: &TargetFacts) -> Vec<&String> {
        let is_ours = |name: &&String| {
            let number = name.strip_prefix("kernel-").or_else(|| name.strip_prefix("native-"));
            number.is_some_and(|tail| {
                !tail.is_empty() && tail.bytes().all(|byte| byte.is_ascii_digit())
            })
        };
        facts.existing.iter().filter(is_ours).collect()
    }
}

impl Job for AgingJob {
    fn request(&self) -> &RunRequest {
        &self.request
    }

    fn check(&self, facts: &TargetFacts) -> Result<Vec<Caution>, ConfigError> {
        let existing = Self::trees_there(facts);
        if let RunShape::Native { fill: Some(_), .. } = &self.shape
            && facts.capacity_bytes == u64::MAX
        {
            return Err(ConfigError::new("--fill: the size of the filesystem is not known")
                .hint("name a directory on it with --dir"));
        }
        if let RunShape::Native { fill: Some(fill), .. } = &self.shape
            && self.trees_to(*fill, facts) == 0
        {
            let full = 1.0 - facts.free_bytes as f64 / facts.capacity_bytes.max(1) as f64;
            return Err(ConfigError::new(format!(
                "--fill: the filesystem is {:.1}% full already, more than {:.1}%",
                full * 100.0,
                fill * 100.0
            ))
            .hint("ask for a larger share, or give --initial-dirs"));
        }
        let Some(first) = existing.first() else { return Ok(Vec::new()) };
        let message = match existing.len() - 1 {
            0 => format!("{first} is there already"),
            more => format!("{first} and {more} more trees are there already"),
        };
        if self.style.classic {
            let appended = format!("{message}; as in the original, files will be appended to");
            return Ok(vec![Caution { code: CautionCode::AppendedToExisting, message: appended }]);
        }
        Err(ConfigError::new(message).hint(
            "name an empty directory, or remove the trees; `treering lab clean DIR` removes what a \
             killed run left",
        ))
    }

    fn footprint(&self, facts: &TargetFacts) -> Footprint {
        footprint(&self.recipes, &self.phases(facts), facts.block_bytes)
    }

    fn outline(&self, facts: &TargetFacts) -> Vec<OutlineLine> {
        let phases = self.phases(facts);
        let works = phases.iter().flat_map(|phase| phase.groups.iter().flatten());
        works.filter_map(|work| self.outline_line(work, &facts.existing)).collect()
    }

    fn foreseen_metrics(&self, facts: &TargetFacts) -> Vec<Metric> {
        // Every kind that is drawn at all is drawn soon; the whole plan may be long.
        let mut phases = match &self.shape {
            RunShape::Classic(shape) => {
                let runs = shape.runs.min(FORESEEN_RUNS);
                let initial_dirs = shape.initial_dirs.min(FORESEEN_TREES);
                let shape = ClassicShape { initial_dirs, runs, ..shape.clone() };
                classic_plan::phases(&shape, &facts.existing)
            }
            RunShape::Native { shape, fill } => {
                let trees = if fill.is_some() { FORESEEN_TREES } else { shape.initial_dirs };
                let (runs, initial_dirs) =
                    (shape.runs.min(FORESEEN_RUNS), trees.min(FORESEEN_TREES));
                native_plan::phases(&NativeShape { initial_dirs, runs, ..shape.clone() })
            }
        };
        phases.retain(|phase| phase.name != NATIVE_ORDER);
        let kinds = phases.iter().flat_map(|phase| {
            let initial = phase.name == INITIAL_CREATE;
            let works = phase.groups.iter().flatten();
            works.filter_map(move |work| match work {
                TaskWork::Operation(operation) => Some(kind_name(operation.kind, initial)),
                TaskWork::NativeCreate(_) | TaskWork::NativeWalk(_) | TaskWork::NativeDelete(_) => {
                    None
                }
            })
        });
        headline::foreseen(kinds)
    }

    fn scale(&self) -> Option<WorkScale> {
        let RunShape::Native { shape, .. } = &self.shape else { return None };
        (!shape.makej && shape.runs > 0).then_some(WorkScale {
            option: "runs",
            key: None,
            value: shape.runs.into(),
            most: RUNS_MAX,
            unit: ScaleUnit::Amount { name: "operations", each: 1 },
            follows: |phase| phase == OPERATIONS,
            sizes: &["runs", "initial-dirs", "fill"],
        })
    }

    fn overall_metric(&self) -> Option<&'static str> {
        Some(times::OPERATION_SECONDS.name)
    }

    fn begin(&self, facts: &TargetFacts) -> Box<dyn Session + '_> {
        let phases = self.phases(facts);
        let forward = self.fast_forward.then(|| FastForward::new(&phases));
        let recipes = self.recipes.clone();
        Box::new(AgingSession::new(self.style, recipes, phases, &facts.existing, forward))
    }
}

impl AgingJob {
    fn outline_line(&self, work: &TaskWork, existing: &[String]) -> Option<OutlineLine> {
        match work {
            TaskWork::NativeCreate(list) => {
                let bytes = self.recipes.native_list(*list).bytes();
                let kind = format!("native {}", list.name());
                text::task_outline(&kind, &native_tree(existing), bytes)
            }
            TaskWork::NativeWalk(_) | TaskWork::NativeDelete(_) => None,
            TaskWork::Operation(operation) => {
                let recipe = operation.kind.recipe(operation.state);
                let bytes = recipe.map_or(0, |recipe| self.recipes.get(recipe).listed_bytes);
                text::task_outline(operation.kind.name(), &operation.tree, bytes)
            }
        }
    }
}

/// True if the data set is a directory with the original's files rather than a name.
fn is_directory(source: &str) -> bool {
    Path::new(source).join("dataset-unpatched").exists() || source.contains('/') || source == "."
}

/// Name of the data set that is valid in any working directory: relative paths are made absolute.
fn lasting_name(source: &str) -> String {
    let full = Some(source).filter(|source| is_directory(source)).map(std::path::absolute);
    full.and_then(Result::ok).map_or(source.to_owned(), |full| full.to_string_lossy().into_owned())
}

fn load(source: &str, settings: &Settings) -> Result<Dataset, ConfigError> {
    let path = PathBuf::from(source);
    if is_directory(source) {
        return classic::read_directory(source, &path).map_err(|error| {
            let right = "give a directory with the original's four dataset files, or a name from \
                         `treering dataset list`";
            let right = error.hint().unwrap_or_else(|| right.to_owned());
            ConfigError::new(with_causes(&error)).hint(right)
        });
    }
    library::load(source, &settings.data_dirs)
        .map_err(|error| ConfigError { message: with_causes(&error), hint: error.hint() })
}

fn chunk(bytes: u64) -> Result<u32, ConfigError> {
    u32::try_from(bytes).ok().filter(|_| (1..=LARGEST_CHUNK).contains(&bytes)).ok_or_else(|| {
        ConfigError::new(format!("--buffer-size: {bytes} is not between 1 and {LARGEST_CHUNK}"))
            .hint("the original's is 262144")
    })
}

const SORTED: [Recipe; 3] = [Recipe::Create, Recipe::Patch, Recipe::PatchCompiled];
const PRODUCTS: [Recipe; 4] =
    [Recipe::Compile, Recipe::CompilePatched, Recipe::Clean, Recipe::CleanPatched];

/// Sorts the lists from which a native order is determined: parents before children, then by bytes.
fn sort(recipes: &mut Recipes) {
    let ranks = ranks(recipes);
    for list in NativeList::ALL {
        let mut order: Vec<NameId> =
            recipes.native_list(list).iter().map(|(name, _)| name).collect();
        order.sort_unstable_by_key(|name| ranks[name.index()]);
        recipes.reorder(list, &order);
    }
}

fn ranks(recipes: &Recipes) -> Vec<u32> {
    let mut ranks = vec![0; recipes.names.len()];
    for (rank, name) in (0..).zip(recipes.names.sorted_walk()) {
        ranks[name.index()] = rank;
    }
    ranks
}

fn shuffle(recipes: &mut Recipes, recipe: Recipe, random: &mut Random) {
    recipes.arrange(recipe, |_, order| random.shuffle(order));
}

fn arrange_native(recipes: &mut Recipes, order: &str, seed: u64) {
    sort(recipes);
    if order == "sorted" {
        let ranks = ranks(recipes);
        for recipe in PRODUCTS {
            recipes.arrange(recipe, |_, names| {
                names.sort_unstable_by_key(|name| ranks[name.index()]);
            });
        }
        return;
    }
    let kinds = if order == "random" { &SORTED[..] } else { &[] };
    for recipe in PRODUCTS.iter().chain(kinds) {
        let part = format!("order of {recipe:?}");
        shuffle(recipes, *recipe, &mut Random::for_part(seed, &part));
    }
}
