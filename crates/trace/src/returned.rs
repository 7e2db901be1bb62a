//! Requests that a device returned to the queue and that are issued again.

use std::collections::{BTreeSet, VecDeque};

use crate::event::{Action, DeviceNumber, RequestEvent};

/// Number of issues and completions that are kept: a device returns a request soon after its issue.
const RECENT_MAX: usize = 1024;

/// Finds the issues that repeat the issue of a request: what a device returned is one request, in
/// the order of its first issue.
#[derive(Debug, Default)]
pub struct ReturnedRequests {
    /// Latest issues and completions, oldest first.
    recent: VecDeque<(Action, DeviceNumber, u64)>,
    /// Requests between their return and their next issue.
    returned: BTreeSet<(DeviceNumber, u64)>,
}

impl ReturnedRequests {
    /// Processes the next event; true if it issues a request again.
    pub fn is_repeated_issue(&mut self, event: &RequestEvent) -> bool {
        let (device, sector) = (event.device, event.sector);
        match event.action {
            Action::Issue | Action::Complete => {
                if self.recent.len() == RECENT_MAX {
                    self.recent.pop_front();
                }
                self.recent.push_back((event.action, device, sector));
                let was_returned =
                    !self.returned.is_empty() && self.returned.remove(&(device, sector));
                event.action == Action::Issue && was_returned
            }
            Action::Requeue => {
                let mut latest = self.recent.iter().rev();
                let last = latest.find(|(_, on, at)| (*on, *at) == (device, sector));
                // A driver may also return a request that it has not taken, and so not issued.
                let was_issued = last.is_some_and(|(action, ..)| *action == Action::Issue);
                if was_issued && self.returned.len() < RECENT_MAX {
                    self.returned.insert((device, sector));
                }
                false
            }
            _ => false,
        }
    }
}
