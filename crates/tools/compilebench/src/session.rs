//! Run of compilebench: carries out a plan, group by group, with the scripts of each operation.

use std::ffi::CString;
use std::sync::{Arc, Mutex};

use treering_datasets::FileList;
use treering_model::{Metric, Op, TaskTotals};
use treering_script::{
    CachePolicy, Conductor, CreateHow, NameId, ParallelGroup, Phase, Script, Session, SessionError,
    SessionResult, SessionStop, SyncScope, Task, TaskListener,
};

use super::change_tree::{ChangeTree, FastForwardMode, WriteMode};
use super::forward::FastForward;
use super::headline::HeadlineSums;
use super::operation::{OperationKind, TreeOperation};
use super::plan::{CacheDrop, INITIAL_CREATE, NATIVE_ORDER, PlannedPhase, TaskWork};
use super::recipes::{NativeList, Recipes, TreeChange};
use super::walk_tree::{EntryAction, WalkTree};
use treering_kit::ahead::{AheadCounters, WRITE, refusal};

/// Kind of the task that removes the temporary tree.
const REMOVE_NATIVE: &str = "remove native";

/// Differences between classic and native operations.
#[derive(Clone, Copy, Debug)]
pub(super) struct OperationStyle {
    /// Behaves like compilebench 0.6: appends on create, calls stat on every walk, leaves top
    /// directories in place.
    pub(super) classic: bool,
    /// Bytes per read and write.
    pub(super) chunk_bytes: u32,
}

/// Session of a run.
pub(super) struct AgingSession {
    style: OperationStyle,
    recipes: Recipes,
    phases: Vec<PlannedPhase>,
    /// Temporary tree that shows the native order.
    native_tree: String,
    /// True if the tasks of the current phase count for the metrics.
    is_measured: bool,
    /// List whose native order is being determined, and the order that the walk has recorded.
    finding: Option<(NativeList, Arc<Mutex<Vec<NameId>>>)>,
    standing: Vec<String>,
    headline: HeadlineSums,
    forward: Option<FastForward>,
    /// Error of a run that was refused before any work.
    refusal: Option<SessionError>,
}

impl AgingSession {
    /// Creates a session for these phases in a directory with these existing names.
    pub(super) fn new(
        style: OperationStyle,
        recipes: Recipes,
        phases: Vec<PlannedPhase>,
        existing: &[String],
        forward: Option<FastForward>,
    ) -> Self {
        Self {
            style,
            recipes,
            phases,
            native_tree: native_tree(existing),
            is_measured: false,
            finding: None,
            standing: Vec::new(),
            headline: HeadlineSums::default(),
            forward,
            refusal: None,
        }
    }

    fn task(&mut self, work: &TaskWork, sync: Option<SyncScope>, initial: bool) -> Task {
        match work {
            TaskWork::NativeCreate(list) => self.native_create(*list),
            TaskWork::NativeWalk(list) => self.native_walk(*list),
            TaskWork::NativeDelete(_) => {
                let tree = self.native_tree.clone();
                let script = self.walk(&tree, EntryAction::Delete(true), None);
                Task::new(REMOVE_NATIVE, &tree, Op::Unlink, script)
            }
            TaskWork::Operation(operation) => self.operation(operation, sync, initial),
        }
    }

    fn native_create(&mut self, list: NativeList) -> Task {
        let writes = Arc::clone(self.recipes.native_list(list));
        let listed_bytes = writes.bytes();
        let change = TreeChange { removes: Vec::new(), writes, listed_bytes };
        let write_mode = self.write_mode(OperationKind::Create, false, None);
        let tree = self.native_tree.clone();
        let script = self.change(&tree, Arc::new(change), write_mode);
        let kind = format!("native {}", list.name());
        self.standing.push(tree.clone());
        Task {
            listed_bytes,
            expected_bytes: listed_bytes,
            ..Task::new(&kind, &tree, Op::Create, script)
        }
    }

