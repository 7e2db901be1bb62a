//! Values of `-s` and `-n`: numbers separated by colons.

use super::asked::{CHUNK, FileKind, SEEKERS, SEEKS};

/// Range of chunk sizes, which are powers of 2.
const CHUNKS: std::ops::RangeInclusive<u64> = 256..=1 << 20;
/// Maximum number of seekers; the original has no limit.
const SEEKERS_MAX: u64 = 4096;
const SEEKS_MAX: u64 = 1 << 40;
/// Largest size in MiB: 2^43 MiB are 8 EiB.
const SIZE_MAX: u64 = 1 << 42;
/// First number of subdirectories whose names would be longer than five digits.
const DIRS_END: u64 = 100_000;
const FILES_MAX: u64 = 1 << 31;

/// Parsed value of `-s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SizeSpec {
    /// Size of the large file in MiB; `None` for the default.
    pub(super) mib: Option<u64>,
    pub(super) chunk: u32,
    pub(super) seeks: u64,
    pub(super) seekers: u16,
}

impl SizeSpec {
    /// Parses the value; `None` if it is malformed.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut fields = ValueFields::split(text, 4)?;
        let mib = match fields.next("mgt", SIZE_MAX).ok()? {
            None => None,
            Some((number, letter)) => {
                // The suffix m is the default unit.
                let shift = match letter {
                    Some('g') => 10,
                    Some('t') => 20,
                    _ => 0,
                };
                Some(number.checked_mul(1 << shift).filter(|mib| *mib <= SIZE_MAX)?)
            }
        };
        Some(Self {
            mib,
            chunk: chunk(&mut fields)?,
            seeks: fields.scaled("k", SEEKS_MAX).ok()?.unwrap_or(SEEKS),
            seekers: match fields.scaled("", SEEKERS_MAX).ok()? {
                None => SEEKERS,
                Some(0) => return None,
                Some(seekers) => u16::try_from(seekers).ok()?,
            },
        })
    }
}

/// Parsed value of `-n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FilesSpec {
    /// Number of files, in units of 1024.
    pub(super) k: u64,
    pub(super) kind: FileKind,
    pub(super) max: u64,
    pub(super) min: u64,
    pub(super) dirs: u32,
    pub(super) chunk: u32,
}

impl FilesSpec {
    /// Parses the value; `None` if it is malformed.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut fields = ValueFields::split(text, 5)?;
        let k = match fields.next("km", FILES_MAX).ok()? {
            Some((number, Some('m'))) => number.checked_mul(1024)?,
            Some((number, _)) => number,
            None => return None,
        };
        let kind = match fields.peek() {
            "-1" => FileKind::HardLinks,
            "-2" => FileKind::SymbolicLinks,
            _ => FileKind::Regular,
        };
        if kind != FileKind::Regular {
            fields.skip();
        }
        let links = kind != FileKind::Regular;
        let max = if links { 0 } else { fields.scaled("kmg", u64::MAX).ok()?.unwrap_or(0) };
        let min = fields.scaled("kmg", u64::MAX).ok()?;
        let dirs = fields.scaled("k", DIRS_END - 1).ok()?.unwrap_or(1).max(1);
        let spec = Self {
            k,
            kind,
            max,
            min: if links { 0 } else { min.unwrap_or(0) },
            dirs: u32::try_from(dirs).ok()?,
            chunk: chunk(&mut fields)?,
        };
        (spec.min <= spec.max && spec.max < 1 << 62).then_some(spec)
    }
}

/// Parses a chunk size, or takes the default.
fn chunk(fields: &mut ValueFields<'_>) -> Option<u32> {
    match fields.scaled("kmg", u64::MAX).ok()? {
        None => Some(CHUNK),
        Some(bytes) => is_chunk(bytes).then(|| u32::try_from(bytes).ok())?,
    }
}

/// True if this is an accepted chunk size.
pub(super) fn is_chunk(bytes: u64) -> bool {
    bytes.is_power_of_two() && CHUNKS.contains(&bytes)
}

/// Fields of a value; missing and empty ones have their defaults.
struct ValueFields<'t> {
    fields: Vec<&'t str>,
    next: usize,
}

/// Error: a field is no number, or too large.
struct InvalidField;

/// A number and the letter after it.
type SuffixedNumber = (u64, Option<char>);

impl<'t> ValueFields<'t> {
    fn split(text: &'t str, most: usize) -> Option<Self> {
        let fields: Vec<&str> = text.split(':').collect();
        (fields.len() <= most).then_some(Self { fields, next: 0 })
    }

