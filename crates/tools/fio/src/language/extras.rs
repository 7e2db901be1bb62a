//! What few jobs say: what steers them, what their requests carry, and how they are reported.

use super::distribution::Distribution;
use super::pattern::Pattern;
use super::replay::Replay;
use super::steering::{
    Flow, LatencyTarget, LowestRates, RangeSync, Running, SteadyState, Strides, Tolerance,
};
use super::verifying::Verifying;

/// Whether directions are distinguished: `unified_rw_reporting`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Unified {
    /// Each by itself.
    #[default]
    Apart,
    /// All as one.
    Mixed,
    /// Each by itself, and all as one.
    Both,
}

/// What the page cache is reported about a file that is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    /// How the job reads.
    Usual,
    /// Nothing.
    Nothing,
    /// That it is read in no order, or in its own.
    Random(bool),
}

/// How much of what is written is alike: `buffer_compress_percentage` and `dedupe_percentage`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Content {
    /// Percent of each part of a buffer that are zeros.
    pub zeros: u64,
    /// How long such a part is; 0 for the whole buffer.
    pub part: u64,
    /// Percent of the buffers that are as others.
    pub alike: u64,
    /// Of how many others they are one, in percent of the file; 0 for the last one.
    pub among: u64,
}

/// How numbers are written in the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbers {
    /// Digits of a number: `significant_figures`.
    pub figures: usize,
    /// Whether rates are in bits: `unit_base=1`.
    pub bits: bool,
}

impl Default for Numbers {
    fn default() -> Self {
        Self { figures: 4, bits: false }
    }
}

/// What the original warns of before it begins: with `--warnings-fatal` such a job is no job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Warning {
    /// Offsets are no multiples of the smallest request.
    Aligned,
    /// Requests of several sizes are verified, and may overlap.
    VerifiedSizes,
    /// Clones write into the same file, and verify it.
    Writers,
    /// What is written is never verified.
    NeverVerified,
    /// It ends by time, and none is given.
    Timeless,
}

impl Warning {
    /// Its words.
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

    /// Whether the original says it on standard output.
    pub(crate) const fn is_for_output(self) -> bool {
        matches!(self, Self::Writers | Self::NeverVerified)
    }
}

/// What few jobs say.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Extras {
    /// Whether the times between requests are drawn, so that they come at no regular times.
    pub is_poisson: bool,
    pub lowest: LowestRates,
    pub latency: LatencyTarget,
    pub steady: SteadyState,
    /// How files are drawn, where `file_service_type` says so.
    pub service: Distribution,
    pub flow: Flow,
    pub tolerance: Tolerance,
    pub strides: Strides,
    pub range_sync: RangeSync,
    pub running: Running,
    /// Whether an error of its ends others too, as `exit_what` says.
    pub exits_on_error: bool,
    /// Whether it is reported in the report.
    pub tells_stats: bool,
    /// A request that takes longer ends the job; 0 for no limit.
    pub max_latency_us: u64,
    /// What is said to the page cache of an opened file: `fadvise_hint`.
    pub advice: Advice,
    /// Whether its files are read before it begins.
    pub reads_before: bool,
    /// Whether files are removed before each pass but the first.
    pub unlinks_each_pass: bool,
    /// Whether it ends well when there is no room left.
    pub fills: bool,
    /// Whether it says on which nodes of a machine it runs and has its memory.
    pub names_nodes: bool,
    /// Whether no file may be made or grow: `--readonly`.
    pub is_readonly: bool,
    /// Whether its part begins at the end of each file: `file_append`.
    pub appends: bool,
    /// Whether files are made and nothing else is done: `create_only`.
    pub creates_only: bool,
    /// Milliseconds between two samples of the bytes a second, and of the requests.
    pub sampled_ms: [u64; 2],
    pub numbers: Numbers,
    /// What offsets by shares are multiples of; 0 for the smallest request.
    pub offset_align: u64,
    /// What of a buffer can be shrunk, and what was written before.
    pub content: Content,
    /// The log of requests that is done again, by its path and as it was read.
    pub replays: Option<String>,
    pub replay: Option<Replay>,
    /// Whether the times of the log are kept.
    pub replay_stalls: bool,
    /// The job that must have ended before.
    pub waits_for: Option<String>,
    pub refill_buffers: bool,
    pub scramble_buffers: bool,
    /// What writes carry, where nothing is verified.
    pub buffer_pattern: Option<Pattern>,
    pub verify: Verifying,
    pub unified: Unified,
    /// Which keys, the global ones included, were given without a value: the original leaves them
    /// out of its report.
    pub bare: Vec<String>,
    /// What the original warns of.
    pub warnings: Vec<Warning>,
}

impl Default for Extras {
    fn default() -> Self {
        Self {
            is_poisson: false,
            lowest: LowestRates::default(),
            latency: LatencyTarget::default(),
            steady: SteadyState::default(),
            service: Distribution::Even,
            flow: Flow::default(),
            tolerance: Tolerance::default(),
            strides: Strides::default(),
            range_sync: RangeSync::default(),
            running: Running::default(),
            waits_for: None,
            replays: None,
            replay: None,
            replay_stalls: true,
            exits_on_error: false,
            tells_stats: true,
            max_latency_us: 0,
            advice: Advice::Usual,
            reads_before: false,
            unlinks_each_pass: false,
            fills: false,
            names_nodes: false,
            is_readonly: false,
            appends: false,
            creates_only: false,
            sampled_ms: [500; 2],
            numbers: Numbers::default(),
            offset_align: 0,
            content: Content::default(),
            refill_buffers: false,
            scramble_buffers: true,
            buffer_pattern: None,
            verify: Verifying::default(),
            unified: Unified::Apart,
            bare: Vec::new(),
            warnings: Vec::new(),
        }
    }
}
