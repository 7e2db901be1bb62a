//! Fast-forward: all operations are known in advance, and so are the files that are written in vain
//! because a later operation removes or replaces them.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::sync::Arc;

use treering_datasets::FileList;
use treering_script::NameId;

use super::operation::{OperationKind, TreeOperation};
use super::plan::{PlannedPhase, TaskWork};
use super::recipes::{Recipe, Recipes};

/// Later operations on a tree.
#[derive(Clone, Debug, Default)]
struct LaterOperations {
    is_deleted: bool,
    recipes: BTreeSet<Recipe>,
}

impl LaterOperations {
    /// True if a file of the tree is removed or replaced later; `touched` are the files of the
    /// later recipes.
    fn takes(&self, touched: &HashSet<NameId>, file: NameId) -> bool {
        self.is_deleted || touched.contains(&file)
    }
}

/// Look-ahead over the operations to come, and files allocated so far.
#[derive(Debug)]
pub(super) struct FastForward {
    /// Later operations on the same tree, for each operation in order.
    later: VecDeque<LaterOperations>,
    /// Existing files that are only allocated, by tree.
    allocated: BTreeMap<String, BTreeMap<NameId, u64>>,
    has_begun: bool,
}

impl FastForward {
    pub(super) fn new(phases: &[PlannedPhase]) -> Self {
        let mut trees: BTreeMap<&str, LaterOperations> = BTreeMap::new();
        let mut later = VecDeque::new();
        let works = phases.iter().flat_map(|phase| phase.groups.iter().flatten());
        for work in works.collect::<Vec<_>>().into_iter().rev() {
            let TaskWork::Operation(operation) = work else { continue };
            let known = trees.entry(&operation.tree).or_default();
            later.push_front(known.clone());
            match operation.kind {
                OperationKind::Create => *known = LaterOperations::default(),
                OperationKind::Delete => {
                    *known = LaterOperations { is_deleted: true, ..LaterOperations::default() }
                }
                kind => known.recipes.extend(kind.recipe(operation.state)),
            }
        }
        Self { later, allocated: BTreeMap::new(), has_begun: false }
    }

    /// Advances to the next operation; returns the files that need not be written, and true for the
    /// first operation. Called once per operation, in order.
    pub(super) fn next(
        &mut self,
        operation: &TreeOperation,
        recipes: &Recipes,
    ) -> (Arc<HashSet<NameId>>, bool) {
        let later = self.later.pop_front().unwrap_or_default();
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let mut goes = HashSet::new();
        if operation.kind == OperationKind::Delete {
            self.allocated.remove(&operation.tree);
        } else if let Some(recipe) = operation.kind.recipe(operation.state) {
            let change = recipes.get(recipe);
            let touched = later.recipes.iter().map(|recipe| recipes.get(*recipe));
            let touched = touched.flat_map(|change| {
                change.removes.iter().copied().chain(change.writes.iter().map(|(name, _)| name))
            });
            let touched: HashSet<NameId> = touched.collect();
            let allocated = self.allocated.entry(operation.tree.clone()).or_default();
            for name in &change.removes {
                allocated.remove(name);
            }
            for (name, size) in change.writes.iter() {
                if later.takes(&touched, name) {
                    goes.insert(name);
                    allocated.insert(name, size);
                } else {
                    allocated.remove(&name);
                }
            }
        }
        (Arc::new(goes), is_first)
    }

    /// Takes a tree with its files that are only allocated; called at the end until `None`.
    pub(super) fn take(&mut self) -> Option<(String, FileList)> {
        while let Some((tree, files)) = self.allocated.pop_first() {
            if files.is_empty() {
                continue;
            }
            let mut list = FileList::default();
            files.into_iter().for_each(|(name, size)| list.push(name, size));
            return Some((tree, list));
        }
        None
    }

    /// Number of trees with files that are only allocated.
    pub(super) fn trees(&self) -> usize {
        self.allocated.values().filter(|files| !files.is_empty()).count()
    }
}
