//! Handshake of the ranks before a trial: versions, command lines and the identity of the trial
//! must agree; then the clock offsets are measured.

use serde::{Deserialize, Serialize};
use treering_engine::{RankError, World};
use treering_model::TrialId;

use super::process::{RankProcess, failed};
use crate::failure::{Failure, FailureKind};

/// Handshake message from a rank to rank 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct HandshakeMessage {
    version: String,
    /// Command line, without the name of the program.
    words: Vec<String>,
    host: String,
}

/// Reply of rank 0.
#[derive(Serialize, Deserialize)]
struct HandshakeReply {
    trial: TrialId,
    hosts: Vec<String>,
    problem: Option<(usize, String)>,
}

/// Performs the handshake; returns the identity of the trial.
pub(crate) fn meet(world: &World<'_>, process: &RankProcess<'_>) -> Result<TrialId, Failure> {
    let own = HandshakeMessage {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        words: process.words.clone(),
        host: process.host.clone(),
    };
    let told = serde_json::to_vec(&own).unwrap_or_default();
    let all = world.gather(&told).map_err(|error| failed(&error))?;
    let answer = match all {
        None => Vec::new(),
        Some(all) => {
            let cards: Vec<_> = all.iter().map(|card| serde_json::from_slice(card).ok()).collect();
            let hosts = cards.iter().map(|card: &Option<HandshakeMessage>| {
                card.as_ref().map_or("?", |card| &card.host).to_owned()
            });
            let (trial, hosts) = (TrialId::new(), hosts.collect());
            let problem = difference(&own, &cards);
            serde_json::to_vec(&HandshakeReply { trial, hosts, problem }).unwrap_or_default()
        }
    };
    let answer = world.broadcast(&answer).map_err(|error| failed(&error))?;
    let answer: HandshakeReply = serde_json::from_slice(&answer)
        .map_err(|error| Failure::environment(format!("rank 0 is not understood: {error}")))?;
    world.name_hosts(answer.hosts.clone());
    if let Some((rank, why)) = answer.problem {
        let host = answer.hosts.get(rank).cloned().unwrap_or_default();
        let failure = Failure::of(FailureKind::Usage, &RankError { rank, host, why });
        return Err(failure.hint("start the same treering-mpi with the same options everywhere"));
    }
    world.relate_clocks().map_err(|error| failed(&error))?;
    Ok(answer.trial)
}

/// First rank that differs from rank 0, with a description of the difference.
fn difference(
    own: &HandshakeMessage,
    cards: &[Option<HandshakeMessage>],
) -> Option<(usize, String)> {
    cards.iter().enumerate().find_map(|(rank, card)| {
        let why = match card {
            None => "what it says of itself is not understood: another version?".to_owned(),
            Some(card) if card.version != own.version => {
                format!("it is treering {}, rank 0 is treering {}", card.version, own.version)
            }
            Some(card) if card.words != own.words => {
                let (own, other) = first_difference(&own.words, &card.words);
                format!("it was asked for '{other}', rank 0 for '{own}'")
            }
            Some(_) => return None,
        };
        Some((rank, why))
    })
}

/// First pair of differing words of two command lines; empty for a line without further words.
fn first_difference<'w>(one: &'w [String], other: &'w [String]) -> (&'w str, &'w str) {
    let differ = |at: &usize| one.get(*at) != other.get(*at);
    let at = (0..one.len().max(other.len())).find(differ).unwrap_or(0);
    let word = |words: &'w [String]| words.get(at).map_or("", String::as_str);
    (word(one), word(other))
}

#[cfg(test)]
mod tests {
    use super::{HandshakeMessage, difference};

    fn card(version: &str, words: &[&str]) -> HandshakeMessage {
        let words = words.iter().map(|&word| word.to_owned()).collect();
        HandshakeMessage { version: version.to_owned(), words, host: "a".to_owned() }
    }

    #[test]
    fn the_first_differing_rank_is_named_with_the_difference() {
        let own = card("1.0", &["run", "fs_mark", "--files", "10"]);
        let same = Some(own.clone());
        assert_eq!(difference(&own, &[same.clone(), same.clone()]), None);
        let older = Some(card("0.9", &["run", "fs_mark", "--files", "10"]));
        let (rank, why) = difference(&own, &[same.clone(), older]).unwrap();
        assert_eq!((rank, &*why), (1, "it is treering 0.9, rank 0 is treering 1.0"));
        let other = Some(card("1.0", &["run", "fs_mark", "--files"]));
        let (rank, why) = difference(&own, &[same.clone(), same, other]).unwrap();
        assert_eq!((rank, &*why), (2, "it was asked for '', rank 0 for '10'"));
        assert_eq!(difference(&own, &[None]).unwrap().0, 0);
    }
}
