//! Names shared by the importers and the readers of imported trials.

/// Fact of imported trials: tool and version that wrote the log.
pub const IMPORT_FACT: &str = "import.tool";
/// Parameter with the name of the configuration of MMTests that an imported result is of.
pub const CONFIGURATION_PARAMETER: &str = "configuration";
/// Fact with the command line that the log has: the name of the tool and its words, with spaces
/// between.
pub const IMPORT_COMMAND_FACT: &str = "import.command";
/// Formats of results of any program, which may have nothing to do with a disk, or of one machine.
pub const GENERAL_TOOLS: [&str; 4] = ["csv", "hyperfine", "google-benchmark", "lkp"];
/// Prefix of all facts about the origin of an imported trial and the state of its filesystem.
pub const IMPORT_PREFIX: &str = "import.";
/// Fact that tells series of imported trials apart in a history, as the variant of a plan does: a
/// command, or the value of a column.
pub const VARIANT_FACT: &str = "import.variant";
/// Fact with the number of a round in the log, from 1.
pub const ROUND_FACT: &str = "import.round";
/// Fact with the version of what was measured.
pub const VERSION_FACT: &str = "version";
/// Fact with the commit of what was measured.
pub const COMMIT_FACT: &str = "commit";
/// Fact with the address of a page about what was measured.
pub const LINK_FACT: &str = "link";
/// Fact with the used share of the filesystem before the run, in percent.
pub const USED_FACT: &str = "import.used_percent";
/// Fact with the growth of the used share in percentage points as tools print it: both ends rounded
/// down to a whole percent.
pub const USED_GROWTH_FACT: &str = "import.used_growth_points";
/// Fact with the number of files that caused this growth.
pub const USED_GROWTH_FILES_FACT: &str = "import.used_growth_files";
/// Name prefix of a phase that is one iteration of a workload, a row of fs_mark; the number
/// follows, counted from 1.
pub const ITERATION_PHASE: &str = "iteration ";
/// Parameter with the read size of blogbench in bytes. Sizes are not comparable: version 1.2 reads
/// 8 bytes at once, earlier versions 65536.
pub const BLOGBENCH_READ_BYTES: &str = "read-bytes";
