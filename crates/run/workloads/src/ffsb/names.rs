//! The names that FFSB gives, read again: what of a directory is a run's, and what is somebody
//! else's.

use treering_script::EntryKind;

use super::worker::{DATADIR, DATAFILE, FILLFILE, METAFILE};

/// An entry that a run can have made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ours {
    /// `datafileN`.
    Data(u64),
    /// `fillfileN`.
    Fill(u64),
    /// The directory `datadirN`.
    Dir(u32),
    /// The directory `metafileN`, and how many times an `a` was put behind it.
    Meta(u64, u32),
}

impl Ours {
    /// What an entry of `data` is; `None` when it is not ours.
    pub(super) fn in_data(name: &[u8], kind: EntryKind) -> Option<Self> {
        match kind {
            EntryKind::File => Self::in_datadir(name, kind)
                .or_else(|| name.strip_prefix(FILLFILE).and_then(number).map(Self::Fill)),
            EntryKind::Directory => {
                let number = name.strip_prefix(DATADIR).and_then(number)?;
                Some(Self::Dir(u32::try_from(number).ok()?))
            }
            EntryKind::Other => None,
        }
    }

    /// What an entry of a `datadirN` is.
    pub(super) fn in_datadir(name: &[u8], kind: EntryKind) -> Option<Self> {
        let number = name.strip_prefix(DATAFILE).and_then(number);
        number.filter(|_| kind == EntryKind::File).map(Self::Data)
    }

    /// What an entry of `meta` is.
    pub(super) fn in_meta(name: &[u8], kind: EntryKind) -> Option<Self> {
        let rest = name.strip_prefix(METAFILE).filter(|_| kind == EntryKind::Directory)?;
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, letters) = rest.split_at(digits);
        let plain = letters.iter().all(|&byte| byte == b'a');
        let count = u32::try_from(letters.len()).ok()?;
        number(digits).filter(|_| plain).map(|number| Self::Meta(number, count))
    }

    /// Its name.
    pub(super) fn name(self) -> Vec<u8> {
        let (word, number, letters) = match self {
            Self::Data(number) => (DATAFILE, number, 0),
            Self::Fill(number) => (FILLFILE, number, 0),
            Self::Dir(number) => (DATADIR, u64::from(number), 0),
            Self::Meta(number, letters) => (METAFILE, number, letters),
        };
        let mut name = word.to_vec();
        name.extend(number.to_string().bytes());
        name.extend((0..letters).map(|_| b'a'));
        name
    }
}

/// A number as FFSB writes it: digits alone, none too many.
fn number(digits: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(digits).ok()?;
    let plain = text == "0" || !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::Ours;
    use treering_script::EntryKind::{Directory, File, Other};

    #[test]
    fn names_that_a_run_gives_are_read_again_and_no_others() {
        for ours in [Ours::Data(0), Ours::Data(98_765), Ours::Fill(9)] {
            assert_eq!(Ours::in_data(&ours.name(), File), Some(ours));
            assert_eq!(Ours::in_data(&ours.name(), Directory), None);
        }
        assert_eq!(Ours::in_data(&Ours::Dir(7).name(), Directory), Some(Ours::Dir(7)));
        for ours in [Ours::Meta(3, 0), Ours::Meta(30, 25)] {
            assert_eq!(Ours::in_meta(&ours.name(), Directory), Some(ours));
            assert_eq!(Ours::in_meta(&ours.name(), File), None);
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
            assert_eq!(Ours::in_data(name, File), None, "{name:?}");
        }
        assert_eq!(Ours::in_data(b"datadir4294967296", Directory), None);
        assert_eq!(Ours::in_data(b"datafile1", Other), None);
        assert_eq!(Ours::in_datadir(b"fillfile1", File), None);
        assert_eq!(Ours::in_meta(b"metafile1b", Directory), None);
        assert_eq!(Ours::in_meta(b"metafilea", Directory), None);
    }
}
