//! Played disks: a loop device on a file of a FUSE filesystem, whose process answers each request
//! at the time at which a modelled disk would have completed it. Data is read from and written to a
//! real image; only the timing is modelled.
//!
//! The FUSE process is a child of this process, but may outlive it, since a filesystem on the
//! device depends on it. It ends when its mount is removed.

mod device;
mod model;
mod player;
mod server;
mod spindle;

pub use model::PlayedModel;
pub(crate) use player::{DiskPlayer, OrphanDisk, image_in, rescue};
pub use server::serve_played_disk;

/// Name of the image in the FUSE filesystem. Writing a word to the status file beside it sets the
/// timing of the answers.
const IMAGE: &str = "disk";
/// Word that switches to answers at modelled times.
const PLAY: &str = "play\n";
/// Word that switches to answers at once, for work that is not measured.
const HURRY: &str = "hurry\n";
