//! Layers of a variant: what stands between its device and the filesystem under test, or above
//! that filesystem.

use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};

/// Name of the fact with the layers of a trial, from the device upwards.
pub(super) const LAYERS_FACT: &str = "layers.stack";

/// Layer that is built for each trial and taken down after it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Loop device on a file of another filesystem.
    Loop(LoopLayer),
    /// Encryption by dm-crypt, of each device below.
    Crypt(CryptLayer),
    /// Concatenation of the devices below by dm-linear, as of a plain logical volume.
    Linear,
    /// Thinly provisioned volume of a pool on the devices below, by dm-thin.
    Thin(ThinLayer),
    /// Volume that has a snapshot, by dm-snapshot: old data are copied before they are changed.
    Snapshot(SnapshotLayer),
    /// Array of the devices below by the driver md: RAID.
    Md(ArrayLayer),
    /// Cache on a fast disk in front of another one, by bcache.
    Bcache(CacheLayer),
    /// Overlayfs above the filesystem under test.
    Overlay(OverlayLayer),
}

/// Filesystem on the device below, with one file that is the device above.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LoopLayer {
    /// Name of the filesystem that holds the file.
    pub on: String,
    /// mkfs options of that filesystem.
    pub mkfs: Vec<String>,
    /// Mount options of that filesystem.
    pub mount: Vec<String>,
    /// Size of the file in bytes; `None` for most of the free space.
    pub bytes: Option<u64>,
    /// True for a sparse file, false for a preallocated one.
    pub sparse: bool,
    /// True for direct I/O on the file.
    pub direct_io: bool,
}

/// Parameters of dm-crypt.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CryptLayer {
    /// Cipher, mode and IV generator, as in `aes-xts-plain64`.
    pub cipher: String,
    /// Length of the key in bits.
    pub key_bits: u32,
    /// Unit of encryption in bytes: 512 to 4096.
    pub sector_bytes: u32,
    /// Optional parameters that are on, with the names of the kernel.
    pub flags: Vec<String>,
}

impl CryptLayer {
    /// Optional parameters of dm-crypt that can be on.
    pub const FLAGS: [&'static str; 5] = [
        "no_read_workqueue",
        "no_write_workqueue",
        "same_cpu_crypt",
        "submit_from_crypt_cpus",
        "allow_discards",
    ];
}

impl Default for CryptLayer {
    /// Defaults of LUKS2 on a disk with sectors of 512 bytes.
    fn default() -> Self {
        let cipher = "aes-xts-plain64".to_owned();
        Self { cipher, key_bits: 512, sector_bytes: 512, flags: Vec::new() }
    }
}

/// Parameters of a thin pool.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ThinLayer {
    /// Unit of provisioning, in bytes.
    pub block_bytes: u64,
}

impl Default for ThinLayer {
    /// Smallest unit that dm-thin has, which is the default of LVM for small pools.
    fn default() -> Self {
        Self { block_bytes: 64 << 10 }
    }
}

/// Parameters of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SnapshotLayer {
    /// Unit of copying, in bytes.
    pub chunk_bytes: u64,
}

impl Default for SnapshotLayer {
    /// Default of LVM.
    fn default() -> Self {
        Self { chunk_bytes: 4 << 10 }
    }
}

/// Parameters of an array of the driver md.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ArrayLayer {
    /// RAID level: one of [`ArrayLayer::LEVELS`].
    pub level: u8,
    /// Number of disks, for a single device below that is cut into parts; `None` for all devices
    /// below, or the fewest of the level.
    pub disks: Option<u16>,
    /// Bytes of a chunk; unused by RAID 1.
    pub chunk_bytes: u64,
    /// Pages of each disk in the stripe cache of RAID 5 and 6; `None` for the kernel's default.
    pub stripe_cache: Option<u32>,
    /// Additional threads that handle the stripes of RAID 5 and 6; `None` for the kernel's default.
    pub threads: Option<u16>,
}

impl ArrayLayer {
    /// RAID levels that can be made.
    pub const LEVELS: [u8; 5] = [0, 1, 5, 6, 10];

    /// Array of this level with the defaults of mdadm.
    pub const fn new(level: u8) -> Self {
        Self { level, disks: None, chunk_bytes: 512 << 10, stripe_cache: None, threads: None }
    }

