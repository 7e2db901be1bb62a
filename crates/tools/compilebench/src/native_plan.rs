//! The native sequence: the operations with weights of the user's choice, any number concurrently,
//! drawn from treering's own generator.

use std::collections::{BTreeMap, HashSet};

use treering_datasets::TreeState;
use treering_script::{ConfigError, Random, SyncScope};

use super::operation::{OperationKind, TreeOperation};
use super::plan::{
    CacheDrop, INITIAL_CREATE, OPERATIONS, PlannedPhase, TaskWork, native_order_phase,
};
use super::tally::SummaryRow;

/// Weights of the kinds of operations, in the order of [`OperationKind::ALL`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OperationMix([u32; 7]);

impl Default for OperationMix {
    fn default() -> Self {
        Self([1; 7])
    }
}

impl OperationMix {
    /// Parses `create=2,patch=1`; kinds that are not named have weight 0.
    pub(super) fn parse(text: &str) -> Result<Self, ConfigError> {
        let kinds = || OperationKind::ALL.map(OperationKind::name).join(", ");
        let wrong = |message: String| {
            ConfigError::new(format!("--mix: {message}")).hint(format!(
                "a mix is kind=weight, separated by commas, as create=2,patch=1; kinds: {}",
                kinds()
            ))
        };
        let mut weights = [0; 7];
        let mut seen = HashSet::new();
        for part in text.split(',').map(str::trim) {
            let (name, weight) =
                part.split_once('=').ok_or_else(|| wrong(format!("'{part}' has no '='")))?;
            let place = OperationKind::ALL
                .iter()
                .position(|kind| kind.name() == name.trim())
                .ok_or_else(|| wrong(format!("'{}' is no kind of operation", name.trim())))?;
            if !seen.insert(place) {
                return Err(wrong(format!("'{}' is there twice", name.trim())));
            }
            weights[place] =
                weight.trim().parse::<u32>().ok().filter(|&w| w <= 1_000_000).ok_or_else(|| {
                    wrong(format!("'{}' is not a weight from 0 to 1000000", weight.trim()))
                })?;
        }
        if weights.iter().all(|&weight| weight == 0) {
            return Err(wrong("all weights are 0".to_owned()));
        }
        Ok(Self(weights))
    }

    /// Canonical text of the mix.
    pub(super) fn text(&self) -> String {
        let named = OperationKind::ALL.iter().zip(self.0).filter(|(_, weight)| *weight > 0);
        named.map(|(kind, weight)| format!("{kind}={weight}")).collect::<Vec<_>>().join(",")
    }
}

/// Time of syncs in native mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyncPolicy {
    /// After every operation, within its time.
    Each,
    /// After the last group of each phase.
    End,
    /// Never.
    Never,
}

/// Parameters of the native sequence.
#[derive(Clone, Debug)]
pub(super) struct NativeShape {
    pub(super) seed: u64,
    pub(super) initial_dirs: u32,
    pub(super) runs: u32,
    pub(super) makej: bool,
    pub(super) threads: u16,
    pub(super) mix: OperationMix,
    pub(super) sync: SyncPolicy,
    pub(super) drop_caches: bool,
    /// True if the filesystem's native order is determined first.
    pub(super) native_order: bool,
}

/// Phases of a native run.
pub(super) fn phases(shape: &NativeShape) -> Vec<PlannedPhase> {
    let mut sequence = NativeSequence::new(shape);
    let mut phases = Vec::new();
    if shape.native_order {
        phases.push(native_order_phase());
    }
    let syncing = |mut phase: PlannedPhase| {
        phase.sync_each = (shape.sync == SyncPolicy::Each).then_some(SyncScope::Target);
        phase.sync_end = (shape.sync == SyncPolicy::End).then_some(SyncScope::Target);
        phase
    };
    let dropping = |mut phase: PlannedPhase, when| {
        phase.drop_caches = if shape.drop_caches { when } else { CacheDrop::Never };
        phase
    };
    phases.push(syncing(groups_of(INITIAL_CREATE, sequence.initial(shape))));
    if shape.makej {
        let compile = sequence.until_none(OperationKind::Compile, shape.threads);
        phases.push(syncing(groups_of("makej compile", compile)));
        let read = sequence.group_of(OperationKind::Read, shape.threads, 3);
        phases.push(dropping(groups_of("makej read", read), CacheDrop::First));
        let delete = sequence.until_none(OperationKind::Delete, shape.threads);
        phases.push(dropping(syncing(groups_of("makej delete", delete)), CacheDrop::First));
    } else {
        let operations = sequence.operations(shape);
        phases.push(dropping(syncing(groups_of(OPERATIONS, operations)), CacheDrop::Each));
    }
    phases
}

