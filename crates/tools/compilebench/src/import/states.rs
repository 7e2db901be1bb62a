//! State of each tree, followed from the operations so far, since lines of read, stat and delete do
//! not tell it.

use std::collections::BTreeMap;

/// State of a tree, as the original's four dictionaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum TreeState {
    Unpatched,
    Patched,
    UnpatchedCompiled,
    PatchedCompiled,
}

impl TreeState {
    fn is_compiled(self) -> bool {
        matches!(self, Self::UnpatchedCompiled | Self::PatchedCompiled)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Unpatched => "unpatched",
            Self::Patched => "patched",
            Self::UnpatchedCompiled => "unpatched compiled",
            Self::PatchedCompiled => "patched compiled",
        }
    }
}

/// States of all living trees.
#[derive(Clone, Debug, Default)]
pub(super) struct TreeStates {
    trees: BTreeMap<String, TreeState>,
}

/// Tree of an operation: its state, and the row of the summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TreeReport {
    /// State before, in words; for a new tree, the state after.
    pub(super) state: &'static str,
    /// Row of the summary in which the original counts the operation.
    pub(super) tally: &'static str,
    /// True if the tree did not exist, or its state does not allow the operation.
    pub(super) is_surprising: bool,
}

impl TreeStates {
    /// Applies an operation to a tree.
    pub(super) fn follow(&mut self, kind: &str, tree: &str) -> TreeReport {
        use TreeState::{Patched, PatchedCompiled, Unpatched, UnpatchedCompiled};
        if kind == "create" {
            let before = self.trees.insert(tree.to_owned(), Unpatched);
            let is_surprising = before.is_some();
            return TreeReport { state: Unpatched.name(), tally: "create", is_surprising };
        }
        let known = self.trees.get(tree).copied();
        let state = known.unwrap_or(match kind {
            // Only a tree with products can be cleaned.
            "clean" => UnpatchedCompiled,
            _ => Unpatched,
        });
        let (after, is_possible) = match (kind, state) {
            ("patch", UnpatchedCompiled) => (Some(PatchedCompiled), true),
            ("patch", state) => (Some(Patched), state == Unpatched),
            ("compile", Unpatched) => (Some(UnpatchedCompiled), true),
            ("compile", state) => (Some(PatchedCompiled), state == Patched),
            ("clean", PatchedCompiled) => (Some(Patched), true),
            ("clean", state) => (Some(Unpatched), state == UnpatchedCompiled),
            ("delete", _) => (None, true),
            (_, state) => (Some(state), true),
        };
        match after {
            Some(after) => self.trees.insert(tree.to_owned(), after),
            None => self.trees.remove(tree),
        };
        let tally = match kind {
            "patch" => "patch",
            "compile" => "compile",
            "clean" => "clean",
            "read" if state.is_compiled() => "read compiled tree",
            "read" => "read tree",
            "stat" if state.is_compiled() => "stat compiled tree",
            "stat" => "stat tree",
            _ if self.counts_as_compiled(state) => "delete compiled tree",
            _ => "delete tree",
        };
        TreeReport { state: state.name(), tally, is_surprising: known.is_none() || !is_possible }
    }

    /// True if the original takes a just deleted tree for a compiled one: it compares dictionaries
    /// by content, after the tree was taken out, and all empty ones are equal.
    fn counts_as_compiled(&self, state: TreeState) -> bool {
        let is_empty = |state: TreeState| self.trees.values().all(|other| *other != state);
        let is_one_empty =
            is_empty(TreeState::UnpatchedCompiled) || is_empty(TreeState::PatchedCompiled);
        state.is_compiled() || (is_empty(state) && is_one_empty)
    }
}

#[cfg(test)]
mod tests {
    use super::TreeStates;

    #[test]
    fn plain_and_compiled_trees_are_distinguished() {
        let mut states = TreeStates::default();
        let mut tally = |kind: &str, tree: &str| {
            let reported = states.follow(kind, tree);
            assert!(!reported.is_surprising, "{kind} {tree}");
            (reported.tally, reported.state)
        };
        assert_eq!(tally("create", "a"), ("create", "unpatched"));
        assert_eq!(tally("create", "b"), ("create", "unpatched"));
        assert_eq!(tally("read", "a"), ("read tree", "unpatched"));
        assert_eq!(tally("compile", "a"), ("compile", "unpatched"));
        assert_eq!(tally("patch", "a"), ("patch", "unpatched compiled"));
        assert_eq!(tally("stat", "a"), ("stat compiled tree", "patched compiled"));
        assert_eq!(tally("clean", "a"), ("clean", "patched compiled"));
        assert_eq!(tally("read", "a"), ("read tree", "patched"));
        assert_eq!(tally("compile", "a"), ("compile", "patched"));
        assert_eq!(tally("delete", "a"), ("delete compiled tree", "patched compiled"));
    }

    #[test]
    fn deletion_of_the_last_tree_follows_the_original_classification() {
        let mut states = TreeStates::default();
        for tree in ["a", "b"] {
            states.follow("create", tree);
        }
        assert_eq!(states.follow("delete", "a").tally, "delete tree");
        assert_eq!(states.follow("delete", "b").tally, "delete compiled tree");
    }

    #[test]
    fn impossible_operations_are_flagged() {
        let mut states = TreeStates::default();
        assert!(states.follow("read", "nobody").is_surprising);
        states.follow("create", "a");
        assert!(states.follow("create", "a").is_surprising);
        assert!(states.follow("clean", "a").is_surprising);
        states.follow("patch", "a");
        assert!(states.follow("patch", "a").is_surprising);
    }
}
