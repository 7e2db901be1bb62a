//! A directory to work in, or several: made, locked, marked, and described.

use std::path::{Path, PathBuf};

use treering_engine::Target;
use treering_model::{Caution, CautionCode};
use treering_sys::LockError;

use crate::leftovers::{Mark, find_leftovers};
use crate::{LabError, PlanIdentity};

/// A directory that is ours until it is dropped.
///
/// The lock is the kernel's (`flock` of the directory itself), so that nothing is left of it when
/// we are killed.
#[derive(Debug)]
pub struct Workplace {
    target: Target,
    /// Other roots at which workers take turns; the first one stands among them again.
    roots: Vec<Target>,
    /// Whose locks are held beside that of the first.
    held: Vec<Target>,
    made: bool,
    cautions: Vec<Caution>,
    mark: Option<Mark>,
}

impl Workplace {
    /// Takes a directory, making it and those above it when they are missing.
    ///
    /// # Errors
    /// When it cannot be made or opened, another run holds it, or it is on a read-only filesystem.
    pub fn take(path: &Path) -> Result<Self, LabError> {
        let place = Self::take_with_parents(path)?;
        if place.target.filesystem()?.is_read_only() {
            return Err(LabError::ReadOnly { path: path.to_owned() });
        }
        Ok(place)
    }

    /// The same, also on a read-only filesystem.
    ///
    /// # Errors
    /// When it cannot be made or opened, or another run holds it.
    pub fn take_with_parents(path: &Path) -> Result<Self, LabError> {
        let made = !path.exists();
        if made {
            std::fs::create_dir_all(path).map_err(LabError::io("cannot make", path))?;
        }
        Self::take_existing(path, made)
    }

    /// Takes several directories as one place, each of those that are missing made, but none above
    /// it. One that is named twice is taken once. They may be on read-only filesystems.
    ///
    /// # Errors
    /// As [`Workplace::take_with_parents`], and when there is none.
    pub fn take_roots(paths: &[PathBuf]) -> Result<Self, LabError> {
        let mut taken: Vec<Self> = Vec::new();
        let mut roots = Vec::new();
        for path in paths {
            let made = !path.exists();
            if made {
                std::fs::create_dir(path).map_err(LabError::io("cannot make", path))?;
            }
            if !path.is_dir() {
                return Err(LabError::NotADirectory { path: path.clone() });
            }
            let root = Target::open(path)?;
            if !taken.iter().any(|place| place.target.path() == root.path()) {
                taken.push(Self::take_existing(path, made)?);
            }
            roots.push(root);
        }
        let mut taken = taken.into_iter();
        let nothing = || LabError::NotADirectory { path: PathBuf::new() };
        let mut first = taken.next().ok_or_else(nothing)?;
        for other in taken {
            first.cautions.extend(other.cautions);
            // Held only to keep its lock.
            first.held.push(other.target);
        }
        first.roots = roots;
        Ok(first)
    }

    fn take_existing(path: &Path, made: bool) -> Result<Self, LabError> {
        if !path.is_dir() {
            return Err(LabError::NotADirectory { path: path.to_owned() });
        }
        let target = Target::open(path)?;
        let cautions = match target.lock() {
            Ok(()) => Vec::new(),
            Err(LockError::Held) => return Err(LabError::Busy { path: path.to_owned() }),
            Err(LockError::Unsupported(errno)) => vec![Caution {
                code: CautionCode::NotLocked,
                message: format!("{} cannot be locked: {errno}", path.display()),
            }],
        };
        let (roots, held) = (Vec::new(), Vec::new());
        Ok(Self { target, roots, held, made, cautions, mark: None })
    }

    /// The directory, opened.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The directories at which workers take turns.
    pub fn roots(&self) -> &[Target] {
        if self.roots.is_empty() { std::slice::from_ref(&self.target) } else { &self.roots }
    }

    /// Whether the directory was missing and had to be made.
    pub fn was_made(&self) -> bool {
        self.made
    }

    /// Cautions about the place.
    pub fn cautions(&self) -> &[Caution] {
        &self.cautions
    }

    /// Ensures that no killed run has left its trees here: they are recognized by its mark only, so
    /// nothing may be made beside them.
    ///
    /// # Errors
    /// When a killed run has left its mark, or the directory cannot be read.
    pub fn refuse_leftovers(&self) -> Result<(), LabError> {
        for root in self.roots() {
            if let Some(left) = find_leftovers(root.path())? {
                return Err(LabError::Left { path: root.path().to_owned(), trial: left.trial });
            }
        }
        Ok(())
    }