fn groups_of(name: &'static str, groups: Vec<Vec<TreeOperation>>) -> PlannedPhase {
    let works = |group: Vec<TreeOperation>| group.into_iter().map(TaskWork::Operation).collect();
    PlannedPhase::new(name, groups.into_iter().map(works).collect())
}

/// Living trees with their states, and the random generator.
struct NativeSequence {
    random: Random,
    trees: BTreeMap<u32, TreeState>,
    next_tree: u32,
    /// Trees that the current group already works on.
    busy: HashSet<u32>,
}

impl NativeSequence {
    fn new(shape: &NativeShape) -> Self {
        Self {
            random: Random::for_part(shape.seed, "operations"),
            trees: BTreeMap::new(),
            next_tree: 0,
            busy: HashSet::new(),
        }
    }

    fn initial(&mut self, shape: &NativeShape) -> Vec<Vec<TreeOperation>> {
        let mut left = shape.initial_dirs;
        let mut groups = Vec::new();
        while left > 0 {
            let width = left.min(u32::from(shape.threads));
            groups.push((0..width).map(|_| self.create(SummaryRow::InitialCreate)).collect());
            self.busy.clear();
            left -= width;
        }
        groups
    }

    fn operations(&mut self, shape: &NativeShape) -> Vec<Vec<TreeOperation>> {
        let mut left = shape.runs as usize;
        let mut groups = Vec::new();
        while left > 0 {
            let group = self.group(left.min(usize::from(shape.threads)), &shape.mix);
            if group.is_empty() {
                break; // the mix leads to no trees and makes none
            }
            left -= group.len();
            groups.push(group);
        }
        groups
    }

    fn group(&mut self, width: usize, mix: &OperationMix) -> Vec<TreeOperation> {
        let mut group = Vec::new();
        while group.len() < width {
            let weights: Vec<u64> = OperationKind::ALL
                .iter()
                .zip(mix.0)
                .map(|(&kind, weight)| if self.is_possible(kind) { u64::from(weight) } else { 0 })
                .collect();
            let Some(kind) = self.draw_kind(&weights) else { break };
            group.extend(self.draw_operation(kind));
        }
        self.busy.clear();
        group
    }

    fn draw_kind(&mut self, weights: &[u64]) -> Option<OperationKind> {
        let sum: u64 = weights.iter().sum();
        if sum == 0 {
            return None;
        }
        let mut drawn = self.random.below(sum);
        for (kind, &weight) in OperationKind::ALL.into_iter().zip(weights) {
            if drawn < weight {
                return Some(kind);
            }
            drawn -= weight;
        }
        None
    }

    fn is_possible(&self, kind: OperationKind) -> bool {
        kind == OperationKind::Create || self.free_candidates(kind).next().is_some()
    }

