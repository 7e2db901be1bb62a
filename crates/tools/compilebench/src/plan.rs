//! Plan of a run: every operation, determined before the first one is executed.
//!
//! Draws are in `classic_plan.rs` and `native_plan.rs`, the files of operations in `recipes.rs`,
//! the execution in `session.rs`.

use treering_script::SyncScope;

use super::operation::TreeOperation;
use super::recipes::NativeList;

/// Work of one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TaskWork {
    /// Writes a list into a temporary tree, to learn the filesystem's order.
    NativeCreate(NativeList),
    /// Walks the temporary tree; the order found becomes the order of the list.
    NativeWalk(NativeList),
    /// Removes the temporary tree.
    NativeDelete(NativeList),
    /// An operation on a tree.
    Operation(TreeOperation),
}

/// A phase with its groups; the works of a group run concurrently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlannedPhase {
    /// Name of the phase.
    pub(super) name: &'static str,
    /// Groups of concurrent works.
    pub(super) groups: Vec<Vec<TaskWork>>,
    /// Groups before which caches are dropped.
    pub(super) drop_caches: CacheDrop,
    /// Scope of a sync as the last step of every work, within its time.
    pub(super) sync_each: Option<SyncScope>,
    /// Scope of a sync after the last group, outside all times.
    pub(super) sync_end: Option<SyncScope>,
}

/// Groups of a phase before which caches are dropped.
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
    /// Phase without sync and cache drop.
    pub(super) fn new(name: &'static str, groups: Vec<Vec<TaskWork>>) -> Self {
        Self { name, groups, drop_caches: CacheDrop::Never, sync_each: None, sync_end: None }
    }

    /// Number of works.
    pub(super) fn works(&self) -> usize {
        self.groups.iter().map(Vec::len).sum()
    }
}

/// Name of the phase that determines native orders.
pub(super) const NATIVE_ORDER: &str = "native order";
/// Name of the phase of the initial creates.
pub(super) const INITIAL_CREATE: &str = "initial create";
/// Name of the phase of random operations.
pub const OPERATIONS: &str = "operations";

/// Phase that determines native orders, one tree after the other.
pub(super) fn native_order_phase() -> PlannedPhase {
    let works = |list| {
        [TaskWork::NativeCreate(list), TaskWork::NativeWalk(list), TaskWork::NativeDelete(list)]
    };
    let groups = NativeList::ALL.into_iter().flat_map(works).map(|work| vec![work]).collect();
    PlannedPhase::new(NATIVE_ORDER, groups)
}
