//! A file with logs of other tools, from somebody else: trials that hold together, and remarks that
//! can be shown.
#![no_main]

use libfuzzer_sys::fuzz_target;
use treering_registry::import;

fuzz_target!(|data: &[u8]| {
    let imported = import(data);
    for found in &imported.found {
        assert!((1..=imported.lines).contains(&found.lines.0));
        assert!(found.lines.1 <= imported.lines);
    }
    treering_fuzz::check_import(&imported);
});
