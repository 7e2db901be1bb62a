//! Programs of the threads: sequences of flowops, with composite flowops expanded.

use treering_kit::faults::{Fault, shown};

use super::super::draw::Amount;
use super::bind::{Binder, Locals, Target};
use super::flowops::{complete, find, unknown};
use super::{Class, FDS, IO_BYTES_MAX, Kind, Plan, Row, STEPS_MAX, Step, THREADS_MAX, ThreadPlan};
use crate::language::{Composite, Definition, Flowop};

/// Deepest nesting of composite flowops.
const DEPTH_MAX: usize = 16;
/// Largest accepted memory size of a thread.
const MEMORY_MAX: u64 = 1 << 40;

/// Plans all threads, in their order.
pub(super) fn plan(binder: &mut Binder<'_, '_>, plan: &mut Plan) -> Result<(), Fault> {
    let (script, none) = (binder.script, Locals::new());
    for process in &script.processes {
        let thing = &process.thing;
        let name = binder.text(thing, "name", &none)?.unwrap_or_default();
        let processes = binder.number(thing, "instances", &none, THREADS_MAX)?.unwrap_or(1);
        if binder.number(thing, "nice", &none, u64::MAX)?.is_some_and(|nice| nice != 0) {
            binder.faults.warn(thing.place, "nice has no effect");
        }
        for thread in &process.threads {
            let thing = &thread.thing;
            let own = binder.text(thing, "name", &none)?.unwrap_or_default();
            let threads = binder.number(thing, "instances", &none, THREADS_MAX)?.unwrap_or(1);
            unused(binder, thing)?;
            let instances = processes.saturating_mul(threads);
            if plan.workers().saturating_add(instances) > THREADS_MAX {
                let what = format!("there are more than {THREADS_MAX} threads");
                return Err(binder.error(thing.place, what).hint("use fewer instances"));
            }
            let mut program = Program { plan, steps: Vec::new(), gates: Vec::new() };
            program.flowops(binder, &thread.flowops, &none, &mut Vec::new())?;
            let Program { steps, gates, .. } = program;
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
fn unused(binder: &mut Binder<'_, '_>, thing: &Definition) -> Result<(), Fault> {
    let none = Locals::new();
    binder.number(thing, "memsize", &none, MEMORY_MAX)?;
    if binder.switch(thing, "useism", &none)? {
        binder.faults.warn(thing.place, "useism has no effect: threads share no memory");
    }
    if let Some(given) = thing.get("ioprio").cloned() {
        binder.amount(thing, "ioprio", &none)?;
        binder.faults.warn(given.place, "ioprio has no effect");
    }
    Ok(())
}

struct Program<'p> {
    plan: &'p mut Plan,
    steps: Vec<Step>,
    gates: Vec<(usize, u64)>,
}

impl Program<'_> {
    fn flowops(
        &mut self,
        binder: &mut Binder<'_, '_>,
        flowops: &[Flowop],
        locals: &Locals,
        within: &mut Vec<String>,
    ) -> Result<(), Fault> {
        for flowop in flowops {
            let place = flowop.thing.place;
            let before: usize = self.plan.threads.iter().map(|thread| thread.steps.len()).sum();
            if before + self.steps.len() >= STEPS_MAX || within.len() > DEPTH_MAX {
                let error = binder.error(place, "the composite flowops grow without end");
                return Err(error.hint("does one contain itself?"));
            }
            if let Some(known) = find(&flowop.kind) {
                if let Some((local, _)) = flowop.locals.first() {
                    let what = format!("{} has no variable ${}", flowop.kind, shown(local));
                    return Err(binder.error(place, what).hint("composite flowops have"));
                }
                complete(binder, known, &flowop.thing)?;
                let name = row_name(binder, flowop, locals, within)?;
                let row = self.row(name, known.class);
                let step = self.step(binder, flowop, (known.kind, row), locals)?;
                if let Some(name) = binder.text(&flowop.thing, "target", locals)? {
                    let (thread, step) = (self.plan.threads.len(), self.steps.len());
                    binder.targets.push(Target { thread, step, name, place });
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
        binder: &mut Binder<'_, '_>,
        flowop: &Flowop,
        composite: &Composite,
        locals: &Locals,
        within: &mut Vec<String>,
    ) -> Result<(), Fault> {
        let mut inner = Locals::new();
        for (name, default) in &composite.locals {
            let given = flowop.locals.iter().rev().find(|(given, _)| given == name);
            if let Some(value) = given.map(|(_, value)| value).or(default.as_ref()) {
                let resolved = binder.find(value, locals)?;
                inner.insert(name.clone(), resolved);
            }
        }
        for (name, given) in &flowop.locals {
            if !composite.locals.iter().any(|(known, _)| known == name) {
                let what = format!("{} has no variable ${}", shown(&composite.name), shown(name));
                let names: Vec<_> =
                    composite.locals.iter().map(|(name, _)| format!("${name}")).collect();
                let hint = format!("it has {}", names.join(", "));
                return Err(binder.error(given.place, what).hint(hint));
            }
        }
        let begin = self.steps.len();
        let name = row_name(binder, flowop, locals, within)?;
        let row = self.row(name.clone(), Class::Beside);
        let enter = self.step(binder, flowop, (Kind::Enter, row), locals)?;
        let mut leave = enter.clone();
        self.steps.push(enter);
        within.push(name);
        self.flowops(binder, &composite.flowops, &inner, within)?;
        within.pop();
        leave.kind = Kind::Leave;
        leave.iterations = Amount::Fixed(1);
        leave.begin = begin;
        self.steps[begin].begin = self.steps.len();
        self.steps.push(leave);
        Ok(())
    }

    fn row(&mut self, name: String, class: Class) -> usize {
        let rows = &mut self.plan.rows;
        match rows.iter().position(|row| row.name == name) {
            Some(row) => row,
            None => {
                rows.push(Row { name, class });
                rows.len() - 1
            }
        }
    }

    fn step(
        &mut self,
        binder: &mut Binder<'_, '_>,
        flowop: &Flowop,
        (kind, row): (Kind, usize),
        locals: &Locals,
    ) -> Result<Step, Fault> {
        let thing = &flowop.thing;
        let fd = |fd: Option<u64>| u8::try_from(fd.unwrap_or(0)).unwrap_or(0);
        let highwater = binder.number(thing, "highwater", locals, 1 << 30)?.unwrap_or(1);
        let gate = self.gates.len();
        if matches!(kind, Kind::SemBlock | Kind::Block) {
            self.gates.push((row, highwater));
        }
        let number = |binder: &mut Binder<'_, '_>, name| binder.amount(thing, name, locals);
        let io_bytes = number(binder, "iosize")?.unwrap_or(Amount::Fixed(0));
        if io_bytes.mean() > IO_BYTES_MAX as f64 {
            let place = thing.get("iosize").map_or(thing.place, |given| given.place);
            let error = binder.error(place, "iosize is larger than treering does");
            return Err(error.hint(format!("it goes up to {IO_BYTES_MAX}")));
        }
        Ok(Step {
            kind,
            row,
            fileset: fileset(binder, thing, self.plan, locals)?,
            fd: fd(binder.number(thing, "fd", locals, FDS - 1)?),
            source_fd: fd(binder.number(thing, "srcfd", locals, FDS - 1)?),
            io_bytes,
            iterations: number(binder, "iters")?.unwrap_or(Amount::Fixed(1)),
            random: binder.switch(thing, "random", locals)?,
            working_set: binder.number(thing, "workingset", locals, 1 << 50)?.unwrap_or(0),
            opens_next: binder.switch(thing, "opennext", locals)?,
            indexed: number(binder, "indexed")?,
            value: number(binder, "value")?.unwrap_or(Amount::Fixed(0)),
            target: None,
            blocking: binder.switch(thing, "blocking", locals)?,
            direct: binder.switch(thing, "directio", locals)?,
            synchronous: binder.switch(thing, "dsync", locals)?,
            no_readahead: binder.switch(thing, "noreadahead", locals)?,
            begin: 0,
            gate,
            watched: false,
        })
    }
}

/// Name of a flowop's row; within composite flowops, their names precede its own, as in the
/// original.
fn row_name(
    binder: &mut Binder<'_, '_>,
    flowop: &Flowop,
    locals: &Locals,
    within: &[String],
) -> Result<String, Fault> {
    let name = binder.text(&flowop.thing, "name", locals)?;
    match (name.filter(|name| !name.is_empty()), within.last()) {
        (Some(name), Some(outer)) => Ok(format!("{outer}.{name}")),
        (Some(name), None) => Ok(name),
        (None, _) => {
            let error = binder.error(flowop.thing.place, "the flowop has no name");
            Err(error.hint("write name=... behind its kind"))
        }
    }
}

/// Index of the fileset that a flowop names.
fn fileset(
    binder: &mut Binder<'_, '_>,
    thing: &Definition,
    plan: &Plan,
    locals: &Locals,
) -> Result<Option<usize>, Fault> {
    let Some(name) = binder.text(thing, "filename", locals)? else { return Ok(None) };
    let fileset_number = plan.filesets.iter().position(|fileset| fileset.name == name);
    fileset_number.map(Some).ok_or_else(|| {
        let place = thing.get("filename").map_or(thing.place, |given| given.place);
        let error = binder.error(place, format!("there is no fileset {}", shown(&name)));
        let names: Vec<&str> = plan.filesets.iter().map(|fileset| fileset.name.as_str()).collect();
        error.hint(match names.as_slice() {
            [] => "write define fileset name=... before".to_owned(),
            names => format!("there are {}", names.join(", ")),
        })
    })
}
