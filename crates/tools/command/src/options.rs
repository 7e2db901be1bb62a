//! Options of a command.

use treering_script::{ClassicPayload, OptionSpec, ValueKind, WorkloadManifest};

/// Manifest of the workload: name, summary, options.
pub(super) static MANIFEST: WorkloadManifest = WorkloadManifest {
    name: "command",
    aliases: &[],
    about: "Runs any program in the directory, and takes times, CPU, I/O and numbers of its output",
    imitates: "",
    classic: &[],
    native: NATIVE,
    classic_payload: ClassicPayload::Zeros,
    classic_usage_exit: 2,
};

/// Operand with the words of the command.
pub(super) const COMMAND: &str = "command";
/// Option for a command as one text for the shell.
pub(super) const SHELL: &str = "shell";
/// Option for the command that runs before.
pub(super) const PREPARE: &str = "prepare";
/// Option for the command that runs after.
pub(super) const CLEANUP: &str = "cleanup";
/// Option for a metric in the output.
pub(super) const METRIC: &str = "metric";

/// Options of the native command line and of plans.
pub(super) const NATIVE: &[OptionSpec] = &[
    OptionSpec::long(
        SHELL,
        ValueKind::Text,
        None,
        "The command as one text for `sh -c`, instead of words at the end of the line.",
    ),
    OptionSpec::long(
        PREPARE,
        ValueKind::Text,
        None,
        "Text for `sh -c` that runs before the command, as a phase of its own.",
    ),
    OptionSpec::long(
        CLEANUP,
        ValueKind::Text,
        None,
        "Text for `sh -c` that runs after the command, also when it failed, as a phase of its own.",
    ),
    OptionSpec::long(
        METRIC,
        ValueKind::Texts,
        None,
        "A number in the output: NAME=REGEX with one group, or NAME=json:/POINTER; then \
         ,unit=UNIT ,better=higher|lower ,primary ,work. May be given several times.",
    ),
    OptionSpec::long(
        COMMAND,
        ValueKind::Words,
        None,
        "The program and its arguments, without a shell; {dir} stands for the directory.",
    ),
];
