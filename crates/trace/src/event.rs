//! An event of a request to a block device, and what else a trace tells.

use std::fmt;

/// Bits of a device number that are the minor's.
const MINOR_BITS: u32 = 20;

/// The number of a block device, as the kernel's tracepoints and blktrace write it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceNumber(pub u32);

impl DeviceNumber {
    /// From its two parts; what is too large for the form is cut off.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self(major << MINOR_BITS | minor & ((1 << MINOR_BITS) - 1))
    }

    /// The number of the driver.
    pub const fn major(self) -> u32 {
        self.0 >> MINOR_BITS
    }

    /// The number of the device among the driver's.
    pub const fn minor(self) -> u32 {
        self.0 & ((1 << MINOR_BITS) - 1)
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major(), self.minor())
    }
}

/// What happened to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A filesystem or a program asks for it.
    Queue,
    /// It went to the end of a request that was waiting.
    BackMerge,
    /// It went to the beginning of a request that was waiting.
    FrontMerge,
    /// A place in the queue was got for it.
    GetRequest,
    /// The scheduler has it.
    Insert,
    /// The device has it.
    Issue,
    /// The device did not take it, and it waits again.
    Requeue,
    /// The device has done it, or a part of it.
    Complete,
}

impl Action {
    /// Every action, each at the place of its number in our files.
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

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// To read.
    Read,
    /// To write.
    Write,
    /// To forget data.
    Discard,
    /// To put what the device has cached where it stays.
    Flush,
    /// Something else.
    Other,
    /// To write zeroes that are not sent: the device is given only the place.
    WriteZeroes,
}

impl Operation {
    /// Every operation, each at the place of its number in our files.
    pub(crate) const ALL: [Self; 6] =
        [Self::Read, Self::Write, Self::Discard, Self::Flush, Self::Other, Self::WriteZeroes];

    /// Whether places of the device are read or written.
    pub(crate) const fn moves_data(self) -> bool {
        matches!(self, Self::Read) || self.is_write()
    }

    /// Whether places of the device are written, with zeroes or with data.
    pub const fn is_write(self) -> bool {
        matches!(self, Self::Write | Self::WriteZeroes)
    }
}

/// What is said of a request besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags {
    /// Somebody waits for it.
    pub sync: bool,
    /// It is for metadata.
    pub meta: bool,
    /// It is read ahead.
    pub ahead: bool,
    /// It is to stay when it is done.
    pub fua: bool,
    /// What was cached before is to stay first.
    pub flush_first: bool,
}

impl Flags {
    pub(crate) fn bits(self) -> u8 {
        let all = [self.sync, self.meta, self.ahead, self.fua, self.flush_first];
        all.iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(*flag))
    }

    pub(crate) fn of_bits(bits: u8) -> Self {
        let [sync, meta, ahead, fua, flush_first] = [1, 2, 4, 8, 16].map(|bit| bits & bit != 0);
        Self { sync, meta, ahead, fua, flush_first }
    }

    /// Reads the kernel's letters: `WFSM`.
    pub fn of_letters(letters: &[u8]) -> (Operation, Self) {
        let letters = letters.split(|byte| *byte == 0).next().unwrap_or_default();
        let mut flags = Self::default();
        let mut rest = letters;
        if let [b'F', after @ ..] = rest
            && after.first().is_some_and(|letter| b"RWDFNZ".contains(letter))
        {
            flags.flush_first = true;
            rest = after;
        }
        let (operation, rest) = match rest {
            [b'R', after @ ..] => (Operation::Read, after),
            // Newer kernels name writes of zeroes and appends to a zone; older ones write N.
            [b'W', b'Z', after @ ..] => (Operation::WriteZeroes, after),
            [b'W', after @ ..] | [b'Z', b'A', after @ ..] => (Operation::Write, after),
            [b'D', b'E', after @ ..] | [b'D', after @ ..] => (Operation::Discard, after),
            [b'F', after @ ..] => (Operation::Flush, after),
            [_, after @ ..] => (Operation::Other, after),
            [] => (Operation::Other, rest),
        };
        for letter in rest {
            match letter {
                b'F' => flags.fua = true,
                b'A' => flags.ahead = true,
                b'S' => flags.sync = true,
                b'M' => flags.meta = true,
                _ => {}
            }
        }
        // A flush that goes before nothing is a flush.
        let is_flush = operation == Operation::Other && flags.flush_first;
        (if is_flush { Operation::Flush } else { operation }, flags)
    }
}

