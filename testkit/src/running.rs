//! A program that is still running: its output so far, signals to it, and its end.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel, sync_channel};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use rustix::pipe::fcntl_setpipe_size;
use rustix::process::{Pid, Signal, kill_process};

use crate::FinishedCommand;

/// Maximum time that any test waits here before it fails.
const TIMEOUT: Duration = Duration::from_secs(180);

/// Bytes of standard error that a program can write before the test reads them: the smallest pipe.
const PIPE: usize = 4096;

/// A started program, killed if this is dropped before it ends.
///
/// A line of standard error is taken from the program when the test asks for it. So a program that
/// prints a line for each step goes no further than some sixty steps beyond the line that the test
/// has waited for, however late the test is to act: it cannot end before a signal or a full disk.
#[derive(Debug)]
pub struct RunningProgram {
    child: Child,
    lines: Receiver<String>,
    stderr: String,
    stdout: Option<JoinHandle<String>>,
}

impl RunningProgram {
    /// Starts a command; both outputs must be piped.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.spawn().expect("the program starts");
        let stderr = child.stderr.take().expect("standard error is piped");
        let mut out = child.stdout.take().expect("standard output is piped");
        fcntl_setpipe_size(&stderr, PIPE).expect("a pipe can hold one page");
        let (lines_sent, lines) = sync_channel(0);
        spawn(move || {
            for line in BufReader::with_capacity(128, stderr).lines().map_while(Result::ok) {
                if lines_sent.send(line).is_err() {
                    return;
                }
            }
        });
        let stdout = spawn(move || {
            let mut text = String::new();
            out.read_to_string(&mut text).expect("the program prints text");
            text
        });
        Self { child, lines, stderr: String::new(), stdout: Some(stdout) }
    }

    /// Process id of the program.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line of standard error that contains this text, and returns it.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) -> String {
        loop {
            match self.lines.recv_timeout(TIMEOUT) {
                Ok(line) => {
                    self.stderr += &line;
                    self.stderr.push('\n');
                    if line.contains(text) {
                        return line;
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("ended without saying: {text}\n{}", self.stderr)
                }
                Err(RecvTimeoutError::Timeout) => panic!("never said: {text}\n{}", self.stderr),
            }
        }
    }

    /// Lets the program run on without the test, for one that waits for something other than lines.
    pub fn run_freely(&mut self) {
        let (sent, lines) = channel();
        let held = std::mem::replace(&mut self.lines, lines);
        spawn(move || held.into_iter().try_for_each(|line| sent.send(line)));
    }

    /// Sends a signal: `HUP`, `INT`, `TERM` or `KILL`.
    pub fn send(&self, signal: &str) {
        let signal = match signal {
            "HUP" => Signal::HUP,
            "INT" => Signal::INT,
            "TERM" => Signal::TERM,
            "KILL" => Signal::KILL,
            other => panic!("which signal is {other}?"),
        };
        kill_process(Pid::from_child(&self.child), signal).expect("the program is alive");
    }

    /// True if the program has not ended.
    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().expect("our own child").is_none()
    }

    /// Waits until the program ends.
    #[track_caller]
    pub fn finish(mut self) -> FinishedCommand {
        let began = Instant::now();
        let status = loop {
            // Lines are read all along, since the program must not wait for its test any more.
            match self.lines.recv_timeout(Duration::from_millis(5)) {
                Ok(line) => self.stderr += &(line + "\n"),
                Err(_) => {
                    if let Some(status) = self.child.try_wait().expect("our own child") {
                        break status;
                    }
                }
            }
            if began.elapsed() > TIMEOUT {
                let threads = wait_channels(self.child.id());
                panic!("does not end: {threads}\n{}", self.stderr);
            }
        };
        for line in &self.lines {
            self.stderr += &(line + "\n");
        }
        let stdout = self.stdout.take().map(|thread| thread.join().expect("text"));
        let stderr = std::mem::take(&mut self.stderr);
        FinishedCommand { code: status.code(), stdout: stdout.unwrap_or_default(), stderr }
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        let _it_ended_already = self.child.kill();
        let _nothing_to_wait_for = self.child.wait();
    }
}

/// Waits until a condition holds. `what` describes it in the failure message.
///
/// # Panics
/// After three minutes.
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < TIMEOUT, "never: {what}");
        sleep(Duration::from_millis(20));
    }
}

/// Command line of a process, and the kernel function in which each of its threads waits.
fn wait_channels(process: u32) -> String {
    let read = |path: String| std::fs::read_to_string(path).unwrap_or_default();
    let mut text = read(format!("/proc/{process}/cmdline")).replace('\0', " ");
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten();
    for thread in threads.flatten() {
        text += &format!(" [{}]", read(thread.path().join("wchan").display().to_string()));
    }
    text
}
