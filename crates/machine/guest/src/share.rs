//! Directory of the host that is the root of a guest: its QEMU arguments, and the daemon that
//! serves virtiofs.
//!
//! The guest can write nothing to the host: QEMU serves 9p read-only, and the daemon sees a copy of
//! the mounts in which all are read-only. A mount option of the guest alone would promise nothing.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};

use treering_model::filesystems::NINE_P;
use treering_sys::{end_with_parent, with_read_only_mounts};

use crate::modules::needed_by_root;
use crate::root_transport::{RootTransport, TAG};
use crate::{GuestError, Kernel};

/// Places of virtiofsd that are in no search path.
const DAEMON_PLACES: [&str; 3] =
    ["/usr/libexec/virtiofsd", "/usr/lib/qemu/virtiofsd", "/usr/lib/virtiofsd"];

/// Directory that is shared as the root of guests.
#[derive(Clone, Debug)]
pub struct SharedRoot {
    /// Directory of the host.
    directory: PathBuf,
    /// Transport, which all guests of a plan have in common.
    pub transport: RootTransport,
    /// Path of virtiofsd.
    daemon: PathBuf,
}

impl SharedRoot {
    /// Chooses the transport that all of these kernels have; `search` is the search path for
    /// virtiofsd.
    ///
    /// # Errors
    /// If the path is not a directory, or there is no such transport.
    pub fn find(
        directory: &Path,
        kernels: &[&Kernel],
        search: &std::ffi::OsStr,
    ) -> Result<Self, GuestError> {
        let refused = |why: String| GuestError::Root { directory: directory.to_owned(), why };
        if !directory.is_absolute() || !directory.is_dir() {
            return Err(refused("it is not the path of a directory from / on".to_owned()));
        }
        let mut places: Vec<PathBuf> =
            std::env::split_paths(search).map(|dir| dir.join("virtiofsd")).collect();
        places.extend(DAEMON_PLACES.map(PathBuf::from));
        let daemon = places.into_iter().find(|path| path.is_absolute() && path.is_file());
        let mut reasons = Vec::new();
        for transport in RootTransport::ALL {
            let is_virtiofs = transport == RootTransport::VirtioFs;
            if is_virtiofs && daemon.is_none() {
                reasons.push("virtiofs: virtiofsd is not installed".to_owned());
                continue;
            }
            // virtiofsd takes a comma for the end of the path.
            if is_virtiofs && directory.as_os_str().as_encoded_bytes().contains(&b',') {
                reasons.push("virtiofs: the path has a comma".to_owned());
                continue;
            }
            let missing = kernels.iter().find_map(|kernel| needed_by_root(kernel, transport).err());
            match missing {
                Some(error) => reasons.push(format!("{}: {error}", transport.name())),
                None => {
                    let daemon = daemon.unwrap_or_default();
                    return Ok(Self { directory: directory.to_owned(), transport, daemon });
                }
            }
        }
        Err(refused(reasons.join("; ")))
    }

    /// Arguments of QEMU for the device. The connection to the daemon of virtiofs is QEMU's
    /// standard output.
    pub(crate) fn arguments(&self) -> Vec<String> {
        // A comma in a value is escaped by doubling it.
        let directory = self.directory.display().to_string().replace(',', ",,");
        match self.transport {
            RootTransport::VirtioFs => vec![
                "-chardev".to_owned(),
                "socket,id=root,fd=1".to_owned(),
                "-device".to_owned(),
                format!("vhost-user-fs-pci,chardev=root,tag={TAG}"),
            ],
            RootTransport::NineP => vec![
                "-fsdev".to_owned(),
                format!(
                    "local,id=root,path={directory},security_model=none,readonly=on,\
                     multidevs=remap"
                ),
                "-device".to_owned(),
                format!("virtio-{NINE_P}-pci,fsdev=root,mount_tag={TAG}"),
            ],
        }
    }

    /// Starts the daemon of virtiofs; `None` for 9p. Returns it with its connection for QEMU. Its
    /// messages go to `errors`.
    pub(crate) fn serve(&self, errors: &File) -> io::Result<Option<(Child, OwnedFd)>> {
        if self.transport == RootTransport::NineP {
            return Ok(None);
        }
        let (listener, connection) = private_connection()?;
        let mut command = Command::new(&self.daemon);
        command.args(["-f", "--fd=0", "-o", "sandbox=chroot", "-o", "cache=auto", "-o"]);
        let mut source = std::ffi::OsString::from("source=");
        source.push(&self.directory);
        command.arg(source).current_dir("/").env("LC_ALL", "C").stdin(OwnedFd::from(listener));
        command.stdout(errors.try_clone()?).stderr(errors.try_clone()?);
        let child = with_read_only_mounts(end_with_parent(&mut command)).spawn()?;
        Ok(Some((child, OwnedFd::from(connection))))
    }
}

/// A listening socket with the only connection to it. Nobody else can reach its directory below
/// `/run`, which is removed at once.
fn private_connection() -> io::Result<(UnixListener, UnixStream)> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("treering-root-{}-{number}", std::process::id());
    let directory = Path::new("/run").join(name);
    DirBuilder::new().mode(0o700).create(&directory)?;
    let socket = directory.join("socket");
    let connected =
        UnixListener::bind(&socket).and_then(|it| Ok((it, UnixStream::connect(&socket)?)));
    let _it_is_not_there = fs::remove_file(&socket);
    fs::remove_dir(&directory)?;
    connected
}

#[cfg(test)]
mod tests {
    use super::{RootTransport, SharedRoot};
    use std::path::Path;

    #[test]
    fn nine_p_is_served_read_only_by_qemu() {
        let root = SharedRoot {
            directory: "/a,b".into(),
            transport: RootTransport::NineP,
            daemon: "".into(),
        };
        let words = root.arguments();
        assert!(words[1].contains("path=/a,,b,") && words[1].contains("readonly=on"), "{words:?}");
        assert!(root.serve(&std::fs::File::open("/dev/null").unwrap()).unwrap().is_none());
    }

    #[test]
    fn a_root_is_a_directory_with_a_path_from_the_top() {
        for path in ["etc", "/etc/passwd", "/nowhere"] {
            let error = SharedRoot::find(Path::new(path), &[], "".as_ref()).unwrap_err();
            assert!(error.to_string().contains("not the path of a directory"), "{error}");
        }
    }
}
