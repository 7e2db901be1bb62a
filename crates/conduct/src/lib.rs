//! The campaign: conducts trials. Prepare, observe, run, release; what happens leaves as events.
//!
//! It measures nothing itself and keeps nothing: the engine measures, a sink keeps.

mod apart;
mod campaign;
mod cautions;
mod cells;
mod conduct;
mod error;
pub mod plan;
mod ranks;
mod room;
mod schedule;
mod stage;
mod watched;

pub use campaign::{Admission, Runner, conduct_plan};
pub use cells::{PlannedCell, observing_rounds, rounds};
pub use conduct::{Conclusion, Remount, TrialPlan, conduct};
pub use error::CampaignError;
pub use ranks::{assist, dir_of_rank};
pub use stage::{Stage, about_caches};
