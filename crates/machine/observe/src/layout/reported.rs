//! Conversion of measurements to the reported layout.

use treering_model::{
    FileLayout, LayoutCount, LayoutExtents, LayoutFree, LayoutFreeBin, LayoutIntervals, LayoutMap,
    LayoutMapCell, LayoutMapGroup, LayoutQuantiles,
};
use treering_stats::layout::{
    CountRatio, DeviceMap, ExtentTotals, FreeSpaceLayout, Quantiles, TreeLayout,
};

/// Layout fields that describe the files.
pub(super) fn tree_fields(tree: &TreeLayout) -> FileLayout {
    FileLayout {
        block_bytes: tree.block_bytes,
        placed_files: tree.placed_files,
        inline_files: tree.inline_files,
        delayed_files: tree.delayed_files,
        empty_files: tree.empty_files,
        fragmented_files: tree.fragmented_files,
        most_extents: tree.most_extents,
        extents: LayoutExtents {
            placed: count(tree.placed),
            inline: count(tree.inline),
            delayed: count(tree.delayed),
            unwritten: count(tree.unwritten),
            shared: count(tree.shared),
            encoded: count(tree.encoded),
        },
        extents_per_file: value(tree.extents_per_file),
        layout_score: value(tree.layout_score),
        traversal_score: value(tree.traversal_score),
        adjacent_siblings: value(tree.adjacent_siblings),
        gap_bytes: tree.gap_bytes.map(quantiles),
        span_median: tree.span_permille.map(|permille| permille.p50 as f64 / 1000.0),
        ..FileLayout::default()
    }
}

/// Confidence intervals of a sample.
pub(super) fn intervals(tree: &TreeLayout) -> LayoutIntervals {
    let ends =
        |share: Option<CountRatio>| share?.interval.map(|interval| (interval.low, interval.high));
    // A share is at most 1, but the formula can exceed it.
    let share = |share: Option<CountRatio>| ends(share).map(|(low, high)| (low, high.min(1.0)));
    LayoutIntervals {
        extents_per_file: ends(tree.extents_per_file),
        layout_score: share(tree.layout_score),
        traversal_score: share(tree.traversal_score),
        adjacent_siblings: share(tree.adjacent_siblings),
    }
}

fn value(share: Option<CountRatio>) -> Option<f64> {
    share.map(|share| share.value())
}

fn count(totals: ExtentTotals) -> LayoutCount {
    LayoutCount { extents: totals.extents, bytes: totals.bytes }
}

/// Converts quantiles.
pub(super) fn quantiles(of: Quantiles) -> LayoutQuantiles {
    LayoutQuantiles { p50: of.p50, p90: of.p90, p99: of.p99, max: of.max }
}

/// Converts free space figures.
pub(super) fn free(free: &FreeSpaceLayout) -> LayoutFree {
    let bins = free.histogram.iter();
    let bin = |bin: &treering_stats::layout::FreeBin| LayoutFreeBin {
        from_bytes: bin.from_bytes,
        below_bytes: bin.from_bytes.checked_mul(2),
        extents: bin.extents,
        bytes: bin.bytes,
    };
    LayoutFree {
        extents: free.extents,
        bytes: free.bytes,
        mean_bytes: free.mean_bytes(),
        largest_bytes: free.largest_bytes,
        large_share: free.large_share(),
        small_share: free.small_share(),
        histogram: bins.map(bin).collect(),
    }
}

/// Converts the map.
pub(super) fn map(map: DeviceMap) -> LayoutMap {
    let groups = map.groups.into_iter();
    let cells = map.cells.into_iter();
    LayoutMap {
        cell_bytes: map.cell_bytes,
        groups: groups.map(|g| LayoutMapGroup { name: g.name, bytes: g.bytes }).collect(),
        cells: cells
            .map(|c| LayoutMapCell { space: c.space, free: c.free, groups: c.groups })
            .collect(),
    }
}
