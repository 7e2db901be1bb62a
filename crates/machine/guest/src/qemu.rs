//! Host side: one boot of a guest under QEMU, from start to end.
//!
//! Nothing is left on disk even if this process is killed: kernel, initramfs and console log are
//! files in memory, the port is a socket pair, and QEMU is killed together with this process.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use treering_model::{Accelerator, Fact, GuestSpec, TrialEvent};
use treering_sys::{StopFlag, end_with_parent, memory_file};

use crate::protocol::{ARGUMENT, GuestJob, GuestMessage, LINE_BYTES_MAX, PORT};
use crate::{GuestError, Initramfs, Kernel, disk};

/// Kernel command line. Warnings and worse go to the serial console; a panic ends QEMU. Crypto
/// self-tests are disabled: under emulation they take a fifth of the boot time. The timer check is
/// disabled as under KVM: on a busy machine an emulated timer is too late for it, and the kernel
/// panics (`IO-APIC + timer doesn't work`).
const COMMAND_LINE: &str =
    "console=ttyS0 loglevel=5 panic=-1 oops=panic cryptomgr.notests no_timer_check";
/// Interval of checks for the end of QEMU and for a stop signal.
const STEP: Duration = Duration::from_millis(200);
/// Time limit for QEMU to exit after the guest's last report.
const LEAVING_MAX: Duration = Duration::from_secs(20);
/// Limit of the console log in bytes.
const CONSOLE_BYTES_MAX: u64 = 64 << 20;
const TAIL_BYTES: u64 = 16 << 10;

/// Installed QEMU.
#[derive(Clone, Debug)]
pub struct Qemu {
    program: PathBuf,
    /// Version, from `--version`.
    pub version: String,
}

impl Qemu {
    /// Finds QEMU in this search path and in the system directories.
    ///
    /// # Errors
    /// If QEMU is not installed or cannot be started.
    pub fn find(search: &std::ffi::OsStr) -> Result<Self, GuestError> {
        let name = format!("qemu-system-{}", std::env::consts::ARCH);
        let system = ["/usr/local/bin", "/usr/bin", "/usr/libexec"].map(PathBuf::from);
        let mut places = std::env::split_paths(search).chain(system).map(|dir| dir.join(&name));
        let program = places.find(|path| path.is_absolute() && path.is_file());
        let program =
            program.ok_or_else(|| GuestError::Qemu { why: format!("{name} is not installed") })?;
        let output = Command::new(&program).arg("--version").output();
        let output = output.map_err(GuestError::io("cannot run", &program))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let version = text.lines().next().unwrap_or_default();
        let version = version.strip_prefix("QEMU emulator version ").unwrap_or(version);
        Ok(Self { program, version: version.to_owned() })
    }
}

/// Kernel and initramfs in memory files, for any number of boots.
#[derive(Debug)]
pub struct BootImage {
    kernel: File,
    initramfs: File,
}

impl BootImage {
    /// Copies both into memory files.
    ///
    /// # Errors
    /// If memory is short.
    pub fn new(kernel: &Kernel, initramfs: &Initramfs) -> Result<Self, GuestError> {
        let held = |name: &'static str, bytes: &[u8]| {
            let mut file = memory_file(name)?;
            file.write_all(bytes)?;
            Ok(file)
        };
        let failed = |name: &'static str| GuestError::io("cannot hold in memory", name);
        Ok(Self {
            kernel: held("kernel", &kernel.image).map_err(failed("the kernel"))?,
            initramfs: held("initramfs", &initramfs.bytes).map_err(failed("the initramfs"))?,
        })
    }
}

/// Parameters of one boot.
#[derive(Debug)]
pub struct BootParameters<'b> {
    /// Emulator.
    pub qemu: &'b Qemu,
    /// Kernel and initramfs.
    pub bootable: &'b BootImage,
    /// Configuration of the guest.
    pub spec: &'b GuestSpec,
    /// Execution method.
    pub accelerator: Accelerator,
    /// Disks: files or devices on the host.
    pub disks: &'b [PathBuf],
    /// Time limit of the trial.
    pub limit: Duration,
}

