//! Disks as models, and what a trace or a read would take on one: seeks have a price here even
//! where the device that was traced has none. Nothing is measured or read from a disk.

mod buffer;
mod curve;
mod head;
mod model;
mod played;
mod reader;
mod replay;

pub use model::{Disk, DiskError};
pub use played::{DiskAnswer, DiskRequest, PlayedHead};
pub use reader::DiskReader;
pub use replay::{DiskCost, DiskReplay};
