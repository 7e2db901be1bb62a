//! Finds the trees of a killed run in a directory.

use std::io::ErrorKind;
use std::path::Path;

use treering_engine::{FileIdentity, Target};

use super::judgement::{LeftoverTrees, sort_out};
use super::manifest::MarkContent;
use super::mark::{read_mark, refuse_mark_from_elsewhere};
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

/// Separator of the lines of a mark that a trial keeps; names have no spaces in a mark.
const LINE_END: &str = "; ";

/// Text of a mark in one line.
pub(crate) fn in_one_line(mark: &str) -> String {
    mark.trim_end().replace('\n', LINE_END)
}

/// Finds the trees that an earlier run kept, by the text of its mark in one line.
pub(crate) fn find_kept(target: &Target, mark: &str) -> Result<Option<LeftoverTrees>, LabError> {
    let text = mark.replace(LINE_END, "\n") + "\n";
    let Some(manifest) = MarkContent::parse(&text).filter(|it| it.directory.is_some()) else {
        return Ok(None);
    };
    refuse_mark_from_elsewhere(target, &manifest)?;
    Ok(Some(sort_out(target, &manifest)?))
}
