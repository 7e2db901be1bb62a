//! The classic sequence: the operations of compilebench 0.6 under CPython 2.

use std::collections::{HashMap, HashSet};

use treering_datasets::TreeState;
use treering_script::SyncScope;

use super::cpython::{PythonDict, PythonRandom};
use super::operation::{OperationKind, TreeOperation};
use super::plan::{
    CacheDrop, INITIAL_CREATE, OPERATIONS, PlannedPhase, TaskWork, native_order_phase,
};
use super::tally::SummaryRow;

/// Parameters of the classic sequence.
#[derive(Clone, Debug)]
pub(super) struct ClassicShape {
    /// Seed; the original's is 555.
    pub(super) seed: u64,
    /// Number of trees made first.
    pub(super) initial_dirs: u32,
    /// Number of random operations that must succeed.
    pub(super) runs: u32,
    /// True for the `make -j` run instead of random operations.
    pub(super) makej: bool,
    /// True if the run syncs and drops caches.
    pub(super) sync: bool,
    /// Number of build products shuffled before the first draw.
    pub(super) shuffled: usize,
}

/// Phases of a classic run in a directory with these entries.
pub(super) fn phases(shape: &ClassicShape, existing: &[String]) -> Vec<PlannedPhase> {
    let mut sequence = ClassicSequence::new(shape, existing);
    let sync = shape.sync.then_some(SyncScope::Machine);
    let mut initial = one_by_one(INITIAL_CREATE, sequence.initial(shape.initial_dirs));
    initial.sync_end = sync;
    let mut phases = vec![native_order_phase(), initial];
    if shape.makej {
        phases.extend(makej_phases(&mut sequence, shape.sync));
    } else {
        let mut operations = one_by_one(OPERATIONS, sequence.operations(shape.runs));
        operations.sync_each = sync;
        if shape.sync {
            operations.drop_caches = CacheDrop::Each;
        }
        phases.push(operations);
    }
    phases
}

fn makej_phases(sequence: &mut ClassicSequence, sync: bool) -> [PlannedPhase; 3] {
    let sync_end = sync.then_some(SyncScope::Machine);
    let dropping = if sync { CacheDrop::First } else { CacheDrop::Never };
    let every_tree = |sequence: &mut ClassicSequence, kind| {
        std::iter::from_fn(|| sequence.draw_operation(kind)).collect::<Vec<_>>()
    };
    let compile = one_by_one("makej compile", every_tree(sequence, OperationKind::Compile));
    let reads = (0..3).filter_map(|_| sequence.draw_operation(OperationKind::Read)).collect();
    let read = one_by_one("makej read", reads);
    let delete = one_by_one("makej delete", every_tree(sequence, OperationKind::Delete));
    [
        PlannedPhase { sync_end, ..compile },
        PlannedPhase { sync_end, drop_caches: dropping, ..read },
        PlannedPhase { sync_end, drop_caches: dropping, ..delete },
    ]
}

fn one_by_one(name: &'static str, operations: Vec<TreeOperation>) -> PlannedPhase {
    let groups =
        operations.into_iter().map(|operation| vec![TaskWork::Operation(operation)]).collect();
    PlannedPhase::new(name, groups)
}

/// Living trees by state, and the random generator.
struct ClassicSequence {
    random: PythonRandom,
    trees: HashMap<TreeState, PythonDict>,
    /// Names in the directory: those of deleted trees too, since their top directory stays.
    existing: HashSet<String>,
}

impl ClassicSequence {
    fn new(shape: &ClassicShape, existing: &[String]) -> Self {
        let mut random = PythonRandom::new(shape.seed);
        random.skip_shuffle(shape.shuffled);
        Self {
            random,
            trees: TreeState::ALL.into_iter().map(|state| (state, PythonDict::default())).collect(),
            existing: existing.iter().cloned().collect(),
        }
    }

    fn initial(&mut self, count: u32) -> Vec<TreeOperation> {
        let names = (0..count).map(|number| format!("kernel-{number}"));
        names.map(|name| self.create(name, SummaryRow::InitialCreate)).collect()
    }

    fn create(&mut self, tree: String, tally: SummaryRow) -> TreeOperation {
        self.dict(TreeState::Unpatched).insert(&tree);
        self.existing.insert(tree.clone());
        TreeOperation {
            kind: OperationKind::Create,
            tree,
            state: TreeState::Unpatched,
            unlink_first: false,
            tally,
        }
    }

    fn dict(&mut self, state: TreeState) -> &mut PythonDict {
        self.trees.entry(state).or_default()
    }

