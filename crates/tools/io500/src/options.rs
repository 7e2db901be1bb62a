//! The options of a rehearsal, each declared once.

use treering_script::{ClassicPayload, WorkloadManifest, options};

/// The name tag.
pub(super) static MANIFEST: WorkloadManifest = WorkloadManifest {
    name: "io500",
    aliases: &[],
    about: "Rehearse IO500: its phases at a scale of minutes, and what a full run needs",
    imitates: "",
    classic: &[],
    native: NativeOptions::SPECS,
    classic_payload: ClassicPayload::Zeros,
    classic_usage_exit: 2,
};

const WORKERS_MAX: u64 = 4096;
const SECONDS_MAX: u64 = 3600;
const ITEMS_MAX: u64 = 1 << 40;
const BLOCK_MAX: u64 = 1 << 50;
/// The original keeps it in an int.
const SEGMENTS_MAX: u64 = i32::MAX as u64;
/// Less is no rehearsal.
const SPACE_MIN: u64 = 1 << 20;

options! {
    /// The native command line, and plans.
    pub(super) struct NativeOptions {
        /// Workers, which are the processes of IO500.
        workers('t'): u16 = Number[1..=WORKERS_MAX], "1";
        /// Seconds after which each phase that writes ends (its stonewall, 300 in IO500); then all
        /// workers write as much as the fastest.
        seconds('s'): u64 = Number[1..=SECONDS_MAX], "10";
        /// Bytes that all phases may write together; half of what is free.
        space: Option<u64> = Size[SPACE_MIN..=BLOCK_MAX];
        /// Bytes of each worker's file of ior-easy at most (`blockSize`): as many as the space
        /// allows.
        block_size: Option<u64> = Size[2 << 20..=BLOCK_MAX];
        /// Segments of each worker of ior-hard at most (`segmentCount`): as many as the space
        /// allows.
        segment_count: Option<u64> = Number[1..=SEGMENTS_MAX];
        /// Files of each worker of mdtest-easy at most (`n`): as many as the space allows.
        easy_items: Option<u64> = Number[1..=ITEMS_MAX];
        /// Files of each worker of mdtest-hard at most (`n`): as many as the space allows.
        hard_items: Option<u64> = Number[1..=ITEMS_MAX];
        /// By how many workers the reads of ior are shifted, which is the number of workers of a
        /// client in IO500: 1 where there are several workers.
        shift: Option<u64> = Number[0..=WORKERS_MAX];
        /// Whether caches are dropped before each phase (root only).
        drop_caches: &'static str = Choice(&["each", "none"]), "none";
        /// What a worker is.
        worker_kind: &'static str = Choice(&["threads", "processes"]), "threads";
    }
}
