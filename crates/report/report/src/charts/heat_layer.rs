//! Map of hot data on the device: used cells in one grey, overlaid with hot cells whose colour
//! deepens with temperature.

use treering_model::{LayoutHeat, LayoutMap, LayoutMapCell};

use super::HeatLayer;
use super::cells::{CellPaint, Cells, SMALL, WIDE, sized};
use super::figure::{Figure, LegendEntry};
use super::mark::MarkShape;
use crate::escape::visible;
use crate::{Number, NumberStyle};

/// Number of temperature steps, each twice the previous one.
const STEPS: u32 = 8;

/// Appearance of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum HeatLook {
    Free,
    Used,
    /// Hot data, with its temperature step; `STEPS` is the hottest.
    Hot(u32),
}

impl CellPaint for HeatLook {
    fn class(self) -> String {
        let class = match self {
            Self::Free => "map-free",
            Self::Used => "map-other",
            Self::Hot(_) => "map-hot",
        };
        class.to_owned()
    }

    fn opacity(self) -> f64 {
        match self {
            Self::Free => 0.5,
            Self::Used => 0.35,
            Self::Hot(step) => 0.2 + 0.8 * f64::from(step) / f64::from(STEPS),
        }
    }
}

pub(super) fn figure(layer: &HeatLayer) -> Figure {
    let map = &layer.map;
    let temperatures = temperatures(map, &layer.heat);
    let hottest = temperatures.iter().copied().fold(0.0, f64::max);
    let looks: Vec<Option<HeatLook>> = (0..temperatures.len())
        .map(|place| look(map.cells.get(place), temperatures[place], hottest))
        .collect();
    let grid = if layer.is_small { SMALL } else { WIDE };
    let cells = Cells::new(looks, map.cell_bytes, grid);
    Figure {
        class: "map",
        title: visible(&layer.title),
        subtitle: String::new(),
        aside: format!(
            "Cells of {} as in the map; darker is hotter, each step twice as hot as the one \
             before; the hottest has {} accesses.",
            sized(map.cell_bytes),
            measured(hottest)
        ),
        key: String::new(),
        legend: legend(map, &temperatures),
        spoken: format!("{}, as a map of the device", visible(&layer.title)),
        size: cells.size(),
        drawing: cells.drawing(),
        narrow: None,
        below: String::new(),
    }
}

fn measured(value: f64) -> String {
    Number { value, unit: String::new(), style: NumberStyle::Measured }.text()
}

/// Temperatures resampled to the cells of the map: smaller cells are summed, larger ones are
/// divided.
fn temperatures(map: &LayoutMap, heat: &LayoutHeat) -> Vec<f64> {
    let (map_bytes, heat_bytes) = (map.cell_bytes.max(1), heat.cell_bytes.max(1));
    let bytes = heat_bytes.saturating_mul(heat.cells.len() as u64);
    let count = map.cells.len().max(usize::try_from(bytes.div_ceil(map_bytes)).unwrap_or(0));
    let mut cells = vec![0.0; count.min(1 << 16)];
    for (place, temperature) in heat.cells.iter().enumerate().filter(|(_, heat)| **heat > 0.0) {
        let from = place as u64 * heat_bytes;
        let parts = (heat_bytes / map_bytes).max(1);
        for part in 0..parts {
            let cell = usize::try_from((from + part * map_bytes) / map_bytes).unwrap_or(usize::MAX);
            if let Some(cell) = cells.get_mut(cell) {
                *cell += temperature / parts as f64;
            }
        }
    }
    cells
}

fn look(cell: Option<&LayoutMapCell>, temperature: f64, hottest: f64) -> Option<HeatLook> {
    if temperature > 0.0 {
        let below = (hottest / temperature).log2().floor().clamp(0.0, f64::from(STEPS - 1));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "from 0 to the number of steps"
        )]
        return Some(HeatLook::Hot(STEPS - below as u32));
    }
    let cell = cell.filter(|cell| cell.space > 0 || !cell.groups.is_empty())?;
    Some(if cell.free * 2 > cell.space { HeatLook::Free } else { HeatLook::Used })
}

fn legend(map: &LayoutMap, temperatures: &[f64]) -> Vec<LegendEntry> {
    let hot = temperatures.iter().filter(|temperature| **temperature > 0.0).count() as u64;
    let entry = |look: HeatLook, name: &str, text: String| LegendEntry {
        class: look.class(),
        shape: MarkShape::Square,
        name: name.to_owned(),
        text,
    };
    let total = temperatures.iter().sum::<f64>();
    vec![
        entry(
            HeatLook::Hot(STEPS),
            "hot",
            format!("{} accesses in {}", measured(total), {
                sized(hot.saturating_mul(map.cell_bytes))
            }),
        ),
        entry(HeatLook::Used, "in use, not accessed", String::new()),
        entry(HeatLook::Free, "free", String::new()),
    ]
}

#[cfg(test)]
mod tests {
    use super::{HeatLook, STEPS, figure, look, temperatures};
    use crate::charts::HeatLayer;
    use treering_model::{LayoutHeat, LayoutMap, LayoutMapCell};

    #[test]
    fn temperatures_fit_the_cells_of_the_map() {
        let heat = |cell_bytes, cells: &[f64]| LayoutHeat {
            of: LayoutHeat::CALLS.to_owned(),
            cell_bytes,
            cells: cells.to_vec(),
        };
        let cell = LayoutMapCell { space: 8192, free: 8192, groups: Vec::new() };
        let map = LayoutMap { cell_bytes: 8192, groups: Vec::new(), cells: vec![cell; 3] };
        assert_eq!(temperatures(&map, &heat(4096, &[1.0, 2.0, 0.0, 4.0])), [3.0, 4.0, 0.0]);
        assert_eq!(temperatures(&map, &heat(16_384, &[6.0, 2.0])), [3.0, 3.0, 1.0, 1.0]);
        assert_eq!(look(map.cells.first(), 0.0, 4.0), Some(HeatLook::Free));
        assert_eq!(look(None, 4.0, 4.0), Some(HeatLook::Hot(STEPS)));
        assert_eq!(look(None, 1.0, 4.0), Some(HeatLook::Hot(STEPS - 2)));
        assert_eq!(look(None, 0.0, 4.0), None);
        let title = "hot".to_owned();
        let drawn = figure(&HeatLayer {
            title,
            map,
            heat: heat(4096, &[1.0, 2.0, 0.0, 4.0]),
            is_small: false,
        });
        let drawing = drawn.drawing.into_string();
        assert_eq!(drawing.matches("map-hot").count(), 1, "{drawing}");
        assert!(drawing.contains("map-free"), "{drawing}");
    }
}
