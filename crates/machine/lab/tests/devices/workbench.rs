//! Test helpers: a temporary lab, temporary loop devices, and optional programs.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;
use treering_lab::{EraseList, Lab, LabError};
use treering_model::{DeviceSpec, Variant};
use treering_sys::{
    DeviceOpenMode, LoopSettings, attach_loop, detach_loop, loop_status, open_device,
};

/// Number of loop devices made by this process.
static MADE: AtomicU32 = AtomicU32::new(0);

pub(crate) const MIB: u64 = 1 << 20;

/// True if loop devices can be made and filesystems mounted; prints the reason if not.
pub(crate) fn can_make_devices() -> bool {
    let root = rustix::process::geteuid().is_root();
    let able = root && Path::new("/dev/loop-control").exists();
    if !able {
        println!("skipped: needs root and loop devices");
    }
    able
}

/// A lab in a temporary directory.
pub(crate) struct Workbench {
    pub(crate) top: TempDir,
    pub(crate) lab: Lab,
}

impl Workbench {
    pub(crate) fn new() -> Self {
        // Puts images on a disk, as in real use, since /tmp may be in memory.
        let top = tempfile::Builder::new().prefix("treering-lab-").tempdir_in("/var/tmp").unwrap();
        let lab = lab_in(top.path());
        Self { top, lab }
    }

    /// True if no image and no record is left.
    pub(crate) fn is_empty(&self) -> bool {
        let images = std::fs::read_dir(self.top.path().join("images"));
        let mounts = std::fs::read_dir(self.top.path().join("register/mounts"));
        self.lab.list().unwrap().is_empty()
            && images.map_or(0, Iterator::count) == 0
            && mounts.map_or(0, Iterator::count) == 0
    }
}

pub(crate) fn lab_in(top: &Path) -> Lab {
    Lab::open(&top.join("register")).unwrap().with_images_in(&top.join("images"))
}

/// A variant on loop images.
pub(crate) fn on_images(filesystem: &str, count: u16, bytes: u64) -> Variant {
    let device = DeviceSpec::Loop {
        bytes,
        count,
        sparse: true,
        direct_io: true,
        sector_bytes: 512,
        directory: None,
        disk: None,
    };
    variant(filesystem, device)
}

pub(crate) fn on_blocks(filesystem: &str, paths: &[&Path]) -> Variant {
    let paths = paths.iter().map(|path| path.to_path_buf()).collect();
    variant(filesystem, DeviceSpec::Block { paths })
}

pub(crate) fn variant(filesystem: &str, device: DeviceSpec) -> Variant {
    Variant::new(filesystem, filesystem, device)
}

pub(crate) fn words(text: &[&str]) -> Vec<String> {
    text.iter().map(|&word| word.to_owned()).collect()
}

pub(crate) fn erasing(path: &Path) -> EraseList {
    EraseList::new([path.to_owned()])
}

/// Message of the error; `nothing went wrong` for a success.
pub(crate) fn reported<T>(result: Result<T, LabError>) -> String {
    match result {
        Ok(_) => "nothing went wrong".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// A loop device that does not belong to the lab; dropping detaches it.
pub(crate) struct ForeignDisk {
    pub(crate) node: PathBuf,
    pub(crate) image: PathBuf,
    /// Mark that identifies the device while it is attached.
    mark: String,
    _top: TempDir,
}

impl ForeignDisk {
    /// Empty disk of this size.
    pub(crate) fn new(bytes: u64) -> Self {
        let top = TempDir::new_in("/var/tmp").unwrap();
        let image = top.path().join("disk.img");
        File::create_new(&image).unwrap().set_len(bytes).unwrap();
        Self::attach(top, image)
    }

    /// Disk on an image, in a directory that is removed with the disk.
    pub(crate) fn attach(top: TempDir, image: PathBuf) -> Self {
        Self::attach_with(top, image, true)
    }

    /// Disk on an image, attached without a scan for partitions.
    pub(crate) fn without_partitions(top: TempDir, image: PathBuf) -> Self {
        Self::attach_with(top, image, false)
    }

    fn attach_with(top: TempDir, image: PathBuf, partitions: bool) -> Self {
        let file = File::options().read(true).write(true).open(&image).unwrap();
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let mark = format!("treering test disk {number} of {}", std::process::id());
        let settings = LoopSettings {
            file: file.as_fd(),
            sector_bytes: 512,
            direct_io: false,
            partitions,
            mark: &mark,
        };
        let made = attach_loop(&settings).unwrap();
        Self { node: made.path, image, mark, _top: top }
    }
}

impl ForeignDisk {
    /// Detaches the device; the image file stays.
    pub(crate) fn detach(&mut self) {
        let opened = open_device(&self.node, DeviceOpenMode::Look);
        if let Ok(device) = opened.and_then(|device| Ok((loop_status(&device)?, device))) {
            let is_ours = device.0.is_some_and(|status| status.mark == self.mark);
            let _already_gone = is_ours.then(|| detach_loop(&device.1));
        }
    }
}

impl Drop for ForeignDisk {
    fn drop(&mut self) {
        self.detach();
    }
}

/// Path of a program.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let folders = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
    folders.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
}

/// Runs a program with this input; the error is its output.
pub(crate) fn run(program: &Path, arguments: &[String], input: &str) -> Result<(), String> {
    let mut child = Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program may end without reading its input.
        let _unread = stdin.write_all(input.as_bytes());
    }
    let done = child.wait_with_output().map_err(|error| error.to_string())?;
    if done.status.success() {
        return Ok(());
    }
    let words = [done.stdout, done.stderr].concat();
    Err(String::from_utf8_lossy(&words).split_whitespace().collect::<Vec<_>>().join(" "))
}