    /// Smallest number of disks of the level.
    pub const fn disks_min(&self) -> u16 {
        match self.level {
            0 | 1 => 2,
            5 => 3,
            _ => 4,
        }
    }

    /// Kernel module of the level.
    pub const fn module(&self) -> &'static str {
        match self.level {
            0 => "raid0",
            1 => "raid1",
            10 => "raid10",
            _ => "raid456",
        }
    }

    /// True for a level that has parity, and so a stripe cache.
    pub const fn has_parity(&self) -> bool {
        matches!(self.level, 5 | 6)
    }

    /// Number of disks, on so many devices below.
    pub fn disk_count(&self, below: usize) -> usize {
        if below > 1 { below } else { usize::from(self.disks.unwrap_or(self.disks_min())) }
    }
}

/// Parameters of bcache. Of two devices below the second is the cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CacheLayer {
    /// Cache mode: one of [`CacheLayer::MODES`].
    pub mode: String,
    /// Unit in which the cache is given out and reused, in bytes.
    pub bucket_bytes: u64,
    /// Share of a single device below that is the cache, in percent.
    pub cache_percent: u8,
    /// Bytes from which on sequential requests pass the cache by, 0 for never; `None` for the
    /// kernel's default.
    pub sequential_cutoff: Option<u64>,
}

impl CacheLayer {
    /// Cache modes, in the order of their numbers in the superblock.
    pub const MODES: [&'static str; 4] = ["writethrough", "writeback", "writearound", "none"];

    /// Number of the cache mode in the superblock.
    pub fn mode_number(&self) -> u64 {
        (0..).zip(Self::MODES).find(|(_, mode)| *mode == self.mode).map_or(0, |(number, _)| number)
    }
}

impl Default for CacheLayer {
    /// Defaults of make-bcache, but for smaller buckets, of which small images have enough.
    fn default() -> Self {
        let mode = Self::MODES[0].to_owned();
        Self { mode, bucket_bytes: 64 << 10, cache_percent: 20, sequential_cutoff: None }
    }
}

/// Overlayfs of which all directories are on the filesystem under test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OverlayLayer {
    /// Mount options, without those that name directories.
    pub mount: Vec<String>,
}

impl Layer {
    /// Name of the layer in plans.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Loop(_) => "loop",
            Self::Crypt(_) => "crypt",
            Self::Linear => "linear",
            Self::Thin(_) => "thin",
            Self::Snapshot(_) => "snapshot",
            Self::Md(_) => "md",
            Self::Bcache(_) => "bcache",
            Self::Overlay(_) => "overlay",
        }
    }

    /// Number of devices that the layer makes of so many below.
    pub const fn devices_above(&self, below: usize) -> usize {
        match self {
            Self::Loop(_)
            | Self::Linear
            | Self::Thin(_)
            | Self::Snapshot(_)
            | Self::Md(_)
            | Self::Bcache(_) => 1,
            Self::Crypt(_) | Self::Overlay(_) => below,
        }
    }

    /// True for a layer above the mounted filesystem; the others are block devices.
    pub const fn is_above_filesystem(&self) -> bool {
        matches!(self, Self::Overlay(_))
    }
}

impl Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = vec![self.name().to_owned()];
        let options = |title: &str, list: &[String]| {
            (!list.is_empty()).then(|| format!("{title} {}", list.join(",")))
        };
        match self {
            Self::Loop(LoopLayer { on, mkfs, mount, bytes, sparse, direct_io }) => {
                words[0] = format!("loop on {on}");
                words.extend(options("mkfs", mkfs));
                words.extend(options("mount", mount));
                words.extend(bytes.map(|bytes| format!("{bytes} bytes")));
                words.extend(sparse.then(|| "sparse".to_owned()));
                words.extend((!direct_io).then(|| "through the page cache".to_owned()));
            }
            Self::Crypt(CryptLayer { cipher, key_bits, sector_bytes, flags }) => {
                words[0] = format!("crypt {cipher}");
                words.push(format!("key of {key_bits} bits"));
                words.push(format!("sectors of {sector_bytes} bytes"));
                words.extend(flags.iter().cloned());
            }
            Self::Linear => {}
            Self::Thin(layer) => words.push(format!("blocks of {} bytes", layer.block_bytes)),
            Self::Snapshot(layer) => words.push(format!("chunks of {} bytes", layer.chunk_bytes)),
            Self::Md(layer) => words = words_of_array(layer),
            Self::Bcache(CacheLayer { mode, bucket_bytes, cache_percent, sequential_cutoff }) => {
                words[0] = format!("bcache {mode}");
                words.push(format!("buckets of {bucket_bytes} bytes"));
                words.push(format!("cache of {cache_percent} % of a single device"));
                words.extend(sequential_cutoff.map(|bytes| format!("cut off at {bytes} bytes")));
            }
            Self::Overlay(OverlayLayer { mount }) => words.extend(options("mount", mount)),
        }
        write!(f, "{}", words.join(", "))
    }
}

