//! A configured rehearsal: parameters, footprint, outline, and the session.

use treering_model::workloads::io500::{
    EASY_TRANSFER_BYTES, HARD_FILE_BYTES, HARD_TRANSFER_BYTES, Io500Benchmark, Io500Phase, STEPS,
    StepKind,
};
use treering_model::{Caution, CautionCode, Metric, WorkLimit};
use treering_script::{
    ConfigError, Footprint, Job, OutlineLine, RunRequest, Session, Settings, TargetFacts,
    WorkerKind,
};

use super::find::TOP_DIRECTORY;
use super::limits::WriteLimits;
use super::options::NativeOptions;
use super::session::{CommonOptions, RehearsalSession, foreseen};
use treering_ior::composed::DataTests;
use treering_kit::occupied::refuse_existing;
use treering_kit::parted::PartedSession;
use treering_kit::ranks::worker_kind;
use treering_mdtest::composed::FileTests;

/// Data seeds; any values serve, as long as they never change.
const EASY_SEED: u32 = 271;
const HARD_SEED: u32 = 27;
/// Number of directories of a rehearsal, besides one for each worker.
const DIRECTORIES: u64 = 8;

/// A rehearsal with all its settings.
#[derive(Debug)]
pub(super) struct RehearsalJob {
    options: NativeOptions,
    shift: u64,
    request: RunRequest,
}

impl RehearsalJob {
    pub(super) fn new(settings: &Settings) -> Result<Self, ConfigError> {
        let mut options = NativeOptions::read(settings)?;
        let shift = options.shift.unwrap_or(u64::from(options.workers > 1));
        options.shift = Some(shift);
        let request = RunRequest::native(options.parameters());
        Ok(Self { options, shift, request })
    }

    fn workers(&self) -> WorkerKind {
        worker_kind(self.options.worker_kind)
    }

    fn ior(&self, limits: &WriteLimits, is_easy: bool) -> Box<dyn PartedSession> {
        let tests = DataTests {
            ranks: self.options.workers,
            block_bytes: if is_easy { limits.block_bytes } else { HARD_TRANSFER_BYTES.into() },
            transfer_bytes: if is_easy { EASY_TRANSFER_BYTES } else { HARD_TRANSFER_BYTES },
            segments: if is_easy { 1 } else { limits.segments },
            own_files: is_easy,
            file: if is_easy { "ior_file_easy" } else { "file" },
            shift: self.shift,
            seconds: self.options.seconds,
            data_seed: if is_easy { EASY_SEED } else { HARD_SEED },
            workers: self.workers(),
        };
        tests.session()
    }

    fn mdtest(&self, limits: &WriteLimits, is_easy: bool) -> Box<dyn PartedSession> {
        let tests = FileTests {
            ranks: self.options.workers,
            items: if is_easy { limits.easy_items } else { limits.hard_items },
            own_trees: is_easy,
            bytes: if is_easy { 0 } else { HARD_FILE_BYTES },
            reads: !is_easy,
            seconds: self.options.seconds,
            data_seed: if is_easy { EASY_SEED } else { HARD_SEED },
            workers: self.workers(),
        };
        tests.session()
    }

    /// Description of each worker's part in a phase.
    fn outline_of(&self, step: &Io500Phase, limits: &WriteLimits) -> String {
        let most = |test| match test {
            Io500Benchmark::IorEasy => {
                let transfers = limits.block_bytes / u64::from(EASY_TRANSFER_BYTES);
                format!("{transfers} transfers of {EASY_TRANSFER_BYTES} bytes, a file each")
            }
            Io500Benchmark::MdtestEasy => {
                format!("{} empty files, a directory each", limits.easy_items)
            }
            Io500Benchmark::IorHard => {
                let segments = limits.segments;
                format!("{segments} transfers of {HARD_TRANSFER_BYTES} bytes, one file")
            }
            Io500Benchmark::MdtestHard => {
                let items = limits.hard_items;
                format!("{items} files of {HARD_FILE_BYTES} bytes, one directory")
            }
        };
        match step.kind {
            StepKind::Write(test) => {
                format!("for {} s, at most {}", self.options.seconds, most(test))
            }
            StepKind::Read(test) | StepKind::Stat(test) | StepKind::Delete(test) => {
                format!("all that {}-write left", test.name())
            }
            StepKind::Find => "files of 3901 bytes with 01 in their names".to_owned(),
            StepKind::Timestamp => "one file".to_owned(),
            StepKind::Prepare | StepKind::CleanUp => {
                "directories and files around the tests".to_owned()
            }
        }
    }
}

impl Job for RehearsalJob {
    fn request(&self) -> &RunRequest {
        &self.request
    }

    fn check(&self, facts: &TargetFacts) -> Result<Vec<Caution>, ConfigError> {
        refuse_existing(facts, |name| name == TOP_DIRECTORY)?;
        let bytes = WriteLimits::new(&self.options, facts).bytes(self.options.workers);
        if bytes > facts.free_bytes {
            let (needed, free) = (bytes >> 20, facts.free_bytes >> 20);
            let message = format!("up to {needed} MiB may be written, but {free} MiB are free");
            return Err(ConfigError::new(message).hint("give less to --space, or fewer workers"));
        }
        if self.options.drop_caches == "each" {
            return Ok(Vec::new());
        }
        let message = "reads, stats and the search follow the writing with all caches kept, so \
                       that the memory of a client answers them as far as it reaches"
            .to_owned();
        Ok(vec![Caution { code: CautionCode::CachesNotDropped, message }])
    }

    fn footprint(&self, facts: &TargetFacts) -> Footprint {
        let limits = WriteLimits::new(&self.options, facts);
        let workers = u64::from(self.options.workers);
        let items = limits.easy_items.saturating_add(limits.hard_items);
        let files = items.saturating_add(1).saturating_mul(workers).saturating_add(2);
        // Time ends each phase: how much is written by then is not known.
        let bytes = limits.bytes(self.options.workers).min(facts.free_bytes);
        Footprint {
            peak_files: files,
            peak_dirs: workers + DIRECTORIES,
            peak_bytes: bytes,
            peak_block_bytes: bytes,
            written_files: files,
            written_bytes: bytes,
        }
    }

    fn outline(&self, facts: &TargetFacts) -> Vec<OutlineLine> {
        let limits = WriteLimits::new(&self.options, facts);
        let line = |step: &Io500Phase| {
            let worker = |worker| {
                format!("{}: worker {worker}: {}", step.name, self.outline_of(step, &limits))
            };
            let workers = if step.is_measured() { self.options.workers } else { 1 };
            (0..workers).map(worker).collect::<Vec<OutlineLine>>()
        };
        STEPS.iter().flat_map(line).collect()
    }

    fn foreseen_metrics(&self, _facts: &TargetFacts) -> Vec<Metric> {
        foreseen()
    }

    fn work(&self) -> WorkLimit {
        WorkLimit::Timed
    }

    fn begin(&self, facts: &TargetFacts) -> Box<dyn Session + '_> {
        let limits = WriteLimits::new(&self.options, facts);
        let frame = CommonOptions {
            workers: self.options.workers,
            cold: self.options.drop_caches == "each",
            kind: self.workers(),
        };
        let tests = [
            self.ior(&limits, true),
            self.mdtest(&limits, true),
            self.ior(&limits, false),
            self.mdtest(&limits, false),
        ];
        Box::new(RehearsalSession::new(frame, tests))
    }
}
