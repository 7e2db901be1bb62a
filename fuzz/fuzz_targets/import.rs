//! A file with logs of other tools, from somebody else: trials that hold together, and remarks that
//! can be shown.
#![no_main]

use libfuzzer_sys::fuzz_target;
use treering_registry::{ImportedTrial, import};

fuzz_target!(|data: &[u8]| {
    let imported = import(data);
    for found in &imported.found {
        assert!((1..=imported.lines).contains(&found.lines.0));
        assert!(found.lines.1 <= imported.lines);
        match &found.content {
            ImportedTrial::Foreign(trial) => {
                assert!(trial.metrics.iter().all(|metric| metric.value.is_finite()));
            }
            ImportedTrial::Own(trial) => treering_fuzz::show(trial),
        }
    }
    for remark in &imported.remarks {
        assert!(!remark.what.chars().any(char::is_control));
    }
});
