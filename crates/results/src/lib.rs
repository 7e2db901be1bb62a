//! Results in stores: which store a command uses, where results wait while it is on the filesystem
//! under test, and the store as plans, comparisons, histories and imports ask for it.
//!
//! `store` keeps trials and knows neither plans nor comparisons; `conduct` and `analysis` take
//! stores as traits. This crate implements these traits. Not here: arguments, and the layout of
//! pages.

mod acknowledging;
mod campaign;
mod comparison;
mod comparison_request;
mod endings;
mod history;
mod importer;
mod known_names;
mod listing;
mod merging;
mod overview;
mod place;
mod plan_store;
mod recording;
mod repeating;
mod staged;
mod standing;
mod store_error;
mod trial_source;

pub use acknowledging::{PlannedAnnotation, acknowledging, withdrawing};
pub use campaign::{failed_variants, measured_variants, trials_of_plan};
pub use comparison::{ComparisonInput, ComparisonPage, StoredComparison};
pub use comparison_request::{ComparisonRequest, percentage};
pub use endings::{completed_trials, runs_ended_early};
pub use history::{SeriesRequest, dated_trial, origin_of, requested_history};
pub use importer::{TrialImport, TrialImporter};
pub use known_names::{TrialProperty, check_known};
pub use listing::{io500_runs, trial_rows};
pub use merging::{merge, packed_trials, unreadable};
pub use overview::OverviewTrials;
pub use place::{ResultDestination, StoreHost, StorePlace, no_results};
pub use plan_store::PlanStore;
pub use repeating::{command_line_with_store, plan_text};
pub use store_error::{failure, open_to_write};
pub use trial_source::StoredTrials;