/// An event of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Nanoseconds of the trace's clock.
    pub time_ns: u64,
    /// The first sector, of 512 bytes, counted from the beginning of the device or partition.
    pub sector: u64,
    /// Bytes of the request.
    pub bytes: u32,
    /// The device, or the partition.
    pub device: DeviceNumber,
    /// What happened.
    pub action: Action,
    /// What it is for.
    pub operation: Operation,
    /// What is said of it besides.
    pub flags: Flags,
    /// The process on whose behalf, as far as the kernel knows.
    pub process: u32,
    /// The CPU it happened on.
    pub cpu: u32,
    /// The error number of a request that failed, 0 of others.
    pub error: u16,
}

impl Event {
    /// Sectors of the request, a part of one counted as a whole.
    pub fn sectors(&self) -> u64 {
        u64::from(self.bytes).div_ceil(512)
    }

    /// The sector behind the request.
    pub fn end(&self) -> u64 {
        self.sector.saturating_add(self.sectors())
    }
}

/// A device of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its number in events.
    pub number: DeviceNumber,
    /// Its name: `sda1`.
    pub name: String,
    /// Its size in sectors of 512 bytes; 0 when unknown.
    pub sectors: u64,
}

/// What a trace tells, in the order of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A device whose events follow.
    Device(Device),
    /// The name of a process.
    Process {
        /// Its number in events.
        process: u32,
        /// Its name.
        name: String,
    },
    /// An event.
    Event(Event),
    /// A phase begins, and the one before ends.
    Phase {
        /// When.
        time_ns: u64,
        /// Its name; empty where no further one begins.
        name: String,
    },
    /// Events were lost.
    Lost {
        /// How many.
        events: u64,
    },
    /// A number about the recording as a whole: see [`Entry::BEGIN_NS`] and those beside it. Names
    /// that are not known mean nothing.
    Note {
        /// What it is.
        name: String,
        /// The number.
        value: u64,
    },
}

impl Entry {
    /// When the recording began, in nanoseconds of the trace's clock; before all events.
    pub const BEGIN_NS: &str = "begin_ns";
    /// When it ended; behind all events.
    pub const END_NS: &str = "end_ns";
    /// See [`Figures::program_write_bytes`](crate::Figures::program_write_bytes).
    pub const PROGRAM_WRITE_BYTES: &str = "program_write_bytes";
    /// See [`Figures::missing_bytes`](crate::Figures::missing_bytes).
    pub const MISSING_BYTES: &str = "missing_bytes";

    /// A number about the recording as a whole.
    pub fn note(name: &str, value: u64) -> Self {
        Self::Note { name: name.to_owned(), value }
    }
}

#[cfg(test)]
mod tests {
    use super::{DeviceNumber, Flags, Operation};

    #[test]
    fn letters_of_the_kernel_are_read() {
        let read = |letters: &[u8]| Flags::of_letters(letters);
        assert_eq!(read(b"R\0\0\0"), (Operation::Read, Flags::default()));
        let ahead = Flags { ahead: true, ..Flags::default() };
        assert_eq!(read(b"RA\0xx"), (Operation::Read, ahead));
        let all = Flags { sync: true, meta: true, fua: true, flush_first: true, ahead: false };
        assert_eq!(read(b"FWFSM"), (Operation::Write, all));
        let first = Flags { flush_first: true, ..Flags::default() };
        assert_eq!(read(b"FF"), (Operation::Flush, first));
        assert_eq!(read(b"F"), (Operation::Flush, Flags::default()));
        assert_eq!(read(b"FN"), (Operation::Flush, first));
        assert_eq!(read(b"DE").0, Operation::Discard);
        assert_eq!(read(b"WZS"), (Operation::WriteZeroes, read(b"WS").1));
        assert_eq!((read(b"ZA").0, read(b"ZR").0), (Operation::Write, Operation::Other));
        assert_eq!(read(b"DS"), (Operation::Discard, Flags { sync: true, ..Flags::default() }));
        assert_eq!(read(b"N").0, Operation::Other);
        assert_eq!(read(b"").0, Operation::Other);
    }

    #[test]
    fn flags_and_numbers_keep_their_bits() {
        for bits in 0..32 {
            assert_eq!(Flags::of_bits(bits).bits(), bits);
        }
        let number = DeviceNumber::new(7, 3);
        assert_eq!((number.0, number.to_string().as_str()), (7 << 20 | 3, "7:3"));
    }
}
