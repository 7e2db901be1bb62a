//! Measures of what is not data: blocks of directories and trees, inode numbers of siblings, and
//! the allocation groups that a directory's files are in.

use std::collections::BTreeSet;

use super::{Quantiles, ValueHistogram};

/// Blocks of one kind, in the order in which they are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetadataBlocks {
    /// Number of blocks.
    pub blocks: u64,
    /// Bytes of the blocks.
    pub bytes: u64,
    /// Blocks that have another one before them in the same directory or tree.
    pub later: u64,
    /// Blocks among these that begin where the one before ends.
    pub following: u64,
}

impl MetadataBlocks {
    /// Blocks of two kinds together.
    #[must_use]
    pub const fn join(self, other: Self) -> Self {
        Self {
            blocks: self.blocks + other.blocks,
            bytes: self.bytes.saturating_add(other.bytes),
            later: self.later + other.later,
            following: self.following + other.following,
        }
    }

    /// Share of the later blocks that directly follow the one before; `None` without any.
    pub fn in_order(&self) -> Option<f64> {
        (self.later > 0).then(|| self.following as f64 / self.later as f64)
    }
}

/// Accumulator over directories, which are reported one after the other, and over trees.
#[derive(Clone, Debug, Default)]
pub struct StructureMeasures {
    kinds: Vec<(&'static str, MetadataBlocks)>,
    /// Kind of the last block, and the address behind it.
    last: Option<(&'static str, u64)>,
    /// Inode of the last sibling.
    sibling: Option<u64>,
    distance: ValueHistogram,
    siblings: u64,
    next_siblings: u64,
    /// Groups with data of files.
    groups: BTreeSet<u64>,
    /// Groups with data of the current directory's files.
    of_directory: BTreeSet<u64>,
    /// Directories with data, and the sum of their groups.
    spread: (u64, u64),
}

/// Measures of directories, trees and inodes.
#[derive(Clone, Debug, PartialEq)]
pub struct StructureLayout {
    /// Blocks by kind, in the order of their first report.
    pub kinds: Vec<(&'static str, MetadataBlocks)>,
    /// Distance of the inode numbers of siblings, in the order of their directory.
    pub inode_distance: Option<Quantiles>,
    /// Share of siblings whose inode number is the next one.
    pub next_inodes: Option<f64>,
    /// Number of groups with data of files.
    pub groups: u64,
    /// Mean number of groups with data of a directory's own files.
    pub groups_per_directory: Option<f64>,
}

impl StructureMeasures {
    /// Starts a directory, or a tree.
    pub fn begin(&mut self) {
        self.last = None;
        self.sibling = None;
        self.of_directory.clear();
    }

    /// Adds blocks of a directory or tree, in its order.
    pub fn blocks(&mut self, kind: &'static str, place: u64, bytes: u64, block_bytes: u64) {
        let blocks = bytes.div_ceil(block_bytes.max(1));
        let follows = self.last.filter(|(last, _)| *last == kind).map(|(_, end)| end == place);
        self.last = Some((kind, place.saturating_add(bytes)));
        let at = self.kinds.iter().position(|(name, _)| *name == kind).unwrap_or_else(|| {
            self.kinds.push((kind, MetadataBlocks::default()));
            self.kinds.len() - 1
        });
        let of_kind = &mut self.kinds[at].1;
        let within = blocks.saturating_sub(1);
        of_kind.blocks += blocks;
        of_kind.bytes = of_kind.bytes.saturating_add(bytes);
        of_kind.later += within + u64::from(follows.is_some());
        of_kind.following += within + u64::from(follows == Some(true));
    }

    /// Adds a file of the current directory, by its inode number.
    pub fn inode(&mut self, number: u64) {
        if let Some(sibling) = self.sibling.replace(number) {
            self.distance.add(number.abs_diff(sibling));
            self.siblings += 1;
            self.next_siblings += u64::from(sibling.checked_add(1) == Some(number));
        }
    }

    /// Adds the group in which the data of a file of the current directory begin.
    pub fn group(&mut self, number: u64) {
        self.groups.insert(number);
        self.of_directory.insert(number);
    }

    /// Ends the files of the current directory.
    pub fn end_directory(&mut self) {
        let groups = self.of_directory.len() as u64;
        if groups > 0 {
            self.spread.0 += 1;
            self.spread.1 += groups;
        }
        self.of_directory.clear();
        self.sibling = None;
    }

    /// Returns the measures.
    pub fn layout(&self) -> StructureLayout {
        let share = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
        StructureLayout {
            kinds: self.kinds.clone(),
            inode_distance: self.distance.quantiles(),
            next_inodes: share(self.next_siblings, self.siblings),
            groups: self.groups.len() as u64,
            groups_per_directory: share(self.spread.1, self.spread.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MetadataBlocks, StructureMeasures};

    #[test]
    fn blocks_follow_one_another_within_a_directory_and_a_kind_only() {
        let mut structure = StructureMeasures::default();
        structure.begin();
        structure.blocks("data", 0, 3 * 4096, 4096);
        structure.blocks("data", 3 * 4096, 4096, 4096);
        structure.blocks("data", 9 * 4096, 4096, 4096);
        structure.blocks("index", 10 * 4096, 4096, 4096);
        structure.end_directory();
        structure.begin();
        structure.blocks("data", 11 * 4096, 4096, 4096);
        let layout = structure.layout();
        let data = MetadataBlocks { blocks: 6, bytes: 6 * 4096, later: 4, following: 3 };
        let index = MetadataBlocks { blocks: 1, bytes: 4096, later: 0, following: 0 };
        assert_eq!(layout.kinds, [("data", data), ("index", index)]);
        assert_eq!((data.in_order(), index.in_order()), (Some(0.75), None));
    }

    #[test]
    fn siblings_are_compared_within_their_directory() {
        let mut structure = StructureMeasures::default();
        for inodes in [[10, 11, 20], [500, 400, 401]] {
            structure.begin();
            inodes.into_iter().for_each(|inode| structure.inode(inode));
            structure.end_directory();
        }
        let layout = structure.layout();
        assert_eq!(layout.next_inodes, Some(0.5));
        let distance = layout.inode_distance.unwrap();
        assert_eq!((distance.count, distance.p50, distance.max), (4, 1, 100));
    }

    #[test]
    fn groups_are_counted_once_and_for_each_directory() {
        let mut structure = StructureMeasures::default();
        for groups in [vec![0, 0, 1], vec![1], vec![]] {
            structure.begin();
            groups.into_iter().for_each(|group| structure.group(group));
            structure.end_directory();
        }
        let layout = structure.layout();
        assert_eq!((layout.groups, layout.groups_per_directory), (2, Some(1.5)));
        assert_eq!(StructureMeasures::default().layout().groups_per_directory, None);
    }
}
