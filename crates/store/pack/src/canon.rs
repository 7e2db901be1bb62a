//! Identity of two records of a trial: measurements must be equal, and texts must be equal except
//! for names.
//!
//! A pack leaves out names that only the machine of its writer knows, and another treering may have
//! left out fewer. Therefore a placeholder matches any name.

use serde::Serialize;
use serde_json::Value;
use treering_model::TrialEvent;

use crate::kind::NameKind;
use crate::names::NameRemover;

/// Number of event kinds that a trial consists of; others leave no trace in it.
const KINDS: usize = 8;

/// Maximum length of a name that a placeholder stands for.
const LONGEST_NAME: usize = 4096;

/// Canonical events of one trial, for comparison with those of its packed copy: data left out of
/// packs is left out here. Ignores the label, which may be changed at any time, and the order
/// between events of different kinds, which an export does not keep.
#[derive(Clone, Debug)]
pub struct CanonicalTrial {
    names: NameRemover,
    left_out: &'static [&'static str],
    parts: [Vec<Value>; KINDS],
}

impl CanonicalTrial {
    /// Creates the canon of a trial; `known` are names of machines and people, `left_out` are kinds
    /// of artifacts.
    pub fn new(
        known: impl IntoIterator<Item = (NameKind, String)>,
        left_out: &'static [&'static str],
    ) -> Self {
        Self { names: NameRemover::new(known), left_out, parts: Default::default() }
    }

    /// Adds the next event.
    pub fn add(&mut self, event: &TrialEvent) {
        let mut event = event.clone();
        if let TrialEvent::Began(beginning) = &mut event {
            beginning.label.clear();
        }
        self.names.leave_out(&mut event);
        match &event {
            TrialEvent::Began(beginning) => self.part(0, beginning),
            TrialEvent::Environment { facts } => facts.iter().for_each(|fact| self.part(1, fact)),
            TrialEvent::TaskEnded(task) => self.part(2, task),
            TrialEvent::PhaseEnded(phase) => self.part(3, phase),
            TrialEvent::Measured(metric) => self.part(4, metric),
            TrialEvent::Produced(artifact) if self.left_out.contains(&&*artifact.kind) => {}
            TrialEvent::Produced(artifact) => self.part(5, artifact),
            TrialEvent::Cautioned(caution) => self.part(6, caution),
            TrialEvent::Ended { ending, at_ns } => self.part(7, &(ending, at_ns)),
            TrialEvent::PhaseBegan { .. }
            | TrialEvent::TaskBegan { .. }
            | TrialEvent::Ticked { .. } => {}
        }
    }

    fn part(&mut self, kind: usize, part: &impl Serialize) {
        // The part was read from JSON, so it can be serialized.
        self.parts[kind].push(serde_json::to_value(part).unwrap_or_default());
    }

    /// Reports whether both are records of the same trial.
    pub fn agrees_with(&self, other: &Self) -> bool {
        let mut kinds = self.parts.iter().zip(&other.parts);
        kinds.all(|(own, other_events)| all_agree(own, other_events))
    }
}

fn all_agree(left: &[Value], right: &[Value]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| agree(left, right))
}

fn agree(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::String(left), Value::String(right)) => texts_agree(left, right),
        (Value::Array(left), Value::Array(right)) => all_agree(left, right),
        (Value::Object(left), Value::Object(right)) => {
            // Field names that are paths are replaced, too.
            let (mut only_left, mut only_right) = (Vec::new(), Vec::new());
            for (key, value) in left {
                match right.get(key) {
                    Some(_) if key.starts_with('/') => only_left.push((key, value)),
                    Some(known) if agree(value, known) => {}
                    Some(_) => return false,
                    None => only_left.push((key, value)),
                }
            }
            let is_left = |key: &String| key.starts_with('/') || !left.contains_key(key);
            only_right.extend(right.iter().filter(|(key, _)| is_left(key)));
            let is_same = |(key, value): (&String, &Value), (right, known): (&String, &Value)| {
                texts_agree(key, right) && agree(value, known)
            };
            only_left.into_iter().all(|field| {
                let place = only_right.iter().position(|known| is_same(field, *known));
                place.is_some_and(|place| {
                    only_right.swap_remove(place);
                    true
                })
            }) && only_right.is_empty()
        }
        _ => left == right,
    }
}

/// Reports whether two texts are equal except for names. JSON texts are compared as JSON, since
/// they were reformatted where a name was left out.
fn texts_agree(left: &str, right: &str) -> bool {
    if left == right {
        return true;
    }
    if left.starts_with(['{', '['])
        && let (Ok(left), Ok(right)) = (serde_json::from_str(left), serde_json::from_str(right))
    {
        let (left, right): (Value, Value) = (left, right);
        return agree(&left, &right);
    }
    let (left, right) = (without_numbers(left), without_numbers(right));
    left == right || is_of_pattern(&left, &right) || is_of_pattern(&right, &left)
}

