//! Store of all trials in one append-only SQLite file.
//!
//! Trials arrive as events through [`Recorder`], a `TrialSink`: events accepted up to the end of a
//! phase are safe on disk. They are loaded as the model's `Trial`. A trial whose writer was killed
//! stays as it is and reads as interrupted; nothing is ever repaired, changed or removed. People
//! may read the tables too: `sql/schema.sql` describes every column.
//!
//! The neighbouring crate imports logs of other tools; `treering-analysis` interprets trials.

mod absorb;
mod annotate;
mod batch;
mod connection;
mod error;
mod events;
mod exchange;
mod filesystem;
mod format;
mod hint;
mod identity;
mod load;
mod readings;
mod recorder;
mod rows;
mod schema;
mod store;
mod summary;
mod upkeep;
mod values;
mod version;
mod writer;

pub use connection::Access;
pub use error::StoreError;
pub use exchange::{MergeError, MergedCounts, PackMerge, PackedTrials, PackingError};
pub use filesystem::same_filesystem;
pub use format::APPLICATION_ID;
pub use load::LoadDetail;
pub use readings::ReadingsQuery;
pub use recorder::Recorder;
pub use store::Store;
pub use summary::{Filter, TrialState, TrialSummary};
pub use upkeep::StoreSize;
pub use version::Version;
