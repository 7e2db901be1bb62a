//! Played disks: a loop device over a file of a FUSE filesystem, whose process answers each request
//! when a modelled disk would have answered it. Writes go to a real image behind it; only the time
//! is the model's.
//!
//! The process is a child of this one and may outlive it, since a filesystem on the device must not
//! lose it. It ends with its mount.

mod device;
mod model;
mod player;
mod server;
mod spindle;

pub use model::PlayedModel;
pub(crate) use player::{DiskPlayer, OrphanDisk, image_in, rescue};
pub use server::serve_played_disk;

/// Name of the image in the FUSE filesystem. The status file is beside it; writing a word to that
/// sets the timing of the answers.
const IMAGE: &str = "disk";
/// Word that switches to answers at modelled times.
const PLAY: &str = "play\n";
/// Word that switches to answers at once, for work that belongs to no measurement.
const HURRY: &str = "hurry\n";
