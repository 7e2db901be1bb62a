//! User identity of the process.
#![expect(unsafe_code, reason = "rustix has no setfsuid")]

use rustix::io::Errno;

/// Reports whether the process runs as root, which mounting and formatting require.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Effective user ID.
pub fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Guard that changes the filesystem identity of the calling thread until it is dropped.
#[derive(Debug)]
pub struct RunAs {
    user: libc::uid_t,
    group: libc::gid_t,
}

impl RunAs {
    /// Accesses files as this user and group (`setfsuid`, `setfsgid`). Without privileges only the
    /// own identity is allowed.
    ///
    /// # Errors
    /// `EPERM` if the kernel keeps the previous identity.
    pub fn put_on(user: u32, group: u32) -> Result<Self, Errno> {
        // SAFETY: integer arguments; each call returns the previous ID.
        let before = unsafe { (libc::setfsgid(group), libc::setfsuid(user)) };
        let number = |of: libc::c_int| of.cast_unsigned();
        let worn = Self { user: number(before.1), group: number(before.0) };
        // SAFETY: as above; an invalid ID changes nothing and returns the current one.
        let now = unsafe { (libc::setfsgid(u32::MAX), libc::setfsuid(u32::MAX)) };
        // On failure the drop restores the previous identity.
        if (number(now.0), number(now.1)) == (group, user) { Ok(worn) } else { Err(Errno::PERM) }
    }
}

impl Drop for RunAs {
    fn drop(&mut self) {
        // SAFETY: integer arguments. Restoring the previous identity is always allowed.
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
    fn files_belong_to_the_other_user_while_the_guard_lives() {
        let place = tempfile::tempdir().unwrap();
        set_permissions(place.path(), PermissionsExt::from_mode(0o777)).unwrap();
        let owner = |name: &str| {
            File::create(place.path().join(name)).unwrap();
            let metadata = std::fs::metadata(place.path().join(name)).unwrap();
            (metadata.uid(), metadata.gid())
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
