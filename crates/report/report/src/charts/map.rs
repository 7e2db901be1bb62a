//! Map of the device: cells in address order, row by row, each in the colour of its predominant
//! content, paler for a smaller share.

use std::collections::BTreeMap;

use treering_model::{LayoutMap, LayoutMapCell};

use super::DeviceMapChart;
use super::cells::{CellPaint, Cells, SMALL, WIDE, sized};
use super::figure::{Figure, LegendEntry};
use super::mark::MarkShape;
use crate::escape::visible;

/// Number of directories with a colour of their own.
const COLOURS: usize = 5;
/// Number of opacity steps for a cell's share.
const STEPS: u64 = 4;

/// Predominant content of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CellContent {
    /// Files of one of the largest directories.
    Directory(usize),
    /// Files of other directories.
    OtherFiles,
    /// Metadata, and files that were not examined.
    Other,
    /// Free space.
    Free,
}

impl CellContent {
    fn class(self) -> String {
        match self {
            Self::Directory(place) => format!("map-{}", place + 1),
            Self::OtherFiles => "map-files".to_owned(),
            Self::Other => "map-other".to_owned(),
            Self::Free => "map-free".to_owned(),
        }
    }
}

/// Predominant content of a cell and its share, in steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CellLook(CellContent, u64);

impl CellPaint for CellLook {
    fn class(self) -> String {
        self.0.class()
    }

    fn opacity(self) -> f64 {
        0.5 + 0.5 * self.1 as f64 / STEPS as f64
    }
}

pub(super) fn figure(chart: &DeviceMapChart) -> Figure {
    let map = &chart.map;
    let largest = largest(map);
    let looks = map.cells.iter().map(|cell| most(cell, &largest)).collect();
    let grid = if chart.is_small { SMALL } else { WIDE };
    let cells = Cells::new(looks, map.cell_bytes, grid);
    // Letters of the wide map would be too small on a narrow screen.
    let narrow = (!chart.is_small).then(|| cells.on_grid(SMALL));
    Figure {
        class: "map",
        title: visible(&chart.title),
        subtitle: String::new(),
        aside: if chart.is_small {
            format!("A cell is {}.", sized(map.cell_bytes))
        } else {
            format!(
                "Addresses increase from left to right and from row to row; a cell is {}, in the \
                 colour of what occupies most of it, paler the less it holds.",
                sized(map.cell_bytes)
            )
        },
        key: String::new(),
        legend: legend(map, &largest),
        spoken: format!("{}, as a map of the device", visible(&chart.title)),
        size: cells.size(),
        drawing: cells.drawing(),
        narrow: narrow.map(|cells| (cells.size(), cells.drawing())),
        below: String::new(),
    }
}

/// Indices of the largest groups that have a name and bytes, the largest first.
fn largest(map: &LayoutMap) -> Vec<usize> {
    let mut places: Vec<usize> = (0..map.groups.len())
        .filter(|&place| !map.groups[place].name.is_empty() && map.groups[place].bytes > 0)
        .collect();
    places.sort_by_key(|&place| (std::cmp::Reverse(map.groups[place].bytes), place));
    places.truncate(COLOURS);
    // The order of occurrence keeps colours stable from page to page.
    places.sort_unstable();
    places
}

fn legend(map: &LayoutMap, largest: &[usize]) -> Vec<LegendEntry> {
    let entry = |most: CellContent, name: String, bytes: u64| LegendEntry {
        class: most.class(),
        shape: MarkShape::Square,
        name,
        text: sized(bytes),
    };
    let named = largest.iter().enumerate().map(|(colour, &place)| {
        let group = &map.groups[place];
        entry(CellContent::Directory(colour), visible(&group.name), group.bytes)
    });
    let mut entries: Vec<LegendEntry> = named.collect();
    let of_files: u64 = map.groups.iter().fold(0, |sum, group| sum.saturating_add(group.bytes));
    let of_named: u64 =
        largest.iter().fold(0, |sum, &place| map.groups[place].bytes.saturating_add(sum));
    if of_files > of_named {
        let unnamed = of_files - of_named;
        entries.push(entry(CellContent::OtherFiles, "other files of the tree".to_owned(), unnamed));
    }
    let sum = |of: fn(&LayoutMapCell) -> u64| {
        map.cells.iter().fold(0u64, |sum, cell| sum.saturating_add(of(cell)))
    };
    let other = sum(rest);
    if other > 0 {
        entries.push(entry(CellContent::Other, "metadata, and files elsewhere".to_owned(), other));
    }
    let free = sum(|cell| cell.free);
    if free > 0 {
        entries.push(entry(CellContent::Free, "free".to_owned(), free));
    }
    entries
}

/// Bytes of a cell that are neither free nor part of an examined file.
fn rest(cell: &LayoutMapCell) -> u64 {
    let files = cell.groups.iter().fold(0u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
    cell.space.saturating_sub(cell.free).saturating_sub(files)
}

/// Appearance of a cell; `None` for a cell without space on the device.
fn most(cell: &LayoutMapCell, largest: &[usize]) -> Option<CellLook> {
    let mut of: BTreeMap<CellContent, u64> = BTreeMap::new();
    for &(group, bytes) in &cell.groups {
        let colour = largest.iter().position(|&place| place == usize::from(group));
        let most = colour.map_or(CellContent::OtherFiles, CellContent::Directory);
        let sum = of.entry(most).or_default();
        *sum = sum.saturating_add(bytes);
    }
    of.insert(CellContent::Free, cell.free);
    of.insert(CellContent::Other, rest(cell));
    let (most, bytes) = of.into_iter().max_by_key(|(_, bytes)| *bytes)?;
    let capacity = cell.space.max(bytes);
    let steps = u128::from(bytes) * u128::from(STEPS) / u128::from(capacity.max(1));
    (bytes > 0).then(|| CellLook(most, u64::try_from(steps).unwrap_or(STEPS).clamp(1, STEPS)))
}
