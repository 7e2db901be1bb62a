//! Names shared by the importers and the readers of imported trials.

/// Fact of imported trials: tool and version that wrote the log.
pub const IMPORT_FACT: &str = "import.tool";
/// Prefix of all facts about the origin of an imported trial and the state of its filesystem.
pub const IMPORT_PREFIX: &str = "import.";
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
