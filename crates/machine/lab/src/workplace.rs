//! Target directories: made, locked and marked.

use std::io;
use std::path::{Path, PathBuf};

use treering_engine::Target;
use treering_model::{Caution, CautionCode};
use treering_sys::LockError;

use crate::trees::{LeftoverTrees, RunMark, find_in, find_kept, in_one_line, remove};
use crate::{LabError, PlanIdentity, RunTree};

/// A directory that this run owns until dropped.
///
/// The lock is a kernel lock (`flock` on the directory itself), which ends with the process.
#[derive(Debug)]
pub struct OwnedDirectory {
    target: Target,
    /// Directories over which workers are distributed, including the first target; empty if there
    /// is only one.
    roots: Vec<Target>,
    /// Further targets, kept open for their locks.
    further_targets: Vec<Target>,
    is_created: bool,
    cautions: Vec<Caution>,
    mark: Option<RunMark>,
    /// Trees kept by earlier trials, which the next mark will list.
    adopted: Vec<RunTree>,
}

/// Function that locks a directory, exclusively or shared.
type RootLock = fn(&Target) -> Result<(), LockError>;

impl OwnedDirectory {
    /// Acquires a directory, making it and its parents when they are missing.
    ///
    /// # Errors
    /// When the directory cannot be made or opened, another run holds it, or it is on a read-only
    /// filesystem.
    pub fn take(path: &Path) -> Result<Self, LabError> {
        let place = Self::take_with_parents(path)?;
        if place.target.filesystem()?.is_read_only() {
            return Err(LabError::ReadOnly { path: path.to_owned() });
        }
        Ok(place)
    }

    /// Acquires a directory like [`OwnedDirectory::take`], also on a read-only filesystem.
    ///
    /// # Errors
    /// When the directory cannot be made or opened, or another run holds it.
    pub fn take_with_parents(path: &Path) -> Result<Self, LabError> {
        let is_created = !path.exists();
        if is_created {
            std::fs::create_dir_all(path).map_err(LabError::io("cannot make", path))?;
        }
        Self::take_existing(path, is_created, Target::lock)
    }

    /// Acquires several directories as one workplace. A missing directory is made, but not its
    /// parents; a duplicate is acquired once. The directories may be on read-only filesystems.
    ///
    /// # Errors
    /// As for [`OwnedDirectory::take_with_parents`], and when `paths` is empty.
    pub fn take_roots(paths: &[PathBuf]) -> Result<Self, LabError> {
        Self::take_locked(paths, Target::lock)
    }

    /// Acquires directories like [`OwnedDirectory::take_roots`], but shared with other runs that do
    /// the same.
    ///
    /// # Errors
    /// As for [`OwnedDirectory::take_roots`].
    pub fn take_shared_roots(paths: &[PathBuf]) -> Result<Self, LabError> {
        Self::take_locked(paths, Target::lock_shared)
    }

    fn take_locked(paths: &[PathBuf], lock: RootLock) -> Result<Self, LabError> {
        let mut taken: Vec<Self> = Vec::new();
        let mut roots = Vec::new();
        for path in paths {
            let is_created = !path.exists();
            if is_created {
                std::fs::create_dir(path).map_err(LabError::io("cannot make", path))?;
            }
            if !path.is_dir() {
                return Err(LabError::NotADirectory { path: path.clone() });
            }
            let root = Target::open(path)?;
            if !taken.iter().any(|place| place.target.path() == root.path()) {
                taken.push(Self::take_existing(path, is_created, lock)?);
            }
            roots.push(root);
        }
        let mut taken = taken.into_iter();
        let nothing = || LabError::NotADirectory { path: PathBuf::new() };
        let mut first = taken.next().ok_or_else(nothing)?;
        for other in taken {
            first.cautions.extend(other.cautions);
            // The target is kept only for its lock.
            first.further_targets.push(other.target);
        }
        first.roots = roots;
        Ok(first)
    }

    fn take_existing(path: &Path, is_created: bool, lock: RootLock) -> Result<Self, LabError> {
        if !path.is_dir() {
            return Err(LabError::NotADirectory { path: path.to_owned() });
        }
        let target = Target::open(path)?;
        let cautions = match lock(&target) {
            Ok(()) => Vec::new(),
            Err(LockError::Held) => return Err(LabError::Busy { path: path.to_owned() }),
            Err(LockError::Unsupported(errno)) => vec![Caution {
                code: CautionCode::NotLocked,
                message: format!("{} cannot be locked: {errno}", path.display()),
            }],
        };
        let (roots, further_targets) = (Vec::new(), Vec::new());
        Ok(Self {
            target,
            roots,
            further_targets,
            is_created,
            cautions,
            mark: None,
            adopted: Vec::new(),
        })
    }

