//! Map of offsets over time: a grid whose cells double in size, in time or in offset, when a
//! request lies outside.

use serde::{Deserialize, Serialize};

use crate::event::{Operation, RequestEvent};

/// Limits of the grid: columns (time) and rows (offset).
const COLUMNS: u64 = 1024;
const ROWS: u64 = 1024;

/// Limit of the runs in a finished map, over all kinds of requests.
const RUNS_MAX: usize = 24_000;

/// Initial cell size: nanoseconds and sectors.
const COLUMN_NS: u64 = 1_000_000;
const ROW_SECTORS: u64 = 8;

/// Cell bits.
const READ: u8 = 1;
const WRITE: u8 = 2;
const DISCARD: u8 = 4;

/// Finished map of a device. Cells of a kind are run-length encoded as pairs of numbers (cells to
/// skip, cells to mark), from the lowest offset of a column up, and column by column.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceMap {
    /// Name of the device.
    pub device: String,
    /// Device size in sectors; 0 when unknown.
    pub device_sectors: u64,
    /// Column width in nanoseconds.
    pub column_ns: u64,
    /// Number of columns.
    pub columns: u64,
    /// First sector of the lowest row.
    pub first_sector: u64,
    /// Row height in sectors.
    pub row_sectors: u64,
    /// Number of rows.
    pub rows: u64,
    /// Runs of cells with reads.
    pub reads: Vec<u32>,
    /// Runs of cells with writes.
    pub writes: Vec<u32>,
    /// Runs of cells with discards.
    pub discards: Vec<u32>,
}

/// Map under construction.
#[derive(Clone, Debug)]
pub(super) struct MapGrid {
    /// Cells column by column, from the lowest row up.
    cells: Vec<u8>,
    column_ns: u64,
    row_sectors: u64,
    /// First sector of row 0: a multiple of the row height.
    base: u64,
    /// Number of columns up to the last marked one.
    columns: u64,
    /// Flag per column that has a marked cell: most columns are often empty.
    used: Vec<bool>,
    marked: Option<(u64, u64)>,
}

impl MapGrid {
    pub(super) fn new() -> Self {
        Self {
            cells: Vec::new(),
            column_ns: COLUMN_NS,
            row_sectors: ROW_SECTORS,
            base: 0,
            columns: 0,
            used: vec![false; usize::try_from(COLUMNS).unwrap_or(0)],
            marked: None,
        }
    }

    /// Marks a request, clipped to the sectors `shown`.
    pub(super) fn mark(&mut self, after_ns: u64, event: &RequestEvent, shown: (u64, u64)) {
        let bit = match event.operation {
            Operation::Read => READ,
            Operation::Write | Operation::WriteZeroes => WRITE,
            Operation::Discard => DISCARD,
            Operation::Flush | Operation::Other => return,
        };
        if event.bytes == 0 {
            return;
        }
        let first = event.sector.max(shown.0);
        let last = event.end().saturating_sub(1).max(event.sector).min(shown.1);
        if first > last {
            return;
        }
        self.reach(after_ns, first, last);
        let column = (after_ns / self.column_ns).min(COLUMNS - 1);
        let row = |sector: u64| ((sector - self.base) / self.row_sectors).min(ROWS - 1);
        let cells = column * ROWS + row(first)..=column * ROWS + row(last);
        self.columns = self.columns.max(column + 1);
        if let Some(used) = usize::try_from(column).ok().and_then(|at| self.used.get_mut(at)) {
            *used = true;
        }
        for cell in cells {
            if let Some(cell) = usize::try_from(cell).ok().and_then(|at| self.cells.get_mut(at)) {
                *cell |= bit;
            }
        }
    }

    /// Enlarges cells and moves the lowest row down until the request fits.
    fn reach(&mut self, after_ns: u64, first: u64, last: u64) {
        if self.cells.is_empty() {
            self.cells = vec![0; usize::try_from(COLUMNS * ROWS).unwrap_or(0)];
        }
        while after_ns / self.column_ns >= COLUMNS {
            self.longer_columns();
        }
        let (low, high) = match self.marked {
            Some((low, high)) => (low.min(first), high.max(last)),
            None => (first, last),
        };
        let old = (self.base, self.row_sectors);
        let fits = |base: u64, sectors: u64| base <= low && (high - base) / sectors < ROWS;
        if self.marked.is_none() {
            self.base = low / self.row_sectors * self.row_sectors;
        }
        while !fits(self.base, self.row_sectors) {
            if self.base > low
                && (high - low / self.row_sectors * self.row_sectors) / self.row_sectors < ROWS
            {
                self.base = low / self.row_sectors * self.row_sectors;
                break;
            }
            self.row_sectors = self.row_sectors.saturating_mul(2);
            self.base = low / self.row_sectors * self.row_sectors;
        }
        if self.marked.is_some() && old != (self.base, self.row_sectors) {
            self.moved(old);
        }
        self.marked = Some((low, high));
    }

