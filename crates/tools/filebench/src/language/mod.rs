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

/// Values of variables from the command line, which override those of the file.
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

/// Value of an attribute or a variable.
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
    /// Parsed value.
    pub value: Value,
    /// Position in the file.
    pub place: Place,
}

/// An attribute, under the name by which it is kept.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Attribute {
    /// Canonical name.
    pub name: &'static str,
    /// Value with its position.
    pub given: Given,
}

/// A thing's attributes, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Thing {
    /// Position in the file.
    pub place: Place,
    /// Attributes in the order of the file.
    pub attributes: Vec<Attribute>,
}

impl Thing {
    /// An attribute; of several of a name the last one counts.
    pub(crate) fn get(&self, name: &str) -> Option<&Given> {
        let mut all = self.attributes.iter().rev();
        all.find(|attribute| attribute.name == name).map(|attribute| &attribute.given)
    }
}

/// Value of a variable.
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
    /// Attributes of the flowop.
    pub thing: Thing,
    /// Values of a composite flowop's local variables in this use.
    pub locals: Vec<(String, Given)>,
}

/// A flowop made of others.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Composite {
    /// Name of the composite flowop.
    pub name: String,
    /// Position in the file.
    pub place: Place,
    /// Local variables with their defaults.
    pub locals: Vec<(String, Option<Given>)>,
    /// Flowops in order.
    pub flowops: Vec<Flowop>,
}

/// A thread of a process.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Thread {
    /// Attributes of the thread.
    pub thing: Thing,
    /// Flowops in order.
    pub flowops: Vec<Flowop>,
}

/// A process.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Process {
    /// Attributes of the process.
    pub thing: Thing,
    /// Threads in order.
    pub threads: Vec<Thread>,
}

/// A fileset, or a single file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fileset {
    /// True for a single file (`define file`).
    pub is_file: bool,
    /// Attributes of the fileset.
    pub thing: Thing,
}

/// End condition of a run beside its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Quit {
    /// Time alone: a thread that runs out of files makes the run invalid.
    #[default]
    Timeout,
    /// Each thread ends by itself.
    AllDone,
    /// The first thread that is done.
    FirstDone,
}

/// Action before the run, in order.
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

/// Length of the run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Run {
    /// Position in the file.
    pub place: Place,
    /// Seconds; none given, or 0, is the default.
    pub seconds: Option<Given>,
    /// The period of snapshots, and whether each begins anew.
    pub period: Option<(u64, bool)>,
}

/// A workload file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Script {
    /// Variables by name, without the `$`.
    pub variables: BTreeMap<String, Variable>,
    /// Filesets in order.
    pub filesets: Vec<Fileset>,
    /// Composite flowops in order.
    pub composites: Vec<Composite>,
    /// Processes in order.
    pub processes: Vec<Process>,
    /// Actions before the run, in order.
    pub actions: Vec<Action>,
    /// Events a second.
    pub rate: Option<Given>,
    /// End condition of the run beside its time.
    pub quit: Quit,
    /// True if latency histograms are enabled.
    pub histograms: bool,
    /// The run, where there is one.
    pub run: Option<Run>,
}
