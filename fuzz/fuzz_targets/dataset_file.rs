//! A dataset file, as it is on disk or as the text inside: a dataset within limits, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use treering_datasets::format::{ReaderLimits, read_header, read_within};

fuzz_target!(|data: &[u8]| {
    let limits = ReaderLimits { names: 10_000, ..ReaderLimits::default() };
    let _refused_or_not = read_header(data);
    if let Ok(dataset) = read_within(data, &limits) {
        assert!(dataset.names.len() as u64 <= 4 * limits.names + 1);
    }
    // The fuzzer does not find its way through compression: give it the inside too.
    if let Ok(packed) = zstd::encode_all(data, 1) {
        let _refused_or_not = read_within(packed.as_slice(), &limits);
    }
});
