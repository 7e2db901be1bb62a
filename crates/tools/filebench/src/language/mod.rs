//! WML, the language of workload files: statements in the order in which they take effect.
//!
//! `lexer` splits the text into tokens, `attributes` knows the attributes of each definition,
//! `read` and `variables` parse the statements, and `show` formats them. `plan` interprets the
//! file: variables are resolved when the run begins, so that a later `set` counts.

mod attributes;
mod lexer;
mod read;
mod show;
mod variables;

use std::collections::BTreeMap;

use treering_script::ConfigError;

use treering_kit::faults::{Faults, Place};

pub(crate) use variables::{CUSTOM, DistributionSpec, RandomVariable};

/// Values of variables from the command line, which override those of the file.
pub(crate) type VariableOverrides = [(String, String)];

/// Parses a workload file; `file` is its name in messages. Later checks may add to the returned
/// faults.
///
/// # Errors
/// Every statement that makes no sense, with its line and what would be right.
pub(crate) fn parse<'t>(
    file: &str,
    text: &'t [u8],
    overrides: &VariableOverrides,
) -> Result<(WorkloadScript, Faults<'t>), ConfigError> {
    let typed = |(name, text): &(String, String)| Ok((name.clone(), variables::typed(text)?));
    let overrides = overrides.iter().map(typed).collect::<Result<Vec<_>, ConfigError>>()?;
    let mut faults = Faults::new(file, text);
    let script = read::script(text, &overrides, &mut faults);
    let script = script.map_err(|fault| faults.refuse(fault))?;
    faults.check()?;
    variables::check_overrides(&script, &overrides)?;
    Ok((script, faults))
}

/// Formats the parsed script as WML.
pub(crate) fn text(script: &WorkloadScript) -> String {
    show::text(script)
}

/// Value of an attribute or a variable.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AttributeValue {
    /// Number, multiplied by its suffix.
    Number(u64),
    /// Boolean: `true` or `false`.
    Switch(bool),
    /// Name, path or quoted text.
    Text(String),
    /// Reference to a variable, without the `$`.
    Variable(String),
    /// Table of a random variable: percent, minimum, maximum.
    Table(Vec<[SpannedValue; 3]>),
}

/// Value with its position.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SpannedValue {
    /// Parsed value.
    pub value: AttributeValue,
    /// Position in the file.
    pub place: Place,
}

/// Attribute of a definition.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Attribute {
    /// Canonical name.
    pub name: &'static str,
    /// Value with its position.
    pub spanned: SpannedValue,
}

/// Attributes of a definition, and its position.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Definition {
    /// Position in the file.
    pub place: Place,
    /// Attributes in the order of the file.
    pub attributes: Vec<Attribute>,
}

impl Definition {
    /// Finds an attribute; the last one of a name counts.
    pub(crate) fn get(&self, name: &str) -> Option<&SpannedValue> {
        let mut attributes = self.attributes.iter().rev();
        attributes.find(|attribute| attribute.name == name).map(|attribute| &attribute.spanned)
    }
}

/// Value of a variable.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Variable {
    /// Fixed value.
    Plain(SpannedValue),
    /// Random variable.
    Drawn(RandomVariable),
}

/// Flowop in a thread, or in a composite flowop.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Flowop {
    /// Kind of the flowop, after the word `flowop`.
    pub kind: String,
    /// Attributes of the flowop.
    pub definition: Definition,
    /// Values of a composite flowop's local variables in this use.
    pub locals: Vec<(String, SpannedValue)>,
}

/// Composite flowop.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CompositeFlowop {
    /// Name of the composite flowop.
    pub name: String,
    /// Position in the file.
    pub place: Place,
    /// Local variables with their defaults.
    pub locals: Vec<(String, Option<SpannedValue>)>,
    /// Flowops in order.
    pub flowops: Vec<Flowop>,
}

/// Thread of a process.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ThreadDefinition {
    /// Attributes of the thread.
    pub definition: Definition,
    /// Flowops in order.
    pub flowops: Vec<Flowop>,
}

/// Process with its threads.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ProcessDefinition {
    /// Attributes of the process.
    pub definition: Definition,
    /// Threads in order.
    pub threads: Vec<ThreadDefinition>,
}

/// Fileset, or a single file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FilesetDefinition {
    /// True for a single file (`define file`).
    pub is_file: bool,
    /// Attributes of the fileset.
    pub definition: Definition,
}

/// End condition of a run beside its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EndCondition {
    /// Time alone: a thread that runs out of files makes the run invalid.
    #[default]
    Timeout,
    /// Each thread ends by itself.
    AllDone,
    /// The first thread that ends also ends the run.
    FirstDone,
}

/// Action before the run, in order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SetupAction {
    /// Prints a text, whose variables are substituted while parsing.
    Echo(String),
    /// Sleeps for some seconds.
    Sleep(SpannedValue),
    /// Prints the version: `version`.
    Version,
    /// Lists the filesets: `list fileset`.
    ListFilesets,
    /// Lists the flowops: `list flowop`.
    ListFlowops,
    /// Creates the filesets early: `create files`.
    CreateFiles,
    /// Enables latency histograms: `enable lathist`.
    Histograms,
    /// Writes back what is dirty before the run: `system "sync"`.
    Sync,
    /// Drops the kernel's caches before the run: `system "echo 3 > /proc/sys/vm/drop_caches"`.
    DropCaches,
}

/// Length of the run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunCommand {
    /// Position in the file.
    pub place: Place,
    /// Run time in seconds; `None` or 0 for the default.
    pub seconds: Option<SpannedValue>,
    /// Period of snapshots, and true if each counts from zero.
    pub period: Option<(u64, bool)>,
}

/// Parsed workload file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct WorkloadScript {
    /// Variables by name, without the `$`.
    pub variables: BTreeMap<String, Variable>,
    /// Filesets in order.
    pub filesets: Vec<FilesetDefinition>,
    /// Composite flowops in order.
    pub composites: Vec<CompositeFlowop>,
    /// Processes in order.
    pub processes: Vec<ProcessDefinition>,
    /// Actions before the run, in order.
    pub actions: Vec<SetupAction>,
    /// Rate of the event generator, in events per second.
    pub rate: Option<SpannedValue>,
    /// End condition of the run beside its time.
    pub quit: EndCondition,
    /// True if latency histograms are enabled.
    pub histograms: bool,
    /// The run statement, if there is one.
    pub run: Option<RunCommand>,
}
