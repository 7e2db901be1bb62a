//! Minimal ELF reader: interpreter and loaded size of a program, and sections of a module. 64-bit
//! little-endian only, as all architectures of guests.

use crate::bytes::{slice, text_at, u16_at, u32_at, u64_at};

const LOAD: u32 = 1;
const INTERPRETER: u32 = 3;
/// Limit of program and section headers.
const HEADERS_MAX: u16 = 10_000;
const NAME_BYTES_MAX: usize = 256;

/// Reports whether the file is a supported ELF file.
pub(crate) fn is_elf(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x7fELF\x02\x01")
}

/// Number of the processor for which a file was made; `None` for other files.
pub(crate) fn machine(bytes: &[u8]) -> Option<u16> {
    if is_elf(bytes) { u16_at(bytes, 18) } else { None }
}

/// Program headers: type, offset in the file, size in the file.
fn segments(bytes: &[u8]) -> Option<Vec<(u32, u64, u64)>> {
    let (at, size, count) = (u64_at(bytes, 32)?, u16_at(bytes, 54)?, u16_at(bytes, 56)?);
    let headers = (0..u64::from(count.min(HEADERS_MAX))).map(|number| {
        let header = at.checked_add(number * u64::from(size))?;
        Some((
            u32_at(bytes, header)?,
            u64_at(bytes, header.checked_add(8)?)?,
            u64_at(bytes, header.checked_add(32)?)?,
        ))
    });
    headers.collect()
}

/// Interpreter of a program; `None` for a static one.
pub(crate) fn interpreter(bytes: &[u8]) -> Option<String> {
    let (_, offset, length) =
        segments(bytes)?.into_iter().find(|(kind, ..)| *kind == INTERPRETER)?;
    let name = slice(bytes, offset, length.min(NAME_BYTES_MAX as u64))?;
    Some(String::from_utf8_lossy(name).trim_end_matches('\0').to_owned())
}

/// Prefix of the file that contains all loaded segments: symbols and debug information behind them
/// are cut off, and the section table is removed from the header.
pub(crate) fn loaded_part(bytes: &[u8]) -> Option<Vec<u8>> {
    let ends = segments(bytes)?.into_iter().filter(|(kind, ..)| *kind == LOAD);
    let ends = ends.map(|(_, offset, length)| offset.checked_add(length));
    let end = ends.collect::<Option<Vec<u64>>>()?.into_iter().max()?;
    let mut part = slice(bytes, 0, end)?.to_vec();
    // Offset of the section table, header size, count, and index of the name table.
    part.get_mut(40..48)?.fill(0);
    part.get_mut(58..64)?.fill(0);
    Some(part)
}

/// Content of the section with this name.
pub(crate) fn section<'b>(bytes: &'b [u8], wanted: &str) -> Option<&'b [u8]> {
    if !is_elf(bytes) {
        return None;
    }
    let (at, size) = (u64_at(bytes, 40)?, u64::from(u16_at(bytes, 58)?));
    let (count, names) = (u16_at(bytes, 60)?, u64::from(u16_at(bytes, 62)?));
    let header = |number: u64| at.checked_add(number * size);
    let place = |header: u64| {
        Some((u64_at(bytes, header.checked_add(24)?)?, u64_at(bytes, header.checked_add(32)?)?))
    };
    let (names, _) = place(header(names)?)?;
    let mut headers = (0..u64::from(count.min(HEADERS_MAX))).filter_map(|number| {
        let header = header(number)?;
        let name = names.checked_add(u64::from(u32_at(bytes, header)?))?;
        (text_at(bytes, name, NAME_BYTES_MAX)? == wanted).then_some(header)
    });
    let (offset, length) = place(headers.next()?)?;
    slice(bytes, offset, length)
}

#[cfg(test)]
mod tests {
    use super::{interpreter, is_elf, loaded_part, section};
    use proptest::prelude::*;

    #[test]
    fn segments_and_sections_of_this_test_are_read() {
        let bytes = std::fs::read("/proc/self/exe").unwrap();
        assert!(is_elf(&bytes));
        let part = loaded_part(&bytes).unwrap();
        assert!(part.len() < bytes.len());
        assert_eq!(interpreter(&part), interpreter(&bytes));
        assert!(!section(&bytes, ".text").unwrap().is_empty());
        assert_eq!(section(&bytes, ".nothing"), None);
        assert_eq!(section(&part, ".text"), None);
    }

    proptest! {
        #[test]
        fn arbitrary_files_are_not_read_past_the_end(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..300),
        ) {
            let begin: Vec<u8> = b"\x7fELF\x02\x01".iter().copied().take(bytes.len()).collect();
            bytes[..begin.len()].copy_from_slice(&begin);
            let _ = (interpreter(&bytes), loaded_part(&bytes), section(&bytes, ".modinfo"));
        }
    }
}
