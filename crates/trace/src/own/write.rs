//! Writer of treering's own trace format.

use std::io::{self, Write};

use super::{
    BEGINNING, DEVICE, DeltaBase, DeviceBase, END, EVENT, LOST, NAME_BYTES_MAX, NOTE, PHASE,
    PROCESS, SAME_CPU, SAME_DEVICE, SAME_PROCESS, folded,
};
use crate::event::{Action, DeviceNumber, Operation, RequestEvent, TraceDevice, TraceEntry};

/// Writes a trace.
#[derive(Debug)]
pub struct TraceWriter<W: Write> {
    out: W,
    base: DeltaBase,
    entry: Vec<u8>,
    events: u64,
}

impl<W: Write> TraceWriter<W> {
    /// Starts a file with the header.
    ///
    /// # Errors
    /// If the header cannot be written.
    pub fn new(mut out: W) -> io::Result<Self> {
        out.write_all(BEGINNING)?;
        Ok(Self { out, base: DeltaBase::default(), entry: Vec::new(), events: 0 })
    }

    /// Writes an entry.
    ///
    /// # Errors
    /// If the entry cannot be written.
    pub fn entry(&mut self, entry: &TraceEntry) -> io::Result<()> {
        self.entry.clear();
        match entry {
            TraceEntry::Device(device) => self.device(device),
            TraceEntry::Process { process, name } => {
                self.entry.push(PROCESS);
                self.number(u64::from(*process));
                self.name(name);
            }
            TraceEntry::Event(event) => self.event(event),
            TraceEntry::Phase { time_ns, name } => {
                self.entry.push(PHASE);
                self.number(*time_ns);
                self.name(name);
            }
            TraceEntry::Lost { events } => {
                self.entry.push(LOST);
                self.number(*events);
            }
            TraceEntry::Note { name, value } => {
                self.entry.push(NOTE);
                self.name(name);
                self.number(*value);
            }
        }
        self.out.write_all(&self.entry)
    }

    /// Writes the end marker, by which readers recognise a complete file, and flushes.
    ///
    /// # Errors
    /// If the end marker cannot be written.
    pub fn finish(&mut self) -> io::Result<()> {
        self.entry.clear();
        self.entry.push(END);
        self.number(self.events);
        self.out.write_all(&self.entry)?;
        self.out.flush()
    }

    fn device(&mut self, device: &TraceDevice) {
        self.entry.push(DEVICE);
        self.number(u64::from(device.number.0));
        self.number(device.sectors);
        self.name(&device.name);
        if !self.base.devices.iter().any(|place| place.number == device.number) {
            self.base.devices.push(DeviceBase { number: device.number, sector: 0 });
        }
    }

    fn place_of(&mut self, number: DeviceNumber) -> usize {
        let devices = &self.base.devices;
        if devices.get(self.base.device).is_some_and(|place| place.number == number) {
            return self.base.device;
        }
        if let Some(place) = devices.iter().position(|place| place.number == number) {
            return place;
        }
        self.device(&TraceDevice { number, name: String::new(), sectors: 0 });
        self.base.devices.len() - 1
    }

    fn event(&mut self, event: &RequestEvent) {
        let device = self.place_of(event.device);
        let same = [
            (device == self.base.device, SAME_DEVICE),
            (event.process == self.base.process, SAME_PROCESS),
            (event.cpu == self.base.cpu, SAME_CPU),
        ];
        let bits = same.iter().filter(|(same, _)| *same).fold(0, |bits, (_, bit)| bits | bit);
        let action = Action::ALL.iter().position(|action| *action == event.action);
        let operation = Operation::ALL
            .iter()
            .position(|operation_of_list| *operation_of_list == event.operation);
        let kind = action.unwrap_or(0) << 3 | operation.unwrap_or(0);
        self.entry.push(EVENT | u8::try_from(kind).unwrap_or(0));
        self.entry.push(event.flags.bits() | bits);
        self.number(folded(event.time_ns.wrapping_sub(self.base.time_ns)));
        if bits & SAME_DEVICE == 0 {
            self.number(device as u64);
        }
        let last = self.base.devices.get(device).map_or(0, |place| place.sector);
        self.number(folded(event.sector.wrapping_sub(last)));
        // Whole sectors, the common case, take fewer bytes.
        let bytes = u64::from(event.bytes);
        self.number(if bytes.is_multiple_of(512) { (bytes / 512) << 1 } else { bytes << 1 | 1 });
        if bits & SAME_PROCESS == 0 {
            self.number(u64::from(event.process));
        }
        if bits & SAME_CPU == 0 {
            self.number(u64::from(event.cpu));
        }
        self.number(u64::from(event.error));
        self.events += 1;
        self.base.keep(event, device);
    }

    fn number(&mut self, mut number: u64) {
        loop {
            let digits = number.to_le_bytes()[0];
            number >>= 7;
            if number == 0 {
                // The last byte has the continuation bit clear.
                return self.entry.push(digits & 0x7f);
            }
            self.entry.push(0x80 | digits);
        }
    }

    fn name(&mut self, name: &str) {
        let mut length = name.len().min(NAME_BYTES_MAX);
        while !name.is_char_boundary(length) {
            length -= 1;
        }
        self.number(length as u64);
        self.entry.extend_from_slice(&name.as_bytes()[..length]);
    }
}
