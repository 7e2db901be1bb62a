//! Removal of one tree of a run.

use std::ops::ControlFlow;

use rustix::fs::{AtFlags, unlinkat};
use treering_engine::{RemoveError, Target};

use super::judgement::RunTree;

/// Removes a tree of a run if it is still the directory that the run made.
pub(crate) fn remove(target: &Target, tree: &RunTree) -> Result<(), RemoveError> {
    if tree.is_identified {
        let mut go_on = |_: &_| ControlFlow::Continue(());
        return target.remove_tree(&tree.name, &tree.made, &mut go_on).map(|_removed| ());
    }
    let removed = unlinkat(target.dir(), tree.name.as_str(), AtFlags::REMOVEDIR);
    removed.map_err(|errno| RemoveError::Call {
        operation: "remove",
        path: target.path().join(&tree.name),
        source: errno.into(),
    })
}
