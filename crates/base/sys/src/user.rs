//! Who we are to the kernel.

/// Whether we run as root, so that mounting and formatting can be tried at all.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
