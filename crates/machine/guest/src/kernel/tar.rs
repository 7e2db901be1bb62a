//! tar archives: ustar with GNU and pax long names. Only regular files are visited.

use std::io::{self, Read};
use std::path::Path;

use super::collect::PackageCollector;
use super::package_error;
use crate::GuestError;
use crate::unpack::unpacked;

const BLOCK: usize = 512;
const LONG_NAME_BYTES_MAX: u64 = 64 << 10;
/// Limit of the unpacked archive in bytes.
const BYTES_MAX: u64 = 16 << 30;

/// Limit of the padding behind the last file, in bytes.
const PADDING_BYTES_MAX: u64 = 1 << 20;
/// Place of the magic in the first header.
const MAGIC_AT: usize = 257;
const MAGIC: &[u8] = b"ustar";

/// Reports whether a file begins like an archive, after unpacking.
pub(super) fn is_archive(file: impl Read) -> bool {
    let mut begin = Vec::new();
    let read = unpacked(file).and_then(|stream| stream.take(BLOCK as u64).read_to_end(&mut begin));
    let magic = begin.get(MAGIC_AT..MAGIC_AT + MAGIC.len());
    read.is_ok() && magic.is_some_and(|magic| magic == MAGIC)
}

/// Collects the files of a packed archive, which is this member of a package, or a package itself
/// if that is empty.
pub(super) fn collect(
    packed: impl Read,
    package: &Path,
    member: &str,
) -> Result<PackageCollector, GuestError> {
    let mut collector = PackageCollector::default();
    let mut stream = unpacked(packed).map_err(|error| package_error(package, member, error))?;
    let mut last = String::new();
    let read = read(&mut stream, &mut |path, content| {
        path.clone_into(&mut last);
        collector.look(path, content)
    });
    // Zeros and the checksum of the compressed data follow the last file.
    let read = read.and_then(|()| {
        last.clear();
        io::copy(&mut stream.take(PADDING_BYTES_MAX), &mut io::sink())
    });
    read.map_err(|error| {
        let names = [member, last.as_str()].into_iter().filter(|name| !name.is_empty());
        package_error(package, &names.collect::<Vec<&str>>().join(": "), error)
    })?;
    Ok(collector)
}

