//! The sizes of IO500, which no option changes.

/// A transfer of ior-easy.
pub(super) const EASY_TRANSFER_BYTES: u32 = 2 << 20;
/// A transfer and a segment of ior-hard.
pub(super) const HARD_TRANSFER_BYTES: u32 = 47_008;
/// A file of mdtest-hard.
pub(super) const HARD_FILE_BYTES: u32 = 3901;
/// What the search looks for in names.
pub(super) const SEARCHED: &[u8] = b"01";
