//! Attributes of each kind of definition, and the kind of value of each attribute.

use treering_kit::faults::{Fault, Faults, Place, shown};
use treering_model::nearest::nearest;

/// Kind of definition that has the attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DefinitionKind {
    File,
    Fileset,
    Process,
    Thread,
    Flowop,
    Eventgen,
    Randvar,
    Cvar,
}

impl DefinitionKind {
    /// Name in messages.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Fileset => "a fileset",
            Self::Process => "a process",
            Self::Thread => "a thread",
            Self::Flowop => "a flowop",
            Self::Eventgen => "eventgen",
            Self::Randvar => "a random variable",
            Self::Cvar => "a custom variable",
        }
    }

    const fn attributes(self) -> &'static [(&'static str, ValueKind)] {
        match self {
            Self::File => &FILE,
            Self::Fileset => &FILESET,
            Self::Process => &PROCESS,
            Self::Thread => &THREAD,
            Self::Flowop => &FLOWOP,
            Self::Eventgen => &[("rate", Number)],
            Self::Randvar => &RANDVAR,
            Self::Cvar => &CVAR,
        }
    }
}

/// Kind of value of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    /// Number, or a random variable.
    Number,
    /// Boolean: `true` or `false`; the attribute alone is true.
    Switch,
    /// Percentage, or `true` for all and `false` for none.
    Share,
    /// Name or path.
    Text,
}

use ValueKind::{Number, Share, Switch, Text};

const FILE: [(&str, ValueKind); 9] = [
    ("name", Text),
    ("path", Text),
    ("size", Number),
    ("prealloc", Share),
    ("paralloc", Switch),
    ("reuse", Switch),
    ("trusttree", Switch),
    ("readonly", Switch),
    ("writeonly", Switch),
];

const FILESET: [(&str, ValueKind); 14] = [
    ("name", Text),
    ("path", Text),
    ("entries", Number),
    ("size", Number),
    ("dirwidth", Number),
    ("dirdepthrv", Number),
    ("dirgamma", Number),
    ("leafdirs", Number),
    ("prealloc", Share),
    ("paralloc", Switch),
    ("reuse", Switch),
    ("trusttree", Switch),
    ("readonly", Switch),
    ("writeonly", Switch),
];

const PROCESS: [(&str, ValueKind); 3] = [("name", Text), ("instances", Number), ("nice", Number)];

const THREAD: [(&str, ValueKind); 5] = [
    ("name", Text),
    ("instances", Number),
    ("memsize", Number),
    ("useism", Switch),
    ("ioprio", Number),
];

const FLOWOP: [(&str, ValueKind); 17] = [
    ("name", Text),
    ("filename", Text),
    ("fd", Number),
    ("srcfd", Number),
    ("iosize", Number),
    ("iters", Number),
    ("random", Switch),
    ("workingset", Number),
    ("directio", Switch),
    ("dsync", Switch),
    ("opennext", Switch),
    ("indexed", Number),
    ("target", Text),
    ("value", Number),
    ("blocking", Switch),
    ("highwater", Number),
    ("noreadahead", Switch),
];

const RANDVAR: [(&str, ValueKind); 8] = [
    ("type", Text),
    ("randsrc", Text),
    ("seed", Number),
    ("min", Number),
    ("mean", Number),
    ("gamma", Number),
    ("round", Number),
    ("randtable", Text),
];

const CVAR: [(&str, ValueKind); 5] =
    [("type", Text), ("parameters", Text), ("min", Number), ("max", Number), ("round", Number)];

/// Aliases of attributes.
const ALIASES: [(&str, &str); 2] = [("filesetname", "filename"), ("filesize", "size")];

/// Attributes of other versions, with advice what to use instead.
const FOREIGN: [(&str, &str, &str); 5] = [
    (
        "cached",
        "filebench 1.5 has no such attribute",
        "leave it out: caches are dropped by the plan, or `remount = true` in it",
    ),
    ("filesizegamma", "filebench 1.5 has no such attribute", "use --sizes gamma, as 1.4 drew them"),
    ("namelength", "filebench 1.5 has no such attribute", "leave it out"),
    ("possetname", "treering has no position sets", "use random and workingset"),
    ("procname", "a thread belongs to the process it stands in", "leave it out"),
];

/// Canonical name of an attribute, and its kind of value.
pub(super) fn attribute(
    typed: &str,
    owner: DefinitionKind,
    place: Place,
    faults: &Faults,
) -> Result<(&'static str, ValueKind), Fault> {
    let meant = ALIASES.iter().find(|(other, _)| *other == typed).map_or(typed, |(_, name)| name);
    if let Some(known) = owner.attributes().iter().find(|(name, _)| *name == meant) {
        return Ok(*known);
    }
    if let Some((_, why, instead)) = FOREIGN.iter().find(|(name, ..)| *name == typed) {
        return Err(faults.error(place, format!("{typed}: {why}")).hint(*instead));
    }
    let message = format!("'{}' is no attribute of {}", shown(typed), owner.name());
    let names = || owner.attributes().iter().map(|(name, _)| *name);
    let hint = match nearest(typed, names()) {
        Some(name) => format!("perhaps {name} is meant"),
        None => format!("it has {}", names().collect::<Vec<_>>().join(", ")),
    };
    Err(faults.error(place, message).hint(hint))
}
