//! File tests of mdtest for composed workloads: one tree or one for each rank, creates with a time
//! limit, and the data and calls of the original.

use std::sync::Arc;

use treering_kit::packet::PacketType;
use treering_script::WorkerKind;

use super::session::TestSession;
use super::shape::{ClassicCompat, EnabledTests, FileData, RunShape};
use super::tree::DirectoryTree;
use treering_kit::parted::PartedSession;

/// The tests of files that are composed into another workload.
#[derive(Clone, Copy, Debug)]
pub struct FileTests {
    /// Number of ranks.
    pub ranks: u16,
    /// Files of each rank, at most.
    pub items: u64,
    /// Each rank has a tree of its own, of one directory.
    pub own_trees: bool,
    /// Bytes that are written to each file, and read and compared.
    pub bytes: u32,
    /// Files are read.
    pub reads: bool,
    /// Time limit of creation in seconds; afterwards all ranks continue until they have as many
    /// files as the fastest.
    pub seconds: u64,
    /// The seed of the data.
    pub data_seed: u32,
    /// Threads or processes as ranks.
    pub workers: WorkerKind,
}

impl FileTests {
    /// Session of the ranks. Its phases: trees made, creation, stat, reading if requested, removal,
    /// trees removed. In each test a rank works on the files of the next one.
    pub fn session(&self) -> Box<dyn PartedSession> {
        Box::new(TestSession::new(Arc::new(self.shape())))
    }

    fn shape(&self) -> RunShape {
        RunShape {
            ranks: self.ranks,
            tree: DirectoryTree { branch: 1, depth: 0, leaves_only: true },
            per_directory: self.items,
            stride: 1,
            own_trees: self.own_trees,
            files: true,
            acts: EnabledTests {
                create: true,
                stat: true,
                rename: false,
                read: self.reads,
                remove: true,
            },
            data: FileData {
                write_bytes: self.bytes,
                read_bytes: self.bytes,
                verify_read: self.bytes > 0,
                ..FileData::default()
            },
            wall_seconds: Some(self.seconds),
            workers: self.workers,
            as_original: Some(ClassicCompat {
                packet: PacketType::Timestamp,
                data_seed: self.data_seed,
            }),
            ..RunShape::default()
        }
    }
}
