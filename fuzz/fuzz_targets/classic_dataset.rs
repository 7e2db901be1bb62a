//! The original's four lists, separated by a form feed: a dataset, or an error that names a place.
#![no_main]

use std::path::PathBuf;

use libfuzzer_sys::fuzz_target;
use treering_datasets::classic::read_lists;

fuzz_target!(|data: &[u8]| {
    let mut parts = data.splitn(4, |&byte| byte == 0x0c);
    let sources = [(); 4].map(|()| (PathBuf::from("list"), parts.next().unwrap_or_default()));
    if let Ok(dataset) = read_lists("fuzz", sources) {
        assert!(dataset.unpatched.len() < dataset.names.len());
        assert!(dataset.unpatched.bytes() < 1 << 63);
    }
});
