//! The originals of mdtest and ior on `PATH`, and treering under the same conditions.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use treering_testkit::{FinishedCommand, Program, skip};

/// Path of the original, if it is on `PATH`.
pub(crate) fn original(tool: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).map(|dir| dir.join(tool)).find(|file| file.is_file());
    if found.is_none() {
        skip(&format!("the original {tool} is not in the path"));
    }
    found
}

/// Command that runs the original with this number of ranks, in a directory.
pub(crate) fn run_original(
    original: &Path,
    dir: &Path,
    ranks: u32,
    words: &str,
) -> FinishedCommand {
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "-n", &ranks.to_string()]);
    command.arg(original).args(words.split_whitespace()).current_dir(dir);
    FinishedCommand::run(&mut command)
}

/// Runs treering with the same number of ranks and words.
pub(crate) fn run_ours(program: &Program, tool: &str, ranks: u32, words: &str) -> FinishedCommand {
    let ranks = ranks.to_string();
    program.run([tool, "--ranks", &ranks].into_iter().chain(words.split_whitespace()))
}
