//! What lies where on the device: cells in the order of their addresses, row by row, each in the
//! colour of what it has most of, the paler the less of it is that.

use std::collections::BTreeMap;
use std::fmt::Write;

use maud::{Markup, html};
use treering_model::{LayoutMap, LayoutMapCell};

use super::DeviceMapChart;
use super::figure::{Entry, Figure};
use super::mark::{Shape, line, px};
use crate::escape::visible;
use crate::{Number, Style};

const COLUMNS: usize = 128;
const CELL: (f64, f64) = (6.5, 9.0);
/// Room for the addresses at the left.
const LEFT: f64 = 68.0;
/// Directories with a colour of their own.
const COLOURS: usize = 5;
/// Steps of how much of a cell is of its colour.
const STEPS: u64 = 4;

/// What a cell has most of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Most {
    /// One of the largest directories.
    Directory(usize),
    /// Files of others.
    OtherFiles,
    /// Metadata, and files that were not looked at.
    Other,
    /// Nothing: free.
    Free,
}

impl Most {
    fn class(self) -> String {
        match self {
            Self::Directory(place) => format!("map-{}", place + 1),
            Self::OtherFiles => "map-files".to_owned(),
            Self::Other => "map-other".to_owned(),
            Self::Free => "map-free".to_owned(),
        }
    }
}

pub(super) fn figure(chart: &DeviceMapChart) -> Figure {
    let map = &chart.map;
    let largest = largest(map);
    let (first, last) = stretch(map);
    let rows = (last - first).div_ceil(COLUMNS).max(1);
    let size = |bytes: u64| sized(bytes).text();
    Figure {
        class: "map",
        title: visible(&chart.title),
        says: String::new(),
        aside: format!(
            "Addresses grow from left to right and from row to row; a cell is {}, in the colour of \
             what it has most of, the paler the less that is.",
            size(map.cell_bytes)
        ),
        key: String::new(),
        legend: legend(map, &largest),
        spoken: "What lies where on the device".to_owned(),
        size: (LEFT + COLUMNS as f64 * CELL.0, rows as f64 * CELL.1 + 4.0),
        drawing: drawing(map, &largest, first, last),
        below: String::new(),
    }
}

fn sized(bytes: u64) -> Number {
    Number { value: bytes as f64, unit: String::new(), style: Style::Size }
}

/// The places of the largest groups, the largest first, those with a name and bytes.
fn largest(map: &LayoutMap) -> Vec<usize> {
    let mut places: Vec<usize> = (0..map.groups.len())
        .filter(|&place| !map.groups[place].name.is_empty() && map.groups[place].bytes > 0)
        .collect();
    places.sort_by_key(|&place| (std::cmp::Reverse(map.groups[place].bytes), place));
    places.truncate(COLOURS);
    // In the order in which they are met: neighbours keep different colours from page to page.
    places.sort_unstable();
    places
}

/// From the first cell with anything to behind the last.
fn stretch(map: &LayoutMap) -> (usize, usize) {
    let is_there = |cell: &LayoutMapCell| cell.space > 0 || !cell.groups.is_empty();
    let first = map.cells.iter().position(is_there).unwrap_or(0);
    let last = map.cells.iter().rposition(is_there).map_or(first, |place| place + 1);
    (first / COLUMNS * COLUMNS, last)
}

fn legend(map: &LayoutMap, largest: &[usize]) -> Vec<Entry> {
    let entry = |most: Most, name: String, bytes: u64| Entry {
        class: most.class(),
        shape: Shape::Square,
        name,
        text: sized(bytes).text(),
    };
    let named = largest.iter().enumerate().map(|(colour, &place)| {
        let group = &map.groups[place];
        entry(Most::Directory(colour), visible(&group.name), group.bytes)
    });
    let mut entries: Vec<Entry> = named.collect();
    let of_files: u64 = map.groups.iter().fold(0, |sum, group| sum.saturating_add(group.bytes));
    let of_named: u64 =
        largest.iter().fold(0, |sum, &place| map.groups[place].bytes.saturating_add(sum));
    if of_files > of_named {
        let rest = of_files - of_named;
        entries.push(entry(Most::OtherFiles, "other files of the tree".to_owned(), rest));
    }
    let sum = |of: fn(&LayoutMapCell) -> u64| {
        map.cells.iter().fold(0u64, |sum, cell| sum.saturating_add(of(cell)))
    };
    let other = sum(rest);
    if other > 0 {
        entries.push(entry(Most::Other, "metadata, and files elsewhere".to_owned(), other));
    }
    let free = sum(|cell| cell.free);
    if free > 0 {
        entries.push(entry(Most::Free, "free".to_owned(), free));
    }
    entries
}

