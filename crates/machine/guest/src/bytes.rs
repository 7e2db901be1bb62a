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
