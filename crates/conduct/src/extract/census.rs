//! Profile for aging, from the census of a tree.

use std::path::Path;

use treering_age::{MeasuredDirectory, MeasuredSize, MeasuredTree, measured_profile};
use treering_observe::census::{CensusSize, TreeCensus};

/// Text of the profile that makes trees like a counted one; it names the tree's directory.
pub fn profile_of_census(dir: &Path, tree: TreeCensus) -> String {
    let directories = tree.directories.into_iter();
    let directories: Vec<MeasuredDirectory> =
        directories.map(|dir| MeasuredDirectory { above: dir.above, files: dir.ages }).collect();
    let size = |CensusSize { most, files, bytes }| MeasuredSize { most, files, bytes };
    let sizes: Vec<MeasuredSize> = tree.sizes.into_iter().map(size).collect();
    measured_profile(&MeasuredTree {
        name: &dir.to_string_lossy(),
        sizes: &sizes,
        directories: &directories,
    })
}
