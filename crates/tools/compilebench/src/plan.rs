//! A plan: every operation of a run, decided before the first one is done.
//!
//! What is drawn is in `classic_plan.rs` and `native_plan.rs`; what the operations are made of, in
//! `recipes.rs`; how they are carried out, in `session.rs`.

use treering_script::SyncScope;

use super::operation::Operation;
use super::recipes::NativeList;

/// What a task does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Writes a list into a temporary tree, to learn the filesystem's order of it.
    NativeCreate(NativeList),
    /// Walks that tree; the order met becomes the order of the list.
    NativeWalk(NativeList),
    /// Removes it.
    NativeDelete(NativeList),
    /// An operation on a tree.
    Operation(Operation),
}

/// A phase with its groups; the works of a group run side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlannedPhase {
    /// Its name.
    pub(super) name: &'static str,
    /// ParallelGroups of works.
    pub(super) groups: Vec<Vec<Work>>,
    /// Whether caches are dropped before each group.
    pub(super) drop_caches: CacheDrop,
    /// A sync as the last step of every work, inside its time.
    pub(super) sync_each: Option<SyncScope>,
    /// A sync after the last group, outside all times.
    pub(super) sync_end: Option<SyncScope>,
}

/// When caches are dropped in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CacheDrop {
    /// Never.
    Never,
    /// Once, before the first group.
    First,
    /// Before each group.
    Each,
}

impl PlannedPhase {
    /// A phase without sync and dropping.
    pub(super) fn new(name: &'static str, groups: Vec<Vec<Work>>) -> Self {
        Self { name, groups, drop_caches: CacheDrop::Never, sync_each: None, sync_end: None }
    }

    /// How many works.
    pub(super) fn works(&self) -> usize {
        self.groups.iter().map(Vec::len).sum()
    }
}

/// The name of the phase in which the native orders are found.
pub(super) const NATIVE_ORDER: &str = "native order";
/// The name of the phase of the first trees.
pub(super) const INITIAL_CREATE: &str = "initial create";
/// The name of the phase of random operations.
pub const OPERATIONS: &str = "operations";

/// The phase that finds the native orders, one tree after the other.
pub(super) fn native_order_phase() -> PlannedPhase {
    let works = |list| [Work::NativeCreate(list), Work::NativeWalk(list), Work::NativeDelete(list)];
    let groups = NativeList::ALL.into_iter().flat_map(works).map(|work| vec![work]).collect();
    PlannedPhase::new(NATIVE_ORDER, groups)
}
