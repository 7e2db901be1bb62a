//! Reader of blktrace files: merges the files of all CPUs in chronological order.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io::{BufReader, ErrorKind, Read};

use super::record::{MAGIC, RECORD_2_BYTES, RECORD_BYTES, TraceRecord, VERSION, VERSION_2};
use crate::error::TraceFileError;
use crate::event::{DeviceNumber, TraceDevice, TraceEntry};

/// Records buffered per file: the distance by which a file may be out of order.
const HELD: usize = 4096;

/// Limit of reported devices.
const DEVICES_MAX: usize = 4096;

/// Reader of the files of a trace.
#[derive(Debug)]
pub struct BlktraceReader<R: Read> {
    files: Vec<CpuFile<R>>,
    /// Buffered records, earliest first; serial numbers keep equal times in order.
    held: BinaryHeap<Reverse<BufferedRecord>>,
    devices: Vec<DeviceNumber>,
    ready: VecDeque<TraceEntry>,
    number: u64,
    begun: bool,
}

#[derive(Debug)]
struct BufferedRecord {
    time_ns: u64,
    number: u64,
    file: usize,
    record: TraceRecord,
}

impl PartialEq for BufferedRecord {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for BufferedRecord {}

impl PartialOrd for BufferedRecord {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for BufferedRecord {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.time_ns, self.number).cmp(&(other.time_ns, other.number))
    }
}

impl<R: Read> BlktraceReader<R> {
    /// Starts to read the files of all CPUs, in any order.
    ///
    /// # Errors
    /// If an input is not a blktrace file, or has an unknown version.
    pub fn new(inputs: Vec<R>) -> Result<Self, TraceFileError> {
        let files = inputs.into_iter().map(CpuFile::new).collect::<Result<_, _>>()?;
        Ok(Self {
            files,
            held: BinaryHeap::new(),
            devices: Vec::new(),
            ready: VecDeque::new(),
            number: 0,
            begun: false,
        })
    }

    /// Returns the next entry; `None` at the end.
    ///
    /// # Errors
    /// If a file cannot be read, or a record is damaged.
    pub fn next_entry(&mut self) -> Result<Option<TraceEntry>, TraceFileError> {
        if !self.begun {
            self.begun = true;
            for file in 0..self.files.len() {
                (0..HELD).try_for_each(|_| self.hold(file))?;
            }
        }
        loop {
            if let Some(entry) = self.ready.pop_front() {
                return Ok(Some(entry));
            }
            let Some(Reverse(held)) = self.held.pop() else { return Ok(None) };
            self.hold(held.file)?;
            self.tell(&held.record);
        }
    }

    /// Reports whether no file ends within a record.
    pub fn is_whole(&self) -> bool {
        self.files.iter().all(|file| !file.cut_off)
    }

    /// Buffers the next event or process name of a file.
    fn hold(&mut self, file: usize) -> Result<(), TraceFileError> {
        while let Some(record) = self.files[file].record()? {
            if record.event().is_none() && record.process_name().is_none() {
                continue;
            }
            let (time_ns, number) = (record.time_ns, self.number);
            self.number += 1;
            self.held.push(Reverse(BufferedRecord { time_ns, number, file, record }));
            break;
        }
        Ok(())
    }

    fn tell(&mut self, record: &TraceRecord) {
        if let Some(name) = record.process_name() {
            self.ready.push_back(TraceEntry::Process { process: record.process, name });
        }
        let Some(event) = record.event() else { return };
        if !self.devices.contains(&event.device) && self.devices.len() < DEVICES_MAX {
            self.devices.push(event.device);
            let (number, name) = (event.device, event.device.to_string());
            self.ready.push_back(TraceEntry::Device(TraceDevice { number, name, sectors: 0 }));
        }
        self.ready.push_back(TraceEntry::Event(event));
    }
}

/// File of one CPU.
#[derive(Debug)]
struct CpuFile<R: Read> {
    input: BufReader<R>,
    byte: u64,
    /// Magic of the first record, which was read to detect the byte order.
    first: Option<[u8; 4]>,
    big: bool,
    cut_off: bool,
}

