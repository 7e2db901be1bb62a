//! What a native run does around its timed part: makes roots and subdirectories, unlinks files.

use std::ffi::CString;

use treering_script::{Call, Dir, Outcome, Step, Steps};

use super::locator::{Locator, ROOT, all_subdirs};
use super::naming::dir_name;
use super::shape::Shape;
use super::worker::c_string;

/// Makes the roots and their subdirectories.
#[derive(Debug)]
pub(super) struct MakeRoots {
    roots: Vec<CString>,
    subdirs: Vec<CString>,
    root: usize,
    /// 0: the root is made; 1: it is opened; from 2 on its subdirectories are made.
    stage: usize,
}

impl MakeRoots {
    /// Roots of these names.
    pub(super) fn new(shape: &Shape, roots: Vec<CString>) -> Self {
        let subdirs = all_subdirs(shape.policy).map(|name| c_string(&name)).collect();
        Self { roots, subdirs, root: 0, stage: 0 }
    }
}

impl Steps for MakeRoots {
    fn next<'s>(&'s mut self, _last: Outcome<'_>) -> Option<Step<'s>> {
        if self.stage == self.subdirs.len() + 2 {
            self.stage = 0;
            self.root += 1;
        }
        let root = self.roots.get(self.root)?;
        self.stage += 1;
        Some(match self.stage {
            1 => Call::MakeDir { at: Dir::TARGET, name: root }.into(),
            2 => Call::OpenDir { at: Dir::TARGET, path: root, into: ROOT }.into(),
            later => Call::MakeDir { at: ROOT, name: &self.subdirs[later - 3] }.into(),
        })
    }
}

/// Unlinks what a worker made in an iteration.
#[derive(Debug)]
pub(super) struct UnlinkFiles {
    root: CString,
    files: u64,
    next: u64,
    is_open: bool,
    /// Whether the next file's subdirectory was seen to.
    is_there: bool,
    locator: Locator,
    path: CString,
}

impl UnlinkFiles {
    /// So many files of the worker with this key.
    pub(super) fn new(shape: &Shape, key: u64, iteration: u32, root: CString, files: u64) -> Self {
        let locator = Locator::native(shape, key, iteration);
        let path = CString::default();
        Self { root, files, next: 0, is_open: false, is_there: false, locator, path }
    }
}

impl Steps for UnlinkFiles {
    fn next<'s>(&'s mut self, _last: Outcome<'_>) -> Option<Step<'s>> {
        if !self.is_open {
            self.is_open = true;
            return Some(Call::OpenDir { at: Dir::TARGET, path: &self.root, into: ROOT }.into());
        }
        if self.next == self.files {
            return None;
        }
        if !std::mem::replace(&mut self.is_there, true) {
            self.locator.advance(self.next, None);
            if let Some((subdir, into)) = self.locator.opens() {
                self.path = c_string(&dir_name(subdir));
                return Some(Call::OpenDir { at: ROOT, path: &self.path, into }.into());
            }
        }
        let file = self.next;
        self.next += 1;
        self.is_there = false;
        let (at, path) = self.locator.place(file, ROOT);
        // One of two files of the same name is gone with the other.
        Some(Call::Unlink { at, path }.unless_missing())
    }
}
