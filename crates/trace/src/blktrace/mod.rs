//! The files of blktrace: one per device and CPU, with records of 48 bytes in the byte order of the
//! recording machine, each followed by its payload. Since Linux 6.19 there is a second format with
//! records of 64 bytes, whose magic ends in 8 instead of 7.

mod read;
mod record;
mod write;

pub use read::BlktraceReader;
pub use write::BlktraceWriter;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::record::{RECORD_2_BYTES, RECORD_BYTES};
    use super::{BlktraceReader, BlktraceWriter};
    use crate::event::{Action, DeviceNumber, Operation, RequestEvent, RequestFlags, TraceEntry};

    fn events(bytes: &[u8]) -> Vec<RequestEvent> {
        let mut reader = BlktraceReader::new(vec![bytes]).unwrap();
        let mut events = Vec::new();
        while let Some(entry) = reader.next_entry().unwrap() {
            if let TraceEntry::Event(event) = entry {
                events.push(event);
            }
        }
        events
    }

    fn event() -> impl Strategy<Value = RequestEvent> {
        let kinds = (0usize..8, 0usize..4, 0u8..16);
        let ids = (any::<u32>(), 0u32..4, any::<u16>());
        (0u64..1 << 40, any::<u64>(), 1u32..u32::MAX, kinds, ids).prop_map(
            |(time_ns, sector, bytes, kinds, ids)| {
                let operation = Operation::ALL[kinds.1];
                let is_flush = operation == Operation::Flush;
                let action = Action::ALL[kinds.0];
                RequestEvent {
                    time_ns,
                    sector,
                    bytes: if is_flush { 0 } else { bytes },
                    device: DeviceNumber::new(7, 1),
                    action,
                    operation,
                    flags: RequestFlags::from_bits(kinds.2),
                    process: ids.0,
                    cpu: ids.1,
                    error: if action == Action::Complete { ids.2 } else { 0 },
                }
            },
        )
    }

    proptest! {
        #[test]
        fn written_events_are_read_back(mut recorded in prop::collection::vec(event(), 0..50)) {
            recorded.sort_by_key(|event| event.time_ns);
            let mut files: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
            let mut writer = BlktraceWriter::new(Some(0), |_, _| Ok(Vec::new()));
            for event in &recorded {
                writer.entry(&TraceEntry::Event(*event)).unwrap();
            }
            for ((_, cpu), file) in writer.into_files() {
                files.insert(cpu, file);
            }
            let inputs = files.values().map(Vec::as_slice).collect();
            let mut reader = BlktraceReader::new(inputs).unwrap();
            let mut read = Vec::new();
            while let Some(entry) = reader.next_entry().unwrap() {
                if let TraceEntry::Event(event) = entry {
                    read.push(event);
                }
            }
            let key = |event: &RequestEvent| (event.time_ns, event.cpu, event.sector);
            read.sort_by_key(key);
            recorded.sort_by_key(key);
            prop_assert_eq!(read, recorded);
            prop_assert!(reader.is_whole());
        }

        #[test]
        fn arbitrary_bytes_end_or_fail(bytes in prop::collection::vec(any::<u8>(), 0..300),
                                        order in any::<bool>(), second in any::<bool>()) {
            let magic = 0x6561_7407u32 + u32::from(second);
            let mut file = if order { magic.to_le_bytes() } else { magic.to_be_bytes() }.to_vec();
            file.extend(bytes);
            let mut reader = BlktraceReader::new(vec![file.as_slice()]).unwrap();
            while let Ok(Some(_)) = reader.next_entry() {}
        }
    }

    /// A record of either form and byte order, of a completed read of 4 KiB.
    fn record(second: bool, big: bool) -> Vec<u8> {
        let mut record = Vec::new();
        let mut put = |value: u64, bytes: usize| {
            let bytes_of_value = if big { value.to_be_bytes() } else { value.to_le_bytes() };
            record.extend_from_slice(if big {
                &bytes_of_value[8 - bytes..]
            } else {
                &bytes_of_value[..bytes]
            });
        };
        put(0x6561_7407 + u64::from(second), 4);
        put(1, 4);
        put(5000, 8);
        put(1 << 33, 8);
        put(4096, 4);
        let action = (1 << 7 | 1 << 8 | 1) << 16 | 8;
        if second {
            put(77, 4);
            // Sets category bits beyond those of the first format, and the cgroup flag.
            put(1 << 33 | action | 1 << 8, 8);
        } else {
            put(action, 4);
            put(77, 4);
        }
        put(7 << 20 | 2, 4);
        put(3, 4);
        put(5, 2);
        put(8, 2);
        if second {
            put(0, 8);
            put(0, 4);
        }
        put(0, 8);
        record
    }

    #[test]
    fn both_formats_and_byte_orders_decode_alike() {
        for (second, big) in [(false, false), (false, true), (true, false), (true, true)] {
            let bytes = record(second, big);
            assert_eq!(bytes.len(), 8 + if second { RECORD_2_BYTES } else { RECORD_BYTES });
            let twice = [bytes.clone(), bytes.clone()].concat();
            let read = events(&twice);
            assert_eq!(read.len(), 2, "{second} {big}");
            let expected = RequestEvent {
                time_ns: 5000,
                sector: 1 << 33,
                bytes: 4096,
                device: DeviceNumber::new(7, 2),
                action: Action::Complete,
                operation: Operation::Read,
                flags: RequestFlags::default(),
                process: 77,
                cpu: 3,
                error: 5,
            };
            assert_eq!(read[0], expected);
            // Cut off within the second record: the first one is still read.
            assert_eq!(events(&twice[..bytes.len() + 20]).len(), 1);
        }
    }

    #[test]
    fn damaged_records_are_reported_with_their_offset() {
        let mut bytes = record(false, false);
        bytes.extend_from_slice(&[0; 60]);
        let mut reader = BlktraceReader::new(vec![bytes.as_slice()]).unwrap();
        let mut last = reader.next_entry();
        while let Ok(Some(_)) = last {
            last = reader.next_entry();
        }
        let error = last.unwrap_err().to_string();
        assert_eq!(error, "byte 56: 0x0 is not how a record of blktrace begins");
        let foreign = BlktraceReader::new(vec![&b"GIF89a and more of this"[..]]).err().unwrap();
        assert!(foreign.to_string().starts_with("byte 0: "), "{foreign}");
        let newer = BlktraceReader::new(vec![&0x6561_7409u32.to_le_bytes()[..]]).err().unwrap();
        assert!(newer.to_string().contains("version 9"), "{newer}");
    }
}
