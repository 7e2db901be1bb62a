//! The directories that a mark lists, told apart from others that have their names now.

use std::io::ErrorKind;

use rustix::process::geteuid;
use treering_engine::{FileIdentity, Target};
use treering_sys::{Errno, FileType, identity_of};

use super::manifest::{ListedTree, Manifest};
use crate::{LabError, PlanIdentity};

/// What a killed run left in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftovers {
    /// The trial that was killed.
    pub trial: String,
    /// The plan that it was a cell of, where the mark names one.
    pub plan: Option<PlanIdentity>,
    /// The directories that are its own.
    pub trees: Vec<LeftTree>,
    /// Directories with a name that the run announced, which stay.
    pub spared: Vec<SparedTree>,
    /// Whether the run was of a version that did not list what it made.
    pub has_no_list: bool,
}

impl Leftovers {
    /// Whether something of the run is there, or may be: no other run begins beside it.
    pub(crate) fn is_in_the_way(&self) -> bool {
        let may_be = self.spared.iter().any(|tree| tree.may_be_of_run);
        !self.trees.is_empty() || may_be || self.has_no_list
    }
}

/// A directory that a run made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftTree {
    /// Its name.
    pub name: String,
    /// When it was made, in seconds since 1970; when it was changed last where that is not known.
    pub since_unix_s: i64,
    /// Its identity.
    pub made: FileIdentity,
    /// Whether it is known to be the run's. Otherwise it is an empty directory with a name that the
    /// run had announced.
    pub(crate) is_identified: bool,
}

/// A directory that stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SparedTree {
    /// Its name.
    pub name: String,
    /// Why it stays, as a sentence without its subject and full stop.
    pub why: &'static str,
    may_be_of_run: bool,
}

/// Tells what a run made from what has its names now.
pub(super) fn sort_out(target: &Target, manifest: &Manifest) -> Result<Leftovers, LabError> {
    let failed = |errno: Errno| LabError::io("cannot examine", target.path())(errno.into());
    let here = identity_of(target.dir()).map_err(failed)?;
    let device_then = manifest.directory.map(|directory| directory.identity.device);
    let (mut trees, mut spared) = (Vec::new(), Vec::new());
    for listed in &manifest.trees {
        let found = match target.identity(&listed.name) {
            Ok(found) => found,
            Err(error) if error.source.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error.into()),
        };
        match judge(target, listed, &found, (device_then, here.device)) {
            Verdict::OfRun(tree) => trees.push(tree),
            Verdict::Stays { why, may_be_of_run } => {
                spared.push(SparedTree { name: listed.name.clone(), why, may_be_of_run });
            }
        }
    }
    trees.sort_by(|one, other| one.name.cmp(&other.name));
    let (trial, plan) = (manifest.trial.clone(), manifest.plan.clone());
    Ok(Leftovers { trial, plan, trees, spared, has_no_list: manifest.has_no_list })
}

enum Verdict {
    OfRun(LeftTree),
    Stays { why: &'static str, may_be_of_run: bool },
}

/// What has a listed name now, in a directory that was on one device then and is on one now.
fn judge(
    target: &Target,
    listed: &ListedTree,
    found: &FileIdentity,
    (device_then, device_now): (Option<u64>, u64),
) -> Verdict {
    let stays = |why| Verdict::Stays { why, may_be_of_run: false };
    let tree = |is_identified| {
        let name = listed.name.clone();
        let (since_unix_s, _) = found.born.unwrap_or(found.modified);
        Verdict::OfRun(LeftTree { name, since_unix_s, made: *found, is_identified })
    };
    if found.kind != FileType::Directory {
        return stays("is not a directory; the run made one");
    }
    if found.device != device_now {
        return stays("is on another filesystem");
    }
    match listed.made {
        Some(made) => {
            let device = if Some(made.device) == device_then { device_now } else { made.device };
            let made = FileIdentity { device, ..made };
            match (made.is_same_file(found), made.user == found.user) {
                (true, true) => tree(true),
                (true, false) => stays("has another owner now"),
                (false, _) => stays("is not the directory that the run made under this name"),
            }
        }
        None if found.user != geteuid().as_raw() => stays("belongs to another user"),
        None if is_empty(target, &listed.name) => tree(false),
        None => Verdict::Stays {
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
