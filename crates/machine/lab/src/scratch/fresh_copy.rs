//! Compares a tree with a fresh copy: copies the tree to an empty filesystem, and reads both in
//! turns with cold caches.

use std::ffi::CStr;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};

use thiserror::Error;
use treering_model::{
    CautionCode, ColdRead, CopiedTree, FileLayout, FreshCopy, ReadRequests, UsedBytes,
};
use treering_observe::block_trace::{
    BlockRecorder, BlockTraceError, RecorderOptions, devices_under,
};
use treering_observe::layout::{LayoutSurvey, SurveyError, SurveyPlan, survey};
use treering_observe::played_below;
use treering_observe::tree::{
    ScanError, ScanResult, SkipReason, TreeEntry, TreeVisitor, WalkError, scan, traverse,
};
use treering_sys::{
    Confinement, Errno, StopFlag, drop_caches, fd_path, sync_filesystem, sync_machine,
};

use super::{CopyError, FilesystemProfile, ImageCopier, ScratchFilesystem};
use crate::{EraseList, Lab, LabError, ReadOnlyView, ViewKind};

/// Minimum share of the content read from the device; below it, a cache must have served reads.
const READ_SHARE_LEAST: f64 = 0.9;

/// Error of a comparison with a fresh copy.
#[derive(Debug, Error)]
pub enum FreshCopyError {
    /// A signal stopped the comparison.
    #[error("interrupted: the copy is removed, and nothing was compared")]
    Stopped,
    /// The target of the copy cannot be made or released.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The caches cannot be dropped.
    #[error("the caches cannot be dropped: {0}")]
    CachesKept(Errno),
    /// A tree cannot be surveyed.
    #[error(transparent)]
    Survey(SurveyError),
    /// A call failed while walking the tree: action and errno.
    #[error("cannot {0}: {1}")]
    Walk(&'static str, Errno),
    /// An entry cannot be copied.
    #[error(transparent)]
    Copy(CopyError),
    /// The copy cannot be written back to its disk.
    #[error("cannot write the copy: {0}")]
    Unwritten(Errno),
    /// A tree cannot be read.
    #[error(transparent)]
    Scan(ScanError),
}

impl FreshCopyError {
    /// Advice for the user, if any.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::CachesKept(_) => Some("cold reads require root"),
            Self::Survey(error) => error.hint(),
            Self::Copy(error) => error.is_full().then_some(
                "the copy duplicates shared and decompresses compressed blocks; name a larger \
                 target with --on",
            ),
            _ => None,
        }
    }
}

/// Comparison of a tree with a fresh copy.
pub struct FreshCopyComparison<'w> {
    /// Path of the tree.
    pub path: &'w Path,
    /// The tree.
    pub view: &'w ReadOnlyView,
    /// Device or directory for the copy; `None` for an image.
    pub on: Option<&'w Path>,
    /// Devices that may be erased.
    pub erasing: &'w EraseList,
    /// Number of times that each of the two trees is read.
    pub turns: u32,
    /// Flag that ends the comparison.
    pub stop: &'w StopFlag,
    /// Callback for the current action and its number of files.
    pub progress: &'w dyn Fn(&'static str, u64),
}

