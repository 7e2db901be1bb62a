//! An event of a block device request, and the other entries of a trace.

use std::fmt;

/// Width of the minor number within a device number, in bits.
const MINOR_BITS: u32 = 20;

/// Block device number in the encoding of the kernel's tracepoints and blktrace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceNumber(pub u32);

impl DeviceNumber {
    /// Combines major and minor number; a minor number of more than 20 bits is truncated.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self(major << MINOR_BITS | minor & ((1 << MINOR_BITS) - 1))
    }

    /// Major number: the driver.
    pub const fn major(self) -> u32 {
        self.0 >> MINOR_BITS
    }

    /// Minor number: the device within its driver.
    pub const fn minor(self) -> u32 {
        self.0 & ((1 << MINOR_BITS) - 1)
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major(), self.minor())
    }
}

/// Stage in the life of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Request submitted by a filesystem or program.
    Queue,
    /// Bio merged to the end of a waiting request.
    BackMerge,
    /// Bio merged to the beginning of a waiting request.
    FrontMerge,
    /// Request allocated in the queue.
    GetRequest,
    /// Request handed to the I/O scheduler.
    Insert,
    /// Request handed to the device.
    Issue,
    /// Request rejected by the device and queued again.
    Requeue,
    /// Request, or a part of it, completed by the device.
    Complete,
}

impl Action {
    /// Every action, indexed by its number in treering's trace files.
    pub(crate) const ALL: [Self; 8] = [
        Self::Queue,
        Self::BackMerge,
        Self::FrontMerge,
        Self::GetRequest,
        Self::Insert,
        Self::Issue,
        Self::Requeue,
        Self::Complete,
    ];
}

/// Operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Read of data.
    Read,
    /// Write of data.
    Write,
    /// Discard (trim) of a range.
    Discard,
    /// Flush of the device's write cache.
    Flush,
    /// Any other operation.
    Other,
    /// Write of zeroes without a data transfer: the device receives only the range.
    WriteZeroes,
}

impl Operation {
    /// Every operation, indexed by its number in treering's trace files.
    pub(crate) const ALL: [Self; 6] =
        [Self::Read, Self::Write, Self::Discard, Self::Flush, Self::Other, Self::WriteZeroes];

    /// Reports whether sectors are read or written.
    pub(crate) const fn moves_data(self) -> bool {
        matches!(self, Self::Read) || self.is_write()
    }

    /// Reports whether sectors are written, with zeroes or with data.
    pub const fn is_write(self) -> bool {
        matches!(self, Self::Write | Self::WriteZeroes)
    }
}

/// Request flags, as blktrace names them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RequestFlags {
    /// Synchronous: a caller waits for completion.
    pub sync: bool,
    /// Metadata request.
    pub meta: bool,
    /// Read-ahead.
    pub ahead: bool,
    /// Forced unit access: the data are durable on completion.
    pub fua: bool,
    /// Preflush: the write cache is flushed before this request.
    pub flush_first: bool,
}

impl RequestFlags {
    pub(crate) fn bits(self) -> u8 {
        let flags = [self.sync, self.meta, self.ahead, self.fua, self.flush_first];
        flags.iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(*flag))
    }

    pub(crate) fn from_bits(bits: u8) -> Self {
        let [sync, meta, ahead, fua, flush_first] = [1, 2, 4, 8, 16].map(|bit| bits & bit != 0);
        Self { sync, meta, ahead, fua, flush_first }
    }

    /// Reads the kernel's letters: `WFSM`.
    pub fn from_letters(letters: &[u8]) -> (Operation, Self) {
        let letters = letters.split(|byte| *byte == 0).next().unwrap_or_default();
        let mut flags = Self::default();
        let mut unread = letters;
        if let [b'F', after @ ..] = unread
            && after.first().is_some_and(|letter| b"RWDFNZ".contains(letter))
        {
            flags.flush_first = true;
            unread = after;
        }
        let (operation, unread) = match unread {
            [b'R', after @ ..] => (Operation::Read, after),
            // Newer kernels write WZ for writes of zeroes and ZA for zone appends; older ones write
            // N.
            [b'W', b'Z', after @ ..] => (Operation::WriteZeroes, after),
            [b'W', after @ ..] | [b'Z', b'A', after @ ..] => (Operation::Write, after),
            [b'D', b'E', after @ ..] | [b'D', after @ ..] => (Operation::Discard, after),
            [b'F', after @ ..] => (Operation::Flush, after),
            [_, after @ ..] => (Operation::Other, after),
            [] => (Operation::Other, unread),
        };
        for letter in unread {
            match letter {
                b'F' => flags.fua = true,
                b'A' => flags.ahead = true,
                b'S' => flags.sync = true,
                b'M' => flags.meta = true,
                _ => {}
            }
        }
        // A preflush without data is a flush.
        let is_flush = operation == Operation::Other && flags.flush_first;
        (if is_flush { Operation::Flush } else { operation }, flags)
    }
}

