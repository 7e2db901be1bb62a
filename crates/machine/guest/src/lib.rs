//! Guests: a kernel from a package, a tree or a file, booted under QEMU with our own program as its
//! init, to run one trial.
//!
//! The host reads the kernel, makes an initramfs of the program and the modules, and listens; the
//! program in the guest prepares the machine and says what happens. What a trial is, and where its
//! events go, is decided by whoever calls.

mod bytes;
mod cpio;
mod disk;
mod elf;
mod error;
mod init;
mod init_error;
mod initramfs;
mod kernel;
mod modules;
mod overhead;
mod program;
mod protocol;
mod qemu;
mod unpack;

pub use disk::disk_name;
pub use error::GuestError;
pub use init::{GuestMachine, is_guest};
pub use init_error::InitError;
pub use initramfs::{Extra, Initramfs};
pub use kernel::Kernel;
pub use modules::{Loaded, needed};
pub use program::Program;
pub use protocol::GuestJob;
pub use qemu::{Boot, Bootable, GuestEnd, Qemu, may_have_kvm};
