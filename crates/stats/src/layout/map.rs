//! A map of the device in cells: how much of each is free, and whose files have the rest. Of any
//! size in bounded memory: when an address is beyond the map, neighbouring cells become one.

use super::{Extent, Placement};

/// Cells at most; a power of two.
const CELLS: usize = 4096;
/// Bytes of a cell at the beginning.
const SMALLEST_CELL: u64 = 4096;
/// Groups that are distinguished; all others are one.
const GROUPS: usize = 255;

/// A map that is being drawn.
#[derive(Clone, Debug)]
pub struct MapMeasures {
    cell_bytes: u64,
    cells: Vec<MapCell>,
    groups: Vec<MapGroup>,
    group: u16,
}

/// A part of the device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapCell {
    /// Bytes that there are: less than a cell at the end of the device, and, on btrfs, where no
    /// block group is.
    pub space: u64,
    /// Bytes that are free.
    pub free: u64,
    /// Bytes of files by the number of their group, ascending. What belongs to nobody here are
    /// metadata and files elsewhere.
    pub groups: Vec<(u16, u64)>,
}

/// Files that have one colour: those beneath one directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapGroup {
    /// The name of the directory; empty for files beside the directories, and `…` for those of all
    /// directories that are too many.
    pub name: String,
    /// Bytes of its files.
    pub bytes: u64,
}

/// A map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceMap {
    /// Bytes of a cell; the first cell begins at address 0.
    pub cell_bytes: u64,
    /// The cells, up to the last with something in it.
    pub cells: Vec<MapCell>,
    /// The groups, as cells number them.
    pub groups: Vec<MapGroup>,
}

/// What a stretch is.
#[derive(Clone, Copy, Debug)]
enum Use {
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
    /// The files that follow have a colour of their own.
    pub fn begin_group(&mut self, name: &str) {
        if self.groups.len() < GROUPS {
            self.groups.push(MapGroup { name: name.to_owned(), bytes: 0 });
        } else if self.groups.len() == GROUPS {
            self.groups.push(MapGroup { name: "…".to_owned(), bytes: 0 });
        }
        self.group = u16::try_from(self.groups.len() - 1).unwrap_or(0);
    }

    /// An extent of a file.
    pub fn extent(&mut self, extent: &Extent) {
        if extent.placement != Placement::Placed {
            return;
        }
        let group = self.group;
        if let Some(group) = self.groups.get_mut(usize::from(group)) {
            group.bytes = group.bytes.saturating_add(extent.length);
        }
        self.add(extent.physical, extent.length, Use::Group(group));
    }

    /// A stretch of the device that there is, free or not.
    pub fn space(&mut self, physical: u64, length: u64) {
        self.add(physical, length, Use::Space);
    }

    /// A stretch that is free.
    pub fn free(&mut self, physical: u64, length: u64) {
        self.add(physical, length, Use::Free);
    }

    fn add(&mut self, physical: u64, length: u64, what: Use) {
        // The last addresses of all are no device's: so doubling comes to an end.
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
                cell.add(what, next - at);
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
                cell.add(Use::Space, next.space);
                cell.add(Use::Free, next.free);
                for (group, bytes) in next.groups {
                    cell.add(Use::Group(group), bytes);
                }
            }
            merged.push(cell);
        }
        self.cells = merged;
    }

    /// The map as it is drawn now.
    pub fn map(self) -> DeviceMap {
        let Self { cell_bytes, cells, groups, group: _ } = self;
        DeviceMap { cell_bytes, cells, groups }
    }
}

impl MapCell {
    fn add(&mut self, what: Use, bytes: u64) {
        let sum = match what {
            Use::Space => &mut self.space,
            Use::Free => &mut self.free,
            Use::Group(group) => {
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
    fn cells_tell_whose_they_are() {
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
            for (at, length, what) in stretches {
                match what {
                    0 => map.space(at, length),
                    1 => map.free(at, length),
                    _ => map.extent(&Extent::placed(0, at, length)),
                }
                sums[usize::from(what)] += length;
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
