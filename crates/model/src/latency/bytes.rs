//! Serialized histograms: writing, and reading untrusted bytes.
//!
//! The format is `HdrHistogram` V2. The bytes are validated first, because the decoder allocates
//! gigabytes if a forged header asks for them.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};

use super::{Latency, LatencyError};

/// Size of the `HdrHistogram` V2 header in bytes.
const HEADER_BYTES: usize = 40;

/// Serializes a histogram.
pub(super) fn encode(histogram: &Histogram<u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(histogram, &mut bytes).expect("writing to memory does not fail");
    bytes
}

/// Reads a histogram with the bounds of [`Latency`].
pub(super) fn decode(bytes: &[u8]) -> Result<Histogram<u64>, LatencyError> {
    check(bytes).map_err(LatencyError)?;
    let mut unread = bytes;
    Deserializer::new().deserialize(&mut unread).map_err(|error| LatencyError(format!("{error:?}")))
}

/// Header of every histogram that treering writes, except for the length at 4..8.
fn header() -> [u8; HEADER_BYTES] {
    let empty = Latency::new().to_bytes();
    let mut header = [0; HEADER_BYTES];
    header.copy_from_slice(&empty[..HEADER_BYTES]);
    header
}

/// Validates untrusted bytes.
fn check(bytes: &[u8]) -> Result<(), String> {
    let expected = header();
    let Some((head, body)) = bytes.split_at_checked(HEADER_BYTES) else {
        return Err(format!("{} bytes are no histogram", bytes.len()));
    };
    if head[..4] != expected[..4] || head[8..] != expected[8..] {
        return Err("not a histogram of 1 ns to 1 h with 2 digits".into());
    }
    let length = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
    if usize::try_from(length) != Ok(body.len()) {
        return Err(format!("{} bytes of histogram, its header says {length}", body.len()));
    }
    count(body).map(drop)
}

/// Sums the counts: ZigZag LEB128 of at most 9 bytes each; negative numbers are runs of zeros.
fn count(mut body: &[u8]) -> Result<u64, String> {
    let mut sum: u64 = 0;
    while let Some((number, tail)) = split_number(body) {
        body = tail;
        // `i64::MIN` has no opposite and cannot be a run of zeros.
        let count = number.checked_neg().map(|_| number).ok_or("a run of zeros without end")?;
        sum = sum
            .checked_add(u64::try_from(count).unwrap_or(0))
            .filter(|sum| i64::try_from(*sum).is_ok())
            .ok_or("more samples than can be counted")?;
    }
    if body.is_empty() { Ok(sum) } else { Err("a histogram that breaks off".into()) }
}

fn split_number(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let mut encoded: u64 = 0;
    for (index, byte) in bytes.iter().take(9).enumerate() {
        // The ninth byte has 8 bits of data; the highest bit of the others marks continuation.
        let (bits, last) = if index == 8 { (*byte, true) } else { (byte & 0x7f, *byte < 0x80) };
        encoded |= u64::from(bits) << (7 * index);
        if last {
            let number = (encoded >> 1).cast_signed() ^ -(encoded & 1).cast_signed();
            return Some((number, &bytes[index + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::{HEADER_BYTES, Latency, header};

    fn framed(body: &[u8]) -> Vec<u8> {
        let mut bytes = header().to_vec();
        bytes[4..8].copy_from_slice(&u32::try_from(body.len()).unwrap().to_be_bytes());
        bytes.extend_from_slice(body);
        bytes
    }

    #[test]
    fn headers_that_request_much_memory_are_rejected() {
        let mut bytes = framed(&[2]);
        bytes[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
        assert!(Latency::from_bytes(&bytes).is_err());
        let mut bytes = framed(&[2]);
        bytes[HEADER_BYTES - 25] = 5;
        assert!(Latency::from_bytes(&bytes).is_err());
    }

    #[test]
    fn extreme_counts_are_rejected() {
        // i64::MIN, whose opposite does not exist, then two counts whose sum overflows.
        assert!(Latency::from_bytes(&framed(&[0xff; 9])).is_err());
        let largest = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        let many = Latency::from_bytes(&framed(&largest)).unwrap();
        assert_eq!(many.samples(), i64::MAX as u64);
        assert!(Latency::from_bytes(&framed(&[largest, largest].concat())).is_err());
        assert!(Latency::from_bytes(&framed(&[0x80])).is_err());
        assert!(Latency::from_bytes(&[]).is_err());
    }

    proptest! {
        #[test]
        fn written_histograms_are_read_back(values in vec(any::<u64>(), 0..50)) {
            let mut latency = Latency::new();
            for value in &values {
                latency.record(*value);
            }
            prop_assert_eq!(Latency::from_bytes(&latency.to_bytes()).unwrap(), latency);
        }

        #[test]
        fn arbitrary_bytes_never_panic(body in vec(any::<u8>(), 0..80)) {
            if let Ok(latency) = Latency::from_bytes(&framed(&body)) {
                prop_assert!(latency.quantile_ns(0.5) <= latency.max_ns());
            }
            prop_assert!(Latency::from_bytes(&body).is_err());
        }
    }
}
