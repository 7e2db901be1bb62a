//! btrfs metadata: tree items (`BTRFS_IOC_TREE_SEARCH_V2`, root only) and space usage by block
//! group type (`BTRFS_IOC_SPACE_INFO`, for all users).
//!
//! Items are returned as raw bytes.
#![expect(unsafe_code, reason = "ioctls that rustix has no function for")]

use std::ops::ControlFlow;
use std::os::fd::AsFd;

use rustix::io::{Errno, retry_on_intr};
use rustix::ioctl::{Updater, ioctl, opcode};

use super::BTRFS;

const SEARCH: u32 = opcode::read_write::<SearchHead>(BTRFS, 17);
const SPACE_INFO: u32 = opcode::read_write::<SpaceHead>(BTRFS, 20);

/// Buffer for the items of one call, larger than the largest item.
const ROOM: usize = 256 << 10;
/// Size of `struct btrfs_ioctl_search_header` in bytes.
const ITEM_HEAD: usize = 32;
/// Limit of returned space types: there are fewer than ten.
const SPACES: usize = 32;

/// `struct btrfs_ioctl_search_args_v2`, without its buffer.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct SearchHead {
    tree: u64,
    min_objectid: u64,
    max_objectid: u64,
    min_offset: u64,
    max_offset: u64,
    min_transid: u64,
    max_transid: u64,
    min_kind: u32,
    max_kind: u32,
    items: u32,
    unused: u32,
    unused_more: [u64; 4],
    room: u64,
}

#[repr(C)]
struct SearchPage {
    head: SearchHead,
    bytes: [u8; ROOM],
}

/// `struct btrfs_ioctl_space_args`, without its array.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct SpaceHead {
    slots: u64,
    total: u64,
}

#[repr(C)]
struct SpacePage {
    head: SpaceHead,
    spaces: [BtrfsSpace; SPACES],
}

/// Item key, ordered by object, kind and offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BtrfsKey {
    /// Object ID.
    pub objectid: u64,
    /// Item type.
    pub kind: u8,
    /// Distinguishes items of one object and kind.
    pub offset: u64,
}

impl BtrfsKey {
    /// Smallest key.
    pub const FIRST: Self = Self { objectid: 0, kind: 0, offset: 0 };
    /// Largest key.
    pub const LAST: Self = Self { objectid: u64::MAX, kind: u8::MAX, offset: u64::MAX };

    fn next(self) -> Option<Self> {
        if let Some(offset) = self.offset.checked_add(1) {
            return Some(Self { offset, ..self });
        }
        if let Some(kind) = self.kind.checked_add(1) {
            return Some(Self { kind, offset: 0, ..self });
        }
        self.objectid.checked_add(1).map(|objectid| Self { objectid, kind: 0, offset: 0 })
    }
}

/// Usage of a space type.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BtrfsSpace {
    /// Type bits: 1 data, 2 system, 4 metadata, 1 << 49 global reserve; higher bits are the
    /// replication profile.
    pub flags: u64,
    /// Allocated bytes, without replication.
    pub total_bytes: u64,
    /// Used bytes.
    pub used_bytes: u64,
}

/// Calls `each` with the items of a tree between two keys, inclusive, until it breaks; returns the
/// number of calls.
///
/// # Errors
/// `ENOENT` if the tree does not exist, `EPERM` without root, `ENOTTY` on other filesystems.
pub fn btrfs_items(
    filesystem: impl AsFd,
    tree: u64,
    from: BtrfsKey,
    to: BtrfsKey,
    mut each: impl FnMut(BtrfsKey, &[u8]) -> ControlFlow<()>,
) -> Result<u32, Errno> {
    let mut page = empty_page();
    let (mut low, mut calls) = (from, 0);
    loop {
        page.head = SearchHead {
            tree,
            min_objectid: low.objectid,
            max_objectid: to.objectid,
            min_offset: low.offset,
            max_offset: to.offset,
            max_transid: u64::MAX,
            min_kind: low.kind.into(),
            max_kind: to.kind.into(),
            items: u32::MAX,
            room: ROOM as u64,
            ..SearchHead::default()
        };
        // SAFETY: the call reads and writes the head, and at most as many bytes as the head allows.
        retry_on_intr(|| unsafe {
            ioctl(filesystem.as_fd(), Updater::<SEARCH, SearchPage>::new(&mut page))
        })?;
        calls += 1;
        let mut last = None;
        let mut unread: &[u8] = &page.bytes;
        for _ in 0..page.head.items {
            let Some((key, data, after)) = split_item(unread) else { break };
            unread = after;
            last = Some(key);
            if each(key, data).is_break() {
                return Ok(calls);
            }
        }
        match last.and_then(BtrfsKey::next) {
            Some(next) if next > low && next <= to => low = next,
            _ => return Ok(calls),
        }
    }
}

