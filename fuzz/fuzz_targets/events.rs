//! Lines of events, as `--events` prints them: a trial that can be shown, or a refusal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use treering_model::{TrialBuilder, TrialEvent};

fuzz_target!(|data: &[u8]| {
    let mut builder = TrialBuilder::default();
    for line in data.split(|&byte| byte == b'\n') {
        if let Ok(event) = serde_json::from_slice::<TrialEvent>(line) {
            let _in_order_or_not = builder.push(&event);
        }
    }
    if let Some(trial) = builder.finish() {
        let text = serde_json::to_vec(&trial).expect("a trial can be written");
        assert!(!text.is_empty());
        treering_fuzz::show(&trial);
    }
});
