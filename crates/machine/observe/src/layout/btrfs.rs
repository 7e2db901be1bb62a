//! Free space of btrfs: the free space tree within the data block groups. Addresses are logical,
//! like those of file extents.

use std::ops::ControlFlow;
use std::os::fd::BorrowedFd;

use treering_model::UsedBytes;
use treering_stats::layout::{FreeSpaceMeasures, MapMeasures};
use treering_sys::{BtrfsKey, Errno, btrfs_items, btrfs_spaces};

use super::found_space::SpaceUsage;
use super::reported;

/// Tree IDs and item types from linux/btrfs_tree.h.
const CHUNK_TREE: u64 = 3;
const FREE_SPACE_TREE: u64 = 10;
const CHUNK: u8 = 228;
const DEVICE: u8 = 216;
const FREE_SPACE_INFO: u8 = 198;
const FREE_SPACE_EXTENT: u8 = 199;
const FREE_SPACE_BITMAP: u8 = 200;
/// Block group types.
const DATA: u64 = 1;
const METADATA: u64 = 4;
/// Global reserve, a part of the metadata.
const RESERVED: u64 = 1 << 49;

/// Block group: address range of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BlockGroup {
    start: u64,
    length: u64,
    flags: u64,
    block_bytes: u64,
}

/// Reads space usage and free space of a mounted btrfs.
pub(super) fn look(
    filesystem: BorrowedFd<'_>,
    mut space: SpaceUsage,
    map: Option<&mut MapMeasures>,
) -> SpaceUsage {
    if let Ok(spaces) = btrfs_spaces(filesystem) {
        let groups_with = |use_bit| {
            let of_it =
                spaces.iter().filter(move |s| s.flags & use_bit != 0 && s.flags & RESERVED == 0);
            of_it.fold(UsedBytes::default(), |sum, space| UsedBytes {
                used_bytes: sum.used_bytes.saturating_add(space.used_bytes),
                total_bytes: sum.total_bytes.saturating_add(space.total_bytes),
            })
        };
        space.fullness.data = groups_with(DATA);
        space.fullness.metadata = Some(groups_with(METADATA));
    }
    // Inodes are not limited.
    space.fullness.inodes = None;
    match free_space(filesystem, &mut space, map) {
        Ok(()) => {}
        Err(Errno::PERM) => {
            space.problem = Some(
                "btrfs reports its free space only to root (CAP_SYS_ADMIN): run as root".to_owned(),
            );
        }
        Err(Errno::NOENT) => {
            space.problem = Some(
                "this btrfs has no free space tree (it was mounted with space_cache=v1): mount it \
                 once with space_cache=v2"
                    .to_owned(),
            );
        }
        Err(errno) => {
            space.problem = Some(format!("btrfs does not report its free space: {errno}"));
        }
    }
    space
}

fn free_space(
    filesystem: BorrowedFd<'_>,
    space: &mut SpaceUsage,
    mut map: Option<&mut MapMeasures>,
) -> Result<(), Errno> {
    let (groups, unallocated) = chunks(filesystem)?;
    let data: Vec<BlockGroup> =
        groups.into_iter().filter(|group| group.flags & DATA != 0).collect();
    if let Some(map) = &mut map {
        data.iter().for_each(|group| map.space(group.start, group.length));
    }
    let mut free = FreeSpaceMeasures::default();
    for group in &data {
        free_in_group(filesystem, *group, &mut |start, length| {
            free.add(length);
            if let Some(map) = &mut map {
                map.free(start, length);
            }
        })?;
    }
    space.free = Some(reported::free(&free.layout()));
    space.fullness.unallocated_bytes = Some(unallocated);
    Ok(())
}

