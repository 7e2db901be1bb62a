//! Names of files in the format of the original: a time in hexadecimal digits, `~`, and random
//! characters.
//!
//! The random part is a function of a key and the number of the file, so names can be generated
//! again at any time and are not stored.

use std::ffi::CStr;

/// Characters of the time in hex.
const STAMP_BYTES: usize = 8;
const ALPHABET: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// All pairs of characters; drawing pairs halves the number of draws for a name.
const PAIRS: [[u8; 2]; 1296] = pairs();
/// Number of pairs from one draw of 64 bits: 1296^6 is below 2^63.
const PAIRS_A_DRAW: usize = 6;

const fn pairs() -> [[u8; 2]; 1296] {
    let mut pairs = [[0; 2]; 1296];
    let mut at = 0;
    while at < 1296 {
        pairs[at] = [ALPHABET[at / 36], ALPHABET[at % 36]];
        at += 1;
    }
    pairs
}

/// 2^64 divided by the golden ratio, odd.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

/// The mixing function of SplitMix64 (Steele, Lea, Flood).
pub(super) const fn mix(number: u64) -> u64 {
    let mut z = number;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Takes the next pair from the high end of a draw (Lemire's method without rejection: the bias is
/// one in 2^40).
#[inline]
fn next_pair(draw: &mut u64) -> [u8; 2] {
    let wide = u128::from(*draw) * 1296;
    #[expect(clippy::cast_possible_truncation, reason = "the halves are meant")]
    let (pair, tail) = ((wide >> 64) as usize, wide as u64);
    *draw = tail;
    // Below 1296, since the draw is below 2^64.
    PAIRS.get(pair).copied().unwrap_or(*b"00")
}

/// Buffer that builds paths: an optional directory and a name.
#[derive(Clone, Debug)]
pub(super) struct PathBuffer {
    /// Path with its terminating NUL.
    buffer: Vec<u8>,
    /// Offset of the name within the path.
    name_at: usize,
    name_bytes: usize,
    random_bytes: usize,
    key: u64,
    stamp: u32,
}

impl PathBuffer {
    /// Paths with names of `name_bytes`, of which `random_bytes` are derived from `key`.
    pub(super) fn new(name_bytes: usize, random_bytes: usize, key: u64) -> Self {
        let random_bytes = random_bytes.min(name_bytes);
        let mut paths =
            Self { buffer: Vec::new(), name_at: 0, name_bytes, random_bytes, key, stamp: 0 };
        paths.enter(None);
        paths
    }

    /// Continues in this subdirectory, or without one.
    pub(super) fn enter(&mut self, dir: Option<u32>) {
        self.buffer.clear();
        if let Some(dir) = dir {
            self.buffer.extend_from_slice(dir_name(dir).as_bytes());
            self.buffer.push(b'/');
        }
        self.name_at = self.buffer.len();
        self.buffer.resize(self.name_at + self.name_bytes, b'~');
        self.buffer.push(0);
        self.set_stamp(self.stamp);
    }

    /// Sets the time stamp of names, in Unix seconds.
    pub(super) fn set_stamp(&mut self, seconds: u32) {
        self.stamp = seconds;
        let hex = format!("{seconds:08x}");
        let room = self.name_bytes - self.random_bytes;
        let place = &mut self.buffer[self.name_at..self.name_at + room];
        // In a short name, keep the low digits, which change.
        let digits = &hex.as_bytes()[STAMP_BYTES - room.min(STAMP_BYTES)..];
        place[..digits.len()].copy_from_slice(digits);
    }

    /// The path of a file.
    #[inline]
    pub(super) fn path(&mut self, file: u64) -> &CStr {
        self.draw(file);
        CStr::from_bytes_with_nul(&self.buffer).expect("neither hex nor letters have a NUL")
    }

    /// The name of a file, without the directory.
    pub(super) fn name(&mut self, file: u64) -> &CStr {
        self.draw(file);
        let name = &self.buffer[self.name_at..];
        CStr::from_bytes_with_nul(name).expect("neither hex nor letters have a NUL")
    }

    /// Inserts a file's random characters into the path.
    #[inline]
    fn draw(&mut self, file: u64) {
        let from = self.name_at + self.name_bytes - self.random_bytes;
        let random = &mut self.buffer[from..self.name_at + self.name_bytes];
        let mut counter = mix(self.key.wrapping_add(file.wrapping_mul(STRIDE)));
        for part in random.chunks_mut(2 * PAIRS_A_DRAW) {
            counter = counter.wrapping_add(STRIDE);
            let mut draw = mix(counter);
            let mut places = part.chunks_exact_mut(2);
            for place in &mut places {
                let pair = next_pair(&mut draw);
                (place[0], place[1]) = (pair[0], pair[1]);
            }
            if let [alone] = places.into_remainder() {
                *alone = next_pair(&mut draw)[0];
            }
        }
    }
}

/// The name of a subdirectory.
pub(super) fn dir_name(dir: u32) -> String {
    format!("{dir:02x}")
}

#[cfg(test)]
mod tests {
    use super::{PathBuffer, dir_name};
    use std::collections::HashSet;

    fn name(name_bytes: usize, random_bytes: usize) -> String {
        let mut paths = PathBuffer::new(name_bytes, random_bytes, 7);
        paths.set_stamp(0x6b00_85b9);
        paths.path(3).to_str().unwrap().to_owned()
    }

    #[test]
    fn names_have_the_shape_of_the_originals() {
        let usual = name(40, 24);
        assert!(usual.starts_with("6b0085b9~~~~~~~~"), "{usual}");
        assert_eq!(usual.len(), 40);
        let of_the_alphabet = |c: char| c.is_ascii_digit() || c.is_ascii_uppercase();
        assert!(usual[16..].chars().all(of_the_alphabet), "{usual}");
        assert_eq!(&name(8, 2)[..6], "0085b9");
        assert_eq!(name(4, 0), "85b9");
        assert_eq!(name(20, 0), "6b0085b9~~~~~~~~~~~~");
        assert_eq!(name(255, 255).len(), 255);
        assert_eq!(name(11, 11).len(), 11);
    }

    #[test]
    fn names_are_reproducible_and_distinct() {
        let mut paths = PathBuffer::new(40, 24, 7);
        let first: Vec<_> = (0..20_000).map(|file| paths.path(file).to_owned()).collect();
        let again: Vec<_> = (0..20_000).rev().map(|file| paths.path(file).to_owned()).collect();
        assert!(first.iter().eq(again.iter().rev()));
        assert_eq!(first.iter().collect::<HashSet<_>>().len(), 20_000);
        let other: HashSet<_> = {
            let mut paths = PathBuffer::new(40, 24, 8);
            (0..20_000).map(|file| paths.path(file).to_owned()).collect()
        };
        assert!(first.iter().all(|name| !other.contains(name)));
    }

    #[test]
    fn name_characters_are_uniformly_distributed() {
        let mut paths = PathBuffer::new(25, 25, 1);
        let mut seen = vec![[0u32; 256]; 25];
        for file in 0..36_000 {
            for (place, &byte) in paths.path(file).to_bytes().iter().enumerate() {
                seen[place][usize::from(byte)] += 1;
            }
        }
        for place in seen {
            let met: Vec<u32> = place.into_iter().filter(|&count| count > 0).collect();
            assert_eq!(met.len(), 36);
            assert!(met.iter().all(|count| (850..1150).contains(count)), "{met:?}");
        }
    }

    #[test]
    fn paths_prefix_the_directory_to_the_name() {
        let mut paths = PathBuffer::new(8, 0, 0);
        paths.set_stamp(0xabc);
        paths.enter(Some(2));
        assert_eq!(paths.path(0), c"02/00000abc");
        paths.enter(Some(0x1ff));
        assert_eq!(paths.path(0), c"1ff/00000abc");
        assert_eq!(paths.name(0), c"00000abc");
        paths.enter(None);
        assert_eq!(paths.path(0), c"00000abc");
        assert_eq!(dir_name(255), "ff");
    }
}