/// Result of a boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuestEnd {
    /// The guest reported the end of its trial.
    Done {
        /// Console lines that explain a failure, and the last lines; empty without output.
        console: String,
    },
    /// The guest refused the trial.
    Refused {
        /// Reason, with the last lines of the console.
        why: String,
    },
    /// Any other end: panic, hang, out of memory, or exit of QEMU.
    Broken {
        /// Description, with the last lines of the console.
        why: String,
    },
    /// Stopped by a signal to this process.
    Interrupted {
        /// Signal number.
        signal: i32,
    },
}

/// Running guest.
struct RunningGuest {
    child: Child,
    port: UnixStream,
    console: File,
    errors: File,
    /// Incomplete line received from the port.
    unread: Vec<u8>,
    /// Times of its threads when the trial began.
    at_begin: ThreadTimes,
}

impl Drop for RunningGuest {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// Time of the emulator's threads on the CPUs of the host, and waiting for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ThreadTimes {
    running_ns: u64,
    waiting_ns: u64,
}

impl ThreadTimes {
    /// Sums the threads of a process; threads that have ended are not counted.
    fn of_process(pid: u32) -> Self {
        let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
        let texts = threads
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|thread| std::fs::read_to_string(thread.path().join("schedstat")).ok());
        texts.filter_map(|text| Self::parse(&text)).fold(Self::default(), |sum, own| Self {
            running_ns: sum.running_ns + own.running_ns,
            waiting_ns: sum.waiting_ns + own.waiting_ns,
        })
    }

    /// Parses a line of `schedstat`: nanoseconds running, nanoseconds waiting, time slices.
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split_whitespace().map(|word| word.parse().ok());
        Some(Self { running_ns: numbers.next()??, waiting_ns: numbers.next()?? })
    }

    /// Facts of a trial that began at `before` and has ended now.
    fn facts_since(self, before: Self) -> Vec<Fact> {
        let seconds = |now: u64, then: u64| now.saturating_sub(then) as f64 / 1e9;
        let times = [
            ("host.qemu_cpu_seconds", seconds(self.running_ns, before.running_ns)),
            ("host.qemu_run_delay_seconds", seconds(self.waiting_ns, before.waiting_ns)),
        ];
        let fact = |(name, seconds): (&str, f64)| Fact {
            name: name.to_owned(),
            value: format!("{seconds:.3}"),
        };
        times.into_iter().map(fact).collect()
    }
}

/// Result of one read of the port.
enum PortEvent {
    Nothing,
    Message(Box<GuestMessage>),
    Closed,
}

