//! Names by which those who import trials and those who read them know each other.

/// The fact that marks a trial as imported: the tool whose log it comes from, with its version.
pub const IMPORT_FACT: &str = "import.tool";
/// With this begin the names of all facts about where an imported trial comes from and how its
/// tool found the place.
pub const IMPORT_PREFIX: &str = "import.";
/// The fact that says how full the filesystem was before the run, in percent.
pub const USED_FACT: &str = "import.used_percent";
/// The fact that says how much fuller the filesystem became, in points as tools print them: each
/// end rounded down to a whole percent.
pub const USED_GROWTH_FACT: &str = "import.used_growth_points";
/// The fact that says how many files made it so much fuller.
pub const USED_GROWTH_FILES_FACT: &str = "import.used_growth_files";
/// With this and its number, counted from 1, is called the phase that is one iteration of a
/// workload: what fs_mark prints a row for.
pub const ITERATION_PHASE: &str = "iteration ";
/// The parameter that says how many bytes blogbench reads at once. With other values it is another
/// benchmark: 1.2 reads 8, the versions before it 65536.
pub const BLOGBENCH_READ_BYTES: &str = "read-bytes";
