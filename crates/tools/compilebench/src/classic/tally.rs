//! Rows of the classic summary.

/// Row of the classic summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum SummaryRow {
    /// Trees made first.
    InitialCreate,
    /// Trees made later.
    Create,
    /// Patches of trees.
    Patch,
    /// Compiles of trees.
    Compile,
    /// Cleans of trees.
    Clean,
    /// Reads of trees without products.
    Read,
    /// Reads of trees with products.
    ReadCompiled,
    /// Deletes of trees without products.
    Delete,
    /// Deletes of trees with products.
    DeleteCompiled,
    /// Stats of trees without products.
    Stat,
    /// Stats of trees with products.
    StatCompiled,
}

impl SummaryRow {
    /// Rows in the order in which the original prints them.
    pub(crate) const ALL: [Self; 11] = [
        Self::InitialCreate,
        Self::Create,
        Self::Patch,
        Self::Compile,
        Self::Clean,
        Self::Read,
        Self::ReadCompiled,
        Self::Delete,
        Self::DeleteCompiled,
        Self::Stat,
        Self::StatCompiled,
    ];

    /// Name of the row as printed, with the original's spelling.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::InitialCreate => "intial create",
            Self::Create => "create",
            Self::Patch => "patch",
            Self::Compile => "compile",
            Self::Clean => "clean",
            Self::Read => "read tree",
            Self::ReadCompiled => "read compiled tree",
            Self::Delete => "delete tree",
            Self::DeleteCompiled => "delete compiled tree",
            Self::Stat => "stat tree",
            Self::StatCompiled => "stat compiled tree",
        }
    }

    /// True if the row is a mean of seconds rather than of MB/s.
    pub(crate) const fn in_seconds(self) -> bool {
        matches!(self, Self::Delete | Self::DeleteCompiled | Self::Stat | Self::StatCompiled)
    }
}
