//! Memory shared between a process and its forked children.
#![expect(unsafe_code, reason = "a mapping of its own, seen as atomics")]

use std::fmt;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicI32, AtomicU64};
use std::sync::{Arc, Mutex, Weak};

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

/// Bytes of a piece of shared memory. A thousand workers with four values each need few pieces, so
/// that a fork has few mappings to copy.
const PIECE_BYTES: usize = 16 << 20;
/// Alignment of a value in bytes: no two of them share a line of a cache, or its neighbour.
const ALIGNMENT: usize = 128;

/// Piece of shared memory, which values fill from its beginning.
struct SharedPiece {
    at: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping is valid until the piece is dropped, and values in it are atomics.
unsafe impl Send for SharedPiece {}
// SAFETY: as above.
unsafe impl Sync for SharedPiece {}

impl SharedPiece {
    /// Maps a piece of zeros.
    fn map(bytes: usize) -> Self {
        let (read_write, shared) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // Pages that nobody touches take no memory, and promise none.
        let flags = shared | MapFlags::NORESERVE;
        // SAFETY: the kernel chooses the address of a new zeroed mapping.
        let at = unsafe { mmap_anonymous(ptr::null_mut(), bytes, read_write, flags) };
        let at = at.ok().and_then(|at| NonNull::new(at.cast::<u8>())).expect("a page of memory");
        Self { at, bytes }
    }
}

impl Drop for SharedPiece {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping, and no value in it is left.
        let _it_was_mapped = unsafe { munmap(self.at.as_ptr().cast(), self.bytes) };
    }
}

/// Piece that is being filled.
struct OpenPiece {
    piece: Weak<SharedPiece>,
    /// Bytes that values occupy.
    used: usize,
    /// Process that fills it: a forked one must not place its values where its parent will.
    process: u32,
}

static OPEN: Mutex<OpenPiece> = Mutex::new(OpenPiece { piece: Weak::new(), used: 0, process: 0 });

/// Places a value in the piece that is being filled, or in a piece of its own.
fn place<T: ZeroInit>() -> (NonNull<T>, Arc<SharedPiece>) {
    let bytes = size_of::<T>().next_multiple_of(ALIGNMENT);
    let (at, piece) = in_open_piece(bytes).unwrap_or_else(|| {
        let piece = Arc::new(SharedPiece::map(bytes));
        (piece.at, piece)
    });
    (at.cast(), piece)
}

/// Takes bytes of the piece that is being filled; `None` for more than it has, and if another
/// thread has it.
fn in_open_piece(bytes: usize) -> Option<(NonNull<u8>, Arc<SharedPiece>)> {
    if bytes > PIECE_BYTES {
        return None;
    }
    // A lock that a thread held at a fork stays locked in the child.
    let mut open = OPEN.try_lock().ok()?;
    let process = std::process::id();
    let fits = open.process == process && open.used + bytes <= PIECE_BYTES;
    let piece = open.piece.upgrade().filter(|_| fits).unwrap_or_else(|| {
        let piece = Arc::new(SharedPiece::map(PIECE_BYTES));
        *open = OpenPiece { piece: Arc::downgrade(&piece), used: 0, process };
        piece
    });
    // SAFETY: the bytes end within the piece.
    let at = unsafe { piece.at.add(open.used) };
    open.used += bytes;
    Some((at, piece))
}

/// Value in shared memory, initially zero, shared with forked processes.
pub struct SharedValue<T> {
    at: NonNull<T>,
    /// Piece that holds the value.
    _piece: Arc<SharedPiece>,
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
        let (at, piece) = place();
        Self { at, _piece: piece }
    }
}

impl<const N: usize> SharedValue<[AtomicU64; N]> {
    /// Creates a shared array of numbers.
    ///
    /// # Panics
    /// If the mapping fails for lack of memory.
    pub fn numbers() -> Self {
        let (at, piece) = place();
        Self { at, _piece: piece }
    }
}

impl<T> Deref for SharedValue<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: mapped until the drop, aligned and initially zero.
        unsafe { self.at.as_ref() }
    }
}

impl<T: fmt::Debug> fmt::Debug for SharedValue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::SharedValue;

    #[test]
    fn values_begin_at_zero_and_have_places_of_their_own() {
        let values: Vec<SharedValue<[AtomicU64; 3]>> =
            (0..1000).map(|_| SharedValue::numbers()).collect();
        for (number, value) in (1..).zip(&values) {
            assert!(value.iter().all(|cell| cell.load(Ordering::Relaxed) == 0));
            value[2].store(number, Ordering::Relaxed);
        }
        for (number, value) in (1..).zip(&values) {
            assert_eq!(value[2].load(Ordering::Relaxed), number);
        }
        drop(values);
        let large: SharedValue<[AtomicU64; 1 << 22]> = SharedValue::numbers();
        assert_eq!(large[(1 << 22) - 1].load(Ordering::Relaxed), 0);
    }
}
