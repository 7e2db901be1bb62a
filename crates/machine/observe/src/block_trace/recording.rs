//! Recording of a program's requests: with events, into files if they are named, or with the
//! counters of the devices.

use std::fs::{File, create_dir_all, remove_file};
use std::io::{self, BufWriter, ErrorKind};
use std::path::{Path, PathBuf};

use thiserror::Error;
use treering_sys::monotonic_ns;
use treering_trace::{TraceDigest, TraceWriter, losses};

use super::statistics::StatisticsRecorder;
use super::trace_files::{EXISTS, blktrace_files, refuse_existing};
use super::{
    BlockRecorder, BlockTraceError, RecorderOptions, SharedSink, TraceFilesError, TraceMethod,
    TracedDevice,
};

/// Method of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordingMethod {
    /// Events by this method.
    Events(TraceMethod),
    /// Counters of the devices, without events.
    Statistics,
}

/// Options of a recording.
#[derive(Clone, Debug, Default)]
pub struct RecordingOptions<'a> {
    /// Method; the first that works if none is named.
    pub method: Option<RecordingMethod>,
    /// Size of the buffer of each CPU.
    pub ring_bytes: usize,
    /// File for the events in treering's format.
    pub trace_file: Option<&'a Path>,
    /// Directory for the events in files of blktrace.
    pub blktrace_dir: Option<&'a Path>,
}

impl RecordingOptions<'_> {
    /// True if event files are requested.
    pub fn keeps_events(&self) -> bool {
        self.trace_file.is_some() || self.blktrace_dir.is_some()
    }
}

/// Error of beginning a recording.
#[derive(Debug, Error)]
pub enum RecordingError {
    /// The devices cannot be recorded.
    #[error(transparent)]
    Devices(#[from] BlockTraceError),
    /// Files of a trace are in the way.
    #[error(transparent)]
    Files(#[from] TraceFilesError),
    /// A file cannot be written.
    #[error("cannot write {}: {error}", path.display())]
    Unwritable {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
}

impl RecordingError {
    /// Advice, if there is any.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Devices(_) => None,
            Self::Files(error) => error.hint(),
            Self::Unwritable { error, .. } => {
                (error.kind() == ErrorKind::AlreadyExists).then_some(EXISTS)
            }
        }
    }
}

/// Recording in progress, with events or with counters.
pub enum Recording {
    /// Events of requests.
    Events(BlockRecorder),
    /// Counters of devices.
    Counters(StatisticsRecorder),
}

impl Recording {
    /// Begins a recording. Passes `warn` the reason if only counters can be recorded.
    ///
    /// # Errors
    /// When the files cannot be written, or the requested method does not work.
    pub fn begin(
        options: &RecordingOptions<'_>,
        devices: &[TracedDevice],
        warn: &mut dyn FnMut(&str),
    ) -> Result<Self, RecordingError> {
        let counters = || Ok(StatisticsRecorder::begin(devices).map(Self::Counters)?);
        let method = match options.method {
            Some(RecordingMethod::Statistics) => return counters(),
            Some(RecordingMethod::Events(method)) => Some(method),
            None => None,
        };
        let recorder = RecorderOptions { ring_bytes: options.ring_bytes, method };
        match BlockRecorder::begin(devices, recorder, sinks(options, devices)?) {
            Ok(recorder) => Ok(Self::Events(recorder)),
            Err(error) if method.is_some() || options.keeps_events() => {
                // The trace file has only its header.
                options.trace_file.iter().for_each(|path| drop(remove_file(path)));
                Err(error.into())
            }
            Err(error) => {
                warn(&format!("{error}; the device's counters give rates only"));
                counters()
            }
        }
    }

    /// Ends the recording; passes `warn` the errors of files and ring buffers. `written` is the
    /// number of bytes that the program wrote.
    pub fn end(self, written: Option<u64>, warn: &mut dyn FnMut(&str)) -> TraceDigest {
        match self {
            Self::Counters(recorder) => {
                let mut digest = recorder.cut().unwrap_or_default();
                digest.figures.program_write_bytes = written;
                digest
            }
            Self::Events(recorder) => {
                let Some(recorded) = recorder.stop_with(written) else {
                    return TraceDigest::default();
                };
                for error in &recorded.failed {
                    warn(&format!("the trace is not stored: {error}"));
                }
                if let Some(losses) = losses(recorded.lost_events, recorded.missing_bytes) {
                    warn(&losses);
                }
                if recorded.lost_events > 0 {
                    warn("a larger --ring loses less");
                }
                recorded.digest
            }
        }
    }
}

/// Opens the files that the trace is written to.
fn sinks(
    options: &RecordingOptions<'_>,
    devices: &[TracedDevice],
) -> Result<Vec<SharedSink>, RecordingError> {
    let cannot =
        |path: &Path, error: io::Error| RecordingError::Unwritable { path: path.to_owned(), error };
    if let Some(dir) = options.blktrace_dir {
        refuse_existing(dir, devices)?;
    }
    let mut sinks: Vec<SharedSink> = Vec::new();
    if let Some(path) = options.trace_file {
        let file = File::create_new(path).map_err(|error| cannot(path, error))?;
        let writer = TraceWriter::new(BufWriter::with_capacity(1 << 18, file));
        sinks.push(Box::new(writer.map_err(|error| cannot(path, error))?));
    }
    if let Some(dir) = options.blktrace_dir {
        create_dir_all(dir).map_err(|error| cannot(dir, error))?;
        let dir = dir.to_owned();
        let writer = blktrace_files(Some(monotonic_ns()), move |device| dir.join(device));
        sinks.push(Box::new(writer));
    }
    Ok(sinks)
}
