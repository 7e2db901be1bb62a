//! Grid of a device's cells in address order, row by row, with addresses at the left.

use std::collections::BTreeMap;
use std::fmt::Write;

use maud::{Markup, html};

use super::mark::{line, px};
use crate::{Number, NumberStyle};

const COLUMNS: usize = 128;
const CELL: (f64, f64) = (6.5, 9.0);
/// Width of the address column.
const LEFT: f64 = 68.0;
/// Maximum number of addresses.
const TICKS: usize = 16;

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
}

impl<P: CellPaint> Cells<P> {
    /// Creates the grid from the appearance of all cells of a device; `None` leaves a cell blank.
    pub(super) fn new(looks: Vec<Option<P>>, cell_bytes: u64) -> Self {
        let first = looks.iter().position(Option::is_some).unwrap_or(0) / COLUMNS * COLUMNS;
        let last = looks.iter().rposition(Option::is_some).map_or(first, |place| place + 1);
        let looks = looks.get(first..last).unwrap_or_default().to_vec();
        Self { first, looks, cell_bytes }
    }

    fn rows(&self) -> usize {
        self.looks.len().div_ceil(COLUMNS)
    }

    /// Width and height of the drawing.
    pub(super) fn size(&self) -> (f64, f64) {
        (LEFT + COLUMNS as f64 * CELL.0, self.rows().max(1) as f64 * CELL.1 + 4.0)
    }

    /// Draws one path for each appearance: few elements, however many cells.
    pub(super) fn drawing(&self) -> Markup {
        let mut paths: BTreeMap<P, String> = BTreeMap::new();
        for (row, looks) in self.looks.chunks(COLUMNS).enumerate() {
            let mut column = 0;
            for alike in looks.chunk_by(|current, next| current == next) {
                let (x, y) = (LEFT + column as f64 * CELL.0, row as f64 * CELL.1);
                let (width, height) = (px(alike.len() as f64 * CELL.0), px(CELL.1 - 1.0));
                column += alike.len();
                let Some(look) = alike[0] else { continue };
                let path = paths.entry(look).or_default();
                // Writing to a String cannot fail.
                let _always = write!(path, "M{} {}h{width}v{height}h-{width}z", px(x), px(y));
            }
        }
        let every = self.rows().div_ceil(TICKS).max(1);
        html! {
            @for row in (0..self.rows()).step_by(every) {
                @let y = row as f64 * CELL.1;
                @let address = (self.first + row * COLUMNS) as u64 * self.cell_bytes;
                text class="tick" x=(px(LEFT - 6.0)) y=(px(y + 9.0)) text-anchor="end" {
                    (sized(address))
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