    /// First directory, opened.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Directories over which workers are distributed.
    pub fn roots(&self) -> &[Target] {
        if self.roots.is_empty() { std::slice::from_ref(&self.target) } else { &self.roots }
    }

    /// True if the directory was missing and had to be made.
    pub fn was_made(&self) -> bool {
        self.is_created
    }

    /// Cautions about the directory.
    pub fn cautions(&self) -> &[Caution] {
        &self.cautions
    }

    /// Refuses a directory with trees of a killed run. The next run would replace the mark that
    /// lists them. A mark whose trees no longer exist is ignored.
    ///
    /// # Errors
    /// When a killed run has left trees, its mark cannot be trusted, or the directory cannot be
    /// read.
    pub fn refuse_leftovers(&self) -> Result<(), LabError> {
        // Without a lock, the run that wrote the mark may still be running.
        let is_sure = self.cautions.iter().all(|caution| caution.code != CautionCode::NotLocked);
        for root in self.roots() {
            if let Some((_mark, left)) = find_in(root)?
                && ((left.blocks_next_run() && !self.has_adopted(&left)) || !is_sure)
            {
                return Err(LabError::Left { path: root.path().to_owned(), trial: left.trial });
            }
        }
        Ok(())
    }

    fn has_adopted(&self, left: &LeftoverTrees) -> bool {
        let is_adopted = |tree: &RunTree| {
            let mut same = self.adopted.iter().filter(|adopted| adopted.name == tree.name);
            same.any(|adopted| adopted.made.is_same_file(&tree.made))
        };
        left.spared.is_empty() && !left.has_no_list && left.trees.iter().all(is_adopted)
    }

    /// Trees of an interrupted trial, for [`OwnedDirectory::adopt`]: by the mark that a killed run
    /// left, else by the text of the mark that the trial recorded when it ended. Every listed tree
    /// has to be there, with its recorded identity.
    ///
    /// # Errors
    /// When the mark is of another trial or another directory, or a tree is not the recorded one.
    pub fn trees_of(&self, trial: &str, recorded: &str) -> Result<Vec<RunTree>, LabError> {
        let path = || self.target.path().to_owned();
        let left = match find_in(&self.target)? {
            Some((_mark, left)) => Some(left),
            None => find_kept(&self.target, recorded)?,
        };
        let Some(left) = left else { return Err(LabError::NothingLeft { path: path() }) };
        if left.trial != trial {
            return Err(LabError::Left { path: path(), trial: left.trial });
        }
        if let Some(spared) = left.spared.first() {
            let (name, why) = (&spared.name, spared.why);
            let path = self.target.path().join(name);
            return Err(LabError::io("cannot go on in", path)(io::Error::other(format!(
                "it {why}"
            ))));
        }
        if left.trees.is_empty() {
            return Err(LabError::NothingLeft { path: path() });
        }
        Ok(left.trees)
    }

    /// Text of the mark in one line, to be recorded with a trial that keeps its trees; empty
    /// without a mark.
    ///
    /// # Errors
    /// When the mark cannot be read.
    pub fn mark_text(&self) -> Result<String, LabError> {
        self.mark.as_ref().map_or(Ok(String::new()), |mark| Ok(in_one_line(&mark.text()?)))
    }

    /// Marks the directory for the trees of this trial, a cell of this plan. Trees made in the
    /// target from now on are recorded in the mark, so that they can be found and removed after a
    /// kill.
    ///
    /// # Errors
    /// When a killed run has left trees, or the directory cannot be written.
    pub fn mark(&mut self, trial: &str, plan: Option<&PlanIdentity>) -> Result<(), LabError> {
        self.refuse_leftovers()?;
        self.mark = Some(RunMark::write(&mut self.target, (trial, plan), &self.adopted)?);
        Ok(())
    }

    /// Sets trees of earlier trials, which the next mark will list too.
    pub fn adopt(&mut self, kept: &[RunTree]) {
        self.adopted = kept.to_vec();
    }

