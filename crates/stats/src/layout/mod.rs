//! Layout measures: figures computed from extents in one pass and bounded memory.
//!
//! Not here: reading extents, walking trees, and texts for users. docs/layout.md defines every
//! measure; the sources are Smith & Seltzer, "File system aging" (SIGMETRICS 1997) for
//! [`TreeLayout::layout_score`], and Conway et al., "File systems fated for senescence" (FAST 2017)
//! for the score over a whole traversal.

mod draws;
mod free;
mod heat_map;
mod map;
mod ratio;
mod spread;
mod structure;
mod tree;

pub use draws::SampleDraws;
pub use free::{FreeBin, FreeSpaceLayout, FreeSpaceMeasures};
pub use heat_map::HeatCells;
pub use map::{DeviceMap, MapCell, MapGroup, MapMeasures};
pub use ratio::{CountRatio, ShareInterval};
pub use spread::Quantiles;
pub(crate) use spread::ValueHistogram;
pub use structure::{MetadataBlocks, StructureLayout, StructureMeasures};
pub use tree::{ExtentTotals, TreeLayout, TreeMeasures};

/// Placement of an extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtentPlacement {
    /// Own blocks at [`Extent::physical`].
    Placed,
    /// Stored inline in the metadata, without a block.
    Inline,
    /// Written, but not yet allocated.
    Delayed,
}

/// Contiguous extent of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Offset in the file, in bytes.
    pub logical: u64,
    /// Address on the device in bytes; undefined unless placed.
    pub physical: u64,
    /// Length in the file, in bytes.
    pub length: u64,
    /// Placement.
    pub placement: ExtentPlacement,
    /// True if allocated but never written.
    pub unwritten: bool,
    /// True if shared with other files, or with other ranges of the same file.
    pub shared: bool,
    /// True if compressed or encrypted. The extent is then at most as long on the device as in the
    /// file.
    pub encoded: bool,
}

impl Extent {
    /// Builds a plain placed extent.
    pub const fn placed(logical: u64, physical: u64, length: u64) -> Self {
        Self {
            logical,
            physical,
            length,
            placement: ExtentPlacement::Placed,
            unwritten: false,
            shared: false,
            encoded: false,
        }
    }

    /// Address after the last byte, if the extent is as long on the device as in the file.
    pub const fn end(&self) -> u64 {
        self.physical.saturating_add(self.length)
    }
}
