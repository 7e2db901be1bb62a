//! Content file of an image: a zstd stream of the non-zero blocks, each preceded by its offset.
//! Reading even a hostile file returns only blocks within the device, or an error.

use std::io::{self, Read, Write};

use xxhash_rust::xxh3::Xxh3;

use crate::master::PIECE_BYTES;

/// Compression level. A fast one suffices, since random data does not shrink at any level.
const LEVEL: i32 = 1;
/// First bytes of each content file.
const MAGIC: &[u8] = b"treering image 1\n";
/// Offset that marks the end of the pieces.
const END: u64 = u64::MAX;

/// Fingerprint and size of an image's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContentDigest {
    /// XXH3 with 128 bits over the offsets and bytes of all pieces, in hexadecimal digits.
    pub(crate) fingerprint: String,
    /// Total bytes of all pieces.
    pub(crate) data_bytes: u64,
}

#[derive(Default)]
struct DigestBuilder {
    state: Xxh3,
    bytes: u64,
}

impl DigestBuilder {
    fn add(&mut self, place: u64, piece: &[u8]) {
        self.state.update(&place.to_le_bytes());
        self.state.update(piece);
        self.bytes += piece.len() as u64;
    }

    fn done(&self) -> ContentDigest {
        let fingerprint = format!("{:032x}", self.state.digest128());
        ContentDigest { fingerprint, data_bytes: self.bytes }
    }
}

/// Writer of a content file; pieces are added in order of their offsets.
pub(crate) struct ContentPacker<W: Write> {
    out: zstd::Encoder<'static, W>,
    digest: DigestBuilder,
}

impl<W: Write> ContentPacker<W> {
    pub(crate) fn begin(mut out: W) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        let mut out = zstd::Encoder::new(out, LEVEL)?;
        out.include_checksum(true)?;
        Ok(Self { out, digest: DigestBuilder::default() })
    }

    /// Adds a piece of at most [`PIECE_BYTES`], unless it is all zeros.
    pub(crate) fn add(&mut self, place: u64, piece: &[u8]) -> io::Result<()> {
        if piece.iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        self.digest.add(place, piece);
        self.header(place, piece.len())?;
        self.out.write_all(piece)
    }

    pub(crate) fn finish(mut self) -> io::Result<(W, ContentDigest)> {
        self.header(END, 0)?;
        Ok((self.out.finish()?, self.digest.done()))
    }

    fn header(&mut self, place: u64, length: usize) -> io::Result<()> {
        self.out.write_all(&place.to_le_bytes())?;
        self.out.write_all(&u32::try_from(length).unwrap_or_default().to_le_bytes())
    }
}

/// Reads the content of a device of `device_bytes`, and passes each piece with its offset to
/// `each`.
///
/// # Errors
/// `InvalidData` if the file is malformed or its device is larger; otherwise the errors of reading
/// and of `each`.
pub(crate) fn unpack(
    mut from: impl Read,
    device_bytes: u64,
    each: &mut dyn FnMut(u64, &[u8]) -> io::Result<()>,
) -> io::Result<ContentDigest> {
    let mut magic = [0; MAGIC.len()];
    from.read_exact(&mut magic)?;
    if magic != MAGIC {
        return Err(damaged("it does not begin as the content of an image does"));
    }
    let mut from = zstd::Decoder::new(from)?;
    let mut digest = DigestBuilder::default();
    let mut piece = vec![0; PIECE_BYTES];
    let mut end = 0;
    loop {
        let (mut place, mut length) = ([0; 8], [0; 4]);
        from.read_exact(&mut place)?;
        from.read_exact(&mut length)?;
        let place = u64::from_le_bytes(place);
        let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
        if place == END {
            // zstd verifies the checksum of the stream only after the last byte.
            let is_last = length == 0 && from.read(&mut [0])? == 0;
            return is_last.then(|| digest.done()).ok_or_else(|| damaged("data follows its end"));
        }
        let behind = place.checked_add(length as u64).filter(|behind| *behind <= device_bytes);
        let (Some(behind), 1..=PIECE_BYTES) = (behind.filter(|_| place >= end), length) else {
            return Err(damaged("a piece of it is out of place"));
        };
        from.read_exact(&mut piece[..length])?;
        digest.add(place, &piece[..length]);
        each(place, &piece[..length])?;
        end = behind;
    }
}

