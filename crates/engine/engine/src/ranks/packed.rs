//! Compression of long messages: the results of different ranks are much alike.

use std::io;

/// Message size in bytes below which compression does not pay off.
const COMPRESSED_FROM_BYTES: usize = 256;
/// Compression level; fast, since other ranks wait meanwhile.
const LEVEL: i32 = 1;
/// First byte of a message: the encoding of the bytes after it.
const UNCOMPRESSED: u8 = 0;
const COMPRESSED: u8 = 1;

/// Message content with an encoding byte; compressed from `COMPRESSED_FROM_BYTES` bytes on.
pub(super) fn packed(bytes: &[u8]) -> Vec<u8> {
    if bytes.len() >= COMPRESSED_FROM_BYTES
        && let Ok(smaller) = zstd::bulk::compress(bytes, LEVEL)
    {
        return [&[COMPRESSED], smaller.as_slice()].concat();
    }
    [&[UNCOMPRESSED], bytes].concat()
}

/// Content of a message.
///
/// # Errors
/// When the bytes are not the result of [`packed`].
pub(super) fn unpacked(message: &[u8]) -> io::Result<Vec<u8>> {
    match message.split_first() {
        Some((&UNCOMPRESSED, bytes)) => Ok(bytes.to_vec()),
        Some((&COMPRESSED, bytes)) => zstd::decode_all(bytes),
        _ => Err(io::Error::from(io::ErrorKind::InvalidData)),
    }
}

#[cfg(test)]
mod tests {
    use super::{packed, unpacked};

    #[test]
    fn packed_messages_round_trip_and_long_ones_shrink() {
        for bytes in [&b""[..], b"short", &[7; 255], &[7; 10_000]] {
            assert_eq!(unpacked(&packed(bytes)).unwrap(), bytes);
        }
        assert!(packed(&[7; 10_000]).len() < 100);
        for wrong in [&b""[..], b"\x01nonsense", b"\x02"] {
            assert!(unpacked(wrong).is_err());
        }
    }
}
