//! Saved images of aged filesystems: saved from a mounted device with their recipe, restored to
//! devices.
//!
//! `content` is the file format of the blocks, `library` the folder of all images, `onto_device`
//! the restore to a block device, `check` the verification of a restored image, `saving` the way
//! from a mounted filesystem to an image.

mod check;
mod content;
mod library;
mod onto_device;
mod saving;

pub(crate) use library::UnfinishedImage;
pub use library::{ImageLibrary, NewImage, SavedImage};
pub use saving::AgedTarget;
