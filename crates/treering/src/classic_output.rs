//! Gives an imitated tool's words to those who listen: standard output, standard error, its log.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use treering_engine::Target;
use treering_model::{SinkError, TrialEvent, TrialSink};
use treering_script::{ClassicOutput, DiskCounts, Room, Said, Witness};
use treering_sys::{Semaphores, major_minor};
use treering_trace::Counters;

use crate::clock::local_time;

/// The tool's output, and where its words go.
pub(crate) struct Speaker {
    output: Box<dyn ClassicOutput>,
    log: Option<File>,
    /// The first root, to ask its filesystem for its room.
    root: Target,
    /// Where other processes are met.
    meetings: Option<Semaphores>,
    /// Why they could not be met.
    missed: Option<io::Error>,
}

impl Speaker {
    /// Speaks; appends to this log, or begins it anew.
    ///
    /// # Errors
    /// When the log cannot be opened.
    pub(crate) fn begin(
        output: Box<dyn ClassicOutput>,
        log: Option<&Path>,
        root: Target,
    ) -> io::Result<Self> {
        let anew = output.log_begins_anew();
        let open = |path| {
            let mut options = OpenOptions::new();
            let options =
                if anew { options.write(true).truncate(true) } else { options.append(true) };
            options.create(true).open(path)
        };
        let log = log.map(open).transpose()?;
        Ok(Self { output, log, root, meetings: None, missed: None })
    }

    /// The same, which meets others there.
    pub(crate) fn meeting_at(self, meetings: Option<Semaphores>) -> Self {
        Self { meetings, ..self }
    }

    /// Why other processes could not be met, which ended the run.
    pub(crate) fn missed(&mut self) -> Option<io::Error> {
        self.missed.take()
    }

    /// Lets the output say something.
    ///
    /// # Errors
    /// When standard output or the log does not take it. A reader that went away is no error.
    pub(crate) fn speak(
        &mut self,
        words: impl FnOnce(&mut dyn ClassicOutput) -> Said,
    ) -> io::Result<()> {
        let said = words(self.output.as_mut());
        self.tell(&said)
    }

    fn tell(&mut self, said: &Said) -> io::Result<()> {
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
            let told = |error: io::Error| {
                io::Error::new(error.kind(), format!("{}: {error}", path.display()))
            };
            std::fs::write(path, text).map_err(told)?;
        }
        match &mut self.log {
            Some(log) if !said.log.is_empty() => log.write_all(said.log.as_bytes()),
            _ => Ok(()),
        }
    }
}

impl TrialSink for &mut Speaker {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        let Speaker { output, root, meetings, missed, .. } = &mut **self;
        let said = output.hear(event, &mut Looking { root, meetings: *meetings, missed });
        if missed.is_some() {
            return Err(SinkError::new("cannot meet others", io::Error::other("see its cause")));
        }
        self.tell(&said).map_err(|error| SinkError::new("cannot write the tool's lines", error))
    }
}

/// Looks at the clock and at the first root.
struct Looking<'t> {
    root: &'t Target,
    meetings: Option<Semaphores>,
    missed: &'t mut Option<io::Error>,
}

impl Witness for Looking<'_> {
    fn room(&mut self) -> Option<Room> {
        self.root.room().ok()
    }

    fn time(&mut self) -> String {
        local_time()
    }

    fn disk(&mut self) -> Option<DiskCounts> {
        disk_below(self.root.path())
    }

    fn wait_for_line(&mut self) {
        // Whatever comes, and also when nothing can.
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

/// The disk that a directory is on, that of a partition's files being the whole one.
fn disk_below(directory: &Path) -> Option<DiskCounts> {
    use std::os::unix::fs::MetadataExt as _;
    let device = std::fs::metadata(directory).ok()?.dev();
    let (major, minor) = major_minor(device);
    let folder = Path::new("/sys/dev/block").join(format!("{major}:{minor}"));
    let folder = std::fs::canonicalize(folder).ok()?;
    let is_partition = folder.join("partition").exists();
    let disk = if is_partition { folder.parent()? } else { &folder };
    let stat = std::fs::read_to_string(disk.join("stat")).ok()?;
    let counters = Counters::parse(&stat)?;
    Some(DiskCounts {
        name: disk.file_name()?.to_str()?.to_owned(),
        requests: [counters.reads, counters.writes],
        merges: [counters.read_merges, counters.write_merges],
        ticks_ms: [counters.read_ms, counters.write_ms],
        busy_ms: counters.busy_ms,
        queue_ms: counters.queue_ms,
    })
}

/// A line on standard error; nobody listening is no reason to stop a run.
pub(crate) fn say(line: &str) {
    let _nobody_listens = writeln!(io::stderr(), "{line}");
}
