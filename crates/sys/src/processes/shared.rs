//! Memory shared between a process and its forked children.
#![expect(unsafe_code, reason = "a mapping of its own, seen as atomics")]

use std::fmt;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicI32, AtomicU64};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// Type that may live in shared memory: all-zero bytes are valid, and it is modified atomically.
///
/// # Safety
/// All-zero bytes must be a valid value, and the type must not have a destructor.
unsafe trait ZeroInit {}

// SAFETY: integers, for which zero is valid; atomics have no destructor.
unsafe impl ZeroInit for AtomicI32 {}
// SAFETY: as above.
unsafe impl<const N: usize> ZeroInit for [AtomicU64; N] {}

/// Value in a mapping of its own, initially zero, shared with forked processes.
pub struct SharedValue<T> {
    at: NonNull<T>,
}

// SAFETY: a pointer to a T that is valid until this owner is dropped.
unsafe impl<T: Send> Send for SharedValue<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for SharedValue<T> {}

impl SharedValue<AtomicI32> {
    /// Creates a shared number.
    ///
    /// # Panics
    /// If the mapping fails for lack of memory.
    pub fn number() -> Self {
        Self { at: map() }
    }
}

impl<const N: usize> SharedValue<[AtomicU64; N]> {
    /// Creates a shared array of numbers.
    ///
    /// # Panics
    /// If the mapping fails for lack of memory.
    pub fn numbers() -> Self {
        Self { at: map() }
    }
}

fn map<T: ZeroInit>() -> NonNull<T> {
    let (read_write, shared) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
    // SAFETY: the kernel chooses the address of a new zeroed mapping.
    let at = unsafe { mmap_anonymous(ptr::null_mut(), size_of::<T>(), read_write, shared) };
    at.ok().and_then(|at| NonNull::new(at.cast::<T>())).expect("a page of memory")
}

impl<T> Deref for SharedValue<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: mapped until the drop, aligned to a page and initially zero.
        unsafe { self.at.as_ref() }
    }
}

impl<T> Drop for SharedValue<T> {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping, and no reference to it is left.
        let _it_was_mapped = unsafe { munmap(self.at.as_ptr().cast(), size_of::<T>()) };
    }
}

impl<T: fmt::Debug> fmt::Debug for SharedValue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
