//! The campaign: conducts trials. Prepare, observe, run, release; what happens leaves as events.
//!
//! It measures nothing itself and keeps nothing: the engine measures, a sink keeps.

mod conduct;
mod error;
mod room;
mod schedule;

pub use conduct::{Conclusion, TrialPlan, conduct};
pub use error::CampaignError;
pub use schedule::schedule;
