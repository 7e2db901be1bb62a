//! `treering layout --fresh-copy`: the tree is copied to an empty filesystem, and both are read
//! with cold caches, in turns.

use std::ffi::CStr;
use std::io::{IsTerminal, stderr};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};
use treering_lab::{
    CopyError, EraseList, FilesystemProfile, ImageCopier, ReadOnlyView, ScratchFilesystem, ViewKind,
};
use treering_model::{CautionCode, ColdRead, CopiedTree, FreshCopy, ReadRequests, UsedBytes};
use treering_observe::block_trace::{BlockRecorder, RecorderOptions, devices_under};
use treering_observe::layout::{LayoutSurvey, SurveyPlan, survey};
use treering_observe::played_below;
use treering_observe::tree::{
    ScanError, ScanResult, SkipReason, TreeEntry, TreeVisitor, WalkError, scan, traverse,
};
use treering_report::pages::fresh_copy::{page, write_json};
use treering_report::pages::layout::LayoutView;
use treering_sys::{
    Confinement, SignalWatch, StopFlag, drop_caches, fd_path, raise_open_files, sync_filesystem,
    sync_machine,
};

use super::{survey_failure, through};
use crate::arguments::LayoutArgs;
use crate::commands::{lab, output};
use crate::failure::{Failure, Kind};

/// Share of the content below which the reads of the device show that a cache was used.
const READ_SHARE_LEAST: f64 = 0.9;