fn words_of_array(layer: &ArrayLayer) -> Vec<String> {
    let ArrayLayer { level, disks, chunk_bytes, stripe_cache, threads } = layer;
    let mut words = vec![format!("md raid{level}")];
    words.extend(disks.map(|disks| format!("{disks} disks")));
    words.extend((*level != 1).then(|| format!("chunks of {chunk_bytes} bytes")));
    words.extend(stripe_cache.map(|pages| format!("stripe cache of {pages} pages")));
    words.extend(threads.map(|threads| format!("{threads} threads")));
    words
}

/// Text of all layers, from the device upwards.
pub(super) fn described(layers: &[Layer]) -> String {
    layers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" > ")
}

#[cfg(test)]
mod tests {
    use super::{
        ArrayLayer, CacheLayer, CryptLayer, Layer, LoopLayer, OverlayLayer, ThinLayer, described,
    };

    #[test]
    fn layers_are_described_with_all_that_differs_from_the_default() {
        let plain = LoopLayer {
            on: "xfs".to_owned(),
            mkfs: Vec::new(),
            mount: Vec::new(),
            bytes: None,
            sparse: false,
            direct_io: true,
        };
        let other = LoopLayer {
            mount: vec!["noatime".to_owned()],
            bytes: Some(1 << 20),
            sparse: true,
            direct_io: false,
            ..plain.clone()
        };
        let overlay = OverlayLayer { mount: vec!["metacopy=on".to_owned()] };
        let layers = [Layer::Loop(plain), Layer::Loop(other), Layer::Overlay(overlay)];
        let text = "loop on xfs > loop on xfs, mount noatime, 1048576 bytes, sparse, through the \
                    page cache > overlay, mount metacopy=on";
        assert_eq!(described(&layers), text);
        let crypt =
            CryptLayer { flags: vec!["no_read_workqueue".to_owned()], ..CryptLayer::default() };
        let layers_of_mapper =
            [Layer::Crypt(crypt), Layer::Linear, Layer::Thin(ThinLayer::default())];
        let text = "crypt aes-xts-plain64, key of 512 bits, sectors of 512 bytes, \
                    no_read_workqueue > linear > thin, blocks of 65536 bytes";
        assert_eq!(described(&layers_of_mapper), text);
        let parity = ArrayLayer { disks: Some(4), stripe_cache: Some(1024), ..ArrayLayer::new(5) };
        let arrays = [Layer::Md(parity.clone()), Layer::Md(ArrayLayer::new(1))];
        let text = "md raid5, 4 disks, chunks of 524288 bytes, stripe cache of 1024 pages > \
                    md raid1";
        assert_eq!(described(&arrays), text);
        let cache = CacheLayer { sequential_cutoff: Some(0), ..CacheLayer::default() };
        let text = "bcache writethrough, buckets of 65536 bytes, cache of 20 % of a single \
                    device, cut off at 0 bytes";
        assert_eq!(described(&[Layer::Bcache(cache)]), text);
        assert_eq!((parity.disk_count(1), parity.disk_count(3)), (4, 3));
        assert_eq!(layers_of_mapper.map(|layer| layer.devices_above(4)), [4, 1, 1]);
        assert!(layers[2].is_above_filesystem() && !layers[0].is_above_filesystem());
    }
}
