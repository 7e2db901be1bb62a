//! Host side: one boot of a guest under QEMU, from start to end.
//!
//! Nothing is left on disk even if this process is killed: kernel, initramfs and console log are
//! files in memory, the port is a socket pair, and QEMU is killed together with this process.

mod console;
mod memory;
mod threads;

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use treering_model::{Accelerator, Fact, GuestSpec, TrialEvent};
use treering_sys::{StopFlag, end_with_parent, memory_file};

use self::console::{explained, tail, with_last_lines};
use self::threads::{GuestInstant, ThreadTimes};
use crate::protocol::{ARGUMENT, GuestJob, GuestMessage, LINE_BYTES_MAX, PORT};
use crate::root_transport::RootTransport;
use crate::share::SharedRoot;
use crate::{Architecture, GuestError, Initramfs, Kernel, disk};

/// Kernel command line for all architectures. Warnings and worse go to the serial console; a panic
/// ends QEMU. Crypto self-tests are disabled: under emulation they take a fifth of the boot time.
/// The initramfs is unpacked into a ramfs: a tmpfs holds no more than half of the memory.
const COMMAND_LINE: &str = "loglevel=5 panic=-1 oops=panic cryptomgr.notests rootfstype=ramfs";
/// Words of the command line that the kernel gives to init as its environment, for programs of a
/// shared root.
const ENVIRONMENT: &str =
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root";
/// Interval of checks for the end of QEMU and for a stop signal.
const STEP: Duration = Duration::from_millis(200);
/// Age up to which the time of the last message counts as current.
const HEARD_WITHIN: Duration = Duration::from_secs(1);
/// Time limit for QEMU to exit after the guest's last report.
const LEAVING_MAX: Duration = Duration::from_secs(20);
/// CPU time of QEMU that a boot is given at least.
const BOOT_CPU_MIN: Duration = Duration::from_secs(60);
/// Kind of the artifact with the console of a boot: its text, as a JSON string.
pub const CONSOLE_ARTIFACT: &str = "console";
/// Version of the format of [`CONSOLE_ARTIFACT`].
pub const CONSOLE_VERSION: u32 = 1;
/// Words of an init process that cannot begin, on the console.
pub const CANNOT_BEGIN: &str = "the guest cannot begin";
/// Limit of the console log in bytes.
const CONSOLE_BYTES_MAX: u64 = 64 << 20;

/// Installed QEMU.
#[derive(Clone, Debug)]
pub struct Qemu {
    program: PathBuf,
    /// Version, from `--version`.
    pub version: String,
}

impl Qemu {
    /// Finds QEMU for an architecture in this search path and in the system directories.
    ///
    /// # Errors
    /// If QEMU is not installed or cannot be started.
    pub fn find(search: &std::ffi::OsStr, of: Architecture) -> Result<Self, GuestError> {
        let name = format!("qemu-system-{}", of.traits().machine);
        let system = ["/usr/local/bin", "/usr/bin", "/usr/libexec"].map(PathBuf::from);
        let mut places = std::env::split_paths(search).chain(system).map(|dir| dir.join(&name));
        let program = places.find(|path| path.is_absolute() && path.is_file());
        Self::at(program.ok_or(GuestError::NoEmulator(of))?)
    }

    /// The QEMU in this file.
    ///
    /// # Errors
    /// If it cannot be started, or is no QEMU.
    pub fn at(program: PathBuf) -> Result<Self, GuestError> {
        let output = Command::new(&program).arg("--version").output();
        let output = output.map_err(GuestError::io("cannot run", &program))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let version = text.lines().next().unwrap_or_default();
        let Some(version) = version.strip_prefix("QEMU emulator version ") else {
            let why = format!("{} --version does not say that it is QEMU", program.display());
            return Err(GuestError::Qemu { why });
        };
        Ok(Self { program, version: version.to_owned() })
    }
}

/// Kernel and initramfs in memory files, for any number of boots.
#[derive(Debug)]
pub struct BootImage {
    architecture: Architecture,
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
            architecture: kernel.architecture,
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
    /// Root that the guest shares with the host; `None` for a guest with nothing of the host.
    pub root: Option<&'b SharedRoot>,
    /// Time limit of the trial.
    pub limit: Duration,
}

/// Boot that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedBoot {
    /// The way it ended.
    pub end: GuestEnd,
    /// Text of the console.
    pub console: String,
    /// Time until the guest came up and was given its job; `None` if it was not.
    pub ready_after: Option<Duration>,
}

impl FinishedBoot {
    /// Reason, if the guest did not come up and another boot may: its own init process did not say
    /// that it cannot begin.
    pub fn chance_failure(&self) -> Option<&str> {
        match &self.end {
            GuestEnd::Broken { why } if self.ready_after.is_none() => {
                (!self.console.contains(CANNOT_BEGIN)).then_some(why)
            }
            _ => None,
        }
    }
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
    _daemon: Option<Daemon>,
    port: UnixStream,
    console: File,
    errors: File,
    /// Incomplete line received from the port.
    unread: Vec<u8>,
    /// Times of its threads when the trial began, and that moment.
    at_begin: (ThreadTimes, Instant),
    /// Start of the guest, and its last message.
    since: (GuestInstant, GuestInstant),
    /// Time until it was given its job; `None` before that.
    ready_after: Option<Duration>,
}

