//! Space usage of a filesystem.

use treering_model::{LayoutFree, LayoutFullness};

/// Space usage of a filesystem.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SpaceUsage {
    /// Free space for data; `None` if not reported, with the reason in [`SpaceUsage::problem`].
    pub(super) free: Option<LayoutFree>,
    /// Reason why free space is missing, with advice.
    pub(super) problem: Option<String>,
    /// Used share of the filesystem.
    pub(super) fullness: LayoutFullness,
}