impl FreshCopyComparison<'_> {
    /// Copies the tree, and compares it with the copy. `lab` is called only after the tree's
    /// parameters are read.
    ///
    /// # Errors
    /// When the tree cannot be read or copied, or the comparison is stopped.
    pub fn run(&self, lab: impl FnOnce() -> Lab) -> Result<FreshCopy, FreshCopyError> {
        // Writes the tree back before anything is made.
        if !matches!(self.view.kind(), ViewKind::Private { .. }) {
            let _reported_by_whoever_wrote = sync_filesystem(self.view.root());
        }
        drop_all_caches()?;
        let like = FilesystemProfile::read(self.view, self.path)?;
        let mut scratch = ScratchFilesystem::make(self.on, &like, self.erasing, &lab())?;
        let mut cautions: Vec<String> = like.cautions().iter().map(ToString::to_string).collect();
        cautions.extend(scratch.cautions().iter().map(ToString::to_string));
        let compared = self.compare(&mut scratch, cautions);
        // Releases the copy even after a stop request.
        let released = scratch.release();
        let copy = compared?;
        released?;
        Ok(copy)
    }

    fn compare(
        &self,
        scratch: &mut ScratchFilesystem,
        cautions: Vec<String>,
    ) -> Result<FreshCopy, FreshCopyError> {
        let cautions = [cautions, self.not_fresh(scratch)?].concat();
        let aged = self.survey(self.view.root())?;
        let copied = self.copy(scratch)?;
        let mkfs = scratch.command().to_vec();
        let on = match self.on {
            Some(on) => on.display().to_string(),
            None => match scratch.model() {
                Some(model) => format!("an image of the same size, played as {}", model.name),
                None => "an image of the same size".to_owned(),
            },
        };
        let top = scratch.open()?;
        sync_filesystem(top.as_fd()).map_err(FreshCopyError::Unwritten)?;
        drop(top);
        scratch.remount()?;
        let fresh = self.survey(scratch.open()?.as_fd())?;
        let mut copy =
            FreshCopy { aged, fresh, on, mkfs, copied, cautions, ..FreshCopy::default() };
        let mut orders = [0; 2];
        for turn in 0..self.turns {
            // The two trees take turns at being read first.
            for is_fresh in [turn % 2 == 1, turn % 2 == 0] {
                let (order, read) = self.read(scratch, turn, is_fresh, &mut copy.cautions)?;
                orders[usize::from(is_fresh)] = order;
                copy.reads.push(read);
            }
        }
        copy.same_order = orders[0] == orders[1];
        caution_caches(&mut copy);
        Ok(copy)
    }

    /// Reasons why the target of the copy is not an empty filesystem, as cautions.
    fn not_fresh(&self, scratch: &ScratchFilesystem) -> Result<Vec<String>, FreshCopyError> {
        let Some(first) = scratch.other_entries().first() else { return Ok(Vec::new()) };
        let layout = self.survey(scratch.open()?.as_fd())?;
        let more = match scratch.other_entries().len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let UsedBytes { used_bytes, total_bytes } = layout.fullness.data;
        let used = used_bytes as f64 / total_bytes.max(1) as f64 * 100.0;
        let free =
            layout.free_space.map(|free| format!(", its free space in {} extents", free.extents));
        let code = CautionCode::NotFresh;
        Ok(vec![format!(
            "the copy is not on a fresh filesystem ({}): {} also has {first}{more}; before the copy \
             {used:.0} % of it were in use{}; {}",
            code.name(),
            scratch.path().parent().unwrap_or(scratch.path()).display(),
            free.unwrap_or_default(),
            code.advice()
        )])
    }

    fn survey(&self, top: BorrowedFd<'_>) -> Result<FileLayout, FreshCopyError> {
        self.report_progress("looking", 0);
        let plan = SurveyPlan { write_back: true, ..SurveyPlan::default() };
        let surveyed = survey(top, &plan, &mut |met, _| {
            self.report_progress("looking", met.files);
            self.go_on()
        });
        let LayoutSurvey { layout, .. } = surveyed.map_err(|error| {
            let is_stopped = self.stop.is_raised();
            if is_stopped { FreshCopyError::Stopped } else { FreshCopyError::Survey(error) }
        })?;
        Ok(layout)
    }

    fn copy(&self, scratch: &ScratchFilesystem) -> Result<CopiedTree, FreshCopyError> {
        let (from, to) = (self.view.root(), scratch.open()?);
        let copier = ImageCopier::new(from, to.as_fd()).map_err(FreshCopyError::Copy)?;
        let mut copying = CopyVisitor { comparison: self, copier };
        let walked = traverse(Confinement::probe(from), from, &mut copying);
        walked?;
        Ok(copying.copier.copied())
    }

    /// Reads one of the two trees, and reports the order of its directory entries.
    fn read(
        &self,
        scratch: &ScratchFilesystem,
        turn: u32,
        is_fresh: bool,
        cautions: &mut Vec<String>,
    ) -> Result<(u64, ColdRead), FreshCopyError> {
        let copy_top = scratch.open()?;
        let top = if is_fresh { copy_top.as_fd() } else { self.view.root() };
        drop_all_caches()?;
        let recorder = match record(top) {
            Ok(recorder) => Some(recorder),
            Err(missing) => {
                let missing = format!("seeks are left out: {missing}");
                if !cautions.contains(&missing) {
                    cautions.push(missing);
                }
                None
            }
        };
        let what = if is_fresh { "reading the copy" } else { "reading" };
        let place = fd_path(top);
        let played = || played_below(place.as_deref()?);
        let before = played();
        let _begins_here = recorder.as_ref().and_then(BlockRecorder::cut);
        let scanned = scan(top, &mut |scan| {
            self.report_progress(what, scan.files);
            self.go_on()
        });
        let played_counts = played().zip(before).map(|(after, before)| after.since(&before));
        let disk_seconds = played_counts.map(|played_counts| played_counts.busy_ns as f64 / 1e9);
        let digest = recorder.and_then(BlockRecorder::stop).map(|reported| reported.digest);
        let scan = scanned.map_err(|error| match error {
            ScanError::Stopped => FreshCopyError::Stopped,
            failed @ ScanError::Failed(..) => FreshCopyError::Scan(failed),
        })?;
        let requests = digest.map(|digest| {
            if digest.figures.lost_events > 0 {
                cautions
                    .push(format!("{} events of requests were lost", digest.figures.lost_events));
            }
            ReadRequests {
                reads: digest.figures.reads.requests,
                bytes: digest.figures.reads.bytes,
                seeks: digest.figures.seeks,
                layout_score: digest.figures.read_layout_score(),
            }
        });
        let ScanResult { seconds, files, bytes, order, .. } = scan;
        Ok((order, ColdRead { turn, is_fresh, seconds, files, bytes, requests, disk_seconds }))
    }

    fn report_progress(&self, what: &'static str, files: u64) {
        (self.progress)(what, files);
    }

    fn go_on(&self) -> ControlFlow<()> {
        if self.stop.is_raised() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Syncs and drops the kernel's caches, including those of the layers below the files.
fn drop_all_caches() -> Result<(), FreshCopyError> {
    sync_machine();
    drop_caches().map_err(|error| FreshCopyError::CachesKept(error.errno()))
}

/// Starts recording the requests to the devices below an open directory.
fn record(top: BorrowedFd<'_>) -> Result<BlockRecorder, BlockTraceError> {
    let path = PathBuf::from(format!("/proc/self/fd/{}", top.as_raw_fd()));
    let devices = devices_under(Path::new(&path))?;
    BlockRecorder::begin(&devices, RecorderOptions::default(), Vec::new())
}

/// Adds a caution if fewer bytes than the content were read from a device.
fn caution_caches(copy: &mut FreshCopy) {
    let is_encoded = copy.aged.extents.encoded.extents + copy.fresh.extents.encoded.extents > 0;
    let fewest = copy.reads.iter().filter_map(|read| Some(read.requests?.bytes)).min();
    let Some(fewest) = fewest.filter(|_| !is_encoded) else { return };
    if (fewest as f64) < READ_SHARE_LEAST * copy.copied.bytes as f64 {
        copy.cautions.push(format!(
            "a device was asked for only {fewest} of {} bytes: a cache served the rest, or data \
             was never written",
            copy.copied.bytes
        ));
    }
}

/// Visitor of a walk that copies each entry.
struct CopyVisitor<'w> {
    comparison: &'w FreshCopyComparison<'w>,
    copier: ImageCopier,
}

impl From<WalkError> for FreshCopyError {
    fn from(WalkError(action, errno): WalkError) -> Self {
        Self::Walk(action, errno)
    }
}

impl TreeVisitor for CopyVisitor<'_> {
    type Halt = FreshCopyError;

    fn enter(&mut self, dir: BorrowedFd<'_>, name: Option<&CStr>) -> Result<(), FreshCopyError> {
        name.map_or(Ok(()), |name| self.copier.enter(dir, name)).map_err(FreshCopyError::Copy)
    }

    fn entry(&mut self, entry: &TreeEntry<'_>) -> Result<(), FreshCopyError> {
        let files = self.copier.copied().files;
        if files.is_multiple_of(64) {
            self.comparison.report_progress("copying", files);
        }
        if self.comparison.stop.is_raised() {
            return Err(FreshCopyError::Stopped);
        }
        self.copier.entry(entry.dir, entry.name, entry.kind).map_err(FreshCopyError::Copy)
    }

    fn leave(&mut self) -> Result<(), FreshCopyError> {
        self.copier.leave().map_err(FreshCopyError::Copy)
    }

    fn passed(&mut self, what: SkipReason, count: u64) {
        if what != SkipReason::Mount {
            self.copier.failed(count);
        }
    }
}
