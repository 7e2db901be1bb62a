//! Boot images: what the header of one for x86 says (see Documentation/arch/x86/boot.rst of the
//! kernel), and the kind of any other file.

use std::io::Read;

use super::arm64_image::{self, is_aarch64};
use crate::Architecture;
use crate::bytes::{slice, text_at, u16_at, u32_at};
use crate::unpack::unpacked;

const SIGNATURE_AT: u64 = 0x202;
const SIGNATURE: &[u8] = b"HdrS";
/// Offset of the field with the offset of the version text, less 0x200.
const VERSION_AT: u64 = 0x20e;
const VERSION_BYTES_MAX: usize = 512;

/// The kernel that is in a boot image.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ImageIdentity {
    pub(super) architecture: Architecture,
    pub(super) release: String,
    pub(super) version: String,
}

/// Identity of the kernel in a boot image. Of `6.1.0-50-amd64 (who@where) #1 SMP …` the release is
/// the first word, and the version the text from `#` on.
pub(super) fn identity(image: &[u8]) -> Option<ImageIdentity> {
    let (architecture, text) = if is_aarch64(image) {
        (Architecture::Aarch64, arm64_image::version_text(image)?)
    } else {
        if slice(image, SIGNATURE_AT, SIGNATURE.len() as u64)? != SIGNATURE {
            return None;
        }
        let text = u64::from(u16_at(image, VERSION_AT)?) + 0x200;
        (Architecture::X86_64, text_at(image, text, VERSION_BYTES_MAX)?)
    };
    let release = text.split_whitespace().next()?;
    let version = text.find('#').map_or("", |at| &text[at..]).trim();
    let is_plain = release.chars().all(|c| c.is_ascii_graphic() && c != '/');
    let (release, version) = (release.to_owned(), version.to_owned());
    is_plain.then_some(ImageIdentity { architecture, release, version })
}

/// Offset of the number of setup sectors; 0 stands for 4.
const SETUP_SECTORS_AT: usize = 0x1f1;
/// Offset of the size of the rest, in units of 16 bytes.
const REST_SIZE_AT: u64 = 0x1f4;
const SECTOR_BYTES: u64 = 512;

/// Size of the part of an image that the processor runs first, with its boot sector.
pub(super) fn setup_bytes(image: &[u8]) -> Option<u64> {
    let sectors = u64::from(*image.get(SETUP_SECTORS_AT)?);
    let sectors = if sectors == 0 { 4 } else { sectors };
    Some((sectors + 1) * SECTOR_BYTES)
}

/// Bytes that an image has to have at least, by its own header.
pub(super) fn stated_bytes(image: &[u8]) -> Option<u64> {
    if is_aarch64(image) {
        return arm64_image::stated_bytes(image);
    }
    Some(setup_bytes(image)? + u64::from(u32_at(image, REST_SIZE_AT)?) * 16)
}

/// Kinds of files that are taken for a boot image by mistake: offset and bytes by which each is
/// known, and its name.
const OTHER_FILES: [(usize, &[u8], &str); 8] = [
    (56, b"ARM\x64", "it is an image for AArch64 that is cut: it has no version of the kernel"),
    (48, b"RISCV\0", "it is an image for RISC-V, and guests are x86-64 or AArch64"),
    (0, b"07070", "it is an initramfs (cpio archive), which has no kernel in it"),
    (0, b"\x7fELF", "it is an ELF file such as vmlinux; arch/x86/boot/bzImage has the boot code"),
    (0, b"\x1f\x8b", "it is gzip data"),
    (0, b"\xfd7zXZ\0", "it is xz data"),
    (0, b"\x28\xb5\x2f\xfd", "it is zstd data"),
    (0, b"MZ", "it is a program for EFI"),
];

/// Description of a file that is no boot image.
pub(super) fn described(file: &[u8]) -> String {
    if file.is_empty() {
        return "it is empty".to_owned();
    }
    let is_of = |&&(at, bytes, _): &&(usize, &[u8], &str)| {
        file.get(at..at + bytes.len()).is_some_and(|found| found == bytes)
    };
    let Some((_, _, kind)) = OTHER_FILES.iter().find(is_of) else {
        return "it is neither a package nor a boot image (bzImage, or Image of arm64)".to_owned();
    };
    // An initramfs is usually packed.
    let mut begin = Vec::new();
    let unpacked = unpacked(file).and_then(|stream| stream.take(5).read_to_end(&mut begin));
    let is_packed_archive = unpacked.is_ok() && begin == b"07070" && !file.starts_with(&begin);
    let more =
        if is_packed_archive { ": a packed initramfs, which has no kernel in it" } else { "" };
    format!("{kind}{more}")
}

#[cfg(test)]
pub(crate) fn boot_image(text: &str) -> Vec<u8> {
    let mut image = vec![0; 5 * 512];
    image[0x202..0x206].copy_from_slice(SIGNATURE);
    image[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
    image[0x300..0x300 + text.len()].copy_from_slice(text.as_bytes());
    image
}

#[cfg(test)]
mod tests {
    use super::super::arm64_image::arm64_image;
    use super::{boot_image, described, identity, stated_bytes};
    use crate::Architecture;

    #[test]
    fn release_and_version_are_read() {
        let image = boot_image("6.1.0-50-cloud-amd64 (a@b) #1 SMP Debian 6.1.176-1");
        let read = identity(&image).unwrap();
        assert_eq!(read.architecture, Architecture::X86_64);
        assert_eq!(read.release, "6.1.0-50-cloud-amd64");
        assert_eq!(read.version, "#1 SMP Debian 6.1.176-1");
        assert_eq!(identity(&image[..0x210]), None);
        assert_eq!(identity(&boot_image("../6.1 x")), None);
        assert_eq!(identity(b""), None);
        let arm64 = identity(&arm64_image("6.1.0-50-arm64 (a@b) #1 SMP", 1)).unwrap();
        assert_eq!(arm64.architecture, Architecture::Aarch64);
        assert_eq!((&*arm64.release, &*arm64.version), ("6.1.0-50-arm64", "#1 SMP"));
        assert_eq!(stated_bytes(&image), Some(5 * 512));
        let mut larger = image.clone();
        larger[0x1f1] = 1;
        larger[0x1f4..0x1f8].copy_from_slice(&0x10000_u32.to_le_bytes());
        assert_eq!(stated_bytes(&larger), Some(2 * 512 + (1 << 20)));
        assert_eq!(stated_bytes(&image[..0x1f2]), None);
    }

    #[test]
    fn other_files_are_described() {
        let mut aarch64 = vec![0; 64];
        aarch64[..2].copy_from_slice(b"MZ");
        aarch64[56..60].copy_from_slice(b"ARMd");
        let initramfs = zstd::stream::encode_all(b"070701".as_slice(), 1).unwrap();
        for (file, said) in [
            (&b""[..], "empty"),
            (&aarch64, "AArch64"),
            (b"070701", "initramfs"),
            (&initramfs, "packed initramfs"),
            (b"\x1f\x8bgarbage", "gzip"),
            (b"MZ\0", "EFI"),
            (b"text", "neither a package"),
        ] {
            assert!(described(file).contains(said), "{}", described(file));
        }
    }
}
