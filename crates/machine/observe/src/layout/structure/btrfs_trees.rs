//! Nodes of the trees of btrfs: their addresses from the extent tree, their owner, level and first
//! key from the headers on the device.
//!
//! A node is read only where the device holds it at one address: not on stripes. The headers are
//! those of the last commit.

use std::fs::File;
use std::ops::ControlFlow;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{Advice, fadvise};
use treering_model::filesystems::btrfs_node_bytes;
use treering_stats::layout::StructureMeasures;
use treering_sys::{BtrfsKey, Errno, btrfs_items};

use super::super::btrfs::word;

/// Tree IDs, item types and flags from linux/btrfs_tree.h.
const EXTENT_TREE: u64 = 2;
const CHUNK_TREE: u64 = 3;
const FILES_TREE: u64 = 5;
const CHECKSUM_TREE: u64 = 7;
const FREE_SPACE_TREE: u64 = 10;
const GROUP_TREE: u64 = 11;
const FIRST_SUBVOLUME: u64 = 256;
const LAST_SUBVOLUME: u64 = u64::MAX - 256;
const EXTENT: u8 = 168;
const METADATA: u8 = 169;
const CHUNK: u8 = 228;
const IS_TREE_BLOCK: u64 = 2;
const DATA: u64 = 1;
/// Profiles whose chunks are whole on a device: single, raid1 with its copies, dup.
const STRIPED: u64 = 1 << 3 | 1 << 6 | 1 << 7 | 1 << 8;
/// Offset of the superblock on a device.
const SUPERBLOCK: u64 = 65_536;
/// Header of a node with its first key, in bytes.
const HEAD_BYTES: usize = 118;
/// Largest number of nodes that are read.
const NODES_MAX: usize = 4_000_000;

/// Names of the kinds of nodes.
pub(super) const FILES_LEAVES: &str = "file tree leaves";
const FILES_NODES: &str = "file tree nodes";
const CHECKSUMS: &str = "checksum tree leaves";
const SPACE: &str = "extent and free space tree leaves";
const OTHERS: &str = "leaves of other trees";
const OTHER_NODES: &str = "nodes of other trees";

/// Chunk: address range, its type, and where its first copy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) start: u64,
    pub(super) length: u64,
    flags: u64,
    /// Device and place of the first copy.
    device: u64,
    place: u64,
}

impl Chunk {
    pub(super) const fn is_data(&self) -> bool {
        self.flags & DATA != 0
    }
}

/// Chunks of a filesystem, in the order of their addresses.
pub(super) fn chunks(filesystem: BorrowedFd<'_>) -> Result<Vec<Chunk>, Errno> {
    let mut chunks = Vec::new();
    btrfs_items(filesystem, CHUNK_TREE, BtrfsKey::FIRST, BtrfsKey::LAST, |key, item| {
        if key.kind == CHUNK {
            chunks.extend(chunk(key.offset, item));
        }
        ControlFlow::Continue(())
    })?;
    chunks.sort_unstable_by_key(|chunk| chunk.start);
    Ok(chunks)
}

/// Reads a chunk item: length, owner, stripe length, type, sizes, counts, then its stripes.
fn chunk(start: u64, item: &[u8]) -> Option<Chunk> {
    let (length, flags) = (word(item, 0)?, word(item, 24)?);
    Some(Chunk { start, length, flags, device: word(item, 48)?, place: word(item, 56)? })
}

/// Node of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TreeNode {
    owner: u64,
    level: u8,
    first: BtrfsKey,
    address: u64,
}

/// Nodes of all trees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TreeNodes {
    nodes: Vec<TreeNode>,
    node_bytes: u64,
}

impl TreeNodes {
    /// Finds the nodes of a filesystem on one device; `None` where they are not on it as a whole.
    pub(super) fn find(
        filesystem: BorrowedFd<'_>,
        chunks: &[Chunk],
        device: &Path,
    ) -> Result<Option<Self>, Errno> {
        let metadata = || chunks.iter().filter(|chunk| !chunk.is_data());
        let first = metadata().next().map(|chunk| chunk.device);
        if metadata().any(|chunk| chunk.flags & STRIPED != 0 || Some(chunk.device) != first) {
            return Ok(None);
        }
        let addresses = addresses(filesystem)?;
        let Ok(device) = File::open(device) else { return Ok(None) };
        // Pages of the device itself may be older than what the filesystem has written.
        let _kept_pages_show_in_the_headers = fadvise(&device, 0, None, Advice::DontNeed);
        let _only_advice = fadvise(&device, 0, None, Advice::Random);
        let Some(node_bytes) = node_bytes(&device) else { return Ok(None) };
        let mut nodes = Vec::new();
        for address in addresses {
            let behind = chunks.partition_point(|chunk| chunk.start <= address);
            let Some(chunk) = behind.checked_sub(1).and_then(|at| chunks.get(at)) else { continue };
            let Some(place) = chunk.place.checked_add(address - chunk.start) else { continue };
            let mut head = [0; HEAD_BYTES];
            if device.read_exact_at(&mut head, place).is_ok() {
                nodes.extend(node(address, &head));
            }
        }
        nodes.sort_unstable();
        Ok(Some(Self { nodes, node_bytes }))
    }

