//! Ranks connected by MPI: the messages of the engine's worlds are sent by it, and nothing else.
//!
//! Built with the feature `link` only; `treering-mpi` is. Only point-to-point messages are used:
//! who waits in a barrier of MPI's own cannot leave it when another rank does not come.

#[cfg(feature = "link")]
mod connection;

#[cfg(feature = "link")]
pub use connection::{MpiConnection, library};
