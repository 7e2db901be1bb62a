//! Map of the device in cells: free bytes, and bytes by owning group. Bounded memory for any device
//! size: when an address is beyond the map, neighbouring cells are merged.

use super::{Extent, ExtentPlacement};

/// Limit of cells; a power of two.
const CELLS: usize = 4096;
/// Initial cell size in bytes.
const SMALLEST_CELL: u64 = 4096;
/// Largest number of distinct groups; all further ones share one.
const GROUPS: usize = 255;

/// Map under construction.
#[derive(Clone, Debug)]
pub struct MapMeasures {
    cell_bytes: u64,
    cells: Vec<MapCell>,
    groups: Vec<MapGroup>,
    group: u16,
}

/// Cell of the device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapCell {
    /// Bytes of the cell that exist: fewer than its size at the end of the device, and on btrfs
    /// outside of block groups.
    pub space: u64,
    /// Free bytes.
    pub free: u64,
    /// File bytes by group index, ascending. The remaining bytes are metadata and files outside the
    /// groups.
    pub groups: Vec<(u16, u64)>,
}

/// Group of files with a common colour: the files beneath one directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapGroup {
    /// Directory name; empty for files outside of these directories, and `…` for all directories
    /// above the limit.
    pub name: String,
    /// Sum of the file sizes, in bytes.
    pub bytes: u64,
}

/// Finished map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceMap {
    /// Cell size in bytes; the first cell begins at address 0.
    pub cell_bytes: u64,
    /// Cells, up to the last non-empty one.
    pub cells: Vec<MapCell>,
    /// Groups, indexed by the cells.
    pub groups: Vec<MapGroup>,
}

/// Use of an address range.
#[derive(Clone, Copy, Debug)]
enum RangeUse {
    Space,
    Free,
    Group(u16),
}

impl Default for MapMeasures {
    fn default() -> Self {
        Self {
            cell_bytes: SMALLEST_CELL,
            cells: Vec::new(),
            groups: vec![MapGroup::default()],
            group: 0,
        }
    }
}

impl MapMeasures {
    /// Starts a group: files that follow belong to it.
    pub fn begin_group(&mut self, name: &str) {
        if self.groups.len() < GROUPS {
            self.groups.push(MapGroup { name: name.to_owned(), bytes: 0 });
        } else if self.groups.len() == GROUPS {
            self.groups.push(MapGroup { name: "…".to_owned(), bytes: 0 });
        }
        self.group = u16::try_from(self.groups.len() - 1).unwrap_or(0);
    }

    /// Adds an extent of a file.
    pub fn extent(&mut self, extent: &Extent) {
        if extent.placement != ExtentPlacement::Placed {
            return;
        }
        let group = self.group;
        if let Some(group) = self.groups.get_mut(usize::from(group)) {
            group.bytes = group.bytes.saturating_add(extent.length);
        }
        self.add(extent.physical, extent.length, RangeUse::Group(group));
    }

    /// Adds an existing range of the device, free or not.
    pub fn space(&mut self, physical: u64, length: u64) {
        self.add(physical, length, RangeUse::Space);
    }

    /// Adds a free range.
    pub fn free(&mut self, physical: u64, length: u64) {
        self.add(physical, length, RangeUse::Free);
    }

    fn add(&mut self, physical: u64, length: u64, range_use: RangeUse) {
        // The limit is beyond any device and ends the doubling.
        let end = physical.saturating_add(length).min(1 << 62);
        let mut at = physical.min(end);
        while end.div_ceil(self.cell_bytes) > CELLS as u64 {
            self.double();
        }
        while at < end {
            let place = usize::try_from(at / self.cell_bytes).unwrap_or(usize::MAX);
            if place >= self.cells.len() {
                self.cells.resize(place.min(CELLS - 1) + 1, MapCell::default());
            }
            let next = (at / self.cell_bytes + 1).saturating_mul(self.cell_bytes).min(end);
            if let Some(cell) = self.cells.get_mut(place) {
                cell.add(range_use, next - at);
            }
            at = next;
        }
    }

