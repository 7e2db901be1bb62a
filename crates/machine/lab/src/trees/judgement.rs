//! Tells the directories listed in a mark from others that now have the same names.

use std::io::ErrorKind;

use rustix::process::geteuid;
use treering_engine::{FileIdentity, Target};
use treering_sys::{Errno, FileType, identity_of};

use super::manifest::{ListedTree, MarkContent};
use crate::{LabError, PlanIdentity};

/// Trees of a killed run in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftoverTrees {
    /// ID of the killed trial.
    pub trial: String,
    /// Plan of the trial, if the mark names one.
    pub plan: Option<PlanIdentity>,
    /// Trees of the run, to be removed.
    pub trees: Vec<RunTree>,
    /// Directories with names that the run announced, but which are not removed.
    pub spared: Vec<SparedTree>,
    /// True for a mark of an early version, which did not list the trees.
    pub has_no_list: bool,
}

impl LeftoverTrees {
    /// True if a tree of the run exists, or may exist, so that no other run may begin here.
    pub(crate) fn blocks_next_run(&self) -> bool {
        let may_be = self.spared.iter().any(|tree| tree.may_be_of_run);
        !self.trees.is_empty() || may_be || self.has_no_list
    }
}

/// A tree that a run made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunTree {
    /// Name in the target directory.
    pub name: String,
    /// Time of birth, or of the last change if that is unknown, in seconds since 1970.
    pub since_unix_s: i64,
    /// Identity: device, inode, owner, time of birth.
    pub made: FileIdentity,
    /// True if the identity is the recorded one. False for an empty directory with a name that the
    /// run had announced.
    pub(crate) is_identified: bool,
}

/// A directory that is not removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SparedTree {
    /// Name in the target directory.
    pub name: String,
    /// Reason why the directory is not removed, as a sentence without subject and full stop.
    pub why: &'static str,
    may_be_of_run: bool,
}

/// Separates the trees of a run from others that now have the same names.
pub(super) fn sort_out(target: &Target, manifest: &MarkContent) -> Result<LeftoverTrees, LabError> {
    let failed = |errno: Errno| LabError::io("cannot examine", target.path())(errno.into());
    let current = identity_of(target.dir()).map_err(failed)?;
    let device_then = manifest.directory.map(|directory| directory.identity.device);
    let (mut trees, mut spared) = (Vec::new(), Vec::new());
    for listed in &manifest.trees {
        let identity = match target.identity(&listed.name) {
            Ok(identity) => identity,
            Err(error) if error.source.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error.into()),
        };
        match judge(target, listed, &identity, (device_then, current.device)) {
            TreeVerdict::OfRun(tree) => trees.push(tree),
            TreeVerdict::Stays { why, may_be_of_run } => {
                spared.push(SparedTree { name: listed.name.clone(), why, may_be_of_run });
            }
        }
    }
    trees.sort_by(|left, right| left.name.cmp(&right.name));
    let (trial, plan) = (manifest.trial.clone(), manifest.plan.clone());
    Ok(LeftoverTrees { trial, plan, trees, spared, has_no_list: manifest.has_no_list })
}

enum TreeVerdict {
    OfRun(RunTree),
    Stays { why: &'static str, may_be_of_run: bool },
}

/// Judges the directory that now has a listed name. The device numbers are those of the marked
/// directory, recorded and current.
fn judge(
    target: &Target,
    listed: &ListedTree,
    identity: &FileIdentity,
    (device_then, device_now): (Option<u64>, u64),
) -> TreeVerdict {
    let stays = |why| TreeVerdict::Stays { why, may_be_of_run: false };
    let tree = |is_identified| {
        let name = listed.name.clone();
        let (since_unix_s, _) = identity.born.unwrap_or(identity.modified);
        TreeVerdict::OfRun(RunTree { name, since_unix_s, made: *identity, is_identified })
    };
    if identity.kind != FileType::Directory {
        return stays("is not a directory; the run made one");
    }
    if identity.device != device_now {
        return stays("is on another filesystem");
    }
    match listed.made {
        Some(made) => {
            let device = if Some(made.device) == device_then { device_now } else { made.device };
            let made = FileIdentity { device, ..made };
            match (made.is_same_file(identity), made.user == identity.user) {
                (true, true) => tree(true),
                (true, false) => stays("has another owner now"),
                (false, _) => stays("is not the directory that the run made under this name"),
            }
        }
        None if identity.user != geteuid().as_raw() => stays("belongs to another user"),
        None if is_empty(target, &listed.name) => tree(false),
        None => TreeVerdict::Stays {
            why: "is not known to be the run's, which was killed when it was about to make a \
                  directory of this name",
            may_be_of_run: true,
        },
    }
}

fn is_empty(target: &Target, name: &str) -> bool {
    let listed = target.beneath(name).and_then(|tree| tree.facts());
    listed.is_ok_and(|facts| facts.existing.is_empty())
}
