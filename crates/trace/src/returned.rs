//! Requests that a device returned to the queue and that are issued again.

use std::collections::BTreeSet;

use crate::event::{Action, DeviceNumber, RequestEvent};

/// Limit of requests in flight; more of them mean that completion events were lost.
const IN_FLIGHT_MAX: usize = 1 << 20;

/// Finds the issues that repeat the issue of a request: what a device returned is one request, in
/// the order of its first issue.
#[derive(Debug, Default)]
pub struct ReturnedRequests {
    issued: BTreeSet<(DeviceNumber, u64)>,
    returned: BTreeSet<(DeviceNumber, u64)>,
}

impl ReturnedRequests {
    /// Processes the next event; true if it issues a request again.
    pub fn is_repeated_issue(&mut self, event: &RequestEvent) -> bool {
        let place = (event.device, event.sector);
        match event.action {
            Action::Issue => {
                if self.issued.len() >= IN_FLIGHT_MAX {
                    self.issued.clear();
                }
                self.issued.insert(place);
                return self.returned.remove(&place);
            }
            // A driver may also return a request that it has not taken, and so not issued.
            Action::Requeue
                if self.issued.remove(&place) && self.returned.len() < IN_FLIGHT_MAX =>
            {
                self.returned.insert(place);
            }
            Action::Complete => {
                self.issued.remove(&place);
                self.returned.remove(&place);
            }
            _ => {}
        }
        false
    }
}