impl Drop for RunningGuest {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// Process that serves a guest and ends with it.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ended_already = self.0.kill();
        let _reaped = self.0.wait();
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
        let traits = self.bootable.architecture.traits();
        let (accelerator, cpu) = match self.accelerator {
            Accelerator::Kvm => ("kvm", "host"),
            Accelerator::Tcg => ("tcg,thread=multi", traits.emulated_cpu),
            Accelerator::Icount => ("tcg,thread=single", traits.emulated_cpu),
        };
        if self.accelerator == Accelerator::Icount {
            // While the guest idles its clock is that of the host: a wait for the disk takes as
            // long as it does, instead of any number of timer ticks.
            command.args(["-icount", "shift=1,sleep=on"]);
        }
        let environment = self.root.map_or("", |_| ENVIRONMENT);
        let line =
            [traits.parameters, COMMAND_LINE, environment, &self.spec.append, "--", ARGUMENT];
        let line = line.into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join(" ");
        command
            .args(["-accel", accelerator, "-machine", traits.board, "-cpu", cpu])
            .args(["-smp", &self.spec.cpus_under(self.accelerator).to_string()])
            .args(["-m", &format!("{}M", self.spec.memory_bytes >> 20)])
            .args(["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"])
            .args(["-kernel", &path_of(&self.bootable.kernel)])
            .args(["-initrd", &path_of(&self.bootable.initramfs)])
            .args(["-append", &line])
            .args(["-chardev", &format!("file,id=console,path={}", path_of(console))])
            .args(["-serial", "chardev:console", "-device", "virtio-serial-pci"])
            .args(["-chardev", "socket,id=port,fd=0"])
            .args(["-device", &format!("virtserialport,chardev=port,name={PORT}")])
            .args(disk::arguments(self.spec, traits.has_sata, self.disks));
        command.args(self.root.map(SharedRoot::arguments).unwrap_or_default());
        let is_shared = self.root.is_some_and(|root| root.transport == RootTransport::VirtioFs);
        let cpus = self.spec.cpus_under(self.accelerator);
        command.args(memory::arguments(self.spec, cpus, is_shared));
        // The last option counts where QEMU takes one of a kind.
        command.args(&self.spec.qemu_options);
        command
    }

    fn start(&self) -> io::Result<RunningGuest> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(STEP))?;
        let (console, errors) = (memory_file("console")?, memory_file("errors")?);
        let mut command = self.command(&console);
        command.env("LC_ALL", "C").current_dir("/").stdin(OwnedFd::from(theirs));
        command.stdout(errors.try_clone()?).stderr(errors.try_clone()?);
        let served = self.root.map(|root| root.serve(&errors)).transpose()?.flatten();
        let daemon = served.map(|(daemon, connection)| {
            command.stdout(connection);
            Daemon(daemon)
        });
        let child = end_with_parent(&mut command).spawn()?;
        Ok(RunningGuest {
            child,
            _daemon: daemon,
            port: ours,
            console,
            errors,
            unread: Vec::new(),
            at_begin: (ThreadTimes::default(), Instant::now()),
            since: (GuestInstant::of_start(), GuestInstant::of_start()),
            ready_after: None,
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
    ) -> Result<FinishedBoot, E> {
        let mut running = self.start().map_err(cannot)?;
        let end = self.follow(&mut running, job, stop, take)?;
        let console = console::whole(&mut running.console);
        Ok(FinishedBoot { end, console, ready_after: running.ready_after })
    }

    /// Follows a guest to its end.
    fn follow<E: From<GuestError>>(
        &self,
        running: &mut RunningGuest,
        job: &GuestJob,
        stop: &StopFlag,
        take: &mut dyn FnMut(TrialEvent) -> Result<(), E>,
    ) -> Result<GuestEnd, E> {
        loop {
            if let Some(signal) = stop.signal() {
                return Ok(GuestEnd::Interrupted { signal });
            }
            let port_event = match running.hear() {
                Ok(port_event) => port_event,
                Err(why) => return Ok(GuestEnd::Broken { why: running.why(&why, self) }),
            };
            let message = match port_event {
                PortEvent::Closed => {
                    let ended = running.ended();
                    return Ok(GuestEnd::Broken { why: running.why(&ended, self) });
                }
                PortEvent::Nothing => None,
                PortEvent::Message(message) => Some(*message),
            };
            match message {
                None | Some(GuestMessage::Alive) => {}
                Some(GuestMessage::Ready) => running.send_job(job).map_err(cannot)?,
                Some(GuestMessage::Event(event)) => {
                    if let Some(facts) = running.thread_facts(&event) {
                        take(TrialEvent::Environment { facts })?;
                    }
                    take(*event)?;
                }
                Some(GuestMessage::Refused(why)) => {
                    return Ok(GuestEnd::Refused { why: running.refusal(&why) });
                }
                Some(GuestMessage::Done) => {
                    running.leave();
                    return Ok(GuestEnd::Done { console: running.last_words(self) });
                }
            }
            if let Some(why) = self.overdue(running) {
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
        let began = running.since.0;
        while !began.is_past(within, running.child.id()) {
            if let Some(signal) = stop.signal() {
                return Err(GuestEnd::Interrupted { signal });
            }
            match running.hear() {
                Ok(PortEvent::Nothing) => {}
                Ok(PortEvent::Message(report)) if *report == GuestMessage::Ready => {
                    return Ok(began.wall());
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
    fn overdue(&self, running: &RunningGuest) -> Option<String> {
        let pid = running.child.id();
        let (start, last) = running.since;
        let seconds = self.spec.timeout_seconds;
        let timeout = Duration::from_secs(seconds.into());
        if running.ready_after.is_none() {
            let limit = boot_cpu_limit(timeout);
            let has_run = || ThreadTimes::of_process(pid).longest_run() > limit;
            if start.wall() > limit && has_run() {
                let (limit, wall) = (limit.as_secs(), start.wall().as_secs());
                return Some(format!(
                    "the guest was not ready after {limit} s of CPU time of QEMU ({wall} s on the \
                     clock): see `append`, `memory` and `cpus` in [guest]; a longer `timeout` is \
                     for a kernel that boots slowly"
                ));
            }
            if start.is_past(timeout, pid) {
                return Some(format!(
                    "the guest was not ready {seconds} s after its start: see `append`, `memory` \
                     and `qemu-options` in [guest]"
                ));
            }
        }
        // The heartbeat arrives every two seconds.
        if last.is_past(timeout, pid) {
            return Some(format!("the guest hung: it said nothing for {seconds} s"));
        }
        let seconds = self.limit.as_secs();
        start.is_past(self.limit, pid).then(|| format!("the trial took longer than {seconds} s"))
    }
}

/// CPU time of QEMU's busiest thread after which a boot hangs: half of the time limit, but not
/// below [`BOOT_CPU_MIN`] unless the time limit itself is.
fn boot_cpu_limit(timeout: Duration) -> Duration {
    timeout.min(BOOT_CPU_MIN.max(timeout / 2))
}

fn cannot(error: io::Error) -> GuestError {
    GuestError::Qemu { why: error.to_string() }
}

/// Path by which another process of the same user can open the file.
fn path_of(file: &File) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}

impl RunningGuest {
    /// Facts about the emulator's threads at the end of a trial, from its beginning on, and the
    /// times on the host's clock.
    fn thread_facts(&mut self, event: &TrialEvent) -> Option<Vec<Fact>> {
        let now = || ThreadTimes::of_process(self.child.id());
        match event {
            TrialEvent::Began(_) => {
                self.at_begin = (now(), Instant::now());
                None
            }
            TrialEvent::Ended { .. } => {
                let (threads, began) = self.at_begin;
                let mut facts = now().facts_since(threads);
                let fact = |name: &str, time: Duration| Fact {
                    name: name.to_owned(),
                    value: format!("{:.3}", time.as_secs_f64()),
                };
                facts.push(fact(GuestSpec::TRIAL_SECONDS_FACT, began.elapsed()));
                let boot = self.ready_after;
                facts.extend(boot.map(|boot| fact(GuestSpec::BOOT_SECONDS_FACT, boot)));
                Some(facts)
            }
            _ => None,
        }
    }

    fn send_job(&mut self, job: &GuestJob) -> io::Result<()> {
        self.ready_after = Some(self.since.0.wall());
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
                // Reading the times of all threads for every event would cost more than it tells.
                if self.since.1.wall() > HEARD_WITHIN {
                    self.since.1 = GuestInstant::now(self.child.id());
                }
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
        let why = explained(seen, &console, &errors, memory);
        if console.trim().is_empty() { format!("{why}; the console is empty") } else { why }
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

/// Reports whether KVM can be opened. Whether a kernel boots with it requires a test boot.
pub fn may_have_kvm() -> bool {
    let device = Path::new("/dev/kvm");
    std::fs::OpenOptions::new().read(true).write(true).open(device).is_ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::boot_cpu_limit;

    #[test]
    fn a_boot_hangs_after_half_of_the_time_limit_in_cpu_time_or_a_minute() {
        for (timeout, limit) in [(20, 20), (60, 60), (180, 90), (600, 300)] {
            assert_eq!(
                boot_cpu_limit(Duration::from_secs(timeout)),
                Duration::from_secs(limit),
                "{timeout}"
            );
        }
    }
}
