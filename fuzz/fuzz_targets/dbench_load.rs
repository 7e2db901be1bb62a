//! A load file of dbench: its warnings, or an error that says where and what would be right.
#![no_main]

use libfuzzer_sys::fuzz_target;
use treering_workloads::dbench::check_load;

fuzz_target!(|data: &[u8]| {
    let messages = match check_load("load", data) {
        Ok(warnings) => warnings,
        Err(error) => {
            assert!(error.hint.is_some(), "{error}");
            vec![error.message]
        }
    };
    for message in messages {
        assert!(message.starts_with("load:"), "{message}");
        assert!(!message.contains(char::is_control), "{message:?}");
        assert!(message.len() < 2_000, "{message}");
    }
});
