//! Attribution of device accesses to files: requests of a block trace, and accesses logged as
//! issued, matched against the extents of the files.
//!
//! Extents are queried afterwards. Space of files that were removed in between counts as free.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use treering_engine::HeatLog;
use treering_model::{HeatOnDevice, HeatReport, LayoutHeat};
use treering_stats::Access;
use treering_stats::layout::HeatCells;
use treering_sys::{
    Confinement, ExtentBuffer, FileType, file_extents, open_to_look, open_top, space_map,
    sync_filesystem,
};
use treering_trace::{DeviceNumber, EntrySink, TraceEntry};

pub use crate::hot_error::HotError;

use crate::block_trace::devices_under;
use crate::hot_requests::RequestLog;
use crate::tree::{self, SkipReason, TreeVisitor, WalkError, traverse};

/// Trace sink that keeps the requests of one filesystem. Clones share their state.
#[derive(Clone, Debug)]
pub struct HotRequests {
    device: DeviceNumber,
    /// Disk, and first sector of the filesystem's partition on it.
    disk: (DeviceNumber, u64),
    requests_kept: Arc<Mutex<RequestLog>>,
}

/// Heat of a filesystem's device.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceHeat {
    /// Heat by file and range.
    pub report: HeatReport,
    /// Heat by address on the device.
    pub map: LayoutHeat,
}

impl HotRequests {
    /// Selects the filesystem of a directory.
    ///
    /// # Errors
    /// If its addresses are not those of a single device.
    pub fn for_directory(target: &Path) -> Result<Self, HotError> {
        let devices = devices_under(target).map_err(HotError::Devices)?;
        let metadata = std::fs::metadata(target).map_err(HotError::Unreadable)?;
        let number = std::os::unix::fs::MetadataExt::dev(&metadata);
        let own = DeviceNumber::new(rustix::fs::major(number), rustix::fs::minor(number));
        match devices.as_slice() {
            [device] if device.device.number == own => Ok(Self {
                device: own,
                disk: (device.disk, device.first_sector),
                requests_kept: Arc::default(),
            }),
            _ => Err(HotError::OtherAddresses { target: target.to_owned() }),
        }
    }

    /// Sets the device that stands for the filesystem's device in traces from another machine.
    pub fn add_device(&mut self, device: DeviceNumber) {
        self.disk = (device, 0);
    }

    /// Reports whether requests of a device belong to the filesystem.
    pub fn knows(&self, device: DeviceNumber) -> bool {
        device == self.device || device == self.disk.0
    }

    /// Device of the filesystem.
    pub fn device(&self) -> DeviceNumber {
        self.device
    }

    /// Processes the next trace entry.
    pub fn hear(&self, entry: &TraceEntry) {
        let TraceEntry::Event(event) = entry else { return };
        let first_sector = match event.device {
            own if own == self.device => 0,
            disk if disk == self.disk.0 => self.disk.1,
            _ => return,
        };
        self.requests_kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .event(event, first_sector);
    }

    /// Drops the requests collected so far.
    pub fn forget(&self) {
        *self.requests_kept.lock().unwrap_or_else(PoisonError::into_inner) = RequestLog::default();
    }

    /// Attributes the requests since the last call to the files beneath a directory; `None` without
    /// requests.
    ///
    /// If the filesystem does not report extents.
    pub fn take(&self, target: &Path, half_life: Duration) -> Result<Option<DeviceHeat>, HotError> {
        let mut requests =
            std::mem::take(&mut *self.requests_kept.lock().unwrap_or_else(PoisonError::into_inner));
        requests.sort();
        let log = HeatLog::new(half_life, Vec::new());
        let top = open_top(target).map_err(|errno| HotError::Unreadable(errno.into()))?;
        each_file(top.as_fd(), &mut |path, extents| put(path, extents, &mut requests, &log))?;
        let is_known = space_map(&top, |record| {
            if record.is_free {
                requests.within(record.physical, record.length, |_, request, from, to| {
                    request.free = request.free.saturating_add(narrow(to - from));
                });
            }
        });
        let half_life_ns = u64::try_from(half_life.as_nanos()).unwrap_or(u64::MAX).max(1);
        let device = on_device(&requests, is_known.is_ok());
        let map = map(requests.cells(half_life_ns), LayoutHeat::REQUESTS);
        if device.requests == 0 {
            return Ok(None);
        }
        let report = log.take_report().unwrap_or_else(|| HeatReport::empty(half_life));
        Ok(Some(DeviceHeat { report: HeatReport { device: Some(device), ..report }, map }))
    }
}

