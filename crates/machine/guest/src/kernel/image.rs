//! Header of x86 boot images: see Documentation/arch/x86/boot.rst of the kernel.

use std::io::Read;

use crate::bytes::{slice, text_at, u16_at, u32_at};
use crate::unpack::unpacked;

const SIGNATURE_AT: u64 = 0x202;
const SIGNATURE: &[u8] = b"HdrS";
/// Offset of the field with the offset of the version text, less 0x200.
const VERSION_AT: u64 = 0x20e;
const VERSION_BYTES_MAX: usize = 512;

/// Release and version of a boot image: of `6.1.0-50-amd64 (who@where) #1 SMP …` the first word,
/// and the text from `#` on.
pub(super) fn release(image: &[u8]) -> Option<(String, String)> {
    if slice(image, SIGNATURE_AT, SIGNATURE.len() as u64)? != SIGNATURE {
        return None;
    }
    let text = u64::from(u16_at(image, VERSION_AT)?) + 0x200;
    let text = text_at(image, text, VERSION_BYTES_MAX)?;
    let release = text.split_whitespace().next()?;
    let version = text.find('#').map_or("", |at| &text[at..]);
    let is_plain = release.chars().all(|c| c.is_ascii_graphic() && c != '/');
    is_plain.then(|| (release.to_owned(), version.trim().to_owned()))
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
    Some(setup_bytes(image)? + u64::from(u32_at(image, REST_SIZE_AT)?) * 16)
}

/// Kinds of files that are taken for a boot image by mistake: offset and bytes by which each is
/// known, and its name.
const OTHER_FILES: [(usize, &[u8], &str); 9] = [
    (56, b"ARMd", "it is an image for AArch64, and guests here are x86-64"),
    (48, b"RISCV\0", "it is an image for RISC-V, and guests here are x86-64"),
    (0, b"07070", "it is an initramfs (cpio archive), which has no kernel in it"),
    (0, b"\x7fELF", "it is an ELF file such as vmlinux; arch/x86/boot/bzImage has the boot code"),
    (0, b"\x1f\x8b", "it is gzip data"),
    (0, b"\xfd7zXZ\0", "it is xz data"),
    (0, b"\x28\xb5\x2f\xfd", "it is zstd data"),
    (257, b"ustar", "it is a tar archive"),
    (0, b"MZ", "it is a program for EFI"),
];

/// Description of a file that is no x86 boot image.
pub(super) fn described(file: &[u8]) -> String {
    if file.is_empty() {
        return "it is empty".to_owned();
    }
    let is_of = |&&(at, bytes, _): &&(usize, &[u8], &str)| {
        file.get(at..at + bytes.len()).is_some_and(|found| found == bytes)
    };
    let Some((_, _, kind)) = OTHER_FILES.iter().find(is_of) else {
        return "it is neither a package nor an x86 boot image (bzImage)".to_owned();
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
    use super::{boot_image, described, release, stated_bytes};

    #[test]
    fn release_and_version_are_read() {
        let image = boot_image("6.1.0-50-cloud-amd64 (a@b) #1 SMP Debian 6.1.176-1");
        let expected = ("6.1.0-50-cloud-amd64".to_owned(), "#1 SMP Debian 6.1.176-1".to_owned());
        assert_eq!(release(&image), Some(expected));
        assert_eq!(release(&image[..0x210]), None);
        assert_eq!(release(&boot_image("../6.1 x")), None);
        assert_eq!(release(b""), None);
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
