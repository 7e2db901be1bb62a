//! Pack: trials in one file, for another store or another machine. Converts records to bytes and
//! back, without other input or output.
//!
//! The first line has the length of the rest and its SHA-256; the rest is one Zstandard frame of
//! JSON lines, so that `tail -n +2 FILE | zstd -d` shows it. `names` removes names of machines,
//! people and places. `treering-store` connects packs to stores.

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

pub use canon::CanonicalTrial;
pub use error::PackError;
pub use kind::NameKind;
pub use names::{NameRemover, RemovedName};
pub use read::PackReader;
pub use record::{PackHead, PackRecord, PackedPlan};
pub use seal::PackSeal;
pub use write::{PackWriter, sealed};
