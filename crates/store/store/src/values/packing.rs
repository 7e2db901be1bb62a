//! Compression of artifact bodies: JSON of thousands of numbers shrinks to a tenth of its size.

use std::io;
use std::string::FromUtf8Error;

use thiserror::Error;

/// Compression level: Zstandard's default, some hundred MB/s.
const LEVEL: i32 = 3;

/// Maximum length of a stored body in bytes, which bounds the memory needed to decompress it.
pub(crate) const BODY_BYTES_MOST: usize = 256 << 20;

/// Reason why a body cannot be compressed or decompressed.
#[derive(Debug, Error)]
pub(crate) enum PackingError {
    #[error("{0} bytes, where {BODY_BYTES_MOST} is the most")]
    TooLong(usize),
    #[error("{found} bytes where {packed} were packed")]
    Length { found: usize, packed: usize },
    #[error(transparent)]
    Zstd(#[from] io::Error),
    #[error(transparent)]
    NotText(#[from] FromUtf8Error),
}

/// Compresses a body.
pub(crate) fn pack(body: &str) -> Result<Vec<u8>, PackingError> {
    if body.len() > BODY_BYTES_MOST {
        return Err(PackingError::TooLong(body.len()));
    }
    Ok(zstd::bulk::compress(body.as_bytes(), LEVEL)?)
}

/// Decompresses a body whose plain length is `bytes`.
pub(crate) fn unpack(packed: &[u8], bytes: usize) -> Result<String, PackingError> {
    if bytes > BODY_BYTES_MOST {
        return Err(PackingError::TooLong(bytes));
    }
    let body = zstd::bulk::decompress(packed, bytes)?;
    if body.len() != bytes {
        return Err(PackingError::Length { found: body.len(), packed: bytes });
    }
    Ok(String::from_utf8(body)?)
}

#[cfg(test)]
mod tests {
    use super::{BODY_BYTES_MOST, pack, unpack};

    #[test]
    fn packed_bodies_round_trip() {
        for body in ["", "[]", &"[1,2,3]".repeat(10_000)] {
            let packed = pack(body).unwrap();
            assert_eq!(unpack(&packed, body.len()).unwrap(), body);
        }
    }

    #[test]
    fn foreign_compressed_bodies_are_refused() {
        let packed = pack("[1,2]").unwrap();
        assert!(unpack(&packed, 4).is_err());
        assert!(unpack(&packed, 6).unwrap_err().to_string().contains("5 bytes where 6"));
        assert!(unpack(&packed, BODY_BYTES_MOST + 1).is_err());
        assert!(unpack(b"no frame", 5).is_err());
        let not_text = zstd::bulk::compress(&[0xff, 0xfe], 1).unwrap();
        assert!(unpack(&not_text, 2).is_err());
    }
}
