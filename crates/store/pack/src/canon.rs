//! What makes two records of a trial the same: all that was measured, and all texts without names.

use serde::Serialize;
use sha2::{Digest, Sha256};
use treering_model::TrialEvent;

use crate::Seal;
use crate::names::{NameKind, Names};

/// Kinds of events that a trial is made of; the others pass by and leave nothing in it.
const KINDS: usize = 8;

/// Digests the events of one trial, so that a trial and its packed self agree: whatever is left out
/// of packs is left out here. The label, which may be changed at any time, does not count, nor does
/// the order between events of different kinds: an export does not keep it.
#[derive(Clone, Debug)]
pub struct Canon {
    names: Names,
    left_out: &'static [&'static str],
    digests: [Sha256; KINDS],
}

impl Canon {
    /// Of a trial; `known` are names of machines and people, `left_out` kinds of artifacts.
    pub fn new(
        known: impl IntoIterator<Item = (NameKind, String)>,
        left_out: &'static [&'static str],
    ) -> Self {
        Self { names: Names::new(known), left_out, digests: Default::default() }
    }

    /// Adds the next event.
    pub fn add(&mut self, event: &TrialEvent) {
        let mut event = event.clone();
        if let TrialEvent::Began(beginning) = &mut event {
            beginning.label.clear();
        }
        self.names.leave_out(&mut event);
        match &event {
            TrialEvent::Began(beginning) => self.digest(0, beginning),
            TrialEvent::Environment { facts } => facts.iter().for_each(|fact| self.digest(1, fact)),
            TrialEvent::TaskEnded(task) => self.digest(2, task),
            TrialEvent::PhaseEnded(phase) => self.digest(3, phase),
            TrialEvent::Measured(metric) => self.digest(4, metric),
            TrialEvent::Produced(artifact) if self.left_out.contains(&&*artifact.kind) => {}
            TrialEvent::Produced(artifact) => self.digest(5, artifact),
            TrialEvent::Cautioned(caution) => self.digest(6, caution),
            TrialEvent::Ended { ending, at_ns } => self.digest(7, &(ending, at_ns)),
            TrialEvent::PhaseBegan { .. }
            | TrialEvent::TaskBegan { .. }
            | TrialEvent::Ticked { .. } => {}
        }
    }

    fn digest(&mut self, kind: usize, part: &impl Serialize) {
        // It is JSON wherever it comes from: it was read from there.
        let json = serde_json::to_string(part).unwrap_or_default();
        self.digests[kind].update(without_numbers(json));
        self.digests[kind].update(b"\n");
    }

    /// The digest in hexadecimal digits.
    pub fn finish(self) -> String {
        let mut all = Sha256::new();
        self.digests.into_iter().for_each(|digest| all.update(digest.finalize()));
        Seal::of(0, all).sha256
    }
}

/// What stands for names without its numbers, which are others in each pack.
fn without_numbers(mut json: String) -> String {
    for kind in NameKind::ALL {
        let word = kind.stand_in();
        let mut parts = json.split(word);
        let mut to = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            to.push_str(word);
            to.push_str(part.trim_start_matches(|one: char| one.is_ascii_digit()));
        }
        json = to;
    }
    json
}
