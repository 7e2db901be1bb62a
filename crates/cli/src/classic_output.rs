//! Writes the output of an imitated tool to standard output, standard error and the tool's log.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use treering_engine::Target;
use treering_model::{Artifact, SinkError, TrialEvent, TrialSink, is_unsafe};
use treering_script::{
    ClassicOutput, ContextAnswer, DiskCounts, OutputContext, StatfsSpace, ToolOutput,
};
use treering_sys::{SemaphoreSet, major_minor, write_whole_file};
use treering_trace::DiskCounters;

use crate::clock::local_time;

/// Writer of an imitated tool's output.
pub(crate) struct Speaker {
    output: Box<dyn ClassicOutput>,
    log: Option<File>,
    /// First target directory, whose free space the output may ask for.
    root: Target,
    /// Semaphores at which this run waits for other processes.
    meetings: Option<SemaphoreSet>,
    /// Error of the semaphore wait that ended the run.
    missed: Option<io::Error>,
}

/// Error of a log file that cannot be opened.
pub(crate) struct Unopened {
    path: PathBuf,
    /// The tool's own message about the log; empty if it has none.
    pub(crate) said: ToolOutput,
    error: io::Error,
}

impl fmt::Display for Unopened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot open the log {}: {}", self.path.display(), self.error)
    }
}

/// The system's message for an error, as the imitated tools print it.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error ").next().unwrap_or(&text).to_owned()
}

impl Speaker {
    /// Speaks; appends to this log, or begins it anew.
    ///
    /// # Errors
    /// When the log cannot be opened.
    pub(crate) fn begin(
        mut output: Box<dyn ClassicOutput>,
        log: Option<&Path>,
        root: Target,
    ) -> Result<Self, Box<Unopened>> {
        let anew = output.log_begins_anew();
        let open = |path: &Path| {
            let mut options = OpenOptions::new();
            let options =
                if anew { options.write(true).truncate(true) } else { options.append(true) };
            options.create(true).open(path)
        };
        let log = match log.map(|path| (path, open(path))) {
            Some((path, Err(error))) => {
                let said = output.without_log(path, &reason(&error));
                return Err(Box::new(Unopened { path: path.to_owned(), said, error }));
            }
            opened => opened.and_then(|(_, file)| file.ok()),
        };
        Ok(Self { output, log, root, meetings: None, missed: None })
    }

    /// Adds the semaphores at which the run waits for other processes.
    pub(crate) fn meeting_at(self, meetings: Option<SemaphoreSet>) -> Self {
        Self { meetings, ..self }
    }

    /// Exit code of a failed run, if the tool's is not 1.
    pub(crate) fn exit_code(&self) -> Option<u8> {
        self.output.exit_code()
    }

    /// Takes the error of the semaphore wait that ended the run.
    pub(crate) fn missed(&mut self) -> Option<io::Error> {
        self.missed.take()
    }

    /// Has the output produce text, and writes that text.
    ///
    /// # Errors
    /// When standard output or the log does not take it. A reader that went away is no error.
    pub(crate) fn speak(
        &mut self,
        words: impl FnOnce(&mut dyn ClassicOutput) -> ToolOutput,
    ) -> io::Result<()> {
        let said = words(self.output.as_mut());
        self.tell(&said)
    }

    /// Writes the text to its streams.
    fn tell(&mut self, said: &ToolOutput) -> io::Result<()> {
        if !said.err.is_empty() {
            let _nobody_listens = io::stderr().write_all(said.err.as_bytes());
        }
        if !said.out.is_empty() {
            let mut out = io::stdout().lock();
            match out.write_all(said.out.as_bytes()).and_then(|()| out.flush()) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
                written => written?,
            }
        }
        for (path, text) in &said.files {
            let reported = |error: io::Error| {
                io::Error::new(error.kind(), format!("{}: {error}", path.display()))
            };
            let written = write_whole_file(path, |mut file| file.write_all(text));
            written.map_err(reported)?;
        }
        match &mut self.log {
            Some(log) if !said.log.is_empty() => log.write_all(said.log.as_bytes()),
            _ => Ok(()),
        }
    }
}

