//! Payload of x86 boot images: the kernel itself, packed. See "Documentation/arch/x86/boot.rst" of
//! the kernel. Images for AArch64 are the kernel itself.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};

use thiserror::Error;

use super::arm64_image::is_aarch64;
use super::image::setup_bytes;
use crate::bytes::{slice, u16_at, u32_at};
use crate::elf::is_elf;
use crate::unpack::{read_all, unpacked};

/// Offset of the version of the header, and the first version with the two fields below.
const PROTOCOL_AT: u64 = 0x206;
const PROTOCOL_WITH_PAYLOAD: u16 = 0x208;
/// Offsets of the begin of the payload, behind the setup, and of its length.
const PAYLOAD_AT: u64 = 0x248;
const LENGTH_AT: u64 = 0x24c;
/// Bytes with the unpacked size, behind the packed data.
const SIZE_BYTES: usize = 4;
/// Limit of the unpacked size.
const UNPACKED_BYTES_MAX: u64 = 512 << 20;
/// Begin of lz4 data in its legacy format, as the kernel's build writes it.
const LZ4_LEGACY: [u8; 4] = 0x184c_2102_u32.to_le_bytes();
/// Limit of a word in bytes.
const WORD_BYTES_MAX: usize = 64;
/// Size of the blocks of this format.
const LZ4_BLOCK_BYTES: usize = 8 << 20;

/// Damage of the kernel in a boot image.
#[derive(Debug, Error)]
pub(super) enum PayloadError {
    /// The header points behind the end of the image.
    #[error("the kernel in it would begin or end behind its end")]
    Outside,
    /// The packed data are damaged.
    #[error("the kernel in it is damaged: {0}")]
    Packed(#[from] io::Error),
    /// The unpacked data are no kernel of the stated size.
    #[error("the kernel in it is damaged: it has {found} bytes, and {stated} are stated")]
    Size {
        /// Size of the unpacked data.
        found: usize,
        /// Size in the image.
        stated: u32,
    },
    /// The unpacked data are not an ELF file.
    #[error("the kernel in it is damaged: it is no ELF file")]
    NoElf,
}

/// Unpacked kernel of a boot image; `None` if the image does not say where it is, or is packed in a
/// way that is not read here (bzip2, LZMA, LZO).
///
/// # Errors
/// The damage.
pub(super) fn unpacked_kernel(image: &[u8]) -> Option<Result<Vec<u8>, PayloadError>> {
    if is_aarch64(image) {
        return Some(Ok(image.to_vec()));
    }
    if u16_at(image, PROTOCOL_AT)? < PROTOCOL_WITH_PAYLOAD {
        return None;
    }
    let (at, length) = (u32_at(image, PAYLOAD_AT)?, u32_at(image, LENGTH_AT)?);
    if length == 0 {
        return None;
    }
    let Some(payload) = slice(image, setup_bytes(image)? + u64::from(at), length.into()) else {
        return Some(Err(PayloadError::Outside));
    };
    let unpacked = match payload {
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            read(before_size(payload))
        }
        // The size is a part of the format.
        [0x1f, 0x8b, ..] => read(payload),
        [a, b, c, d, packed @ ..] if [*a, *b, *c, *d] == LZ4_LEGACY => lz4(before_size(packed)),
        _ => return None,
    };
    let size_at = payload.len().saturating_sub(SIZE_BYTES);
    let stated = u32_at(payload, size_at as u64).unwrap_or_default();
    Some(unpacked.map_err(PayloadError::from).and_then(|kernel| match kernel.len() {
        found if found as u64 != u64::from(stated) => Err(PayloadError::Size { found, stated }),
        _ if !is_elf(&kernel) => Err(PayloadError::NoElf),
        _ => Ok(kernel),
    }))
}

/// Last words of the texts in a kernel, which end with a zero.
pub(super) fn last_words(code: &[u8]) -> BTreeSet<String> {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    let mut words = BTreeSet::new();
    let mut begin = 0;
    for (at, byte) in code.iter().enumerate() {
        if is_of_name(byte) {
            continue;
        }
        if *byte == 0 && begin < at && at - begin <= WORD_BYTES_MAX {
            words.insert(String::from_utf8_lossy(&code[begin..at]).into_owned());
        }
        begin = at + 1;
    }
    words
}

fn before_size(payload: &[u8]) -> &[u8] {
    &payload[..payload.len().saturating_sub(SIZE_BYTES)]
}

fn read(packed: &[u8]) -> io::Result<Vec<u8>> {
    read_all(unpacked(packed)?, UNPACKED_BYTES_MAX)
}

/// Unpacks the blocks of lz4 data behind its first word.
fn lz4(mut packed: &[u8]) -> io::Result<Vec<u8>> {
    let cut = || io::Error::from(ErrorKind::UnexpectedEof);
    let mut unpacked = Vec::new();
    while !packed.is_empty() {
        let (size, rest) = packed.split_first_chunk().ok_or_else(cut)?;
        let size = u32::from_le_bytes(*size) as usize;
        let (block, rest) = rest.split_at_checked(size).ok_or_else(cut)?;
        let first = unpacked.len();
        lz4_block(block, &mut unpacked, first).ok_or_else(|| {
            io::Error::new(ErrorKind::InvalidData, "a block of its lz4 data cannot be unpacked")
        })?;
        if unpacked.len() as u64 > UNPACKED_BYTES_MAX {
            return Err(ErrorKind::FileTooLarge.into());
        }
        packed = rest;
    }
    Ok(unpacked)
}