fn damaged(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Write};

    use super::{ContentPacker, END, MAGIC, PIECE_BYTES, unpack};

    fn packed(pieces: &[(u64, &[u8])]) -> Vec<u8> {
        let mut packer = ContentPacker::begin(Vec::new()).unwrap();
        pieces.iter().for_each(|(place, piece)| packer.add(*place, piece).unwrap());
        packer.finish().unwrap().0
    }

    fn raw(records: &[(u64, u32, &[u8])]) -> Vec<u8> {
        let mut out = zstd::Encoder::new(MAGIC.to_vec(), 1).unwrap();
        for (place, length, bytes) in records {
            out.write_all(&place.to_le_bytes()).unwrap();
            out.write_all(&length.to_le_bytes()).unwrap();
            out.write_all(bytes).unwrap();
        }
        out.finish().unwrap()
    }

    #[test]
    fn unpacking_returns_all_pieces_but_zeros() {
        let whole = vec![7; PIECE_BYTES];
        let file = packed(&[(0, b"superblock"), (4096, &[0; 4096]), (1 << 20, &whole)]);
        let mut pieces = Vec::new();
        let digest = unpack(file.as_slice(), 2 << 20, &mut |place, piece| {
            pieces.push((place, piece.to_vec()));
            Ok(())
        });
        assert_eq!(pieces, [(0, b"superblock".to_vec()), (1 << 20, whole)]);
        let digest = digest.unwrap();
        assert_eq!(digest.data_bytes, 10 + PIECE_BYTES as u64);
        // Different bytes or offsets give a different fingerprint.
        for other in [packed(&[(0, b"superblocK")]), packed(&[(1, b"superblock")])] {
            assert_ne!(unpack(other.as_slice(), 2 << 20, &mut |_, _| Ok(())).unwrap(), digest);
        }
    }

    #[test]
    fn every_truncation_and_bit_flip_is_detected() {
        let file = packed(&[(0, b"superblock"), (1 << 20, b"inode"), (3 << 20, &[9; 700])]);
        let read = |bytes: &[u8]| unpack(bytes, 4 << 20, &mut |_, _| Ok(()));
        let good = read(&file).unwrap();
        for length in 0..file.len() {
            assert!(read(&file[..length]).is_err(), "cut at {length}");
        }
        for place in 0..file.len() * 8 {
            let mut other = file.clone();
            other[place / 8] ^= 1 << (place % 8);
            assert!(read(&other).is_err_and(|_| true) || read(&other).unwrap() == good, "{place}");
        }
        let behind = [file.as_slice(), b"x"].concat();
        assert!(read(&behind).is_err());
        assert!(read(&[file.as_slice(), &file[MAGIC.len()..]].concat()).is_err());
    }

    #[test]
    fn misplaced_pieces_are_refused() {
        let end = (END, 0, &b""[..]);
        for records in [
            vec![(0, 0, &b""[..]), end],
            vec![(0, 65_537, &[1; 65_537][..]), end],
            vec![(4095, 2, &b"ab"[..]), end],
            vec![(u64::MAX - 1, 2, &b"ab"[..]), end],
            vec![(8, 2, &b"ab"[..]), (9, 1, &b"c"[..]), end],
            vec![(8, 2, &b"ab"[..]), (0, 1, &b"c"[..]), end],
            vec![(END, 1, &b"a"[..])],
        ] {
            let read = unpack(raw(&records).as_slice(), 4096, &mut |_, _| Ok(()));
            assert_eq!(read.unwrap_err().kind(), ErrorKind::InvalidData, "{records:?}");
        }
        assert!(unpack(raw(&[end]).as_slice(), 0, &mut |_, _| Ok(())).is_ok());
        assert!(unpack(&b""[..], 4096, &mut |_, _| Ok(())).is_err());
    }
}