    fn free_candidates(&self, kind: OperationKind) -> impl Iterator<Item = (u32, TreeState)> + '_ {
        let suits = move |state: &TreeState| kind.candidates().contains(state);
        self.trees
            .iter()
            .filter(move |(tree, state)| suits(state) && !self.busy.contains(tree))
            .map(|(&tree, &state)| (tree, state))
    }

    /// Draws one operation on a tree that the current group does not work on yet.
    fn draw_operation(&mut self, kind: OperationKind) -> Option<TreeOperation> {
        if kind == OperationKind::Create {
            return Some(self.create(SummaryRow::Create));
        }
        let candidates: Vec<(u32, TreeState)> = self.free_candidates(kind).collect();
        if candidates.is_empty() {
            return None;
        }
        let (number, state) = candidates[self.random.index(candidates.len())];
        let unlink_first = kind == OperationKind::Patch && self.random.below(4) == 0;
        match kind.leads_to(state) {
            Some(next) => self.trees.insert(number, next),
            None => self.trees.remove(&number),
        };
        self.busy.insert(number);
        let tally = kind.tally(state.is_compiled());
        Some(TreeOperation { kind, tree: format!("kernel-{number}"), state, unlink_first, tally })
    }

    fn create(&mut self, tally: SummaryRow) -> TreeOperation {
        let number = self.next_tree;
        self.next_tree += 1;
        self.trees.insert(number, TreeState::Unpatched);
        self.busy.insert(number);
        TreeOperation {
            kind: OperationKind::Create,
            tree: format!("kernel-{number}"),
            state: TreeState::Unpatched,
            unlink_first: false,
            tally,
        }
    }

    fn group_of(
        &mut self,
        kind: OperationKind,
        width: u16,
        count: usize,
    ) -> Vec<Vec<TreeOperation>> {
        let mut operations: Vec<TreeOperation> =
            (0..count).filter_map(|_| self.draw_operation(kind)).collect();
        self.busy.clear();
        let mut groups = Vec::new();
        while !operations.is_empty() {
            let remaining = operations.split_off(operations.len().min(usize::from(width)));
            groups.push(std::mem::replace(&mut operations, remaining));
        }
        groups
    }

    fn until_none(&mut self, kind: OperationKind, width: u16) -> Vec<Vec<TreeOperation>> {
        let count = self.free_candidates(kind).count();
        self.group_of(kind, width, count)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{NativeShape, OperationMix, SyncPolicy, phases};
    use crate::operation::{OperationKind, TreeOperation};
    use crate::plan::TaskWork;

    fn shape(threads: u16, mix: &str) -> NativeShape {
        NativeShape {
            seed: 1,
            initial_dirs: 5,
            runs: 200,
            makej: false,
            threads,
            mix: OperationMix::parse(mix).unwrap(),
            sync: SyncPolicy::Each,
            drop_caches: true,
            native_order: false,
        }
    }

    fn operations(shape: &NativeShape) -> Vec<Vec<TreeOperation>> {
        let last = phases(shape).pop().unwrap();
        let operation = |work| match work {
            TaskWork::Operation(operation) => operation,
            other => panic!("{other:?}"),
        };
        last.groups.into_iter().map(|group| group.into_iter().map(operation).collect()).collect()
    }

    #[test]
    fn equal_seeds_give_equal_sequences() {
        let shape = shape(3, "create=2,patch=1,delete=1");
        assert_eq!(phases(&shape), phases(&shape));
        assert_ne!(phases(&shape), phases(&NativeShape { seed: 2, ..shape.clone() }));
    }

    #[test]
    fn concurrent_operations_use_distinct_trees() {
        for group in
            operations(&shape(4, "create=1,patch=1,compile=1,clean=1,delete=1,read=1,stat=1"))
        {
            assert!(group.len() <= 4 && !group.is_empty());
            let trees: HashSet<&str> = group.iter().map(|op| op.tree.as_str()).collect();
            assert_eq!(trees.len(), group.len());
        }
    }

    #[test]
    fn weights_determine_the_frequency_of_each_kind() {
        let planned: Vec<TreeOperation> =
            operations(&shape(1, "create=3,read=1")).into_iter().flatten().collect();
        let creates = planned.iter().filter(|op| op.kind == OperationKind::Create).count();
        assert_eq!(planned.len(), 200);
        assert!((130..170).contains(&creates), "{creates}");
        assert!(
            planned.iter().all(|op| matches!(op.kind, OperationKind::Create | OperationKind::Read))
        );
    }

    #[test]
    fn mix_without_remaining_trees_ends_early() {
        let planned: Vec<_> = operations(&shape(1, "delete=1")).into_iter().flatten().collect();
        assert_eq!(planned.len(), 5);
    }

    #[test]
    fn invalid_mixes_are_refused_with_a_message() {
        assert_eq!(OperationMix::parse("create=2, patch=1").unwrap().text(), "patch=1,create=2");
        for (wrong, message) in [
            ("", "'' has no '='"),
            ("create", "'create' has no '='"),
            ("make=1", "'make' is no kind of operation"),
            ("create=-1", "'-1' is not a weight from 0 to 1000000"),
            ("create=0", "all weights are 0"),
            ("create=1,create=2", "'create' is there twice"),
        ] {
            assert_eq!(
                OperationMix::parse(wrong).unwrap_err().message,
                format!("--mix: {message}")
            );
        }
    }
}
