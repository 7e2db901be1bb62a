//! Guest side of a shared root: the host's directory below, tmpfs above it for all that is written,
//! and the guest's own filesystems inside.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;

use treering_model::filesystems::{OVERLAY, TMPFS};
use treering_sys::{MountOptions, change_root, mount};

use crate::init_error::InitError;
use crate::initramfs::OURS;
use crate::root_transport::{RootTransport, TAG};

/// Mount points in the initramfs: the shared directory, the memory above it, both together.
const SHARED: &str = "/shared";
const MEMORY: &str = "/memory";
const JOINED: &str = "/joined";

/// Filesystems in the root, with their mount points: those of the guest cover the host's.
const INSIDE: [(&str, &str); 7] = [
    ("proc", "proc"),
    ("sysfs", "sys"),
    ("devtmpfs", "dev"),
    (TMPFS, "dev/shm"),
    (TMPFS, "run"),
    ("tracefs", "sys/kernel/tracing"),
    ("cgroup2", "sys/fs/cgroup"),
];
/// Optional ones, which a kernel may lack.
const NOT_NEEDED: [&str; 2] = ["tracefs", "cgroup2"];

/// Makes the shared directory the root of this process, with the files of the initramfs in it.
pub(crate) fn enter(transport: RootTransport) -> Result<(), InitError> {
    for folder in [SHARED, MEMORY, JOINED] {
        fs::create_dir(folder).map_err(of(folder))?;
    }
    mounted(TAG, SHARED, (transport.name(), transport.mount_options()))?;
    mounted(TMPFS, MEMORY, (TMPFS, &["mode=755"]))?;
    for folder in ["upper", "work"] {
        let folder = format!("{MEMORY}/{folder}");
        fs::create_dir(&folder).map_err(of(&folder))?;
    }
    let parts = [
        format!("lowerdir={SHARED}"),
        format!("upperdir={MEMORY}/upper"),
        format!("workdir={MEMORY}/work"),
    ];
    mounted(OVERLAY, JOINED, (OVERLAY, &parts.each_ref().map(String::as_str)))?;
    for entry in fs::read_dir("/").map_err(of("/"))?.flatten() {
        let name = entry.file_name();
        let path = Path::new("/").join(&name);
        let is_own = name.to_str().is_none_or(|name| OURS.contains(&name));
        if !is_own && ![SHARED, MEMORY, JOINED].iter().any(|own| path == Path::new(own)) {
            let to = Path::new(JOINED).join(&name);
            copy(&path, &to).map_err(of(to.to_string_lossy()))?;
        }
    }
    for (fs_type, point) in INSIDE {
        let point = format!("{JOINED}/{point}");
        let made = fs::create_dir_all(&point);
        match made.map_err(of(&point)).and_then(|()| mounted(fs_type, &point, (fs_type, &[]))) {
            Err(_missing) if NOT_NEEDED.contains(&fs_type) => {}
            result => result?,
        }
    }
    let mount_point = format!("{JOINED}/mnt");
    fs::create_dir_all(&mount_point).map_err(of(&mount_point))?;
    change_root(Path::new(JOINED)).map_err(of("/"))
}

fn of(path: impl Into<String>) -> impl FnOnce(io::Error) -> InitError {
    let path = path.into();
    move |source| InitError::Root { path: path.into(), source }
}

fn mounted(
    source: &str,
    point: &str,
    (fs_type, options): (&'static str, &[&str]),
) -> Result<(), InitError> {
    let refused = |error: io::Error| of(format!("{fs_type} at {point}"))(error);
    let options = MountOptions::parse(options).map_err(|error| refused(io::Error::other(error)))?;
    mount(OsStr::new(source), Path::new(point), fs_type, &options)
        .map_err(|errno| refused(errno.into()))
}

/// Copies files and directories of the initramfs.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let kind = fs::symlink_metadata(from)?.file_type();
    if kind.is_dir() {
        fs::create_dir_all(to)?;
        fs::read_dir(from)?.try_for_each(|entry| {
            let name = entry?.file_name();
            copy(&from.join(&name), &to.join(&name))
        })
    } else if kind.is_file() {
        fs::copy(from, to).map(|_bytes| ())
    } else {
        Ok(())
    }
}
