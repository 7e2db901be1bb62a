//! Programs of the threads: sequences of flowops, with composite flowops expanded.

use treering_kit::faults::{Fault, shown};

use super::super::draw::AttributeAmount;
use super::bind::{FlowopTarget, LocalVariables, ValueBinder};
use super::flowops::{complete, find, unknown};
use super::{
    FDS, FlowopKind, IO_BYTES_MAX, OperationClass, Plan, ProgramStep, STEPS_MAX, SummaryRow,
    THREADS_MAX, ThreadPlan,
};
use crate::language::{CompositeFlowop, Definition, Flowop};

/// Deepest nesting of composite flowops.
const DEPTH_MAX: usize = 16;
/// Largest accepted memory size of a thread.
const MEMORY_MAX: u64 = 1 << 40;

/// Plans all threads, in their order.
pub(super) fn plan(binder: &mut ValueBinder<'_, '_>, plan: &mut Plan) -> Result<(), Fault> {
    let (script, none) = (binder.script, LocalVariables::new());
    for process in &script.processes {
        let definition = &process.definition;
        let name = binder.text(definition, "name", &none)?.unwrap_or_default();
        let processes = binder.number(definition, "instances", &none, THREADS_MAX)?.unwrap_or(1);
        if binder.number(definition, "nice", &none, u64::MAX)?.is_some_and(|nice| nice != 0) {
            binder.faults.warn(definition.place, "nice has no effect");
        }
        for thread in &process.threads {
            let definition = &thread.definition;
            let own = binder.text(definition, "name", &none)?.unwrap_or_default();
            let threads = binder.number(definition, "instances", &none, THREADS_MAX)?.unwrap_or(1);
            read_ineffective(binder, definition)?;
            let instances = processes.saturating_mul(threads);
            if plan.workers().saturating_add(instances) > THREADS_MAX {
                let message = format!("there are more than {THREADS_MAX} threads");
                return Err(binder.error(definition.place, message).hint("use fewer instances"));
            }
            let mut program = ThreadProgram { plan, steps: Vec::new(), gates: Vec::new() };
            program.flowops(binder, &thread.flowops, &none, &mut Vec::new())?;
            let ThreadProgram { steps, gates, .. } = program;
            plan.threads.push(ThreadPlan {
                process: name.clone(),
                name: own,
                instances,
                steps,
                direct: false,
                synchronous: false,
                queued: false,
                gates,
            });
        }
    }
    Ok(())
}

/// Reads attributes of threads that have no effect.
fn read_ineffective(
    binder: &mut ValueBinder<'_, '_>,
    definition: &Definition,
) -> Result<(), Fault> {
    let none = LocalVariables::new();
    binder.number(definition, "memsize", &none, MEMORY_MAX)?;
    if binder.switch(definition, "useism", &none)? {
        binder.faults.warn(definition.place, "useism has no effect: threads share no memory");
    }
    if let Some(value) = definition.get("ioprio").cloned() {
        binder.amount(definition, "ioprio", &none)?;
        binder.faults.warn(value.place, "ioprio has no effect");
    }
    Ok(())
}

struct ThreadProgram<'p> {
    plan: &'p mut Plan,
    steps: Vec<ProgramStep>,
    gates: Vec<(usize, u64)>,
}