impl EntrySink for HotRequests {
    fn entry(&mut self, entry: &TraceEntry) -> io::Result<()> {
        self.hear(entry);
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn narrow(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// Extent of a file: offset in the file, address on the device, and length, in bytes.
type FileRange = (u64, u64, u64);

/// Attributes requests to the extents of a file and logs them.
fn put(path: &str, extents: &[FileRange], requests: &mut RequestLog, log: &HeatLog) {
    // Index of the request, time, direction, offset in the file, length.
    let mut parts: Vec<(usize, u64, bool, u64, u64)> = Vec::new();
    for &(logical, physical, length) in extents {
        requests.within(physical, length, |number, request, from, to| {
            request.placed = request.placed.saturating_add(narrow(to - from));
            let begin = logical + (from - physical);
            let bytes = to - from;
            match parts.last_mut() {
                // One request over two adjacent extents.
                Some(last) if last.0 == number && last.3 + last.4 == begin => last.4 += bytes,
                _ => parts.push((number, request.at_ns, request.writes, begin, bytes)),
            }
        });
    }
    parts.sort_unstable_by_key(|part| part.1);
    for (_, at_ns, writes, begin, bytes) in parts {
        log.note(path, begin, Access { at_ns, writes, count: 1, bytes });
    }
}

/// Totals of the attribution.
fn on_device(requests: &RequestLog, free_is_known: bool) -> HeatOnDevice {
    let mut totals = HeatOnDevice {
        requests: requests.list().len() as u64,
        left_out: requests.left_out,
        ..HeatOnDevice::default()
    };
    let mut free = 0;
    for request in requests.list() {
        // Shared blocks count once per file.
        let placed = request.placed.min(request.bytes);
        let unused = request.free.min(request.bytes - placed);
        totals.bytes += u64::from(request.bytes);
        totals.placed_bytes += u64::from(placed);
        free += u64::from(unused);
        totals.other_bytes += u64::from(request.bytes - placed - unused);
    }
    totals.free_bytes = free_is_known.then_some(free);
    totals
}

fn map(cells: HeatCells, of: &str) -> LayoutHeat {
    let HeatCells { cell_bytes, cells } = cells;
    // Three decimals are more than a colour can show.
    let cells = cells.into_iter().map(|cell| (cell * 1e3).round() / 1e3).collect();
    LayoutHeat { of: of.to_owned(), cell_bytes, cells }
}

/// Heat map of the logged accesses by address on the device.
///
/// # Errors
/// If the filesystem does not report extents.
pub fn map_of_calls(target: &Path, log: &HeatLog) -> Result<LayoutHeat, HotError> {
    let top = open_top(target).map_err(|errno| HotError::Unreadable(errno.into()))?;
    // Dirty data has no address yet.
    let _reported_by_whoever_wrote = sync_filesystem(top.as_fd());
    let mut cells = HeatCells::default();
    each_file(top.as_fd(), &mut |path, extents| {
        for range in log.ranges_of(path) {
            let end = range.offset.saturating_add(range.bytes);
            let parts = extents.iter().filter_map(|&(logical, physical, length)| {
                let from = logical.max(range.offset);
                let to = logical.saturating_add(length).min(end);
                (from < to).then(|| (physical + (from - logical), to - from))
            });
            let parts: Vec<(u64, u64)> = parts.collect();
            let whole: u64 = parts.iter().map(|part| part.1).sum();
            for (physical, length) in parts {
                let share = length as f64 / whole as f64;
                cells.add(physical, length, range.temperature * share);
            }
        }
    })?;
    Ok(map(cells, LayoutHeat::CALLS))
}

/// Calls `each` with every file beneath a directory and its extents.
fn each_file(
    top: BorrowedFd<'_>,
    each: &mut dyn FnMut(&str, &[FileRange]),
) -> Result<(), HotError> {
    let mut files = FileVisitor {
        confinement: Confinement::probe(top),
        path: Vec::new(),
        ends: Vec::new(),
        extents: Vec::new(),
        buffer: ExtentBuffer::default(),
        each,
    };
    traverse(files.confinement, top, &mut files)
        .map_err(|WalkError(action, errno)| HotError::Walk { action, errno })
}

struct FileVisitor<'e> {
    confinement: Confinement,
    /// Path of the current directory, with a trailing slash.
    path: Vec<u8>,
    /// Lengths of `path` at the directories above.
    ends: Vec<usize>,
    extents: Vec<FileRange>,
    buffer: ExtentBuffer,
    each: &'e mut dyn FnMut(&str, &[FileRange]),
}

impl TreeVisitor for FileVisitor<'_> {
    type Halt = WalkError;

    fn enter(&mut self, _dir: BorrowedFd<'_>, name: Option<&CStr>) -> Result<(), WalkError> {
        self.ends.push(self.path.len());
        if let Some(name) = name {
            self.path.extend_from_slice(name.to_bytes());
            self.path.push(b'/');
        }
        Ok(())
    }

    fn entry(&mut self, entry: &tree::TreeEntry<'_>) -> Result<(), WalkError> {
        if entry.kind != FileType::RegularFile {
            return Ok(());
        }
        let Ok(file) = open_to_look(self.confinement, entry.dir, entry.name) else {
            return Ok(());
        };
        self.extents.clear();
        let extents = &mut self.extents;
        let reported = file_extents(&file, &mut self.buffer, |extent| {
            if extent.is_placed() {
                extents.push((extent.logical, extent.physical, extent.length));
            }
        });
        if reported.is_err() || self.extents.is_empty() {
            return Ok(());
        }
        let length = self.path.len();
        self.path.extend_from_slice(entry.name.to_bytes());
        (self.each)(&String::from_utf8_lossy(&self.path), &self.extents);
        self.path.truncate(length);
        Ok(())
    }

    fn leave(&mut self) -> Result<(), WalkError> {
        self.path.truncate(self.ends.pop().unwrap_or(0));
        Ok(())
    }

    fn passed(&mut self, _what: SkipReason, _count: u64) {}
}