/// Copies the tree, and compares the two.
pub(super) fn run(args: &LayoutArgs) -> Result<ExitCode, Failure> {
    let original = ReadOnlyView::open(&args.path)?;
    let signals = SignalWatch::begin().map_err(|error| {
        Failure::new(Kind::Environment, format!("cannot watch for signals: {error}"))
    })?;
    let _as_many_as_we_may = raise_open_files();
    let work = Work { args, view: &original, stop: signals.flag(), bar: bar() };
    // Before anything is made.
    if !matches!(original.kind(), ViewKind::Private { .. }) {
        let _reported_by_whoever_wrote = sync_filesystem(original.root());
    }
    cold()?;
    let like = FilesystemProfile::read(&original, &args.path)?;
    let erasing = EraseList::new(args.erase.iter().cloned());
    let mut scratch = ScratchFilesystem::make(args.on.as_deref(), &like, &erasing, &lab::open())?;
    let mut cautions: Vec<String> = like.cautions().iter().map(ToString::to_string).collect();
    cautions.extend(scratch.cautions().iter().map(ToString::to_string));
    let compared = work.compare(&mut scratch, cautions);
    if let Some(bar) = &work.bar {
        bar.finish_and_clear();
    }
    // Also when we were asked to stop.
    let released = scratch.release();
    let copy = compared?;
    released?;
    let path = args.path.to_string_lossy();
    let through = through(original.kind());
    let view = LayoutView { path: &path, through: &through };
    if args.output.format() == Some("json") {
        output::with_writer(args.output.output.as_deref(), |out| write_json(&copy, &view, out))?;
    } else {
        output::write(&page(&copy, &view), &args.output)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// State shared by the steps of a fresh-copy comparison.
struct Work<'w> {
    args: &'w LayoutArgs,
    view: &'w ReadOnlyView,
    stop: &'w StopFlag,
    bar: Option<ProgressBar>,
}

impl Work<'_> {
    fn compare(
        &self,
        scratch: &mut ScratchFilesystem,
        cautions: Vec<String>,
    ) -> Result<FreshCopy, Failure> {
        let cautions = [cautions, self.not_fresh(scratch)?].concat();
        let aged = self.look(self.view.root())?;
        let copied = self.copy(scratch)?;
        let mkfs = scratch.command().to_vec();
        let on = match &self.args.on {
            Some(on) => on.display().to_string(),
            None => match scratch.model() {
                Some(model) => format!("an image of the same size, played as {}", model.name),
                None => "an image of the same size".to_owned(),
            },
        };
        let top = scratch.open()?;
        sync_filesystem(top.as_fd()).map_err(|errno| {
            Failure::new(Kind::Environment, format!("cannot write the copy: {errno}"))
        })?;
        drop(top);
        scratch.remount()?;
        let fresh = self.look(scratch.open()?.as_fd())?;
        let mut copy =
            FreshCopy { aged, fresh, on, mkfs, copied, cautions, ..FreshCopy::default() };
        let mut orders = [0; 2];
        for turn in 0..self.args.repeat {
            // Each is the first as often as the other.
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
    fn not_fresh(&self, scratch: &ScratchFilesystem) -> Result<Vec<String>, Failure> {
        let Some(first) = scratch.other_entries().first() else { return Ok(Vec::new()) };
        let layout = self.look(scratch.open()?.as_fd())?;
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

    fn look(&self, top: BorrowedFd<'_>) -> Result<treering_model::FileLayout, Failure> {
        self.tell("looking", 0);
        let plan = SurveyPlan { write_back: true, ..SurveyPlan::default() };
        let surveyed = survey(top, &plan, &mut |met, _| {
            self.tell("looking", met.files);
            self.go_on()
        });
        let LayoutSurvey { layout, .. } =
            surveyed.map_err(|error| self.failure(survey_failure(&error)))?;
        Ok(layout)
    }

    fn copy(&self, scratch: &ScratchFilesystem) -> Result<CopiedTree, Failure> {
        let (from, to) = (self.view.root(), scratch.open()?);
        let copier = ImageCopier::new(from, to.as_fd()).map_err(|error| copy_failure(&error))?;
        let mut copying = Copying { work: self, copier };
        let walked = traverse(Confinement::probe(from), from, &mut copying);
        walked.map_err(|halt| match halt {
            Halt::Stopped => interrupted(),
            Halt::Walk(WalkError(what, errno)) => {
                Failure::new(Kind::Environment, format!("cannot {what}: {errno}"))
            }
            Halt::Copy(error) => copy_failure(&error),
        })?;
        Ok(copying.copier.copied())
    }

    /// Reads one of the two trees, and reports the order of its directory entries.
    fn read(
        &self,
        scratch: &ScratchFilesystem,
        turn: u32,
        is_fresh: bool,
        cautions: &mut Vec<String>,
    ) -> Result<(u64, ColdRead), Failure> {
        let opened = scratch.open()?;
        let top = if is_fresh { opened.as_fd() } else { self.view.root() };
        cold()?;
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
            self.tell(what, scan.files);
            self.go_on()
        });
        let done = played().zip(before).map(|(after, before)| after.since(&before));
        let disk_seconds = done.map(|done| done.busy_ns as f64 / 1e9);
        let digest = recorder.and_then(BlockRecorder::stop).map(|reported| reported.digest);
        let scan = scanned.map_err(|error| match error {
            ScanError::Stopped => interrupted(),
            failed @ ScanError::Failed(..) => Failure::of(Kind::Environment, &failed),
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

    fn tell(&self, what: &'static str, files: u64) {
        if let Some(bar) = &self.bar {
            bar.set_message(what);
            bar.set_position(files);
        }
    }

    fn go_on(&self) -> ControlFlow<()> {
        if self.stop.is_raised() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Failure of a survey: interrupted if it was stopped, else `otherwise`.
    fn failure(&self, otherwise: Failure) -> Failure {
        if self.stop.is_raised() { interrupted() } else { otherwise }
    }
}

fn bar() -> Option<ProgressBar> {
    let style = ProgressStyle::with_template("{spinner} {msg}: {pos} files  {elapsed}").ok()?;
    stderr().is_terminal().then(|| ProgressBar::new_spinner().with_style(style))
}

fn interrupted() -> Failure {
    Failure::new(Kind::Interrupted, "interrupted: the copy is removed, and nothing was compared")
}

fn copy_failure(error: &CopyError) -> Failure {
    let hint = error.is_full().then_some(
        "the copy duplicates shared and decompresses compressed blocks; name a larger target with \
         --on",
    );
    Failure::of(Kind::Environment, error).maybe_hint(hint)
}

/// Syncs and drops the kernel's caches, those of the layers below the files included.
fn cold() -> Result<(), Failure> {
    sync_machine();
    drop_caches().map_err(|error| {
        let message = format!("the caches cannot be dropped: {}", error.errno());
        Failure::new(Kind::Environment, message).hint("cold reads require root")
    })
}

/// Starts recording the requests to the devices below an open directory.
fn record(top: BorrowedFd<'_>) -> Result<BlockRecorder, String> {
    let path = PathBuf::from(format!("/proc/self/fd/{}", top.as_raw_fd()));
    let devices = devices_under(Path::new(&path)).map_err(|error| error.to_string())?;
    BlockRecorder::begin(&devices, RecorderOptions::default(), Vec::new())
        .map_err(|error| error.to_string())
}

/// Cautions if a device was asked for less than the content.
fn caution_caches(copy: &mut FreshCopy) {
    let is_encoded = copy.aged.extents.encoded.extents + copy.fresh.extents.encoded.extents > 0;
    let least = copy.reads.iter().filter_map(|read| Some(read.requests?.bytes)).min();
    let Some(least) = least.filter(|_| !is_encoded) else { return };
    if (least as f64) < READ_SHARE_LEAST * copy.copied.bytes as f64 {
        copy.cautions.push(format!(
            "a device was asked for only {least} of {} bytes: a cache served the rest, or data \
             was never written",
            copy.copied.bytes
        ));
    }
}

/// Visitor of a walk that copies each entry.
struct Copying<'w> {
    work: &'w Work<'w>,
    copier: ImageCopier,
}

/// Reason why copying ended early.
enum Halt {
    Stopped,
    Walk(WalkError),
    Copy(CopyError),
}

impl From<WalkError> for Halt {
    fn from(error: WalkError) -> Self {
        Self::Walk(error)
    }
}

impl TreeVisitor for Copying<'_> {
    type Halt = Halt;

    fn enter(&mut self, dir: BorrowedFd<'_>, name: Option<&CStr>) -> Result<(), Halt> {
        name.map_or(Ok(()), |name| self.copier.enter(dir, name)).map_err(Halt::Copy)
    }

    fn entry(&mut self, entry: &TreeEntry<'_>) -> Result<(), Halt> {
        let files = self.copier.copied().files;
        if files.is_multiple_of(64) {
            self.work.tell("copying", files);
        }
        if self.work.stop.is_raised() {
            return Err(Halt::Stopped);
        }
        self.copier.entry(entry.dir, entry.name, entry.kind).map_err(Halt::Copy)
    }

    fn leave(&mut self) -> Result<(), Halt> {
        self.copier.leave().map_err(Halt::Copy)
    }

    fn passed(&mut self, what: SkipReason, count: u64) {
        if what != SkipReason::Mount {
            self.copier.failed(count);
        }
    }
}
