//! Guest side: setup of the machine as its init process, and the connection to the host.

mod overhead;

use std::ffi::{CString, OsStr};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use treering_model::{SinkError, TrialEvent, TrialSink};
use treering_sys::{MountOptions, load_module, mount, power_off};

use self::overhead::Overhead;
use crate::entered_root::enter;
use crate::init_error::InitError;
use crate::initramfs::{MODULES, OPTIONAL};
use crate::protocol::{ARGUMENT, GuestJob, GuestMessage, PORT};
use crate::root_transport::RootTransport;

/// Filesystems that programs expect: type and mount point.
const MOUNTS: [&str; 7] = [
    "proc /proc",
    "sysfs /sys",
    "devtmpfs /dev",
    "tmpfs /tmp",
    "tmpfs /run",
    "tracefs /sys/kernel/tracing",
    "cgroup2 /sys/fs/cgroup",
];
/// Optional ones, which a kernel may lack.
const NOT_NEEDED: [&str; 2] = ["tracefs", "cgroup2"];
/// Time limit for a device to appear, which takes seconds under emulation.
const PATIENCE: Duration = Duration::from_secs(60);
const STEP: Duration = Duration::from_millis(10);
/// Interval of the guest's heartbeat.
const PULSE: Duration = Duration::from_secs(2);

/// Reports whether this process is the init process of a guest, given its arguments.
pub fn is_guest(arguments: &[impl AsRef<OsStr>]) -> bool {
    let is_option =
        |at: usize, word: &str| arguments.get(at).is_some_and(|argument| argument.as_ref() == word);
    is_option(0, "/init") && is_option(1, ARGUMENT) && std::process::id() == 1
}

/// Guest machine as seen by its init process.
#[derive(Clone)]
pub struct GuestMachine {
    port: Arc<Mutex<File>>,
    overhead: Arc<Overhead>,
}

impl GuestMachine {
    /// Mounts the basic filesystems, loads the modules, and opens the port.
    ///
    /// # Errors
    /// If a mount, a module or the port is missing.
    pub fn begin() -> Result<Self, InitError> {
        for (fs_type, point) in MOUNTS.iter().filter_map(|mount| mount.split_once(' ')) {
            let source = OsStr::new(fs_type);
            let none = MountOptions::parse::<&str>(&[]).expect("no option is wrong");
            let mounted = mount(source, Path::new(point), fs_type, &none);
            if let Err(errno) = mounted
                && !NOT_NEEDED.contains(&fs_type)
            {
                return Err(InitError::Mount { fs_type, point, errno });
            }
        }
        load_modules()?;
        let node = port()?;
        let opened = OpenOptions::new().read(true).write(true).open(&node);
        let port = opened.map_err(|source| InitError::Port { node, source })?;
        Ok(Self { port: Arc::new(Mutex::new(port)), overhead: Arc::default() })
    }

    /// Reports readiness and waits for the job; then starts the heartbeat.
    ///
    /// # Errors
    /// If the connection fails or the job is invalid.
    pub fn job(&self) -> Result<GuestJob, InitError> {
        let lost = InitError::Lost;
        self.tell(&GuestMessage::Ready).map_err(lost)?;
        let own = self.port.lock().unwrap_or_else(PoisonError::into_inner).try_clone();
        let mut line = String::new();
        BufReader::new(own.map_err(lost)?).read_line(&mut line).map_err(lost)?;
        let job = serde_json::from_str(&line).map_err(InitError::Job)?;
        self.overhead.begin();
        let pulse = self.clone();
        thread::spawn(move || {
            while pulse.tell(&GuestMessage::Alive).is_ok() {
                thread::sleep(PULSE);
            }
        });
        Ok(job)
    }

    /// Makes the shared directory of the host the root of this process.
    ///
    /// # Errors
    /// If the kernel cannot mount it, or tmpfs over it.
    pub fn enter_root(transport: RootTransport) -> Result<(), InitError> {
        enter(transport)
    }

    /// Waits until these disks have appeared.
    ///
    /// # Errors
    /// If a disk does not appear in time.
    pub fn wait_for(disks: &[PathBuf]) -> Result<(), InitError> {
        for disk in disks {
            if !wait_until(|| disk.exists()) {
                return Err(InitError::NoDisk { disk: disk.clone() });
            }
        }
        Ok(())
    }

    /// Tells the host that the trial cannot take place.
    pub fn refuse(&self, why: &str) {
        let _the_host_sees_it_end = self.tell(&GuestMessage::Refused(why.to_owned()));
    }

    /// Tells the host that the trial is over.
    pub fn done(&self) {
        let _the_host_sees_it_end = self.tell(&GuestMessage::Done);
    }

