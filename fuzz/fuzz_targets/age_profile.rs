//! A profile of aging, as TOML: read, or refused in words that a terminal can show.
#![no_main]

use libfuzzer_sys::fuzz_target;
use treering_age::check_profile;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Err(error) = check_profile("profile", text) {
        let message = error.to_string();
        assert!(message.contains("profile"), "{message}");
        treering_fuzz::check_shown(&message);
    }
});
