//! Who we are to the kernel.
#![expect(unsafe_code, reason = "rustix has no setfsuid")]

use rustix::io::Errno;

/// Whether we run as root, so that mounting and formatting can be tried at all.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The number of the user as whom we act (the effective one).
pub fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The calling thread's identity towards filesystems is another's until this is dropped.
#[derive(Debug)]
pub struct RunAs {
    user: libc::uid_t,
    group: libc::gid_t,
}

impl RunAs {
    /// The calling thread works on files as this user and group (`setfsuid`, `setfsgid`). Without
    /// a right to do so only to one's own.
    ///
    /// # Errors
    /// `EPERM` when the kernel leaves it as it was.
    pub fn put_on(user: u32, group: u32) -> Result<Self, Errno> {
        // SAFETY: plain numbers; each says what it was before.
        let before = unsafe { (libc::setfsgid(group), libc::setfsuid(user)) };
        let number = |of: libc::c_int| of.cast_unsigned();
        let worn = Self { user: number(before.1), group: number(before.0) };
        // SAFETY: as above; the number that is never valid changes nothing.
        let now = unsafe { (libc::setfsgid(u32::MAX), libc::setfsuid(u32::MAX)) };
        // What is half put on is taken off again by the drop.
        if (number(now.0), number(now.1)) == (group, user) { Ok(worn) } else { Err(Errno::PERM) }
    }
}

impl Drop for RunAs {
    fn drop(&mut self) {
        // SAFETY: plain numbers. Back to what it was is always allowed.
        unsafe {
            libc::setfsuid(self.user);
            libc::setfsgid(self.group);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{File, set_permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::{RunAs, is_root};

    #[test]
    fn files_are_anothers_while_it_is_worn() {
        let place = tempfile::tempdir().unwrap();
        set_permissions(place.path(), PermissionsExt::from_mode(0o777)).unwrap();
        let owner = |name: &str| {
            File::create(place.path().join(name)).unwrap();
            let about = std::fs::metadata(place.path().join(name)).unwrap();
            (about.uid(), about.gid())
        };
        let own = owner("before");
        match RunAs::put_on(12_345, 54_321) {
            Ok(worn) => {
                assert!(is_root());
                assert_eq!(owner("as another"), (12_345, 54_321));
                drop(worn);
            }
            Err(_) => assert!(!is_root()),
        }
        assert_eq!(owner("after"), own);
        assert!(RunAs::put_on(own.0, own.1).is_ok());
    }
}
