//! Rarely used options of a job: steering, buffer contents, and reporting.

use treering_script::RequestFlags;

use super::distribution::Distribution;
use super::pattern::Pattern;
use super::replay::Replay;
use super::steering::{
    ErrorTolerance, Flow, LatencyTarget, MinimumRates, RangeSync, SchedulingOptions, SteadyState,
    StridedZones,
};
use super::verifying::VerifyOptions;

/// Separation of directions in the report: `unified_rw_reporting`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum UnifiedReporting {
    /// Rows for each direction.
    #[default]
    Apart,
    /// Single row for all directions.
    Mixed,
    /// Rows for each direction, and one for all.
    Both,
}

/// Hint to the page cache about an opened file: `fadvise_hint`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FadviseHint {
    /// Hint according to the access pattern of the job.
    Usual,
    /// No hint.
    Nothing,
    /// `POSIX_FADV_RANDOM` if true, else `POSIX_FADV_SEQUENTIAL`.
    Random(bool),
}

/// Redundancy of written data: `buffer_compress_percentage` and `dedupe_percentage`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Redundancy {
    /// Percentage of zeros in each part of a buffer.
    pub zeros: u64,
    /// Length of a compressible part in bytes; 0 for the whole buffer.
    pub part: u64,
    /// Percentage of buffers that repeat others.
    pub alike: u64,
    /// Size of the working set of duplicates, in percent of the file; 0 to repeat the last buffer.
    pub among: u64,
}

/// Number format of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NumberFormat {
    /// Significant digits: `significant_figures`.
    pub figures: usize,
    /// True if rates are in bits: `unit_base=1`.
    pub bits: bool,
}

impl Default for NumberFormat {
    fn default() -> Self {
        Self { figures: 4, bits: false }
    }
}

/// Warning of the original before it begins; `--warnings-fatal` turns it into an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Warning {
    /// Offsets are not multiples of the smallest block size.
    Aligned,
    /// Verified requests of several sizes may overlap.
    VerifiedSizes,
    /// Several clones write to the same file and verify it.
    Writers,
    /// Data is written with headers, but never verified.
    NeverVerified,
    /// The job is to end by time, and no runtime is given.
    Timeless,
}

impl Warning {
    /// Text of the warning.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Aligned => "fio: Any use of blockalign= turns off randommap",
            Self::VerifiedSizes => {
                "fio: norandommap given for variable block sizes, verify limited"
            }
            Self::Writers => {
                "fio: multiple writers may overwrite blocks that belong to other jobs. This can \
                 cause verification failures."
            }
            Self::NeverVerified => {
                "fio: verification read phase will never start because write phase uses all of \
                 runtime"
            }
            Self::Timeless => "fio: time_based requires a runtime/timeout setting",
        }
    }

    /// True if the original prints it on standard output.
    pub(crate) const fn is_for_output(self) -> bool {
        matches!(self, Self::Writers | Self::NeverVerified)
    }
}

/// Rarely used options of a job.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RareOptions {
    /// True if the times between requests are exponentially distributed: `rate_process=poisson`.
    pub is_poisson: bool,
    /// True if a rate is not caught up with after a pause of `thinktime`: `rate_ignore_thinktime`.
    pub skips_pauses: bool,
    /// Flags of each request: `hipri`, `nowait`, `uncached`.
    pub request_flags: RequestFlags,
    pub lowest: MinimumRates,
    pub latency: LatencyTarget,
    pub steady: SteadyState,
    /// Distribution of the files, if `file_service_type` sets one.
    pub service: Distribution,
    pub flow: Flow,
    pub tolerance: ErrorTolerance,
    pub strides: StridedZones,
    pub range_sync: RangeSync,
    pub running: SchedulingOptions,
    /// True if an error of this job ends the others of `exit_what`: `exitall_on_error`.
    pub exits_on_error: bool,
    /// True if the job has a row in the report: `stats`.
    pub reports_stats: bool,
    /// Latency above which a request ends the job, in microseconds; 0 for no limit: `max_latency`.
    pub max_latency_us: u64,
    /// Hint to the page cache about opened files: `fadvise_hint`.
    pub advice: FadviseHint,
    /// True if files are read before the job begins: `pre_read`.
    pub reads_before: bool,
    /// True if files are unlinked before each pass but the first.
    pub unlinks_each_pass: bool,
    /// True if `ENOSPC` ends the job without error: `fill_device`.
    pub fills: bool,
    /// True if the job binds CPUs or memory to NUMA nodes.
    pub names_nodes: bool,
    /// True if no file may be created or extended: `--readonly`.
    pub is_readonly: bool,
    /// True if the job works from the end of each file on: `file_append`.
    pub appends: bool,
    /// True if mounted devices may be written: `allow_mounted_write`.
    pub writes_mounted: bool,
    /// True if files are created and nothing else is done: `create_only`.
    pub creates_only: bool,
    /// Milliseconds between bandwidth samples, and between samples of requests per second.
    pub sampled_ms: [u64; 2],
    pub numbers: NumberFormat,
    /// Alignment of relative offsets, in bytes; 0 for the smallest block size.
    pub offset_align: u64,
    /// Redundancy of the written data.
    pub content: Redundancy,
    /// Path of the log to replay, and its content once it is read.
    pub replays: Option<String>,
    pub replay: Option<Replay>,
    /// True if the timing of the log is kept: inverse of `replay_no_stall`.
    pub replay_stalls: bool,
    /// Name of the job that must have ended before this one begins: `wait_for`.
    pub waits_for: Option<String>,
    pub refill_buffers: bool,
    pub scramble_buffers: bool,
    /// Pattern of written data where nothing is verified.
    pub buffer_pattern: Option<Pattern>,
    pub verify: VerifyOptions,
    pub unified: UnifiedReporting,
    /// Keys given without a value, the global ones included; the original omits them in its report.
    pub bare: Vec<String>,
    /// Warnings of the original.
    pub warnings: Vec<Warning>,
    /// Notes about values of which a part was read, for standard error.
    pub notes: Vec<String>,
}

impl Default for RareOptions {
    fn default() -> Self {
        Self {
            is_poisson: false,
            skips_pauses: false,
            request_flags: RequestFlags::default(),
            lowest: MinimumRates::default(),
            latency: LatencyTarget::default(),
            steady: SteadyState::default(),
            service: Distribution::Even,
            flow: Flow::default(),
            tolerance: ErrorTolerance::default(),
            strides: StridedZones::default(),
            range_sync: RangeSync::default(),
            running: SchedulingOptions::default(),
            waits_for: None,
            replays: None,
            replay: None,
            replay_stalls: true,
            exits_on_error: false,
            reports_stats: true,
            max_latency_us: 0,
            advice: FadviseHint::Usual,
            reads_before: false,
            unlinks_each_pass: false,
            fills: false,
            names_nodes: false,
            is_readonly: false,
            appends: false,
            writes_mounted: false,
            creates_only: false,
            sampled_ms: [500; 2],
            numbers: NumberFormat::default(),
            offset_align: 0,
            content: Redundancy::default(),
            refill_buffers: false,
            scramble_buffers: true,
            buffer_pattern: None,
            verify: VerifyOptions::default(),
            unified: UnifiedReporting::Apart,
            bare: Vec::new(),
            warnings: Vec::new(),
            notes: Vec::new(),
        }
    }
}
