//! Shape of a run: tests in their order, items and ranks. Filled by `config`.

use crate::classic::results::Test;
use treering_kit::packet::PacketType;
use treering_script::WorkerKind;

use super::tree::DirectoryTree;

/// Operation of a test on each item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemOperation {
    Create,
    Stat,
    Rename,
    Read,
    Remove,
}

/// Selection of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EnabledTests {
    pub(super) create: bool,
    pub(super) stat: bool,
    pub(super) rename: bool,
    pub(super) read: bool,
    pub(super) remove: bool,
}

/// A part of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IterationStep {
    /// Creates test directories and trees.
    MakeTrees,
    /// A test of directories, or of files.
    Items { is_directory: bool, act: ItemOperation },
    /// Removes trees and test directories.
    RemoveTrees,
}

impl IterationStep {
    /// The test of the original.
    pub(super) const fn test(self) -> Test {
        match self {
            Self::MakeTrees => Test::TreeCreation,
            Self::RemoveTrees => Test::TreeRemoval,
            Self::Items { is_directory: true, act } => match act {
                ItemOperation::Create => Test::DirectoryCreation,
                ItemOperation::Stat => Test::DirectoryStat,
                ItemOperation::Rename => Test::DirectoryRename,
                ItemOperation::Read => Test::DirectoryRead,
                ItemOperation::Remove => Test::DirectoryRemoval,
            },
            Self::Items { is_directory: false, act } => match act {
                ItemOperation::Create => Test::FileCreation,
                ItemOperation::Read | ItemOperation::Rename => Test::FileRead,
                ItemOperation::Stat => Test::FileStat,
                ItemOperation::Remove => Test::FileRemoval,
            },
        }
    }

    /// Task kind of the part.
    pub(super) const fn kind(self) -> &'static str {
        match self.test() {
            Test::DirectoryCreation => "dir-create",
            Test::DirectoryStat | Test::DirectoryRead => "dir-stat",
            Test::DirectoryRename => "dir-rename",
            Test::DirectoryRemoval => "dir-remove",
            Test::FileCreation => "file-create",
            Test::FileStat => "file-stat",
            Test::FileRead => "file-read",
            Test::FileRemoval => "file-remove",
            Test::TreeCreation => "tree-create",
            Test::TreeRemoval => "tree-remove",
        }
    }
}

/// Data written to and read from each file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FileData {
    /// Bytes written to each file.
    pub(super) write_bytes: u32,
    /// Bytes read of each.
    pub(super) read_bytes: u32,
    /// Fsync each file.
    pub(super) fsync: bool,
    /// Read written data back at once and compare.
    pub(super) verify_write: bool,
    /// Compare data on reading.
    pub(super) verify_read: bool,
}

impl FileData {
    /// Size of a file's data, in bytes: the bytes written, or the bytes to read if an earlier run
    /// wrote them.
    pub(super) const fn written_bytes(&self) -> usize {
        let bytes = if self.write_bytes > 0 { self.write_bytes } else { self.read_bytes };
        bytes as usize
    }
}

/// Settings that only the classic mode has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClassicCompat {
    /// Data packet type.
    pub(super) packet: PacketType,
    /// Seed of the data.
    pub(super) data_seed: u32,
}

/// Order in which items are accessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ItemOrder {
    /// Items in the order of their numbers.
    #[default]
    Sequential,
    /// Drawn with the C library's generator, from this seed and the rank.
    Original(u32),
    /// Drawn with our own generator, from this seed.
    Random(u64),
}

/// Settings of the classic mode around the tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PhaseSettings {
    /// Open files past the page cache.
    pub(super) direct: bool,
    /// Create files without opening them.
    pub(super) makes_nodes: bool,
    /// Seconds to wait before the tests of directories, and before those of files.
    pub(super) delay_seconds: u64,
    /// Command before each test.
    pub(super) before: Option<String>,
    /// Command after each test.
    pub(super) after: Option<String>,
    /// Keep the time of each operation on files.
    pub(super) keeps_times: bool,
}

/// Shape of a whole run.
#[derive(Clone, Debug)]
pub(super) struct RunShape {
    /// Number of ranks, from the options alone.
    pub(super) ranks: u16,
    /// Number of directories at which the ranks take turns.
    pub(super) roots: u16,
    pub(super) iterations: u32,
    pub(super) tree: DirectoryTree,
    /// Items of a rank in each directory that holds any.
    pub(super) per_directory: u64,
    /// Number of test directories in an iteration, each with a tree.
    pub(super) loops: u64,
    /// Number of ranks by which each test is shifted.
    pub(super) stride: u64,
    /// Each rank has a tree of its own.
    pub(super) own_trees: bool,
    /// All ranks use the same files.
    pub(super) shared_file: bool,
    /// Rank 0 creates and removes everything.
    pub(super) collective: bool,
    pub(super) dirs: bool,
    pub(super) files: bool,
    pub(super) acts: EnabledTests,
    pub(super) data: FileData,
    /// Sync everything at the end of each test, within its time.
    pub(super) sync_each_test: bool,
    /// Time limit of creation in seconds; afterwards all ranks continue until they have as many
    /// items as the fastest.
    pub(super) wall_seconds: Option<u64>,
    /// Number of items, if an earlier run was ended by its time limit.
    pub(super) made_before: Option<u64>,
    pub(super) order: ItemOrder,
    /// Drop caches before items are accessed.
    pub(super) cold: bool,
    pub(super) workers: WorkerKind,
    pub(super) around: PhaseSettings,
    /// Classic settings; `None` in native mode.
    pub(super) as_original: Option<ClassicCompat>,
}

