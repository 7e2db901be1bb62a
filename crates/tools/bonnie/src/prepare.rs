//! Setup and cleanup outside of the tests: directories are made, the large file is removed.

use treering_script::{DirSlot, ExpectedErrors, Io, Script, Stop};

use super::names::subdir_name;
use super::shape::{CopyLocation, TOP};

/// Makes the directory of a copy.
#[derive(Debug)]
pub(super) struct MakeRoot(pub(super) CopyLocation);

impl Script for MakeRoot {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        self.0.root.as_deref().map_or(Ok(()), |root| io.make_dir(DirSlot::TARGET, root))
    }
}

/// Removes the large file; a missing file is no error.
#[derive(Debug)]
pub(super) struct RemoveFile(pub(super) CopyLocation);

impl Script for RemoveFile {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        self.0.enter(io)?;
        io.unlink(self.0.dir(), &self.0.name).unless_missing()?;
        Ok(())
    }
}

/// Makes the directory of the small files and a number of subdirectories.
#[derive(Debug)]
pub(super) struct MakeDirs(pub(super) CopyLocation, pub(super) u32);

impl Script for MakeDirs {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let Self(home, subdirs) = self;
        home.enter(io)?;
        io.make_dir(home.dir(), &home.name)?;
        if *subdirs > 0 {
            home.open_top(io)?;
        }
        (0..*subdirs).try_for_each(|subdir| io.make_dir(TOP, &subdir_name(subdir)))
    }
}
