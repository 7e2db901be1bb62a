//! File names of FFSB, and classification of directory entries as generated or foreign.

use std::ffi::CStr;

use treering_script::EntryKind;

/// Directory of a filesystem that holds the files.
pub(super) const DATA: &CStr = c"data";
/// Directory of a filesystem that holds the directories of `metaop`.
pub(super) const META: &CStr = c"meta";
/// Name prefix of the benchmark files.
pub(super) const DATAFILE: &[u8; 8] = b"datafile";
/// Name prefix of the files that fill up a filesystem.
pub(super) const FILLFILE: &[u8; 8] = b"fillfile";
/// Name prefix of the directories of files.
pub(super) const DATADIR: &[u8; 7] = b"datadir";
/// Name prefix of the directories of `metaop`.
pub(super) const METAFILE: &[u8; 8] = b"metafile";

/// Entry that a run can have created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum GeneratedName {
    /// `datafileN`.
    Data(u64),
    /// `fillfileN`.
    Fill(u64),
    /// The directory `datadirN`.
    Dir(u32),
    /// Directory `metafileN`, and the number of times an `a` was appended by a rename.
    Meta(u64, u32),
}

impl GeneratedName {
    /// Classifies an entry of `data`; `None` if FFSB does not create such an entry.
    pub(super) fn in_data(name: &[u8], kind: EntryKind) -> Option<Self> {
        match kind {
            EntryKind::File => Self::in_datadir(name, kind)
                .or_else(|| name.strip_prefix(FILLFILE).and_then(number).map(Self::Fill)),
            EntryKind::Directory => {
                let number = name.strip_prefix(DATADIR).and_then(number)?;
                // The last number of all has no next one.
                u32::try_from(number).ok().filter(|&dir| dir < u32::MAX).map(Self::Dir)
            }
            EntryKind::Other => None,
        }
    }

    /// Classifies an entry of a `datadirN`; `None` if it is foreign.
    pub(super) fn in_datadir(name: &[u8], kind: EntryKind) -> Option<Self> {
        let number = name.strip_prefix(DATAFILE).and_then(number);
        number.filter(|_| kind == EntryKind::File).map(Self::Data)
    }

    /// Classifies an entry of `meta`; `None` if it is foreign.
    pub(super) fn in_meta(name: &[u8], kind: EntryKind) -> Option<Self> {
        let tail = name.strip_prefix(METAFILE).filter(|_| kind == EntryKind::Directory)?;
        let digits = tail.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, letters) = tail.split_at(digits);
        let plain = letters.iter().all(|&byte| byte == b'a');
        let count = u32::try_from(letters.len()).ok()?;
        number(digits).filter(|_| plain).map(|number| Self::Meta(number, count))
    }

    /// File name of the entry.
    pub(super) fn name(self) -> Vec<u8> {
        let (word, number, letters): (&[u8], u64, u32) = match self {
            Self::Data(number) => (DATAFILE, number, 0),
            Self::Fill(number) => (FILLFILE, number, 0),
            Self::Dir(number) => (DATADIR, number.into(), 0),
            Self::Meta(number, letters) => (METAFILE, number, letters),
        };
        let mut name = word.to_vec();
        name.extend(number.to_string().bytes());
        name.extend((0..letters).map(|_| b'a'));
        name
    }
}

/// Parses a number as FFSB writes it: only digits, without leading zeros.
fn number(digits: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(digits).ok()?;
    let plain = text == "0" || !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| plain)
}

/// Buffer for a name made of a word, a number and perhaps a letter; never allocates.
#[derive(Clone, Copy, Debug)]
pub(super) struct NameBuffer {
    bytes: [u8; NAME_BYTES],
    start: usize,
}

const NAME_BYTES: usize = 40;

impl Default for NameBuffer {
    fn default() -> Self {
        Self { bytes: [0; NAME_BYTES], start: NAME_BYTES - 1 }
    }
}

impl NameBuffer {
    /// Sets the name to `word` and the number.
    #[inline]
    pub(super) fn set<const N: usize>(&mut self, word: &[u8; N], number: u64) {
        self.start = NAME_BYTES - 1;
        self.digits_and(word, number);
    }

    /// Sets the name to `word`, the number, and an `a`.
    pub(super) fn set_renamed<const N: usize>(&mut self, word: &[u8; N], number: u64) {
        self.bytes[NAME_BYTES - 2] = b'a';
        self.start = NAME_BYTES - 2;
        self.digits_and(word, number);
    }

    #[inline]
    fn digits_and<const N: usize>(&mut self, word: &[u8; N], mut number: u64) {
        loop {
            self.start -= 1;
            self.bytes[self.start] = b'0' + u8::try_from(number % 10).unwrap_or(0);
            number /= 10;
            if number == 0 {
                break;
            }
        }
        let end = self.start;
        self.start -= N;
        self.bytes[self.start..end].copy_from_slice(word);
    }

    /// The name.
    #[inline]
    pub(super) fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes[self.start..]).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::{GeneratedName, NameBuffer};
    use treering_script::EntryKind::{Directory, File, Other};

    #[test]
    fn only_generated_names_are_recognized() {
        for generated in
            [GeneratedName::Data(0), GeneratedName::Data(98_765), GeneratedName::Fill(9)]
        {
            assert_eq!(GeneratedName::in_data(&generated.name(), File), Some(generated));
            assert_eq!(GeneratedName::in_data(&generated.name(), Directory), None);
        }
        assert_eq!(
            GeneratedName::in_data(&GeneratedName::Dir(7).name(), Directory),
            Some(GeneratedName::Dir(7))
        );
        for generated in [GeneratedName::Meta(3, 0), GeneratedName::Meta(30, 25)] {
            assert_eq!(GeneratedName::in_meta(&generated.name(), Directory), Some(generated));
            assert_eq!(GeneratedName::in_meta(&generated.name(), File), None);
        }
        let odd: [&[u8]; 8] = [
            b"datafile",
            b"datafile01",
            b"datafile+1",
            b"datafile1.txt",
            b"photo.jpg",
            b"datafile99999999999999999999",
            b"fillfile-1",
            b"\xffdatafile1",
        ];
        for name in odd {
            assert_eq!(GeneratedName::in_data(name, File), None, "{name:?}");
        }
        assert_eq!(GeneratedName::in_data(b"datadir4294967296", Directory), None);
        assert_eq!(GeneratedName::in_data(b"datadir4294967295", Directory), None);
        assert_eq!(GeneratedName::in_data(b"datafile1", Other), None);
        assert_eq!(GeneratedName::in_datadir(b"fillfile1", File), None);
        assert_eq!(GeneratedName::in_meta(b"metafile1b", Directory), None);
        assert_eq!(GeneratedName::in_meta(b"metafilea", Directory), None);
    }

    #[test]
    fn names_are_words_and_numbers() {
        let mut name = NameBuffer::default();
        assert_eq!(name.as_c_str(), c"");
        for (number, text) in [(0, c"datafile0"), (10, c"datafile10"), (987, c"datafile987")] {
            name.set(b"datafile", number);
            assert_eq!(name.as_c_str(), text);
        }
        name.set(b"datafile", u64::MAX);
        assert_eq!(name.as_c_str(), c"datafile18446744073709551615");
        name.set_renamed(b"metafile", 12);
        assert_eq!(name.as_c_str(), c"metafile12a");
        name.set(b"metafile", 12);
        assert_eq!(name.as_c_str(), c"metafile12");
    }
}