    fn double(&mut self) {
        self.cell_bytes = self.cell_bytes.saturating_mul(2);
        let mut merged = Vec::with_capacity(self.cells.len().div_ceil(2));
        let mut cells = std::mem::take(&mut self.cells).into_iter();
        while let Some(mut cell) = cells.next() {
            if let Some(next) = cells.next() {
                cell.add(RangeUse::Space, next.space);
                cell.add(RangeUse::Free, next.free);
                for (group, bytes) in next.groups {
                    cell.add(RangeUse::Group(group), bytes);
                }
            }
            merged.push(cell);
        }
        self.cells = merged;
    }

    /// Returns the map.
    pub fn map(self) -> DeviceMap {
        let Self { cell_bytes, cells, groups, group: _ } = self;
        DeviceMap { cell_bytes, cells, groups }
    }
}

impl MapCell {
    fn add(&mut self, range_use: RangeUse, bytes: u64) {
        let sum = match range_use {
            RangeUse::Space => &mut self.space,
            RangeUse::Free => &mut self.free,
            RangeUse::Group(group) => {
                let place = match self.groups.binary_search_by_key(&group, |entry| entry.0) {
                    Ok(place) => place,
                    Err(place) => {
                        self.groups.insert(place, (group, 0));
                        place
                    }
                };
                match self.groups.get_mut(place) {
                    Some(entry) => &mut entry.1,
                    None => return,
                }
            }
        };
        *sum = sum.saturating_add(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::{CELLS, DeviceMap, MapCell, MapMeasures};
    use crate::layout::Extent;
    use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};

    #[test]
    fn map_cells_name_their_owners() {
        let mut map = MapMeasures::default();
        map.extent(&Extent::placed(0, 0, 4096));
        map.begin_group("a");
        map.extent(&Extent::placed(0, 6144, 4096));
        map.space(0, 12_288);
        map.free(10_240, 2048);
        let DeviceMap { cell_bytes, cells, groups } = map.map();
        let cell =
            |free, groups: &[(u16, u64)]| MapCell { space: 4096, free, groups: groups.to_vec() };
        let expected = [cell(0, &[(0, 4096)]), cell(0, &[(1, 2048)]), cell(2048, &[(1, 2048)])];
        assert_eq!((cell_bytes, cells), (4096, expected.to_vec()));
        assert_eq!((groups[0].bytes, groups[1].name.as_str(), groups[1].bytes), (4096, "a", 4096));
    }

    #[test]
    fn any_number_of_groups_has_bounded_memory() {
        let mut map = MapMeasures::default();
        for name in 0..1000 {
            map.begin_group(&name.to_string());
            map.extent(&Extent::placed(0, u64::MAX - 7, 7));
        }
        let map = map.map();
        assert_eq!(map.groups.len(), 256);
        assert_eq!((map.groups[255].name.as_str(), map.groups[255].bytes), ("…", 746 * 7));
    }

    proptest! {
        #[test]
        fn no_byte_is_lost_however_the_map_grows(
            stretches in prop::collection::vec((0..1u64 << 50, 0..1u64 << 45, 0..3u8), 0..30)
        ) {
            let mut map = MapMeasures::default();
            let mut sums = [0u64; 3];
            for (at, length, range_use) in stretches {
                match range_use {
                    0 => map.space(at, length),
                    1 => map.free(at, length),
                    _ => map.extent(&Extent::placed(0, at, length)),
                }
                sums[usize::from(range_use)] += length;
            }
            let map = map.map();
            prop_assert!(map.cells.len() <= CELLS);
            prop_assert_eq!(map.cells.iter().map(|cell| cell.space).sum::<u64>(), sums[0]);
            prop_assert_eq!(map.cells.iter().map(|cell| cell.free).sum::<u64>(), sums[1]);
            let of_files = |cell: &MapCell| cell.groups.iter().map(|group| group.1).sum::<u64>();
            prop_assert_eq!(map.cells.iter().map(of_files).sum::<u64>(), sums[2]);
        }
    }
}
