//! Ranks that are threads of one process, connected by channels: what tests run.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::Link;

/// Sender and content of a message.
type Message = (usize, Arc<[u8]>);

/// Channel endpoint of one rank.
#[derive(Debug)]
pub struct Channels {
    rank: usize,
    to: Vec<Sender<Message>>,
    from: Receiver<Message>,
}

/// Connected endpoints of `ranks` ranks.
pub fn channels(ranks: usize) -> Vec<Channels> {
    let (to, from): (Vec<_>, Vec<_>) = (0..ranks).map(|_| channel()).unzip();
    let end = |(rank, from)| Channels { rank, to: to.clone(), from };
    from.into_iter().enumerate().map(end).collect()
}

impl Link for Channels {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.to.len()
    }

    fn send(&self, to: usize, message: &Arc<[u8]>) {
        // A rank that has left receives nothing, as with any other link.
        let _has_left = self.to[to].send((self.rank, Arc::clone(message)));
    }

    fn receive(&self) -> Option<(usize, Vec<u8>)> {
        let (from, message) = self.from.try_recv().ok()?;
        Some((from, message.to_vec()))
    }
}
