//! Removes trees of a killed run that its mark lists and that are still the ones made by the run.

use std::path::Path;

use super::judgement::{LeftoverTrees, RunTree};
use super::leftovers::{find_in, find_leftovers};
use super::mark::remove_read;
use super::removal::remove;
use crate::{LabError, OwnedDirectory};

/// Removes the trees of a killed run, and finally its mark. `removing` is called before each tree.
///
/// # Errors
/// When there is no mark or it cannot be trusted, a run is active, or a tree cannot be removed.
pub fn remove_leftovers(
    dir: &Path,
    mut removing: impl FnMut(&LeftoverTrees, &RunTree),
) -> Result<LeftoverTrees, LabError> {
    let nothing = || LabError::NothingLeft { path: dir.to_owned() };
    find_leftovers(dir)?.ok_or_else(nothing)?;
    // The lock excludes an active run, and is held until the end.
    let held = OwnedDirectory::take(dir)?;
    let (mark, left) = find_in(held.target())?.ok_or_else(nothing)?;
    for tree in &left.trees {
        removing(&left, tree);
        remove(held.target(), tree)?;
    }
    remove_read(held.target(), &mark)?;
    Ok(left)
}

#[cfg(test)]
#[expect(clippy::disallowed_macros, reason = "a test that must be skipped says so")]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, chown};
    use std::path::Path;

    use tempfile::TempDir;
    use treering_sys::is_root;

    use super::{find_leftovers, remove_leftovers};
    use crate::{LabError, LeftoverTrees, OwnedDirectory};

    /// Directory in which a run was killed after it had made these trees.
    fn killed_in(names: &[&str]) -> TempDir {
        let top = tempfile::tempdir().unwrap();
        let mut place = OwnedDirectory::take(top.path()).unwrap();
        place.mark("0199", None).unwrap();
        for name in names {
            place.target().make_tree(name).unwrap();
            fs::create_dir_all(top.path().join(name).join("fs/ext4")).unwrap();
            fs::write(top.path().join(name).join("fs/inode.c"), "a").unwrap();
        }
        top
    }

    fn entries(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn clean(dir: &Path) -> Result<LeftoverTrees, LabError> {
        let leftovers = find_leftovers(dir);
        let mut reported = Vec::new();
        let removed = remove_leftovers(dir, |_, tree| reported.push(tree.name.clone()));
        if let Ok(removed) = &removed {
            assert_eq!(leftovers.unwrap().as_ref(), Some(removed), "a dry run says the same");
            let names: Vec<_> = removed.trees.iter().map(|tree| tree.name.clone()).collect();
            assert_eq!(reported, names);
        }
        removed
    }

    #[test]
    fn only_directories_that_the_run_made_are_removed() {
        let top = killed_in(&["kernel-0", "native-0", "kernel-7", "kernel-8"]);
        let path = |name: &str| top.path().join(name);
        for mine in ["copy-1", "kernel-6", "age-0", "kernel-x"] {
            fs::create_dir(path(mine)).unwrap();
            fs::write(path(mine).join("thesis.txt"), "mine").unwrap();
        }
        // Puts another directory, and a file, under names that the run had used.
        fs::rename(path("kernel-7"), path("elsewhere")).unwrap();
        fs::create_dir(path("kernel-7")).unwrap();
        fs::remove_dir_all(path("kernel-8")).unwrap();
        fs::write(path("kernel-8"), "a file").unwrap();
        let removed = clean(top.path()).unwrap();
        assert_eq!(removed.trial, "0199");
        assert_eq!(removed.spared.len(), 2, "{removed:?}");
        let left = ["age-0", "copy-1", "elsewhere", "kernel-6", "kernel-7", "kernel-8", "kernel-x"];
        assert_eq!(entries(top.path()), left);
        assert!(matches!(clean(top.path()), Err(LabError::NothingLeft { .. })));
    }

    #[test]
    fn a_directory_that_was_only_announced_is_removed_if_it_is_empty() {
        let top = killed_in(&[]);
        let mark = top.path().join(".treering-run");
        let listed = fs::read_to_string(&mark).unwrap() + "will kernel-0\nwill kernel-1\nwill k";
        fs::write(&mark, listed).unwrap();
        fs::create_dir(top.path().join("kernel-0")).unwrap();
        fs::create_dir_all(top.path().join("kernel-1/mine")).unwrap();
        fs::create_dir(top.path().join("k")).unwrap();
        let refused = OwnedDirectory::take(top.path()).unwrap().refuse_leftovers();
        assert!(matches!(refused, Err(LabError::Left { .. })), "{refused:?}");
        let removed = clean(top.path()).unwrap();
        assert_eq!(removed.spared[0].name, "kernel-1");
        assert_eq!(entries(top.path()), ["k", "kernel-1"]);
    }

    #[test]
    fn a_mark_copied_to_another_directory_removes_nothing() {
        let (top, other) = (killed_in(&["kernel-0"]), tempfile::tempdir().unwrap());
        let copy = other.path().join(".treering-run");
        fs::copy(top.path().join(".treering-run"), &copy).unwrap();
        fs::create_dir(other.path().join("kernel-0")).unwrap();
        for refused in [
            clean(other.path()).map(|_removed| ()),
            OwnedDirectory::take(other.path()).unwrap().refuse_leftovers(),
        ] {
            assert!(matches!(refused, Err(LabError::MarkFromElsewhere { .. })), "{refused:?}");
        }
        assert_eq!(entries(other.path()), [".treering-run", "kernel-0"]);
        clean(top.path()).unwrap();
    }

    #[test]
    fn a_mark_of_another_user_removes_nothing() {
        if !is_root() {
            println!("skipped: only root can give a file away");
            return;
        }
        let top = killed_in(&["kernel-0", "kernel-1"]);
        let mark = top.path().join(".treering-run");
        chown(&mark, Some(65_534), None).unwrap();
        for refused in [
            clean(top.path()).map(|_removed| ()),
            OwnedDirectory::take(top.path()).unwrap().refuse_leftovers(),
        ] {
            assert!(matches!(refused, Err(LabError::MarkOfOther { user: 65_534, .. })));
        }
        assert_eq!(entries(top.path()), [".treering-run", "kernel-0", "kernel-1"]);
        // A tree with another owner no longer counts as the run's.
        chown(&mark, Some(0), None).unwrap();
        chown(top.path().join("kernel-0"), Some(65_534), None).unwrap();
        assert_eq!(clean(top.path()).unwrap().spared.len(), 1);
        assert_eq!(entries(top.path()), ["kernel-0"]);
    }

    #[test]
    fn other_files_named_like_a_mark_are_kept() {
        let top = tempfile::tempdir().unwrap();
        let mark = top.path().join(".treering-run");
        fs::create_dir(top.path().join("kernel-0")).unwrap();
        for content in [&b"hello"[..], &[0xff, 0xfe], b"treering run 9\nwill kernel-0\n"] {
            fs::write(&mark, content).unwrap();
            assert!(matches!(clean(top.path()), Err(LabError::NothingLeft { .. })));
            assert_eq!(fs::read(&mark).unwrap(), content);
        }
        fs::remove_file(&mark).unwrap();
        fs::create_dir(&mark).unwrap();
        assert!(matches!(clean(top.path()), Err(LabError::NothingLeft { .. })));
        assert_eq!(entries(top.path()), [".treering-run", "kernel-0"]);
    }

    #[test]
    fn marks_of_older_versions_remove_only_themselves() {
        let top = tempfile::tempdir().unwrap();
        let mark = top.path().join(".treering-run");
        fs::create_dir(top.path().join("kernel-0")).unwrap();
        fs::write(&mark, "treering run 1\ntrial 0198\n").unwrap();
        let refused = OwnedDirectory::take(top.path()).unwrap().refuse_leftovers();
        assert!(matches!(refused, Err(LabError::Left { .. })), "{refused:?}");
        assert!(clean(top.path()).unwrap().has_no_list);
        assert_eq!(entries(top.path()), ["kernel-0"]);
    }

    #[test]
    fn a_reused_inode_number_is_another_directory() {
        let top = killed_in(&["kernel-0"]);
        let tree = top.path().join("kernel-0");
        let before = fs::metadata(&tree).unwrap();
        fs::remove_dir_all(&tree).unwrap();
        fs::create_dir(&tree).unwrap();
        fs::write(tree.join("thesis.txt"), "mine").unwrap();
        let after = fs::metadata(&tree).unwrap();
        let is_distinguishable = before.ino() != after.ino() || before.created().is_ok();
        if !is_distinguishable {
            println!("skipped: this filesystem uses numbers again and keeps no time of birth");
            return;
        }
        assert_eq!(clean(top.path()).unwrap().spared.len(), 1);
        assert_eq!(fs::read(tree.join("thesis.txt")).unwrap(), b"mine");
    }
}
