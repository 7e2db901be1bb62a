//! stub
/// The most blocks of a load.
pub const BLOCKS_MAX: u32 = 1000;
pub(super) const FILL_LINES: u32 = 600;
/// stub
pub fn text(_seed: u64, _blocks: u32) -> Vec<u8> {
    Vec::new()
}
