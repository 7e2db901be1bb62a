//! The load file itself: plain text, or packed by gzip.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

/// No load file is as long, packed or not; more is not read.
const BYTES_MAX: u64 = 256 << 20;

/// The text of a load file.
///
/// # Errors
/// When it cannot be read, is a directory or is too long.
pub(in crate::dbench) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    unpacked(bytes)
}

fn unpacked(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    let text = if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut text = Vec::new();
        MultiGzDecoder::new(bytes.as_slice()).take(BYTES_MAX + 1).read_to_end(&mut text)?;
        text
    } else {
        bytes
    };
    if text.len() as u64 > BYTES_MAX {
        return Err(io::Error::other("it has more than 256 MiB"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::unpacked;

    #[test]
    fn packed_files_are_unpacked() {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(b"Mkdir \"\\a\" 0x0\n").unwrap();
        let packed = packer.finish().unwrap();
        assert_eq!(unpacked(packed.clone()).unwrap(), b"Mkdir \"\\a\" 0x0\n");
        assert_eq!(unpacked(b"# text".to_vec()).unwrap(), b"# text");
        assert!(unpacked(packed[..packed.len() - 9].to_vec()).is_err());
    }

    #[test]
    fn what_unpacks_without_end_is_refused() {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        let zeros = vec![0; 1 << 20];
        for _ in 0..257 {
            packer.write_all(&zeros).unwrap();
        }
        assert!(unpacked(packer.finish().unwrap()).is_err());
    }
}