/// Reads an archive file by file.
fn read(
    from: impl Read,
    visit: &mut dyn FnMut(&str, &mut dyn Read) -> io::Result<()>,
) -> io::Result<()> {
    let mut from = from.take(BYTES_MAX);
    let mut long: Option<String> = None;
    loop {
        let mut header = [0; BLOCK];
        from.read_exact(&mut header)?;
        if header.iter().all(|&byte| byte == 0) {
            return Ok(());
        }
        if !has_right_sum(&header) {
            return Err(damaged("a header of its tar archive has a wrong sum"));
        }
        let size = number(&header[124..136])?;
        let mut content = from.by_ref().take(size);
        match header[156] {
            b'L' => long = Some(text(&bounded(&mut content, size)?)),
            b'x' => long = path_of_pax(&bounded(&mut content, size)?).or(long),
            b'0' | 0 => {
                let name = long.take().unwrap_or_else(|| name(&header));
                visit(&name, &mut content)?;
            }
            _ => long = None,
        }
        let left = content.limit();
        let skipped = io::copy(&mut content, &mut io::sink())?;
        if skipped < left {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let padding = size.next_multiple_of(BLOCK as u64) - size;
        io::copy(&mut from.by_ref().take(padding), &mut io::sink())?;
    }
}

fn bounded(content: &mut impl Read, size: u64) -> io::Result<Vec<u8>> {
    if size > LONG_NAME_BYTES_MAX {
        return Err(damaged("its tar archive has a name of impossible length"));
    }
    let mut bytes = Vec::new();
    content.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn name(header: &[u8; BLOCK]) -> String {
    let (prefix, name) = (text(&header[345..500]), text(&header[..100]));
    let is_ustar = &header[257..263] == b"ustar\0";
    if is_ustar && !prefix.is_empty() { format!("{prefix}/{name}") } else { name }
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// Parses octal digits, or a large number in base 256.
fn number(field: &[u8]) -> io::Result<u64> {
    let impossible = || damaged("a header of its tar archive has a size that is no number");
    let value = if field[0] & 0x80 == 0 {
        let digits = text(field);
        let digits = digits.trim();
        if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 8).ok() }
    } else {
        let mut bytes = field[1..].iter();
        bytes.try_fold(u64::from(field[0] & 0x7f), |sum, &byte| {
            Some(sum.checked_mul(256)? + u64::from(byte))
        })
    };
    value.filter(|&size| size <= BYTES_MAX).ok_or_else(impossible)
}

fn has_right_sum(header: &[u8; BLOCK]) -> bool {
    let own = 148..156;
    let sum: u64 =
        (0..BLOCK).map(|at| if own.contains(&at) { 32 } else { u64::from(header[at]) }).sum();
    number(&header[own]).is_ok_and(|recorded| recorded == sum)
}

/// Value of `path` in the records `LENGTH KEY=VALUE\n` of a pax header.
fn path_of_pax(records: &[u8]) -> Option<String> {
    let mut unread = records;
    while !unread.is_empty() {
        let blank = unread.iter().position(|&byte| byte == b' ')?;
        let length: usize = std::str::from_utf8(&unread[..blank]).ok()?.parse().ok()?;
        let record = unread.get(blank + 1..length)?;
        if let Some(path) = record.strip_prefix(b"path=") {
            return Some(String::from_utf8_lossy(path).trim_end_matches('\n').to_owned());
        }
        unread = unread.get(length..)?;
    }
    None
}

fn damaged(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::super::image::boot_image;
    use super::{path_of_pax, read};
    use crate::Kernel;
    use proptest::prelude::*;

    fn header(name: &str, kind: u8, size: &[u8]) -> Vec<u8> {
        let mut header = vec![0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[257..262].copy_from_slice(b"ustar");
        header[124..124 + size.len()].copy_from_slice(size);
        header[148..156].fill(b' ');
        header[156] = kind;
        let sum: u64 = header.iter().map(|&byte| u64::from(byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        header
    }

    fn files(archive: &[u8]) -> std::io::Result<Vec<(String, Vec<u8>)>> {
        let mut files = Vec::new();
        read(archive, &mut |name, content| {
            let mut bytes = Vec::new();
            content.read_to_end(&mut bytes)?;
            files.push((name.to_owned(), bytes));
            Ok(())
        })?;
        Ok(files)
    }

    #[test]
    fn files_are_read_and_links_skipped() {
        let mut archive = header("a", b'0', b"00000000005\0");
        archive.extend_from_slice(b"hello");
        archive.resize(1024, 0);
        archive.extend(header("link", b'2', b"0"));
        archive.extend(header("dir", b'5', b"0"));
        archive.extend([0; 1024]);
        assert_eq!(files(&archive).unwrap(), [("a".to_owned(), b"hello".to_vec())]);
        assert!(files(&archive[..700]).is_err());
        archive[3] = b'x';
        assert!(files(&archive).unwrap_err().to_string().contains("wrong sum"));
    }

    #[test]
    fn impossible_sizes_are_rejected() {
        for size in [b"77777777777777".as_slice(), &[0xff; 12], b"9"] {
            assert!(files(&header("a", b'0', &size[..size.len().min(12)])).is_err());
        }
        let name = header("././@LongLink", b'L', b"00077777777\0");
        assert!(files(&name).unwrap_err().to_string().contains("impossible length"));
    }

    #[test]
    fn long_names_of_pax_are_found() {
        assert_eq!(path_of_pax(b"9 mtime=\n14 path=a/b/c\n").as_deref(), Some("a/b/c"));
        for strange in [b"path=a".as_slice(), b"999 path=a\n", b"0 path=a\n", b" "] {
            assert_eq!(path_of_pax(strange), None, "{strange:?}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_archives_do_not_panic(
            kind in any::<u8>(),
            size in proptest::collection::vec(any::<u8>(), 12),
            rest in proptest::collection::vec(any::<u8>(), 0..2000),
        ) {
            let mut archive = header("some/name", kind, &size);
            archive.extend(rest);
            let _ = files(&archive);
        }
    }

    #[test]
    fn a_packed_archive_is_a_package_of_a_kernel() {
        let image = boot_image("6.16.1-arch1-1 (a@b) #1 SMP");
        let mut archive = Vec::new();
        let folder = "usr/lib/modules/6.16.1-arch1-1";
        for (name, bytes) in [
            (format!("{folder}/vmlinuz"), image.as_slice()),
            (format!("{folder}/kernel/fs/xfs/xfs.ko.zst"), b"module"),
        ] {
            archive.extend(header(&name, b'0', format!("{:o}", bytes.len()).as_bytes()));
            archive.extend(bytes);
            archive.resize(archive.len().next_multiple_of(512), 0);
        }
        archive.resize(archive.len() + 1024, 0);
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("linux.pkg.tar.zst");
        let packed = zstd::stream::encode_all(archive.as_slice(), 1).unwrap();
        std::fs::write(&path, &packed).unwrap();
        let kernel = Kernel::read(&path).unwrap();
        assert_eq!(kernel.release, "6.16.1-arch1-1");
        assert!(kernel.module("xfs").is_some());
        std::fs::write(&path, &packed[..packed.len() - 9]).unwrap();
        assert!(Kernel::read(&path).is_err());
    }
}
