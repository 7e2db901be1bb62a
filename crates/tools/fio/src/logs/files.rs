//! Files of a clone's logs, written while it works.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::language::LogOptions;

use super::super::worker::Worker;
use super::{BANDWIDTH, CLOSED, DATA_SYNC, IOPS, ISSUED, OPENED, RANGE_SYNC, SYNC};

/// Line of a log: its kind, and what the kind has.
pub(super) type LogLine = [u64; 6];

/// Suffixes of the log files, by kind.
const KINDS: [&str; 5] = ["slat", "clat", "lat", "bw", "iops"];

/// Files of a clone's logs.
#[derive(Clone, Debug, Default)]
pub(super) struct LogFiles {
    base: PathBuf,
    job_name: String,
    /// Number of the clone among all, from 1.
    number: u64,
    /// Names of the job's files, for the log of all requests.
    file_names: Vec<String>,
    /// True once the files are there.
    has_begun: bool,
    failures: Vec<String>,
}

/// Filename prefix of a kind, if the job asks for it.
fn prefix(options: &LogOptions, kind: usize) -> Option<&str> {
    match kind {
        BANDWIDTH => options.bandwidth.as_deref(),
        IOPS => options.iops.as_deref(),
        _ => options.latencies.as_deref(),
    }
}

impl LogFiles {
    pub(super) fn of_worker(worker: &Worker, base: &Path) -> Self {
        let has_requests = worker.job.logs.requests.is_some();
        Self {
            base: base.to_owned(),
            job_name: worker.job.name.clone(),
            number: worker.seeds.clone_number(),
            file_names: if has_requests { worker.spelled() } else { Vec::new() },
            has_begun: false,
            failures: Vec::new(),
        }
    }

    /// Appends lines to the files. Those of this clone alone begin empty; as in the original,
    /// others keep what is in them.
    pub(super) fn write(&mut self, options: &LogOptions, lines: &[LogLine], histograms: &str) {
        let begins = !std::mem::replace(&mut self.has_begun, true);
        for (kind, name) in KINDS.into_iter().enumerate() {
            let Some(prefix) = prefix(options, kind) else { continue };
            let path = self.path(options, prefix, name);
            self.append(&path, begins && !options.together, &text_of_kind(kind, options, lines));
        }
        if let Some(prefix) = &options.histograms {
            let path = self.path(options, prefix, "clat_hist");
            self.append(&path, begins && !options.together, histograms);
        }
        if let Some(path) = &options.requests {
            let mut text = String::new();
            if begins {
                text.push_str("fio version 3 iolog\n");
                // Writing into a string cannot fail.
                self.file_names.iter().for_each(|name| _ = writeln!(text, "0 {name} add"));
            }
            write_requests(&mut text, &self.file_names, lines);
            self.append(path, false, &text);
        }
    }

    /// Path of the log with this suffix.
    fn path(&self, options: &LogOptions, prefix: &str, suffix: &str) -> String {
        let prefix = if prefix.is_empty() { &self.job_name } else { prefix };
        if options.together {
            format!("{prefix}_{suffix}.log")
        } else {
            format!("{prefix}_{suffix}.{}.log", self.number)
        }
    }

    fn append(&mut self, path: &str, anew: bool, text: &str) {
        let path = self.base.join(path);
        let opened: std::io::Result<File> = if anew {
            File::create(&path)
        } else {
            OpenOptions::new().create(true).append(true).open(&path)
        };
        let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
        if let Err(error) = written
            && self.failures.is_empty()
        {
            let text = format!("fio: {}: {error}\n", path.display());
            self.failures.push(text);
        }
    }

    /// Message about a file that could not be written, if there is one.
    pub(super) fn failures(self) -> Vec<String> {
        self.failures
    }
}

/// Lines of one kind, as the original writes them.
fn text_of_kind(kind: usize, options: &LogOptions, lines: &[LogLine]) -> String {
    let mut text = String::new();
    let lines_of_kind = lines.iter().filter(|line| line[0] == kind as u64);
    for [_, ms, value, direction, bytes, offset] in lines_of_kind {
        // Writing into a string cannot fail.
        let _ = write!(text, "{ms}, {value}, {direction}, {bytes},");
        if options.offsets {
            let _ = write!(text, " {offset},");
        }
        text.push_str(" 0\n");
    }
    text
}

/// Lines of `write_iolog`, for a clone whose files have these names.
fn write_requests(text: &mut String, names: &[String], lines: &[LogLine]) {
    for [kind, us, file, direction, bytes, offset] in lines {
        let name = usize::try_from(*file).ok().and_then(|file| names.get(file));
        let name = name.map_or("", String::as_str);
        // Writing into a string cannot fail.
        let _ = match (*kind, *direction) {
            (OPENED, _) => writeln!(text, "{us} {name} open"),
            (CLOSED, _) => writeln!(text, "{us} {name} close"),
            (ISSUED, direction) => {
                let what = match direction {
                    0 => "read",
                    SYNC => "sync",
                    DATA_SYNC => "datasync",
                    RANGE_SYNC => "sync_file_range",
                    2 => "trim",
                    _ => "write",
                };
                writeln!(text, "{us} {name} {what} {offset} {bytes}")
            }
            _ => Ok(()),
        };
    }
}