    fn longer_columns(&mut self) {
        self.column_ns = self.column_ns.saturating_mul(2);
        let rows = usize::try_from(ROWS).unwrap_or(0);
        let columns = usize::try_from(self.columns).unwrap_or(0);
        for column in 0..columns.div_ceil(2) {
            let pair = [column * 2, column * 2 + 1];
            let [first, second] = pair.map(|from| self.used.get(from).copied().unwrap_or(false));
            self.used[column] = first || second;
            if column > 0 {
                self.cells[column * rows..(column + 1) * rows].fill(0);
            }
            for from in
                pair.into_iter().zip([first, second]).filter_map(|(at, used)| used.then_some(at))
            {
                if from == column {
                    continue;
                }
                for row in 0..rows {
                    let cell = self.cells[from * rows + row];
                    self.cells[column * rows + row] |= cell;
                }
            }
        }
        let kept = columns.div_ceil(2);
        self.cells[kept * rows..columns * rows].fill(0);
        self.used[kept..].fill(false);
        self.columns = self.columns.div_ceil(2);
    }

    /// Rearranges cells after a change of the row height or the first sector.
    fn moved(&mut self, (base, sectors): (u64, u64)) {
        let rows = usize::try_from(ROWS).unwrap_or(0);
        let (new_base, new_sectors) = (self.base, self.row_sectors);
        let place = |row: usize| {
            let sector = base.saturating_add((row as u64).saturating_mul(sectors));
            usize::try_from(sector.saturating_sub(new_base) / new_sectors).unwrap_or(0)
        };
        let places: Vec<usize> = (0..rows).map(place).collect();
        let columns = usize::try_from(self.columns).unwrap_or(0);
        let used = self.cells.chunks_mut(rows).zip(&self.used).filter(|(_, used)| **used);
        for (column, _) in used.take(columns) {
            let mut moved = vec![0; rows];
            for (cell, place) in column.iter().zip(&places) {
                if let Some(target) = moved.get_mut(*place) {
                    *target |= cell;
                }
            }
            column.copy_from_slice(&moved);
        }
    }

    /// Returns the map, with cells enlarged until it is small enough.
    pub(super) fn finish(mut self, device: String, device_sectors: u64) -> DeviceMap {
        if self.cells.is_empty() {
            return DeviceMap { device, device_sectors, ..DeviceMap::default() };
        }
        loop {
            let rows = self.marked.map_or(1, |(_, high)| (high - self.base) / self.row_sectors + 1);
            let runs = [READ, WRITE, DISCARD].map(|bit| self.runs(bit, rows));
            if runs.iter().map(Vec::len).sum::<usize>() / 2 <= RUNS_MAX {
                let [reads, writes, discards] = runs;
                return DeviceMap {
                    device,
                    device_sectors,
                    column_ns: self.column_ns,
                    columns: self.columns,
                    first_sector: self.base,
                    row_sectors: self.row_sectors,
                    rows,
                    reads,
                    writes,
                    discards,
                };
            }
            // Coarsens the axis with more cells first.
            if self.columns > rows {
                self.longer_columns();
            } else {
                let old = (self.base, self.row_sectors);
                self.row_sectors = self.row_sectors.saturating_mul(2);
                self.base = self.base / self.row_sectors * self.row_sectors;
                self.moved(old);
            }
        }
    }

