//! Saved images of aged filesystems: saved with their recipe from a mounted device, and restored to
//! other devices.
//!
//! `content` has the file format of the blocks, `library` the folder of all images. `saving` saves
//! a mounted filesystem, `onto_device` restores an image to a block device, and `check` verifies
//! it.

mod check;
mod content;
mod library;
mod onto_device;
mod saving;

pub(crate) use content::{ContentPacker, unpack};
pub(crate) use library::UnfinishedImage;
pub use library::{ImageLibrary, NewImage, SavedImage};
pub use saving::AgedTarget;
