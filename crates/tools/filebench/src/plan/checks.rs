//! Checks of the whole plan: targets of flowops, open descriptors, and impossible combinations.

use std::collections::BTreeSet;

use treering_kit::faults::{Fault, Place, shown};
use treering_model::nearest::nearest;

use super::bind::{FlowopTarget, ValueBinder};
use super::{FDS, FlowopKind, Plan, ProgramStep, SummaryRow};

pub(super) fn check(binder: &ValueBinder<'_, '_>, plan: &mut Plan) -> Result<(), Fault> {
    let begin =
        |index: usize| binder.script.processes.get(index).map(|process| process.definition.place);
    if plan.workers() == 0 {
        let place = binder.script.run.as_ref().map_or(Place::START, |run| run.place);
        let error = binder.error(begin(0).unwrap_or(place), "there is no thread that could work");
        return Err(error.hint("write define process name=... { thread name=... { flowop ... } }"));
    }
    for target in &binder.targets {
        resolve_target(binder, plan, target)?;
    }
    watch(plan);
    let places = thread_places(binder);
    for (number, place) in (0..plan.threads.len()).zip(places) {
        check_descriptors(binder, plan, number, place)?;
        check_open_modes(binder, plan, number, place)?;
        check_rotation(binder, plan, number, place)?;
    }
    for thread in &mut plan.threads {
        thread.queued = thread.steps.iter().any(|step| step.kind == FlowopKind::AioWrite);
    }
    Ok(())
}

/// Position of each thread in the file.
fn thread_places(binder: &ValueBinder<'_, '_>) -> Vec<Place> {
    let threads = binder.script.processes.iter().flat_map(|process| &process.threads);
    threads.map(|thread| thread.definition.place).collect()
}

/// Resolves the target of a flowop to a row.
fn resolve_target(
    binder: &ValueBinder<'_, '_>,
    plan: &mut Plan,
    target: &FlowopTarget,
) -> Result<(), Fault> {
    let FlowopTarget { thread, step, name, place } = target;
    let kind = plan.threads[*thread].steps[*step].kind;
    // Within composite flowops, the last part of the name suffices.
    let is_short = |row: &SummaryRow| row.name.rsplit('.').next() == Some(name.as_str());
    let exact = plan.rows.iter().position(|row| row.name == *name);
    let Some(row) = exact.or_else(|| plan.rows.iter().position(is_short)) else {
        let error = binder.error(*place, format!("there is no flowop {}", shown(name)));
        let near = nearest(name, plan.rows.iter().map(|row| row.name.as_str()));
        return Err(error.hint(match near {
            Some(near) => format!("perhaps {near} is meant"),
            None => "the target is the name of a flowop".to_owned(),
        }));
    };
    let wanted = match kind {
        FlowopKind::SemPost => Some((FlowopKind::SemBlock, "semblock")),
        FlowopKind::Wakeup => Some((FlowopKind::Block, "block")),
        _ => None,
    };
    let steps = || plan.threads.iter().flat_map(|thread| &thread.steps);
    if let Some((wanted, word)) = wanted
        && !steps().any(|step| step.row == row && step.kind == wanted)
    {
        let error = binder.error(*place, format!("{} is no {word}", shown(name)));
        return Err(error.hint(format!("its target is a flowop of the kind {word}")));
    }
    let bytes = matches!(kind, FlowopKind::BwLimit | FlowopKind::FinishOnBytes);
    if bytes
        && !matches!(
            plan.rows[row].class,
            super::OperationClass::Read | super::OperationClass::Write
        )
    {
        let error = binder.error(*place, format!("{} moves no bytes", shown(name)));
        return Err(error.hint("name a flowop that reads or writes"));
    }
    plan.threads[*thread].steps[*step].target = Some(row);
    Ok(())
}

