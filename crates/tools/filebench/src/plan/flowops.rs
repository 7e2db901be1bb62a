//! Kinds of flowops: their operation class and their required attributes.

use treering_kit::faults::{Fault, Place, shown};
use treering_model::nearest::nearest;

use super::bind::ValueBinder;
use super::{FlowopKind, OperationClass};
use crate::language::Definition;

/// Properties of a kind of flowop.
pub(super) struct FlowopSpec {
    pub(super) name: &'static str,
    pub(super) kind: FlowopKind,
    pub(super) class: OperationClass,
    /// Required attributes.
    needs: &'static [&'static str],
}

const fn flowop_spec(
    name: &'static str,
    kind: FlowopKind,
    class: OperationClass,
    needs: &'static [&'static str],
) -> FlowopSpec {
    FlowopSpec { name, kind, class, needs }
}

use OperationClass::{Beside, Other, Read, Write};

const KNOWN: [FlowopSpec; 30] = [
    flowop_spec("read", FlowopKind::Read, Read, &["iosize"]),
    flowop_spec("write", FlowopKind::Write, Write, &["iosize"]),
    flowop_spec("readwholefile", FlowopKind::ReadWholeFile, Read, &[]),
    flowop_spec("writewholefile", FlowopKind::WriteWholeFile, Write, &[]),
    flowop_spec("appendfile", FlowopKind::AppendFile, Write, &["iosize"]),
    flowop_spec("appendfilerand", FlowopKind::AppendFileRand, Write, &["iosize"]),
    flowop_spec("openfile", FlowopKind::OpenFile, Other, &["filename"]),
    flowop_spec("createfile", FlowopKind::CreateFile, Other, &["filename"]),
    flowop_spec("closefile", FlowopKind::CloseFile, Other, &[]),
    flowop_spec("deletefile", FlowopKind::DeleteFile, Other, &[]),
    flowop_spec("statfile", FlowopKind::StatFile, Other, &[]),
    flowop_spec("fsync", FlowopKind::Fsync, Other, &[]),
    flowop_spec("fsyncset", FlowopKind::FsyncSet, Other, &["filename"]),
    flowop_spec("makedir", FlowopKind::MakeDir, Other, &["filename"]),
    flowop_spec("removedir", FlowopKind::RemoveDir, Other, &["filename"]),
    flowop_spec("listdir", FlowopKind::ListDir, Other, &["filename"]),
    flowop_spec("aiowrite", FlowopKind::AioWrite, Write, &["iosize", "random"]),
    flowop_spec("aiowait", FlowopKind::AioWait, Other, &[]),
    flowop_spec("block", FlowopKind::Block, Beside, &[]),
    flowop_spec("wakeup", FlowopKind::Wakeup, Beside, &["target"]),
    flowop_spec("semblock", FlowopKind::SemBlock, Beside, &["value"]),
    flowop_spec("sempost", FlowopKind::SemPost, Beside, &["target", "value"]),
    flowop_spec("hog", FlowopKind::Hog, Beside, &["value"]),
    flowop_spec("delay", FlowopKind::Delay, Beside, &["value"]),
    flowop_spec("eventlimit", FlowopKind::EventLimit, Beside, &[]),
    flowop_spec("opslimit", FlowopKind::OpsLimit, Beside, &[]),
    flowop_spec("iopslimit", FlowopKind::IopsLimit, Beside, &[]),
    flowop_spec("bwlimit", FlowopKind::BwLimit, Beside, &[]),
    flowop_spec("finishoncount", FlowopKind::FinishOnCount, Beside, &["value"]),
    flowop_spec("finishonbytes", FlowopKind::FinishOnBytes, Beside, &["value"]),
];

/// Properties of a kind; `None` if only a composite flowop can have this name.
pub(super) fn find(name: &str) -> Option<&'static FlowopSpec> {
    KNOWN.iter().find(|known| known.name == name)
}

/// Error for a flowop of an unknown name.
pub(super) fn unknown(binder: &ValueBinder<'_, '_>, name: &str, place: Place) -> Fault {
    if name == "print" || name == "testrandvar" {
        let error = binder.error(place, format!("{name}: treering does not do this"));
        return error.hint("leave it out: it was made to look into filebench itself");
    }
    let error = binder.error(place, format!("'{}' is no flowop", shown(name)));
    let composites = binder.script.composites.iter().map(|composite| composite.name.as_str());
    let names = KNOWN.iter().map(|known| known.name).chain(composites);
    match nearest(name, names) {
        Some(near) => error.hint(format!("perhaps {near} is meant")),
        None => error.hint("docs/workloads/filebench-wml.md lists the flowops"),
    }
}

/// Checks that the required attributes are given.
pub(super) fn complete(
    binder: &ValueBinder<'_, '_>,
    known: &FlowopSpec,
    definition: &Definition,
) -> Result<(), Fault> {
    let missing = known.needs.iter().find(|name| definition.get(name).is_none());
    let Some(missing) = missing else { return Ok(()) };
    let error = binder.error(definition.place, format!("{} has no {missing}", known.name));
    Err(match (*missing, known.kind) {
        ("random", _) => error.hint("add random: in filebench, too, only random writes can be"),
        ("filename", _) => error.hint("write filesetname=NAME"),
        ("target", _) => error.hint("write target=NAME of the flowop it speaks of"),
        _ => error.hint(format!("write {missing}=NUMBER")),
    })
}
