//! Operations on trees: kinds, states of a tree before and after, names.

use std::fmt;

use treering_datasets::TreeState;

use super::recipes::Recipe;
use super::tally::SummaryRow;

treering_model::named_enum! {
    /// Kind of operation on a tree.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub(super) enum OperationKind {
        /// Updates sources to the later version.
        Patch = "patch",
        /// Writes build products.
        Compile = "compile",
        /// Removes build products.
        Clean = "clean",
        /// Removes the tree.
        Delete = "delete",
        /// Creates a clean tree.
        Create = "create",
        /// Reads every file.
        Read = "read",
        /// Stats every name.
        Stat = "stat",
    }
}

impl OperationKind {
    /// States in which a tree can be operated on, in the order in which the original checks them.
    pub(super) const fn candidates(self) -> &'static [TreeState] {
        match self {
            Self::Patch => &[TreeState::Unpatched, TreeState::UnpatchedCompiled],
            Self::Compile => &[TreeState::Unpatched, TreeState::Patched],
            Self::Clean => &[TreeState::PatchedCompiled, TreeState::UnpatchedCompiled],
            Self::Delete | Self::Read | Self::Stat => &[
                TreeState::Patched,
                TreeState::Unpatched,
                TreeState::UnpatchedCompiled,
                TreeState::PatchedCompiled,
            ],
            Self::Create => &[],
        }
    }

    /// State after the operation; `None` for a removed tree.
    pub(super) const fn leads_to(self, from: TreeState) -> Option<TreeState> {
        match (self, from) {
            (Self::Patch, TreeState::UnpatchedCompiled) => Some(TreeState::PatchedCompiled),
            (Self::Patch, _) | (Self::Clean, TreeState::PatchedCompiled) => {
                Some(TreeState::Patched)
            }
            (Self::Compile, TreeState::Unpatched) => Some(TreeState::UnpatchedCompiled),
            (Self::Compile, _) => Some(TreeState::PatchedCompiled),
            (Self::Clean | Self::Create, _) => Some(TreeState::Unpatched),
            (Self::Delete, _) => None,
            (Self::Read | Self::Stat, same) => Some(same),
        }
    }

    /// Recipe that turns a tree of this state into the next; reading and deleting need none.
    pub(super) const fn recipe(self, from: TreeState) -> Option<Recipe> {
        match (self, from) {
            (Self::Create, _) => Some(Recipe::Create),
            (Self::Patch, TreeState::UnpatchedCompiled) => Some(Recipe::PatchCompiled),
            (Self::Patch, _) => Some(Recipe::Patch),
            (Self::Compile, TreeState::Unpatched) => Some(Recipe::Compile),
            (Self::Compile, _) => Some(Recipe::CompilePatched),
            (Self::Clean, TreeState::PatchedCompiled) => Some(Recipe::CleanPatched),
            (Self::Clean, _) => Some(Recipe::Clean),
            (Self::Delete | Self::Read | Self::Stat, _) => None,
        }
    }

    /// Row of the classic summary; `compiled` is true if the caller takes the tree for compiled.
    pub(super) const fn tally(self, compiled: bool) -> SummaryRow {
        match (self, compiled) {
            (Self::Create, _) => SummaryRow::Create,
            (Self::Patch, _) => SummaryRow::Patch,
            (Self::Compile, _) => SummaryRow::Compile,
            (Self::Clean, _) => SummaryRow::Clean,
            (Self::Read, false) => SummaryRow::Read,
            (Self::Read, true) => SummaryRow::ReadCompiled,
            (Self::Delete, false) => SummaryRow::Delete,
            (Self::Delete, true) => SummaryRow::DeleteCompiled,
            (Self::Stat, false) => SummaryRow::Stat,
            (Self::Stat, true) => SummaryRow::StatCompiled,
        }
    }
}

/// A planned operation on a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TreeOperation {
    /// Kind of operation.
    pub(super) kind: OperationKind,
    /// Name of the tree, such as `kernel-7`.
    pub(super) tree: String,
    /// State of the tree before; for a new tree, the state after.
    pub(super) state: TreeState,
    /// True if each file is unlinked before it is written (patch only).
    pub(super) unlink_first: bool,
    /// Row of the classic summary in which the operation counts.
    pub(super) tally: SummaryRow,
}

impl fmt::Display for OperationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
