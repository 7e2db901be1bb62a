//! treering's own trace format: each entry is a type byte followed by variable-length numbers, most
//! of them differences from the previous event. An event takes about eight bytes, against 48 in
//! blktrace.
//!
//! The trace of a killed run can be read up to its last whole entry.

mod read;
mod write;

pub use read::TraceReader;
pub use write::TraceWriter;

use crate::event::{DeviceNumber, RequestEvent};

/// File header with the format version. Version 1 has neither notes nor writes of zeroes, and is
/// read like version 2.
const BEGINNING: &[u8] = b"treering trace 2\n";
const BEGINNING_1: &[u8] = b"treering trace 1\n";

/// Limit of a name in bytes.
const NAME_BYTES_MAX: usize = 4096;

/// Limit of devices in a trace.
const DEVICES_MAX: usize = 4096;

/// Entry types. Events have the highest bit set, four bits of action and three of operation.
const DEVICE: u8 = 1;
const PROCESS: u8 = 2;
const PHASE: u8 = 3;
const LOST: u8 = 4;
const END: u8 = 5;
const NOTE: u8 = 6;
const EVENT: u8 = 0x80;

/// Bits beside the five flags.
const SAME_DEVICE: u8 = 1 << 5;
const SAME_PROCESS: u8 = 1 << 6;
const SAME_CPU: u8 = 1 << 7;

/// Reports whether a file with this beginning is a treering trace.
pub fn is_trace(beginning: &[u8]) -> bool {
    beginning.starts_with(BEGINNING) || beginning.starts_with(BEGINNING_1)
}

/// Reference values for the differences in entries.
#[derive(Debug, Default)]
struct DeltaBase {
    time_ns: u64,
    process: u32,
    cpu: u32,
    /// Index of the device in `devices`.
    device: usize,
    devices: Vec<DeviceBase>,
}

/// Device and the sector of its previous event.
#[derive(Debug)]
struct DeviceBase {
    number: DeviceNumber,
    sector: u64,
}

impl DeltaBase {
    fn keep(&mut self, event: &RequestEvent, device: usize) {
        self.time_ns = event.time_ns;
        self.process = event.process;
        self.cpu = event.cpu;
        self.device = device;
        if let Some(place) = self.devices.get_mut(device) {
            place.sector = event.sector;
        }
    }
}

/// Zigzag encoding: moves the sign to the lowest bit, so that small differences give small numbers.
fn folded(difference: u64) -> u64 {
    let signed = difference.cast_signed();
    (signed << 1 ^ signed >> 63).cast_unsigned()
}

