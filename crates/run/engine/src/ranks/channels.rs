//! Ranks that are threads of one process, connected by channels: what tests run.

use std::sync::mpsc::{Receiver, Sender, channel};

use crate::Link;

/// The end of one rank.
#[derive(Debug)]
pub struct Channels {
    rank: usize,
    to: Vec<Sender<(usize, Vec<u8>)>>,
    from: Receiver<(usize, Vec<u8>)>,
}

/// The ends of so many ranks.
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

    fn send(&self, to: usize, message: &[u8]) {
        // Who has left hears nothing, as with any other link.
        let _has_left = self.to[to].send((self.rank, message.to_vec()));
    }

    fn receive(&self) -> Option<(usize, Vec<u8>)> {
        self.from.try_recv().ok()
    }
}
