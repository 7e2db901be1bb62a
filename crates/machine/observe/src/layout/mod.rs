//! The layout of a tree and of the free space around it: what the kernel tells of every file's
//! place, and of what is free, put into measures.
//!
//! Nothing is written; what programs have just written is only reported its place, once, before.

mod btrfs;
mod found_space;
mod inodes;
mod reported;
mod space;
mod walk;
mod watch;
mod whole_read;

use std::fmt;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd};

use treering_model::filesystems::name_of;
use treering_model::{Layout, LayoutMap};
use treering_stats::layout::{Draws, MapMeasures};
use treering_sys::{
    Confinement, Errno, FilesystemFacts, MountTable, filesystem_facts, sync_filesystem,
};

pub use walk::Met;
use walk::{Halt, Purpose, Walk};
pub(crate) use watch::LayoutObserver;
pub use watch::LayoutWanted;
use whole_read::WholeRead;

/// How a layout is to be surveyed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SurveyPlan {
    /// About so many files are measured, drawn in runs of neighbours; all of them without.
    pub sample: Option<u64>,
    /// Decides which.
    pub seed: u64,
    /// Whether a map of the device is drawn.
    pub map: bool,
    /// Whether what waits in memory is written to its place before: else it has none yet.
    pub write_back: bool,
}

/// What a survey finds.
#[derive(Clone, Debug, PartialEq)]
pub struct Survey {
    /// The layout.
    pub layout: Layout,
    /// The map, where it was asked for.
    pub map: Option<LayoutMap>,
}

/// Why there is no survey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SurveyError {
    /// The filesystem does not tell where files lie.
    NoExtents(Option<&'static str>),
    /// A call failed.
    Failed(&'static str, Errno),
    /// Somebody wanted it to stop.
    Stopped,
}

impl fmt::Display for SurveyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoExtents(name) => {
                let name = name.unwrap_or("this filesystem");
                write!(f, "{name} does not report where files lie (no FIEMAP)")
            }
            Self::Failed(what, errno) => write!(f, "cannot {what}: {errno}"),
            Self::Stopped => write!(f, "stopped"),
        }
    }
}

impl std::error::Error for SurveyError {}

/// Who hears how far a survey is, and may stop it: what was met, and, of a sample, how many files
/// there are in all once that is known.
pub type SurveyNews<'n> = &'n mut dyn FnMut(&Met, Option<u64>) -> ControlFlow<()>;

/// Surveys everything beneath a directory, and the filesystem that it is on.
///
/// # Errors
/// When the filesystem does not tell where files lie, the directory cannot be read, or somebody
/// wants it to stop. What cannot be read further down is counted and passed over.
pub fn survey(
    top: BorrowedFd<'_>,
    plan: &SurveyPlan,
    news: SurveyNews<'_>,
) -> Result<Survey, SurveyError> {
    let failed = |what| move |errno| SurveyError::Failed(what, errno);
    let facts = filesystem_facts(top).map_err(failed("look at the filesystem"))?;
    if plan.write_back {
        // A filesystem with an old error of writing is looked at all the same.
        let _reported_by_whoever_wrote = sync_filesystem(top);
    }
    let map = plan.map.then(MapMeasures::default);
    let confinement = Confinement::probe(top);
    let (purpose, sampled, total) = purpose(top, plan, &facts, confinement, news)?;
    let mut reported = |met: &Met| news(met, total);
    let mut walk = Walk::new(confinement, facts.block_bytes, purpose, map, &mut reported);
    walk.go(top).map_err(|halt| halted(halt, &facts))?;
    let Walk { met, tree, mut map, read, .. } = walk;
    let space = space::look(top.as_fd(), &facts, map.as_mut());
    let tree = tree.layout(sampled);
    let is_sample = sampled < 1.0;
    let layout = Layout {
        filesystem: type_of(top).or_else(|| name_of(facts.type_magic).map(str::to_owned)),
        files: met.files,
        directories: met.directories,
        sampled_files: is_sample.then_some(tree.files),
        passed: met.passed(),
        modelled_read: read.filter(|_| !is_sample).map(WholeRead::end),
        intervals: is_sample.then(|| reported::intervals(&tree)),
        free_space: space.free,
        free_space_problem: space.problem,
        fullness: space.fullness,
        ..reported::of_tree(&tree)
    };
    Ok(Survey { layout, map: map.map(|map| reported::map(map.map())) })
}

/// The type by which it is mounted: the number of the kernel does not tell ext2 to ext4 apart.
fn type_of(top: BorrowedFd<'_>) -> Option<String> {
    MountTable::read().ok()?.of(top).map(|mount| mount.fs_type.clone())
}

/// What to do with files, which share of them, and how many there are where that was found out.
fn purpose(
    top: BorrowedFd<'_>,
    plan: &SurveyPlan,
    facts: &FilesystemFacts,
    confinement: Confinement,
    news: SurveyNews<'_>,
) -> Result<(Purpose, f64, Option<u64>), SurveyError> {
    let Some(wanted) = plan.sample else { return Ok((Purpose::Measure, 1.0, None)) };
    let mut reported = |met: &Met| news(met, None);
    let mut walk = Walk::new(confinement, facts.block_bytes, Purpose::Count, None, &mut reported);
    walk.go(top).map_err(|halt| halted(halt, facts))?;
    let total = walk.met.files;
    if wanted >= total {
        return Ok((Purpose::Measure, 1.0, Some(total)));
    }
    let share = wanted as f64 / total as f64;
    Ok((Purpose::Sample(Draws::new(plan.seed, share)), share, Some(total)))
}

fn halted(halt: Halt, facts: &FilesystemFacts) -> SurveyError {
    match halt {
        Halt::Stopped => SurveyError::Stopped,
        Halt::NoExtents => SurveyError::NoExtents(name_of(facts.type_magic)),
        Halt::Failed(what, errno) => SurveyError::Failed(what, errno),
    }
}
