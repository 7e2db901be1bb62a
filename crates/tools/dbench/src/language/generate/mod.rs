//! Writes a load file with the mix of the original's client.txt, from a seed and our own names.
//!
//! That load is data of a GPL package and is not shipped; its statistics are published facts. What
//! is kept of them, exactly: operations of each kind and how many of them fail, sizes of reads,
//! sizes and kinds of writes, in each block and over all. What is kept nearly: which operation
//! follows which, for how long handles are open, how many of them are read, written or neither.
//! `mix` has the figures, `files` what exists, `fill` the first part, `block` all others.

mod block;
mod files;
mod fill;
mod mix;
#[cfg(test)]
mod tests;

use treering_script::Random;

use block::BlockWalk;
use files::FileTable;

/// The most blocks of a load.
pub const BLOCKS_MAX: u32 = 10_000;
/// Lines of the part that makes the files, which stand before the first block.
pub(crate) const FILL_LINES: u32 = 600;

/// Text of a load file: creation of its files, `blocks` blocks of about 3550 operations, and one
/// line that removes the files. With 129 blocks it is as long as the original's.
pub fn text(seed: u64, blocks: u32) -> Vec<u8> {
    let mut out = Vec::with_capacity(220_000 * (blocks as usize + 1));
    let mut files = FileTable::new();
    fill::write(&mut files, &mut out);
    let mut walk = BlockWalk::new(Random::for_part(seed, "dbench load"));
    for block in 0..blocks.min(BLOCKS_MAX) {
        walk.block(block, &mut files, &mut out);
    }
    out.extend_from_slice(b"Deltree \"\\clients\\client1\" NT_STATUS_OK\n");
    out
}
