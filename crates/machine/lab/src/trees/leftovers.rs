//! Finds the trees of a killed run in a directory.

use std::io::ErrorKind;
use std::path::Path;

use treering_engine::{FileIdentity, Target};

use super::judgement::{LeftoverTrees, sort_out};
use super::mark::read_mark;
use crate::LabError;

/// Finds the trees of a killed run; `None` without a mark.
///
/// # Errors
/// When the directory or its mark cannot be read, or the mark cannot be trusted.
pub fn find_leftovers(dir: &Path) -> Result<Option<LeftoverTrees>, LabError> {
    match Target::open(dir) {
        Ok(target) => Ok(find_in(&target)?.map(|(_mark, left)| left)),
        Err(error) if error.source.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Finds the trees of a killed run in an open directory, with the identity of the mark.
pub(crate) fn find_in(target: &Target) -> Result<Option<(FileIdentity, LeftoverTrees)>, LabError> {
    let Some((mark, manifest)) = read_mark(target)? else { return Ok(None) };
    let left = sort_out(target, &manifest)?;
    Ok(Some((mark, left)))
}