    fn native_walk(&mut self, list: NativeList) -> Task {
        let order = Arc::new(Mutex::new(Vec::new()));
        self.finding = Some((list, Arc::clone(&order)));
        let names = Arc::clone(&self.recipes.names);
        let tree = self.native_tree.clone();
        let script = self.walk(&tree, EntryAction::Order(names, order), None);
        Task::new("walk native", &tree, Op::OpenDir, script)
    }

    fn operation(
        &mut self,
        operation: &TreeOperation,
        sync: Option<SyncScope>,
        initial: bool,
    ) -> Task {
        let kind = operation.kind;
        let tree = operation.tree.as_str();
        let next = |forward: &mut FastForward| forward.next(operation, &self.recipes);
        let ahead = self.forward.as_mut().map(next).map(|(goes, is_first)| {
            if is_first { FastForwardMode::Probe(goes) } else { FastForwardMode::Allocate(goes) }
        });
        let change = kind.recipe(operation.state).map(|recipe| self.recipes.get(recipe).clone());
        let (script, file_op): (Box<dyn Script>, Op) = match (kind, &change) {
            (OperationKind::Read, _) => {
                (self.walk(tree, EntryAction::Read(self.style.chunk_bytes), sync), Op::Open)
            }
            (OperationKind::Stat, _) => (self.walk(tree, EntryAction::Stat, sync), Op::Stat),
            (OperationKind::Delete, _) | (_, None) => {
                (self.walk(tree, EntryAction::Delete(!self.style.classic), sync), Op::Unlink)
            }
            (_, Some(change)) => {
                let write_mode = self.write_mode(kind, operation.unlink_first, sync);
                let write_mode = WriteMode { ahead, ..write_mode };
                let file_op = if change.writes.is_empty() { Op::Unlink } else { Op::Create };
                (self.change(tree, Arc::clone(change), write_mode), file_op)
            }
        };
        if kind == OperationKind::Create {
            self.standing.push(operation.tree.clone());
        }
        let listed_bytes = change.as_ref().map_or(0, |change| change.listed_bytes);
        let tally = if self.style.classic { operation.tally.label() } else { "" };
        Task {
            state: operation.state.name().to_owned(),
            tally: tally.to_owned(),
            listed_bytes,
            expected_bytes: change.map_or(0, |change| change.writes.bytes()),
            ..Task::new(kind_name(kind, initial), tree, file_op, script)
        }
    }

    fn write_mode(
        &self,
        kind: OperationKind,
        unlink_first: bool,
        sync: Option<SyncScope>,
    ) -> WriteMode {
        let how = match kind {
            _ if self.style.classic => CreateHow::Append,
            OperationKind::Patch => CreateHow::Append,
            OperationKind::Create => CreateHow::Exclusive,
            _ => CreateHow::Truncate,
        };
        WriteMode {
            how,
            rewrite: kind == OperationKind::Patch,
            unlink_first,
            fresh: kind == OperationKind::Create,
            chunk_bytes: self.style.chunk_bytes,
            sync,
            ahead: None,
        }
    }

    /// Task that writes the existing files of a tree that were only allocated.
    fn write_allocated(&self, tree: &str, files: FileList) -> Task {
        let (writes, listed_bytes) = (Arc::new(files), 0);
        let expected_bytes = writes.bytes();
        let change = Arc::new(TreeChange { removes: Vec::new(), writes, listed_bytes });
        let write_mode = WriteMode {
            how: CreateHow::OrOpen,
            rewrite: false,
            unlink_first: false,
            fresh: false,
            chunk_bytes: self.style.chunk_bytes,
            sync: Some(SyncScope::Target),
            ahead: Some(FastForwardMode::Write),
        };
        let script = self.change(tree, change, write_mode);
        Task { expected_bytes, ..Task::new(WRITE, tree, Op::Write, script) }
    }

    fn change(
        &self,
        tree: &str,
        change: Arc<TreeChange>,
        write_mode: WriteMode,
    ) -> Box<dyn Script> {
        Box::new(ChangeTree::new(c_name(tree), &self.recipes.names, change, write_mode))
    }

