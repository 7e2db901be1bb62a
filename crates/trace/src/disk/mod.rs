//! Disk models, and the modelled time of a trace or a read: seeks have a cost here even if the
//! traced device has none. No disk is measured or read.

mod buffer;
mod curve;
mod draws;
mod file;
mod head;
mod model;
mod page_map;
mod played;
mod reader;
mod replay;
mod write_cache;

pub use file::DiskError;
pub use model::ModelledDisk;
pub use played::{DiskAnswer, DiskRequest, PlayedHead};
pub use reader::DiskReader;
pub use replay::{DiskCost, DiskReplay};
