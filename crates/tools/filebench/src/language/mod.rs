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

use treering_kit::faults::{Faults, Place};

pub(crate) use variables::{CUSTOM, Random, Spread};

/// What is given for a variable on the command line, and counts instead of what the file sets.
pub(crate) type Overrides = [(String, String)];

/// Reads a workload file; `file` is its name in messages. What is found later on can be added to
/// the faults that come with it.
///
/// # Errors
/// Every statement that makes no sense, with its line and what would be right.
pub(crate) fn parse<'t>(
    file: &str,
    text: &'t [u8],
    overrides: &Overrides,
) -> Result<(Script, Faults<'t>), ConfigError> {
    let typed = |(name, text): &(String, String)| Ok((name.clone(), variables::typed(text)?));
    let overrides = overrides.iter().map(typed).collect::<Result<Vec<_>, ConfigError>>()?;
    let mut faults = Faults::new(file, text);
    let script = read::script(text, &overrides, &mut faults);
    let script = script.map_err(|fault| faults.refuse(fault))?;
    faults.check()?;
    variables::all_overrides_met(&script, &overrides)?;
    Ok((script, faults))
}

/// The file as it is understood, as a file again.
pub(crate) fn text(script: &Script) -> String {
    show::text(script)
}

/// What an attribute or a variable has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// A number, its suffix multiplied in.
    Number(u64),
    /// `true` or `false`.
    Switch(bool),
    /// A name, a path or a quoted text.
    Text(String),
    /// A variable, without the `$`.
    Variable(String),
    /// A table of a random variable: percent, least, most.
    Table(Vec<[Given; 3]>),
}

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Given {
    /// What it is.
    pub value: Value,
    /// Where it stands.
    pub place: Place,
}

/// An attribute, under the name by which it is kept.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Attribute {
    /// Its name.
    pub name: &'static str,
    /// What it is given.
    pub given: Given,
}

/// A thing's attributes, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Thing {
    /// Where it stands.
    pub place: Place,
    /// In the order of the file.
    pub attributes: Vec<Attribute>,
}

impl Thing {
    /// An attribute; of several of a name the last one counts.
    pub(crate) fn get(&self, name: &str) -> Option<&Given> {
        let mut all = self.attributes.iter().rev();
        all.find(|attribute| attribute.name == name).map(|attribute| &attribute.given)
    }
}

/// What a variable stands for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Variable {
    /// A value.
    Plain(Given),
    /// A random variable.
    Drawn(Random),
}

/// A flowop as it stands in a thread, or in a composite one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Flowop {
    /// The word behind `flowop`.
    pub kind: String,
    /// Its attributes.
    pub thing: Thing,
    /// What the local variables of a composite flowop are here.
    pub locals: Vec<(String, Given)>,
}

/// A flowop made of others.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Composite {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub place: Place,
    /// Its local variables, and what they are when nobody says.
    pub locals: Vec<(String, Option<Given>)>,
    /// In order.
    pub flowops: Vec<Flowop>,
}

/// A thread of a process.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Thread {
    /// Its attributes.
    pub thing: Thing,
    /// In order.
    pub flowops: Vec<Flowop>,
}

/// A process.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Process {
    /// Its attributes.
    pub thing: Thing,
    /// In order.
    pub threads: Vec<Thread>,
}

/// A fileset, or a single file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fileset {
    /// Whether it is a single file.
    pub is_file: bool,
    /// Its attributes.
    pub thing: Thing,
}

/// What ends a run beside its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Quit {
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
pub(crate) enum Action {
    /// Words, in which variables are looked up at once.
    Echo(String),
    /// Seconds of rest.
    Sleep(Given),
    /// `version`.
    Version,
    /// `list fileset`.
    ListFilesets,
    /// `list flowop`.
    ListFlowops,
    /// Filesets are made here already.
    CreateFiles,
    /// `enable lathist`.
    Histograms,
}

/// How the run goes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Run {
    /// Where it stands.
    pub place: Place,
    /// Seconds; none given, or 0, is the default.
    pub seconds: Option<Given>,
    /// The period of snapshots, and whether each begins anew.
    pub period: Option<(u64, bool)>,
}

/// A workload file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Script {
    /// By name, without the `$`.
    pub variables: BTreeMap<String, Variable>,
    /// In order.
    pub filesets: Vec<Fileset>,
    /// In order.
    pub composites: Vec<Composite>,
    /// In order.
    pub processes: Vec<Process>,
    /// What precedes the run, in order.
    pub actions: Vec<Action>,
    /// Events a second.
    pub rate: Option<Given>,
    /// What ends the run beside its time.
    pub quit: Quit,
    /// Whether histograms of latencies are asked for.
    pub histograms: bool,
    /// The run, where there is one.
    pub run: Option<Run>,
}
