//! Connection between ranks: sending messages, and polling for received ones.
//!
//! `world` builds barriers, gathering and broadcasting from these two operations rather than from
//! those of MPI, since a rank cannot leave a barrier of MPI when another one never arrives.

use std::sync::Arc;

/// Connection of one rank with all others.
pub trait RankLink {
    /// Number of this rank, counted from 0.
    fn rank(&self) -> usize;

    /// Number of ranks, at least 1.
    fn size(&self) -> usize;

    /// Sends a message to a rank; does not wait until it was received. Messages from one rank to
    /// another arrive in their order.
    fn send(&self, to: usize, message: &Arc<[u8]>);

    /// Next message and its sender, if one has arrived; does not wait.
    fn receive(&self) -> Option<(usize, Vec<u8>)>;
}

/// Link of a single process, without other ranks.
#[derive(Clone, Copy, Debug, Default)]
pub struct SoloLink;

impl RankLink for SoloLink {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn send(&self, _to: usize, _message: &Arc<[u8]>) {}

    fn receive(&self) -> Option<(usize, Vec<u8>)> {
        None
    }
}
