//! Work around the tests: creating, checking and removing test directories and trees. Existing
//! directories are checked, since tests by whole paths follow links on the way.

use std::sync::Arc;

use treering_model::Counters;
use treering_model::workloads::mdtest::ItemCounts;
use treering_script::{DirSlot, ExpectedErrors, Io, Script, Stop, SyncScope};

use super::names::{bare_directory, c_string, directory_path, test_directory};
use super::place::OpenTree;
use super::shape::RunShape;

/// Slot of a directory that is checked.
const LOOKED_AT: DirSlot = DirSlot(1);

/// Action on the test directories of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TestDirAction {
    Make,
    /// Checks directories that an earlier run made.
    LookAt,
    Remove,
}

/// Script that makes, checks or removes the test directories of an iteration.
#[derive(Debug)]
pub(super) struct TestDirectories {
    pub(super) shape: Arc<RunShape>,
    pub(super) iteration: u32,
    pub(super) action: TestDirAction,
}

impl TestDirectories {
    /// Opens each existing directory beneath the target; links are refused.
    fn check_directories(&self, io: &mut dyn Io, test: &str) -> Result<(), Stop> {
        let shape = &self.shape;
        let makers = 0..shape.tree_makers();
        for tree in makers.flat_map(|rank| shape.trees_of_maker(rank)) {
            shape.tree.visit_parents_first(&mut |directory| {
                let path = directory_path(shape, test, tree, directory);
                io.open_dir(DirSlot::TARGET, &path, LOOKED_AT).unless_missing().map(|_is_there| ())
            })?;
        }
        Ok(())
    }
}

impl Script for TestDirectories {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        for number in 0..self.shape.loops {
            let test = test_directory(self.iteration, number);
            let name = c_string(&test);
            match self.action {
                TestDirAction::Make => {
                    if io.make_dir(DirSlot::TARGET, &name).unless_existing()?.is_none() {
                        self.check_directories(io, &test)?;
                    }
                }
                TestDirAction::LookAt => self.check_directories(io, &test)?,
                TestDirAction::Remove => {
                    // A directory that is not empty stays, as with the original.
                    let _gone_or_not = io.remove_dir(DirSlot::TARGET, &name).or_errno()?;
                }
            }
        }
        Ok(())
    }
}

/// Script that makes or removes the trees of a rank.
#[derive(Debug)]
pub(super) struct TreeScript {
    pub(super) shape: Arc<RunShape>,
    pub(super) iteration: u32,
    pub(super) trees: Vec<Option<u16>>,
    pub(super) makes: bool,
    pub(super) counts: ItemCounts,
}

impl TreeScript {
    fn make(&mut self, io: &mut dyn Io, test: &str, tree: Option<u16>) -> Result<(), Stop> {
        let shape = Arc::clone(&self.shape);
        let mut place = OpenTree::new(&shape, test.to_owned(), tree);
        shape.tree.visit_parents_first(&mut |directory| {
            let above = place.above(io, directory)?;
            let made = io.make_dir(above, &bare_directory(tree, directory)).unless_existing()?;
            self.counts.missed += u64::from(made.is_none());
            self.counts.done += 1;
            Ok(())
        })
    }

    fn remove(&mut self, io: &mut dyn Io, test: &str, tree: Option<u16>) -> Result<(), Stop> {
        let shape = Arc::clone(&self.shape);
        let mut place = OpenTree::new(&shape, test.to_owned(), tree);
        shape.tree.visit_children_first(&mut |directory| {
            let name = bare_directory(tree, directory);
            let above = place.above(io, directory).or_errno()?;
            // A directory that is missing or not empty is skipped, as with the original.
            let is_gone = match above {
                Ok(above) => io.remove_dir(above, &name).or_errno()?.is_ok(),
                Err(_missing) => false,
            };
            self.counts.missed += u64::from(!is_gone);
            self.counts.done += 1;
            Ok(())
        })
    }
}

impl Script for TreeScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        for number in 0..self.shape.loops {
            let test = test_directory(self.iteration, number);
            for tree in self.trees.clone() {
                if self.makes {
                    self.make(io, &test, tree)?;
                } else {
                    self.remove(io, &test, tree)?;
                }
            }
        }
        Ok(())
    }

    fn counters(&mut self) -> Counters {
        Counters::from_value(&self.counts)
    }
}

/// Syncs everything at the end of a test, if the shape asks for it.
pub(super) fn sync_everything(shape: &RunShape, io: &mut dyn Io) -> Result<(), Stop> {
    if !shape.sync_each_test {
        return Ok(());
    }
    io.sync(if shape.as_original.is_some() { SyncScope::Machine } else { SyncScope::Target })
}
