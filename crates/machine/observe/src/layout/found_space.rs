//! What is known of the space of a filesystem.

use treering_model::{LayoutFree, LayoutFullness};

/// The space of a filesystem.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FoundSpace {
    /// What is free for data; `None` where it is not reported, and why in [`FoundSpace::problem`].
    pub(super) free: Option<LayoutFree>,
    /// Why free space is not reported, and what to do about it.
    pub(super) problem: Option<String>,
    /// How full it is.
    pub(super) fullness: LayoutFullness,
}