/// Trial sink that passes events to other sinks together with the context of an imitated tool's
/// output, then writes that output.
pub(crate) struct Speaking<'a> {
    pub(crate) speaker: &'a mut Speaker,
    /// Artifact that is stored right after the beginning of the trial.
    pub(crate) record: Option<Artifact>,
    pub(crate) others: Vec<Box<dyn TrialSink + 'a>>,
}

impl Speaking<'_> {
    fn hand_on(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        self.others.iter_mut().try_for_each(|sink| sink.accept(event))
    }
}

impl TrialSink for Speaking<'_> {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        let Speaker { output, root, meetings, missed, .. } = &mut *self.speaker;
        let mut looking = Looking { root, meetings: *meetings, missed, answers: Vec::new() };
        let said = output.hear(event, &mut looking);
        let answers = looking.answers;
        if missed.is_some() {
            return Err(SinkError::new("cannot meet others", io::Error::other("see its cause")));
        }
        let is_kept = output.keeps_ticks() || !matches!(event, TrialEvent::Ticked { .. });
        for answer in answers.into_iter().filter(|_| is_kept) {
            let made = Artifact::new(ContextAnswer::KIND, ContextAnswer::VERSION, &answer)
                .map_err(|error| SinkError::new("cannot keep what was seen", error))?;
            self.hand_on(&TrialEvent::Produced(made))?;
        }
        if is_kept {
            self.hand_on(event)?;
        }
        if let Some(record) = self.record.take_if(|_| matches!(event, TrialEvent::Began(_))) {
            self.hand_on(&TrialEvent::Produced(record))?;
        }
        let reported = self.speaker.tell(&said);
        reported.map_err(|error| SinkError::new("cannot write the tool's lines", error))
    }
}

/// Answers the output's queries from the clock and the first target directory.
struct Looking<'t> {
    root: &'t Target,
    meetings: Option<SemaphoreSet>,
    missed: &'t mut Option<io::Error>,
    /// Answers given so far, to be stored with the trial.
    answers: Vec<ContextAnswer>,
}

impl OutputContext for Looking<'_> {
    fn room(&mut self) -> Option<StatfsSpace> {
        let room = self.root.room().ok();
        self.answers.push(ContextAnswer::Room(room));
        room
    }

    fn time(&mut self) -> String {
        let time = local_time();
        self.answers.push(ContextAnswer::Time(time.clone()));
        time
    }

    fn disk(&mut self) -> Option<DiskCounts> {
        let disk = disk_below(self.root.path());
        self.answers.push(ContextAnswer::Disk(disk.clone()));
        disk
    }

    fn wait_for_line(&mut self) {
        // Any line will do, as will the end of the input.
        let _anything = io::stdin().lines().next();
    }

    fn meet(&mut self, number: u16) {
        let met = self.meetings.map_or(Ok(()), |meetings| meetings.meet(number));
        match met.map_err(io::Error::from) {
            // Who is asked to stop stops a little later.
            Err(error) if error.kind() != io::ErrorKind::Interrupted => *self.missed = Some(error),
            _ => {}
        }
    }
}

/// I/O counters of the disk that holds a directory; a partition counts as its whole disk.
fn disk_below(directory: &Path) -> Option<DiskCounts> {
    use std::os::unix::fs::MetadataExt as _;
    let device = std::fs::metadata(directory).ok()?.dev();
    let (major, minor) = major_minor(device);
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

/// Prints a line on standard error. Write errors are ignored: a closed stream must not stop a run.
pub(crate) fn say(line: &str) {
    let _nobody_listens = writeln!(io::stderr(), "{}", shown(line));
}

/// Escapes characters that would act on a terminal, in text that may contain foreign names;
/// newline, carriage return, tab and backspace are kept.
pub(crate) fn shown(words: &str) -> String {
    let acts = |sign: char| is_unsafe(sign) && !matches!(sign, '\n' | '\r' | '\t' | '\u{8}');
    let mut shown = String::with_capacity(words.len());
    for sign in words.chars() {
        if acts(sign) {
            shown.extend(sign.escape_default());
        } else {
            shown.push(sign);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn names_in_the_words_of_a_tool_do_not_act_on_a_terminal() {
        assert_eq!(shown("a\tb\r\n"), "a\tb\r\n");
        assert_eq!(shown("\u{1b}]52;c;Zm9v\u{7}\u{9b}1m"), "\\u{1b}]52;c;Zm9v\\u{7}\\u{9b}1m");
    }
}
