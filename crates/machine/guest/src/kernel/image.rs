//! Header of x86 boot images: see Documentation/arch/x86/boot.rst of the kernel.

use crate::bytes::{slice, text_at, u16_at, u32_at};

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

/// Bytes that an image has to have at least, by its own header.
pub(super) fn stated_bytes(image: &[u8]) -> Option<u64> {
    let sectors = u64::from(*image.get(SETUP_SECTORS_AT)?);
    let sectors = if sectors == 0 { 4 } else { sectors };
    Some((sectors + 1) * SECTOR_BYTES + u64::from(u32_at(image, REST_SIZE_AT)?) * 16)
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
    use super::{boot_image, release, stated_bytes};

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
}
