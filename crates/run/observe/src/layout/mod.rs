//! The layout of a tree and of the free space around it: what the kernel tells of every file's
//! place, and of what is free, put into measures.
//!
//! Nothing is written; what programs have just written is only told its place, once, before.

mod btrfs;
mod inodes;
mod space;
mod walk;

use std::fmt;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd};

use treering_stats::layout::{DeviceMap, MapMeasures, TreeLayout};
use treering_sys::{Confinement, Errno, FilesystemFacts, filesystem_facts, sync_filesystem};

pub use space::{Fullness, Space};
pub use walk::Met;
use walk::{Draws, Halt, Purpose, Walk};

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

/// A layout.
#[derive(Clone, Debug, PartialEq)]
pub struct Survey {
    /// The type of the filesystem, as far as its number tells.
    pub type_name: Option<&'static str>,
    /// Bytes of the filesystem.
    pub capacity_bytes: u64,
    /// What was met on the way.
    pub met: Met,
    /// The share of the files that was measured; 1 for all.
    pub sampled: f64,
    /// The files.
    pub tree: TreeLayout,
    /// The space.
    pub space: Space,
    /// The map, where it was asked for.
    pub map: Option<DeviceMap>,
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
                write!(f, "{name} does not tell where files lie (it has no FIEMAP)")
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
        let _told_by_whoever_wrote = sync_filesystem(top);
    }
    let map = plan.map.then(MapMeasures::default);
    let confinement = Confinement::probe(top);
    let (purpose, sampled, total) = purpose(top, plan, &facts, confinement, news)?;
    let mut told = |met: &Met| news(met, total);
    let mut walk = Walk::new(confinement, facts.block_bytes, purpose, map, &mut told);
    walk.go(top).map_err(|halt| halted(halt, &facts))?;
    let Walk { met, tree, mut map, .. } = walk;
    let space = space::look(top.as_fd(), &facts, map.as_mut());
    Ok(Survey {
        type_name: facts.type_name(),
        capacity_bytes: facts.capacity_bytes,
        met,
        sampled,
        tree: tree.layout(sampled),
        space,
        map: map.map(MapMeasures::map),
    })
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
    let mut told = |met: &Met| news(met, None);
    let mut walk = Walk::new(confinement, facts.block_bytes, Purpose::Count, None, &mut told);
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
        Halt::NoExtents => SurveyError::NoExtents(facts.type_name()),
        Halt::Failed(what, errno) => SurveyError::Failed(what, errno),
    }
}