/// Block groups, and bytes of the devices outside of any chunk.
fn chunks(filesystem: BorrowedFd<'_>) -> Result<(Vec<BlockGroup>, u64), Errno> {
    let (mut groups, mut unallocated) = (Vec::new(), 0u64);
    btrfs_items(filesystem, CHUNK_TREE, BtrfsKey::FIRST, BtrfsKey::LAST, |key, item| {
        match key.kind {
            // Item fields: length, owner, stripe length, type, then block sizes.
            CHUNK => {
                if let (Some(length), Some(flags)) = (word(item, 0), word(item, 24)) {
                    let sector = half(item, 40).filter(|bytes| bytes.is_power_of_two());
                    let block_bytes = sector.map_or(4096, u64::from);
                    groups.push(BlockGroup { start: key.offset, length, flags, block_bytes });
                }
            }
            // Item fields: ID, bytes, bytes used.
            DEVICE => {
                if let (Some(total), Some(used)) = (word(item, 8), word(item, 16)) {
                    unallocated = unallocated.saturating_add(total.saturating_sub(used));
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    })?;
    Ok((groups, unallocated))
}

/// Calls `each` with every free extent of a block group. Bitmaps are merged to extents, also across
/// bitmap boundaries.
fn free_in_group(
    filesystem: BorrowedFd<'_>,
    group: BlockGroup,
    each: &mut dyn FnMut(u64, u64),
) -> Result<(), Errno> {
    let end = group.start.saturating_add(group.length);
    let from = BtrfsKey { objectid: group.start, kind: FREE_SPACE_INFO, offset: 0 };
    let to =
        BtrfsKey { objectid: end.saturating_sub(1), kind: FREE_SPACE_BITMAP, offset: u64::MAX };
    let mut bits = BitmapExtents { open: None };
    btrfs_items(filesystem, FREE_SPACE_TREE, from, to, |key, item| {
        let is_here = key.objectid >= group.start && key.objectid < end;
        match key.kind {
            FREE_SPACE_EXTENT if is_here => each(key.objectid, key.offset),
            FREE_SPACE_BITMAP if is_here => {
                let blocks = key.offset / group.block_bytes;
                bits.add(key.objectid, item, blocks, group.block_bytes, each);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    })?;
    if let Some((start, end)) = bits.open {
        each(start, end - start);
    }
    Ok(())
}

/// Free extents from bitmaps; the last one may continue in the next bitmap.
struct BitmapExtents {
    open: Option<(u64, u64)>,
}

impl BitmapExtents {
    fn add(
        &mut self,
        start: u64,
        bitmap: &[u8],
        blocks: u64,
        block_bytes: u64,
        each: &mut dyn FnMut(u64, u64),
    ) {
        // The bitmap limits the number of blocks.
        let blocks = blocks.min(bitmap.len() as u64 * 8);
        for block in 0..blocks {
            let byte = usize::try_from(block / 8).ok().and_then(|place| bitmap.get(place));
            if byte.is_none_or(|byte| byte >> (block % 8) & 1 == 0) {
                continue;
            }
            let at = start.saturating_add(block * block_bytes);
            let end = at.saturating_add(block_bytes);
            self.open = match self.open {
                Some((begin, before)) if before == at => Some((begin, end)),
                before => {
                    if let Some((begin, before)) = before {
                        each(begin, before - begin);
                    }
                    Some((at, end))
                }
            };
        }
    }
}

/// Little-endian number in an item; `None` beyond its end.
pub(super) fn word(item: &[u8], at: usize) -> Option<u64> {
    let bytes = item.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

fn half(item: &[u8], at: usize) -> Option<u32> {
    let bytes = item.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::BitmapExtents;
    use proptest::prelude::{any, prop, proptest};

    fn stretches(bitmaps: &[(u64, Vec<u8>)], block_bytes: u64) -> Vec<(u64, u64)> {
        let mut extents = Vec::new();
        let mut bits = BitmapExtents { open: None };
        for (start, bitmap) in bitmaps {
            let blocks = bitmap.len() as u64 * 8;
            bits.add(*start, bitmap, blocks, block_bytes, &mut |at, length| {
                extents.push((at, length));
            });
        }
        extents.extend(bits.open.map(|(start, end)| (start, end - start)));
        extents
    }

    #[test]
    fn free_extents_span_bitmap_boundaries() {
        let bitmaps = [(0, vec![0b1100_0011]), (8 * 4096, vec![0b0000_0001])];
        assert_eq!(stretches(&bitmaps, 4096), [(0, 8192), (6 * 4096, 3 * 4096)]);
        let apart = [(0, vec![0x80]), (9 * 4096, vec![0x01])];
        assert_eq!(stretches(&apart, 4096).len(), 2);
        let mut bits = BitmapExtents { open: None };
        bits.add(0, &[0xff], u64::MAX, 4096, &mut |_, _| ());
        assert_eq!(bits.open, Some((0, 8 * 4096)), "a bitmap that is too short ends");
    }

    proptest! {
        #[test]
        fn all_set_bits_are_counted(
            start in any::<u64>(), bitmap in prop::collection::vec(any::<u8>(), 0..64)
        ) {
            let set: u64 = bitmap.iter().map(|byte| u64::from(byte.count_ones())).sum();
            let extents = stretches(&[(start >> 8, bitmap)], 4096);
            assert_eq!(extents.iter().map(|(_, length)| length).sum::<u64>(), set * 4096);
        }
    }
}