    /// Powers the machine off.
    pub fn end() -> ! {
        loop {
            let _only_root_can_and_we_are = power_off();
            thread::sleep(STEP);
        }
    }

    fn tell(&self, report: &GuestMessage) -> io::Result<()> {
        self.overhead.measure(|| {
            let mut line = serde_json::to_vec(report)?;
            line.push(b'\n');
            self.port.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line)
        })
    }

    fn tell_event(&self, event: TrialEvent) -> Result<(), SinkError> {
        let sent = self.tell(&GuestMessage::Event(Box::new(event)));
        sent.map_err(|error| SinkError::new("the host cannot be reached", error))
    }
}

impl TrialSink for GuestMachine {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        if let TrialEvent::Ended { .. } = event
            && let Some(metric) = self.overhead.metric()
        {
            self.tell_event(TrialEvent::Measured(metric))?;
        }
        self.tell_event(event.clone())
    }
}

/// Waits until a condition holds; false after a timeout.
fn wait_until(is_so: impl Fn() -> bool) -> bool {
    let began = Instant::now();
    while !is_so() {
        if began.elapsed() > PATIENCE {
            return false;
        }
        thread::sleep(STEP);
    }
    true
}

/// Loads the modules in the order of their file names, which begin with a number.
fn load_modules() -> Result<(), InitError> {
    let error = |source| InitError::Module { path: MODULES.into(), source };
    let mut paths = Vec::new();
    for entry in fs::read_dir(MODULES).map_err(error)? {
        paths.push(entry.map_err(error)?.path());
    }
    paths.sort();
    let command_line = fs::read_to_string("/proc/cmdline").unwrap_or_default();
    for path in paths {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let parameters = parameters(&name, &command_line);
        let loaded = fs::read(&path).and_then(|bytes| load_module(&bytes, &parameters));
        let is_optional = path.to_string_lossy().ends_with(OPTIONAL);
        let loaded = match loaded {
            Err(error) if is_optional || error.kind() == ErrorKind::AlreadyExists => Ok(()),
            loaded => loaded,
        };
        loaded.map_err(|source| InitError::Module { path: path.clone(), source })?;
        // Frees the copy in the initramfs.
        let _stays_at_worst = fs::remove_file(&path);
    }
    Ok(())
}

/// Parameters of a module on the command line, `MODULE.NAME=VALUE`, as modprobe takes them. `file`
/// is its name in [`MODULES`].
fn parameters(file: &str, command_line: &str) -> CString {
    let name = file.split_once('-').map_or(file, |(_, name)| name);
    let name = name.strip_suffix(OPTIONAL).unwrap_or(name);
    let plain = |name: &str| name.replace('-', "_");
    let words = command_line.split_whitespace().take_while(|word| *word != "--");
    let own = words.filter_map(|word| {
        let (module, parameter) = word.split_once('.')?;
        (plain(module) == plain(name)).then_some(parameter)
    });
    CString::new(own.collect::<Vec<&str>>().join(" ")).unwrap_or_default()
}

/// Finds the port by name in sysfs, since no udev creates links here.
fn port() -> Result<PathBuf, InitError> {
    let find = || {
        let ports = fs::read_dir("/sys/class/virtio-ports").ok()?;
        let mut ports = ports.flatten();
        let is_ours = |port: &fs::DirEntry| {
            fs::read_to_string(port.path().join("name")).is_ok_and(|name| name.trim() == PORT)
        };
        let node = Path::new("/dev").join(ports.find(is_ours)?.file_name());
        node.exists().then_some(node)
    };
    if wait_until(|| find().is_some()) {
        find().ok_or(InitError::NoPort)
    } else {
        Err(InitError::NoPort)
    }
}

#[cfg(test)]
mod tests {
    use super::{is_guest, parameters};

    #[test]
    fn modules_get_their_parameters_of_the_command_line() {
        let line = "console=ttyS0 zram.num_devices=2 virtio_blk.queue_depth=64 quiet \
                    virtio-blk.poll_queues=1 -- zram.x=1";
        let parameters_of = |file| parameters(file, line).into_string().unwrap();
        assert_eq!(parameters_of("0003-virtio_blk"), "queue_depth=64 poll_queues=1");
        assert_eq!(parameters_of("0000-zram.optional"), "num_devices=2");
        assert_eq!(parameters_of("0001-ext4"), "");
    }

    #[test]
    fn only_a_guest_init_process_is_recognised() {
        assert!(!is_guest(&["/init", "treering-guest"]));
        assert!(!is_guest(&["/init"]));
        assert!(!is_guest(&[""; 0]));
    }
}