    /// Existing trees that were made in the directory since it was marked.
    ///
    /// # Errors
    /// When the mark cannot be read.
    pub fn made_trees(&self) -> Result<Vec<RunTree>, LabError> {
        self.mark.as_ref().map_or(Ok(Vec::new()), |mark| mark.made_trees(&self.target))
    }

    /// Removes a tree that was made in the directory, unless another directory has its name now.
    ///
    /// # Errors
    /// When another directory has the name, or the tree cannot be removed.
    pub fn remove_made(&self, tree: &RunTree) -> Result<(), LabError> {
        Ok(remove(&self.target, tree)?)
    }

    /// Releases the directory while its filesystem is unmounted and mounted again, and acquires it
    /// at the path returned by `again`.
    ///
    /// # Errors
    /// When the filesystem cannot be mounted, or the directory cannot be acquired.
    pub fn renew(
        &mut self,
        again: &mut dyn FnMut() -> Result<PathBuf, LabError>,
    ) -> Result<(), LabError> {
        if let Some(mark) = &mut self.mark {
            mark.close();
        }
        // `/` stands for the target in the meantime, since it always exists.
        drop(std::mem::replace(&mut self.target, Target::open(Path::new("/"))?));
        let path = again()?;
        self.target = Target::open(&path)?;
        if let Err(LockError::Held) = self.target.lock() {
            return Err(LabError::Busy { path });
        }
        self.mark.as_mut().map_or(Ok(()), |mark| mark.reopen(&mut self.target))
    }

    /// Removes the mark, once all trees are removed or kept on purpose.
    ///
    /// # Errors
    /// When the mark cannot be removed.
    pub fn unmark(&mut self) -> Result<(), LabError> {
        self.mark.take().map_or(Ok(()), |mark| mark.remove(&mut self.target))
    }
}

#[cfg(test)]
mod tests {
    use super::OwnedDirectory;
    use crate::{LabError, find_leftovers};

