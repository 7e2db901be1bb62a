//! Ranks that are threads of one process, connected by channels; used in tests.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::RankLink;

/// Sender and content of a message.
type ChannelMessage = (usize, Arc<[u8]>);

/// Channel endpoint of one rank.
#[derive(Debug)]
pub struct RankChannels {
    rank: usize,
    senders: Vec<Sender<ChannelMessage>>,
    inbox: Receiver<ChannelMessage>,
}

/// Connected endpoints of `ranks` ranks.
pub fn channels(ranks: usize) -> Vec<RankChannels> {
    let (senders, inboxes): (Vec<_>, Vec<_>) = (0..ranks).map(|_| channel()).unzip();
    let end = |(rank, inbox)| RankChannels { rank, senders: senders.clone(), inbox };
    inboxes.into_iter().enumerate().map(end).collect()
}

impl RankLink for RankChannels {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.senders.len()
    }

    fn send(&self, to: usize, message: &Arc<[u8]>) {
        // A rank that has left receives nothing, as with any other link.
        let _has_left = self.senders[to].send((self.rank, Arc::clone(message)));
    }

    fn receive(&self) -> Option<(usize, Vec<u8>)> {
        let (from, message) = self.inbox.try_recv().ok()?;
        Some((from, message.to_vec()))
    }
}
