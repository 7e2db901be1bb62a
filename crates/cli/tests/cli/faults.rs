//! Faults that tests cause on the machine and always undo: a control group with a limit, a
//! partitioned disk, a kernel setting.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

use treering_testkit::{FinishedCommand, Program, TempDir, temp_dir};

/// Number of control groups made so far; gives each a unique name.
static GROUPS: AtomicU32 = AtomicU32::new(0);

/// A control group with a memory limit, for one test.
pub(crate) struct Cgroup {
    folder: PathBuf,
}

impl Cgroup {
    /// Creates a control group with this memory limit, in MiB; the error says why that is
    /// impossible here.
    pub(crate) fn with_memory(mebibytes: u64) -> Result<Self, String> {
        let first = Path::new("/sys/fs/cgroup/memory");
        let second = Path::new("/sys/fs/cgroup");
        let (parent, file) = if first.join("memory.limit_in_bytes").exists() {
            (first, "memory.limit_in_bytes")
        } else {
            let subtree = fs::read_to_string(second.join("cgroup.subtree_control"));
            let has_memory = subtree.is_ok_and(|names| names.split_whitespace().any(is_memory));
            if !has_memory {
                return Err("no controller of memory is to be had for control groups".to_owned());
            }
            (second, "memory.max")
        };
        let number = GROUPS.fetch_add(1, Ordering::Relaxed);
        let folder = parent.join(format!("treering-test-{}-{number}", std::process::id()));
        let refused = |error| format!("{}: {error}", folder.display());
        fs::create_dir(&folder).map_err(refused)?;
        let group = Self { folder };
        let written = fs::write(group.folder.join(file), (mebibytes << 20).to_string());
        written.map_err(|error| format!("{}: {error}", group.folder.display()))?;
        Ok(group)
    }

    /// Runs the program in the control group.
    pub(crate) fn run(&self, program: &Program, words: &[&str]) -> FinishedCommand {
        let enter = "echo $$ > \"$0\" && exec \"$@\"";
        let mut command = Command::new("sh");
        command.args(["-c", enter]).arg(self.folder.join("cgroup.procs"));
        command.arg(env!("CARGO_BIN_EXE_treering"));
        FinishedCommand::run(program.prepare(&mut command).args(words))
    }
}

fn is_memory(name: &str) -> bool {
    name == "memory"
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // A last process may still be exiting.
        for _ in 0..50 {
            if fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            sleep(Duration::from_millis(100));
        }
        let busy = format!("{} could not be removed", self.folder.display());
        assert!(std::thread::panicking(), "{busy}");
    }
}

/// A loop device with partitions.
pub(crate) struct Partitioned {
    device: PathBuf,
    mounted: Vec<PathBuf>,
    files: TempDir,
}

impl Partitioned {
    /// Makes a loop device with a partition at each of these start sectors, of `sectors` sectors
    /// each.
    pub(crate) fn new(starts: &[u64], sectors: u64) -> Result<Self, String> {
        let files = temp_dir();
        let image = files.path().join("image");
        let end = starts.iter().max().map_or(0, |last| last + sectors + 2048);
        let made = fs::File::create(&image).and_then(|file| file.set_len(end * 512));
        made.map_err(|error| error.to_string())?;
        let table = files.path().join("table");
        let lines = starts.iter().map(|start| format!("start={start}, size={sectors}, type=83\n"));
        let text = format!("label: dos\n{}", lines.collect::<String>());
        fs::write(&table, text).map_err(|error| error.to_string())?;
        let input = fs::File::open(&table).map_err(|error| error.to_string())?;
        run(Command::new("sfdisk").arg("-q").arg(&image).stdin(input))?;
        let attached = run(Command::new("losetup").args(["-P", "-f", "--show"]).arg(&image))?;
        let disk = Self { device: attached.trim().into(), mounted: Vec::new(), files };
        for number in 1..=starts.len() {
            let node = disk.node(number);
            // The device node appears shortly after the partition.
            for _ in 0..50 {
                if node.exists() {
                    break;
                }
                sleep(Duration::from_millis(100));
            }
            if !node.exists() {
                return Err(format!("{} does not come", node.display()));
            }
        }
        Ok(disk)
    }

    /// Path of the node of a partition, counted from 1.
    pub(crate) fn node(&self, number: usize) -> PathBuf {
        PathBuf::from(format!("{}p{number}", self.device.display()))
    }

    /// Makes an ext4 on a partition and mounts it.
    pub(crate) fn mount(&mut self, number: usize) -> PathBuf {
        let node = self.node(number);
        let point = self.files.path().join(format!("mounted-{number}"));
        fs::create_dir(&point).expect("a mount point can be made");
        run(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&node)).expect("it can be formatted");
        run(Command::new("mount").arg(&node).arg(&point)).expect("it can be mounted");
        self.mounted.push(point.clone());
        point
    }
}

impl Drop for Partitioned {
    fn drop(&mut self) {
        for point in &self.mounted {
            let is_off = (0..50).any(|_| {
                let off = run(Command::new("umount").arg(point)).is_ok();
                off || {
                    sleep(Duration::from_millis(100));
                    false
                }
            });
            assert!(is_off || std::thread::panicking(), "{} stays mounted", point.display());
        }
        let off = run(Command::new("losetup").arg("-d").arg(&self.device));
        assert!(off.is_ok() || std::thread::panicking(), "{off:?}");
    }
}

/// A changed value of a file of `/proc` or `/sys`, restored when this is dropped.
pub(crate) struct Setting {
    path: PathBuf,
    before: String,
}

impl Setting {
    pub(crate) fn new(path: impl Into<PathBuf>, value: &str) -> Self {
        let path = path.into();
        let before = read(&path).expect("the setting can be read");
        fs::write(&path, value).expect("the setting can be changed");
        Self { path, before }
    }

    /// Changes one of a pair of settings of `/proc/sys/vm`, a ratio and a byte count. Writing
    /// either sets the other to 0, and the kernel does not undo this, so the setting in use before
    /// is restored.
    pub(crate) fn of_pair([ratio, bytes]: [&str; 2], changed: &str, value: &str) -> Self {
        let folder = Path::new("/proc/sys/vm");
        let [ratio, bytes] = [ratio, bytes].map(|name| folder.join(name));
        let is_in_bytes = read(&bytes).expect("the setting can be read") != "0";
        let path = if is_in_bytes { bytes } else { ratio };
        let before = read(&path).expect("the setting can be read");
        fs::write(folder.join(changed), value).expect("the setting can be changed");
        Self { path, before }
    }

    /// Value of a file of `/proc` or `/sys`: of several words the one in brackets; the error says
    /// why it cannot be read.
    pub(crate) fn present(path: &str) -> Result<String, String> {
        read(Path::new(path)).map_err(|error| format!("{path}: {error}"))
    }
}

fn read(path: &Path) -> std::io::Result<String> {
    let text = fs::read_to_string(path)?;
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    Ok(chosen.map_or(text.trim(), |(word, _)| word).to_owned())
}

impl Drop for Setting {
    fn drop(&mut self) {
        let restored = fs::write(&self.path, &self.before);
        let is_restored = restored.is_ok() && read(&self.path).is_ok_and(|now| now == self.before);
        assert!(is_restored || std::thread::panicking(), "{}", self.path.display());
    }
}

/// Runs a command that must succeed; returns its output.
pub(crate) fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!("{command:?}: {}: {said}", output.status))
}
