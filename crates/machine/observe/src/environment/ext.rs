//! Features and geometry of ext2, ext3 and ext4 from the superblock on the device (readable by root
//! only).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use treering_model::filesystems::ext_signature;
use treering_model::{EXT_COMPATIBLE, EXT_INCOMPATIBLE, EXT_READ_ONLY};

/// Offset and size of the superblock in bytes.
const PLACE: u64 = 1024;
const BYTES: usize = 1024;
/// Offset of the copy of the journal's inode: 15 words of block numbers, the upper and the lower
/// half of its size; and of the byte that is 1 if there is one (`s_jnl_blocks` and
/// `s_jnl_backup_type` in fs/ext4/ext4.h of Linux).
const JOURNAL_COPY: usize = 0x10c;
const JOURNAL_COPY_KIND: usize = 0xfd;

/// Raw superblock.
pub(super) struct Superblock([u8; BYTES]);

/// Reads the superblock of a device; `None` if it is unreadable or of another filesystem.
pub(super) fn read(device: &Path) -> Option<Superblock> {
    let mut bytes = [0; BYTES];
    File::open(device).ok()?.read_exact_at(&mut bytes, PLACE).ok()?;
    let signature = bytes.first_chunk().and_then(ext_signature);
    signature.is_some().then_some(Superblock(bytes))
}

impl Superblock {
    fn word(&self, place: usize) -> u32 {
        let bytes = self.0.get(place..place + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_le_bytes)
    }

    fn short(&self, place: usize) -> u16 {
        let bytes = self.0.get(place..place + 2).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u16::from_le_bytes)
    }

    /// Features as named by mke2fs, in the order of dumpe2fs.
    pub(super) fn features(&self) -> String {
        let fields: [(usize, &[(u32, &'static str)]); 3] =
            [(92, &EXT_COMPATIBLE), (96, &EXT_INCOMPATIBLE), (100, &EXT_READ_ONLY)];
        let words = fields.into_iter().flat_map(|(place, names)| {
            let bits = self.word(place);
            names.iter().filter(move |(bit, _)| bits & bit != 0).map(|(_, name)| *name)
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// Address of the first block group, bytes of each, and their number.
    pub(super) fn groups(&self) -> Option<(u64, u64, u64)> {
        let block_bytes = 1024_u64.checked_shl(self.word(24)).filter(|bytes| *bytes <= 65_536)?;
        let (first, blocks) = (u64::from(self.word(20)), u64::from(self.word(4)));
        let group_blocks = Some(u64::from(self.word(32))).filter(|blocks| *blocks > 0)?;
        // The upper half of the number of blocks.
        let blocks = blocks | u64::from(self.word(0x150)) << 32;
        let count = blocks.checked_sub(first)?.div_ceil(group_blocks);
        Some((first * block_bytes, group_blocks * block_bytes, count))
    }

    /// Geometry chosen by mkfs.
    pub(super) fn geometry(&self) -> String {
        format!(
            "inode_bytes={}, group_blocks={}, group_inodes={}, flex_groups={}",
            self.short(88),
            self.word(32),
            self.word(40),
            1_u64 << (self.0[0x174] & 31)
        )
    }

    /// Size of the journal inside the filesystem, from the copy of its inode; `None` if there is no
    /// journal, or if it is on another device.
    pub(super) fn journal_bytes(&self) -> Option<u64> {
        let has_copy = self.0[JOURNAL_COPY_KIND] == 1;
        let high = self.word(JOURNAL_COPY + 15 * 4);
        let low = self.word(JOURNAL_COPY + 16 * 4);
        let bytes = u64::from(high) << 32 | u64::from(low);
        (has_copy && bytes > 0).then_some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use std::fs;

    #[test]
    fn a_superblock_is_distinguished_from_other_bytes() {
        let place = tempfile::NamedTempFile::new().unwrap();
        let mut image = vec![0_u8; 4096];
        fs::write(place.path(), &image).unwrap();
        assert!(read(place.path()).is_none());
        image[1024 + 56..1024 + 58].copy_from_slice(&0xef53_u16.to_le_bytes());
        image[1024 + 88] = 128;
        image[1024 + 33] = 0x80;
        image[1024 + 92] = 0x4 | 0x20;
        // extent, and needs_recovery, which only says that it is mounted
        image[1024 + 96] = 0x40 | 0x4;
        image[1024 + 101] = 0x4;
        image[1024 + 0x174] = 4;
        fs::write(place.path(), &image).unwrap();
        let superblock = read(place.path()).unwrap();
        assert_eq!(superblock.features(), "has_journal dir_index extent metadata_csum");
        let geometry = "inode_bytes=128, group_blocks=32768, group_inodes=0, flex_groups=16";
        assert_eq!((superblock.geometry().as_str(), superblock.journal_bytes()), (geometry, None));
        image[1024 + 0xfd] = 1;
        image[1024 + 0x10c + 16 * 4 + 2] = 0x40;
        fs::write(place.path(), &image).unwrap();
        let superblock = read(place.path()).unwrap();
        assert_eq!(superblock.journal_bytes(), Some(4_194_304));
        fs::write(place.path(), &image[..1500]).unwrap();
        assert!(read(place.path()).is_none());
    }
}
