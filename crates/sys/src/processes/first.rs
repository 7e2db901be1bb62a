//! Operations of a guest's init process: loading modules, changing the root, powering off.

use std::ffi::CStr;
use std::io;
use std::path::Path;

use rustix::io::Errno;
use rustix::process::{chdir, chroot};
use rustix::system::{RebootCommand, init_module, reboot};

/// Loads a kernel module with parameters (`NAME=VALUE NAME=VALUE`). An already loaded module is not
/// an error.
///
/// # Errors
/// As `init_module`.
pub fn load_module(module: &[u8], parameters: &CStr) -> io::Result<()> {
    match init_module(module, parameters) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Makes a directory the root of this process, and its working directory.
///
/// # Errors
/// As `chroot`: `EPERM` without root.
pub fn change_root(directory: &Path) -> io::Result<()> {
    chroot(directory)?;
    Ok(chdir("/")?)
}

/// Powers the machine off immediately, without syncing filesystems.
///
/// # Errors
/// As `reboot`: `EPERM` without root.
pub fn power_off() -> io::Result<()> {
    Ok(reboot(RebootCommand::PowerOff)?)
}

#[cfg(test)]
mod tests {
    use super::load_module;

    #[test]
    fn invalid_modules_are_not_loaded() {
        assert!(load_module(b"not a module", c"").is_err());
    }
}
