//! Execution of an unknown program: its output is bounded, a signal ends all processes it started,
//! and processes that outlive it are ended after the run.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use treering_model::CpuTime;
use treering_script::{ExternalProgram, ProgramEnd, ProgramWatch};
use treering_sys::{
    ChildEnd, StopFlag, adopt_orphans, children, leave_with_parent, monotonic_ns,
    process_descriptor, read_without_waiting, signal_child, signal_group, sync_filesystem,
    take_ended, wait_to_read,
};

use crate::{Target, TrialClock};

/// Interval at which the stop flag is polled.
const ASK_EVERY: Duration = Duration::from_millis(50);
/// Polling interval without a pidfd, when the kernel does not notify us of a process's end.
const ASK_OFTEN: Duration = Duration::from_millis(1);
/// Signals sent to end the program, one after the other: SIGINT, SIGTERM, SIGKILL.
const SIGNALS: [i32; 3] = [2, 15, 9];
const SIGTERM: i32 = 15;
const SIGKILL: i32 = 9;
/// Time between two of these signals.
const GRACE: Duration = Duration::from_secs(3);
/// Time allowed for a process to end that was already asked to.
const ASKED_GRACE: Duration = Duration::from_secs(1);
/// Number of reads from each pipe after the program's end; a full pipe holds less.
const PIECES_AFTER_END: usize = 64;
const PIECE_BYTES: usize = 64 << 10;

