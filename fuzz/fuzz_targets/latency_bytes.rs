//! Bytes that may be a latency histogram: one that can be read and merged, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use treering_model::Latency;

fuzz_target!(|data: &[u8]| {
    let empty = Latency::new().to_bytes();
    // Behind our own header, so that the search begins where reading does.
    let mut framed = empty[..40].to_vec();
    framed[4..8].copy_from_slice(&u32::try_from(data.len()).unwrap_or(0).to_be_bytes());
    framed.extend_from_slice(data);
    for bytes in [data, framed.as_slice()] {
        if let Ok(latency) = Latency::from_bytes(bytes) {
            assert!(latency.quantile_ns(0.5) <= latency.max_ns());
            let mut both = Latency::new();
            both.merge(&latency);
            assert_eq!(both.samples(), latency.samples());
        }
    }
});
