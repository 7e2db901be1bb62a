//! A configured fs_mark: parameters, footprint, outline, and the session.

use treering_model::{Caution, ITERATION_PHASE, Metric, Op};
use treering_script::{
    ConfigError, Footprint, Job, OutlineLine, RunRequest, ScaleUnit, Session, Settings,
    TargetFacts, WorkScale, WorkerKind,
};

use super::config::{self, ClassicConfig};
use super::headline::{self, CREATE, UNLINK};
use super::methods::{ReopenOrder, SyncMethod};
use super::options::{FILES_MAX, ITERATIONS_MAX};
use super::session::{MarkSession, RunStyle, no_room, root_name};
use super::shape::RunShape;
use treering_kit::occupied::refuse_existing;

/// Maximum number of lines of a dry run.
const LINES_MAX: u64 = 100_000;

/// fs_mark with all its settings.
#[derive(Debug)]
pub(super) struct MarkJob {
    shape: RunShape,
    style: RunStyle,
    workers: WorkerKind,
    request: RunRequest,
}

impl MarkJob {
    /// Reads the classic command line.
    pub(super) fn classic(settings: &Settings) -> Result<Self, ConfigError> {
        let config = ClassicConfig::read(settings)?;
        let roots: Vec<String> =
            config.dirs.iter().map(|dir| dir.to_string_lossy().into_owned()).collect();
        let style = RunStyle::Classic { started_unix_ms: config.started_unix_ms, roots };
        let ClassicConfig { shape, workers, request, .. } = config;
        Ok(Self { shape, style, workers, request })
    }

    /// Reads native options.
    pub(super) fn native(settings: &Settings) -> Result<Self, ConfigError> {
        let (shape, workers, request) = config::native(settings)?;
        Ok(Self { shape, style: RunStyle::Native, workers, request })
    }

    fn is_classic(&self) -> bool {
        matches!(self.style, RunStyle::Classic { .. })
    }

    /// Bytes of a file in whole blocks.
    fn block_bytes(&self, facts: &TargetFacts) -> u64 {
        let block = facts.block_bytes.max(1);
        self.shape.bytes.div_ceil(block).saturating_mul(block)
    }
}

/// True for the name of a native root, `fs_mark-N`.
fn is_root(name: &str) -> bool {
    let number = name.strip_prefix("fs_mark-");
    number.is_some_and(|tail| !tail.is_empty() && tail.bytes().all(|byte| byte.is_ascii_digit()))
}

impl Job for MarkJob {
    fn request(&self) -> &RunRequest {
        &self.request
    }

    fn check(&self, facts: &TargetFacts) -> Result<Vec<Caution>, ConfigError> {
        let shape = &self.shape;
        if let RunStyle::Classic { roots, .. } = &self.style {
            // As the original: each worker for itself, metadata not counted.
            let needs = shape.files.saturating_mul(shape.bytes);
            if facts.free_bytes < needs && !shape.until_full {
                let dir = roots.first().map_or("", String::as_str);
                return Err(ConfigError::new(no_room(dir, shape.files)));
            }
            return Ok(Vec::new());
        }
        refuse_existing(facts, is_root)?;
        let dirs = u64::from(shape.policy.subdirs().max(1)).saturating_mul(shape.roots.into());
        let random = i32::try_from(shape.random_bytes).unwrap_or(i32::MAX);
        let names = 36f64.powi(random) * dirs as f64;
        let files = shape.files_an_iteration();
        if files as f64 > names {
            let message = format!(
                "--random-length: {} random characters give {names} names for {files} files",
                shape.random_bytes
            );
            return Err(ConfigError::new(message).hint("give more random characters"));
        }
        Ok(Vec::new())
    }

    fn footprint(&self, facts: &TargetFacts) -> Footprint {
        let shape = &self.shape;
        let a_file = self.block_bytes(facts);
        let mut standing = shape.files_an_iteration().saturating_mul(shape.standing_iterations());
        let mut written = shape.files_an_iteration().saturating_mul(u64::from(shape.iterations));
        if shape.until_full {
            // As many as fit: so many, about.
            standing = facts.free_bytes / a_file.saturating_add(4096);
            standing = standing.min(facts.free_inodes.unwrap_or(u64::MAX)) / 2;
            written = standing;
        }
        let subdirs = u64::from(shape.policy.subdirs()).saturating_add(1);
        Footprint {
            peak_files: standing,
            peak_dirs: u64::from(shape.roots).saturating_mul(subdirs),
            peak_bytes: standing.saturating_mul(shape.bytes),
            peak_block_bytes: standing.saturating_mul(a_file),
            written_files: written,
            written_bytes: written.saturating_mul(shape.bytes),
        }
    }

    fn outline(&self, _facts: &TargetFacts) -> Vec<OutlineLine> {
        let shape = &self.shape;
        let mut lines = Vec::new();
        if !self.is_classic() {
            lines.push(format!(
                "setup: {} roots with {} subdirectories each",
                shape.roots,
                shape.policy.subdirs()
            ));
        }
        let iterations = if shape.until_full { 1 } else { shape.iterations };
        let unlinks = !self.is_classic() && !shape.keep;
        for iteration in 1..=iterations {
            let kinds = [Some(CREATE), unlinks.then_some(UNLINK)];
            for kind in kinds.into_iter().flatten() {
                for worker in 0..shape.workers {
                    if lines.len() as u64 == LINES_MAX {
                        lines.push("and so on".to_owned());
                        return lines;
                    }
                    let root = worker % shape.roots.max(1);
                    let place = match &self.style {
                        RunStyle::Classic { roots, .. } => roots[usize::from(root)].clone(),
                        RunStyle::Native => root_name(root),
                    };
                    lines.push(format!(
                        "iteration {iteration}: worker {worker}: {kind} {} files of {} bytes in \
                         {place}",
                        shape.files, shape.bytes
                    ));
                }
            }
        }
        if shape.until_full {
            lines.push("and again until the filesystem is full".to_owned());
        }
        lines
    }

    fn foreseen_metrics(&self, _facts: &TargetFacts) -> Vec<Metric> {
        headline::foreseen(!self.is_classic() && !self.shape.keep)
    }

    fn deciding_sync(&self) -> Option<Op> {
        let each = [ReopenOrder::Forward, ReopenOrder::Backward];
        let syncs_each =
            self.shape.sync == SyncMethod::Inband || each.contains(&self.shape.sync.reopened());
        (!self.is_classic() && syncs_each).then_some(Op::Fsync)
    }

    fn scale(&self) -> Option<WorkScale> {
        let shape = &self.shape;
        let (option, value, most, each) = match shape.iterations {
            1 => ("files", shape.files, FILES_MAX, u64::from(shape.workers)),
            many => ("iterations", many.into(), ITERATIONS_MAX, shape.files_an_iteration()),
        };
        (!self.is_classic() && !shape.until_full).then_some(WorkScale {
            option,
            key: None,
            value,
            most,
            unit: ScaleUnit::Amount { name: "files", each },
            follows: |phase| phase.starts_with(ITERATION_PHASE),
            sizes: &["files", "iterations", "until-full"],
        })
    }

    fn overall_metric(&self) -> Option<&'static str> {
        Some("create/files_per_second")
    }

    fn begin(&self, _facts: &TargetFacts) -> Box<dyn Session + '_> {
        Box::new(MarkSession::new(self.shape.clone(), self.style.clone(), self.workers))
    }
}