fn unfolded(number: u64) -> u64 {
    number >> 1 ^ (number & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{TraceReader, TraceWriter, folded, unfolded};
    use crate::event::{
        Action, DeviceNumber, Operation, RequestEvent, RequestFlags, TraceDevice, TraceEntry,
    };

    fn event() -> impl Strategy<Value = RequestEvent> {
        let places = (any::<u64>(), any::<u64>(), any::<u32>(), 0u32..3);
        let kinds = (0usize..8, 0usize..6, 0u8..32);
        let ids = (any::<u32>(), any::<u32>(), any::<u16>());
        (places, kinds, ids).prop_map(|((time_ns, sector, bytes, minor), kinds, ids)| {
            RequestEvent {
                time_ns,
                sector,
                bytes,
                device: DeviceNumber::new(7, minor),
                action: Action::ALL[kinds.0],
                operation: Operation::ALL[kinds.1],
                flags: RequestFlags::from_bits(kinds.2),
                process: ids.0,
                cpu: ids.1,
                error: ids.2,
            }
        })
    }

    fn entry() -> impl Strategy<Value = TraceEntry> {
        let device = |(minor, name, sectors)| {
            TraceEntry::Device(TraceDevice { number: DeviceNumber::new(8, minor), name, sectors })
        };
        prop_oneof![
            8 => event().prop_map(TraceEntry::Event),
            1 => (0u32..9, ".{0,9}", any::<u64>()).prop_map(device),
            1 => (any::<u32>(), ".{0,9}")
                .prop_map(|(process, name)| TraceEntry::Process { process, name }),
            1 => (any::<u64>(), ".{0,9}")
                .prop_map(|(time_ns, name)| TraceEntry::Phase { time_ns, name }),
            1 => any::<u64>().prop_map(|events| TraceEntry::Lost { events }),
            1 => (".{0,9}", any::<u64>())
                .prop_map(|(name, value)| TraceEntry::Note { name, value }),
        ]
    }

    fn written(entries: &[TraceEntry]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = TraceWriter::new(&mut bytes).unwrap();
        for entry in entries {
            writer.entry(entry).unwrap();
        }
        writer.finish().unwrap();
        bytes
    }

    proptest! {
        #[test]
        fn written_entries_are_read_back(entries in prop::collection::vec(entry(), 0..60)) {
            let bytes = written(&entries);
            let mut reader = TraceReader::new(bytes.as_slice()).unwrap();
            let mut read: Vec<TraceEntry> = Vec::new();
            while let Some(entry) = reader.next_entry().unwrap() {
                read.push(entry);
            }
            prop_assert!(reader.is_whole());
            // Unnamed devices get an entry before their first event.
            let named = |entry: &&TraceEntry| !matches!(entry, TraceEntry::Device(_));
            let kept = |entries: &[TraceEntry]| -> Vec<_> {
                entries.iter().filter(named).cloned().collect()
            };
            prop_assert_eq!(kept(&read), kept(&entries));
        }

        #[test]
        fn truncated_traces_end_with_a_whole_entry(entries in prop::collection::vec(entry(), 1..30),
                                            cut in 0usize..1000) {
            let bytes = written(&entries);
            let length = bytes.len() * cut / 1000;
            let Ok(mut reader) = TraceReader::new(&bytes[..length]) else {
                prop_assert!(length < super::BEGINNING.len());
                return Ok(());
            };
            while reader.next_entry().unwrap().is_some() {}
            prop_assert!(!reader.is_whole());
        }

        #[test]
        fn arbitrary_bytes_end_or_fail(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let mut file = super::BEGINNING.to_vec();
            file.extend(bytes);
            let mut reader = TraceReader::new(file.as_slice()).unwrap();
            while let Ok(Some(_)) = reader.next_entry() {}
        }

        #[test]
        fn zigzag_encoding_round_trips(number in any::<u64>()) {
            prop_assert_eq!(unfolded(folded(number)), number);
        }
    }

    #[test]
    fn small_differences_have_short_encodings() {
        assert_eq!([0, 1, u64::MAX, 2].map(folded), [0, 2, 1, 4]);
        let event = RequestEvent {
            time_ns: 1 << 40,
            sector: 1 << 30,
            bytes: 4096,
            device: DeviceNumber::new(7, 0),
            action: Action::Issue,
            operation: Operation::Read,
            flags: RequestFlags::default(),
            process: 4711,
            cpu: 1,
            error: 0,
        };
        let next =
            RequestEvent { time_ns: event.time_ns + 3000, sector: event.sector + 8, ..event };
        let one_event = written(&[TraceEntry::Event(event)]).len();
        let two_events = written(&[TraceEntry::Event(event), TraceEntry::Event(next)]).len();
        assert_eq!(two_events - one_event, 7);
    }

    #[test]
    fn version_1_is_read() {
        let entry = TraceEntry::Lost { events: 3 };
        let mut file = written(std::slice::from_ref(&entry));
        file[..super::BEGINNING_1.len()].copy_from_slice(super::BEGINNING_1);
        assert!(super::is_trace(&file));
        let mut reader = TraceReader::new(file.as_slice()).unwrap();
        assert_eq!(reader.next_entry().unwrap(), Some(entry));
    }

    #[test]
    fn damage_is_reported_with_its_offset() {
        let wrong = |bytes: &[u8]| {
            let mut file = super::BEGINNING.to_vec();
            file.extend(bytes);
            let mut reader = TraceReader::new(file.as_slice()).unwrap();
            let mut last = reader.next_entry();
            while let Ok(Some(_)) = last {
                last = reader.next_entry();
            }
            last.unwrap_err().to_string()
        };
        assert_eq!(wrong(&[9]), "byte 17: 9 is no kind of entry");
        assert_eq!(wrong(&[0x80, 0, 0, 0, 0, 0]), "byte 20: an event of device 0 of 0");
        assert!(wrong(&[2, 0, 0xff, 0xff, 3]).contains("a name of 65535 bytes"));
        let foreign = TraceReader::new(&b"hello"[..]).err().unwrap().to_string();
        assert!(foreign.contains("no trace of treering"), "{foreign}");
        let newer = TraceReader::new(&b"treering trace 3\n"[..]).err().unwrap().to_string();
        assert!(newer.contains("version"), "{newer}");
    }
}