/// Reports whether a text matches another one in which placeholders stand for names.
fn is_of_pattern(pattern: &str, text: &str) -> bool {
    let mut parts = literals(pattern);
    let Some(begin) = parts.next() else { return false };
    let Some(mut tail) = text.strip_prefix(begin) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return tail.is_empty();
    }
    while let Some(part) = parts.next() {
        // A name has at least one character.
        let first = tail.chars().next().map_or(0, char::len_utf8);
        if first == 0 {
            return false;
        }
        let at = if parts.peek().is_none() {
            tail[first..].ends_with(part).then(|| tail.len() - part.len())
        } else {
            tail[first..].find(part).map(|at| at + first)
        };
        let Some(at) = at.filter(|at| *at <= LONGEST_NAME) else { return false };
        tail = &tail[at + part.len()..];
    }
    true
}

/// Parts of a text around its placeholders.
fn literals(text: &str) -> impl Iterator<Item = &str> {
    let mut remaining = Some(text);
    std::iter::from_fn(move || {
        let now = remaining?;
        let words = NameKind::ALL.iter().map(|kind| kind.stand_in());
        let positions = words.filter_map(|word| Some((now.find(word)?, word.len())));
        let (part, after) = match positions.min() {
            Some((at, len)) => (&now[..at], Some(&now[at + len..])),
            None => (now, None),
        };
        remaining = after;
        Some(part)
    })
}

/// Text whose placeholders have no numbers, since these differ between packs.
fn without_numbers(text: &str) -> String {
    let mut text = text.to_owned();
    for kind in NameKind::ALL {
        let word = kind.stand_in();
        let mut parts = text.split(word);
        let mut to = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            to.push_str(word);
            to.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
        }
        text = to;
    }
    text
}

#[cfg(test)]
mod tests {
    use treering_model::{Caution, CautionCode, Fact, TrialEvent};

    use super::{CanonicalTrial, texts_agree};
    use crate::kind::NameKind;
    use crate::names::NameRemover;

    #[test]
    fn packed_trials_match_up_to_replaced_names() {
        for (packed, whole) in [
            ("host-1 was slow", "kestrel was slow"),
            ("on host-3", "on kestrel"),
            ("cp /path-1 /path-2", "cp /a/b /c"),
            ("host-1:/path-1 of user-2", "oak:/srv of ada"),
            ("user-1 and user-1", "ada and ada"),
            ("host-2", "host-9"),
            ("{\"b\":\"host-1\",\"a\":1.5}", "{\"a\": 1.50, \"b\": \"kestrel\"}"),
            ("{\"/path-1\":[1],\"/path-2\":[2]}", "{\"/x\":[2],\"/y\":[1]}"),
        ] {
            assert!(texts_agree(packed, whole), "{packed} {whole}");
            assert!(texts_agree(whole, packed), "{packed} {whole}");
        }
        for (packed, whole) in [
            ("host-1 was slow", "kestrel was fast"),
            ("host-1 was slow", " was slow"),
            ("at host-1", "of kestrel"),
            ("5 MiB of host-1", "6 MiB of kestrel"),
            ("{\"b\":\"host-1\",\"a\":1.5}", "{\"a\": 1.6, \"b\": \"kestrel\"}"),
            ("{\"/path-1\":[1],\"/path-2\":[2]}", "{\"/x\":[2],\"/y\":[3]}"),
            ("abc", "abd"),
            ("", "x"),
        ] {
            assert!(!texts_agree(packed, whole), "{packed} {whole}");
            assert!(!texts_agree(whole, packed), "{packed} {whole}");
        }
    }

    fn events(fact: &str, message: &str) -> [TrialEvent; 2] {
        let fact = Fact { name: "mount.options".to_owned(), value: fact.to_owned() };
        let caution = Caution { code: CautionCode::MayNotFit, message: message.to_owned() };
        [TrialEvent::Environment { facts: vec![fact] }, TrialEvent::Cautioned(caution)]
    }

    /// Compares a trial with its packed copy on a machine that knows none of the names.
    fn is_recognised(whole: [TrialEvent; 2], packed: [TrialEvent; 2]) -> bool {
        let (mut left, mut right) = (CanonicalTrial::new([], &[]), CanonicalTrial::new([], &[]));
        whole.iter().for_each(|event| left.add(event));
        packed.iter().for_each(|event| right.add(event));
        left.agrees_with(&right) && right.agrees_with(&left)
    }

    #[test]
    fn packed_trial_is_recognised_without_its_replaced_names() {
        let whole = events("rw,addr=10.0.0.1", "ada's backup ran on KESTREL and on kestrel");
        let known = [(NameKind::Host, "kestrel".to_owned()), (NameKind::User, "ada".to_owned())];
        let mut names = NameRemover::new(known);
        let mut packed = whole.clone();
        packed.iter_mut().for_each(|event| names.leave_out(event));
        assert!(!format!("{packed:?}").to_lowercase().contains("kestrel"), "{packed:?}");
        assert!(is_recognised(whole.clone(), packed.clone()));
        // Other words and facts belong to a different trial.
        assert!(!is_recognised(events("rw,addr=10.0.0.1", "ada's backup ran on kestrel"), packed));
        let mut packed = events("ro,addr=10.0.0.1", "ada's backup ran on KESTREL and on kestrel");
        packed.iter_mut().for_each(|event| names.leave_out(event));
        assert!(!is_recognised(whole, packed));
    }
}