    /// Reports the nodes of each tree in the order of their keys, level by level.
    pub(super) fn report(&self, measures: &mut StructureMeasures) {
        let of_tree =
            |one: &TreeNode, next: &TreeNode| (one.owner, one.level) == (next.owner, next.level);
        for nodes in self.nodes.chunk_by(of_tree) {
            measures.begin();
            for node in nodes {
                measures.blocks(kind(node), node.address, self.node_bytes, self.node_bytes);
            }
        }
    }
}

/// Addresses of all nodes, from the extent tree.
fn addresses(filesystem: BorrowedFd<'_>) -> Result<Vec<u64>, Errno> {
    let mut addresses = Vec::new();
    btrfs_items(filesystem, EXTENT_TREE, BtrfsKey::FIRST, BtrfsKey::LAST, |key, item| {
        // Item fields: references, generation, flags.
        let is_node = match key.kind {
            METADATA => true,
            EXTENT => word(item, 16).is_some_and(|flags| flags & IS_TREE_BLOCK != 0),
            _ => false,
        };
        if is_node {
            addresses.push(key.objectid);
        }
        if addresses.len() < NODES_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(addresses)
}

fn kind(node: &TreeNode) -> &'static str {
    let is_of_files =
        node.owner == FILES_TREE || (FIRST_SUBVOLUME..=LAST_SUBVOLUME).contains(&node.owner);
    match (node.level, node.owner) {
        (0, _) if is_of_files => FILES_LEAVES,
        (_, _) if is_of_files => FILES_NODES,
        (0, CHECKSUM_TREE) => CHECKSUMS,
        (0, EXTENT_TREE | FREE_SPACE_TREE | GROUP_TREE) => SPACE,
        (0, _) => OTHERS,
        _ => OTHER_NODES,
    }
}

/// Reads the header of a node and its first key; `None` if another node is at its place.
fn node(address: u64, head: &[u8]) -> Option<TreeNode> {
    // Header: checksum, filesystem, address, flags, chunk tree, generation, owner, items, level.
    let is_it = word(head, 48)? == address;
    let (owner, level) = (word(head, 88)?, *head.get(100)?);
    let first =
        BtrfsKey { objectid: word(head, 101)?, kind: *head.get(109)?, offset: word(head, 110)? };
    is_it.then_some(TreeNode { owner, level, first, address })
}

/// Size of the nodes, from the superblock.
fn node_bytes(device: &File) -> Option<u64> {
    let mut superblock = [0; 256];
    device.read_exact_at(&mut superblock, SUPERBLOCK).ok()?;
    btrfs_node_bytes(&superblock)
}

#[cfg(test)]
mod tests {
    use super::{HEAD_BYTES, TreeNode, chunk, kind, node};
    use treering_sys::BtrfsKey;

    #[test]
    fn a_header_is_read_only_at_its_own_address() {
        let mut head = [0; HEAD_BYTES];
        head[48..56].copy_from_slice(&7_340_032_u64.to_le_bytes());
        head[88..96].copy_from_slice(&5_u64.to_le_bytes());
        head[100] = 1;
        head[101..109].copy_from_slice(&257_u64.to_le_bytes());
        head[109] = 96;
        head[110..118].copy_from_slice(&12_u64.to_le_bytes());
        let first = BtrfsKey { objectid: 257, kind: 96, offset: 12 };
        let found = node(7_340_032, &head).unwrap();
        assert_eq!(found, TreeNode { owner: 5, level: 1, first, address: 7_340_032 });
        assert_eq!(kind(&found), "file tree nodes");
        assert_eq!(node(4096, &head), None);
        assert_eq!(node(7_340_032, &head[..100]), None);
    }

    #[test]
    fn cut_chunks_are_left_out() {
        assert_eq!(chunk(0, &[1; 50]), None);
        assert!(chunk(0, &[1; 80]).is_some());
    }
}
