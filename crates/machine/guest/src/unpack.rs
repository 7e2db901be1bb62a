//! Decompression of xz, zstd and gzip data, detected by their magic number; other data is passed
//! through.

use std::io::{self, BufReader, Read};

use flate2::read::MultiGzDecoder;
use liblzma::read::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};

/// Memory limit of the xz decoder in bytes, sufficient for `xz -9`.
const XZ_MEMORY: u64 = 128 << 20;
/// Window limit of the zstd decoder: 128 MiB, as in `zstd --long=27`.
const ZSTD_WINDOW_LOG: u32 = 27;
const MAGIC_BYTES: u64 = 6;

/// Decompresses a stream.
pub(crate) fn unpacked<'r>(mut packed: impl Read + 'r) -> io::Result<Box<dyn Read + 'r>> {
    let mut magic = Vec::new();
    packed.by_ref().take(MAGIC_BYTES).read_to_end(&mut magic)?;
    let whole = io::Cursor::new(magic.clone()).chain(packed);
    Ok(match magic.as_slice() {
        [0xfd, b'7', b'z', b'X', b'Z', 0] => {
            let stream = Stream::new_stream_decoder(XZ_MEMORY, CONCATENATED)?;
            Box::new(XzDecoder::new_stream(whole, stream))
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            let mut decoder = zstd::stream::read::Decoder::new(whole)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Box::new(decoder)
        }
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(whole)),
        [b'B', b'Z', b'h', ..] => {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "it is packed with bzip2, which is not read here",
            ));
        }
        _ => Box::new(BufReader::new(whole)),
    })
}

/// Reads a stream to its end; fails above `most` bytes.
pub(crate) fn read_all(from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let message = format!("it has more than {most} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::{read_all, unpacked};
    use std::io::{Read, Write};

    #[test]
    fn compression_is_detected_by_magic() {
        let plain = b"the same bytes, however they were packed".repeat(100);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&plain).unwrap();
        let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
        xz.write_all(&plain).unwrap();
        let zstd = zstd::stream::encode_all(plain.as_slice(), 1).unwrap();
        for packed in [gzip.finish().unwrap(), xz.finish().unwrap(), zstd, plain.clone()] {
            let read = read_all(unpacked(packed.as_slice()).unwrap(), 1 << 20).unwrap();
            assert_eq!(read, plain);
        }
        assert!(unpacked(b"BZh9".as_slice()).is_err());
        assert_eq!(read_all(unpacked(b"ab".as_slice()).unwrap(), 2).unwrap(), b"ab");
    }

    #[test]
    fn decompression_is_bounded() {
        let bomb = zstd::stream::encode_all(std::io::repeat(0).take(1 << 24), 1).unwrap();
        assert!(bomb.len() < 1 << 16);
        assert!(read_all(unpacked(bomb.as_slice()).unwrap(), 1 << 20).is_err());
        let broken = &bomb[..bomb.len() / 2];
        assert!(read_all(unpacked(broken).unwrap(), 1 << 30).is_err());
    }
}
