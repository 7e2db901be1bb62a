//! Directory tree of mdtest: its directories, those that hold items, and the numbering of items.
//!
//! Directories are numbered as in a heap: the children of `d` are `d * branch + 1` and those behind
//! it. A directory holds the items from `d * items` on.

/// Number of a directory.
pub(super) type DirectoryNumber = u64;

/// A tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DirectoryTree {
    /// Children of a directory.
    pub(super) branch: u64,
    /// Levels below the top.
    pub(super) depth: u32,
    /// Only the lowest level holds items.
    pub(super) leaves_only: bool,
}

impl DirectoryTree {
    /// Number of directories; `None` on overflow.
    pub(super) fn directories(&self) -> Option<u64> {
        let mut level = 1_u64;
        let mut count = 1_u64;
        for _ in 0..self.depth {
            level = level.checked_mul(self.branch)?;
            count = count.checked_add(level)?;
        }
        Some(count)
    }

    /// Number of directories that hold items.
    pub(super) fn holders(&self) -> u64 {
        let directories = self.directories().unwrap_or(u64::MAX);
        if self.leaves_only { self.branch.saturating_pow(self.depth) } else { directories }
    }

    /// First directory that holds items; all later ones do, too.
    pub(super) fn first_holder(&self) -> DirectoryNumber {
        self.directories().unwrap_or(u64::MAX) - self.holders()
    }

    /// The directory above.
    pub(super) const fn parent(&self, directory: DirectoryNumber) -> Option<DirectoryNumber> {
        if directory == 0 { None } else { Some((directory - 1) / self.branch) }
    }

    /// Children of a directory that is at this depth.
    pub(super) const fn children(
        &self,
        directory: DirectoryNumber,
        depth: u32,
    ) -> std::ops::Range<DirectoryNumber> {
        let first = directory * self.branch + 1;
        if depth < self.depth { first..first + self.branch } else { first..first }
    }

    /// Visits directories in the original's order: each before its subdirectories.
    ///
    /// # Errors
    /// The first error of a visit.
    pub(super) fn visit_parents_first<E>(
        &self,
        visit: &mut dyn FnMut(DirectoryNumber) -> Result<(), E>,
    ) -> Result<(), E> {
        self.before(0, 0, visit)
    }

    fn before<E>(
        &self,
        directory: DirectoryNumber,
        depth: u32,
        visit: &mut dyn FnMut(DirectoryNumber) -> Result<(), E>,
    ) -> Result<(), E> {
        visit(directory)?;
        self.children(directory, depth).try_for_each(|child| self.before(child, depth + 1, visit))
    }

    /// Visits directories, each after its subdirectories.
    ///
    /// # Errors
    /// The first error of a visit.
    pub(super) fn visit_children_first<E>(
        &self,
        visit: &mut dyn FnMut(DirectoryNumber) -> Result<(), E>,
    ) -> Result<(), E> {
        self.after(0, 0, visit)
    }

    fn after<E>(
        &self,
        directory: DirectoryNumber,
        depth: u32,
        visit: &mut dyn FnMut(DirectoryNumber) -> Result<(), E>,
    ) -> Result<(), E> {
        self.children(directory, depth)
            .try_for_each(|child| self.after(child, depth + 1, visit))?;
        visit(directory)
    }
}

#[cfg(test)]
mod tests {
    use super::DirectoryTree;

    fn visited(tree: DirectoryTree, last: bool) -> Vec<u64> {
        let mut visited = Vec::new();
        let mut visit = |directory| {
            visited.push(directory);
            Ok::<_, ()>(())
        };
        let done = if last {
            tree.visit_children_first(&mut visit)
        } else {
            tree.visit_parents_first(&mut visit)
        };
        done.unwrap();
        visited
    }

    #[test]
    fn directories_come_in_the_order_of_the_original() {
        let tree = DirectoryTree { branch: 3, depth: 2, leaves_only: true };
        assert_eq!(tree.directories(), Some(13));
        assert_eq!((tree.holders(), tree.first_holder()), (9, 4));
        assert_eq!(visited(tree, false), [0, 1, 4, 5, 6, 2, 7, 8, 9, 3, 10, 11, 12]);
        assert_eq!(visited(tree, true), [4, 5, 6, 1, 7, 8, 9, 2, 10, 11, 12, 3, 0]);
        assert_eq!(tree.parent(12), Some(3));
        assert_eq!(tree.parent(0), None);
    }

    #[test]
    fn single_directory_and_chain_are_valid_trees() {
        let single = DirectoryTree { branch: 1, depth: 0, leaves_only: true };
        assert_eq!(
            (single.directories(), single.holders(), single.first_holder()),
            (Some(1), 1, 0)
        );
        let chain = DirectoryTree { branch: 1, depth: 3, leaves_only: false };
        assert_eq!(chain.directories(), Some(4));
        assert_eq!(visited(chain, true), [3, 2, 1, 0]);
        let huge = DirectoryTree { branch: 1000, depth: 30, leaves_only: false };
        assert_eq!(huge.directories(), None);
    }
}
