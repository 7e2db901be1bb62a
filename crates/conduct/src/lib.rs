//! Campaign layer: prepares, observes, runs and releases trials, and reports everything that
//! happens as events.
//!
//! The layer itself neither measures nor stores: the engine measures, and a sink stores.

mod aging;
mod apart;
mod campaign;
mod cautions;
mod cells;
mod compare;
mod conduct;
mod error;
mod extract;
mod failure;
mod guest_trial;
mod handed;
mod host;
mod image_save;
mod kernels;
pub mod load;
mod messages;
pub mod plan;
mod rank_group;
mod ranks;
pub mod repeat;
mod room;
mod schedule;
mod shell;
mod stage;
pub mod trial;
pub mod watch;
mod watched;

pub use cells::{PlannedCell, observing_rounds, rounds};
pub use compare::{
    KernelCheck, LAUNCHED_PROGRAM, PlanEnd, PlanExamination, carry_out, check_kernel_file,
    check_variants, dry_run, examine_plan, foreseen_trial, free_leftovers, freeing_words,
    mount_again, run_plan, say_lab_cautions,
};
pub use conduct::{Conclusion, Remount};
use error::CampaignError;
pub use extract::{PullTerms, extract_history, profile_of_census};
pub use failure::{Failure, FailureKind, watch_signals};
pub use guest_trial::serve_guest;
pub use host::{
    Comparison, EarlierTrial, Host, MeasuredVariant, ParallelLaunch, PlanOptions, RankOptions,
    RebootOptions, RecordedTrial, ResultStore, SeriesPoint, Standing, StoredCell, WarmUpTrial,
};
pub use image_save::ImageSave;
pub use kernels::{
    BisectOptions, BisectStep, ChosenKernels, KernelBuild, KernelSources, bisect_step,
    commit_in_plan, is_commit,
};
pub use messages::{say_left_behind, warn_of_plan};
pub use rank_group::{Connection, LaunchedRank, RankProcess, Ranks, serve_launched, together};
pub use shell::quoted;
pub use stage::TEMPLATE_ARTIFACT;
pub use trial::beginning::beginning;
