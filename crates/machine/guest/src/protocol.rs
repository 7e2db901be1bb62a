//! What host and guest say to each other over the virtio port: a line of JSON each. The guest says
//! that it is ready, gets its job, sends the events of its trial as they happen, and says that it
//! is done. While nothing else is said, it says that it is alive.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use treering_model::TrialEvent;

/// The name of the port.
pub(crate) const PORT: &str = "treering.events";
/// What a guest's init is started with, so that it knows that it is one.
pub(crate) const ARGUMENT: &str = "treering-guest";
/// A longer line is none of ours.
pub(crate) const LINE_BYTES_MAX: usize = 64 << 20;

/// What a guest is to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GuestJob {
    /// The disks, as the kernel in the guest names them; none for a filesystem in memory.
    pub disks: Vec<String>,
    /// The filesystem that is on them.
    pub filesystem: String,
    /// Bytes of the filesystem, where it is in memory.
    pub bytes: u64,
    /// Options of the mount, as behind `mount -o`.
    pub mount: Vec<String>,
    /// The trial, as whoever runs it in the guest reads it.
    pub trial: Value,
}

/// What a guest says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// It waits for its job.
    Ready,
    /// Nothing else is to be said, and it works.
    Alive,
    /// Something happened in its trial.
    Event(Box<TrialEvent>),
    /// The trial cannot take place.
    Refused(String),
    /// The trial is over, and the guest goes.
    Done,
}

#[cfg(test)]
mod tests {
    use super::Report;
    use treering_model::{Ending, TrialEvent};

    #[test]
    fn every_report_is_read_as_it_was_written() {
        let event = TrialEvent::Ended { ending: Ending::Completed, at_ns: 7 };
        let all = [
            Report::Ready,
            Report::Alive,
            Report::Event(Box::new(event)),
            Report::Refused("no".to_owned()),
            Report::Done,
        ];
        for report in all {
            let line = serde_json::to_string(&report).unwrap();
            assert!(!line.contains('\n'));
            assert_eq!(serde_json::from_str::<Report>(&line).unwrap(), report);
        }
    }
}
