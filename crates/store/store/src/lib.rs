//! Store of all trials in one append-only SQLite file.
//!
//! Trials come in as events through [`Recorder`], a `TrialSink`: what it accepted at the end of a
//! phase is safe on disk. They go out as the model's `Trial`. A trial whose writer was killed stays
//! as it is and reads as interrupted; nothing is ever repaired, changed or removed. The tables are
//! meant to be read by people too: `sql/schema.sql` says what every column means.
//!
//! Importing logs of other tools is the neighbour crate's; what trials mean is reported elsewhere.

mod absorb;
mod annotate;
mod connection;
mod error;
mod events;
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
pub use filesystem::same_filesystem;
pub use format::APPLICATION_ID;
pub use load::Detail;
pub use readings::Wanted;
pub use recorder::Recorder;
pub use store::Store;
pub use summary::{Filter, TrialState, TrialSummary};
pub use upkeep::Room;
pub use version::Version;