    #[test]
    fn two_runs_cannot_own_one_directory() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("a/b");
        let first = OwnedDirectory::take(&path).unwrap();
        assert!(first.was_made());
        assert!(matches!(OwnedDirectory::take(&path), Err(LabError::Busy { .. })));
        drop(first);
        assert!(!OwnedDirectory::take(&path).unwrap().was_made());
    }

    #[test]
    fn every_root_is_locked_and_duplicates_are_merged() {
        let top = tempfile::tempdir().unwrap();
        let path = |name: &str| top.path().join(name);
        std::os::unix::fs::symlink("a", path("link")).unwrap();
        let paths = ["a", "b", "a", "link"].map(path);
        let place = OwnedDirectory::take_roots(&paths).unwrap();
        let names: Vec<_> = place.roots().iter().map(|root| root.path().to_owned()).collect();
        let real = top.path().canonicalize().unwrap();
        assert_eq!(names, ["a", "b", "a", "a"].map(|name| real.join(name)));
        for name in ["a", "b"] {
            assert!(
                matches!(OwnedDirectory::take(&path(name)), Err(LabError::Busy { .. })),
                "{name}"
            );
        }
        drop(place);
        let mut alone = OwnedDirectory::take(&path("b")).unwrap();
        alone.mark("0199", None).unwrap();
        alone.target().make_tree("kernel-0").unwrap();
        drop(alone);
        let place = OwnedDirectory::take_roots(&paths).unwrap();
        let left = place.refuse_leftovers();
        assert!(matches!(left, Err(LabError::Left { path, .. }) if path == real.join("b")));
        let below = OwnedDirectory::take_roots(&[path("missing/below")]);
        assert!(matches!(below, Err(LabError::Io { .. })));
        assert!(OwnedDirectory::take_roots(&[]).is_err());
    }

    #[test]
    fn a_regular_file_is_rejected_as_a_directory() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(OwnedDirectory::take(file.path()), Err(LabError::NotADirectory { .. })));
        let below = file.path().join("x");
        assert!(matches!(OwnedDirectory::take(&below), Err(LabError::Io { .. })));
    }

    #[test]
    fn a_mark_with_a_tree_refuses_the_next_run_until_removed() {
        let top = tempfile::tempdir().unwrap();
        let mut place = OwnedDirectory::take(top.path()).unwrap();
        place.mark("0199", None).unwrap();
        place.target().make_tree("kernel-0").unwrap();
        assert_eq!(find_leftovers(top.path()).unwrap().unwrap().trial, "0199");
        drop(place); // as a killed process would: the lock goes, the mark stays
        let mut again = OwnedDirectory::take(top.path()).unwrap();
        assert!(
            matches!(again.mark("0200", None), Err(LabError::Left { trial, .. }) if trial == "0199")
        );
        std::fs::remove_dir(top.path().join("kernel-0")).unwrap();
        again.mark("0200", None).unwrap();
        again.unmark().unwrap();
        assert!(find_leftovers(top.path()).unwrap().is_none());
        assert_eq!(again.target().facts().unwrap().existing, Vec::<String>::new());
    }

    #[test]
    fn empty_marks_are_replaced_by_the_next_run() {
        let top = tempfile::tempdir().unwrap();
        let mark = top.path().join(".treering-run");
        std::fs::write(&mark, "").unwrap();
        for trial in ["0199", "0200", "0201"] {
            let mut place = OwnedDirectory::take(top.path()).unwrap();
            place.mark(trial, None).unwrap();
            assert!(std::fs::read_to_string(&mark).unwrap().contains(trial));
        }
    }

    #[test]
    fn a_run_goes_on_only_in_the_trees_that_the_interrupted_one_recorded() {
        let top = tempfile::tempdir().unwrap();
        let path = |name: &str| top.path().join(name);
        let mut place = OwnedDirectory::take(top.path()).unwrap();
        place.mark("0199", None).unwrap();
        place.target().make_tree("age-0").unwrap();
        let recorded = place.mark_text().unwrap();
        // A killed run leaves the mark itself.
        let marked = place.trees_of("0199", "").unwrap();
        place.unmark().unwrap();
        assert_eq!(place.trees_of("0199", &recorded).unwrap(), marked);
        assert!(matches!(place.trees_of("0200", &recorded), Err(LabError::Left { .. })));
        assert!(matches!(place.trees_of("0199", ""), Err(LabError::NothingLeft { .. })));
        let elsewhere = tempfile::tempdir().unwrap();
        let other = OwnedDirectory::take(elsewhere.path()).unwrap();
        assert!(other.trees_of("0199", &recorded).is_err());
        // The adopted tree does not block the run that goes on with it.
        place.adopt(&marked);
        place.mark("0201", None).unwrap();
        drop(place);
        std::fs::rename(path("age-0"), path("mine")).unwrap();
        std::fs::create_dir(path("age-0")).unwrap();
        let place = OwnedDirectory::take(top.path()).unwrap();
        let error = place.trees_of("0201", "").unwrap_err().to_string();
        assert!(error.contains("is not the directory that the run made"), "{error}");
    }

    #[test]
    fn a_run_removes_its_trees_but_no_replacement_of_the_same_name() {
        let top = tempfile::tempdir().unwrap();
        let path = |name: &str| top.path().join(name);
        std::fs::create_dir(path("kernel-9")).unwrap();
        let mut place = OwnedDirectory::take(top.path()).unwrap();
        place.mark("0199", None).unwrap();
        for name in ["kernel-0", "kernel-1", "kernel-2"] {
            place.target().make_tree(name).unwrap();
        }
        assert!(place.target().make_tree("kernel-9").is_err());
        std::fs::rename(path("kernel-1"), path("mine")).unwrap();
        std::fs::create_dir(path("kernel-1")).unwrap();
        std::fs::write(path("kernel-1/thesis.txt"), "mine").unwrap();
        let is_created = place.made_trees().unwrap();
        let names: Vec<_> = is_created.iter().map(|tree| tree.name.as_str()).collect();
        assert_eq!(names, ["kernel-0", "kernel-2"]);
        std::fs::remove_dir(path("kernel-2")).unwrap();
        std::fs::create_dir(path("kernel-2")).unwrap();
        place.remove_made(&is_created[0]).unwrap();
        place.unmark().unwrap();
        let left = place.target().facts().unwrap().existing;
        assert_eq!(left, ["kernel-1", "kernel-2", "kernel-9", "mine"]);
    }

    #[test]
    fn a_mark_lists_adopted_trees() {
        let top = tempfile::tempdir().unwrap();
        let mut place = OwnedDirectory::take(top.path()).unwrap();
        place.mark("0199", None).unwrap();
        place.target().make_tree("fio-0").unwrap();
        let kept = place.made_trees().unwrap();
        place.unmark().unwrap();
        place.adopt(&kept);
        place.mark("0200", None).unwrap();
        drop(place);
        let left = find_leftovers(top.path()).unwrap().unwrap();
        assert_eq!((left.trial.as_str(), left.trees), ("0200", kept));
    }
}
