//! Reader of treering's own trace format; tolerates arbitrary input.

use std::io::{ErrorKind, Read};

use super::{
    BEGINNING, BEGINNING_1, DEVICE, DEVICES_MAX, DeltaBase, DeviceBase, END, EVENT, LOST,
    NAME_BYTES_MAX, NOTE, PHASE, PROCESS, SAME_CPU, SAME_DEVICE, SAME_PROCESS, unfolded,
};
use crate::error::TraceFileError;
use crate::event::{
    Action, DeviceNumber, Operation, RequestEvent, RequestFlags, TraceDevice, TraceEntry,
};

/// Size of the read buffer in bytes.
const BUFFER_BYTES: usize = 1 << 16;

/// Reads a trace.
#[derive(Debug)]
pub struct TraceReader<R: Read> {
    input: R,
    buffer: Vec<u8>,
    /// Bounds of the unread part of the buffer.
    at: usize,
    until: usize,
    /// Offset of the buffer in the file.
    passed: u64,
    base: DeltaBase,
    is_complete: bool,
    ended: bool,
}

/// Reason to stop: the file ends within an entry, or it is damaged.
enum ReadEnd {
    CutOff,
    Wrong(TraceFileError),
}

impl From<TraceFileError> for ReadEnd {
    fn from(error: TraceFileError) -> Self {
        Self::Wrong(error)
    }
}

impl<R: Read> TraceReader<R> {
    /// Opens a trace and checks its header.
    ///
    /// # Errors
    /// If the input cannot be read, or is not a treering trace of a known version.
    pub fn new(input: R) -> Result<Self, TraceFileError> {
        let mut reader = Self {
            input,
            buffer: vec![0; BUFFER_BYTES],
            at: 0,
            until: 0,
            passed: 0,
            base: DeltaBase::default(),
            is_complete: false,
            ended: false,
        };
        let mut beginning = Vec::new();
        while beginning.len() < BEGINNING.len() {
            match reader.byte() {
                Ok(byte) => beginning.push(byte),
                Err(ReadEnd::CutOff) => break,
                Err(ReadEnd::Wrong(error)) => return Err(error),
            }
        }
        let known = BEGINNING.len() - 2;
        if beginning == BEGINNING || beginning == BEGINNING_1 {
            Ok(reader)
        } else if beginning.starts_with(&BEGINNING[..known]) && beginning.len() > known {
            let damage = "a trace of another version than 1 and 2: a newer treering wrote it";
            Err(TraceFileError::damaged(0, damage))
        } else {
            Err(TraceFileError::damaged(0, "no trace of treering, which begins `treering trace 2`"))
        }
    }

    /// Returns the next entry; `None` at the end and where the file is cut off.
    ///
    /// # Errors
    /// If the input cannot be read, or an entry is damaged.
    pub fn next_entry(&mut self) -> Result<Option<TraceEntry>, TraceFileError> {
        if self.ended {
            return Ok(None);
        }
        let entry = self.read_entry();
        self.ended = !matches!(entry, Ok(Some(_)));
        match entry {
            Ok(entry) => Ok(entry),
            Err(ReadEnd::CutOff) => Ok(None),
            Err(ReadEnd::Wrong(error)) => Err(error),
        }
    }

    /// Reports whether the end marker was read.
    pub fn is_whole(&self) -> bool {
        self.is_complete
    }

    fn place(&self) -> u64 {
        self.passed + self.at as u64
    }

    fn read_entry(&mut self) -> Result<Option<TraceEntry>, ReadEnd> {
        let place = self.place();
        let kind = self.byte()?;
        let entry = match kind {
            EVENT.. => TraceEntry::Event(self.event(kind)?),
            DEVICE => TraceEntry::Device(self.device()?),
            PROCESS => TraceEntry::Process { process: self.narrow()?, name: self.name()? },
            PHASE => TraceEntry::Phase { time_ns: self.number()?, name: self.name()? },
            LOST => TraceEntry::Lost { events: self.number()? },
            NOTE => TraceEntry::Note { name: self.name()?, value: self.number()? },
            END => {
                let _events = self.number()?;
                self.is_complete = true;
                return Ok(None);
            }
            _ => {
                let damage = format!("{kind} is no kind of entry");
                return Err(TraceFileError::damaged(place, damage).into());
            }
        };
        Ok(Some(entry))
    }

