//! The version of packs, and how large anything in them may be.

/// The version of the form. Readers take older ones; a newer one they refuse.
pub(crate) const PACK_VERSION: u32 = 1;

/// The longest line of the content, and the most that all plans together may have.
pub(crate) const LINE_BYTES_MOST: u64 = 64 << 20;

/// Plans of a pack at most.
pub(crate) const PLANS_MOST: usize = 10_000;

/// The content has at most so many bytes, and so many for each byte of the file: JSON of figures
/// shrinks to a tenth, of copies of one trial to a hundredth.
pub(crate) const CONTENT_BYTES: u64 = 64 << 20;
pub(crate) const CONTENT_RATIO: u64 = 1000;

/// Memory that the frame may ask for, as a power of two: eight times what is written.
pub(crate) const WINDOW_LOG: u32 = 26;