/// Allocates the page on the heap directly, as it is too large for the stack.
fn empty_page() -> Box<SearchPage> {
    let mut page = Box::<SearchPage>::new_uninit();
    // SAFETY: integers only, for which zero is valid.
    unsafe {
        page.as_mut_ptr().write_bytes(0, 1);
        page.assume_init()
    }
}

/// Splits off the first item of a buffer.
fn split_item(bytes: &[u8]) -> Option<(BtrfsKey, &[u8], &[u8])> {
    let (head, tail) = bytes.split_at_checked(ITEM_HEAD)?;
    let word = |at: usize| {
        let bytes = head.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
        bytes.map(u64::from_ne_bytes)
    };
    let half = |at: usize| {
        let bytes = head.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map(u32::from_ne_bytes)
    };
    let kind = u8::try_from(half(24)?).ok()?;
    let key = BtrfsKey { objectid: word(8)?, kind, offset: word(16)? };
    let (data, tail) = tail.split_at_checked(usize::try_from(half(28)?).ok()?)?;
    Some((key, data, tail))
}

/// Usage of each space type.
///
/// # Errors
/// `ENOTTY` on other filesystems.
pub fn btrfs_spaces(filesystem: impl AsFd) -> Result<Vec<BtrfsSpace>, Errno> {
    let head = SpaceHead { slots: SPACES as u64, total: 0 };
    let mut page = SpacePage { head, spaces: [BtrfsSpace::default(); SPACES] };
    // SAFETY: the call reads and writes the head, and at most as many spaces as there are slots.
    retry_on_intr(|| unsafe {
        ioctl(filesystem.as_fd(), Updater::<SPACE_INFO, SpacePage>::new(&mut page))
    })?;
    let reported = usize::try_from(page.head.total).unwrap_or(usize::MAX).min(SPACES);
    Ok(page.spaces[..reported].to_vec())
}

#[cfg(test)]
mod tests {
    use super::{BtrfsKey, SearchHead, SpaceHead, btrfs_items, btrfs_spaces, split_item};
    use std::fs::File;
    use std::ops::ControlFlow;

    #[test]
    fn the_structures_have_the_sizes_of_the_kernel() {
        assert_eq!((size_of::<SearchHead>(), size_of::<SpaceHead>()), (112, 16));
        assert_eq!((super::SEARCH, super::SPACE_INFO), (0xc070_9411, 0xc010_9414));
    }

    #[test]
    fn next_key_carries_over() {
        let key = |objectid, kind, offset| BtrfsKey { objectid, kind, offset };
        assert_eq!(key(1, 2, 3).next(), Some(key(1, 2, 4)));
        assert_eq!(key(1, 2, u64::MAX).next(), Some(key(1, 3, 0)));
        assert_eq!(key(1, u8::MAX, u64::MAX).next(), Some(key(2, 0, 0)));
        assert_eq!(BtrfsKey::LAST.next(), None);
    }

    #[test]
    fn truncated_items_are_ignored() {
        let mut bytes = vec![0; 32];
        bytes[24] = 199;
        bytes[28] = 4;
        assert!(split_item(&bytes).is_none());
        bytes.extend([1, 2, 3, 4, 5]);
        let (key, data, tail) = split_item(&bytes).unwrap();
        assert_eq!((key.kind, data, tail), (199, &[1, 2, 3, 4][..], &[5][..]));
        bytes[25] = 1;
        assert!(split_item(&bytes).is_none(), "a kind has eight bits");
        assert!(split_item(&bytes[..31]).is_none());
    }

    #[test]
    fn proc_is_no_btrfs() {
        let proc = File::open("/proc").unwrap();
        assert!(btrfs_spaces(&proc).is_err());
        let none =
            btrfs_items(
                &proc,
                1,
                BtrfsKey::FIRST,
                BtrfsKey::LAST,
                |_, _| ControlFlow::Continue(()),
            );
        assert!(none.is_err());
    }
}
