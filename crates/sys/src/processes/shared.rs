//! Memory that stays common after a fork: what one process stores, the others load.
#![expect(unsafe_code, reason = "a mapping of its own, seen as atomics")]

use std::fmt;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicI32, AtomicU64};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// What may live there: bytes of zeros are a value of it, and it is changed atomically.
///
/// # Safety
/// All bytes zero must be a valid value, and it must have no destructor.
unsafe trait Common {}

// SAFETY: integers, of which zero is one; atomics have no destructor.
unsafe impl Common for AtomicI32 {}
// SAFETY: as above.
unsafe impl<const N: usize> Common for [AtomicU64; N] {}

/// A value in memory of its own, zero at first, that forked processes have in common.
pub struct Shared<T> {
    at: NonNull<T>,
}

// SAFETY: it is only a way to a T that lives until the last owner is gone.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Shared<T> {}

impl Shared<AtomicI32> {
    /// A number.
    ///
    /// # Panics
    /// When there is no memory, as every allocation does.
    pub fn number() -> Self {
        Self { at: map() }
    }
}

impl<const N: usize> Shared<[AtomicU64; N]> {
    /// Several numbers.
    ///
    /// # Panics
    /// When there is no memory, as every allocation does.
    pub fn numbers() -> Self {
        Self { at: map() }
    }
}

fn map<T: Common>() -> NonNull<T> {
    let (read_write, shared) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
    // SAFETY: the kernel chooses a free place for a new mapping of zeros.
    let at = unsafe { mmap_anonymous(ptr::null_mut(), size_of::<T>(), read_write, shared) };
    at.ok().and_then(|at| NonNull::new(at.cast::<T>())).expect("a page of memory")
}

impl<T> Deref for Shared<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: mapped, aligned to a page, zeros at first, and ours until we are dropped.
        unsafe { self.at.as_ref() }
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nobody else has a way to it any more.
        let _it_was_mapped = unsafe { munmap(self.at.as_ptr().cast(), size_of::<T>()) };
    }
}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
