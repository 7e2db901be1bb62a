//! A disk that is played: a loop device over a file of a FUSE filesystem, whose process answers
//! each request when a modelled disk would have answered it. What is written is really written, to
//! the image behind; only the time is the model's.
//!
//! The process is a child of ours and outlives us: a filesystem on the device must not lose it. It
//! ends with its mount.

mod model;
mod player;
mod server;
mod spindle;

pub use model::PlayedModel;
pub(crate) use player::{Player, Remains, image_in, rescue};
pub use server::serve_played_disk;

/// The name of the image in the FUSE filesystem. The status stands beside it; a word that is
/// written to that says how the disk answers.
const IMAGE: &str = "disk";
/// Answers come when the disk would have them.
const PLAY: &str = "play\n";
/// Answers come at once: what is done then belongs to no measurement.
const HURRY: &str = "hurry\n";
