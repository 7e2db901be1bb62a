//! Layout of a tree and of the free space around it, measured from the kernel's extent and space
//! maps.
//!
//! Read-only, apart from an optional sync beforehand that gives dirty data an address.

mod btrfs;
mod found_space;
mod inodes;
mod reported;
mod space;
mod structure;
mod walk;
mod watch;
mod whole_read;

use std::fmt;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd};

use treering_model::filesystems::name_of;
use treering_model::{FileLayout, LayoutMap};
use treering_stats::layout::{MapMeasures, SampleDraws};
use treering_sys::{
    Confinement, Errno, FilesystemFacts, MountTable, filesystem_facts, sync_filesystem,
};

use structure::StructureWalk;
pub use walk::WalkCounts;
use walk::{FileTreatment, LayoutWalk, WalkEnd};
pub(crate) use watch::LayoutObserver;
pub use watch::{LayoutSchedule, layout_metrics};
use whole_read::WholeRead;

/// Options of a survey.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SurveyPlan {
    /// Approximate number of files to measure, drawn in runs of neighbours; `None` for all files.
    pub sample: Option<u64>,
    /// Random seed of the sample.
    pub seed: u64,
    /// True to include a map of the device.
    pub map: bool,
    /// True to sync first: dirty data has no address otherwise.
    pub write_back: bool,
}

/// Result of a survey.
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutSurvey {
    /// The layout.
    pub layout: FileLayout,
    /// Map, if requested.
    pub map: Option<LayoutMap>,
}

/// Failure of a survey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SurveyError {
    /// The filesystem does not report extents; its name, if known.
    NoExtents(Option<&'static str>),
    /// A call failed: action and errno.
    Failed(&'static str, Errno),
    /// Stopped by the progress callback.
    Stopped,
}

impl fmt::Display for SurveyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoExtents(name) => {
                let name = name.unwrap_or("this filesystem");
                write!(f, "{name} does not report where files lie (no FIEMAP)")
            }
            Self::Failed(action, errno) => write!(f, "cannot {action}: {errno}"),
            Self::Stopped => write!(f, "stopped"),
        }
    }
}

impl std::error::Error for SurveyError {}

impl SurveyError {
    /// Advice, if there is any.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoExtents(_) => {
                Some("ext4, xfs, btrfs and f2fs do; a filesystem in memory has no locations")
            }
            Self::Failed(..) | Self::Stopped => None,
        }
    }
}

/// Progress callback, which can stop the survey: entries so far, and for a sample the total number
/// of files once it is known.
pub type SurveyProgress<'n> = &'n mut dyn FnMut(&WalkCounts, Option<u64>) -> ControlFlow<()>;

/// Surveys everything beneath a directory, and the filesystem that contains it.
///
/// # Errors
/// If the filesystem does not report extents, the directory cannot be read, or the callback stops
/// the survey. Unreadable entries further down are counted and skipped.
pub fn survey(
    top: BorrowedFd<'_>,
    plan: &SurveyPlan,
    progress: SurveyProgress<'_>,
) -> Result<LayoutSurvey, SurveyError> {
    let failed = |action| move |errno| SurveyError::Failed(action, errno);
    let facts = filesystem_facts(top).map_err(failed("look at the filesystem"))?;
    if plan.write_back {
        // A writeback error of the past does not prevent the survey.
        let _reported_by_whoever_wrote = sync_filesystem(top);
    }
    let map = plan.map.then(MapMeasures::default);
    let confinement = Confinement::probe(top);
    let (purpose, sampled, total) = purpose(top, plan, &facts, confinement, progress)?;
    let mut reported = |counts: &WalkCounts| progress(counts, total);
    let mut walk = LayoutWalk::new(confinement, facts.block_bytes, purpose, map, &mut reported);
    walk.structure = Some(StructureWalk::begin(top, &facts));
    walk.go(top).map_err(|halt| halted(halt, &facts))?;
    let LayoutWalk { counts, tree, mut map, read, structure, .. } = walk;
    let space = space::look(top.as_fd(), &facts, map.as_mut());
    let tree = tree.layout(sampled);
    let is_sample = sampled < 1.0;
    let layout = FileLayout {
        filesystem: type_of(top).or_else(|| name_of(facts.type_magic).map(str::to_owned)),
        files: counts.files,
        directories: counts.directories,
        sampled_files: is_sample.then_some(tree.files),
        passed: counts.passed(),
        modelled_read: read.filter(|_| !is_sample).map(WholeRead::end),
        intervals: is_sample.then(|| reported::intervals(&tree)),
        free_space: space.free,
        free_space_problem: space.problem,
        fullness: space.fullness,
        structure: structure.map(StructureWalk::end),
        ..reported::tree_fields(&tree)
    };
    Ok(LayoutSurvey { layout, map: map.map(|map| reported::map(map.map())) })
}

/// Filesystem type from the mount table: `statfs` does not distinguish ext2 to ext4.
fn type_of(top: BorrowedFd<'_>) -> Option<String> {
    MountTable::read().ok()?.mount_of(top).map(|mount| mount.fs_type.clone())
}

/// Treatment of files, sampled share, and total number of files if it was counted.
fn purpose(
    top: BorrowedFd<'_>,
    plan: &SurveyPlan,
    facts: &FilesystemFacts,
    confinement: Confinement,
    progress: SurveyProgress<'_>,
) -> Result<(FileTreatment, f64, Option<u64>), SurveyError> {
    let Some(wanted) = plan.sample else { return Ok((FileTreatment::Measure, 1.0, None)) };
    let mut reported = |counts: &WalkCounts| progress(counts, None);
    let mut walk =
        LayoutWalk::new(confinement, facts.block_bytes, FileTreatment::Count, None, &mut reported);
    walk.go(top).map_err(|halt| halted(halt, facts))?;
    let total = walk.counts.files;
    if wanted >= total {
        return Ok((FileTreatment::Measure, 1.0, Some(total)));
    }
    let share = wanted as f64 / total as f64;
    Ok((FileTreatment::Sample(SampleDraws::new(plan.seed, share)), share, Some(total)))
}

fn halted(halt: WalkEnd, facts: &FilesystemFacts) -> SurveyError {
    match halt {
        WalkEnd::Stopped => SurveyError::Stopped,
        WalkEnd::NoExtents => SurveyError::NoExtents(name_of(facts.type_magic)),
        WalkEnd::Failed(what, errno) => SurveyError::Failed(what, errno),
    }
}
