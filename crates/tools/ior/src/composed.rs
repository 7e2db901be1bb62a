//! Tests of ior for composed workloads: writes with a time limit, reads that compare, with the data
//! and calls of the original.

use std::sync::Arc;

use treering_kit::packet::PacketType;
use treering_script::WorkerKind;

use super::session::IorSession;
use super::shape::{ClassicCompat, NamedFile, RankShift, RunShape, SyncMoments};
use treering_kit::parted::PartedSession;

/// The tests that are composed into another workload.
#[derive(Clone, Copy, Debug)]
pub struct DataTests {
    /// Number of ranks.
    pub ranks: u16,
    /// Bytes of a block: a whole number of transfers.
    pub block_bytes: u64,
    /// Bytes of a transfer.
    pub transfer_bytes: u32,
    /// Blocks of each rank, at most.
    pub segments: u64,
    /// Each rank has a file of its own.
    pub own_files: bool,
    /// File name; with a file for each rank, its number is appended.
    pub file: &'static str,
    /// Number of ranks by which reads are shifted.
    pub shift: u64,
    /// Time limit of writing in seconds; afterwards all ranks continue until they have written as
    /// much as the fastest.
    pub seconds: u64,
    /// The seed of the data.
    pub data_seed: u32,
    /// Threads or processes as ranks.
    pub workers: WorkerKind,
}

impl DataTests {
    /// Session of the ranks. Its phases: writing with an fsync at its end, reading, removal.
    pub fn session(&self) -> Box<dyn PartedSession> {
        Box::new(IorSession::new(Arc::new(self.shape())))
    }

    fn shape(&self) -> RunShape {
        RunShape {
            ranks: self.ranks,
            block_bytes: self.block_bytes,
            transfer_bytes: self.transfer_bytes,
            segments: self.segments,
            own_files: self.own_files,
            files: vec![NamedFile { name: self.file.to_owned(), ..NamedFile::default() }],
            writes: true,
            reads: true,
            checks_read: true,
            shift: RankShift::Constant(self.shift),
            fsync: SyncMoments { after_each: false, at_end: true },
            wall_seconds: Some(self.seconds),
            wears_out: true,
            workers: self.workers,
            as_original: Some(ClassicCompat {
                packet: PacketType::Timestamp,
                data_seed: self.data_seed,
            }),
            ..RunShape::default()
        }
    }
}
