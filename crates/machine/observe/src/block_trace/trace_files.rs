//! Trace files: treering's own format, and that of blktrace, which has a file for each device and
//! CPU.

use std::collections::BTreeSet;
use std::fs::{File, create_dir_all, read_dir, remove_file};
use std::io::{self, BufWriter, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use thiserror::Error;
use treering_model::MODELLED_DISK;
use treering_trace::{
    BlktraceReader, BlktraceWriter, DiskCost, DiskReplay, ModelledDisk, TraceEntry, TraceFileError,
    TraceReader, TraceSummary, TraceWindow, is_trace, summarise,
};

use super::TracedDevice;

/// Magic bytes of our own files.
const BEGINNING_BYTES: usize = 32;

/// Minimum length of a trace in bytes: its magic number.
const MAGIC_BYTES: usize = 4;

const NO_TRACE: &str = "a trace is a file of `treering trace --out` or of blktrace";

/// Error of reading or writing the files of a trace.
#[derive(Debug, Error)]
pub enum TraceFilesError {
    /// A file or directory cannot be opened.
    #[error("{}: {error}", path.display())]
    Unopened {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// A file cannot be read.
    #[error("{}: {why}", path.display())]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// Reason.
        why: String,
    },
    /// A file is not a trace.
    #[error("{}: {why}", path.display())]
    NoTrace {
        /// Path of the file.
        path: PathBuf,
        /// Reason.
        why: String,
    },
    /// A file exists that would be written.
    #[error("{}: File exists", path.display())]
    Exists {
        /// Path of the file.
        path: PathBuf,
    },
    /// A file cannot be written; the error names it.
    #[error("{0}")]
    Unwritable(io::Error),
}

impl TraceFilesError {
    /// Advice, if there is any.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoTrace { .. } => Some(NO_TRACE),
            Self::Exists { .. } => Some(EXISTS),
            Self::Unopened { error, .. } if error.kind() == io::ErrorKind::NotFound => {
                Some("`treering trace --out FILE -- COMMAND` records one")
            }
            Self::Unopened { .. } | Self::Unreadable { .. } | Self::Unwritable(_) => None,
        }
    }

    fn unopened(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self::Unopened { path: path.to_owned(), error }
    }

    fn no_trace(path: &Path, why: impl ToString) -> Self {
        Self::NoTrace { path: path.to_owned(), why: why.to_string() }
    }
}

/// Error message for a file that is too short for a trace.
fn no_trace(length: usize) -> &'static str {
    if length == 0 { "the file is empty: it is not a trace" } else { "the file is not a trace" }
}

/// Part of a blktrace file name between the device's name and the number of the CPU.
const INFIX: &str = ".blktrace.";

/// Open trace.
enum Input {
    Own(TraceReader<File>),
    Blktrace(BlktraceReader<File>),
}

impl Input {
    fn next_entry(&mut self) -> Result<Option<TraceEntry>, TraceFileError> {
        match self {
            Self::Own(reader) => reader.next_entry(),
            Self::Blktrace(reader) => reader.next_entry(),
        }
    }

    fn is_whole(&self) -> bool {
        match self {
            Self::Own(reader) => reader.is_whole(),
            Self::Blktrace(reader) => reader.is_whole(),
        }
    }
}

fn unreadable(path: &Path, why: impl ToString) -> TraceFilesError {
    TraceFilesError::Unreadable { path: path.to_owned(), why: why.to_string() }
}

/// Opens a trace of either format.
fn open(path: &Path) -> Result<Input, TraceFilesError> {
    let paths = of_blktrace(path)?;
    if paths.is_empty() {
        let mut file = File::open(path).map_err(TraceFilesError::unopened(path))?;
        let mut beginning = [0; BEGINNING_BYTES];
        let length = file.read(&mut beginning).map_err(|error| unreadable(path, error))?;
        file.seek(SeekFrom::Start(0)).map_err(|error| unreadable(path, error))?;
        if length < MAGIC_BYTES {
            return Err(TraceFilesError::no_trace(path, no_trace(length)));
        }
        if is_trace(&beginning[..length]) {
            let reader = TraceReader::new(file).map_err(|error| unreadable(path, error))?;
            return Ok(Input::Own(reader));
        }
        // Any other file is read as a blktrace file, whose reader reports the error.
        let reader = BlktraceReader::new(vec![file])
            .map_err(|error| TraceFilesError::no_trace(path, error))?;
        return Ok(Input::Blktrace(reader));
    }
    let files = paths.iter().map(|path| File::open(path).map_err(TraceFilesError::unopened(path)));
    let files = files.collect::<Result<Vec<_>, _>>()?;
    // The file of an idle CPU is empty, but not every file of a trace.
    if files.iter().all(|file| file.metadata().is_ok_and(|about| about.len() == 0)) {
        return Err(TraceFilesError::no_trace(path, no_trace(0)));
    }
    let reader = BlktraceReader::new(files).map_err(|error| unreadable(path, error))?;
    Ok(Input::Blktrace(reader))
}

/// Files of every CPU, found from a directory, from the name before `.blktrace.`, or from one CPU's
/// file.
fn of_blktrace(path: &Path) -> Result<Vec<PathBuf>, TraceFilesError> {
    let is_dir = path.is_dir();
    let (dir, wanted) = if is_dir {
        (path.to_owned(), None)
    } else {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let device = cpu_file(&name).map(|(stem, _)| stem.to_owned());
        if path.exists() && device.is_none() {
            return Ok(Vec::new());
        }
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        (dir.unwrap_or(Path::new(".")).to_owned(), Some(device.unwrap_or(name)))
    };
    let entries = read_dir(&dir).map_err(TraceFilesError::unopened(&dir))?;
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let stem = cpu_file(&name).map(|(stem, _)| stem);
            stem.is_some_and(|stem| wanted.as_ref().is_none_or(|wanted| wanted == stem))
        })
        .map(|entry| entry.path())
        .collect();
    found.sort();
    if found.is_empty() && is_dir {
        return Err(unreadable(path, "there are no blktrace files (NAME.blktrace.CPU)"));
    }
    Ok(found)
}

