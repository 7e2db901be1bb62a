//! Output of an imitated tool, written to its streams and its log.

use std::fmt;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use treering_engine::Target;
use treering_model::{Artifact, SinkError, TrialEvent, TrialSink};
use treering_script::{
    ClassicOutput, ContextAnswer, DiskCounts, OutputContext, StatfsSpace, ToolOutput,
};
use treering_sys::{SemaphoreSet, major_minor, write_whole_file};
use treering_trace::DiskCounters;

use super::sinks::EventFilter;

/// Streams and clock of an imitated tool.
pub trait ToolTerminal {
    /// Standard output.
    fn out(&mut self) -> &mut dyn Write;

    /// Standard error.
    fn err(&mut self) -> &mut dyn Write;

    /// The current local time in the format of `ctime`, without the newline.
    fn local_time(&self) -> String;

    /// Waits for a line on standard input, or for its end.
    fn wait_for_line(&mut self);
}

/// Writer of an imitated tool's output.
pub(super) struct Speaker {
    output: Box<dyn ClassicOutput>,
    log: Option<File>,
    /// First target directory, whose free space the output may query.
    root: Target,
    /// Semaphores at which this run waits for other processes.
    meetings: Option<SemaphoreSet>,
    /// Error of the semaphore wait that ended the run.
    missed: Option<io::Error>,
    terminal: Box<dyn ToolTerminal>,
}

/// Error in opening the log file.
pub(super) struct LogOpenError {
    path: PathBuf,
    /// The tool's own message about the log; empty if it has none.
    pub(super) said: ToolOutput,
    error: io::Error,
}

impl fmt::Display for LogOpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot open the log {}: {}", self.path.display(), self.error)
    }
}

/// The system's message for an error, as the imitated tools print it.
pub(super) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error ").next().unwrap_or(&text).to_owned()
}

impl Speaker {
    /// Opens the log, to append or truncated as the tool does, and begins the output.
    ///
    /// # Errors
    /// When the log cannot be opened.
    pub(super) fn begin(
        mut output: Box<dyn ClassicOutput>,
        log: Option<&Path>,
        root: Target,
        terminal: Box<dyn ToolTerminal>,
    ) -> Result<Self, Box<LogOpenError>> {
        let truncates = output.log_begins_anew();
        let open = |path: &Path| {
            let mut options = OpenOptions::new();
            let options =
                if truncates { options.write(true).truncate(true) } else { options.append(true) };
            options.create(true).open(path)
        };
        let log = match log.map(|path| (path, open(path))) {
            Some((path, Err(error))) => {
                let said = output.without_log(path, &reason(&error));
                return Err(Box::new(LogOpenError { path: path.to_owned(), said, error }));
            }
            opened => opened.and_then(|(_, file)| file.ok()),
        };
        Ok(Self { output, log, root, meetings: None, missed: None, terminal })
    }

    /// Adds the semaphores at which the run waits for other processes.
    pub(super) fn meeting_at(self, meetings: Option<SemaphoreSet>) -> Self {
        Self { meetings, ..self }
    }

    /// Exit code of a failed run, if the tool uses another one than 1.
    pub(super) fn exit_code(&self) -> Option<u8> {
        self.output.exit_code()
    }

    /// Takes the error of the semaphore wait that ended the run.
    pub(super) fn missed(&mut self) -> Option<io::Error> {
        self.missed.take()
    }

    /// Lets the output produce text, and writes it.
    ///
    /// # Errors
    /// When standard output or the log cannot be written. A closed pipe is not an error.
    pub(super) fn speak(
        &mut self,
        words: impl FnOnce(&mut dyn ClassicOutput) -> ToolOutput,
    ) -> io::Result<()> {
        let said = words(self.output.as_mut());
        self.tell(&said)
    }

    /// Writes the text to its streams.
    fn tell(&mut self, text: &ToolOutput) -> io::Result<()> {
        if !text.err.is_empty() {
            let _nobody_listens = self.terminal.err().write_all(text.err.as_bytes());
        }
        if !text.out.is_empty() {
            let out = self.terminal.out();
            match out.write_all(text.out.as_bytes()).and_then(|()| out.flush()) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
                written => written?,
            }
        }
        for (path, contents) in &text.files {
            let reported = |error: io::Error| {
                io::Error::new(error.kind(), format!("{}: {error}", path.display()))
            };
            let written = write_whole_file(path, |mut file| file.write_all(contents));
            written.map_err(reported)?;
        }
        match &mut self.log {
            Some(log) if !text.log.is_empty() => log.write_all(text.log.as_bytes()),
            _ => Ok(()),
        }
    }
}

