//! Pack: trials in one file, for another store or another machine. Converts records to bytes and
//! back, without other input or output.
//!
//! The first line says how many bytes follow and their SHA-256; they are one Zstandard frame of
//! JSON lines, so that `tail -n +2 FILE | zstd -d` shows all of it. Names of machines, people and
//! places are left out by `names`. Where trials come from, and which store they go to, is the
//! command line's.

mod canon;
mod error;
mod identifiers;
mod kind;
mod limits;
mod names;
mod read;
mod record;
mod seal;
#[cfg(test)]
mod tests;
mod write;

pub use canon::Canon;
pub use error::PackError;
pub use kind::NameKind;
pub use names::{LeftOut, Names};
pub use read::Unpacking;
pub use record::{Head, PackedPlan, Record};
pub use seal::Seal;
pub use write::{Packing, sealed};