/// Unpacks a block of lz4 data, whose bytes begin at `first`; `None` for damaged data.
fn lz4_block(mut block: &[u8], to: &mut Vec<u8>, first: usize) -> Option<()> {
    while let Some((&token, rest)) = block.split_first() {
        block = rest;
        let literals = lz4_length(token >> 4, &mut block)?;
        let (own, rest) = block.split_at_checked(literals)?;
        to.extend_from_slice(own);
        block = rest;
        // The last sequence has literals only.
        if block.is_empty() {
            break;
        }
        let (distance, rest) = block.split_first_chunk()?;
        block = rest;
        let distance = usize::from(u16::from_le_bytes(*distance));
        let length = lz4_length(token & 15, &mut block)?.checked_add(4)?;
        let begin = to.len().checked_sub(distance).filter(|&at| distance > 0 && at >= first)?;
        if to.len() - first + length > LZ4_BLOCK_BYTES {
            return None;
        }
        // A match may overlap the bytes that it makes: it is copied in pieces that are there.
        let end = begin + length;
        let mut at = begin;
        while at < end {
            let piece = (end - at).min(to.len() - at);
            to.extend_from_within(at..at + piece);
            at += piece;
        }
    }
    (to.len() - first <= LZ4_BLOCK_BYTES).then_some(())
}

/// Length of a sequence: a nibble, and bytes that are added while they are 255.
fn lz4_length(nibble: u8, block: &mut &[u8]) -> Option<usize> {
    let mut length = usize::from(nibble);
    if nibble == 15 {
        loop {
            let (&more, rest) = block.split_first()?;
            *block = rest;
            length = length.checked_add(usize::from(more))?;
            if more != u8::MAX {
                break;
            }
        }
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::{PayloadError, last_words, lz4_block, unpacked_kernel};
    use crate::kernel::image::boot_image;
    use proptest::prelude::*;

    /// Image with this packed kernel.
    fn image(packed: &[u8], unpacked_bytes: usize) -> Vec<u8> {
        let number = |size: usize| u32::try_from(size).unwrap();
        let mut image = boot_image("6.1 (a@b) #1");
        image[0x1f1] = 4;
        image[0x206..0x208].copy_from_slice(&0x20f_u16.to_le_bytes());
        image[0x24c..0x250].copy_from_slice(&(number(packed.len()) + 4).to_le_bytes());
        image.extend(packed);
        image.extend(number(unpacked_bytes).to_le_bytes());
        image
    }

    fn kernel() -> Vec<u8> {
        let mut kernel = b"\x7fELF\x02\x01".to_vec();
        kernel.extend(b"virtio_console\0".repeat(100));
        kernel
    }

    #[test]
    fn the_kernel_in_an_image_is_unpacked_and_its_damage_is_named() {
        let kernel = kernel();
        let packed = zstd::stream::encode_all(kernel.as_slice(), 1).unwrap();
        let whole = image(&packed, kernel.len());
        assert_eq!(unpacked_kernel(&whole).unwrap().unwrap(), kernel);
        let words = last_words(b"drivers/virtio_console\0a b\0\0ext4 fs\x01xfs");
        assert_eq!(words.iter().map(String::as_str).collect::<Vec<_>>(), ["b", "virtio_console"]);
        assert!(unpacked_kernel(&image(&packed, 7)).unwrap().is_err());
        assert!(unpacked_kernel(&whole[..whole.len() - 1]).unwrap().is_err());
        let mut damaged = packed;
        damaged[9] ^= 0xff;
        damaged[12] ^= 0xff;
        let why = unpacked_kernel(&image(&damaged, kernel.len())).unwrap().unwrap_err();
        let why = why.to_string();
        assert!(why.starts_with("the kernel in it is damaged"), "{why}");
        assert!(unpacked_kernel(&boot_image("6.1 (a@b) #1")).is_none());
    }

    #[test]
    fn lz4_matches_may_overlap_themselves() {
        // Four literals, then a match of 4 + 3 bytes two bytes back, then one literal.
        let block = [0x43, b'a', b'b', b'c', b'd', 2, 0, 0x10, b'e'];
        let mut to = Vec::new();
        assert_eq!(lz4_block(&block, &mut to, 0), Some(()));
        assert_eq!(to, b"abcdcdcdcdce");
        let unpacked = image(&[&super::LZ4_LEGACY[..], &[9, 0, 0, 0], &block].concat(), 12);
        let error = unpacked_kernel(&unpacked).unwrap().unwrap_err();
        assert!(matches!(error, PayloadError::NoElf), "{error}");
    }

    proptest! {
        #[test]
        fn arbitrary_lz4_data_is_bounded(
            block in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            let mut to = Vec::new();
            let _ = lz4_block(&block, &mut to, 0);
            prop_assert!(to.len() <= super::LZ4_BLOCK_BYTES + block.len());
        }
    }
}