impl ThreadProgram<'_> {
    fn flowops(
        &mut self,
        binder: &mut ValueBinder<'_, '_>,
        flowops: &[Flowop],
        locals: &LocalVariables,
        within: &mut Vec<String>,
    ) -> Result<(), Fault> {
        for flowop in flowops {
            let place = flowop.definition.place;
            let before: usize = self.plan.threads.iter().map(|thread| thread.steps.len()).sum();
            if before + self.steps.len() >= STEPS_MAX || within.len() > DEPTH_MAX {
                let error = binder.error(place, "the composite flowops grow without end");
                return Err(error.hint("does one contain itself?"));
            }
            if let Some(known) = find(&flowop.kind) {
                if let Some((local, _)) = flowop.locals.first() {
                    let message = format!("{} has no variable ${}", flowop.kind, shown(local));
                    return Err(binder.error(place, message).hint("composite flowops have"));
                }
                complete(binder, known, &flowop.definition)?;
                let name = row_name(binder, flowop, locals, within)?;
                let row = self.row(name, known.class);
                let step = self.step(binder, flowop, (known.kind, row), locals)?;
                if let Some(name) = binder.text(&flowop.definition, "target", locals)? {
                    let (thread, step) = (self.plan.threads.len(), self.steps.len());
                    binder.targets.push(FlowopTarget { thread, step, name, place });
                }
                self.steps.push(step);
                continue;
            }
            let composites = &binder.script.composites;
            let composite = composites.iter().find(|composite| composite.name == flowop.kind);
            let Some(composite) = composite else {
                return Err(unknown(binder, &flowop.kind, place));
            };
            self.composite(binder, flowop, composite, locals, within)?;
        }
        Ok(())
    }

    /// Expands a composite flowop between a start and an end step.
    fn composite(
        &mut self,
        binder: &mut ValueBinder<'_, '_>,
        flowop: &Flowop,
        composite: &CompositeFlowop,
        locals: &LocalVariables,
        within: &mut Vec<String>,
    ) -> Result<(), Fault> {
        let mut inner = LocalVariables::new();
        for (name, default) in &composite.locals {
            let spanned = flowop.locals.iter().rev().find(|(spanned, _)| spanned == name);
            if let Some(value) = spanned.map(|(_, value)| value).or(default.as_ref()) {
                let resolved = binder.find(value, locals)?;
                inner.insert(name.clone(), resolved);
            }
        }
        for (name, spanned) in &flowop.locals {
            if !composite.locals.iter().any(|(known, _)| known == name) {
                let message =
                    format!("{} has no variable ${}", shown(&composite.name), shown(name));
                let names: Vec<_> =
                    composite.locals.iter().map(|(name, _)| format!("${name}")).collect();
                let hint = format!("it has {}", names.join(", "));
                return Err(binder.error(spanned.place, message).hint(hint));
            }
        }
        let begin = self.steps.len();
        let name = row_name(binder, flowop, locals, within)?;
        let row = self.row(name.clone(), OperationClass::Beside);
        let enter = self.step(binder, flowop, (FlowopKind::Enter, row), locals)?;
        let mut leave = enter.clone();
        self.steps.push(enter);
        within.push(name);
        self.flowops(binder, &composite.flowops, &inner, within)?;
        within.pop();
        leave.kind = FlowopKind::Leave;
        leave.iterations = AttributeAmount::Fixed(1);
        leave.begin = begin;
        self.steps[begin].begin = self.steps.len();
        self.steps.push(leave);
        Ok(())
    }

    fn row(&mut self, name: String, class: OperationClass) -> usize {
        let rows = &mut self.plan.rows;
        match rows.iter().position(|row| row.name == name) {
            Some(row) => row,
            None => {
                rows.push(SummaryRow { name, class });
                rows.len() - 1
            }
        }
    }

    fn step(
        &mut self,
        binder: &mut ValueBinder<'_, '_>,
        flowop: &Flowop,
        (kind, row): (FlowopKind, usize),
        locals: &LocalVariables,
    ) -> Result<ProgramStep, Fault> {
        let definition = &flowop.definition;
        let fd = |fd: Option<u64>| u8::try_from(fd.unwrap_or(0)).unwrap_or(0);
        let highwater = binder.number(definition, "highwater", locals, 1 << 30)?.unwrap_or(1);
        let gate = self.gates.len();
        if matches!(kind, FlowopKind::SemBlock | FlowopKind::Block) {
            self.gates.push((row, highwater));
        }
        let number =
            |binder: &mut ValueBinder<'_, '_>, name| binder.amount(definition, name, locals);
        let io_bytes = number(binder, "iosize")?.unwrap_or(AttributeAmount::Fixed(0));
        if io_bytes.mean() > IO_BYTES_MAX as f64 {
            let place = definition.get("iosize").map_or(definition.place, |spanned| spanned.place);
            let error = binder.error(place, "iosize is larger than treering does");
            return Err(error.hint(format!("it goes up to {IO_BYTES_MAX}")));
        }
        Ok(ProgramStep {
            kind,
            row,
            fileset: fileset(binder, definition, self.plan, locals)?,
            fd: fd(binder.number(definition, "fd", locals, FDS - 1)?),
            source_fd: fd(binder.number(definition, "srcfd", locals, FDS - 1)?),
            io_bytes,
            iterations: number(binder, "iters")?.unwrap_or(AttributeAmount::Fixed(1)),
            random: binder.switch(definition, "random", locals)?,
            working_set: binder.number(definition, "workingset", locals, 1 << 50)?.unwrap_or(0),
            opens_next: binder.switch(definition, "opennext", locals)?,
            indexed: number(binder, "indexed")?,
            value: number(binder, "value")?.unwrap_or(AttributeAmount::Fixed(0)),
            target: None,
            blocking: binder.switch(definition, "blocking", locals)?,
            direct: binder.switch(definition, "directio", locals)?,
            synchronous: binder.switch(definition, "dsync", locals)?,
            no_readahead: binder.switch(definition, "noreadahead", locals)?,
            begin: 0,
            gate,
            watched: false,
        })
    }
}

/// Name of a flowop's row; within composite flowops, their names precede its own, as in the
/// original.
fn row_name(
    binder: &mut ValueBinder<'_, '_>,
    flowop: &Flowop,
    locals: &LocalVariables,
    within: &[String],
) -> Result<String, Fault> {
    let name = binder.text(&flowop.definition, "name", locals)?;
    match (name.filter(|name| !name.is_empty()), within.last()) {
        (Some(name), Some(outer)) => Ok(format!("{outer}.{name}")),
        (Some(name), None) => Ok(name),
        (None, _) => {
            let error = binder.error(flowop.definition.place, "the flowop has no name");
            Err(error.hint("write name=... behind its kind"))
        }
    }
}

/// Index of the fileset that a flowop names.
fn fileset(
    binder: &mut ValueBinder<'_, '_>,
    definition: &Definition,
    plan: &Plan,
    locals: &LocalVariables,
) -> Result<Option<usize>, Fault> {
    let Some(name) = binder.text(definition, "filename", locals)? else { return Ok(None) };
    let fileset_number = plan.filesets.iter().position(|fileset| fileset.name == name);
    fileset_number.map(Some).ok_or_else(|| {
        let place = definition.get("filename").map_or(definition.place, |value| value.place);
        let error = binder.error(place, format!("there is no fileset {}", shown(&name)));
        let names: Vec<&str> = plan.filesets.iter().map(|fileset| fileset.name.as_str()).collect();
        error.hint(match names.as_slice() {
            [] => "write define fileset name=... before".to_owned(),
            names => format!("there are {}", names.join(", ")),
        })
    })
}