impl Default for RunShape {
    /// Shape of one rank, directory and iteration, without any test.
    fn default() -> Self {
        Self {
            ranks: 1,
            roots: 1,
            iterations: 1,
            tree: DirectoryTree::default(),
            per_directory: 0,
            loops: 1,
            stride: 0,
            own_trees: false,
            shared_file: false,
            collective: false,
            dirs: false,
            files: false,
            acts: EnabledTests::default(),
            data: FileData::default(),
            sync_each_test: false,
            wall_seconds: None,
            made_before: None,
            order: ItemOrder::default(),
            cold: false,
            workers: WorkerKind::default(),
            around: PhaseSettings::default(),
            as_original: None,
        }
    }
}

impl RunShape {
    /// Items of a rank in a test directory.
    pub(super) fn items_per_tree(&self) -> u64 {
        self.per_directory.saturating_mul(self.tree.holders())
    }

    /// Items of a rank in an iteration.
    pub(super) fn items(&self) -> u64 {
        self.items_per_tree().saturating_mul(self.loops)
    }

    /// The parts of an iteration.
    pub(super) fn parts(&self) -> Vec<IterationStep> {
        let acts = &self.acts;
        let dirs = self.dirs && !self.shared_file;
        // A single item cannot be renamed in a circle.
        let renames = acts.rename && self.items_per_tree() > 1;
        let tests = [
            (dirs && acts.create, true, ItemOperation::Create),
            (dirs && acts.stat, true, ItemOperation::Stat),
            (dirs && renames, true, ItemOperation::Rename),
            (dirs && acts.remove, true, ItemOperation::Remove),
            (self.files && acts.create, false, ItemOperation::Create),
            (self.files && acts.stat, false, ItemOperation::Stat),
            (self.files && acts.read, false, ItemOperation::Read),
            (self.files && acts.remove, false, ItemOperation::Remove),
        ];
        let items = tests.into_iter().filter(|(is_done, ..)| *is_done);
        let items = items.map(|(_, is_directory, act)| IterationStep::Items { is_directory, act });
        let first = acts.create.then_some(IterationStep::MakeTrees);
        let last = acts.remove.then_some(IterationStep::RemoveTrees);
        first.into_iter().chain(items).chain(last).collect()
    }

    /// True for the first test of directories, and the first one of files.
    pub(super) fn is_first_of_its_kind(&self, part: IterationStep) -> bool {
        let IterationStep::Items { is_directory, .. } = part else { return false };
        let of_kind = |step: &IterationStep| {
            matches!(step, IterationStep::Items { is_directory: other, .. }
                if *other == is_directory)
        };
        self.parts().into_iter().find(of_kind) == Some(part)
    }

    fn shifted(&self, rank: u16, times: u64) -> u16 {
        let ranks = u64::from(self.ranks.max(1));
        let stride = self.stride % ranks;
        u16::try_from((u64::from(rank) + times * stride) % ranks).unwrap_or(0)
    }

    /// Rank whose items a rank works on in a test.
    pub(super) fn owner(&self, rank: u16, act: ItemOperation) -> u16 {
        match act {
            ItemOperation::Create => rank,
            ItemOperation::Stat | ItemOperation::Rename => self.shifted(rank, 1),
            ItemOperation::Read => self.shifted(rank, 2),
            ItemOperation::Remove => self.shifted(rank, 3),
        }
    }

    /// Rank whose tree holds the items of `owner`; `None` if all ranks share one tree.
    pub(super) fn tree_of(&self, owner: u16) -> Option<u16> {
        self.own_trees.then(|| self.shifted(owner, 1))
    }

    /// Number of ranks that make trees: all, or one for all.
    pub(super) fn tree_makers(&self) -> u16 {
        if self.own_trees && !self.collective { self.ranks } else { 1 }
    }

    /// The trees that a rank makes.
    pub(super) fn trees_of_maker(&self, rank: u16) -> Vec<Option<u16>> {
        match (self.own_trees, self.collective) {
            (false, _) => vec![None],
            (true, false) => vec![Some(rank)],
            (true, true) => (0..self.ranks).map(Some).collect(),
        }
    }
}
