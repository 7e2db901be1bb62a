//! Text of a load file: plain, or packed by gzip.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

/// Maximum length of a load file in bytes, packed or not.
const BYTES_MAX: usize = 256 << 20;
/// Maximum length of a line in bytes, which also bounds files that unpack without end.
const LINE_BYTES_MAX: usize = 1 << 20;
/// Bytes unpacked per read.
const PART_BYTES: usize = 64 << 10;

/// The text of a load file.
///
/// # Errors
/// When it cannot be read, is a directory or is too long; the line is named where this shows.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = BufReader::new(File::open(path)?);
    if file.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        text(MultiGzDecoder::new(file), " when it is unpacked")
    } else {
        text(file, "")
    }
}

fn text(mut from: impl Read, how: &str) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut part = vec![0; PART_BYTES];
    // The line that is being read, counted from 1, and where it begins.
    let (mut line, mut line_began) = (1_usize, 0);
    loop {
        let got = match from.read(&mut part) {
            Ok(0) => return Ok(text),
            Ok(got) => got,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if how.is_empty() => return Err(error),
            Err(error) => {
                return Err(io::Error::other(format!("line {line}: cannot be unpacked: {error}")));
            }
        };
        for end in part[..got].iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
            line += 1;
            line_began = text.len() + end.0 + 1;
        }
        text.extend_from_slice(&part[..got]);
        let too_long = match () {
            () if text.len() - line_began > LINE_BYTES_MAX => "the line has more than 1 MiB",
            () if text.len() > BYTES_MAX => "here the file has more than 256 MiB",
            () => continue,
        };
        let why = format!("line {line}: {too_long}{how}; no load file is as long");
        return Err(io::Error::other(why));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::read;

    fn reading(bytes: &[u8]) -> Result<Vec<u8>, String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        read(file.path()).map_err(|error| error.to_string())
    }

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(text).unwrap();
        packer.finish().unwrap()
    }

    #[test]
    fn packed_files_are_unpacked() {
        let whole = packed(b"Mkdir \"\\a\" 0x0\n");
        assert_eq!(reading(&whole).unwrap(), b"Mkdir \"\\a\" 0x0\n");
        assert_eq!(reading(b"# text").unwrap(), b"# text");
        let torn = reading(&whole[..whole.len() - 9]).unwrap_err();
        assert!(torn.starts_with("line ") && torn.contains("unpacked"), "{torn}");
    }

    #[test]
    fn overlong_line_of_a_packed_load_is_refused() {
        let mut text = b"a\nb\n".to_vec();
        text.resize(3 << 20, 0);
        let refused = reading(&packed(&text)).unwrap_err();
        assert!(refused.starts_with("line 3: the line has more than 1 MiB when"), "{refused}");
    }
}
