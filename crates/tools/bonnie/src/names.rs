//! Names of files and directories: the number in hexadecimal digits, and up to twelve random
//! characters before or after it.

use std::ffi::{CStr, CString};

use super::dice::RandomList;

/// Maximum number of random characters in a name.
const RANDOM_MAX: u64 = 12;
/// Number of digits in a name.
const DIGITS: usize = 10;
/// Buffer size: the longest name and its NUL.
const ROOM: usize = 12 + DIGITS + 1;
const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const HEX: &[u8; 16] = b"0123456789abcdef";

/// Generator of file names by number.
#[derive(Clone, Debug)]
pub(super) struct FileNames {
    dice: RandomList,
    /// True if the random characters come before the number.
    random: bool,
    bytes: [u8; ROOM],
}

impl FileNames {
    /// Names of the random or the sequential tests.
    pub(super) const fn new(dice: RandomList, random: bool) -> Self {
        Self { dice, random, bytes: [0; ROOM] }
    }

    /// Name of a file.
    #[inline]
    pub(super) fn name(&mut self, file: u32) -> &CStr {
        // Each name uses one random number for the length and one per character.
        let first = u64::from(file).wrapping_mul(RANDOM_MAX + 1);
        let extra = usize::try_from(self.dice.below(first, RANDOM_MAX + 1)).unwrap_or(0);
        let (digits, random) = if self.random { (extra, 0) } else { (0, DIGITS) };
        for (place, byte) in self.bytes.iter_mut().skip(digits).take(DIGITS).enumerate() {
            let nibble = (u64::from(file) >> (4 * (DIGITS - 1 - place))) & 15;
            *byte = HEX[usize::try_from(nibble).unwrap_or(0)];
        }
        for (place, byte) in (first + 1..).zip(self.bytes.iter_mut().skip(random).take(extra)) {
            let letter = self.dice.below(place, ALPHABET.len() as u64);
            *byte = ALPHABET[usize::try_from(letter).unwrap_or(0)];
        }
        let end = (extra + DIGITS).min(ROOM - 1);
        self.bytes[end] = 0;
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or(c"")
    }
}

/// Name of a subdirectory: five digits.
pub(super) fn subdir_name(number: u32) -> CString {
    CString::new(format!("{number:05}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{FileNames, subdir_name};
    use crate::dice::RandomSource;
    use std::collections::HashSet;

    fn names(random: bool) -> Vec<String> {
        let mut names = FileNames::new(RandomSource::Seed(7).dice("names"), random);
        (0..5000).map(|file| names.name(file).to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn file_numbers_precede_or_follow_the_random_part() {
        let (sequential, random) = (names(false), names(true));
        let mut lengths = HashSet::new();
        for (file, (first, second)) in sequential.iter().zip(&random).enumerate() {
            let number = format!("{file:010x}");
            assert!(first.starts_with(&number) && second.ends_with(&number), "{first} {second}");
            assert!(first.bytes().chain(second.bytes()).all(|byte| byte.is_ascii_alphanumeric()));
            lengths.insert(first.len());
        }
        assert_eq!(lengths, (10..=22).collect());
        assert_eq!(names(true), random, "the same again");
        assert_eq!(random.iter().collect::<HashSet<_>>().len(), 5000);
    }

    #[test]
    fn subdirectories_have_five_digits() {
        assert_eq!(subdir_name(7).to_str(), Ok("00007"));
        assert_eq!(subdir_name(99_999).to_str(), Ok("99999"));
    }
}
