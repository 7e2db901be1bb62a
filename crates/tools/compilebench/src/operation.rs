//! Operations on trees: kinds, states of a tree before and after, names.

use std::fmt;

use treering_datasets::State;

use super::recipes::Recipe;
use super::tally::Tally;

/// Kind of operation on a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Updates sources to the later version.
    Patch,
    /// Writes build products.
    Compile,
    /// Removes build products.
    Clean,
    /// Removes the tree.
    Delete,
    /// Creates a clean tree.
    Create,
    /// Reads every file.
    Read,
    /// Stats every name.
    Stat,
}

impl Kind {
    /// Kinds in the order of the table from which the original draws.
    pub(super) const ALL: [Self; 7] = [
        Self::Patch,
        Self::Compile,
        Self::Clean,
        Self::Delete,
        Self::Create,
        Self::Read,
        Self::Stat,
    ];

    /// Name used in options, tables and the store.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Patch => "patch",
            Self::Compile => "compile",
            Self::Clean => "clean",
            Self::Delete => "delete",
            Self::Create => "create",
            Self::Read => "read",
            Self::Stat => "stat",
        }
    }

    /// States in which a tree can be operated on, in the order in which the original checks them.
    pub(super) const fn candidates(self) -> &'static [State] {
        match self {
            Self::Patch => &[State::Unpatched, State::UnpatchedCompiled],
            Self::Compile => &[State::Unpatched, State::Patched],
            Self::Clean => &[State::PatchedCompiled, State::UnpatchedCompiled],
            Self::Delete | Self::Read | Self::Stat => &[
                State::Patched,
                State::Unpatched,
                State::UnpatchedCompiled,
                State::PatchedCompiled,
            ],
            Self::Create => &[],
        }
    }

    /// State after the operation; `None` for a removed tree.
    pub(super) const fn leads_to(self, from: State) -> Option<State> {
        match (self, from) {
            (Self::Patch, State::UnpatchedCompiled) => Some(State::PatchedCompiled),
            (Self::Patch, _) | (Self::Clean, State::PatchedCompiled) => Some(State::Patched),
            (Self::Compile, State::Unpatched) => Some(State::UnpatchedCompiled),
            (Self::Compile, _) => Some(State::PatchedCompiled),
            (Self::Clean | Self::Create, _) => Some(State::Unpatched),
            (Self::Delete, _) => None,
            (Self::Read | Self::Stat, same) => Some(same),
        }
    }

    /// Recipe that turns a tree of this state into the next; reading and deleting need none.
    pub(super) const fn recipe(self, from: State) -> Option<Recipe> {
        match (self, from) {
            (Self::Create, _) => Some(Recipe::Create),
            (Self::Patch, State::UnpatchedCompiled) => Some(Recipe::PatchCompiled),
            (Self::Patch, _) => Some(Recipe::Patch),
            (Self::Compile, State::Unpatched) => Some(Recipe::Compile),
            (Self::Compile, _) => Some(Recipe::CompilePatched),
            (Self::Clean, State::PatchedCompiled) => Some(Recipe::CleanPatched),
            (Self::Clean, _) => Some(Recipe::Clean),
            (Self::Delete | Self::Read | Self::Stat, _) => None,
        }
    }

    /// Row of the classic summary; `compiled` is true if the caller takes the tree for compiled.
    pub(super) const fn tally(self, compiled: bool) -> Tally {
        match (self, compiled) {
            (Self::Create, _) => Tally::Create,
            (Self::Patch, _) => Tally::Patch,
            (Self::Compile, _) => Tally::Compile,
            (Self::Clean, _) => Tally::Clean,
            (Self::Read, false) => Tally::Read,
            (Self::Read, true) => Tally::ReadCompiled,
            (Self::Delete, false) => Tally::Delete,
            (Self::Delete, true) => Tally::DeleteCompiled,
            (Self::Stat, false) => Tally::Stat,
            (Self::Stat, true) => Tally::StatCompiled,
        }
    }
}

/// A planned operation on a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    /// Kind of operation.
    pub(super) kind: Kind,
    /// Name of the tree, such as `kernel-7`.
    pub(super) tree: String,
    /// State of the tree before; for a new tree, the state after.
    pub(super) state: State,
    /// True if each file is unlinked before it is written (patch only).
    pub(super) unlink_first: bool,
    /// Row of the classic summary in which the operation counts.
    pub(super) tally: Tally,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
