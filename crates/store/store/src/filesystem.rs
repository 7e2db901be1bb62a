//! Comparison of filesystems: a store must not be on the filesystem under test.
//!
//! The device number does not suffice, since every subvolume of btrfs has its own; the mounts are
//! compared too. Not detected: a loop device whose file is on the other filesystem, and the layers
//! of an overlay.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{self, Path, PathBuf};

/// Reports whether two paths are on the same filesystem. For a path that does not exist, the
/// nearest existing parent directory counts.
///
/// # Errors
/// If a path cannot be examined for another reason than that it does not exist, or if the mounts
/// cannot be read.
pub fn same_filesystem(a: &Path, b: &Path) -> io::Result<bool> {
    let (a, b) = (nearest_existing(a)?, nearest_existing(b)?);
    if fs::metadata(&a)?.dev() == fs::metadata(&b)?.dev() {
        return Ok(true);
    }
    let mounts = parse_mounts(&fs::read("/proc/self/mountinfo")?);
    Ok(match (mount_of(&mounts, &a), mount_of(&mounts, &b)) {
        (Some(a), Some(b)) => a.same_filesystem(b),
        _ => false,
    })
}

/// Canonical form of the path or of its nearest existing ancestor.
fn nearest_existing(path: &Path) -> io::Result<PathBuf> {
    let absolute = path::absolute(path)?;
    for ancestor in absolute.ancestors() {
        match fs::canonicalize(ancestor) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            result => return result,
        }
    }
    Err(io::Error::new(io::ErrorKind::NotFound, "even the root directory is missing"))
}

/// Required fields of a line of `/proc/self/mountinfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct MountLine {
    /// Device number `major:minor` of the filesystem, the same for all subvolumes.
    device: OsString,
    /// Mount point.
    point: PathBuf,
    /// Filesystem type: `ext4`, `btrfs`, …
    filesystem: OsString,
    /// Mount source: a device, or an arbitrary word.
    source: OsString,
}

impl MountLine {
    fn same_filesystem(&self, other: &Self) -> bool {
        let is_device = self.source.as_bytes().starts_with(b"/");
        self.device == other.device
            || (is_device && self.source == other.source && self.filesystem == other.filesystem)
    }
}

/// Parses the mounts in list order. Malformed lines are skipped.
fn parse_mounts(list: &[u8]) -> Vec<MountLine> {
    list.split(|byte| *byte == b'\n').filter_map(parse_mount).collect()
}

/// Parses a line: `36 35 98:0 /root /point rw,noatime shared:1 … - ext3 /dev/root rw`
fn parse_mount(line: &[u8]) -> Option<MountLine> {
    let mut fields = line.split(|byte| *byte == b' ');
    let device = fields.nth(2)?;
    let point = fields.nth(1)?;
    let _options = fields.next()?;
    fields.find(|field| *field == b"-")?;
    let (filesystem, source) = (fields.next()?, fields.next()?);
    Some(MountLine {
        device: unescape(device),
        point: PathBuf::from(unescape(point)),
        filesystem: unescape(filesystem),
        source: unescape(source),
    })
}

/// Decodes the octal escapes that the kernel uses for space, tab, newline and backslash.
fn unescape(field: &[u8]) -> OsString {
    let mut plain = Vec::with_capacity(field.len());
    let mut remaining = field;
    while let Some((first, after)) = remaining.split_first() {
        let octal = after.get(..3).filter(|_| *first == b'\\').and_then(|digits| {
            digits.iter().try_fold(0_u16, |value, digit| {
                (b'0'..=b'7').contains(digit).then(|| value * 8 + u16::from(digit - b'0'))
            })
        });
        if let Some(byte) = octal.and_then(|value| u8::try_from(value).ok()) {
            plain.push(byte);
            remaining = &after[3..];
        } else {
            plain.push(*first);
            remaining = after;
        }
    }
    OsString::from_vec(plain)
}

/// Finds the mount of a canonical path: the longest mount point above it, of several the last,
/// which hides the others.
fn mount_of<'a>(mounts: &'a [MountLine], path: &Path) -> Option<&'a MountLine> {
    let above = mounts.iter().filter(|mount| path.starts_with(&mount.point));
    above.max_by_key(|mount| OsStr::len(mount.point.as_os_str()))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::path::Path;

    use proptest::collection::vec;
    use proptest::prelude::{any, proptest};

    use super::{mount_of, parse_mounts, same_filesystem, unescape};

    const LIST: &str = r"22 27 0:21 / /proc rw,relatime - proc proc rw
27 0 253:0 / / rw,relatime - ext4 /dev/vda rw,discard
40 27 0:45 /@ /data rw shared:2 - btrfs /dev/vdb rw,subvol=/@
41 27 0:45 /@home /data/my\040home rw shared:3 master:1 - btrfs /dev/vdb rw,subvol=/@home
42 27 7:0 / /mnt/a\134b\011c rw - xfs /dev/loop0 rw
43 27 0:50 / /mnt/over rw - tmpfs tmpfs rw
44 27 0:51 / /mnt/over rw - tmpfs tmpfs rw
45 27 0:52 / /zfs rw - zfs /pool/a rw
broken
46 27 0:53 / /no-dash rw zfs pool rw
";

    fn on(path: &str) -> super::MountLine {
        mount_of(&parse_mounts(LIST.as_bytes()), Path::new(path)).unwrap().clone()
    }

    #[test]
    fn lines_with_optional_fields_and_escapes() {
        assert_eq!(parse_mounts(LIST.as_bytes()).len(), 8);
        assert_eq!(on("/data/my home/x").point, Path::new("/data/my home"));
        assert_eq!(on("/mnt/a\\b\tc").filesystem, "xfs");
        assert_eq!(on("/etc").source, "/dev/vda");
        assert_eq!(on("/no-dash").source, "/dev/vda");
    }

    #[test]
    fn the_longest_and_last_mount_counts() {
        assert_eq!(on("/mnt/over/x").device, "0:51");
        assert_eq!(on("/mnt/overt").device, "253:0");
        assert_eq!(on("/data").point, Path::new("/data"));
    }

    #[test]
    fn subvolumes_are_one_filesystem_and_words_are_not() {
        assert!(on("/data").same_filesystem(&on("/data/my home")));
        assert!(!on("/data").same_filesystem(&on("/")));
        let mut other = on("/mnt/over");
        other.device = "0:99".into();
        assert!(!on("/mnt/over").same_filesystem(&other));
        let mut other = on("/zfs");
        other.device = "0:99".into();
        assert!(on("/zfs").same_filesystem(&other));
    }

    #[test]
    fn invalid_escapes_are_kept() {
        for (escaped, plain) in
            [(r"\040", " "), (r"\04", r"\04"), (r"\08x", r"\08x"), (r"\777", r"\777"), ("", "")]
        {
            assert_eq!(unescape(escaped.as_bytes()), OsStr::new(plain));
        }
    }

    #[test]
    fn paths_need_not_exist() {
        let dir = tempfile::tempdir().unwrap();
        let absent = dir.path().join("a/b/store.db");
        assert!(same_filesystem(&absent, dir.path()).unwrap());
        assert!(!same_filesystem(&absent, Path::new("/proc/self/stat")).unwrap());
        assert!(same_filesystem(Path::new("/proc/1"), Path::new("/proc/none")).unwrap());
    }

    proptest! {
        #[test]
        fn any_list_is_read(list in vec(any::<u8>(), 0..200)) {
            parse_mounts(&list);
        }
    }
}