/// Bytes of a cell that are neither free nor of a file that was looked at.
fn rest(cell: &LayoutMapCell) -> u64 {
    let files = cell.groups.iter().fold(0u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
    cell.space.saturating_sub(cell.free).saturating_sub(files)
}

/// What a cell has most of, and how many of the steps of it; `None` where there is no space.
fn most(cell: &LayoutMapCell, largest: &[usize]) -> Option<(Most, u64)> {
    let mut of: BTreeMap<Most, u64> = BTreeMap::new();
    for &(group, bytes) in &cell.groups {
        let colour = largest.iter().position(|&place| place == usize::from(group));
        let most = colour.map_or(Most::OtherFiles, Most::Directory);
        let sum = of.entry(most).or_default();
        *sum = sum.saturating_add(bytes);
    }
    of.insert(Most::Free, cell.free);
    of.insert(Most::Other, rest(cell));
    let (most, bytes) = of.into_iter().max_by_key(|(_, bytes)| *bytes)?;
    let all = cell.space.max(bytes);
    let steps = u128::from(bytes) * u128::from(STEPS) / u128::from(all.max(1));
    (bytes > 0).then(|| (most, u64::try_from(steps).unwrap_or(STEPS).clamp(1, STEPS)))
}

fn drawing(map: &LayoutMap, largest: &[usize], first: usize, last: usize) -> Markup {
    // One path for each colour and step: few elements, however many cells.
    let mut paths: BTreeMap<(Most, u64), String> = BTreeMap::new();
    let mut add = |look: (Most, u64), from: usize, count: usize| {
        let (column, row) = ((from - first) % COLUMNS, (from - first) / COLUMNS);
        let (x, y) = (LEFT + column as f64 * CELL.0, row as f64 * CELL.1);
        let (width, height) = (count as f64 * CELL.0, CELL.1 - 1.0);
        let path = paths.entry(look).or_default();
        // Writing into a String cannot fail.
        let _always =
            write!(path, "M{} {}h{}v{}h-{}z", px(x), px(y), px(width), px(height), px(width));
    };
    let cells = map.cells.get(first..last).unwrap_or_default();
    for (row, cells) in cells.chunks(COLUMNS).enumerate() {
        let begin = first + row * COLUMNS;
        let mut open: Option<((Most, u64), usize, usize)> = None;
        for (column, cell) in cells.iter().enumerate() {
            let look = most(cell, largest);
            open = match (open, look) {
                (Some((before, from, count)), Some(look)) if before == look => {
                    Some((before, from, count + 1))
                }
                (before, look) => {
                    if let Some((look, from, count)) = before {
                        add(look, from, count);
                    }
                    look.map(|look| (look, begin + column, 1))
                }
            };
        }
        if let Some((look, from, count)) = open {
            add(look, from, count);
        }
    }
    let rows = (last - first).div_ceil(COLUMNS);
    let every = rows.div_ceil(16).max(1);
    html! {
        @for row in (0..rows).step_by(every) {
            @let y = row as f64 * CELL.1;
            @let address = (first + row * COLUMNS) as u64 * map.cell_bytes;
            text class="tick" x=(px(LEFT - 6.0)) y=(px(y + 9.0)) text-anchor="end" {
                (sized(address).text())
            }
            (line("grid", (LEFT - 4.0, y), (LEFT, y)))
        }
        @for ((most, step), path) in &paths {
            g class=(most.class()) {
                path d=(path) fill-opacity=(px(0.25 + 0.75 * *step as f64 / STEPS as f64)) {}
            }
        }
    }
}
