//! WML, the language of workload files: statements in the order in which they take effect.
//!
//! `lexer` makes words of the text, `attributes` knows what each thing can have, `read` and
//! `variables` put the statements together, and `show` writes them again. What a file means is
//! `plan`'s: variables are looked up when the run begins, so that a later `set` counts.

mod attributes;
mod lexer;
mod read;
mod show;
mod variables;

use std::collections::BTreeMap;

use treering_script::ConfigError;

use crate::messages::{Messages, Place};

pub(super) use variables::{CUSTOM, Random, Spread};

/// What is given for a variable on the command line, and counts instead of what the file sets.
pub(super) type Overrides = [(String, String)];

/// Reads a workload file; `file` is its name in messages.
pub(super) fn parse(
    file: &str,
    text: &[u8],
    overrides: &Overrides,
) -> Result<(Script, Messages), ConfigError> {
    let mut messages = Messages::new(file);
    let script = read::script(text, overrides, &mut messages)?;
    Ok((script, messages))
}

/// The file as it is understood, as a file again.
pub(super) fn text(script: &Script) -> String {
    show::text(script)
}

/// What an attribute or a variable has.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Number(u64),
    Switch(bool),
    Text(String),
    Variable(String),
    /// A table of a random variable: percent, least, most.
    Table(Vec<[Given; 3]>),
}

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Given {
    pub(super) value: Value,
    pub(super) place: Place,
}

/// An attribute, under the name by which it is kept.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Attribute {
    pub(super) name: &'static str,
    pub(super) given: Given,
}

/// A thing's attributes, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Thing {
    pub(super) place: Place,
    pub(super) attributes: Vec<Attribute>,
}

impl Thing {
    /// An attribute; of several of a name the last one counts.
    pub(super) fn get(&self, name: &str) -> Option<&Given> {
        let mut all = self.attributes.iter().rev();
        all.find(|attribute| attribute.name == name).map(|attribute| &attribute.given)
    }
}

/// What a variable stands for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Variable {
    Plain(Given),
    Drawn(Random),
}

/// A flowop as it stands in a thread, or in a composite one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Flowop {
    pub(super) kind: String,
    pub(super) thing: Thing,
    /// What the local variables of a composite flowop are here.
    pub(super) locals: Vec<(String, Given)>,
}

/// A flowop made of others.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Composite {
    pub(super) name: String,
    pub(super) place: Place,
    /// Its local variables, and what they are when nobody says.
    pub(super) locals: Vec<(String, Option<Given>)>,
    pub(super) flowops: Vec<Flowop>,
}

/// A thread of a process.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Thread {
    pub(super) thing: Thing,
    pub(super) flowops: Vec<Flowop>,
}

/// A process.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Process {
    pub(super) thing: Thing,
    pub(super) threads: Vec<Thread>,
}

/// A fileset, or a single file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fileset {
    pub(super) is_file: bool,
    pub(super) thing: Thing,
}

/// What ends a run beside its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Quit {
    /// Nothing: who runs out of files makes the run invalid.
    #[default]
    Timeout,
    /// Each thread ends by itself.
    AllDone,
    /// The first thread that is done.
    FirstDone,
}

/// What is said or done before the run, in order.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    /// Words, in which variables are looked up at once.
    Echo(String),
    /// Seconds of rest.
    Sleep(Given),
    Version,
    ListFilesets,
    ListFlowops,
    /// Filesets are made here already.
    CreateFiles,
    Histograms,
}

/// How the run goes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Run {
    pub(super) place: Place,
    /// Seconds; none given, or 0, is the default.
    pub(super) seconds: Option<Given>,
    /// The period of snapshots, and whether each begins anew.
    pub(super) period: Option<(u64, bool)>,
}

/// A workload file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Script {
    pub(super) variables: BTreeMap<String, Variable>,
    pub(super) filesets: Vec<Fileset>,
    pub(super) composites: Vec<Composite>,
    pub(super) processes: Vec<Process>,
    pub(super) actions: Vec<Action>,
    pub(super) rate: Option<Given>,
    pub(super) quit: Quit,
    pub(super) histograms: bool,
    pub(super) run: Option<Run>,
}

#[cfg(test)]
mod tests;