    /// Marks the directory as one in which this trial, a cell of this plan, makes trees, so that
    /// they can be found and removed if we are killed.
    ///
    /// # Errors
    /// When a killed run has left its mark, or the directory cannot be written.
    pub fn mark(&mut self, trial: &str, plan: Option<&PlanIdentity>) -> Result<(), LabError> {
        self.refuse_leftovers()?;
        self.mark = Some(Mark::leave(self.target.path(), trial, plan)?);
        Ok(())
    }

    /// Lets go of the directory while its filesystem is unmounted and mounted again, and takes it
    /// at the place where it is then.
    ///
    /// # Errors
    /// When it cannot be mounted or taken again.
    pub fn renew(
        &mut self,
        again: &mut dyn FnMut() -> Result<PathBuf, LabError>,
    ) -> Result<(), LabError> {
        // Something must be held meanwhile: a directory that is always there.
        drop(std::mem::replace(&mut self.target, Target::open(Path::new("/"))?));
        let path = again()?;
        self.target = Target::open(&path)?;
        if let Err(LockError::Held) = self.target.lock() {
            return Err(LabError::Busy { path });
        }
        if let Some(mark) = &mut self.mark {
            mark.moved(&path);
        }
        Ok(())
    }

    /// Takes the mark away: nothing of ours is left, or what is left is kept on purpose.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn unmark(&mut self) -> Result<(), LabError> {
        let dir = self.target.dir();
        self.mark.take().map_or(Ok(()), |mark| mark.remove(dir))
    }
}

#[cfg(test)]
mod tests {
    use super::Workplace;
    use crate::{LabError, find_leftovers};

    #[test]
    fn two_runs_cannot_have_one_directory() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("a/b");
        let first = Workplace::take(&path).unwrap();
        assert!(first.was_made());
        assert!(matches!(Workplace::take(&path), Err(LabError::Busy { .. })));
        drop(first);
        assert!(!Workplace::take(&path).unwrap().was_made());
    }

    #[test]
    fn several_roots_are_each_locked_and_one_named_twice_is_one() {
        let top = tempfile::tempdir().unwrap();
        let path = |name: &str| top.path().join(name);
        std::os::unix::fs::symlink("a", path("link")).unwrap();
        let paths = ["a", "b", "a", "link"].map(path);
        let place = Workplace::take_roots(&paths).unwrap();
        let names: Vec<_> = place.roots().iter().map(|root| root.path().to_owned()).collect();
        let real = top.path().canonicalize().unwrap();
        assert_eq!(names, ["a", "b", "a", "a"].map(|name| real.join(name)));
        for name in ["a", "b"] {
            assert!(matches!(Workplace::take(&path(name)), Err(LabError::Busy { .. })), "{name}");
        }
        drop(place);
        std::fs::write(path("b").join(".treering-run"), "treering run 1\ntrial 0199\n").unwrap();
        let place = Workplace::take_roots(&paths).unwrap();
        let left = place.refuse_leftovers();
        assert!(matches!(left, Err(LabError::Left { path, .. }) if path == real.join("b")));
        let below = Workplace::take_roots(&[path("missing/below")]);
        assert!(matches!(below, Err(LabError::Io { .. })));
        assert!(Workplace::take_roots(&[]).is_err());
    }

    #[test]
    fn a_file_is_no_directory() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(Workplace::take(file.path()), Err(LabError::NotADirectory { .. })));
        let below = file.path().join("x");
        assert!(matches!(Workplace::take(&below), Err(LabError::Io { .. })));
    }

    #[test]
    fn a_mark_is_found_after_a_kill_and_gone_after_an_end() {
        let top = tempfile::tempdir().unwrap();
        let mut place = Workplace::take(top.path()).unwrap();
        place.mark("0199", None).unwrap();
        assert_eq!(find_leftovers(top.path()).unwrap().unwrap().trial, "0199");
        drop(place); // as a killed process would: the lock goes, the mark stays
        let mut again = Workplace::take(top.path()).unwrap();
        assert!(
            matches!(again.mark("0200", None), Err(LabError::Left { trial, .. }) if trial == "0199")
        );
        std::fs::remove_file(top.path().join(".treering-run")).unwrap();
        again.mark("0200", None).unwrap();
        again.unmark().unwrap();
        assert!(find_leftovers(top.path()).unwrap().is_none());
        assert_eq!(again.target().facts().unwrap().existing, Vec::<String>::new());
    }
}
