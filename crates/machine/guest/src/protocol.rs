//! Protocol between host and guest over the virtio port: one JSON value per line. The guest reports
//! readiness, receives its job, sends the events of its trial as they happen, and reports the end.
//! A heartbeat fills silent periods.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use treering_model::TrialEvent;

use crate::root_transport::RootTransport;

/// Name of the virtio port.
pub(crate) const PORT: &str = "treering.events";
/// Argument that identifies the init process of a guest.
pub(crate) const ARGUMENT: &str = "treering-guest";
/// Limit of a line in bytes.
pub(crate) const LINE_BYTES_MAX: usize = 64 << 20;

/// Job of a guest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GuestJob {
    /// Disks by their device paths in the guest; empty for a filesystem in memory.
    pub disks: Vec<String>,
    /// Filesystem on the disks.
    pub filesystem: String,
    /// Size of a filesystem in memory, in bytes.
    pub bytes: u64,
    /// mkfs options, for a filesystem that the guest makes on layers.
    #[serde(default)]
    pub mkfs: Vec<String>,
    /// Transport of the shared root; `None` for a guest with nothing of the host.
    #[serde(default)]
    pub root: Option<RootTransport>,
    /// Mount options, as after `mount -o`.
    pub mount: Vec<String>,
    /// Trial, in the format of its runner in the guest.
    pub trial: Value,
}

/// Message from the guest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GuestMessage {
    /// Ready for a job.
    Ready,
    /// Heartbeat.
    Alive,
    /// Event of the trial.
    Event(Box<TrialEvent>),
    /// The trial cannot take place, for this reason.
    Refused(String),
    /// The trial is over, and the guest powers off.
    Done,
}

#[cfg(test)]
mod tests {
    use super::GuestMessage;
    use treering_model::{Ending, TrialEvent};

    #[test]
    fn messages_round_trip() {
        let event = TrialEvent::Ended { ending: Ending::Completed, at_ns: 7 };
        let messages = [
            GuestMessage::Ready,
            GuestMessage::Alive,
            GuestMessage::Event(Box::new(event)),
            GuestMessage::Refused("no".to_owned()),
            GuestMessage::Done,
        ];
        for report in messages {
            let line = serde_json::to_string(&report).unwrap();
            assert!(!line.contains('\n'));
            assert_eq!(serde_json::from_str::<GuestMessage>(&line).unwrap(), report);
        }
    }
}