    fn device(&mut self) -> Result<TraceDevice, ReadEnd> {
        let place = self.place();
        let number = DeviceNumber(self.narrow()?);
        let sectors = self.number()?;
        let name = self.name()?;
        if !self.base.devices.iter().any(|known| known.number == number) {
            if self.base.devices.len() == DEVICES_MAX {
                let damage = format!("more than {DEVICES_MAX} devices");
                return Err(TraceFileError::damaged(place, damage).into());
            }
            self.base.devices.push(DeviceBase { number, sector: 0 });
        }
        Ok(TraceDevice { number, name, sectors })
    }

    fn event(&mut self, kind: u8) -> Result<RequestEvent, ReadEnd> {
        let place = self.place();
        let (action, operation) = (usize::from(kind >> 3 & 15), usize::from(kind & 7));
        let known = Action::ALL.get(action).zip(Operation::ALL.get(operation));
        let Some((&action, &operation)) = known else {
            let damage = format!("{kind} is no kind of event");
            return Err(TraceFileError::damaged(place - 1, damage).into());
        };
        let bits = self.byte()?;
        let time_ns = self.base.time_ns.wrapping_add(unfolded(self.number()?));
        let place = self.place();
        let device = match bits & SAME_DEVICE {
            0 => usize::try_from(self.number()?).unwrap_or(usize::MAX),
            _ => self.base.device,
        };
        let Some(known) = self.base.devices.get(device) else {
            let devices = self.base.devices.len();
            let damage = format!("an event of device {device} of {devices}");
            return Err(TraceFileError::damaged(place, damage).into());
        };
        let (number, last) = (known.number, known.sector);
        let sector = last.wrapping_add(unfolded(self.number()?));
        let place = self.place();
        let bytes = self.number()?;
        let bytes = if bytes & 1 == 0 { (bytes >> 1).checked_mul(512) } else { Some(bytes >> 1) };
        let Some(bytes) = bytes.and_then(|bytes| u32::try_from(bytes).ok()) else {
            return Err(TraceFileError::damaged(place, "a request of 4 GiB or more").into());
        };
        let process = if bits & SAME_PROCESS == 0 { self.narrow()? } else { self.base.process };
        let cpu = if bits & SAME_CPU == 0 { self.narrow()? } else { self.base.cpu };
        let error = u16::try_from(self.number()?).unwrap_or(u16::MAX);
        let flags = RequestFlags::from_bits(bits);
        let event = RequestEvent {
            time_ns,
            sector,
            bytes,
            device: number,
            action,
            operation,
            flags,
            process,
            cpu,
            error,
        };
        self.base.keep(&event, device);
        Ok(event)
    }

    #[inline]
    fn byte(&mut self) -> Result<u8, ReadEnd> {
        if self.at == self.until {
            self.fill()?;
        }
        self.at += 1;
        Ok(self.buffer[self.at - 1])
    }

    fn fill(&mut self) -> Result<(), ReadEnd> {
        self.passed += self.until as u64;
        (self.at, self.until) = (0, 0);
        loop {
            match self.input.read(&mut self.buffer) {
                Ok(0) => return Err(ReadEnd::CutOff),
                Ok(bytes) => {
                    self.until = bytes.min(self.buffer.len());
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(TraceFileError::Io { byte: self.passed, source }.into());
                }
            }
        }
    }

    #[inline]
    fn number(&mut self) -> Result<u64, ReadEnd> {
        let place = self.place();
        let mut number = 0u64;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            let digits = u64::from(byte & 0x7f);
            if shift == 63 && digits > 1 {
                break;
            }
            number |= digits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(TraceFileError::damaged(place, "a number of more than 64 bits").into())
    }

    fn narrow(&mut self) -> Result<u32, ReadEnd> {
        let place = self.place();
        let number = self.number()?;
        u32::try_from(number).map_err(|_wide| {
            TraceFileError::damaged(place, format!("{number} has more than 32 bits")).into()
        })
    }

    fn name(&mut self) -> Result<String, ReadEnd> {
        let place = self.place();
        let length = self.number()?;
        if length > NAME_BYTES_MAX as u64 {
            let damage = format!("a name of {length} bytes; {NAME_BYTES_MAX} is the most");
            return Err(TraceFileError::damaged(place, damage).into());
        }
        let mut name = Vec::new();
        for _ in 0..length {
            name.push(self.byte()?);
        }
        Ok(String::from_utf8_lossy(&name).into_owned())
    }
}
