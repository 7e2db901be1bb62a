//! Boot images of AArch64: the kernel itself, plain, packed with gzip (`Image.gz`), or in a program
//! for EFI that unpacks it (zboot). See "Documentation/arch/arm64/booting.rst" and
//! "drivers/firmware/efi/libstub/zboot-header.S" of the kernel.

use std::io::{self, ErrorKind};

use crate::bytes::{occurrences, slice, text_at, u16_at, u32_at};
use crate::unpack::{read_all, unpacked};

const MAGIC_AT: u64 = 56;
const MAGIC: &[u8] = b"ARM\x64";
const GZIP: &[u8] = b"\x1f\x8b";
/// Limit of the unpacked size.
const UNPACKED_BYTES_MAX: u64 = 512 << 20;
/// Beginning of the version text in the kernel's data.
const BANNER: &[u8] = b"Linux version ";
const BANNER_BYTES_MAX: usize = 1024;
/// Offset of the offset of the header for EFI, which kernels with CONFIG_EFI have.
const EFI_HEADER_AT: u64 = 60;
const EFI_HEADER: &[u8] = b"PE\0\0";
/// Bytes of that header before its optional part, and of an entry of the table behind that.
const EFI_HEADER_BYTES: u64 = 24;
const SECTION_BYTES: u64 = 40;

/// Program for EFI with a packed kernel: its magic, and the offsets of the fields with the place
/// and the size of that.
const ZBOOT: &[u8] = b"MZ\0\0zimg";
const ZBOOT_PLACE_AT: u64 = 8;
const ZBOOT_SIZE_AT: u64 = 12;

/// Reports whether this is a plain image.
pub(super) fn is_aarch64(image: &[u8]) -> bool {
    slice(image, MAGIC_AT, MAGIC.len() as u64) == Some(MAGIC)
}

/// The plain image in a packed one; any other file as it is.
///
/// # Errors
/// If a packed kernel is damaged.
pub(super) fn unpacked_image(file: Vec<u8>) -> io::Result<Vec<u8>> {
    let packed = if file.starts_with(ZBOOT) {
        let place = u32_at(&file, ZBOOT_PLACE_AT).zip(u32_at(&file, ZBOOT_SIZE_AT));
        let packed = place.and_then(|(at, size)| slice(&file, at.into(), size.into()));
        packed.ok_or_else(|| {
            io::Error::new(
                ErrorKind::InvalidData,
                "it is cut: the kernel in it ends behind its end",
            )
        })?
    } else if file.starts_with(GZIP) {
        &file
    } else {
        return Ok(file);
    };
    let image = unpacked(packed).and_then(|stream| read_all(stream, UNPACKED_BYTES_MAX));
    match image {
        Ok(image) if is_aarch64(&image) => Ok(image),
        // Whatever else was packed is described by its packed form.
        Ok(_) => Ok(file),
        Err(_) if !file.starts_with(ZBOOT) => Ok(file),
        Err(error) => Err(error),
    }
}

/// Version text of an image, `6.1.0-50-arm64 (who@where) (compiler) #1 SMP …`. There are others
/// that were made before the number of the build was known: the one with a number counts.
pub(super) fn version_text(image: &[u8]) -> Option<&str> {
    let texts = occurrences(image, BANNER).filter_map(|at| {
        let text = text_at(image, (at + BANNER.len()) as u64, BANNER_BYTES_MAX)?;
        text.starts_with(|c: char| c.is_ascii_digit()).then_some(text.trim_end())
    });
    let has_number = |text: &&str| {
        text.split_once('#').is_some_and(|(_, rest)| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    texts.max_by_key(has_number)
}

/// Bytes that an image has to have at least, by its header for EFI: the ends of the parts that are
/// read from the file. The size in the header of the image itself counts memory, too.
pub(super) fn stated_bytes(image: &[u8]) -> Option<u64> {
    let header = u64::from(u32_at(image, EFI_HEADER_AT)?);
    if slice(image, header, EFI_HEADER.len() as u64)? != EFI_HEADER {
        return None;
    }
    let (count, optional) = (u16_at(image, header + 6)?, u16_at(image, header + 20)?);
    let table = header + EFI_HEADER_BYTES + u64::from(optional);
    let ends = (0..u64::from(count)).map(|number| {
        let entry = table + number * SECTION_BYTES;
        let (size, at) = (u32_at(image, entry + 16)?, u32_at(image, entry + 20)?);
        Some(u64::from(size) + u64::from(at))
    });
    ends.collect::<Option<Vec<u64>>>()?.into_iter().max()
}

/// Image with this version text, with a header for EFI that states this size.
#[cfg(test)]
pub(super) fn arm64_image(text: &str, stated: u32) -> Vec<u8> {
    let mut image = vec![0; 512];
    image[..2].copy_from_slice(b"MZ");
    image[56..60].copy_from_slice(MAGIC);
    image[60..64].copy_from_slice(&64_u32.to_le_bytes());
    image[64..68].copy_from_slice(EFI_HEADER);
    image[70..72].copy_from_slice(&1_u16.to_le_bytes());
    image[104..108].copy_from_slice(&stated.to_le_bytes());
    image.extend(format!("{}6.1 (a@b) # SMP\0{0}{text}\n\0", "Linux version ").as_bytes());
    image
}

#[cfg(test)]
mod tests {
    use super::{arm64_image, is_aarch64, stated_bytes, unpacked_image, version_text};
    use proptest::prelude::*;
    use std::io::Write;

    const TEXT: &str = "6.1.0-50-arm64 (a@b) (gcc 12) #1 SMP Debian 6.1.176-1";

    /// Program for EFI with this packed kernel.
    fn zboot(packed: &[u8]) -> Vec<u8> {
        let mut file = b"MZ\0\0zimg".to_vec();
        file.extend(64_u32.to_le_bytes());
        file.extend(u32::try_from(packed.len()).unwrap().to_le_bytes());
        file.resize(64, 0);
        file.extend(packed);
        file
    }

    #[test]
    fn the_version_with_a_number_and_the_size_are_read() {
        let image = arm64_image(TEXT, 600);
        assert!(is_aarch64(&image));
        assert_eq!(version_text(&image), Some(TEXT));
        assert_eq!(stated_bytes(&image), Some(600));
        assert_eq!(version_text(&image[..512]), None);
        assert_eq!(stated_bytes(&image[..90]), None);
    }

    #[test]
    fn packed_images_are_unpacked_and_other_files_stay_as_they_are() {
        let image = arm64_image(TEXT, 600);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&image).unwrap();
        let gzip = gzip.finish().unwrap();
        let zstd = zstd::stream::encode_all(image.as_slice(), 1).unwrap();
        for packed in [image.clone(), gzip.clone(), zboot(&gzip), zboot(&zstd)] {
            assert_eq!(unpacked_image(packed).unwrap(), image);
        }
        let cut = zboot(&zstd);
        assert!(unpacked_image(cut[..cut.len() - 1].to_vec()).is_err());
        for other in [&b"\x1f\x8bgarbage"[..], b"", b"text"] {
            assert_eq!(unpacked_image(other.to_vec()).unwrap(), other);
        }
    }

    proptest! {
        #[test]
        fn arbitrary_headers_are_not_read_past_the_end(
            bytes in proptest::collection::vec(any::<u8>(), 0..400),
        ) {
            let image = [&arm64_image(TEXT, 1)[..104], &bytes].concat();
            let _ = (stated_bytes(&image), version_text(&image), unpacked_image(zboot(&bytes)));
        }
    }
}
