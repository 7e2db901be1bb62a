//! Heat map of a device: temperatures in cells, in bounded memory, with the cell sizes of the
//! device map.

/// Limit of cells; a power of two.
const CELLS: usize = 4096;
/// Initial cell size in bytes.
const SMALLEST_CELL: u64 = 4096;

/// Temperatures of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatCells {
    /// Cell size in bytes; the first cell begins at address 0.
    pub cell_bytes: u64,
    /// Temperatures of the cells, up to the last non-zero one.
    pub cells: Vec<f64>,
}

impl Default for HeatCells {
    fn default() -> Self {
        Self { cell_bytes: SMALLEST_CELL, cells: Vec::new() }
    }
}

impl HeatCells {
    /// Adds a temperature to an address range, distributed over its cells in proportion to their
    /// bytes.
    pub fn add(&mut self, physical: u64, length: u64, temperature: f64) {
        // The limit is beyond any device and ends the doubling.
        let end = physical.saturating_add(length).min(1 << 62);
        let mut at = physical.min(end);
        let whole = (end - at).max(1) as f64;
        while end.div_ceil(self.cell_bytes) > CELLS as u64 {
            self.double();
        }
        while at < end {
            let place = usize::try_from(at / self.cell_bytes).unwrap_or(usize::MAX);
            if place >= self.cells.len() {
                self.cells.resize(place.min(CELLS - 1) + 1, 0.0);
            }
            let next = (at / self.cell_bytes + 1).saturating_mul(self.cell_bytes).min(end);
            if let Some(cell) = self.cells.get_mut(place) {
                *cell += temperature * (next - at) as f64 / whole;
            }
            at = next;
        }
    }

    fn double(&mut self) {
        self.cell_bytes = self.cell_bytes.saturating_mul(2);
        self.cells = self.cells.chunks(2).map(|pair| pair.iter().sum()).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::{CELLS, HeatCells};
    use proptest::prelude::{prop, prop_assert, proptest};

    #[test]
    fn heat_of_a_range_is_split_over_its_cells() {
        let mut heat = HeatCells::default();
        heat.add(2048, 8192, 4.0);
        assert_eq!(heat.cells, [1.0, 2.0, 1.0]);
        heat.add(4096 * 5000, 4096, 1.0);
        assert_eq!((heat.cell_bytes, heat.cells.len()), (8192, 2501));
        assert!((heat.cells[0] - 3.0).abs() < 1e-12 && (heat.cells[2500] - 1.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn no_heat_is_lost_however_the_device_grows(
            stretches in prop::collection::vec((0..1u64 << 50, 1..1u64 << 45, 0..100u8), 0..30)
        ) {
            let mut heat = HeatCells::default();
            let mut sum = 0.0;
            for (at, length, temperature) in stretches {
                heat.add(at, length, f64::from(temperature));
                sum += f64::from(temperature);
            }
            prop_assert!(heat.cells.len() <= CELLS);
            prop_assert!((heat.cells.iter().sum::<f64>() - sum).abs() < 1e-6);
        }
    }
}
