//! A script of ior: its tests, or an error that says where and what would be right.
#![no_main]

use libfuzzer_sys::fuzz_target;
use treering_fuzz::check_refusal;
use treering_ior::check_script;

fuzz_target!(|data: &[u8]| if let Err(error) = check_script("script", data) {
    check_refusal("script", &error);
});
