//! The classic sequence: the operations of compilebench 0.6 under CPython 2.

use std::collections::{HashMap, HashSet};

use treering_datasets::State;
use treering_script::SyncScope;

use super::cpython::{PythonDict, PythonRandom};
use super::operation::{Kind, Operation};
use super::plan::{CacheDrop, INITIAL_CREATE, OPERATIONS, PlannedPhase, Work, native_order_phase};
use super::tally::Tally;

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
    let mut sequence = Sequence::new(shape, existing);
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

fn makej_phases(sequence: &mut Sequence, sync: bool) -> [PlannedPhase; 3] {
    let sync_end = sync.then_some(SyncScope::Machine);
    let dropping = if sync { CacheDrop::First } else { CacheDrop::Never };
    let all = |sequence: &mut Sequence, kind| {
        std::iter::from_fn(|| sequence.one(kind)).collect::<Vec<_>>()
    };
    let compile = one_by_one("makej compile", all(sequence, Kind::Compile));
    let reads = (0..3).filter_map(|_| sequence.one(Kind::Read)).collect();
    let read = one_by_one("makej read", reads);
    let delete = one_by_one("makej delete", all(sequence, Kind::Delete));
    [
        PlannedPhase { sync_end, ..compile },
        PlannedPhase { sync_end, drop_caches: dropping, ..read },
        PlannedPhase { sync_end, drop_caches: dropping, ..delete },
    ]
}

fn one_by_one(name: &'static str, operations: Vec<Operation>) -> PlannedPhase {
    let groups = operations.into_iter().map(|operation| vec![Work::Operation(operation)]).collect();
    PlannedPhase::new(name, groups)
}

/// Living trees by state, and the random generator.
struct Sequence {
    random: PythonRandom,
    trees: HashMap<State, PythonDict>,
    /// Names in the directory: those of deleted trees too, since their top directory stays.
    existing: HashSet<String>,
}

impl Sequence {
    fn new(shape: &ClassicShape, existing: &[String]) -> Self {
        let mut random = PythonRandom::new(shape.seed);
        random.skip_shuffle(shape.shuffled);
        Self {
            random,
            trees: State::ALL.into_iter().map(|state| (state, PythonDict::default())).collect(),
            existing: existing.iter().cloned().collect(),
        }
    }

    fn initial(&mut self, count: u32) -> Vec<Operation> {
        let names = (0..count).map(|number| format!("kernel-{number}"));
        names.map(|name| self.create(name, Tally::InitialCreate)).collect()
    }

    fn create(&mut self, tree: String, tally: Tally) -> Operation {
        self.dict(State::Unpatched).insert(&tree);
        self.existing.insert(tree.clone());
        Operation { kind: Kind::Create, tree, state: State::Unpatched, unlink_first: false, tally }
    }

    fn dict(&mut self, state: State) -> &mut PythonDict {
        self.trees.entry(state).or_default()
    }

    fn operations(&mut self, runs: u32) -> Vec<Operation> {
        let mut done = Vec::new();
        while done.len() < runs as usize {
            let kind = Kind::ALL[self.random.choice(Kind::ALL.len())];
            done.extend(self.one(kind));
        }
        done
    }

    /// Draws one operation of this kind; `None`, without a draw, when no tree is a candidate.
    fn one(&mut self, kind: Kind) -> Option<Operation> {
        if kind == Kind::Create {
            let name = self.new_name();
            return Some(self.create(name, Tally::Create));
        }
        let present: Vec<State> = kind
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
        let unlink_first = kind == Kind::Patch && self.random.randint(0, 3) == 1;
        if kind.leads_to(state) != Some(state) {
            self.dict(state).remove(&tree);
        }
        let tally = kind.tally(self.looks_compiled(state));
        if let Some(next) = kind.leads_to(state).filter(|&next| next != state) {
            self.dict(next).insert(&tree);
        }
        Some(Operation { kind, tree, state, unlink_first, tally })
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
    fn looks_compiled(&self, state: State) -> bool {
        let empty = |state: State| self.trees[&state].is_empty();
        state.is_compiled()
            || (empty(state) && (empty(State::UnpatchedCompiled) || empty(State::PatchedCompiled)))
    }
}

#[cfg(test)]
mod tests {
    use super::{ClassicShape, Sequence, phases};
    use crate::operation::Kind;
    use crate::plan::{PlannedPhase, Work};
    use crate::tally::Tally;

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
        let mut sequence = Sequence::new(&shape(), &[]);
        sequence.initial(30);
        let operations = sequence.operations(100);
        assert_eq!(operations.len(), 100);
        assert_eq!((operations[0].kind, operations[0].tree.as_str()), (Kind::Patch, "kernel-7"));
        assert!(operations[0].unlink_first);
        assert_eq!(sequence.random.random(), 0.094_032_999_184_385_9);
    }

    #[test]
    fn the_default_run_tallies_as_published() {
        let phases = phases(&shape(), &[]);
        let count = |tally| {
            let works = phases.iter().flat_map(|phase| phase.groups.iter().flatten());
            let of_tally = |work: &&Work| matches!(work, Work::Operation(op) if op.tally == tally);
            works.filter(of_tally).count()
        };
        let counts: Vec<usize> = Tally::ALL.into_iter().map(count).collect();
        assert_eq!(counts, [30, 14, 15, 14, 10, 11, 4, 10, 4, 11, 7]);
    }

    #[test]
    fn names_that_exist_are_not_used_for_new_trees() {
        let plain = Sequence::new(&shape(), &[]).operations(40);
        let created = plain.iter().find(|operation| operation.kind == Kind::Create).unwrap();
        let again = Sequence::new(&shape(), std::slice::from_ref(&created.tree)).operations(40);
        assert!(
            again
                .iter()
                .all(|operation| operation.kind != Kind::Create || operation.tree != created.tree)
        );
    }

    #[test]
    fn makej_compiles_all_reads_three_and_deletes_all() {
        let phases = phases(&ClassicShape { makej: true, initial_dirs: 5, ..shape() }, &[]);
        let counts: Vec<usize> = phases.iter().map(PlannedPhase::works).collect();
        assert_eq!(counts, [9, 5, 5, 3, 5]);
    }
}