/// Starts the program, waits for its end, and syncs the target if requested. A failure to start is
/// reported as an end, too.
pub(crate) fn run_watched(
    target: &Target,
    program: &ExternalProgram,
    watch: &ProgramWatch,
    clock: TrialClock,
    stop: &StopFlag,
) -> io::Result<ProgramEnd> {
    let directory = target.path().join(&program.directory);
    let mut command = Command::new(placed(program.path.as_os_str(), &directory));
    command
        .args(program.arguments.iter().map(|word| placed(OsStr::new(word), &directory)))
        .current_dir(&directory)
        .envs(program.environment.iter().map(|(name, value)| (name, value)))
        .env(ProgramWatch::DIRECTORY, &directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let began = monotonic_ns();
    let began_ns = clock.at_ns(began);
    let mut child = match leave_with_parent(&mut command).spawn() {
        Ok(child) => child,
        Err(error) => {
            let not_started = Some(error.to_string());
            return Ok(ProgramEnd { not_started, began_ns, ..ProgramEnd::default() });
        }
    };
    let mut pipes = [
        PipeReader::new(child.stdout.take().map(OwnedFd::from), watch.kept_bytes)?,
        PipeReader::new(child.stderr.take().map(OwnedFd::from), watch.kept_bytes)?,
    ];
    let end = wait(&child, &mut pipes, stop)?;
    let wall_ns = monotonic_ns() - began;
    pipes.iter_mut().for_each(|pipe| pipe.read(PIECES_AFTER_END));
    let sync_ns = if watch.sync_after && !stop.is_raised() {
        let began = monotonic_ns();
        sync_filesystem(target.dir())?;
        monotonic_ns() - began
    } else {
        0
    };
    let [output, errors] = pipes.map(|pipe| pipe.output.bytes());
    Ok(ProgramEnd {
        code: end.code,
        output,
        errors,
        began_ns,
        wall_ns,
        signal: end.signal,
        not_started: None,
        cpu: CpuTime { user_ns: end.cpu.user_ns, system_ns: end.cpu.system_ns },
        read_bytes: end.read_bytes,
        written_bytes: end.written_bytes,
        sync_ns,
    })
}

/// Substitutes the directory for its placeholder in an argument; the path may be non-UTF-8.
fn placed(word: &OsStr, directory: &Path) -> OsString {
    let Some(text) = word.to_str() else { return word.to_owned() };
    let mut placed = OsString::new();
    for (number, part) in text.split(ProgramWatch::PLACE).enumerate() {
        if number > 0 {
            placed.push(directory);
        }
        placed.push(part);
    }
    placed
}

fn wait(child: &Child, pipes: &mut [PipeReader; 2], stop: &StopFlag) -> io::Result<ChildEnd> {
    let process = child.id();
    let descriptor = process_descriptor(process).ok();
    let longest = if descriptor.is_some() { ASK_EVERY } else { ASK_OFTEN };
    let mut signals = SIGNALS.iter();
    let mut signalled: Option<Instant> = None;
    loop {
        if let Some(end) = take_ended(process)? {
            return Ok(end);
        }
        if stop.is_raised()
            && signalled.is_none_or(|at| at.elapsed() >= GRACE)
            && let Some(signal) = signals.next()
        {
            let _ended_already = signal_group(process, *signal);
            signalled = Some(Instant::now());
        }
        let open = pipes.iter().filter_map(|pipe| pipe.file.as_ref().map(File::as_fd));
        let waited: Vec<BorrowedFd<'_>> =
            open.chain(descriptor.as_ref().map(OwnedFd::as_fd)).collect();
        wait_to_read(&waited, longest)?;
        pipes.iter_mut().for_each(|pipe| pipe.read(1));
    }
}

/// Read end of a pipe, until its write end is closed.
struct PipeReader {
    file: Option<File>,
    output: HeadAndTail,
}

impl PipeReader {
    fn new(from: Option<OwnedFd>, kept_bytes: usize) -> io::Result<Self> {
        let file = from.map(File::from);
        file.as_ref().map_or(Ok(()), read_without_waiting)?;
        Ok(Self { file, output: HeadAndTail::new(kept_bytes) })
    }

    /// Reads at most `pieces` pieces of the available data.
    fn read(&mut self, pieces: usize) {
        let Some(mut file) = self.file.as_ref() else { return };
        let mut piece = vec![0; PIECE_BYTES];
        for _ in 0..pieces {
            match file.read(&mut piece) {
                Ok(0) => {
                    self.file = None;
                    return;
                }
                Ok(count) => self.output.add(&piece[..count]),
                // No data is available now; a pipe has no other errors.
                Err(_) => return,
            }
        }
    }
}

/// Beginning and end of an output of unlimited length.
#[derive(Debug)]
struct HeadAndTail {
    head: Vec<u8>,
    tail: Vec<u8>,
    left_out: u64,
    /// Maximum bytes of each part; `last` may hold twice as many until it is cut.
    bytes_max: usize,
}

impl HeadAndTail {
    fn new(bytes_max: usize) -> Self {
        Self { head: Vec::new(), tail: Vec::new(), left_out: 0, bytes_max }
    }

    fn add(&mut self, bytes: &[u8]) {
        let (head, tail) = bytes.split_at(bytes.len().min(self.bytes_max - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(tail);
        if self.tail.len() > 2 * self.bytes_max {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let more = self.tail.len().saturating_sub(self.bytes_max);
        self.tail.drain(..more);
        self.left_out += more as u64;
    }

    /// Kept bytes: everything, or the beginning and the end with a line between that tells how much
    /// was left out.
    fn bytes(mut self) -> Vec<u8> {
        self.cut();
        if self.left_out > 0 {
            let line = format!("\n[{} bytes left out]\n", self.left_out);
            self.head.extend_from_slice(line.as_bytes());
        }
        self.head.append(&mut self.tail);
        self.head
    }
}

/// Reaper of processes that outlive the programs of a run: they become our children, and are ended
/// after the run.
pub(crate) struct OrphanReaper {
    /// Children that existed before the run.
    existing: Vec<u32>,
}

impl OrphanReaper {
    pub(crate) fn begin() -> Self {
        // Without it, only processes that the programs end themselves are ended.
        let _not_possible = adopt_orphans(true);
        Self { existing: children() }
    }

    /// Ends the processes left over; returns a message with their number, if there were any.
    pub(crate) fn end(self) -> Option<String> {
        let cleanup_ended = Instant::now();
        // Processes that `cleanup` has just ended may still be exiting.
        while !self.left().is_empty() && cleanup_ended.elapsed() < ASKED_GRACE {
            thread::sleep(Duration::from_millis(10));
        }
        let began = Instant::now();
        let mut names: Vec<u32> = Vec::new();
        loop {
            let left: Vec<u32> = self.left();
            let new: Vec<u32> =
                left.iter().copied().filter(|process| !names.contains(process)).collect();
            for process in &new {
                let _ended_already = signal_child(*process, SIGTERM);
            }
            names.extend(new);
            if left.is_empty() || began.elapsed() > 2 * GRACE {
                break;
            }
            if began.elapsed() > GRACE {
                for process in &left {
                    let _ended_already = signal_child(*process, SIGKILL);
                }
            }
            thread::sleep(Duration::from_millis(10));
        }
        let _not_possible = adopt_orphans(false);
        let plural = match names.len() {
            0 => return None,
            1 => "process that it had started was",
            _ => "processes that it had started were",
        };
        Some(format!("{} {plural} still running at its end, and had to be ended", names.len()))
    }

    /// Processes that still run; those that have ended are reaped first.
    pub(crate) fn left(&self) -> Vec<u32> {
        let ours = children().into_iter().filter(|process| !self.existing.contains(process));
        ours.filter(|process| matches!(take_ended(*process), Ok(None))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{HeadAndTail, placed};
    use std::ffi::OsStr;
    use std::path::Path;

    #[test]
    fn long_output_keeps_its_beginning_and_end() {
        let mut output = HeadAndTail::new(4);
        (0..1000).for_each(|_| output.add(b"xy"));
        output.add(b"END!");
        assert!(output.tail.capacity() < 64);
        assert_eq!(output.bytes(), b"xyxy\n[1996 bytes left out]\nEND!");
        let mut short = HeadAndTail::new(4);
        short.add(b"abcdefg");
        assert_eq!(short.bytes(), b"abcdefg");
    }

    #[test]
    fn the_directory_placeholder_is_replaced_everywhere() {
        let dir = Path::new("/mnt/a b");
        assert_eq!(placed(OsStr::new("--of={dir}/x:{dir}"), dir), "--of=/mnt/a b/x:/mnt/a b");
        assert_eq!(placed(OsStr::new("{}dir}"), dir), "{}dir}");
    }
}
