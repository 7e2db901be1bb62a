//! Guests: a kernel from a package, a build tree or an image, booted under QEMU with treering as
//! its init process, to run one trial.
//!
//! The host reads the kernel, builds an initramfs from the program and the modules, and receives
//! events; in the guest the program sets up the machine and sends them. The caller defines the
//! trial and consumes its events.

mod architecture;
mod boot;
mod bytes;
mod check;
mod cpio;
mod disk;
mod dynamic;
mod elf;
mod entered_root;
mod error;
mod init;
mod init_error;
mod initramfs;
mod kernel;
mod modinfo;
mod modules;
mod name_pattern;
mod program;
mod protocol;
mod root_transport;
mod share;
mod unpack;

pub use architecture::{Architecture, BUILT_IMAGES};
pub use boot::{
    BootImage, BootParameters, CANNOT_BEGIN, CONSOLE_ARTIFACT, CONSOLE_VERSION, FinishedBoot,
    GuestEnd, Qemu, may_have_kvm,
};
pub use check::{KernelDriver, KernelExamination, examine};
pub use disk::disk_name;
pub use dynamic::with_libraries;
pub use error::GuestError;
pub use init::{GuestMachine, is_guest};
pub use init_error::InitError;
pub use initramfs::{ExtraFile, Initramfs};
pub use kernel::{Kernel, copy_kernel};
pub use modules::{GuestModule, needed, needed_by_plan, needed_by_root};
pub use program::GuestProgram;
pub use protocol::GuestJob;
pub use root_transport::RootTransport;
pub use share::SharedRoot;
