//! Why a guest cannot be had.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a kernel cannot be read or a guest not be started.
#[derive(Debug, Error)]
pub enum GuestError {
    /// A call on a path failed.
    #[error("{what} {}: {source}", path.display())]
    Io {
        /// What was being done.
        what: &'static str,
        /// To what.
        path: PathBuf,
        /// The system's words.
        #[source]
        source: io::Error,
    },
    /// A package or a part of it is not as it should be.
    #[error("{}: {}{why}", package.display(), member_words(member))]
    Package {
        /// The package.
        package: PathBuf,
        /// The file in it; empty for the package itself.
        member: String,
        /// What is wrong.
        why: String,
    },
    /// There is no kernel in it.
    #[error("{} has no kernel: {why}", path.display())]
    NoKernel {
        /// Where it was looked for.
        path: PathBuf,
        /// What was looked for.
        why: String,
    },
    /// A module that is needed is not there.
    #[error(
        "the kernel {kernel} has no module {module}, which {needed_by} needs, and it is not built \
         in"
    )]
    MissingModule {
        /// The release of the kernel.
        kernel: String,
        /// The module.
        module: String,
        /// Who needs it.
        needed_by: String,
    },
    /// The program cannot be the first of a guest.
    #[error("{} cannot be started in a guest: {why}", path.display())]
    Program {
        /// The program.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// QEMU cannot be started.
    #[error("QEMU cannot be started: {why}")]
    Qemu {
        /// Why not.
        why: String,
    },
}

fn member_words(member: &str) -> String {
    if member.is_empty() { String::new() } else { format!("{member}: ") }
}

impl GuestError {
    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoKernel { .. } => Some(
                "name a Debian or RPM kernel package, a vmlinuz whose modules are installed beside \
                 it, an unpacked package, or a kernel tree that has been built",
            ),
            Self::MissingModule { .. } => {
                Some("use a kernel that has it, as a module or built in; a guest loads no others")
            }
            Self::Program { .. } => {
                Some("use the static program: `make build` makes it, `make install` installs it")
            }
            Self::Qemu { .. } => Some("install QEMU (apt install qemu-system-x86)"),
            Self::Io { .. } | Self::Package { .. } => None,
        }
    }

    pub(crate) fn io(
        what: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { what, path, source }
    }
}
