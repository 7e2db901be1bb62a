//! Mount table: parser of `/proc/self/mountinfo`, and lookup of the mount of an open file.

use std::ffi::OsString;
use std::fs::{read, read_to_string};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::fd_path;

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Mount ID.
    pub id: u64,
    /// Mount ID of the parent.
    pub parent: u64,
    /// Device number of the filesystem: major and minor.
    pub device: (u32, u32),
    /// Root of the mount within the filesystem; `/` except for bind mounts and subvolumes.
    pub root: PathBuf,
    /// Mount point.
    pub point: PathBuf,
    /// Mount options, separated by commas.
    pub options: String,
    /// Filesystem type, as in `ext4`.
    pub fs_type: String,
    /// Mounted device, or another filesystem-specific source.
    pub source: OsString,
    /// Superblock options, separated by commas.
    pub super_options: String,
}

/// All mounts visible to the process, in kernel order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MountTable {
    /// Mounts.
    pub mounts: Vec<Mount>,
}

impl MountTable {
    /// Parses a mountinfo file; invalid lines are skipped.
    pub fn parse(text: &[u8]) -> Self {
        Self { mounts: text.split(|&byte| byte == b'\n').filter_map(parse_line).collect() }
    }

    /// Reads the current table.
    ///
    /// # Errors
    /// If `/proc` cannot be read.
    pub fn read() -> io::Result<Self> {
        read("/proc/self/mountinfo").map(|text| Self::parse(&text))
    }

    /// Mount of an open file: by mount ID, which later mounts cannot cover, or by path if the
    /// kernel does not report the ID.
    pub fn mount_of(&self, fd: impl AsFd) -> Option<&Mount> {
        let info = format!("/proc/self/fdinfo/{}", fd.as_fd().as_raw_fd());
        let info = read_to_string(info).unwrap_or_default();
        let id = info.lines().find_map(|line| line.strip_prefix("mnt_id:"));
        match id.and_then(|id| id.trim().parse::<u64>().ok()) {
            Some(id) => self.mounts.iter().find(|mount| mount.id == id),
            None => self.mount_of_path(&fd_path(fd)?),
        }
    }

    /// Mount of an absolute path without links: the longest mount point above it; among several at
    /// the same point the last one, which covers the others.
    pub(crate) fn mount_of_path(&self, path: &Path) -> Option<&Mount> {
        let above = self.mounts.iter().filter(|mount| path.starts_with(&mount.point));
        above.max_by_key(|mount| mount.point.components().count())
    }
}

fn parse_line(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|&byte| byte == b' ');
    let id = number(fields.next()?)?;
    let parent = number(fields.next()?)?;
    let device = str::from_utf8(fields.next()?).ok()?.split_once(':')?;
    let root = unescape(fields.next()?);
    let point = unescape(fields.next()?);
    let options = text(fields.next()?);
    // Any number of optional fields (propagation), ended by a dash.
    fields.find(|field| field == b"-")?;
    Some(Mount {
        id,
        parent,
        device: (device.0.parse().ok()?, device.1.parse().ok()?),
        root: OsString::from_vec(root).into(),
        point: OsString::from_vec(point).into(),
        options,
        fs_type: text(fields.next()?),
        source: OsString::from_vec(unescape(fields.next()?)),
        super_options: text(fields.next()?),
    })
}

fn number(field: &[u8]) -> Option<u64> {
    str::from_utf8(field).ok()?.parse().ok()
}

fn text(field: &[u8]) -> String {
    std::ffi::OsStr::from_bytes(&unescape(field)).to_string_lossy().into_owned()
}

/// Decodes octal escapes of space, tab, newline and backslash.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut unread = field;
    while let Some((&byte, after)) = unread.split_first() {
        let escaped = octal(after).filter(|_| byte == b'\\');
        plain.push(escaped.unwrap_or(byte));
        unread = if escaped.is_some() { &after[3..] } else { after };
    }
    plain
}

fn octal(digits: &[u8]) -> Option<u8> {
    let digits = digits.get(..3)?;
    if !digits.iter().all(|digit| (b'0'..=b'7').contains(digit)) {
        return None;
    }
    let value = digits.iter().fold(0u32, |value, digit| value * 8 + u32::from(digit - b'0'));
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::MountTable;
    use std::fs::File;
    use std::path::Path;

    const TEXT: &[u8] = b"22 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw,errors=remount-ro
30 22 0:26 / /mnt/a\\040b\\134c rw,noatime shared:7 master:2 - tmpfs tmp\\011fs rw,size=1024k
31 30 0:27 /sub /mnt/a\\040b\\134c rw - btrfs /dev/sdb rw,subvol=/sub
garbage
32 22 x:1 / /bad rw - ext4 /dev/sda2 rw
33 22 0:28 / /short rw - ext4
34 22 7:0 / /mnt/odd\\09\\777 ro - xfs /dev/loop0 ro
";

    #[test]
    fn mount_lines_are_parsed_and_invalid_ones_skipped() {
        let table = MountTable::parse(TEXT);
        let ids: Vec<_> = table.mounts.iter().map(|mount| mount.id).collect();
        assert_eq!(ids, [22, 30, 31, 34]);
        let second = &table.mounts[1];
        assert_eq!(second.point, Path::new("/mnt/a b\\c"));
        assert_eq!(second.source, "tmp\tfs");
        assert_eq!((second.device, second.parent), ((0, 26), 22));
        assert_eq!(second.super_options, "rw,size=1024k");
        assert_eq!(second.options, "rw,noatime");
        assert_eq!(table.mounts[3].point, Path::new("/mnt/odd\\09\\777"));
        assert_eq!(MountTable::parse(b""), MountTable::default());
    }

    #[test]
    fn paths_resolve_to_the_longest_and_last_mount_point() {
        let table = MountTable::parse(TEXT);
        let id = |path: &str| table.mount_of_path(Path::new(path)).map(|mount| mount.id);
        assert_eq!(id("/home"), Some(22));
        assert_eq!(id("/mnt/a b"), Some(22));
        assert_eq!(id("/mnt/a b\\c/deep/er"), Some(31));
        assert_eq!(id("relative"), None);
    }

    #[test]
    fn the_real_table_contains_the_working_directory() {
        let table = MountTable::read().unwrap();
        let place = tempfile::tempdir().unwrap();
        let path = place.path().canonicalize().unwrap();
        let by_descriptor = table.mount_of(File::open(&path).unwrap());
        assert!(by_descriptor.is_some());
        assert_eq!(by_descriptor, table.mount_of_path(&path));
    }
}
