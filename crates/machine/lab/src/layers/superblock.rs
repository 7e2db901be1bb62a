//! Superblocks of bcache (linux/bcache.h, `struct cache_sb`), identical to those of make-bcache.

/// Offset of the superblock on its device, in bytes.
pub(super) const OFFSET: u64 = 4096;
/// Size of a superblock without journal buckets, which a new one does not have.
pub(super) const BYTES: usize = 208;
/// Unit of sizes, in bytes.
const SECTOR: u64 = 512;

const MAGIC: [u8; 16] = [
    0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81,
];
/// Polynomial of the checksum, CRC-64 of ECMA-182.
const POLYNOMIAL: u64 = 0x42f0_e1eb_a9ea_3693;

// Offsets in the superblock.
const AT_SECTOR: usize = 8;
const VERSION_OFFSET: usize = 16;
const MAGIC_OFFSET: usize = 24;
const UUID_OFFSET: usize = 40;
const SET_OFFSET: usize = 56;
const AT_FLAGS: usize = 104;
const AT_BUCKETS: usize = 184;
const AT_BLOCK: usize = 192;
const AT_BUCKET: usize = 194;
const AT_DEVICES: usize = 196;
const AT_FIRST_BUCKET: usize = 204;

/// Role of a device in a cache set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeviceRole {
    /// Fast device, with its size.
    Cache { bytes: u64 },
    /// Slow device, with the number of the cache mode.
    Backing { mode: u64 },
}

/// Parameters of a superblock.
#[derive(Clone, Copy, Debug)]
pub(super) struct CacheSuperblock {
    pub(super) role: DeviceRole,
    pub(super) uuid: [u8; 16],
    /// UUID of the cache set, the same on both devices.
    pub(super) set: [u8; 16],
    pub(super) bucket_bytes: u64,
    /// Smallest unit of requests: the sector size of the devices, or a multiple.
    pub(super) block_bytes: u64,
}

impl CacheSuperblock {
    /// Bytes of the superblock, with its checksum.
    pub(super) fn to_bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(AT_SECTOR, &(OFFSET / SECTOR).to_le_bytes());
        put(MAGIC_OFFSET, &MAGIC);
        put(UUID_OFFSET, &self.uuid);
        put(SET_OFFSET, &self.set);
        put(AT_BLOCK, &sectors(self.block_bytes));
        put(AT_BUCKET, &sectors(self.bucket_bytes));
        match self.role {
            DeviceRole::Cache { bytes } => {
                put(AT_BUCKETS, &(bytes / self.bucket_bytes).to_le_bytes());
                put(AT_DEVICES, &1_u16.to_le_bytes());
                // The buckets before this one hold the superblock.
                let first = 23 / (self.bucket_bytes / SECTOR) + 1;
                put(AT_FIRST_BUCKET, &first.to_le_bytes()[..2]);
            }
            DeviceRole::Backing { mode } => {
                put(VERSION_OFFSET, &1_u64.to_le_bytes());
                put(AT_FLAGS, &mode.to_le_bytes());
            }
        }
        let sum = checksum(&bytes[AT_SECTOR..]);
        bytes[..AT_SECTOR].copy_from_slice(&sum.to_le_bytes());
        bytes
    }
}

/// True if these bytes are a superblock of this cache set.
pub(super) fn is_of_set(bytes: &[u8; BYTES], set: &[u8; 16]) -> bool {
    bytes[MAGIC_OFFSET..MAGIC_OFFSET + 16] == MAGIC && bytes[SET_OFFSET..SET_OFFSET + 16] == *set
}

fn sectors(bytes: u64) -> [u8; 2] {
    let [low, high, ..] = (bytes / SECTOR).to_le_bytes();
    [low, high]
}

fn checksum(bytes: &[u8]) -> u64 {
    let step = |sum: u64| if sum >> 63 == 1 { (sum << 1) ^ POLYNOMIAL } else { sum << 1 };
    let sum = bytes.iter().fold(u64::MAX, |sum, byte| {
        (0..8).fold(sum ^ (u64::from(*byte) << 56), |sum, _bit| step(sum))
    });
    !sum
}

#[cfg(test)]
mod tests {
    use super::{AT_SECTOR, CacheSuperblock, DeviceRole, SET_OFFSET, is_of_set};

    const SET: [u8; 16] = [
        0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee,
        0xff,
    ];

    fn superblock(role: DeviceRole, uuid: u128) -> CacheSuperblock {
        let uuid = uuid.to_be_bytes();
        CacheSuperblock { role, uuid, set: SET, bucket_bytes: 512 << 10, block_bytes: 4096 }
    }

    // Expected bytes: make-bcache 1.0.8 --writeback -b 512k -w 4k -C c.img -B b.img, with images of
    // 64 MiB.
    #[test]
    fn superblocks_are_those_of_make_bcache() {
        let cache = DeviceRole::Cache { bytes: 64 << 20 };
        let cache = superblock(cache, 0xaec5_cd06_50b5_43cb_8839_a303_493e_d3f0).to_bytes();
        assert_eq!(cache[..AT_SECTOR], 0x1ce6_4ec6_e55b_49cf_u64.to_le_bytes());
        let backing = DeviceRole::Backing { mode: 1 };
        let backing = superblock(backing, 0xca2e_1f00_6fa9_484c_94bc_9a9e_72d1_1eaa).to_bytes();
        assert_eq!(backing[..AT_SECTOR], 0x77bf_bca1_43c2_227d_u64.to_le_bytes());
    }

    #[test]
    fn a_superblock_of_another_set_is_recognised() {
        let mut bytes = superblock(DeviceRole::Backing { mode: 0 }, 7).to_bytes();
        assert!(is_of_set(&bytes, &SET));
        bytes[SET_OFFSET] = 1;
        assert!(!is_of_set(&bytes, &SET) && !is_of_set(&[0; 208], &[0; 16]));
    }
}
