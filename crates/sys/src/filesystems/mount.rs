//! Mounting and unmounting by `mount(2)`, without external programs.
//!
//! Mount options are split like in mount(8): words for the flags of the call, and the rest for the
//! filesystem. The reason of a failed mount comes from the log of the kernel's mount context
//! (`fsopen`).

use std::ffi::{CString, OsStr};
use std::fmt;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::io::{Errno, retry_on_intr};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, UnmountFlags, fsconfig_create,
    fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen,
};

/// Limit of the option string for a filesystem: one page.
const DATA_BYTES_MAX: usize = 4095;

/// Words of mount(8) that set or clear a flag.
const FLAGS: [(&str, MountFlags, bool); 24] = [
    ("ro", MountFlags::RDONLY, true),
    ("rw", MountFlags::RDONLY, false),
    ("nosuid", MountFlags::NOSUID, true),
    ("suid", MountFlags::NOSUID, false),
    ("nodev", MountFlags::NODEV, true),
    ("dev", MountFlags::NODEV, false),
    ("noexec", MountFlags::NOEXEC, true),
    ("exec", MountFlags::NOEXEC, false),
    ("sync", MountFlags::SYNCHRONOUS, true),
    ("async", MountFlags::SYNCHRONOUS, false),
    ("dirsync", MountFlags::DIRSYNC, true),
    ("noatime", MountFlags::NOATIME, true),
    ("atime", MountFlags::NOATIME, false),
    ("nodiratime", MountFlags::NODIRATIME, true),
    ("diratime", MountFlags::NODIRATIME, false),
    ("relatime", MountFlags::RELATIME, true),
    ("norelatime", MountFlags::RELATIME, false),
    ("strictatime", MountFlags::STRICTATIME, true),
    ("nostrictatime", MountFlags::STRICTATIME, false),
    ("lazytime", MountFlags::LAZYTIME, true),
    ("nolazytime", MountFlags::LAZYTIME, false),
    ("silent", MountFlags::SILENT, true),
    ("loud", MountFlags::SILENT, false),
    ("defaults", MountFlags::empty(), true),
];

/// Words for mount(8) or fstab only, or for other kinds of mounts.
const NOT_FOR_THE_KERNEL: [&str; 17] = [
    "loop",
    "bind",
    "rbind",
    "move",
    "remount",
    "auto",
    "noauto",
    "user",
    "nouser",
    "users",
    "owner",
    "group",
    "nofail",
    "_netdev",
    "offset",
    "sizelimit",
    "encryption",
];

/// Parsed mount options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountOptions {
    flags: MountFlags,
    data: String,
}

/// Rejected mount options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MountOptionError {
    /// Option with a newline, NUL or other control character.
    Control(String),
    /// Word for mount(8) or fstab.
    NotForTheKernel(String),
    /// Options exceed the kernel's limit.
    TooLong,
}

impl fmt::Display for MountOptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Control(option) => write!(f, "{option:?} has a control character"),
            Self::NotForTheKernel(option) => {
                write!(f, "`{option}` is for mount(8) or fstab, the kernel does not know it")
            }
            Self::TooLong => write!(f, "the options are longer than {DATA_BYTES_MAX} bytes"),
        }
    }
}

impl std::error::Error for MountOptionError {}

impl MountOptions {
    /// Parses options. Each string may hold several, separated by commas as for `mount -o`.
    ///
    /// # Errors
    /// If an option cannot be passed to the kernel.
    pub fn parse<S: AsRef<str>>(options: &[S]) -> Result<Self, MountOptionError> {
        let mut flags = MountFlags::empty();
        let mut data: Vec<&str> = Vec::new();
        for option in options.iter().flat_map(|options| split(options.as_ref())) {
            if option.chars().any(char::is_control) {
                return Err(MountOptionError::Control(option.to_owned()));
            }
            let word = option.split('=').next().unwrap_or(option);
            if NOT_FOR_THE_KERNEL.contains(&word) || word.starts_with("x-") {
                return Err(MountOptionError::NotForTheKernel(option.to_owned()));
            }
            match FLAGS.iter().find(|(name, ..)| *name == option) {
                Some((_, flag, true)) => flags |= *flag,
                Some((_, flag, false)) => flags -= *flag,
                None => data.push(option),
            }
        }
        let data = data.join(",");
        if data.len() > DATA_BYTES_MAX {
            return Err(MountOptionError::TooLong);
        }
        Ok(Self { flags, data })
    }

