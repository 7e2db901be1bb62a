//! Kinds of flowops: their operation class and their required attributes.

use treering_kit::faults::{Fault, Place, shown};
use treering_kit::nearest::nearest;

use super::bind::Binder;
use super::{Class, Kind};
use crate::language::Definition;

/// Properties of a kind of flowop.
pub(super) struct FlowopSpec {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) class: Class,
    /// Required attributes.
    needs: &'static [&'static str],
}

const fn known(
    name: &'static str,
    kind: Kind,
    class: Class,
    needs: &'static [&'static str],
) -> FlowopSpec {
    FlowopSpec { name, kind, class, needs }
}

use Class::{Beside, Other, Read, Write};

const KNOWN: [FlowopSpec; 30] = [
    known("read", Kind::Read, Read, &["iosize"]),
    known("write", Kind::Write, Write, &["iosize"]),
    known("readwholefile", Kind::ReadWholeFile, Read, &[]),
    known("writewholefile", Kind::WriteWholeFile, Write, &[]),
    known("appendfile", Kind::AppendFile, Write, &["iosize"]),
    known("appendfilerand", Kind::AppendFileRand, Write, &["iosize"]),
    known("openfile", Kind::OpenFile, Other, &["filename"]),
    known("createfile", Kind::CreateFile, Other, &["filename"]),
    known("closefile", Kind::CloseFile, Other, &[]),
    known("deletefile", Kind::DeleteFile, Other, &[]),
    known("statfile", Kind::StatFile, Other, &[]),
    known("fsync", Kind::Fsync, Other, &[]),
    known("fsyncset", Kind::FsyncSet, Other, &["filename"]),
    known("makedir", Kind::MakeDir, Other, &["filename"]),
    known("removedir", Kind::RemoveDir, Other, &["filename"]),
    known("listdir", Kind::ListDir, Other, &["filename"]),
    known("aiowrite", Kind::AioWrite, Write, &["iosize", "random"]),
    known("aiowait", Kind::AioWait, Other, &[]),
    known("block", Kind::Block, Beside, &[]),
    known("wakeup", Kind::Wakeup, Beside, &["target"]),
    known("semblock", Kind::SemBlock, Beside, &["value"]),
    known("sempost", Kind::SemPost, Beside, &["target", "value"]),
    known("hog", Kind::Hog, Beside, &["value"]),
    known("delay", Kind::Delay, Beside, &["value"]),
    known("eventlimit", Kind::EventLimit, Beside, &[]),
    known("opslimit", Kind::OpsLimit, Beside, &[]),
    known("iopslimit", Kind::IopsLimit, Beside, &[]),
    known("bwlimit", Kind::BwLimit, Beside, &[]),
    known("finishoncount", Kind::FinishOnCount, Beside, &["value"]),
    known("finishonbytes", Kind::FinishOnBytes, Beside, &["value"]),
];

/// Properties of a kind; `None` if only a composite flowop can have this name.
pub(super) fn find(name: &str) -> Option<&'static FlowopSpec> {
    KNOWN.iter().find(|known| known.name == name)
}

/// Error for a flowop of an unknown name.
pub(super) fn unknown(binder: &Binder<'_, '_>, name: &str, place: Place) -> Fault {
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
    binder: &Binder<'_, '_>,
    known: &FlowopSpec,
    thing: &Definition,
) -> Result<(), Fault> {
    let missing = known.needs.iter().find(|name| thing.get(name).is_none());
    let Some(missing) = missing else { return Ok(()) };
    let error = binder.error(thing.place, format!("{} has no {missing}", known.name));
    Err(match (*missing, known.kind) {
        ("random", _) => error.hint("add random: in filebench, too, only random writes can be"),
        ("filename", _) => error.hint("write filesetname=NAME"),
        ("target", _) => error.hint("write target=NAME of the flowop it speaks of"),
        _ => error.hint(format!("write {missing}=NUMBER")),
    })
}
