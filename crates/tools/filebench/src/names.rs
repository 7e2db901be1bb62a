//! Names of entries in a fileset: serial numbers of eight digits, alone or as a path.

use std::ffi::{CStr, CString};

/// Prefix of the directory of a fileset below the target of a native run.
pub(super) const DIRECTORY: &str = "filebench-";
const DIGITS: usize = 8;
/// Maximum number of components of a path, above the limit on the depth of a tree.
const COMPONENTS_MAX: usize = 64;
const PATH_BYTES_MAX: usize = COMPONENTS_MAX * (DIGITS + 1);

/// Name of a fileset below the target.
pub(super) fn directory(fileset: usize) -> CString {
    // Letters and digits: there is no NUL.
    CString::new(format!("{DIRECTORY}{fileset}")).unwrap_or_default()
}

/// Buffer for a name or path, without allocation.
#[derive(Clone, Debug)]
pub(super) struct NameBuffer {
    bytes: [u8; PATH_BYTES_MAX],
    length: usize,
}

impl Default for NameBuffer {
    fn default() -> Self {
        Self { bytes: [0; PATH_BYTES_MAX], length: 0 }
    }
}

impl NameBuffer {
    /// Sets the name to a serial number.
    #[inline]
    pub(super) fn set(&mut self, serial: u32) {
        self.length = 0;
        self.push(serial);
    }

    /// Sets the name to a path of serial numbers, with the last one given separately.
    pub(super) fn set_path(&mut self, above: &[u32], last: Option<u32>) {
        self.length = 0;
        above.iter().copied().chain(last).for_each(|serial| self.push(serial));
    }

    #[inline]
    fn push(&mut self, serial: u32) {
        let begin = if self.length == 0 { 0 } else { self.length + 1 };
        let Some(place) = self.bytes.get_mut(begin..=begin + DIGITS) else { return };
        let mut remaining = serial;
        for digit in place[..DIGITS].iter_mut().rev() {
            *digit = b'0' + u8::try_from(remaining % 10).unwrap_or(0);
            remaining /= 10;
        }
        place[DIGITS] = 0;
        if begin > 0 {
            self.bytes[begin - 1] = b'/';
        }
        self.length = begin + DIGITS;
    }

    /// Name as a C string.
    #[inline]
    pub(super) fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_with_nul(&self.bytes[..=self.length]).unwrap_or_default()
    }
}

/// Parses a serial number; `None` for names that filebench does not generate.
pub(super) fn serial(name: &CStr) -> Option<u32> {
    let digits = name.to_bytes();
    let is_generated = digits.len() == DIGITS && digits.iter().all(u8::is_ascii_digit);
    is_generated.then(|| std::str::from_utf8(digits).ok()?.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::{COMPONENTS_MAX, NameBuffer, serial};

    #[test]
    fn names_have_eight_digits_and_parse_back() {
        let mut name = NameBuffer::default();
        assert_eq!(name.as_c_str(), c"");
        name.set(1);
        assert_eq!(name.as_c_str(), c"00000001");
        name.set_path(&[1, 20], Some(99_999_999));
        assert_eq!(name.as_c_str(), c"00000001/00000020/99999999");
        name.set_path(&[1], None);
        assert_eq!(name.as_c_str(), c"00000001");
        name.set_path(&[7; COMPONENTS_MAX + 5], None);
        assert_eq!(name.as_c_str().to_bytes().len(), COMPONENTS_MAX * 9 - 1);
        assert_eq!(serial(c"00000042"), Some(42));
        for odd in [c"", c"42", c"000000042", c"0000004a", c"+0000042", c"0000 042"] {
            assert_eq!(serial(odd), None, "{odd:?}");
        }
    }
}