    fn walk(&self, tree: &str, visit: EntryAction, sync: Option<SyncScope>) -> Box<dyn Script> {
        Box::new(WalkTree::new(c_name(tree), visit, self.style.classic, sync))
    }
}

/// Task kind of an operation. The initial creates have a kind of their own, since they fill an
/// empty filesystem.
pub(super) fn kind_name(kind: OperationKind, initial: bool) -> &'static str {
    if initial { "initial create" } else { kind.name() }
}

fn c_name(tree: &str) -> CString {
    CString::new(tree).expect("tree names are made of letters, digits and a dash")
}

/// First name `native-N` that does not exist.
pub(super) fn native_tree(existing: &[String]) -> String {
    let mut names = (0..).map(|number: u32| format!("native-{number}"));
    names.find(|name| !existing.contains(name)).expect("there are more names than entries")
}

impl AgingSession {
    fn run_planned(
        &mut self,
        planned: &PlannedPhase,
        conductor: &mut dyn Conductor,
    ) -> SessionResult {
        conductor.phase(Phase::new(planned.name, planned.works()))?;
        self.is_measured = planned.name != NATIVE_ORDER;
        let initial = planned.name == INITIAL_CREATE;
        for (number, works) in (1..).zip(&planned.groups) {
            if !conductor.wants_more() {
                break;
            }
            let drops = match planned.drop_caches {
                CacheDrop::Never => false,
                CacheDrop::First => number == 1,
                CacheDrop::Each => true,
            };
            let caches = if drops { CachePolicy::Drop } else { CachePolicy::Keep };
            let task = |work| self.task(work, planned.sync_each, initial);
            let tasks = works.iter().map(task).collect();
            self.run_group(ParallelGroup { caches, ..ParallelGroup::new(tasks) }, conductor)?;
            if let Some(scope) = planned.sync_end.filter(|_| number == planned.groups.len()) {
                conductor.sync(scope)?;
            }
        }
        Ok(())
    }

    fn run_group(&mut self, group: ParallelGroup, conductor: &mut dyn Conductor) -> SessionResult {
        conductor.group(group, self)?;
        SessionStop::check(self.refusal.take())
    }

    /// Writes the files that were only allocated, in an additional last phase.
    fn run_writes(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        let trees = self.forward.as_ref().map_or(0, FastForward::trees);
        if trees == 0 {
            return Ok(());
        }
        conductor.phase(Phase::new(WRITE, trees))?;
        self.is_measured = false;
        while let Some((tree, files)) = self.forward.as_mut().and_then(FastForward::take) {
            let task = self.write_allocated(&tree, files);
            self.run_group(ParallelGroup::new(vec![task]), conductor)?;
        }
        Ok(())
    }
}

impl TaskListener for AgingSession {
    fn task_ended(&mut self, totals: &TaskTotals) {
        if let Some((list, order)) = self.finding.take() {
            let order = order.lock().expect("nobody panics while holding it");
            self.recipes.reorder(list, &order);
        }
        if self.is_measured {
            self.headline.add(totals);
        }
        if totals.counters.read().is_some_and(|counted: AheadCounters| counted.cannot_allocate) {
            self.standing.retain(|tree| *tree != totals.subject);
            self.refusal = Some(refusal());
        }
        let removes = totals.kind == REMOVE_NATIVE
            || (totals.kind == OperationKind::Delete.name() && !self.style.classic);
        if removes {
            self.standing.retain(|tree| *tree != totals.subject);
        }
    }

    fn others_task_ended(&mut self, totals: &TaskTotals) {
        if self.is_measured {
            self.headline.beside(totals);
        }
    }
}

impl Session for AgingSession {
    fn run(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        for planned in std::mem::take(&mut self.phases) {
            self.run_planned(&planned, conductor)?;
        }
        self.run_writes(conductor)
    }

    fn metrics(&self) -> Vec<Metric> {
        self.headline.metrics()
    }

    fn remains(&self) -> Vec<String> {
        self.standing.clone()
    }
}