impl BootParameters<'_> {
    /// QEMU command line; the port is its standard input.
    fn command(&self, console: &File) -> Command {
        let mut command = Command::new(&self.qemu.program);
        let (accelerator, cpu) = match self.accelerator {
            Accelerator::Kvm => ("kvm", "host"),
            Accelerator::Tcg => ("tcg,thread=multi", "max"),
            Accelerator::Icount => ("tcg,thread=single", "max"),
        };
        if self.accelerator == Accelerator::Icount {
            command.args(["-icount", "shift=1,sleep=off"]);
        }
        let line = format!("{COMMAND_LINE} -- {ARGUMENT}");
        command
            .args(["-accel", accelerator, "-machine", "q35", "-cpu", cpu])
            .args(["-smp", &self.spec.cpus.to_string()])
            .args(["-m", &format!("{}M", self.spec.memory_bytes >> 20)])
            .args(["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"])
            .args(["-kernel", &path_of(&self.bootable.kernel)])
            .args(["-initrd", &path_of(&self.bootable.initramfs)])
            .args(["-append", &line])
            .args(["-chardev", &format!("file,id=console,path={}", path_of(console))])
            .args(["-serial", "chardev:console", "-device", "virtio-serial-pci"])
            .args(["-chardev", "socket,id=port,fd=0"])
            .args(["-device", &format!("virtserialport,chardev=port,name={PORT}")])
            .args(disk::arguments(self.spec.disk, self.disks));
        command
    }

    fn start(&self) -> io::Result<RunningGuest> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(STEP))?;
        let (console, errors) = (memory_file("console")?, memory_file("errors")?);
        let mut command = self.command(&console);
        command.env("LC_ALL", "C").current_dir("/").stdin(OwnedFd::from(theirs));
        command.stdout(errors.try_clone()?).stderr(errors.try_clone()?);
        let child = end_with_parent(&mut command).spawn()?;
        Ok(RunningGuest {
            child,
            port: ours,
            console,
            errors,
            unread: Vec::new(),
            at_begin: ThreadTimes::default(),
        })
    }

    /// Boots the guest, sends its job, and passes its trial events to `take`.
    ///
    /// # Errors
    /// If QEMU cannot be started, or an error of `take`.
    pub fn run<E: From<GuestError>>(
        &self,
        job: &GuestJob,
        stop: &StopFlag,
        take: &mut dyn FnMut(TrialEvent) -> Result<(), E>,
    ) -> Result<GuestEnd, E> {
        let cannot = |error: io::Error| GuestError::Qemu { why: error.to_string() };
        let mut running = self.start().map_err(cannot)?;
        let (began, mut last, mut is_ready) = (Instant::now(), Instant::now(), false);
        loop {
            if let Some(signal) = stop.signal() {
                return Ok(GuestEnd::Interrupted { signal });
            }
            let port_event = match running.hear() {
                Ok(port_event) => port_event,
                Err(why) => return Ok(GuestEnd::Broken { why: running.why(&why, self) }),
            };
            match port_event {
                PortEvent::Closed => {
                    let ended = running.ended();
                    return Ok(GuestEnd::Broken { why: running.why(&ended, self) });
                }
                PortEvent::Nothing => {}
                PortEvent::Message(report) => {
                    last = Instant::now();
                    match *report {
                        GuestMessage::Ready => {
                            is_ready = true;
                            running.send_job(job).map_err(cannot)?;
                        }
                        GuestMessage::Alive => {}
                        GuestMessage::Event(event) => {
                            if let Some(facts) = running.thread_facts(&event) {
                                take(TrialEvent::Environment { facts })?;
                            }
                            take(*event)?;
                        }
                        GuestMessage::Refused(why) => {
                            let why = running.refusal(&why);
                            return Ok(GuestEnd::Refused { why });
                        }
                        GuestMessage::Done => {
                            running.leave();
                            return Ok(GuestEnd::Done { console: running.last_words(self) });
                        }
                    }
                }
            }
            if let Some(why) = self.overdue(began, last, is_ready) {
                return Ok(GuestEnd::Broken { why: running.why(&why, self) });
            }
        }
    }

    /// Boots the guest within a time limit until its init process reports readiness; returns the
    /// time that this took.
    ///
    /// # Errors
    /// The end of a guest that did not come up.
    pub fn try_boot(&self, within: Duration, stop: &StopFlag) -> Result<Duration, GuestEnd> {
        let broken = |why: String| GuestEnd::Broken { why };
        let mut running = self.start().map_err(|error| broken(error.to_string()))?;
        let began = Instant::now();
        while began.elapsed() < within {
            if let Some(signal) = stop.signal() {
                return Err(GuestEnd::Interrupted { signal });
            }
            match running.hear() {
                Ok(PortEvent::Nothing) => {}
                Ok(PortEvent::Message(report)) if *report == GuestMessage::Ready => {
                    return Ok(began.elapsed());
                }
                Ok(PortEvent::Message(_)) => {
                    return Err(broken("the guest did not say that it is ready".to_owned()));
                }
                Ok(PortEvent::Closed) => {
                    let ended = running.ended();
                    return Err(broken(running.why(&ended, self)));
                }
                Err(why) => return Err(broken(running.why(&why, self))),
            }
        }
        let seen = format!("the guest was not ready {} s after its start", within.as_secs());
        Err(broken(running.why(&seen, self)))
    }

    /// Description of an exceeded time limit, if any.
    fn overdue(&self, began: Instant, last: Instant, is_ready: bool) -> Option<String> {
        let seconds = self.spec.timeout_seconds;
        let timeout = Duration::from_secs(seconds.into());
        if !is_ready && began.elapsed() > timeout {
            return Some(format!("the guest was not ready {seconds} s after its start"));
        }
        // The heartbeat arrives every two seconds.
        if last.elapsed() > timeout {
            return Some(format!("the guest hung: it said nothing for {seconds} s"));
        }
        let seconds = self.limit.as_secs();
        (began.elapsed() > self.limit).then(|| format!("the trial took longer than {seconds} s"))
    }
}

/// Path by which another process of the same user can open the file.
fn path_of(file: &File) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}

