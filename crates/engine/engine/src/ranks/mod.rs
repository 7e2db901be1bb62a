//! Ranks: a run by several processes, on as many machines as there are clients of a filesystem.
//!
//! Every rank runs the same session, but only its own share of each group's tasks. A [`RankLink`]
//! carries messages between the ranks (MPI, or channels in tests); a [`World`] builds meetings from
//! them, in which nobody waits for ever.

mod barriers;
mod channels;
mod clocks;
mod idle;
mod launch;
mod link;
mod messages;
mod packed;
pub(crate) mod share;
mod silence;
mod skew;
mod spread;
mod world;

pub use barriers::{PhaseBarriers, middle_ns};
pub use channels::{RankChannels, channels};
pub use clocks::ClockRelation;
pub use launch::{
    LaunchEnd, LaunchError, Launcher, RankReport, USUAL_LAUNCHER, find_program, is_rank_of_plan,
};
pub use link::{RankLink, SoloLink};
pub use share::own_directory;
pub use skew::RankSkew;
pub use world::{RankError, World};
