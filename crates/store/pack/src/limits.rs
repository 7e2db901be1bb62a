//! Version of packs, and the size limits of their contents.

/// Version of the format. Readers accept older versions and reject newer ones.
pub(crate) const PACK_VERSION: u32 = 1;

/// Maximum length of a content line, and of all plans together, in bytes.
pub(crate) const LINE_BYTES_MOST: u64 = 64 << 20;

/// Maximum number of plans in a pack.
pub(crate) const PLANS_MOST: usize = 10_000;

/// Maximum length of the content in bytes, and for each byte of the file: JSON of figures shrinks
/// to a tenth, of copies of one trial to a hundredth.
pub(crate) const CONTENT_BYTES: u64 = 64 << 20;
pub(crate) const CONTENT_RATIO: u64 = 1000;

/// Maximum Zstandard window as a power of two: eight times the one written.
pub(crate) const WINDOW_LOG: u32 = 26;
