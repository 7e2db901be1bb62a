//! Shared data types of treering: events, trials, metrics, variants, cautions.
//!
//! Crates that run trials produce these values, the store keeps them, reports read them. Nothing
//! here makes system calls, computes statistics or runs a workload. Terms are defined in
//! docs/glossary.md.

mod annotation;
mod caution;
mod cell;
mod counters;
mod ending;
mod event;
mod feature_bits;
pub mod filesystems;
mod fingerprint;
mod harmless;
mod imported;
mod latency;
mod metric;
pub mod metrics;
mod named_enum;
pub mod nearest;
mod observed;
mod op;
mod sink;
mod totals;
mod trial;
mod trial_id;
mod variant;
mod work;
pub mod workloads;

pub use annotation::{Acknowledgement, Annotation, AnnotationKind};
pub use caution::{Caution, CautionCode, FLUSH_PERCENT_MUCH, OPERATIONS_FEW};
pub use cell::{
    BASELINE_FACT, BETWEEN_VARIANTS_FACT, CHANGED_OPTIONS_FACT, Cell, CellRole, IGNORE_FACT,
    JOB_BASELINE_FACT, KEPT_TREES_FACT, LEVEL_FACT, PLAN_FACT, PRIMARY_FACT, ROUNDS_FACT,
    SIZED_FACT, STEP_FACT, THRESHOLD_FACT, WATCH_ANCHOR_DIGEST_FACT, WATCH_ANCHOR_FACT,
    WATCH_PREFIX, WATCH_WORK_FACT,
};
pub use counters::Counters;
pub use ending::Ending;
pub use event::{EVENT_VERSION, Fact, RunMode, TrialEvent, TrialHeader};
pub use feature_bits::{EXT_COMPATIBLE, EXT_INCOMPATIBLE, EXT_READ_ONLY, refused_features};
pub use fingerprint::Fingerprint;
pub use harmless::{counted, harmless, is_formula, is_unsafe, quoted, thousands};
pub use imported::{
    BLOGBENCH_READ_BYTES, COMMIT_FACT, CONFIGURATION_PARAMETER, GENERAL_TOOLS, IMPORT_COMMAND_FACT,
    IMPORT_FACT, IMPORT_PREFIX, ITERATION_PHASE, LINK_FACT, ROUND_FACT, USED_FACT,
    USED_GROWTH_FACT, USED_GROWTH_FILES_FACT, VARIANT_FACT, VERSION_FACT,
};
pub use latency::{Latency, LatencyError};
pub use metric::{BetterDirection, Metric, Scope, Unit, split_metric_names};
pub use observed::artifact::Artifact;
pub use observed::counters::{CounterKind, KernelCounter, KernelCounters};
pub use observed::dataset::{
    DatasetReport, LargeFile, ListCount, ListDifference, SizeBucket, SizeQuantiles, TreeStateReport,
};
pub use observed::fresh_copy::{ColdRead, CopiedTree, FreshCopy, ReadRequests};
pub use observed::functions::{FunctionLatency, LatencyBucket};
pub use observed::heat::{HeatCounts, HeatOnDevice, HeatReport, HotData, LayoutHeat};
pub use observed::image::ImageRecord;
pub use observed::layout::{
    FileLayout, LAYOUT_AFTER_TASK, LAYOUT_ARTIFACT, LAYOUT_MAP_ARTIFACT, LAYOUT_VERSION,
    LayoutCount, LayoutExtents, LayoutFree, LayoutFreeBin, LayoutFullness, LayoutGroups,
    LayoutInodes, LayoutIntervals, LayoutMap, LayoutMapCell, LayoutMapGroup, LayoutMetadata,
    LayoutQuantiles, LayoutStructure, ModelledRead, SkippedEntries, UsedBytes,
};
pub use observed::machine::{
    DetectableDifference, DiskLatencies, DiskSummary, FilesystemSupport, InstalledTool,
    MachineInventory, ProbeLatency, ProbeNoise,
};
pub use observed::modelled::{MODELLED_DISK, ModelledSeconds};
pub use observed::played::{PLAYED_STATUS, PlayedCounts, PlayedParts, PlayedStatus};
pub use observed::ranks::{
    RANKS_ARTIFACT, RANKS_FACT, RANKS_VERSION, RankPhase, RankRow, RankTable,
};
pub use op::Op;
pub use sink::{SinkError, TrialSink};
pub use totals::{CpuTime, IntervalTotals, OpTotals, PhaseTotals, TaskTotals};
pub use trial::{Trial, TrialBuilder, TrialOrderError};
pub use trial_id::TrialId;
pub use variant::guest::{Accelerator, ExtraModule, GuestDisk, GuestSpec, REBOOT_KERNEL_FACT};
pub use variant::layers::{
    ArrayLayer, CacheLayer, CryptLayer, Layer, LoopLayer, OverlayLayer, SnapshotLayer, ThinLayer,
};
pub use variant::second::SecondDevice;
pub use variant::settings::{
    JobOption, LIMIT_PREFIX, LimitSettings, SETTING_PREFIXES, VariantSettings, facts_that_follow,
};
pub use variant::{AgedTree, DeviceSpec, Variant, VariantAge};
pub use work::WorkLimit;
