//! What only the first process of a machine does: loading modules, and turning the machine off.

use std::io;

use rustix::io::Errno;
use rustix::system::{RebootCommand, init_module, reboot};

/// Loads a module, without parameters. One that is there already is no error.
///
/// # Errors
/// As `init_module`.
pub fn load_module(module: &[u8]) -> io::Result<()> {
    match init_module(module, c"") {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Turns the machine off, at once and without writing anything back.
///
/// # Errors
/// As `reboot`: `EPERM` for anybody but root.
pub fn power_off() -> io::Result<()> {
    Ok(reboot(RebootCommand::PowerOff)?)
}

#[cfg(test)]
mod tests {
    use super::load_module;

    #[test]
    fn what_is_no_module_is_not_loaded() {
        assert!(load_module(b"not a module").is_err());
    }
}
