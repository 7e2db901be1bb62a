//! A profile of FFSB: its warnings, or an error that says where and what would be right.
#![no_main]

use libfuzzer_sys::fuzz_target;
use treering_ffsb::check_profile;
use treering_fuzz::{check_message, check_refusal};

fuzz_target!(|data: &[u8]| match check_profile("profile", data) {
    Ok(warnings) => warnings.iter().for_each(|warning| check_message("profile", warning)),
    Err(error) => check_refusal("profile", &error),
});
