//! Filesystem features by their superblock bits: a kernel that refuses to mount because of an
//! unknown feature reports only the number.

/// Compatible feature bits of ext2 to ext4, with their mke2fs names. Bits that only mark the
/// mounted state (`needs_recovery`, `orphan_present`) are omitted here and below.
pub const EXT_COMPATIBLE: [(u32, &str); 10] = [
    (0x1, "dir_prealloc"),
    (0x2, "imagic_inodes"),
    (0x4, "has_journal"),
    (0x8, "ext_attr"),
    (0x10, "resize_inode"),
    (0x20, "dir_index"),
    (0x200, "sparse_super2"),
    (0x400, "fast_commit"),
    (0x800, "stable_inodes"),
    (0x1000, "orphan_file"),
];
/// Incompatible features: an unknown one prevents mounting.
pub const EXT_INCOMPATIBLE: [(u32, &str); 14] = [
    (0x2, "filetype"),
    (0x8, "journal_dev"),
    (0x10, "meta_bg"),
    (0x40, "extent"),
    (0x80, "64bit"),
    (0x100, "mmp"),
    (0x200, "flex_bg"),
    (0x400, "ea_inode"),
    (0x1000, "dirdata"),
    (0x2000, "metadata_csum_seed"),
    (0x4000, "large_dir"),
    (0x8000, "inline_data"),
    (0x1_0000, "encrypt"),
    (0x2_0000, "casefold"),
];
/// Read-only compatible features: an unknown one prevents writable mounts.
pub const EXT_READ_ONLY: [(u32, &str); 12] = [
    (0x1, "sparse_super"),
    (0x2, "large_file"),
    (0x8, "huge_file"),
    (0x10, "uninit_bg"),
    (0x20, "dir_nlink"),
    (0x40, "extra_isize"),
    (0x100, "quota"),
    (0x200, "bigalloc"),
    (0x400, "metadata_csum"),
    (0x1000, "read-only"),
    (0x2000, "project"),
    (0x8000, "verity"),
];

const XFS_INCOMPATIBLE: [(u32, &str); 9] = [
    (0x1, "ftype"),
    (0x2, "sparse inodes"),
    (0x4, "meta_uuid"),
    (0x8, "bigtime"),
    (0x10, "needsrepair"),
    (0x20, "nrext64"),
    (0x40, "exchange"),
    (0x80, "parent"),
    (0x100, "metadir"),
];
const XFS_READ_ONLY: [(u32, &str); 4] =
    [(0x1, "finobt"), (0x2, "rmapbt"), (0x4, "reflink"), (0x8, "inobtcount")];
const BTRFS_INCOMPATIBLE: [(u32, &str); 9] = [
    (0x40, "extref"),
    (0x100, "skinny-metadata"),
    (0x200, "no-holes"),
    (0x400, "metadata-uuid"),
    (0x800, "raid1c34"),
    (0x1000, "zoned"),
    (0x2000, "extent-tree-v2"),
    (0x4000, "raid-stripe-tree"),
    (0x1_0000, "squota"),
];
const BTRFS_READ_ONLY: [(u32, &str); 4] = [
    (0x1, "free-space-tree"),
    (0x2, "free-space-tree-valid"),
    (0x4, "verity"),
    (0x8, "block-group-tree"),
];

/// Kernel messages before the unknown bits, in lower case: ext4 begins with a capital letter, ext2
/// does not. Longer texts come first.
const REFUSALS: [(&str, &[(u32, &str)]); 8] = [
    ("couldn't mount because of unsupported optional features (", &EXT_INCOMPATIBLE),
    ("couldn't mount rdwr because of unsupported optional features (", &EXT_READ_ONLY),
    ("superblock has unknown incompatible features (", &XFS_INCOMPATIBLE),
    ("superblock has unknown read-only compatible features (", &XFS_READ_ONLY),
    ("cannot mount because of unsupported optional features (", &BTRFS_INCOMPATIBLE),
    ("cannot mount read-write because of unsupported optional features (", &BTRFS_READ_ONLY),
    ("cannot mount because of unknown incompat features (", &BTRFS_INCOMPATIBLE),
    ("cannot mount read-write because of unknown compat_ro features (", &BTRFS_READ_ONLY),
];

/// Names of the features for which a kernel refused to mount, if the message is about features;
/// unknown bits are given as numbers.
pub fn refused_features(words: &str) -> Vec<String> {
    let words = words.to_ascii_lowercase();
    let refusal =
        REFUSALS.iter().find_map(|(text, names)| Some((words.split_once(text)?.1, names)));
    let Some((tail, names)) = refusal else { return Vec::new() };
    let digits = tail.trim_start_matches("0x");
    let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
    let bits = u32::from_str_radix(&digits[..end], 16).unwrap_or(0);
    let each = (0..u32::BITS).map(|place| 1 << place).filter(|bit| bits & bit != 0);
    each.map(|bit| {
        let known = names.iter().find(|(known_bit, _)| *known_bit == bit);
        known.map_or_else(|| format!("bit {bit:#x}"), |(_, name)| (*name).to_owned())
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::refused_features;

    #[test]
    fn refused_feature_bits_are_named() {
        for (words, names) in [
            (
                "EXT4-fs (vda): Couldn't mount because of unsupported optional features (22000)",
                &["metadata_csum_seed", "casefold"][..],
            ),
            (
                "EXT4-fs (vda): Couldn't mount RDWR because of unsupported optional features \
                 (8000)",
                &["verity"],
            ),
            (
                "XFS (vda): Superblock has unknown incompatible features (0x20) enabled.",
                &["nrext64"],
            ),
            (
                "BTRFS critical (device vda): cannot mount because of unsupported optional \
                 features (0x20004000)",
                &["raid-stripe-tree", "bit 0x20000000"],
            ),
            (
                "EXT2-fs (vda): error: couldn't mount because of unsupported optional features \
                 (1000).",
                &["dirdata"],
            ),
            ("something else (40)", &[]),
            ("cannot mount because of unknown incompat features (", &[]),
        ] {
            assert_eq!(refused_features(words), names, "{words}");
        }
    }
}
