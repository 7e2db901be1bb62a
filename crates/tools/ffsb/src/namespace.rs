//! Filesystems of a run: their locations and files.

use std::sync::Arc;

use super::fileset::Fileset;
use crate::language::Filesystem;

/// Name prefix of the directories of native filesystems.
pub(super) const DIRECTORY: &str = "ffsb-";

/// The directory of a native filesystem.
pub(super) fn directory(number: usize) -> String {
    format!("{DIRECTORY}{number}")
}

/// Location of a filesystem's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FilesLocation {
    /// Target root of this number.
    Root(u16),
    /// Numbered directory below the target.
    Below,
}

/// Files of all filesystems, and their locations.
#[derive(Clone, Debug)]
pub(super) struct Namespace {
    pub(super) filesets: Arc<[Fileset]>,
    pub(super) places: Arc<[FilesLocation]>,
}

impl Namespace {
    /// Filesystems of a profile at these locations.
    pub(super) fn new(
        filesystems: &[Filesystem],
        places: Vec<FilesLocation>,
        direct: bool,
    ) -> Self {
        let filesets = filesystems.iter().map(|filesystem| Fileset::new(filesystem, direct));
        Self { filesets: filesets.collect::<Vec<_>>().into(), places: Arc::from(places) }
    }
}
