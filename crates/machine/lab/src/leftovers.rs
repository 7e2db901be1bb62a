//! What a killed run left: found by its mark and the right names; `clean` removes it.
//!
//! A native run refuses a directory that has trees already, so with its mark there, everything that
//! is named like a tree was made by it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, unlinkat};

use crate::{LabError, PlanIdentity};

/// The file that says so.
const MARK: &str = ".treering-run";
/// Its first line.
const HEADER: &str = "treering run 1";

/// A mark that we left.
#[derive(Debug)]
pub(crate) struct Mark {
    path: PathBuf,
}

impl Mark {
    /// The mark that a killed run left.
    pub(crate) fn left_in(dir: &Path) -> Self {
        Self { path: dir.join(MARK) }
    }

    pub(crate) fn leave(
        dir: &Path,
        trial: &str,
        plan: Option<&PlanIdentity>,
    ) -> Result<Self, LabError> {
        let path = dir.join(MARK);
        let new = OpenOptions::new().write(true).create_new(true).open(&path);
        let is_empty = || fs::metadata(&path).is_ok_and(|found| found.len() == 0);
        let made = match new {
            // Killed between making the mark and writing it: nothing was made under it.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_empty() => {
                OpenOptions::new().write(true).open(&path)
            }
            made => made,
        };
        let mut file = made.map_err(LabError::io("cannot make", &path))?;
        let plan = plan.map_or_else(String::new, |plan| format!("plan {}\n", plan.to_text()));
        file.write_all(format!("{HEADER}\ntrial {trial}\n{plan}").as_bytes())
            .and_then(|()| file.sync_all())
            .map_err(LabError::io("cannot write", &path))?;
        Ok(Self { path })
    }

    /// The directory is found at another place now.
    pub(crate) fn moved(&mut self, dir: &Path) {
        self.path = dir.join(MARK);
    }

    /// By the open directory: its path may lead elsewhere by now, as after `umount -l`.
    pub(crate) fn remove(self, dir: BorrowedFd<'_>) -> Result<(), LabError> {
        let removed = unlinkat(dir, MARK, AtFlags::empty());
        removed.map_err(|errno| LabError::io("cannot remove", &self.path)(errno.into()))
    }
}

/// What a killed run left in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftovers {
    /// The trial that was killed.
    pub trial: String,
    /// The plan that it was a cell of, where the mark names one.
    pub plan: Option<PlanIdentity>,
    /// The trees it left, by name.
    pub trees: Vec<String>,
}

/// Looks for what a killed run left.
///
/// # Errors
/// When the directory cannot be read.
pub fn find_leftovers(dir: &Path) -> Result<Option<Leftovers>, LabError> {
    let path = dir.join(MARK);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(None),
        Err(error) => return Err(LabError::io("cannot read", path)(error)),
    };
    let mut lines = text.lines();
    if lines.next() != Some(HEADER) {
        return Ok(None); // somebody else's file of this name
    }
    let trial = lines.next().and_then(|line| line.strip_prefix("trial ")).unwrap_or("unknown");
    let plan = lines.next().and_then(|line| PlanIdentity::parse(line.strip_prefix("plan ")?));
    Ok(Some(Leftovers { trial: trial.to_owned(), plan, trees: trees(dir)? }))
}

/// Directories named like the trees of a run.
pub(crate) fn trees(dir: &Path) -> Result<Vec<String>, LabError> {
    let failed = || LabError::io("cannot read", dir);
    let mut trees = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed())? {
        let entry = entry.map_err(failed())?;
        let is_dir = entry.file_type().map_err(failed())?.is_dir();
        if let Some(name) = entry.file_name().to_str()
            && is_dir
            && is_tree(name)
        {
            trees.push(name.to_owned());
        }
    }
    trees.sort_unstable();
    Ok(trees)
}

/// With these and a number are called the trees of native runs, of every workload, and copies.
const OURS: [&str; 14] = [
    "kernel-",
    "native-",
    "fs_mark-",
    "ffsb-",
    "bonnie-",
    "dbench-",
    "blogbench-",
    "age-",
    "fio-",
    "filebench-",
    "ior-",
    "io500-",
    "rank-",
    "copy-",
];

/// With this and two numbers, of the iteration and in it, are called the trees of mdtest.
const TEST_DIRECTORY: &str = "test-dir.";

fn is_tree(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((iteration, number)) =
        name.strip_prefix(TEST_DIRECTORY).and_then(|rest| rest.split_once('-'))
    {
        return is_number(iteration) && is_number(number);
    }
    OURS.iter().find_map(|prefix| name.strip_prefix(prefix)).is_some_and(is_number)
}

#[cfg(test)]
mod tests {
    use super::{Mark, find_leftovers, is_tree};
    use crate::PlanIdentity;

    #[test]
    fn a_mark_names_the_plan_of_its_trial() {
        let top = tempfile::tempdir().unwrap();
        let plan = PlanIdentity { name: "a plan\n".to_owned(), digest: "9f3c".to_owned() };
        for plan in [None, Some(plan)] {
            let mark = Mark::leave(top.path(), "0199", plan.as_ref()).unwrap();
            let found = find_leftovers(top.path()).unwrap().unwrap();
            assert_eq!((found.trial.as_str(), found.plan), ("0199", plan));
            std::fs::remove_file(mark.path).unwrap();
        }
    }

    #[test]
    fn somebody_elses_file_is_no_mark() {
        let top = tempfile::tempdir().unwrap();
        std::fs::write(top.path().join(".treering-run"), "hello").unwrap();
        assert!(find_leftovers(top.path()).unwrap().is_none());
        std::fs::write(top.path().join(".treering-run"), [0xff, 0xfe]).unwrap();
        assert!(find_leftovers(top.path()).unwrap().is_none());
    }

    #[test]
    fn names_of_trees_are_reported_exactly() {
        assert!(
            ["kernel-0", "native-12", "fs_mark-0", "blogbench-0", "age-0", "test-dir.0-12"]
                .into_iter()
                .all(is_tree)
        );
        for name in [
            "kernel-",
            "fs_mark-",
            "fs_mark-a",
            "kernel-0a",
            "kernel",
            "-0",
            "kernel-0/x",
            "kernel-٣",
            "test-dir.0",
            "test-dir.0-",
            "test-dir.0-1a",
        ] {
            assert!(!is_tree(name), "{name}");
        }
    }
}