impl RunningGuest {
    /// Facts about the emulator's threads at the end of a trial, from its beginning on.
    fn thread_facts(&mut self, event: &TrialEvent) -> Option<Vec<Fact>> {
        let now = || ThreadTimes::of_process(self.child.id());
        match event {
            TrialEvent::Began(_) => {
                self.at_begin = now();
                None
            }
            TrialEvent::Ended { .. } => Some(now().facts_since(self.at_begin)),
            _ => None,
        }
    }

    fn send_job(&mut self, job: &GuestJob) -> io::Result<()> {
        let mut line = serde_json::to_vec(job)?;
        line.push(b'\n');
        match self.port.write_all(&line) {
            // QEMU has ended; the next read reports it.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }

    /// Waits briefly for a report of the guest.
    fn hear(&mut self) -> Result<PortEvent, String> {
        let mut piece = vec![0; 64 << 10];
        loop {
            if let Some(end) = self.unread.iter().position(|&byte| byte == b'\n') {
                let remainder = self.unread.split_off(end + 1);
                let line = std::mem::replace(&mut self.unread, remainder);
                let report = serde_json::from_slice(&line);
                return report.map(|report| PortEvent::Message(Box::new(report))).map_err(
                    |error| format!("the guest said what cannot be understood ({error})"),
                );
            }
            if self.unread.len() > LINE_BYTES_MAX {
                return Err(format!("the guest said more than {LINE_BYTES_MAX} bytes at once"));
            }
            if self.console.metadata().is_ok_and(|file| file.len() > CONSOLE_BYTES_MAX) {
                return Err("the kernel does not stop to write to its console".to_owned());
            }
            match self.port.read(&mut piece) {
                Ok(0) => return Ok(PortEvent::Closed),
                Ok(length) => self.unread.extend_from_slice(&piece[..length]),
                Err(error) if is_timeout(&error) => {
                    let has_ended = self.child.try_wait().is_ok_and(|status| status.is_some());
                    return Ok(if has_ended { PortEvent::Closed } else { PortEvent::Nothing });
                }
                // QEMU was killed before it had read everything.
                Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                    return Ok(PortEvent::Closed);
                }
                Err(error) => return Err(format!("the port is lost: {error}")),
            }
        }
    }

    /// Waits for QEMU to exit, up to [`LEAVING_MAX`].
    fn leave(&mut self) {
        let began = Instant::now();
        while began.elapsed() < LEAVING_MAX
            && !self.child.try_wait().is_ok_and(|status| status.is_some())
        {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Description of QEMU's exit.
    fn ended(&mut self) -> String {
        self.leave();
        match self.child.try_wait() {
            Ok(Some(status)) if status.success() => "the guest ended before its trial".to_owned(),
            Ok(Some(status)) => format!("QEMU ended ({status})"),
            _ => "the guest closed its port".to_owned(),
        }
    }

    /// Description of a failure: the kernel's own message first, then the last lines of the
    /// console.
    fn why(&mut self, seen: &str, boot: &BootParameters<'_>) -> String {
        let console = tail(&mut self.console);
        let errors = tail(&mut self.errors);
        let memory = boot.spec.memory_bytes >> 20;
        explained(seen, &console, &errors, memory)
    }

    fn refusal(&mut self, why: &str) -> String {
        let console = tail(&mut self.console);
        with_last_lines(why, &console)
    }

    /// Console lines of a guest that ended regularly.
    fn last_words(&mut self, boot: &BootParameters<'_>) -> String {
        let console = tail(&mut self.console);
        let words = explained("", &console, "", boot.spec.memory_bytes >> 20);
        words.trim_start_matches("; ").to_owned()
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// End of a file as text, without control characters.
fn tail(file: &mut File) -> String {
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let mut bytes = Vec::new();
    let begin = length.saturating_sub(TAIL_BYTES);
    let read = file.seek(SeekFrom::Start(begin)).and_then(|_| file.read_to_end(&mut bytes));
    if read.is_err() {
        return String::new();
    }
    let text = String::from_utf8_lossy(&bytes).replace('\r', "");
    text.chars().filter(|c| *c == '\n' || !c.is_control()).collect()
}

/// Number of console lines quoted in messages.
const LINES: usize = 8;

fn explained(seen: &str, console: &str, errors: &str, memory_mib: u64) -> String {
    let line_with = |words: &str| {
        let line = console.lines().find(|line| line.contains(words))?;
        Some(line[line.find(words)?..].trim().to_owned())
    };
    let killed = line_with("Out of memory").or_else(|| line_with("out of memory"));
    let reason = match (killed, line_with("Kernel panic")) {
        (Some(line), _) => format!("the guest ran out of its {memory_mib} MiB of memory: {line}"),
        (None, Some(line)) => {
            format!("the kernel panicked: {}", [faults(console), vec![line]].concat().join(" | "))
        }
        (None, None) => seen.to_owned(),
    };
    let reason = match errors.trim() {
        "" => reason,
        errors => format!("{reason}; QEMU said: {}", errors.replace('\n', " | ")),
    };
    with_last_lines(&reason, console)
}

/// Kernel faults before a panic, with their location. Lines after the panic belong to its trigger,
/// such as a write to `/proc/sysrq-trigger`.
fn faults(console: &str) -> Vec<String> {
    let before = console.lines().take_while(|line| !line.contains("Kernel panic"));
    let first = |words: &str| {
        let line = before.clone().find(|line| line.contains(words))?;
        Some(line[line.find(words)?..].trim().to_owned())
    };
    let known = ["BUG: ", "Oops: ", "general protection fault", "RIP: "];
    known.into_iter().filter_map(first).collect()
}

fn with_last_lines(reason: &str, console: &str) -> String {
    let lines: Vec<&str> = console.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(LINES)..];
    if last.is_empty() {
        return reason.to_owned();
    }
    format!("{reason}; the console said last: {}", last.join(" | "))
}

/// Reports whether KVM can be opened. Whether a kernel boots with it requires a test boot.
pub fn may_have_kvm() -> bool {
    let device = Path::new("/dev/kvm");
    std::fs::OpenOptions::new().read(true).write(true).open(device).is_ok()
}

#[cfg(test)]
mod tests {
    use super::{ThreadTimes, explained};

    #[test]
    fn times_of_threads_are_told_from_the_beginning_of_the_trial() {
        let before = ThreadTimes::parse("1000000000 250000000 17\n").unwrap();
        let after = ThreadTimes::parse("3500000000 1000000000 99\n").unwrap();
        let facts = after.facts_since(before);
        let told: Vec<(&str, &str)> =
            facts.iter().map(|fact| (fact.name.as_str(), fact.value.as_str())).collect();
        let expected =
            [("host.qemu_cpu_seconds", "2.500"), ("host.qemu_run_delay_seconds", "0.750")];
        assert_eq!(told, expected);
        assert_eq!(ThreadTimes::parse("not a line"), None);
        let own = ThreadTimes::of_process(std::process::id());
        assert!(own.running_ns > 0 || !std::path::Path::new("/proc/self/schedstat").exists());
    }

    #[test]
    fn failures_quote_the_first_kernel_fault() {
        let panic = "[1.0] Kernel panic - not syncing: VFS: no root\n[1.1] Call Trace:\n";
        let why = explained("QEMU ended", panic, "", 512);
        assert!(why.starts_with("the kernel panicked: Kernel panic - not syncing: VFS"), "{why}");
        assert!(why.ends_with("| [1.1] Call Trace:"), "{why}");
        // What a program's own call looked like is behind the panic that it asked for.
        let triggered = "[1.0] Kernel panic - not syncing: sysrq\n[1.0] RIP: 0033:0x4308f0\n";
        let why = explained("QEMU ended", triggered, "", 512);
        assert!(
            why.starts_with("the kernel panicked: Kernel panic - not syncing: sysrq;"),
            "{why}"
        );
        let fault = format!("[0.9] BUG: fault\n[0.9] RIP: 0010:sched_clock_cpu\n{triggered}");
        let why = explained("QEMU ended", &fault, "", 512);
        let begin = "the kernel panicked: BUG: fault | RIP: 0010:sched_clock_cpu | Kernel panic";
        assert!(why.starts_with(begin), "{why}");
        let memory = format!("[1.0] Out of memory: Killed process 1 (init)\n{panic}");
        let why = explained("QEMU ended", &memory, "", 512);
        assert!(why.starts_with("the guest ran out of its 512 MiB of memory: Out of"), "{why}");
        let why = explained("QEMU ended (signal: 9)", "", "qemu: no such drive\n", 512);
        assert_eq!(why, "QEMU ended (signal: 9); QEMU said: qemu: no such drive");
    }
}