    fn peek(&self) -> &'t str {
        self.fields.get(self.next).copied().unwrap_or("")
    }

    fn skip(&mut self) {
        self.next += 1;
    }

    /// Parses the next number, with one of these letters after it or none; `None` for an empty
    /// field.
    fn next(&mut self, letters: &str, most: u64) -> Result<Option<SuffixedNumber>, InvalidField> {
        let text = self.peek();
        self.skip();
        let Some(last) = text.chars().next_back() else { return Ok(None) };
        let last = last.to_ascii_lowercase();
        let letter = letters.contains(last).then_some(last);
        let digits = &text[..text.len() - letter.map_or(0, char::len_utf8)];
        // `parse` would accept a sign.
        let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.parse::<u64>().ok().filter(|number| all_digits && *number <= most);
        Ok(Some((number.ok_or(InvalidField)?, letter)))
    }

    /// Parses the next number with letters as powers of 1024.
    fn scaled(&mut self, letters: &str, most: u64) -> Result<Option<u64>, InvalidField> {
        let Some((number, letter)) = self.next(letters, u64::MAX)? else { return Ok(None) };
        let shift = match letter {
            Some('k') => 10,
            Some('m') => 20,
            Some('g') => 30,
            _ => 0,
        };
        let scaled = number.checked_mul(1 << shift).filter(|scaled| *scaled <= most);
        scaled.ok_or(InvalidField).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, FileKind, FilesSpec, SEEKERS, SEEKS, SizeSpec};
    use proptest::proptest;

    #[test]
    fn published_sizes_are_parsed() {
        let read = |text| {
            let SizeSpec { mib, chunk, seeks, seekers } = SizeSpec::read(text).unwrap();
            (mib.unwrap(), chunk, seeks, seekers)
        };
        assert_eq!(read("8192"), (8192, CHUNK, SEEKS, SEEKERS));
        assert_eq!(read("1G"), (1024, CHUNK, SEEKS, SEEKERS));
        assert_eq!(read("16g"), (16_384, CHUNK, SEEKS, SEEKERS));
        assert_eq!(read("2t"), (2 << 20, CHUNK, SEEKS, SEEKERS));
        assert_eq!(read("1g:4k:20000:3"), (1024, 4096, 20_000, 3));
        assert_eq!(read("16:512:8k"), (16, 512, 8192, SEEKERS));
        assert_eq!(read("16:1024k::12"), (16, 1 << 20, SEEKS, 12));
        assert_eq!(read("0"), (0, CHUNK, SEEKS, SEEKERS));
        assert_eq!(SizeSpec::read(":64k").unwrap().mib, None);
    }

    #[test]
    fn published_numbers_are_parsed() {
        let read = |text| FilesSpec::read(text).unwrap();
        let plain =
            FilesSpec { k: 16, kind: FileKind::Regular, max: 0, min: 0, dirs: 1, chunk: CHUNK };
        assert_eq!(read("16"), plain);
        assert_eq!(read("1m"), FilesSpec { k: 1024, ..plain });
        assert_eq!(read("40:1024:0:10"), FilesSpec { k: 40, max: 1024, dirs: 10, ..plain });
        let sized = FilesSpec { k: 20, max: 104_857, min: 104_857, dirs: 20, ..plain };
        assert_eq!(read("20:104857:104857:20"), sized);
        assert_eq!(read("16:-1"), FilesSpec { kind: FileKind::HardLinks, ..plain });
        let links = FilesSpec { kind: FileKind::SymbolicLinks, dirs: 5, ..plain };
        assert_eq!(read("16:-2:0:5"), links);
        let last = FilesSpec { max: 2 << 20, min: 1 << 20, dirs: 10, chunk: 65_536, ..plain };
        assert_eq!(read("16:2m:1m:10:64k"), last);
        assert_eq!(read("0").k, 0);
    }

    #[test]
    fn malformed_values_are_rejected() {
        for text in [
            "x",
            "1:3k",
            "1:128",
            "1:2m",
            "1:-4k",
            "-1",
            "+1",
            "1:4k:2:0",
            "1:4k:2:3:4",
            "1x",
            "99999999999999999999",
            "99999999999999t",
            "1:4k:2:5000",
            "1:4k:2x",
            "8M8",
        ] {
            assert_eq!(SizeSpec::read(text), None, "{text}");
        }
        for text in [
            "",
            "x",
            ":1",
            "1:1000:2000",
            "1:0:2000",
            "1:100:10:100000",
            "1:100:10:10:100",
            "1:-3",
            "1:1:1:1:8k:1",
            "1:\u{e9}",
            "\u{e9}",
            "1:99999999999g",
        ] {
            assert_eq!(FilesSpec::read(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parsers_panic(text in "[0-9kmgt:x\u{212a}-]{0,40}") {
            if let Some(spec) = SizeSpec::read(&text) {
                assert!(spec.chunk >= 256 && spec.seekers > 0);
            }
            if let Some(spec) = FilesSpec::read(&text) {
                assert!(spec.min <= spec.max && (1..100_000).contains(&spec.dirs));
            }
        }
    }
}
