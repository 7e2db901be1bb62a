//! A job file of fio: its jobs, which are the same when they are shown and read again, or an error
//! that says where and what would be right.
#![no_main]

use libfuzzer_sys::fuzz_target;
use treering_workloads::fio::show_job_file;

fuzz_target!(|data: &[u8]| {
    match show_job_file("job", data) {
        Ok(shown) => {
            let again = show_job_file("job", shown.as_bytes());
            assert_eq!(again.as_deref(), Ok(shown.as_str()));
        }
        Err(error) => {
            assert!(error.hint.is_some(), "{error}");
            assert!(error.message.starts_with("job:"), "{error}");
            assert!(!error.message.contains(char::is_control), "{error:?}");
            assert!(error.message.len() < 2_000, "{error}");
        }
    }
});
