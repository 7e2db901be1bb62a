//! Grid of a device's cells in address order, row by row, with addresses at the left.

use std::collections::BTreeMap;
use std::fmt::Write;

use maud::{Markup, html};

use super::mark::{line, px, trimmed};
use crate::{Number, NumberStyle};

/// Geometry of a grid.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellGrid {
    columns: usize,
    /// Width and height of a cell.
    cell: (f64, f64),
    /// Blank height below each row of cells.
    gap: f64,
    /// Maximum number of addresses.
    ticks: usize,
}

/// Grid over the width of a page.
pub(super) const WIDE: CellGrid = CellGrid { columns: 128, cell: (8.06, 9.0), gap: 1.0, ticks: 16 };
/// Grid at the size of a small chart, placed beside others.
pub(super) const SMALL: CellGrid = CellGrid { columns: 64, cell: (5.18, 4.4), gap: 0.4, ticks: 6 };

/// Width of the address column.
const LEFT: f64 = 68.0;

/// Appearance of a cell.
pub(super) trait CellPaint: Copy + Ord {
    /// CSS class of the colour.
    fn class(self) -> String;
    /// Opacity from 0 to 1.
    fn opacity(self) -> f64;
}

/// Cells from the first non-empty row to the last non-empty cell.
pub(super) struct Cells<P> {
    first: usize,
    looks: Vec<Option<P>>,
    cell_bytes: u64,
    grid: CellGrid,
}

impl<P: CellPaint> Cells<P> {
    /// Creates the grid from the appearance of all cells of a device; `None` leaves a cell blank.
    pub(super) fn new(looks: Vec<Option<P>>, cell_bytes: u64, grid: CellGrid) -> Self {
        let columns = grid.columns;
        let first = looks.iter().position(Option::is_some).unwrap_or(0) / columns * columns;
        let last = looks.iter().rposition(Option::is_some).map_or(first, |place| place + 1);
        let looks = looks.get(first..last).unwrap_or_default().to_vec();
        Self { first, looks, cell_bytes, grid }
    }

    /// The same cells on another grid.
    pub(super) fn on_grid(&self, grid: CellGrid) -> Self {
        let blank = self.first % grid.columns;
        let looks = std::iter::repeat_n(None, blank).chain(self.looks.iter().copied());
        Self {
            first: self.first - blank,
            looks: looks.collect(),
            cell_bytes: self.cell_bytes,
            grid,
        }
    }

    fn rows(&self) -> usize {
        self.looks.len().div_ceil(self.grid.columns)
    }

    /// Width and height of the drawing.
    pub(super) fn size(&self) -> (f64, f64) {
        let CellGrid { columns, cell, .. } = self.grid;
        (LEFT + columns as f64 * cell.0, self.rows().max(1) as f64 * cell.1 + 4.0)
    }

    /// Draws one path for each appearance, so that the number of elements does not grow with the
    /// cells.
    pub(super) fn drawing(&self) -> Markup {
        let CellGrid { columns, cell, gap, ticks } = self.grid;
        let mut paths: BTreeMap<P, String> = BTreeMap::new();
        for (row, looks) in self.looks.chunks(columns).enumerate() {
            let mut column = 0;
            for alike in looks.chunk_by(|current, next| current == next) {
                let (x, y) = (LEFT + column as f64 * cell.0, row as f64 * cell.1);
                let (width, height) = (px(alike.len() as f64 * cell.0), px(cell.1 - gap));
                column += alike.len();
                let Some(look) = alike[0] else { continue };
                let path = paths.entry(look).or_default();
                // Writing to a String cannot fail.
                let _always = write!(path, "M{} {}h{width}v{height}h-{width}z", px(x), px(y));
            }
        }
        // Cell sizes are powers of two, so rows at power-of-two intervals have round addresses.
        let every = self.rows().div_ceil(ticks).max(1).next_power_of_two();
        html! {
            @for row in (0..self.rows()).step_by(every) {
                @let y = row as f64 * cell.1;
                @let address = (self.first + row * columns) as u64 * self.cell_bytes;
                text class="tick" x=(px(LEFT - 6.0)) y=(px(y + 9.0)) text-anchor="end" {
                    (trimmed(&sized(address)))
                }
                (line("grid", (LEFT - 4.0, y), (LEFT, y)))
            }
            @for (look, path) in &paths {
                g class=(look.class()) { path d=(path) fill-opacity=(px(look.opacity())) {} }
            }
        }
    }
}

/// Formats bytes in a suitable unit.
pub(super) fn sized(bytes: u64) -> String {
    Number { value: bytes as f64, unit: String::new(), style: NumberStyle::Size }.text()
}
