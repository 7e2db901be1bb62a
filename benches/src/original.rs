//! The original compilebench, when the user has it: the same tree, and the CPU it says it took.
//!
//! It is not ours to ship. It is run as `python compilebench -n -i 3 -r 0`, on a data set written
//! out in its own format.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;

use treering_datasets::{Dataset, TreeState};

use crate::Fault;

/// Writes a data set as the original's four files.
///
/// # Errors
/// When a file cannot be written.
pub(crate) fn write_dataset(dataset: &Dataset, dir: &Path) -> Result<(), Fault> {
    for state in TreeState::ALL {
        let mut out = BufWriter::new(File::create(dir.join(state.classic_file()))?);
        let mut path = Vec::new();
        for (id, size) in dataset.list(state).iter() {
            path.clear();
            dataset.names.write_path(id, &mut path);
            out.write_all(&path)?;
            writeln!(out, " {size}")?;
        }
        out.flush()?;
    }
    Ok(())
}

/// Runs the original in `dir` and gives the user and system time of one of its creates, in
/// nanoseconds, the mean of three: it prints hundredths of a second.
///
/// # Errors
/// When it does not run, or its summary has another form.
pub fn create(python: &str, script: &Path, sources: &Path, dir: &Path) -> Result<u64, Fault> {
    let out = Command::new(python)
        .arg(script)
        .args(["-n", "-i", "3", "-r", "0", "-D"])
        .arg(dir)
        .arg("-s")
        .arg(sources)
        .output()?;
    let text = String::from_utf8_lossy(&out.stdout);
    cpu_of_create(&text).ok_or_else(|| {
        let said = String::from_utf8_lossy(&out.stderr);
        format!("the original's summary has no line 'intial create': {said}").into()
    })
}

/// The line is `intial create total runs 3 avg 1.00 MB/s (user 0.50s sys 0.70s)`.
fn cpu_of_create(summary: &str) -> Option<u64> {
    let line = summary.lines().find(|line| line.starts_with("intial create"))?;
    let times = line.split_once("(user ")?.1.strip_suffix("s)")?;
    let (user, system) = times.split_once("s sys ")?;
    let seconds = user.parse::<f64>().ok()? + system.parse::<f64>().ok()?;
    let nanoseconds = std::time::Duration::try_from_secs_f64(seconds).ok()?.as_nanos();
    u64::try_from(nanoseconds).ok()
}

#[cfg(test)]
mod tests {
    use super::{cpu_of_create, write_dataset};
    use treering_datasets::{classic, library};

    #[test]
    fn the_summary_is_read() {
        let text = "\nrun complete:\n=====\nintial create total runs 3 avg 70.10 MB/s (user 0.55s \
                    sys 1.20s)\nno runs for create\n";
        assert_eq!(cpu_of_create(text), Some(1_750_000_000));
        assert_eq!(cpu_of_create("no runs for create"), None);
    }

    #[test]
    fn a_data_set_survives_the_originals_format() {
        let dataset = library::load("linux-6.1-small", &[]).unwrap();
        let dir = tempfile::tempdir().unwrap();
        write_dataset(&dataset, dir.path()).unwrap();
        let again = classic::read_directory("again", dir.path()).unwrap();
        assert_eq!(again.unpatched.bytes(), dataset.unpatched.bytes());
        assert_eq!(again.patched_compiled.len(), dataset.patched_compiled.len());
    }
}