impl<R: Read> CpuFile<R> {
    fn new(input: R) -> Result<Self, TraceFileError> {
        let input = BufReader::with_capacity(1 << 16, input);
        let mut file = Self { input, byte: 0, first: None, big: false, cut_off: false };
        let mut magic = [0; 4];
        // The file of a CPU without events is empty.
        if !file.fill(&mut magic)? {
            return Ok(file);
        }
        file.big = u32::from_be_bytes(magic) & !0xff == MAGIC;
        file.first = Some(magic);
        file.version(magic, 0)?;
        Ok(file)
    }

    /// Format version of a record with this magic.
    fn version(&self, magic: [u8; 4], byte: u64) -> Result<u32, TraceFileError> {
        let magic = if self.big { u32::from_be_bytes(magic) } else { u32::from_le_bytes(magic) };
        let reason = match (magic & !0xff, magic & 0xff) {
            (MAGIC, version @ (VERSION | VERSION_2)) => return Ok(version),
            (MAGIC, version) => {
                format!("a record of version {version}; {VERSION} and {VERSION_2} are known")
            }
            _ => format!("{magic:#x} is not how a record of blktrace begins"),
        };
        Err(TraceFileError::damaged(byte, reason))
    }

    /// Fills the buffer; returns false if the file ends before the buffer is full.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<bool, TraceFileError> {
        match self.input.read_exact(buffer) {
            Ok(()) => {
                self.byte += buffer.len() as u64;
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
            Err(source) => Err(TraceFileError::Io { byte: self.byte, source }),
        }
    }

    /// Reads the next record.
    fn record(&mut self) -> Result<Option<TraceRecord>, TraceFileError> {
        let begin = self.byte;
        let mut magic = [0; 4];
        match self.first.take() {
            Some(first) => magic = first,
            None => {
                if self.cut_off || !self.fill(&mut magic)? {
                    return Ok(None);
                }
            }
        }
        let second = self.version(magic, begin)? == VERSION_2;
        let mut body = [0u8; RECORD_2_BYTES - 4];
        let length = if second { RECORD_2_BYTES } else { RECORD_BYTES } - 4;
        if !self.fill(&mut body[..length])? {
            self.cut_off = true;
            return Ok(None);
        }
        let mut record = self.fields(&body, second);
        let length = self.narrow(&body[if second { 46 } else { 42 }..]);
        let mut data = vec![0; usize::from(length)];
        if !self.fill(&mut data)? {
            self.cut_off = true;
            return Ok(None);
        }
        // Payloads are kept only for process names, which are short.
        data.truncate(64);
        data.shrink_to_fit();
        record.data = data;
        Ok(Some(record))
    }

    /// Decodes the fields behind the magic.
    fn fields(&self, body: &[u8; RECORD_2_BYTES - 4], second: bool) -> TraceRecord {
        let common = TraceRecord {
            time_ns: self.wide(&body[4..]),
            sector: self.wide(&body[12..]),
            bytes: self.word(&body[20..]),
            ..TraceRecord::default()
        };
        if second {
            return TraceRecord {
                process: self.word(&body[24..]),
                action: self.wide(&body[28..]),
                device: self.word(&body[36..]),
                cpu: self.word(&body[40..]),
                error: self.narrow(&body[44..]),
                ..common
            };
        }
        TraceRecord {
            action: u64::from(self.word(&body[24..])),
            process: self.word(&body[28..]),
            device: self.word(&body[32..]),
            cpu: self.word(&body[36..]),
            error: self.narrow(&body[40..]),
            ..common
        }
    }

    fn wide(&self, bytes: &[u8]) -> u64 {
        let bytes = [0, 1, 2, 3, 4, 5, 6, 7].map(|at| bytes.get(at).copied().unwrap_or(0));
        if self.big { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
    }

    fn word(&self, bytes: &[u8]) -> u32 {
        let bytes = [0, 1, 2, 3].map(|at| bytes.get(at).copied().unwrap_or(0));
        if self.big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    fn narrow(&self, bytes: &[u8]) -> u16 {
        let bytes = [0, 1].map(|at| bytes.get(at).copied().unwrap_or(0));
        if self.big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }
}
