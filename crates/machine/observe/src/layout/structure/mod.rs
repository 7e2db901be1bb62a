//! Directories, inodes and trees of a filesystem: where their blocks are, in the order in which
//! they are read.
//!
//! ext4 reports the blocks of a directory through `FIEMAP`, xfs through `XFS_IOC_GETBMAPX`; the
//! trees of btrfs are found through its extent tree.

mod btrfs_trees;

use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use rustix::fs::{IFlags, ioctl_getflags};
use treering_model::filesystems::{BTRFS, EXT4, XFS, name_of};
use treering_model::{LayoutGroups, LayoutMetadata, LayoutStructure};
use treering_stats::layout::{MetadataBlocks, StructureMeasures};
use treering_sys::{
    Errno, ExtentBuffer, FileExtent, FilesystemFacts, MountTable, file_extents,
    xfs_directory_extents, xfs_geometry,
};

use super::reported;
use crate::environment::ext_groups;

/// Kinds of blocks. A directory of ext4 is an htree once it has more than one block.
const LINEAR: &str = "linear directories";
const HTREE: &str = "htree directories";
const DATA: &str = "directory data";
const LEAF: &str = "directory leaves";
const FREE_INDEX: &str = "directory free index";
/// Kinds that hold the names of files; on btrfs with their inodes and small files.
const DIRECTORIES: [&str; 6] = [LINEAR, HTREE, DATA, LEAF, FREE_INDEX, btrfs_trees::FILES_LEAVES];
/// Flag of a directory with an htree (`EXT4_INDEX_FL`).
const HAS_HTREE: u32 = 0x1000;
/// Offsets in a directory of xfs from which its leaves and its free index are stored.
const LEAVES_FROM: u64 = 1 << 35;
const FREE_INDEX_FROM: u64 = 1 << 36;