    fn operations(&mut self, runs: u32) -> Vec<TreeOperation> {
        let mut done = Vec::new();
        while done.len() < runs as usize {
            let kind = OperationKind::ALL[self.random.choice(OperationKind::ALL.len())];
            done.extend(self.draw_operation(kind));
        }
        done
    }

    /// Draws one operation of this kind; `None`, without a draw, when no tree is a candidate.
    fn draw_operation(&mut self, kind: OperationKind) -> Option<TreeOperation> {
        if kind == OperationKind::Create {
            let name = self.new_name();
            return Some(self.create(name, SummaryRow::Create));
        }
        let present: Vec<TreeState> = kind
            .candidates()
            .iter()
            .copied()
            .filter(|state| !self.trees[state].is_empty())
            .collect();
        if present.is_empty() {
            return None;
        }
        let state = present[self.random.choice(present.len())];
        let place = self.random.choice(self.trees[&state].len());
        let tree = self.trees[&state].keys().nth(place).expect("below the length").to_owned();
        let unlink_first = kind == OperationKind::Patch && self.random.randint(0, 3) == 1;
        if kind.leads_to(state) != Some(state) {
            self.dict(state).remove(&tree);
        }
        let tally = kind.tally(self.looks_compiled(state));
        if let Some(next) = kind.leads_to(state).filter(|&next| next != state) {
            self.dict(next).insert(&tree);
        }
        Some(TreeOperation { kind, tree, state, unlink_first, tally })
    }

    fn new_name(&mut self) -> String {
        loop {
            let name = format!("kernel-{}", self.random.randint(100, 100_000));
            if !self.existing.contains(&name) {
                return name;
            }
        }
    }

    /// True if the original takes a tree of this state for compiled: it compares dictionaries by
    /// equality, so after the last plain tree was deleted, the empty dictionary equals any other
    /// empty one.
    fn looks_compiled(&self, state: TreeState) -> bool {
        let empty = |state: TreeState| self.trees[&state].is_empty();
        state.is_compiled()
            || (empty(state)
                && (empty(TreeState::UnpatchedCompiled) || empty(TreeState::PatchedCompiled)))
    }
}

#[cfg(test)]
mod tests {
    use super::{ClassicSequence, ClassicShape, phases};
    use crate::operation::OperationKind;
    use crate::plan::{PlannedPhase, TaskWork};
    use crate::tally::SummaryRow;

    fn shape() -> ClassicShape {
        ClassicShape {
            seed: 555,
            initial_dirs: 30,
            runs: 100,
            makej: false,
            sync: true,
            shuffled: 3263,
        }
    }

    #[test]
    fn the_default_run_consumes_the_published_number_of_draws() {
        let mut sequence = ClassicSequence::new(&shape(), &[]);
        sequence.initial(30);
        let operations = sequence.operations(100);
        assert_eq!(operations.len(), 100);
        assert_eq!(
            (operations[0].kind, operations[0].tree.as_str()),
            (OperationKind::Patch, "kernel-7")
        );
        assert!(operations[0].unlink_first);
        assert_eq!(sequence.random.random(), 0.094_032_999_184_385_9);
    }

    #[test]
    fn the_default_run_tallies_as_published() {
        let phases = phases(&shape(), &[]);
        let count = |tally| {
            let works = phases.iter().flat_map(|phase| phase.groups.iter().flatten());
            let of_tally =
                |work: &&TaskWork| matches!(work, TaskWork::Operation(op) if op.tally == tally);
            works.filter(of_tally).count()
        };
        let counts: Vec<usize> = SummaryRow::ALL.into_iter().map(count).collect();
        assert_eq!(counts, [30, 14, 15, 14, 10, 11, 4, 10, 4, 11, 7]);
    }

    #[test]
    fn names_of_existing_trees_are_not_reused() {
        let plain = ClassicSequence::new(&shape(), &[]).operations(40);
        let created =
            plain.iter().find(|operation| operation.kind == OperationKind::Create).unwrap();
        let again =
            ClassicSequence::new(&shape(), std::slice::from_ref(&created.tree)).operations(40);
        assert!(
            again.iter().all(|operation| operation.kind != OperationKind::Create
                || operation.tree != created.tree)
        );
    }

    #[test]
    fn makej_compiles_all_trees_reads_three_and_deletes_all() {
        let phases = phases(&ClassicShape { makej: true, initial_dirs: 5, ..shape() }, &[]);
        let counts: Vec<usize> = phases.iter().map(PlannedPhase::works).collect();
        assert_eq!(counts, [9, 5, 5, 3, 5]);
    }
}
