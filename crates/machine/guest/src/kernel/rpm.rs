//! RPM packages: a lead, two headers that are skipped, and a compressed cpio archive.

use std::io::{ErrorKind, Read};
use std::path::Path;

use super::collect::PackageCollector;
use super::package_error;
use crate::unpack::unpacked;
use crate::{GuestError, cpio};

const LEAD_BYTES: u64 = 96;
const HEADER_MAGIC: [u8; 4] = [0x8e, 0xad, 0xe8, 0x01];
const INDEX_ENTRY_BYTES: u64 = 16;
/// Size limit of a header, as in rpm itself.
const HEADER_BYTES_MAX: u64 = 256 << 20;

/// Reads the files of a package.
pub(super) fn read(mut from: impl Read, package: &Path) -> Result<PackageCollector, GuestError> {
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::UnexpectedEof => package_error(package, "", "it ends too early, in its headers"),
        _ => package_error(package, "", error),
    };
    skip(&mut from, LEAD_BYTES).map_err(failed)?;
    let signature = header(&mut from).map_err(failed)?;
    // The signature header is padded to eight bytes, the other one is not.
    skip(&mut from, signature.next_multiple_of(8) - signature).map_err(failed)?;
    header(&mut from).map_err(failed)?;
    let mut collector = PackageCollector::default();
    let mut last = "its payload".to_owned();
    let read = unpacked(from).and_then(|stream| {
        cpio::read(stream, &mut |path, mode, content| {
            path.clone_into(&mut last);
            if cpio::is_file(mode) { collector.look(path, content) } else { Ok(()) }
        })
    });
    read.map_err(|error| package_error(package, &last, error))?;
    Ok(collector)
}

/// Skips a header; returns the length of its index and data.
fn header(from: &mut impl Read) -> std::io::Result<u64> {
    let mut begin = [0; 16];
    from.read_exact(&mut begin)?;
    let number =
        |at: usize| u64::from(u32::from_be_bytes(begin[at..at + 4].try_into().unwrap_or_default()));
    let length = number(8) * INDEX_ENTRY_BYTES + number(12);
    if begin[..4] != HEADER_MAGIC || length > HEADER_BYTES_MAX {
        let why = "it has no RPM header where one should be";
        return Err(std::io::Error::new(ErrorKind::InvalidData, why));
    }
    skip(from, length)?;
    Ok(length)
}

fn skip(from: &mut impl Read, bytes: u64) -> std::io::Result<()> {
    let skipped = std::io::copy(&mut from.take(bytes), &mut std::io::sink())?;
    if skipped < bytes { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::super::image::boot_image;
    use super::read;
    use crate::cpio::ArchiveWriter;
    use std::path::Path;

    fn package(payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0xed, 0xab, 0xee, 0xdb];
        bytes.resize(96, 0);
        for data in [5_u32, 7] {
            bytes.extend(super::HEADER_MAGIC);
            bytes.extend([0; 4]);
            bytes.extend(1_u32.to_be_bytes());
            bytes.extend(data.to_be_bytes());
            bytes.extend(vec![0; 16 + data as usize]);
            if data == 5 {
                bytes.extend([0; 3]); // 21 bytes, padded to 24
            }
        }
        bytes.extend(zstd::stream::encode_all(payload, 1).unwrap());
        bytes
    }

    #[test]
    fn a_kernel_is_read_from_an_rpm_package() {
        let image = boot_image("6.11.4-301.fc41.x86_64 (a@b) #1 SMP");
        let mut payload = ArchiveWriter::new(Vec::new());
        let folder = "./lib/modules/6.11.4-301.fc41.x86_64";
        payload.file(&format!("{folder}/vmlinuz"), 0o644, &image).unwrap();
        payload.file(&format!("{folder}/kernel/fs/xfs/xfs.ko"), 0o644, b"module").unwrap();
        let bytes = package(&payload.finish().unwrap());
        let path = Path::new("/x.rpm");
        let kernel = read(bytes.as_slice(), path).unwrap().kernel(path).unwrap();
        assert_eq!(kernel.release, "6.11.4-301.fc41.x86_64");
        assert_eq!(kernel.module("xfs").unwrap().unwrap(), b"module");
        for length in [3, 90, 100, 120, bytes.len() - 9] {
            assert!(read(&bytes[..length], path).is_err(), "{length}");
        }
    }
}