/// Reader of the blocks of an open directory.
type DirectoryReader =
    fn(&mut StructureWalk, BorrowedFd<'_>, &mut ExtentBuffer) -> Result<(), Errno>;

/// What is known of a filesystem: its groups, and how blocks of directories are read.
type StructureReader = fn(BorrowedFd<'_>, &FilesystemFacts) -> StructureWalk;

/// Filesystems with a reader of their own.
const READERS: &[(&str, StructureReader)] =
    &[(EXT4.name, ext), (XFS.name, xfs), (BTRFS.name, btrfs)];

/// Allocation groups of a filesystem.
#[derive(Clone, Debug, Default)]
enum GroupMap {
    /// Not known.
    #[default]
    Unknown,
    /// Groups of equal size behind this address, in bytes.
    Even { from: u64, bytes: u64, count: u64 },
    /// Groups by their start and length, in order.
    Chunks(Vec<(u64, u64)>),
}

impl GroupMap {
    fn of(&self, place: u64) -> Option<u64> {
        match self {
            Self::Unknown => None,
            Self::Even { from, bytes, .. } => place.checked_sub(*from)?.checked_div(*bytes),
            Self::Chunks(chunks) => {
                let behind = chunks.partition_point(|(start, _)| *start <= place);
                let (start, length) = chunks.get(behind.checked_sub(1)?)?;
                (place - start < *length).then_some(behind as u64 - 1)
            }
        }
    }

    fn count(&self) -> Option<u64> {
        match self {
            Self::Unknown => None,
            Self::Even { count, .. } => Some(*count),
            Self::Chunks(chunks) => Some(chunks.len() as u64),
        }
    }
}

/// Walk through the directories of a tree, with what was found so far.
pub(super) struct StructureWalk {
    measures: StructureMeasures,
    block_bytes: u64,
    groups: GroupMap,
    directories: Option<DirectoryReader>,
    /// Nodes of the filesystem's trees.
    trees: Option<btrfs_trees::TreeNodes>,
}

impl StructureWalk {
    /// Begins a walk in the filesystem of an open directory.
    pub(super) fn begin(top: BorrowedFd<'_>, facts: &FilesystemFacts) -> Self {
        let name = name_of(facts.type_magic);
        let reader = READERS.iter().find(|(of, _)| name == Some(*of));
        reader.map_or_else(|| Self::plain(facts), |(_, read)| read(top, facts))
    }

    fn plain(facts: &FilesystemFacts) -> Self {
        Self {
            measures: StructureMeasures::default(),
            block_bytes: facts.block_bytes,
            groups: GroupMap::Unknown,
            directories: None,
            trees: None,
        }
    }

    /// Begins a directory, whose blocks are read.
    pub(super) fn directory(&mut self, dir: BorrowedFd<'_>, buffer: &mut ExtentBuffer) {
        self.measures.begin();
        if let Some(read) = self.directories
            && let Err(Errno::NOTTY | Errno::OPNOTSUPP) = read(self, dir, buffer)
        {
            self.directories = None;
        }
    }

    /// Adds a file of the directory.
    pub(super) fn file(&mut self, inode: u64) {
        self.measures.inode(inode);
    }

    /// Adds the address of the first block of a file.
    pub(super) fn first_block(&mut self, place: u64) {
        if let Some(group) = self.groups.of(place) {
            self.measures.group(group);
        }
    }

    /// Ends the files of a directory.
    pub(super) fn end_directory(&mut self) {
        self.measures.end_directory();
    }

    /// What was found.
    pub(super) fn end(mut self) -> LayoutStructure {
        if let Some(trees) = self.trees.take() {
            trees.report(&mut self.measures);
        }
        let measured = self.measures.layout();
        let of_directories = measured.kinds.iter().filter(|(name, _)| DIRECTORIES.contains(name));
        let together = of_directories.map(|(_, blocks)| *blocks).reduce(MetadataBlocks::join);
        let groups = self.groups.count().map(|total| LayoutGroups {
            total,
            used: measured.groups,
            per_directory: measured.groups_per_directory,
        });
        LayoutStructure {
            directories: together.map(|blocks| metadata("directories", &blocks)),
            metadata: measured.kinds.iter().map(|(name, blocks)| metadata(name, blocks)).collect(),
            inode_distance: measured.inode_distance.map(reported::quantiles),
            next_inodes: measured.next_inodes,
            groups,
        }
    }
}

fn metadata(kind: &str, blocks: &MetadataBlocks) -> LayoutMetadata {
    LayoutMetadata {
        kind: kind.to_owned(),
        blocks: blocks.blocks,
        bytes: blocks.bytes,
        stretches: blocks.blocks - blocks.following,
        in_order: blocks.in_order(),
    }
}

/// Source of the mount that a directory is on.
fn source(top: BorrowedFd<'_>) -> Option<PathBuf> {
    Some(PathBuf::from(&MountTable::read().ok()?.mount_of(top)?.source))
}

fn ext(top: BorrowedFd<'_>, facts: &FilesystemFacts) -> StructureWalk {
    // The superblock can be read by root only.
    let groups = source(top).and_then(|device| ext_groups(&device));
    let groups = groups.map_or(GroupMap::Unknown, |(from, bytes, count)| GroupMap::Even {
        from,
        bytes,
        count,
    });
    StructureWalk { groups, directories: Some(ext_directory), ..StructureWalk::plain(facts) }
}

fn ext_directory(
    walk: &mut StructureWalk,
    dir: BorrowedFd<'_>,
    buffer: &mut ExtentBuffer,
) -> Result<(), Errno> {
    let flags = ioctl_getflags(dir).unwrap_or(IFlags::empty());
    let kind = if flags.bits() & HAS_HTREE == 0 { LINEAR } else { HTREE };
    let (measures, block_bytes) = (&mut walk.measures, walk.block_bytes);
    file_extents(dir, buffer, |extent: &FileExtent| {
        if extent.is_placed() {
            measures.blocks(kind, extent.physical, extent.length, block_bytes);
        }
    })?;
    Ok(())
}

fn xfs(top: BorrowedFd<'_>, facts: &FilesystemFacts) -> StructureWalk {
    let groups = xfs_geometry(top).map_or(GroupMap::Unknown, |made| GroupMap::Even {
        from: 0,
        bytes: u64::from(made.group_blocks) * u64::from(made.block_bytes),
        count: u64::from(made.groups),
    });
    StructureWalk { groups, directories: Some(xfs_directory), ..StructureWalk::plain(facts) }
}

fn xfs_directory(
    walk: &mut StructureWalk,
    dir: BorrowedFd<'_>,
    _: &mut ExtentBuffer,
) -> Result<(), Errno> {
    let (measures, block_bytes) = (&mut walk.measures, walk.block_bytes);
    xfs_directory_extents(dir, |logical, physical, length| {
        let kind = match logical {
            0..LEAVES_FROM => DATA,
            LEAVES_FROM..FREE_INDEX_FROM => LEAF,
            _ => FREE_INDEX,
        };
        measures.blocks(kind, physical, length, block_bytes);
    })
}

fn btrfs(top: BorrowedFd<'_>, facts: &FilesystemFacts) -> StructureWalk {
    let plain = StructureWalk::plain(facts);
    let Some(device) = source(top) else { return plain };
    // Trees can be read by root only.
    let Ok(chunks) = btrfs_trees::chunks(top) else { return plain };
    let trees = btrfs_trees::TreeNodes::find(top, &chunks, &device);
    let data = chunks.iter().filter(|chunk| chunk.is_data());
    let groups = GroupMap::Chunks(data.map(|chunk| (chunk.start, chunk.length)).collect());
    StructureWalk { groups, trees: trees.ok().flatten(), ..plain }
}
