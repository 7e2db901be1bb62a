//! What few jobs say: what steers them, what their requests carry, and how they are told.

use super::super::replay::Replay;
use super::super::verify::{Pattern, Verifying};
use super::steering::{Flow, LatencyTarget, LowestRates, RangeSync, Running, Strides, Tolerance};

/// Whether directions are told apart: `unified_rw_reporting`.
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

/// What the page cache is told of a file that is opened.
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
    pub(crate) zeros: u64,
    /// How long such a part is; 0 for the whole buffer.
    pub(crate) part: u64,
    /// Percent of the buffers that are as others.
    pub(crate) alike: u64,
    /// Of how many others they are one, in percent of the file; 0 for the last one.
    pub(crate) among: u64,
}

/// How numbers are written in the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbers {
    /// Digits of a number: `significant_figures`.
    pub(crate) figures: usize,
    /// Whether rates are in bits: `unit_base=1`.
    pub(crate) bits: bool,
}

impl Default for Numbers {
    fn default() -> Self {
        Self { figures: 4, bits: false }
    }
}

/// What few jobs say.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Extras {
    /// Whether the times between requests are drawn, so that they come at no regular times.
    pub(crate) is_poisson: bool,
    pub(crate) lowest: LowestRates,
    pub(crate) latency: LatencyTarget,
    pub(crate) flow: Flow,
    pub(crate) tolerance: Tolerance,
    pub(crate) strides: Strides,
    pub(crate) range_sync: RangeSync,
    pub(crate) running: Running,
    /// Whether an error of its ends others too, as `exit_what` says.
    pub(crate) exits_on_error: bool,
    /// Whether it is told in the report.
    pub(crate) tells_stats: bool,
    /// A request that takes longer ends the job; 0 for no limit.
    pub(crate) max_latency_us: u64,
    /// What is said to the page cache of an opened file: `fadvise_hint`.
    pub(crate) advice: Advice,
    /// Whether its files are read before it begins.
    pub(crate) reads_before: bool,
    /// Whether files are removed before each pass but the first.
    pub(crate) unlinks_each_pass: bool,
    /// Whether it ends well when there is no room left.
    pub(crate) fills: bool,
    /// Whether it says on which nodes of a machine it runs and has its memory.
    pub(crate) names_nodes: bool,
    /// Whether no file may be made or grow: `--readonly`.
    pub(crate) is_readonly: bool,
    /// Whether its part begins at the end of each file: `file_append`.
    pub(crate) appends: bool,
    /// Whether files are made and nothing else is done: `create_only`.
    pub(crate) creates_only: bool,
    /// Milliseconds between two samples of the bytes a second, and of the requests.
    pub(crate) sampled_ms: [u64; 2],
    pub(crate) numbers: Numbers,
    /// What offsets by shares are multiples of; 0 for the smallest request.
    pub(crate) offset_align: u64,
    /// What of a buffer can be shrunk, and what was written before.
    pub(crate) content: Content,
    /// The log of requests that is done again, by its path and as it was read.
    pub(crate) replays: Option<String>,
    pub(crate) replay: Option<Replay>,
    /// Whether the times of the log are kept.
    pub(crate) replay_stalls: bool,
    /// The job that must have ended before.
    pub(crate) waits_for: Option<String>,
    pub(crate) refill_buffers: bool,
    pub(crate) scramble_buffers: bool,
    /// What writes carry, where nothing is verified.
    pub(crate) buffer_pattern: Option<Pattern>,
    pub(crate) verify: Verifying,
    pub(crate) unified: Unified,
}

impl Default for Extras {
    fn default() -> Self {
        Self {
            is_poisson: false,
            lowest: LowestRates::default(),
            latency: LatencyTarget::default(),
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
        }
    }
}
