//! Errors of reading kernels and starting guests.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::Architecture;

/// Failure to read a kernel or to start a guest.
#[derive(Debug, Error)]
pub enum GuestError {
    /// A file operation failed.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// Failed action.
        action: &'static str,
        /// Path.
        path: PathBuf,
        /// System error.
        #[source]
        source: io::Error,
    },
    /// A package or a part of it is damaged.
    #[error("{}: {}{why}", package.display(), member_words(member))]
    Package {
        /// Path of the package.
        package: PathBuf,
        /// File in the package; empty for the package itself.
        member: String,
        /// Description of the damage.
        why: String,
    },
    /// No kernel was found.
    #[error("{} has no kernel: {why}", path.display())]
    NoKernel {
        /// Searched path.
        path: PathBuf,
        /// Description of what is missing.
        why: String,
    },
    /// A required module is missing.
    #[error(
        "the kernel {kernel} has no module {module}, which {needed_by} needs, and it is not built \
         in"
    )]
    MissingModule {
        /// Kernel release.
        kernel: String,
        /// Module name.
        module: String,
        /// Module or part of the guest that needs it.
        needed_by: String,
    },
    /// A required module was built for another kernel.
    #[error("the module {module} was built for {built_for}, and the image is {kernel}")]
    OtherRelease {
        /// Kernel release of the image.
        kernel: String,
        /// Module name.
        module: String,
        /// Kernel release of the module.
        built_for: String,
    },
    /// A required module has another layout than the others.
    #[error(
        "the module {module} was built for {built_for}, and not with the other modules of \
         {kernel}: their checksums of module_layout differ"
    )]
    OtherBuild {
        /// Kernel release of the image.
        kernel: String,
        /// Module name.
        module: String,
        /// Kernel release of the module.
        built_for: String,
    },
    /// The program is unsuitable as the init process of a guest.
    #[error("{} cannot be started in a guest: {why}", path.display())]
    Program {
        /// Path of the program.
        path: PathBuf,
        /// Reason.
        why: String,
    },
    /// Nothing can be the init process of guests of another architecture than that of this machine.
    #[error("the kernel is for {}, and there is no treering for it here", .0.title())]
    NoProgram(
        /// Architecture of the kernel.
        Architecture,
    ),
    /// A directory cannot be the root of guests.
    #[error("{} cannot be the root of the guests: {why}", directory.display())]
    Root {
        /// Directory of the host.
        directory: PathBuf,
        /// Reason.
        why: String,
    },
    /// QEMU is not installed for this architecture.
    #[error("qemu-system-{} is not installed", .0.traits().machine)]
    NoEmulator(
        /// Architecture of the kernel.
        Architecture,
    ),
    /// QEMU cannot be started.
    #[error("QEMU cannot be started: {why}")]
    Qemu {
        /// Reason.
        why: String,
    },
}

fn member_words(member: &str) -> String {
    if member.is_empty() { String::new() } else { format!("{member}: ") }
}

impl GuestError {
    /// Advice for the user, if any.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoKernel { .. } => Some(
                "name a Debian or RPM kernel package, a vmlinuz whose modules are installed beside \
                 it, an unpacked package, or a kernel tree that has been built",
            ),
            Self::MissingModule { .. } => Some(
                "use a kernel that has it, as a module or built in; of a built tree, modules \
                     older than its image or their sources are left out: make bzImage modules",
            ),
            Self::OtherRelease { .. } | Self::OtherBuild { .. } => Some(
                "build the modules again (`make modules`), or give the image that was built with \
                 them",
            ),
            Self::Program { .. } => {
                Some("use the static program: `make build` makes it, `make install` installs it")
            }
            Self::NoProgram(_) => Some(
                "make it with scripts/build.sh --for aarch64, or name one: program = \"PATH\" in \
                 [guest]",
            ),
            Self::NoEmulator(architecture) => Some(architecture.traits().emulator_hint),
            Self::Qemu { .. } => Some("install QEMU (apt install qemu-system-x86)"),
            Self::Root { .. } => Some(
                "root = \"/\" needs kernels with overlay and virtiofs, and virtiofsd (apt install \
                 virtiofsd, or qemu-system-common), or kernels with overlay and 9p",
            ),
            Self::Io { .. } | Self::Package { .. } => None,
        }
    }

    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}
