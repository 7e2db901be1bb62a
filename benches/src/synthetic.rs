//! A data set of any size, written as a stream in the original's format: names as in a source
//! tree, sizes from a few bytes to some KiB.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use treering_datasets::TreeState;

use crate::Fault;

/// Files in a directory, and directories below one.
const FILES: u64 = 20;
const DIRS: u64 = 25;

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Synthetic {
    /// Files of the clean tree.
    pub files: u64,
    /// Bytes of all their paths.
    pub path_bytes: u64,
}

/// Writes the four files of a data set with so many names. One name in 50 has another size in the
/// later version; a build adds one product for every 20 sources.
///
/// # Errors
/// When a file cannot be written.
pub(crate) fn write_dataset(files: u64, dir: &Path) -> Result<Synthetic, Fault> {
    let mut path_bytes = 0;
    for state in TreeState::ALL {
        let file = File::create(dir.join(state.classic_file()))?;
        let mut out = BufWriter::with_capacity(1 << 20, file);
        let later = matches!(state, TreeState::Patched | TreeState::PatchedCompiled);
        let built = matches!(state, TreeState::UnpatchedCompiled | TreeState::PatchedCompiled);
        path_bytes = 0;
        for number in 0..files {
            let folder = number / FILES;
            let size = 100 + number % 9973 + u64::from(later && number % 50 == 0);
            let line = format!("{}source-{number}.c {size}\n", folder_path(folder));
            path_bytes += line.find(' ').unwrap_or(0) as u64;
            out.write_all(line.as_bytes())?;
            if built && number % FILES == 0 {
                writeln!(out, "{}built-in-{number}.o {}", folder_path(folder), size * 3)?;
            }
        }
        out.flush()?;
    }
    Ok(Synthetic { files, path_bytes })
}

/// `part-3/group-17/folder-441/`, with a slash at its end.
fn folder_path(folder: u64) -> String {
    let group = folder / DIRS;
    format!("part-{}/group-{group}/folder-{folder}/", group / DIRS)
}

#[cfg(test)]
mod tests {
    use super::write_dataset;
    use treering_datasets::classic;

    #[test]
    fn every_name_is_there_once() {
        let dir = tempfile::tempdir().unwrap();
        let written = write_dataset(2000, dir.path()).unwrap();
        let dataset = classic::read_directory("x", dir.path()).unwrap();
        assert_eq!(dataset.unpatched.len(), 2000);
        assert_eq!(dataset.unpatched_compiled.len(), 2100);
        assert!(written.path_bytes > 2000 * 20);
    }
}