    /// Options for the filesystem, separated by commas.
    pub fn data(&self) -> &str {
        &self.data
    }

    /// Reports whether the mount is read-only.
    pub fn is_read_only(&self) -> bool {
        self.flags.contains(MountFlags::RDONLY)
    }
}

/// Splits a list at commas, except within quotes.
fn split(options: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut begin, mut quoted) = (0, false);
    for (at, byte) in options.bytes().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b',' if !quoted => {
                pieces.push(&options[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    pieces.push(&options[begin..]);
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// Mounts a filesystem of type `fs_type` from `source` on the directory `target`.
///
/// # Errors
/// As `mount`.
pub fn mount(
    source: &OsStr,
    target: &Path,
    fs_type: &str,
    options: &MountOptions,
) -> Result<(), Errno> {
    let data = CString::new(options.data.as_str()).map_err(|_nul| Errno::INVAL)?;
    retry_on_intr(|| {
        rustix::mount::mount(source, target, fs_type, options.flags, Some(data.as_c_str()))
    })
}

/// Repeats the configuration of a failed mount to get the kernel's error message. Nothing is
/// mounted.
pub fn explain_mount(source: &OsStr, fs_type: &str, options: &MountOptions) -> Option<String> {
    let context = fsopen(fs_type, FsOpenFlags::FSOPEN_CLOEXEC).ok()?;
    configure(&context, source, options).err().and_then(|_| log_of(&context))
}

/// Creates a detached mount: invisible to other processes, it ends when the returned root and
/// everything opened beneath it are closed, even if the process is killed.
///
/// # Errors
/// As `fsconfig` and `fsmount`, with the kernel's message; `ENOSYS` before Linux 5.2.
pub fn mount_detached(
    source: &OsStr,
    fs_type: &str,
    options: &MountOptions,
) -> Result<OwnedFd, (Errno, Option<String>)> {
    let context = fsopen(fs_type, FsOpenFlags::FSOPEN_CLOEXEC).map_err(|errno| (errno, None))?;
    configure(&context, source, options).map_err(|errno| (errno, log_of(&context)))?;
    let mut attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC
        | MountAttrFlags::MOUNT_ATTR_NOATIME;
    if options.is_read_only() {
        attributes |= MountAttrFlags::MOUNT_ATTR_RDONLY;
    }
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
        .map_err(|errno| (errno, log_of(&context)))
}

fn configure(context: &OwnedFd, source: &OsStr, options: &MountOptions) -> Result<(), Errno> {
    fsconfig_set_string(context, "source", source)?;
    if options.is_read_only() {
        fsconfig_set_flag(context, "ro")?;
    }
    for option in split(&options.data) {
        match option.split_once('=') {
            Some((key, value)) => fsconfig_set_string(context, key, value)?,
            None => fsconfig_set_flag(context, option)?,
        }
    }
    fsconfig_create(context)
}

/// Messages of the kernel about a mount configuration; `None` before Linux 5.2.
fn log_of(context: &OwnedFd) -> Option<String> {
    let mut words = Vec::new();
    let mut buffer = [0u8; 1024];
    // Each read returns one message with a severity letter in front; ENODATA after the last.
    while let Ok(length) = rustix::io::read(context, &mut buffer) {
        let message = String::from_utf8_lossy(&buffer[..length]).trim().to_owned();
        let message = message.get(2..).unwrap_or_default().trim().to_owned();
        if length == 0 || words.len() == 16 {
            break;
        }
        if !message.is_empty() {
            words.push(message);
        }
    }
    (!words.is_empty()).then(|| words.join("; "))
}

/// Unmounts the topmost mount at `target`; a symbolic link is not followed. Never lazily: a busy
/// mount stays.
///
/// # Errors
/// `EBUSY` if it is in use, else as `umount2`.
pub fn unmount(target: &Path) -> Result<(), Errno> {
    retry_on_intr(|| rustix::mount::unmount(target, UnmountFlags::NOFOLLOW))
}

#[cfg(test)]
#[expect(clippy::disallowed_macros, reason = "a test that must be skipped says so")]
mod tests {
    use super::{MountOptionError, MountOptions, explain_mount, mount, unmount};
    use rustix::io::Errno;
    use rustix::mount::MountFlags;
    use std::ffi::OsStr;
    use std::path::Path;

    #[test]
    fn flags_and_data_are_distinguished() {
        let options = MountOptions::parse(&["noatime,discard", "lazytime", "", "data=ordered"]);
        let options = options.unwrap();
        assert_eq!(options.flags, MountFlags::NOATIME | MountFlags::LAZYTIME);
        assert_eq!(options.data(), "discard,data=ordered");
        let back = MountOptions::parse(&["ro,nosuid,defaults", "rw,suid"]).unwrap();
        assert_eq!(back.flags, MountFlags::empty());
        assert!(!back.is_read_only() && MountOptions::parse(&["ro"]).unwrap().is_read_only());
        let quoted = MountOptions::parse(&["context=\"a:b:s0:c1,c2\",noexec"]).unwrap();
        assert_eq!(quoted.data(), "context=\"a:b:s0:c1,c2\"");
        assert_eq!(MountOptions::parse::<&str>(&[]).unwrap().data(), "");
    }

    #[test]
    fn options_for_mount8_are_rejected() {
        for option in ["a\nb", "a\0b", "x\u{7f}"] {
            let refused = MountOptions::parse(&[option]);
            assert_eq!(refused, Err(MountOptionError::Control(option.to_owned())));
        }
        for option in ["loop", "loop=/dev/loop1", "bind", "remount", "nofail", "x-systemd.a"] {
            let refused = MountOptions::parse(&["discard", option]);
            assert_eq!(refused, Err(MountOptionError::NotForTheKernel(option.to_owned())));
        }
        assert_eq!(MountOptions::parse(&["a".repeat(5000)]), Err(MountOptionError::TooLong));
    }

    #[test]
    fn tmpfs_is_mounted_and_unmounted() {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: needs root to mount");
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let source = OsStr::new("treering-test");
        let options = MountOptions::parse(&["size=1m,noatime"]).unwrap();
        mount(source, place.path(), "tmpfs", &options).unwrap();
        let table = crate::MountTable::read().unwrap();
        let here = table.mount_of_path(&place.path().canonicalize().unwrap()).unwrap().clone();
        unmount(place.path()).unwrap();
        assert_eq!(here.source, "treering-test");
        assert!(here.options.contains("noatime") && here.super_options.contains("size=1024k"));
        assert_eq!(unmount(place.path()), Err(Errno::INVAL));
        let bad = MountOptions::parse(&["nonsense=1"]).unwrap();
        assert!(mount(source, place.path(), "tmpfs", &bad).is_err());
        // Kernels before 5.2 have no log of a mount.
        if let Some(words) = explain_mount(source, "tmpfs", &bad) {
            assert!(words.contains("nonsense"), "{words}");
        }
        assert_eq!(explain_mount(source, "no-such-type", &bad), None);
        assert_eq!(
            mount(source, Path::new("/nowhere/at/all"), "tmpfs", &options),
            Err(Errno::NOENT)
        );
    }
}
