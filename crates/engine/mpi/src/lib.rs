//! Ranks connected by MPI, which carries the messages of the engine's worlds and nothing else.
//!
//! The connection is built with the feature `link` only, as in `treering-mpi`. Only point-to-point
//! messages are used: a rank in a barrier of MPI itself could not leave it if another rank never
//! arrives.

#[cfg(feature = "link")]
mod connection;

#[cfg(feature = "link")]
pub use connection::{MpiConnection, library};