/// Marks the rows that limiting and finishing flowops read, and the filesets whose entries are
/// deleted.
fn watch(plan: &mut Plan) {
    let looks = |step: &&ProgramStep| {
        let limits = [FlowopKind::OpsLimit, FlowopKind::IopsLimit, FlowopKind::BwLimit];
        let finishes = [FlowopKind::FinishOnCount, FlowopKind::FinishOnBytes];
        limits.contains(&step.kind) || finishes.contains(&step.kind)
    };
    let steps = || plan.threads.iter().flat_map(|thread| &thread.steps);
    let rows: BTreeSet<usize> = steps().filter(looks).filter_map(|step| step.target).collect();
    let deleting = [FlowopKind::DeleteFile, FlowopKind::RemoveDir];
    let deletes: BTreeSet<usize> = steps()
        .filter(|step| deleting.contains(&step.kind))
        .filter_map(|step| step.fileset)
        .collect();
    // A deletion by descriptor may concern any fileset.
    let any = steps().any(|step| deleting.contains(&step.kind) && step.fileset.is_none());
    let ends = [FlowopKind::FinishOnCount, FlowopKind::FinishOnBytes];
    plan.watches_all = steps().any(|step| ends.contains(&step.kind) && step.target.is_none());
    for step in plan.threads.iter_mut().flat_map(|thread| &mut thread.steps) {
        step.watched = rows.contains(&step.row);
    }
    for (number, fileset) in plan.filesets.iter_mut().enumerate() {
        fileset.deletes = any || deletes.contains(&number);
    }
}

/// True if the step opens a file when its descriptor has none.
fn opens_by_itself(step: &ProgramStep) -> bool {
    use FlowopKind::{
        AioWrite, AppendFile, AppendFileRand, Read, ReadWholeFile, Write, WriteWholeFile,
    };
    let moves = [Read, Write, ReadWholeFile, WriteWholeFile, AppendFile, AppendFileRand, AioWrite];
    moves.contains(&step.kind)
}

/// Checks that each descriptor in use is opened by a flowop.
fn check_descriptors(
    binder: &ValueBinder<'_, '_>,
    plan: &Plan,
    thread: usize,
    place: Place,
) -> Result<(), Fault> {
    let steps = &plan.threads[thread].steps;
    let fills = |step: &ProgramStep| {
        matches!(step.kind, FlowopKind::OpenFile | FlowopKind::CreateFile)
            || opens_by_itself(step) && step.fileset.is_some()
    };
    for step in steps {
        let needs = matches!(step.kind, FlowopKind::CloseFile | FlowopKind::Fsync)
            || (opens_by_itself(step)
                || matches!(step.kind, FlowopKind::DeleteFile | FlowopKind::StatFile))
                && step.fileset.is_none();
        if needs && !steps.iter().any(|other| fills(other) && other.fd == step.fd) {
            let name = shown(&plan.rows[step.row].name);
            let error = binder.error(place, format!("{name}: nothing opens fd {}", step.fd));
            return Err(error.hint("name a filesetname, or open a file with this fd before"));
        }
    }
    Ok(())
}

/// Checks that all steps of a thread that open files do so in the same mode.
fn check_open_modes(
    binder: &ValueBinder<'_, '_>,
    plan: &mut Plan,
    thread: usize,
    place: Place,
) -> Result<(), Fault> {
    let steps = &plan.threads[thread].steps;
    let opened: BTreeSet<u8> = steps
        .iter()
        .filter(|step| matches!(step.kind, FlowopKind::OpenFile | FlowopKind::CreateFile))
        .map(|step| step.fd)
        .collect();
    let opener = |step: &&ProgramStep| {
        matches!(step.kind, FlowopKind::OpenFile | FlowopKind::CreateFile)
            || opens_by_itself(step) && !opened.contains(&step.fd)
    };
    let mut ways = steps.iter().filter(opener).map(|step| (step.direct, step.synchronous));
    let first = ways.next().unwrap_or_default();
    if ways.any(|way| way != first) {
        let message = "the flowops of this thread open files in several ways";
        let hint = "give all that open files the same directio and dsync, or use two threads";
        return Err(binder.error(place, message).hint(hint));
    }
    (plan.threads[thread].direct, plan.threads[thread].synchronous) = first;
    Ok(())
}

/// Checks `opennext`: one descriptor for each file of the fileset, up to half of the table.
fn check_rotation(
    binder: &ValueBinder<'_, '_>,
    plan: &Plan,
    thread: usize,
    place: Place,
) -> Result<(), Fault> {
    for step in plan.threads[thread].steps.iter().filter(|step| step.opens_next && step.fd == 0) {
        let name = shown(&plan.rows[step.row].name);
        let Some(fileset) = step.fileset else {
            let error = binder.error(place, format!("{name}: opennext without a fileset"));
            return Err(error.hint("write filesetname=NAME"));
        };
        if plan.filesets[fileset].entries > FDS / 2 {
            let message = format!("{name}: opennext keeps all files of the fileset open");
            let hint = format!("the fileset may have {} entries then", FDS / 2);
            return Err(binder.error(place, message).hint(hint));
        }
    }
    Ok(())
}
