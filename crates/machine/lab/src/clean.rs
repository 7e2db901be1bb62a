//! Removes what a killed run left: only with its mark, and only directories with the right names.

use std::ops::ControlFlow;
use std::path::Path;

use crate::leftovers::{Leftovers, Mark, find_leftovers, trees};
use crate::{LabError, Workplace};

/// Removes what a killed run left, and its mark last. `removing` is told each tree before.
///
/// # Errors
/// When there is no mark, a run is going on, or a tree cannot be removed.
pub fn remove_leftovers(dir: &Path, mut removing: impl FnMut(&str)) -> Result<Leftovers, LabError> {
    // Only a directory that nobody works in: the lock is held until the end.
    let found =
        find_leftovers(dir)?.ok_or_else(|| LabError::NothingLeft { path: dir.to_owned() })?;
    let held = Workplace::take(dir)?;
    for tree in trees(dir)? {
        removing(&tree);
        held.target().remove_tree(&tree, &mut |_| ControlFlow::Continue(()))?;
    }
    Mark::left_in(dir).remove(held.target().dir())?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::remove_leftovers;
    use crate::LabError;
    use crate::leftovers::Mark;

    #[test]
    fn only_marked_directories_lose_only_their_trees() {
        let top = tempfile::tempdir().unwrap();
        for dir in ["kernel-0/fs/ext4", "native-0/a", "kernel-x/a", "mine"] {
            std::fs::create_dir_all(top.path().join(dir)).unwrap();
        }
        std::fs::write(top.path().join("kernel-0/fs/inode.c"), "a").unwrap();
        std::fs::write(top.path().join("kernel-1"), "a file, not a tree").unwrap();
        let refused = remove_leftovers(top.path(), |_| {});
        assert!(matches!(refused, Err(LabError::NothingLeft { .. })));
        Mark::leave(top.path(), "0199", None).unwrap();
        let mut reported = Vec::new();
        let removed = remove_leftovers(top.path(), |tree| reported.push(tree.to_owned())).unwrap();
        assert_eq!(removed.trees, ["kernel-0", "native-0"]);
        assert_eq!(reported, removed.trees);
        let mut rest: Vec<_> = std::fs::read_dir(top.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        rest.sort();
        assert_eq!(rest, ["kernel-1", "kernel-x", "mine"]);
    }
}
