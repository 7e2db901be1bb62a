//! Records of blktrace and the meaning of their numbers.

use crate::event::{Action, DeviceNumber, Operation, RequestEvent, RequestFlags};

/// Magic without its version byte.
pub(super) const MAGIC: u32 = 0x6561_7400;
pub(super) const VERSION: u32 = 7;
pub(super) const VERSION_2: u32 = 8;

/// Size of a record without its payload, in bytes.
pub(super) const RECORD_BYTES: usize = 48;
pub(super) const RECORD_2_BYTES: usize = 64;

/// Category bits, above the 16 bits of the action.
const READ: u64 = 1;
const WRITE: u64 = 1 << 1;
const FLUSH: u64 = 1 << 2;
const SYNC: u64 = 1 << 3;
const QUEUE: u64 = 1 << 4;
const REQUEUE: u64 = 1 << 5;
const ISSUE: u64 = 1 << 6;
const COMPLETE: u64 = 1 << 7;
const FS: u64 = 1 << 8;
const PC: u64 = 1 << 9;
pub(super) const NOTIFY: u64 = 1 << 10;
const AHEAD: u64 = 1 << 11;
const META: u64 = 1 << 12;
const DISCARD: u64 = 1 << 13;
const FUA: u64 = 1 << 15;
const ZONE_APPEND: u64 = 1 << 16;
/// Second format only; the first one reports a write.
const WRITE_ZEROES: u64 = 1 << 22;

/// Mask of the action number within its 16 bits. Another of these bits marks a payload that begins
/// with a cgroup ID.
const ACTION_MASK: u64 = 0xff;
const CGROUP: u64 = 1 << 8;

/// Supported actions: number, action and category.
const ACTIONS: [(u64, Action, u64); 8] = [
    (1, Action::Queue, QUEUE),
    (2, Action::BackMerge, QUEUE),
    (3, Action::FrontMerge, QUEUE),
    (4, Action::GetRequest, QUEUE),
    (6, Action::Requeue, REQUEUE),
    (7, Action::Issue, ISSUE),
    (8, Action::Complete, COMPLETE),
    (12, Action::Insert, QUEUE),
];

/// Record of either format, with its fields in file order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TraceRecord {
    pub(super) time_ns: u64,
    pub(super) sector: u64,
    pub(super) bytes: u32,
    pub(super) action: u64,
    pub(super) process: u32,
    pub(super) device: u32,
    pub(super) cpu: u32,
    pub(super) error: u16,
    /// Payload.
    pub(super) data: Vec<u8>,
}

impl TraceRecord {
    fn category(&self) -> u64 {
        self.action >> 16
    }

    /// Decodes the event; `None` for other records and unsupported actions.
    pub(super) fn event(&self) -> Option<RequestEvent> {
        let category = self.category();
        if category & NOTIFY != 0 {
            return None;
        }
        let number = self.action & ACTION_MASK;
        let &(_, action, _) = ACTIONS.iter().find(|(known, ..)| *known == number)?;
        Some(RequestEvent {
            time_ns: self.time_ns,
            sector: self.sector,
            bytes: self.bytes,
            device: DeviceNumber(self.device),
            action,
            operation: operation(category, self.bytes),
            flags: RequestFlags {
                sync: category & SYNC != 0,
                meta: category & META != 0,
                ahead: category & AHEAD != 0,
                fua: category & FUA != 0,
                flush_first: category & FLUSH != 0 && self.bytes != 0,
            },
            process: self.process,
            cpu: self.cpu,
            error: self.error,
        })
    }

    /// Decodes the process name; `None` for other records.
    pub(super) fn process_name(&self) -> Option<String> {
        if self.category() & NOTIFY == 0 || self.action & ACTION_MASK != 0 {
            return None;
        }
        let skipped = if self.action & CGROUP == 0 { 0 } else { 8 };
        let name = self.data.get(skipped..)?.split(|byte| *byte == 0).next()?;
        (!name.is_empty()).then(|| String::from_utf8_lossy(name).into_owned())
    }

    /// Encodes an event in the first format.
    pub(super) fn from_event(event: &RequestEvent) -> Self {
        let known = ACTIONS.iter().find(|(_, action, _)| *action == event.action);
        let (number, category) = known.map_or((1, QUEUE), |(number, _, bits)| (*number, *bits));
        let kind = match event.operation {
            Operation::Read => READ | FS,
            // The first format has no bit for writes of zeroes.
            Operation::Write | Operation::WriteZeroes => WRITE | FS,
            Operation::Discard => WRITE | DISCARD | FS,
            Operation::Flush => READ | FLUSH | FS,
            Operation::Other => READ | PC,
        };
        let flags = event.flags;
        let flags = [
            (flags.sync, SYNC),
            (flags.meta, META),
            (flags.ahead, AHEAD),
            (flags.fua, FUA),
            (flags.flush_first && event.bytes != 0, FLUSH),
        ];
        let flags = flags.iter().filter(|(set, _)| *set).fold(0, |bits, (_, bit)| bits | bit);
        Self {
            time_ns: event.time_ns,
            sector: event.sector,
            bytes: event.bytes,
            action: (category | kind | flags) << 16 | number,
            process: event.process,
            device: event.device.0,
            cpu: event.cpu,
            error: event.error,
            data: Vec::new(),
        }
    }

    /// Builds a notification, such as the name of a process.
    pub(super) fn note(number: u64, process: u32, device: DeviceNumber, data: Vec<u8>) -> Self {
        let action = NOTIFY << 16 | number;
        Self { action, process, device: device.0, data, ..Self::default() }
    }

    /// Encodes the record in the first format, in native byte order.
    pub(super) fn to_bytes(&self, sequence: u32) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(RECORD_BYTES + self.data.len());
        bytes.extend((MAGIC | VERSION).to_ne_bytes());
        bytes.extend(sequence.to_ne_bytes());
        bytes.extend(self.time_ns.to_ne_bytes());
        bytes.extend(self.sector.to_ne_bytes());
        bytes.extend(self.bytes.to_ne_bytes());
        bytes.extend(u32::try_from(self.action & 0xffff_ffff).unwrap_or(0).to_ne_bytes());
        bytes.extend(self.process.to_ne_bytes());
        bytes.extend(self.device.to_ne_bytes());
        bytes.extend(self.cpu.to_ne_bytes());
        bytes.extend(self.error.to_ne_bytes());
        let length = u16::try_from(self.data.len()).unwrap_or(u16::MAX);
        bytes.extend(length.to_ne_bytes());
        bytes.extend(&self.data[..usize::from(length)]);
        bytes
    }
}

fn operation(category: u64, bytes: u32) -> Operation {
    if category & PC != 0 {
        Operation::Other
    } else if category & DISCARD != 0 {
        Operation::Discard
    } else if category & FLUSH != 0 && bytes == 0 {
        Operation::Flush
    } else if category & WRITE_ZEROES != 0 {
        Operation::WriteZeroes
    } else if category & (WRITE | ZONE_APPEND) != 0 {
        Operation::Write
    } else if category & READ != 0 {
        Operation::Read
    } else {
        Operation::Other
    }
}
