//! Untimed work around a native run: creating roots and subdirectories, unlinking files.

use std::ffi::CString;

use treering_script::{DirSlot, ExpectedErrors, Io, Script, Stop};

use super::locator::{FileLocator, ROOT, all_subdirs};
use super::naming::dir_name;
use super::shape::RunShape;
use super::worker::c_string;

/// Makes the roots and their subdirectories.
#[derive(Debug)]
pub(super) struct MakeRoots {
    roots: Vec<CString>,
    subdirs: Vec<CString>,
}

impl MakeRoots {
    /// Script that makes roots of these names.
    pub(super) fn new(shape: &RunShape, roots: Vec<CString>) -> Self {
        let subdirs = all_subdirs(shape.policy).map(|name| c_string(&name)).collect();
        Self { roots, subdirs }
    }
}

impl Script for MakeRoots {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        for root in &self.roots {
            io.make_dir(DirSlot::TARGET, root)?;
            io.open_dir(DirSlot::TARGET, root, ROOT)?;
            for subdir in &self.subdirs {
                io.make_dir(ROOT, subdir)?;
            }
        }
        Ok(())
    }
}

/// Script that unlinks the files a worker created in an iteration.
#[derive(Debug)]
pub(super) struct UnlinkFiles {
    root: CString,
    files: u64,
    locator: FileLocator,
}

impl UnlinkFiles {
    /// Unlinks `files` files of the worker with this key.
    pub(super) fn new(
        shape: &RunShape,
        key: u64,
        iteration: u32,
        root: CString,
        files: u64,
    ) -> Self {
        Self { root, files, locator: FileLocator::native(shape, key, iteration) }
    }
}

impl Script for UnlinkFiles {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        io.open_dir(DirSlot::TARGET, &self.root, ROOT)?;
        for file in 0..self.files {
            self.locator.advance(file, None);
            if let Some((subdir, into)) = self.locator.opens() {
                io.open_dir(ROOT, &c_string(&dir_name(subdir)), into)?;
            }
            let (at, path) = self.locator.place(file, ROOT);
            // Of two files with the same name, the second unlink finds nothing.
            io.unlink(at, path).unless_missing()?;
        }
        Ok(())
    }
}
