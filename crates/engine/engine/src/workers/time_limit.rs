//! Time limit of a group: a thread that waits for its end and then marks the deadline as reached.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;

use treering_script::TimeLimit;

/// Timer that marks the deadline as reached, unless it is dropped before.
pub(crate) struct DeadlineTimer {
    _ends_it_when_dropped: Sender<()>,
}

impl DeadlineTimer {
    /// Starts the timer.
    pub(crate) fn begin(limit: &TimeLimit) -> io::Result<Self> {
        let TimeLimit { after, deadline } = limit.clone();
        let (sender, receiver) = channel::<()>();
        let wait = move || {
            if receiver.recv_timeout(after) == Err(RecvTimeoutError::Timeout) {
                deadline.reach();
            }
        };
        thread::Builder::new().name("time limit".to_owned()).spawn(wait)?;
        Ok(Self { _ends_it_when_dropped: sender })
    }
}
