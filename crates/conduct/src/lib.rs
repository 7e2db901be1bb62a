//! Campaign layer: prepares, observes, runs and releases trials, and reports everything that
//! happens as events.
//!
//! It measures nothing itself and keeps nothing: the engine measures, a sink keeps.

mod apart;
mod beginning;
mod campaign;
mod cautions;
mod cells;
mod compare;
mod conduct;
mod error;
mod failure;
mod guest_trial;
mod handed;
mod host;
mod messages;
pub mod plan;
mod rank_group;
mod ranks;
mod room;
mod schedule;
mod shell;
mod stage;
mod watched;

pub use beginning::{beginning, take, usual_latency};
pub use cells::{PlannedCell, observing_rounds, rounds};
pub use compare::{
    Forecast, LAUNCHED_PROGRAM, PlanEnd, PlanExamination, check_kernel, dry_run, examine_plan,
    foreseen_trial, run_plan,
};
pub use conduct::{Conclusion, Remount, TrialPlan, conduct};
pub use error::CampaignError;
pub use failure::{Failure, FailureKind};
pub use guest_trial::serve_guest;
pub use host::{
    Comparison, EarlierTrial, Host, MeasuredVariant, PlanOptions, RankOptions, RebootOptions,
    RecordedTrial, ResultStore, SeriesPoint, Standing, StoredCell,
};
pub use messages::{say_left_behind, warn_of_shortfall};
pub use rank_group::{Connection, LaunchedRank, RankProcess, Ranks, serve_launched, together};
pub use shell::quoted;