/// Figures of a trace file.
pub struct TraceFileSummary {
    /// Name of the file.
    pub name: String,
    /// Figures of the events in the window.
    pub summary: TraceSummary,
    /// Time of each device on a modelled disk.
    pub on_disk: Vec<DiskCost>,
    /// False if the file is truncated.
    pub is_whole: bool,
}

/// Reads a trace and summarizes the events in the window.
///
/// # Errors
/// When the file cannot be read or is not a trace.
pub fn summarise_file(
    path: &Path,
    window: TraceWindow,
) -> Result<TraceFileSummary, TraceFilesError> {
    let mut input = open(path)?;
    // A part of a trace has no beginning at which the head of a disk would be somewhere.
    let disk = ModelledDisk::named(MODELLED_DISK).filter(|_| window == TraceWindow::default());
    let mut replay = disk.as_ref().map(DiskReplay::new);
    let next = || {
        let entry = input.next_entry()?;
        if let (Some(replay), Some(entry)) = (&mut replay, &entry) {
            replay.entry(entry);
        }
        Ok(entry)
    };
    let summary = summarise(window, next).map_err(|error| unreadable(path, error))?;
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let on_disk = replay.map(DiskReplay::end).unwrap_or_default();
    Ok(TraceFileSummary { name, summary, on_disk, is_whole: input.is_whole() })
}

/// Passes on each entry of a trace; returns false if the file is truncated.
///
/// # Errors
/// When the file cannot be read or is not a trace, or the callback fails.
pub fn each_entry<E: From<TraceFilesError>>(
    path: &Path,
    mut each: impl FnMut(&TraceEntry) -> Result<(), E>,
) -> Result<bool, E> {
    let mut input = open(path)?;
    while let Some(entry) = input.next_entry().map_err(|error| unreadable(path, error))? {
        each(&entry)?;
    }
    Ok(input.is_whole())
}

/// Writes a trace in the format of blktrace.
///
/// # Errors
/// When the trace cannot be read, or the files cannot be written.
pub fn convert_to_blktrace(path: &Path, dir: &Path) -> Result<(), TraceFilesError> {
    let mut input = open(path)?;
    create_dir_all(dir).map_err(|error| unreadable(dir, error))?;
    let mut writer = blktrace_files(None, |device| dir.join(device));
    while let Some(entry) = input.next_entry().map_err(|error| unreadable(path, error))? {
        writer.entry(&entry).map_err(TraceFilesError::Unwritable)?;
    }
    writer.flush().map_err(TraceFilesError::Unwritable)
}

/// Refuses a directory that already has blktrace files of one of these devices.
///
/// # Errors
/// [`TraceFilesError::Exists`].
pub(crate) fn refuse_existing(dir: &Path, devices: &[TracedDevice]) -> Result<(), TraceFilesError> {
    for entry in read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some((stem, _)) = cpu_file(&name) else { continue };
        if devices.iter().any(|device| device.device.name == stem) {
            return Err(TraceFilesError::Exists { path: entry.path() });
        }
    }
    Ok(())
}

/// Hint for an output file that exists already.
pub(crate) const EXISTS: &str = "remove it, or choose another name";

/// Removes the files of an earlier trace with this name before `.blktrace.`. A file that cannot be
/// removed is reported when it is created.
pub fn remove_blktrace_files(stem: &Path) {
    let dir = stem.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Some(name) = stem.file_name() else { return };
    let name = name.to_string_lossy();
    for entry in read_dir(dir).into_iter().flatten().flatten() {
        let found = entry.file_name().to_string_lossy().into_owned();
        if cpu_file(&found).is_some_and(|(stem, _)| stem == name) {
            let _reported_when_it_is_made = remove_file(entry.path());
        }
    }
}

/// Parses the name of a CPU's file: the part before `.blktrace.`, and the CPU's number.
fn cpu_file(name: &str) -> Option<(&str, u32)> {
    let (stem, cpu) = name.rsplit_once(INFIX)?;
    let is_number = cpu.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| cpu.parse().ok().map(|cpu| (stem, cpu))).flatten()
}

/// Writer that makes its files on demand; `stem` gives a device's file name before `.blktrace.`. An
/// existing file is an error: it belongs to another trace, and would be read with this one.
/// blkparse reads the files of CPUs up to the first missing one, so those of lower CPUs are made
/// too.
pub fn blktrace_files(
    origin_ns: Option<u64>,
    stem: impl Fn(&str) -> PathBuf,
) -> BlktraceWriter<BufWriter<File>, impl FnMut(&str, u32) -> io::Result<BufWriter<File>>> {
    let mut made = BTreeSet::new();
    BlktraceWriter::new(origin_ns, move |device, cpu| {
        let path = |cpu: u32| {
            let mut path = stem(device).into_os_string();
            path.push(format!("{INFIX}{cpu}"));
            PathBuf::from(path)
        };
        let reported = |path: &Path, error: io::Error| {
            io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        };
        for path in (0..=cpu).map(path) {
            if !made.contains(&path) {
                File::create_new(&path).map_err(|error| reported(&path, error))?;
                made.insert(path);
            }
        }
        let file = File::options().append(true).open(path(cpu));
        let file = file.map_err(|error| reported(&path(cpu), error))?;
        Ok(BufWriter::with_capacity(1 << 16, file))
    })
}
