//! Measures of a layout on disk: extents in, figures out, in bounded memory and one pass.
//!
//! Not here: how extents are learnt (the kernel tells them), what a tree is walked like, words for
//! people. docs/layout.md defines every measure; the sources are Smith & Seltzer, "File system
//! aging" (SIGMETRICS 1997) for [`TreeLayout::layout_score`], and Conway et al., "File systems
//! fated for senescence" (FAST 2017) for the score over a whole traversal.

mod draws;
mod free;
mod heat_map;
mod map;
mod ratio;
mod spread;
mod tree;

pub use draws::Draws;
pub use free::{FreeBin, FreeSpaceLayout, FreeSpaceMeasures};
pub use heat_map::HeatCells;
pub use map::{DeviceMap, MapCell, MapGroup, MapMeasures};
pub use ratio::{Share, ShareInterval};
pub use spread::{Quantiles, Spread};
pub use tree::{ExtentTotals, TreeLayout, TreeMeasures};

/// What is known of the place of an extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Blocks of its own at [`Extent::physical`].
    Placed,
    /// Kept within the metadata, without a block.
    Inline,
    /// Written, and not yet allocated.
    Delayed,
}

/// A piece of a file that lies in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Where it is in the file, in bytes.
    pub logical: u64,
    /// Where it lies, in bytes; means nothing unless it is placed.
    pub physical: u64,
    /// Bytes of the file that it holds.
    pub length: u64,
    /// Whether it has a place.
    pub placement: Placement,
    /// Allocated and never written.
    pub unwritten: bool,
    /// Also of other files, or of other places of this one.
    pub shared: bool,
    /// Compressed or encrypted: on the device it is at most as long as in the file.
    pub encoded: bool,
}

impl Extent {
    /// A plain extent.
    pub const fn placed(logical: u64, physical: u64, length: u64) -> Self {
        Self {
            logical,
            physical,
            length,
            placement: Placement::Placed,
            unwritten: false,
            shared: false,
            encoded: false,
        }
    }

    /// Just behind its last byte, if it is as long on the device as in the file.
    pub const fn end(&self) -> u64 {
        self.physical.saturating_add(self.length)
    }
}
