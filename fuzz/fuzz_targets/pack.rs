//! A pack that anybody may have written: its trials, or an error; what can be read can be shown.
//!
//! The input is either the file itself or, to come past the seal, the lines of its content.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use treering_model::{TrialBuilder, TrialEvent};
use treering_pack::{CanonicalTrial, NameRemover, PackReader, sealed};

fuzz_target!(|data: &[u8]| {
    let file = if data.starts_with(b"treering-pack") {
        data.to_vec()
    } else {
        sealed(data).expect("memory takes it")
    };
    let Ok(mut pack) = PackReader::open(Cursor::new(file)) else { return };
    let (mut names, mut canon) = (NameRemover::new([]), CanonicalTrial::new([], &[]));
    while let Ok(Some(beginning)) = pack.next_trial() {
        let mut builder = TrialBuilder::default();
        let mut next = Some(TrialEvent::Began(beginning));
        while let Some(mut event) = next {
            names.leave_out(&mut event);
            canon.add(&event);
            let _in_order_or_not = builder.push(&event);
            next = pack.next_event().ok().flatten();
        }
        if let Some(trial) = builder.finish() {
            treering_fuzz::show(&trial);
        }
    }
});