/// Passes the events of a trial on together with the context of an imitated tool's output, then
/// writes that output.
pub(super) struct ToolOutputSink<'a> {
    pub(super) speaker: &'a mut Speaker,
    /// Artifact that is stored right after the beginning of the trial.
    pub(super) record: Option<Artifact>,
}

impl EventFilter for ToolOutputSink<'_> {
    fn accept(&mut self, event: &TrialEvent, kept: &mut dyn TrialSink) -> Result<(), SinkError> {
        let Speaker { output, root, meetings, missed, terminal, .. } = &mut *self.speaker;
        let device = output.watched_device().map(Path::to_owned);
        let terminal = terminal.as_mut();
        let mut looking = OutputQueries {
            root,
            device,
            meetings: *meetings,
            missed,
            terminal,
            answers: Vec::new(),
        };
        let said = output.hear(event, &mut looking);
        let answers = looking.answers;
        if missed.is_some() {
            return Err(SinkError::new("cannot meet others", io::Error::other("see its cause")));
        }
        let is_kept = output.keeps_ticks() || !matches!(event, TrialEvent::Ticked { .. });
        for answer in answers.into_iter().filter(|_| is_kept) {
            let artifact = Artifact::new(ContextAnswer::KIND, ContextAnswer::VERSION, &answer)
                .map_err(|error| SinkError::new("cannot keep what was seen", error))?;
            kept.accept(&TrialEvent::Produced(artifact))?;
        }
        if is_kept {
            kept.accept(event)?;
        }
        if let Some(record) = self.record.take_if(|_| matches!(event, TrialEvent::Began(_))) {
            kept.accept(&TrialEvent::Produced(record))?;
        }
        let reported = self.speaker.tell(&said);
        reported.map_err(|error| SinkError::new("cannot write the tool's lines", error))
    }
}

/// Answers the output's queries about the clock and the first target directory.
struct OutputQueries<'t> {
    root: &'t Target,
    /// Device whose counters are queried, if it is not that of the directory.
    device: Option<PathBuf>,
    meetings: Option<SemaphoreSet>,
    missed: &'t mut Option<io::Error>,
    terminal: &'t mut dyn ToolTerminal,
    /// Answers given so far, to be stored with the trial.
    answers: Vec<ContextAnswer>,
}

impl OutputContext for OutputQueries<'_> {
    fn room(&mut self) -> Option<StatfsSpace> {
        let room = self.root.room().ok();
        self.answers.push(ContextAnswer::Room(room));
        room
    }

    fn time(&mut self) -> String {
        let time = self.terminal.local_time();
        self.answers.push(ContextAnswer::Time(time.clone()));
        time
    }

    fn disk(&mut self) -> Option<DiskCounts> {
        let disk = match &self.device {
            Some(device) => disk_of(device, Metadata::rdev),
            None => disk_of(self.root.path(), Metadata::dev),
        };
        self.answers.push(ContextAnswer::Disk(disk.clone()));
        disk
    }

    fn wait_for_line(&mut self) {
        self.terminal.wait_for_line();
    }

    fn meet(&mut self, number: u16) {
        let met = self.meetings.map_or(Ok(()), |meetings| meetings.meet(number));
        match met.map_err(io::Error::from) {
            // A wait interrupted by a signal is no error: the stop flag ends the run.
            Err(error) if error.kind() != io::ErrorKind::Interrupted => *self.missed = Some(error),
            _ => {}
        }
    }
}

/// I/O counters of the disk of this number; a partition counts as its whole disk.
fn disk_of(path: &Path, number: fn(&Metadata) -> u64) -> Option<DiskCounts> {
    let (major, minor) = major_minor(number(&std::fs::metadata(path).ok()?));
    let folder = Path::new("/sys/dev/block").join(format!("{major}:{minor}"));
    let folder = std::fs::canonicalize(folder).ok()?;
    let is_partition = folder.join("partition").exists();
    let disk = if is_partition { folder.parent()? } else { &folder };
    let stat = std::fs::read_to_string(disk.join("stat")).ok()?;
    let counters = DiskCounters::parse(&stat)?;
    Some(DiskCounts {
        name: disk.file_name()?.to_str()?.to_owned(),
        requests: [counters.reads, counters.writes],
        merges: [counters.read_merges, counters.write_merges],
        ticks_ms: [counters.read_ms, counters.write_ms],
        busy_ms: counters.busy_ms,
        queue_ms: counters.queue_ms,
    })
}