/// An event of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestEvent {
    /// Nanoseconds of the trace's clock.
    pub time_ns: u64,
    /// First sector, in units of 512 bytes from the beginning of the device or partition.
    pub sector: u64,
    /// Length of the request in bytes.
    pub bytes: u32,
    /// Device or partition of the request.
    pub device: DeviceNumber,
    /// Stage of the request.
    pub action: Action,
    /// Operation of the request.
    pub operation: Operation,
    /// Flags of the request.
    pub flags: RequestFlags,
    /// Process ID of the submitter, as far as the kernel knows.
    pub process: u32,
    /// CPU on which the event occurred.
    pub cpu: u32,
    /// Errno of a failed request; 0 on success.
    pub error: u16,
}

impl RequestEvent {
    /// Length of the request in sectors, rounded up.
    pub fn sectors(&self) -> u64 {
        u64::from(self.bytes).div_ceil(512)
    }

    /// First sector behind the request.
    pub fn end(&self) -> u64 {
        self.sector.saturating_add(self.sectors())
    }
}

/// A device of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceDevice {
    /// Device number used in events.
    pub number: DeviceNumber,
    /// Device name, as in `sda1`.
    pub name: String,
    /// Size in sectors of 512 bytes; 0 when unknown.
    pub sectors: u64,
}

/// Entry of a trace; entries are in chronological order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceEntry {
    /// Device whose events follow.
    Device(TraceDevice),
    /// Name of a process.
    Process {
        /// Process ID used in events.
        process: u32,
        /// Command name.
        name: String,
    },
    /// Event of a request.
    Event(RequestEvent),
    /// Beginning of a phase, which ends the previous one.
    Phase {
        /// Time of the phase change, in nanoseconds of the trace's clock.
        time_ns: u64,
        /// Name of the phase; empty if no further phase begins.
        name: String,
    },
    /// Loss of events.
    Lost {
        /// Number of lost events.
        events: u64,
    },
    /// Number about the recording as a whole: see [`TraceEntry::BEGIN_NS`] and the constants beside
    /// it. Readers ignore unknown names.
    Note {
        /// Name of the number.
        name: String,
        /// Value of the number.
        value: u64,
    },
}

impl TraceEntry {
    /// Start of the recording in nanoseconds of the trace's clock; precedes all events.
    pub const BEGIN_NS: &str = "begin_ns";
    /// End of the recording; follows all events.
    pub const END_NS: &str = "end_ns";
    /// See [`TraceFigures::program_write_bytes`](crate::TraceFigures::program_write_bytes).
    pub const PROGRAM_WRITE_BYTES: &str = "program_write_bytes";
    /// See [`TraceFigures::missing_bytes`](crate::TraceFigures::missing_bytes).
    pub const MISSING_BYTES: &str = "missing_bytes";

    /// Builds a note from its name and value.
    pub fn note(name: &str, value: u64) -> Self {
        Self::Note { name: name.to_owned(), value }
    }
}

#[cfg(test)]
mod tests {
    use super::{DeviceNumber, Operation, RequestFlags};

    #[test]
    fn rwbs_letters_are_parsed() {
        let read = |letters: &[u8]| RequestFlags::from_letters(letters);
        assert_eq!(read(b"R\0\0\0"), (Operation::Read, RequestFlags::default()));
        let ahead = RequestFlags { ahead: true, ..RequestFlags::default() };
        assert_eq!(read(b"RA\0xx"), (Operation::Read, ahead));
        let all_flags =
            RequestFlags { sync: true, meta: true, fua: true, flush_first: true, ahead: false };
        assert_eq!(read(b"FWFSM"), (Operation::Write, all_flags));
        let first = RequestFlags { flush_first: true, ..RequestFlags::default() };
        assert_eq!(read(b"FF"), (Operation::Flush, first));
        assert_eq!(read(b"F"), (Operation::Flush, RequestFlags::default()));
        assert_eq!(read(b"FN"), (Operation::Flush, first));
        assert_eq!(read(b"DE").0, Operation::Discard);
        assert_eq!(read(b"WZS"), (Operation::WriteZeroes, read(b"WS").1));
        assert_eq!((read(b"ZA").0, read(b"ZR").0), (Operation::Write, Operation::Other));
        assert_eq!(
            read(b"DS"),
            (Operation::Discard, RequestFlags { sync: true, ..RequestFlags::default() })
        );
        assert_eq!(read(b"N").0, Operation::Other);
        assert_eq!(read(b"").0, Operation::Other);
    }

    #[test]
    fn flags_and_device_numbers_round_trip() {
        for bits in 0..32 {
            assert_eq!(RequestFlags::from_bits(bits).bits(), bits);
        }
        let number = DeviceNumber::new(7, 3);
        assert_eq!((number.0, number.to_string().as_str()), (7 << 20 | 3, "7:3"));
    }
}
