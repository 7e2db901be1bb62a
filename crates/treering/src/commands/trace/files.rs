//! Files of traces: our own, and those of blktrace, which has one for each device and CPU.

use std::collections::BTreeSet;
use std::fs::{File, create_dir_all, read_dir};
use std::io::{BufWriter, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use treering_report::pages::trace::TracedRun;
use treering_trace::{
    BlktraceReader, BlktraceWriter, DeviceNumber, Entry, TraceFileError, TraceReader, Window,
    is_trace, summarise,
};

use crate::classic_voice::say;
use crate::failure::{Failure, Kind};

/// Bytes by which our own files are told from others.
const BEGINNING_BYTES: usize = 32;

/// Between the device's name and the number of the CPU.
const INFIX: &str = ".blktrace.";

/// A trace that is read.
enum Input {
    Own(TraceReader<File>),
    Blktrace(BlktraceReader<File>),
}

impl Input {
    fn next_entry(&mut self) -> Result<Option<Entry>, TraceFileError> {
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

fn unreadable(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::new(Kind::Environment, format!("{}: {error}", path.display()))
}

/// Opens a trace of either sort.
fn open(path: &Path) -> Result<Input, Failure> {
    let paths = of_blktrace(path)?;
    if paths.is_empty() {
        let mut file = File::open(path).map_err(|error| unreadable(path, error))?;
        let mut beginning = [0; BEGINNING_BYTES];
        let length = file.read(&mut beginning).map_err(|error| unreadable(path, error))?;
        file.seek(SeekFrom::Start(0)).map_err(|error| unreadable(path, error))?;
        if is_trace(&beginning[..length]) {
            let reader = TraceReader::new(file).map_err(|error| unreadable(path, error))?;
            return Ok(Input::Own(reader));
        }
        // Anything else is taken for blktrace's, which says what is wrong with it.
        let reader = BlktraceReader::new(vec![file]).map_err(|error| {
            unreadable(path, error)
                .hint("a trace is a file of `treering trace --out` or of blktrace")
        })?;
        return Ok(Input::Blktrace(reader));
    }
    let files = paths.iter().map(|path| File::open(path).map_err(|error| unreadable(path, error)));
    let files = files.collect::<Result<Vec<_>, _>>()?;
    let reader = BlktraceReader::new(files).map_err(|error| unreadable(path, error))?;
    Ok(Input::Blktrace(reader))
}

/// The files of all CPUs: of a directory, of a name before `.blktrace.`, or of one CPU's file.
fn of_blktrace(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let is_dir = path.is_dir();
    let (dir, wanted) = if is_dir {
        (path.to_owned(), None)
    } else {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let device = name.split(INFIX).next().unwrap_or_default().to_owned();
        if path.exists() && !name.contains(INFIX) {
            return Ok(Vec::new());
        }
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        (dir.unwrap_or(Path::new(".")).to_owned(), Some(device))
    };
    let entries = read_dir(&dir).map_err(|error| unreadable(&dir, error))?;
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let parts = name.split_once(INFIX);
            parts.is_some_and(|(device, cpu)| {
                cpu.bytes().all(|byte| byte.is_ascii_digit())
                    && wanted.as_ref().is_none_or(|wanted| wanted == device)
            })
        })
        .map(|entry| entry.path())
        .collect();
    found.sort();
    if found.is_empty() && is_dir {
        return Err(unreadable(path, "no files of blktrace (NAME.blktrace.CPU) are there"));
    }
    Ok(found)
}

/// What a trace says.
pub(super) fn summary(path: &Path, window: Window) -> Result<TracedRun, Failure> {
    let mut input = open(path)?;
    let summary =
        summarise(window, || input.next_entry()).map_err(|error| unreadable(path, error))?;
    if !input.is_whole() {
        say(&format!("{}: cut off; what is there is shown", path.display()));
    }
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok(TracedRun { name, summary })
}

/// Tells all that is in a trace.
pub(crate) fn each_entry(
    path: &Path,
    mut each: impl FnMut(&Entry) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut input = open(path)?;
    while let Some(entry) = input.next_entry().map_err(|error| unreadable(path, error))? {
        each(&entry)?;
    }
    if !input.is_whole() {
        say(&format!("{}: cut off; what is there is used", path.display()));
    }
    Ok(())
}

/// Writes a trace as blktrace does.
pub(super) fn convert(path: &Path, dir: &Path) -> Result<(), Failure> {
    let mut input = open(path)?;
    let mut writer: Option<(BlktraceWriter<BufWriter<File>, _>, Names)> = None;
    let names = Names::default();
    while let Some(entry) = input.next_entry().map_err(|error| unreadable(path, error))? {
        names.hear(&entry);
        let time = match &entry {
            Entry::Event(event) => event.time_ns,
            _ => 0,
        };
        if writer.is_none() && time == 0 && !matches!(entry, Entry::Event(_)) {
            continue;
        }
        let (writer, _) = writer.get_or_insert_with(|| {
            (blktrace_files(dir.to_owned(), names.clone(), time), names.clone())
        });
        writer.entry(&entry).map_err(|error| unreadable(dir, error))?;
    }
    if let Some((mut writer, _)) = writer {
        writer.flush().map_err(|error| unreadable(dir, error))?;
    }
    Ok(())
}

/// The names of devices by their numbers, as a trace tells them.
#[derive(Clone, Default)]
pub(super) struct Names(std::sync::Arc<std::sync::Mutex<Vec<(DeviceNumber, String)>>>);

impl Names {
    pub(super) fn hear(&self, entry: &Entry) {
        if let Entry::Device(device) = entry {
            let mut names = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            names.push((device.number, device.name.clone()));
        }
    }

    /// A name that is one of a file, whatever the trace says.
    fn of(&self, number: DeviceNumber) -> String {
        let names = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let known = names.iter().find(|(known, _)| *known == number).map(|(_, name)| name.as_str());
        let tame = |name: &&str| {
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        };
        known
            .filter(tame)
            .map_or_else(|| format!("dev-{}-{}", number.major(), number.minor()), str::to_owned)
    }
}

/// A writer whose files are made in a directory when they are needed. blkparse looks for the files
/// of all CPUs up to the first that is missing, so lower ones are made too.
pub(super) fn blktrace_files(
    dir: PathBuf,
    names: Names,
    origin_ns: u64,
) -> BlktraceWriter<
    BufWriter<File>,
    impl FnMut(DeviceNumber, u32) -> std::io::Result<BufWriter<File>>,
> {
    let mut made = BTreeSet::new();
    BlktraceWriter::new(origin_ns, move |device, cpu| {
        create_dir_all(&dir)?;
        let path = |cpu: u32| dir.join(format!("{}{INFIX}{cpu}", names.of(device)));
        // What is there is of another trace, and would be read with this one.
        for cpu in 0..=cpu {
            if made.insert(path(cpu)) {
                File::create_new(path(cpu))?;
            }
        }
        Ok(BufWriter::with_capacity(1 << 16, File::create(path(cpu))?))
    })
}
