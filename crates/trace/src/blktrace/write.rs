//! Writer of blktrace files in the first format, which every viewer reads.

use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use super::record::TraceRecord;
use crate::event::{DeviceNumber, RequestEvent, TraceDevice, TraceEntry};

/// Limit of files per device; events of further CPUs go to the file of the CPU number modulo this.
const CPUS_MAX: u32 = 1024;

/// Limit of process names kept for devices without files yet.
const NAMES_MAX: usize = 65_536;

/// Limit of named devices; files of further devices are named by their numbers.
const DEVICES_MAX: usize = 4096;

/// File name prefix of devices without a name; major and minor number follow.
const UNNAMED: &str = "dev-";

/// Number of the notification with the start time of the trace.
const TIME_STAMP: u64 = 1;

/// Writes a trace into one file per device and CPU.
#[derive(Debug)]
pub struct BlktraceWriter<W: Write, F: FnMut(&str, u32) -> io::Result<W>> {
    make: F,
    files: BTreeMap<(DeviceNumber, u32), CpuFile<W>>,
    /// Origin of the written times; `None` until the first event defines it.
    origin_ns: Option<u64>,
    devices: BTreeMap<DeviceNumber, String>,
    names: BTreeMap<u32, String>,
    named: BTreeSet<(DeviceNumber, u32)>,
}

#[derive(Debug)]
struct CpuFile<W> {
    out: W,
    records: u32,
}

impl<W: Write> CpuFile<W> {
    fn put(&mut self, record: &TraceRecord) -> io::Result<()> {
        // Record numbers start at 1.
        self.records = self.records.wrapping_add(1);
        self.out.write_all(&record.to_bytes(self.records))
    }
}

impl<W: Write, F: FnMut(&str, u32) -> io::Result<W>> BlktraceWriter<W, F> {
    /// Starts a writer with times relative to `origin_ns`, or to the first event. `make` creates
    /// the file of a device and a CPU; the device name is unique and safe as a file name.
    pub fn new(origin_ns: Option<u64>, make: F) -> Self {
        Self {
            make,
            files: BTreeMap::new(),
            origin_ns,
            devices: BTreeMap::new(),
            names: BTreeMap::new(),
            named: BTreeSet::new(),
        }
    }

    /// Writes an entry. Phases, losses and notes have no counterpart in the format and are dropped.
    ///
    /// # Errors
    /// If a file cannot be created or written.
    pub fn entry(&mut self, entry: &TraceEntry) -> io::Result<()> {
        match entry {
            TraceEntry::Event(event) => self.event(event),
            TraceEntry::Process { process, name } => {
                if self.names.len() < NAMES_MAX {
                    self.names.insert(*process, name.clone());
                }
                Ok(())
            }
            TraceEntry::Device(device) => {
                self.name(device);
                Ok(())
            }
            TraceEntry::Phase { .. } | TraceEntry::Lost { .. } | TraceEntry::Note { .. } => Ok(()),
        }
    }

    /// Keeps a device name if it is unique and safe as a file name.
    fn name(&mut self, device: &TraceDevice) {
        let tame = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        let is_tame = !device.name.is_empty()
            && !device.name.starts_with(UNNAMED)
            && device.name.bytes().all(tame);
        if is_tame
            && self.devices.len() < DEVICES_MAX
            && self.devices.values().all(|name| *name != device.name)
        {
            self.devices.insert(device.number, device.name.clone());
        }
    }

    fn event(&mut self, event: &RequestEvent) -> io::Result<()> {
        let (device, cpu) = (event.device, event.cpu % CPUS_MAX);
        let origin_ns = *self.origin_ns.get_or_insert(event.time_ns);
        let time_ns = event.time_ns.saturating_sub(origin_ns);
        let file = match self.files.entry((device, cpu)) {
            Slot::Occupied(there) => there.into_mut(),
            Slot::Vacant(free) => {
                let unnamed = || format!("{UNNAMED}{}-{}", device.major(), device.minor());
                let name = self.devices.get(&device).cloned().unwrap_or_else(unnamed);
                let mut file = CpuFile { out: (self.make)(&name, cpu)?, records: 0 };
                // Wall-clock seconds and nanoseconds; readers ignore them.
                file.put(&TraceRecord::note(TIME_STAMP, 0, device, vec![0; 8]))?;
                free.insert(file)
            }
        };
        if self.named.len() < NAMES_MAX
            && let Some(name) = self.names.get(&event.process)
            && self.named.insert((device, event.process))
        {
            let mut data = name.as_bytes().to_vec();
            data.truncate(15);
            data.resize(16, 0);
            let mut note = TraceRecord::note(0, event.process, device, data);
            note.time_ns = time_ns;
            note.cpu = cpu;
            file.put(&note)?;
        }
        file.put(&TraceRecord::from_event(&RequestEvent { time_ns, cpu, ..*event }))
    }

    /// Flushes all files.
    ///
    /// # Errors
    /// If a file cannot be flushed.
    pub fn flush(&mut self) -> io::Result<()> {
        self.files.values_mut().try_for_each(|file| file.out.flush())
    }

    /// Returns the files with their device and CPU.
    pub fn into_files(self) -> impl Iterator<Item = ((DeviceNumber, u32), W)> {
        self.files.into_iter().map(|(key, file)| (key, file.out))
    }
}
