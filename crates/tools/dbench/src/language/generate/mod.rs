//! Generation of a load file with the mix of the original's client.txt, from a seed and with our
//! own names.
//!
//! The load of the original is data of a GPL package and is not shipped; its statistics are
//! published facts. The number of operations of each kind and of those that fail, the sizes of
//! reads, and the sizes and kinds of writes are the same, in each block and in total. The order of
//! operations, how long handles are open, and how many of them are read, written or neither, are
//! alike. `mix` holds the statistics, `files` the state of the files, `fill` writes the first part,
//! `block` all others.

mod block;
mod files;
mod fill;
mod mix;
#[cfg(test)]
mod tests;

use treering_script::Random;

use block::BlockWalk;
use files::FileTable;

/// Maximum number of blocks of a load.
pub const BLOCKS_MAX: u32 = 10_000;
/// Number of lines of the fill part, which precedes the first block.
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
