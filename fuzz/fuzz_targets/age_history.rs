//! The history of a repository: what is taken for one stays as it is and is one again, anything
//! else is refused with its line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use treering_age::checked_history;

fuzz_target!(|data: &[u8]| match checked_history(data.to_vec()) {
    Ok(text) => assert_eq!(checked_history(text.clone()).expect("it was one"), text),
    Err(error) => {
        let message = error.to_string();
        assert!(message.contains("the history"), "{message}");
        treering_fuzz::check_shown(&message);
    }
});