    fn runs(&self, bit: u8, rows: u64) -> Vec<u32> {
        let mut runs = Vec::new();
        let (mut skipped, mut run) = (0u32, 0u32);
        let column_cells = usize::try_from(ROWS).unwrap_or(1);
        let (rows, columns) =
            (usize::try_from(rows).unwrap_or(0), usize::try_from(self.columns).unwrap_or(0));
        for (column, used) in self.cells.chunks(column_cells).zip(&self.used).take(columns) {
            if !used && run == 0 {
                skipped += u32::try_from(rows).unwrap_or(0);
                continue;
            }
            for cell in &column[..rows.min(column.len())] {
                if cell & bit != 0 {
                    run += 1;
                } else {
                    if run > 0 {
                        runs.extend([skipped, run]);
                        (skipped, run) = (0, 0);
                    }
                    skipped += 1;
                }
            }
        }
        if run > 0 {
            runs.extend([skipped, run]);
        }
        runs
    }
}

impl DeviceMap {
    /// Marked cells of a run list as (column, lowest row, number of rows), clipped to the map.
    pub fn marks<'a>(&self, runs: &'a [u32]) -> impl Iterator<Item = (u64, u64, u64)> + 'a {
        let (rows, cells) = (self.rows.max(1), self.rows.saturating_mul(self.columns));
        let mut at = 0u64;
        let of_pair = move |pair: &'a [u32]| {
            let from = at.saturating_add(u64::from(pair[0])).min(cells);
            let until = from.saturating_add(u64::from(pair[1])).min(cells);
            at = until;
            pieces(from, until, rows)
        };
        runs.chunks_exact(2).flat_map(of_pair)
    }
}

/// Splits a run of cells at column boundaries.
fn pieces(from: u64, until: u64, rows: u64) -> impl Iterator<Item = (u64, u64, u64)> {
    let mut at = from;
    std::iter::from_fn(move || {
        (at < until).then(|| {
            let (column, row) = (at / rows, at % rows);
            let length = (rows - row).min(until - at);
            at += length;
            (column, row, length)
        })
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::{DeviceMap, MapGrid};
    use crate::event::{Action, DeviceNumber, Operation, RequestEvent, RequestFlags};

    fn event(sector: u64, sectors: u32, operation: Operation) -> RequestEvent {
        RequestEvent {
            time_ns: 0,
            sector,
            bytes: sectors * 512,
            device: DeviceNumber::new(7, 0),
            action: Action::Issue,
            operation,
            flags: RequestFlags::default(),
            process: 1,
            cpu: 0,
            error: 0,
        }
    }

    fn cells(map: &DeviceMap, runs: &[u32]) -> BTreeSet<(u64, u64)> {
        let marks = map.marks(runs);
        marks
            .flat_map(|(column, row, rows)| (row..row + rows).map(move |row| (column, row)))
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn map_marks_exactly_the_requested_cells(
            requested in prop::collection::vec((0u64..1 << 36, 0u64..1 << 40, 1u32..200), 1..60),
        ) {
            let mut grid = MapGrid::new();
            for &(time, sector, sectors) in &requested {
                grid.mark(time, &event(sector, sectors, Operation::Write), (0, u64::MAX));
            }
            let map = grid.finish("x".to_owned(), 0);
            let mut expected = BTreeSet::new();
            for &(time, sector, sectors) in &requested {
                let row = |sector: u64| (sector - map.first_sector) / map.row_sectors;
                for row in row(sector)..=row(sector + u64::from(sectors) - 1) {
                    expected.insert((time / map.column_ns, row));
                }
            }
            prop_assert_eq!(cells(&map, &map.writes), expected);
            prop_assert!(map.reads.is_empty() && map.discards.is_empty());
        }

        #[test]
        fn arbitrary_run_lists_stay_within_the_map(
            runs in prop::collection::vec(any::<u32>(), 0..40),
            rows in 0u64..50, columns in 0u64..50,
        ) {
            let map = DeviceMap { columns, rows, ..DeviceMap::default() };
            for (column, row, length) in map.marks(&runs) {
                prop_assert!(column < columns && row + length <= rows && length > 0);
            }
        }
    }

    #[test]
    fn a_fully_marked_map_is_small() {
        let mut grid = MapGrid::new();
        let mut place = 12_345u64;
        for time in 0..400_000u64 {
            place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let kind = if place >> 63 == 0 { Operation::Read } else { Operation::Write };
            grid.mark(time * 100_000, &event(place >> 40, 8, kind), (0, u64::MAX));
        }
        let map = grid.finish("x".to_owned(), 0);
        let text = serde_json::to_string(&map).unwrap();
        assert!(text.len() < 250_000, "{}", text.len());
        assert!(map.rows * map.columns > 10_000, "{} x {}", map.rows, map.columns);
    }
}
