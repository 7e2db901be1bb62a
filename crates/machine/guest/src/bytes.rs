//! Bounds-checked reads of little-endian numbers in foreign files.

/// Returns `length` bytes from `at` on; `None` past the end.
pub(crate) fn slice(bytes: &[u8], at: u64, length: u64) -> Option<&[u8]> {
    let begin = usize::try_from(at).ok()?;
    let end = begin.checked_add(usize::try_from(length).ok()?)?;
    bytes.get(begin..end)
}

/// Reads 16 bits, little-endian.
pub(crate) fn u16_at(bytes: &[u8], at: u64) -> Option<u16> {
    Some(u16::from_le_bytes(slice(bytes, at, 2)?.try_into().ok()?))
}

/// Reads 32 bits, little-endian.
pub(crate) fn u32_at(bytes: &[u8], at: u64) -> Option<u32> {
    Some(u32::from_le_bytes(slice(bytes, at, 4)?.try_into().ok()?))
}

/// Reads 64 bits, little-endian.
pub(crate) fn u64_at(bytes: &[u8], at: u64) -> Option<u64> {
    Some(u64::from_le_bytes(slice(bytes, at, 8)?.try_into().ok()?))
}

/// Reads UTF-8 text up to the first NUL, at most `most` bytes.
pub(crate) fn text_at(bytes: &[u8], at: u64, most: usize) -> Option<&str> {
    let tail = bytes.get(usize::try_from(at).ok()?..)?;
    let tail = &tail[..tail.len().min(most)];
    let end = tail.iter().position(|&byte| byte == 0)?;
    std::str::from_utf8(&tail[..end]).ok()
}

/// Offsets at which a text that is not empty begins.
pub(crate) fn occurrences<'b>(bytes: &'b [u8], text: &'b [u8]) -> impl Iterator<Item = usize> + 'b {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let at =
                from + bytes.get(from..)?.iter().position(|byte| text.first() == Some(byte))?;
            from = at + 1;
            if bytes[at..].starts_with(text) {
                return Some(at);
            }
        }
    })
}
