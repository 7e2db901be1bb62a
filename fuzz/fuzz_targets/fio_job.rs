//! A job file of fio: its jobs, which are the same when they are shown and read again, or an error
//! that says where and what would be right.
#![no_main]

use libfuzzer_sys::fuzz_target;
use treering_fio::show_job_file;
use treering_fuzz::check_refusal;

fuzz_target!(|data: &[u8]| {
    match show_job_file("job", data) {
        Ok(shown) => {
            let again = show_job_file("job", shown.as_bytes());
            assert_eq!(again.as_deref(), Ok(shown.as_str()));
        }
        Err(error) => check_refusal("job", &error),
    }
});
