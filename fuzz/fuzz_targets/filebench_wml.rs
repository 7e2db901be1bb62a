//! A workload file of filebench: the file as it is understood, which is the same when it is shown
//! and read again, or an error that says where and what would be right.
#![no_main]

use libfuzzer_sys::fuzz_target;
use treering_filebench::show_workload;
use treering_fuzz::check_refusal;

fuzz_target!(|data: &[u8]| {
    match show_workload("file", data) {
        Ok((shown, warnings)) => {
            let again = show_workload("file", shown.as_bytes());
            assert_eq!(again.map(|(text, _)| text).as_deref(), Ok(shown.as_str()));
            for warning in warnings {
                assert!(!warning.contains(char::is_control), "{warning:?}");
            }
        }
        Err(error) => check_refusal("file", &error),
    }
});
