//! A modelled disk, as TOML: what is read serves any request in a finite time, and so do the fast
//! and the slow disk of its uncertainty.
#![no_main]

use libfuzzer_sys::fuzz_target;
use treering_model::ModelledSeconds;
use treering_trace::{
    Action, DeviceNumber, DiskReplay, ModelledDisk, Operation, RequestEvent, RequestFlags,
    TraceEntry,
};

const OFFSETS: [u64; 8] = [0, 8, 1 << 20, 3, u64::MAX / 512, 1 << 40, 9, 4096];

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let disk = match ModelledDisk::read(text) {
        Ok(disk) => disk,
        Err(error) => return treering_fuzz::check_shown(&error.to_string()),
    };
    let mut replay = DiskReplay::new(&disk);
    for (at, sector) in OFFSETS.into_iter().cycle().take(100).enumerate() {
        let operation = if at % 3 == 0 { Operation::Write } else { Operation::Read };
        let event = |action, time_ns| RequestEvent {
            time_ns,
            sector,
            bytes: 4096 << (at % 9),
            device: DeviceNumber::new(8, 0),
            action,
            operation,
            flags: RequestFlags::default(),
            process: 0,
            cpu: 0,
            error: 0,
        };
        let begun_ns = at as u64 * 1000;
        replay.entry(&TraceEntry::Event(event(Action::Issue, begun_ns)));
        replay.entry(&TraceEntry::Event(event(Action::Complete, begun_ns + 500)));
    }
    for cost in replay.end() {
        let ModelledSeconds { typical, low, high } = cost.busy;
        assert!(typical.is_finite() && low.is_finite() && high.is_finite(), "{cost:?}");
        assert!(low >= 0.0 && low <= high, "{cost:?}");
    }
});
