//! Footprint of a run on the filesystem, found by replaying its plan on sums.
//!
//! Names that every recipe treats alike form a group; there are only a handful of groups, and a
//! tree is represented by the recipe that wrote each group last. So a replay costs nothing per
//! file.

use std::collections::HashMap;

use treering_script::{Footprint, NameId, NodeKind as NameKind};

use super::operation::{OperationKind, TreeOperation};
use super::plan::{PlannedPhase, TaskWork};
use super::recipes::{NativeList, Recipe, Recipes};

const RECIPES: [Recipe; 7] = [
    Recipe::Create,
    Recipe::Patch,
    Recipe::PatchCompiled,
    Recipe::Compile,
    Recipe::CompilePatched,
    Recipe::Clean,
    Recipe::CleanPatched,
];

/// Number of files, bytes, and bytes rounded up to whole blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FileSum {
    files: u64,
    bytes: u64,
    block_bytes: u64,
}

impl FileSum {
    fn add(&mut self, other: Self) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.block_bytes += other.block_bytes;
    }
}

/// Group of names that every recipe treats alike.
#[derive(Clone, Copy, Debug, Default)]
struct NameGroup {
    /// Sums that each recipe writes, by the index of the recipe in [`RECIPES`].
    written: [FileSum; 7],
    /// True for each recipe that removes the group.
    removed: [bool; 7],
}

/// Content of a tree: for each group, the index of the recipe that wrote it.
type TreeContent = Vec<Option<usize>>;

/// Groups of a set of recipes.
#[derive(Debug)]
struct NameGroups {
    groups: Vec<NameGroup>,
}

impl NameGroups {
    fn new(recipes: &Recipes, block_bytes: u64) -> Self {
        let block_bytes = block_bytes.max(1);
        let mut marks = vec![0u16; recipes.names.len()];
        for (place, recipe) in RECIPES.into_iter().enumerate() {
            let change = recipes.get(recipe);
            for (name, _) in change.writes.iter() {
                marks[name.index()] |= 1 << place;
            }
            for name in &change.removes {
                marks[name.index()] |= 1 << (place + RECIPES.len());
            }
        }
        let mut places: HashMap<u16, usize> = HashMap::new();
        let mut groups: Vec<NameGroup> = Vec::new();
        let mut group_of = |mark: u16, groups: &mut Vec<NameGroup>| {
            *places.entry(mark).or_insert_with(|| {
                groups.push(NameGroup::default());
                groups.len() - 1
            })
        };
        for (place, recipe) in RECIPES.into_iter().enumerate() {
            let change = recipes.get(recipe);
            for (name, bytes) in change.writes.iter() {
                let group = group_of(marks[name.index()], &mut groups);
                let block_bytes = bytes.div_ceil(block_bytes).saturating_mul(block_bytes);
                groups[group].written[place].add(FileSum { files: 1, bytes, block_bytes });
            }
            for name in &change.removes {
                let group = group_of(marks[name.index()], &mut groups);
                groups[group].removed[place] = true;
            }
        }
        Self { groups }
    }

    /// Applies a recipe to a content and returns the sum that it writes.
    fn apply(&self, recipe: Recipe, content: &mut TreeContent) -> FileSum {
        let place = RECIPES.iter().position(|&known| known == recipe).expect("all are listed");
        let mut written = FileSum::default();
        for (group, by) in self.groups.iter().zip(content) {
            if group.removed[place] {
                *by = None;
            }
            if group.written[place].files > 0 {
                *by = Some(place);
                written.add(group.written[place]);
            }
        }
        written
    }

    fn sum(&self, content: &TreeContent) -> FileSum {
        let mut sum = FileSum::default();
        for (group, by) in self.groups.iter().zip(content) {
            if let Some(place) = *by {
                sum.add(group.written[place]);
            }
        }
        sum
    }

    fn nothing(&self) -> TreeContent {
        vec![None; self.groups.len()]
    }
}

/// Footprint of the phases on a filesystem with blocks of this size.
pub(super) fn footprint(recipes: &Recipes, phases: &[PlannedPhase], block_bytes: u64) -> Footprint {
    let groups = NameGroups::new(recipes, block_bytes);
    let is_dir = |id: &u32| recipes.names.kind(NameId(*id)) == NameKind::Directory;
    let count = u32::try_from(recipes.names.len()).unwrap_or(u32::MAX);
    let dirs_a_tree = (0..count).filter(is_dir).count() as u64;
    let mut replay = PlanReplay { groups, trees: HashMap::new(), footprint: Footprint::default() };
    for group in phases.iter().flat_map(|phase| &phase.groups) {
        let mut temporary = FileSum::default();
        for work in group {
            match work {
                TaskWork::NativeCreate(list) => temporary = replay.native(*list),
                TaskWork::NativeWalk(_) | TaskWork::NativeDelete(_) => {}
                TaskWork::Operation(operation) => replay.operation(operation),
            }
        }
        replay.note_peak(temporary, dirs_a_tree);
    }
    replay.footprint
}

struct PlanReplay {
    groups: NameGroups,
    trees: HashMap<String, (TreeContent, FileSum)>,
    footprint: Footprint,
}

impl PlanReplay {
    fn native(&mut self, list: NativeList) -> FileSum {
        let recipe = match list {
            NativeList::Unpatched => Recipe::Create,
            NativeList::Patched => Recipe::Patch,
            NativeList::PatchedCompiled => Recipe::PatchCompiled,
        };
        let sum = self.groups.apply(recipe, &mut self.groups.nothing());
        self.footprint.written_files += sum.files;
        self.footprint.written_bytes += sum.bytes;
        sum
    }

    fn operation(&mut self, operation: &TreeOperation) {
        if operation.kind == OperationKind::Delete {
            self.trees.remove(&operation.tree);
            return;
        }
        let Some(recipe) = operation.kind.recipe(operation.state) else { return };
        let groups = &self.groups;
        let entry = self.trees.entry(operation.tree.clone());
        let (content, sum) = entry.or_insert_with(|| (groups.nothing(), FileSum::default()));
        let written = groups.apply(recipe, content);
        *sum = groups.sum(content);
        self.footprint.written_files += written.files;
        self.footprint.written_bytes += written.bytes;
    }

    fn note_peak(&mut self, temporary: FileSum, dirs_a_tree: u64) {
        let mut standing = temporary;
        self.trees.values().for_each(|(_, sum)| standing.add(*sum));
        let trees = self.trees.len() as u64 + u64::from(temporary.files > 0);
        let footprint = &mut self.footprint;
        footprint.peak_files = footprint.peak_files.max(standing.files);
        footprint.peak_bytes = footprint.peak_bytes.max(standing.bytes);
        footprint.peak_block_bytes = footprint.peak_block_bytes.max(standing.block_bytes);
        footprint.peak_dirs = footprint.peak_dirs.max(trees * dirs_a_tree);
    }
}
