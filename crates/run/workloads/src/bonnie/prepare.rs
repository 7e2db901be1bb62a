//! What is done before and after a test and belongs to none: directories are made, the large file
//! is removed.

use std::ffi::CString;

use treering_script::{Call, Outcome, Step, Steps};

use super::io::enter;
use super::names::subdir_name;
use super::shape::{Home, TOP};

/// Makes a copy's own directory.
#[derive(Debug)]
pub(super) struct MakeRoot {
    root: Option<CString>,
    made: bool,
}

impl MakeRoot {
    /// That of this home.
    pub(super) fn new(home: Home) -> Self {
        Self { root: home.root, made: false }
    }
}

impl Steps for MakeRoot {
    fn next<'s>(&'s mut self, _last: Outcome<'_>) -> Option<Step<'s>> {
        let first = !std::mem::replace(&mut self.made, true);
        let name = self.root.as_deref().filter(|_| first)?;
        Some(Call::MakeDir { at: treering_script::Dir::TARGET, name }.into())
    }
}

/// Removes the large file, where it is there.
#[derive(Debug)]
pub(super) struct RemoveFile {
    home: Home,
    step: u8,
}

impl RemoveFile {
    /// That of this home.
    pub(super) fn new(home: Home) -> Self {
        Self { home, step: 0 }
    }
}

impl Steps for RemoveFile {
    fn next<'s>(&'s mut self, _last: Outcome<'_>) -> Option<Step<'s>> {
        if self.step == 0 {
            self.step = 1;
            if self.home.root.is_some() {
                return enter(&self.home);
            }
        }
        self.step += 1;
        let call = Call::Unlink { at: self.home.dir(), path: &self.home.name };
        (self.step == 2).then(|| call.unless_missing())
    }
}

/// Makes the directory of the many files and its subdirectories.
#[derive(Debug)]
pub(super) struct MakeDirs {
    home: Home,
    subdirs: u32,
    /// 0: the copy's own directory is opened; 1: the directory is made; 2: opened; then the
    /// subdirectories are made.
    step: u32,
    name: CString,
}

impl MakeDirs {
    /// With so many subdirectories.
    pub(super) fn new(home: Home, subdirs: u32) -> Self {
        Self { home, subdirs, step: 0, name: CString::default() }
    }
}

impl Steps for MakeDirs {
    fn next<'s>(&'s mut self, _last: Outcome<'_>) -> Option<Step<'s>> {
        if self.step == 0 {
            self.step = 1;
            if self.home.root.is_some() {
                return enter(&self.home);
            }
        }
        let step = self.step;
        self.step += 1;
        let (at, top) = (self.home.dir(), self.home.name.as_c_str());
        match step {
            1 => Some(Call::MakeDir { at, name: top }.into()),
            2 if self.subdirs > 0 => Some(Call::OpenDir { at, path: top, into: TOP }.into()),
            later if later >= 3 && later - 3 < self.subdirs => {
                self.name = subdir_name(later - 3);
                Some(Call::MakeDir { at: TOP, name: &self.name }.into())
            }
            _ => None,
        }
    }
}
