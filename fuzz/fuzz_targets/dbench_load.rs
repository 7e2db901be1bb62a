//! A load file of dbench: its warnings, or an error that says where and what would be right.
#![no_main]

use libfuzzer_sys::fuzz_target;
use treering_dbench::check_load;
use treering_fuzz::{check_message, check_refusal};

fuzz_target!(|data: &[u8]| match check_load("load", data) {
    Ok(warnings) => warnings.iter().for_each(|warning| check_message("load", warning)),
    Err(error) => check_refusal("load", &error),
});
