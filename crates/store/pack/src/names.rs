//! Leaving out what names a machine, a person or a place, wherever a text holds it.
//!
//! Each name is replaced by a word that stands for it everywhere in the pack, so that what was
//! equal stays equal. Figures, and the words of treering itself, are never touched.

use std::collections::BTreeMap;

use serde_json::Value;
use treering_model::{Annotation, Artifact, Change, Counters, Ending, Scope, TrialEvent};

/// What a name names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameKind {
    /// A machine.
    Host,
    /// A person.
    User,
    /// A file or directory.
    Path,
    /// One copy of something: a filesystem, a partition, a disk.
    Serial,
}

impl NameKind {
    /// What it is called in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host name",
            Self::User => "user name",
            Self::Path => "path",
            Self::Serial => "serial number",
        }
    }

    /// Every kind.
    pub(crate) const ALL: [Self; 4] = [Self::Host, Self::User, Self::Path, Self::Serial];

    /// What stands for such a name, with a number behind it.
    pub(crate) const fn stand_in(self) -> &'static str {
        match self {
            Self::Host => "host-",
            Self::User => "user-",
            Self::Path => "/path-",
            Self::Serial => "serial-",
        }
    }
}

/// A name that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// What it names.
    pub kind: NameKind,
    /// The name.
    pub name: String,
    /// What stands for it.
    pub instead: String,
    /// How often it stood there.
    pub times: u64,
}

/// Words that name nobody though a machine or a person may have them for a name: they are parts of
/// JSON, or what every machine is called.
const NOBODY: [&str; 9] =
    ["localhost", "(none)", "root", "nobody", "host", "user", "true", "false", "null"];

/// Facts that name a machine, and a fact that names disks among much else.
const HOST_FACTS: [&str; 1] = ["import.machine"];
const COMMAND_LINE_FACT: &str = "kernel.command_line";
/// Words of the kernel's command line whose values name a disk or a machine.
const NAMING_WORDS: [&str; 8] = [
    "root",
    "resume",
    "ip",
    "nfsroot",
    "cryptdevice",
    "rd.luks.uuid",
    "systemd.hostname",
    "netconsole",
];

/// Directories whose contents are the same everywhere.
const COMMON: [&str; 2] = ["/proc/", "/sys/kernel/"];

/// Replaces names. One is used for all of a pack, so that a name is replaced by the same word.
#[derive(Clone, Debug, Default)]
pub struct Names {
    words: Vec<(NameKind, String)>,
    paths_with_blanks: Vec<String>,
    seen: BTreeMap<(NameKind, String), (String, u64)>,
    numbers: BTreeMap<NameKind, usize>,
}

impl Names {
    /// Replaces paths and serial numbers, and these names of machines and people.
    pub fn new(known: impl IntoIterator<Item = (NameKind, String)>) -> Self {
        let mut names = Self::default();
        known.into_iter().for_each(|(kind, name)| names.know(kind, &name));
        names
    }

    /// A name to replace from now on.
    fn know(&mut self, kind: NameKind, name: &str) {
        let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
        let is_nobody = NOBODY.iter().any(|word| word.eq_ignore_ascii_case(name));
        if is_number || is_nobody || name.len() < 2 {
            return;
        }
        let name = name.to_ascii_lowercase();
        if !self.words.iter().any(|(_, known)| *known == name) {
            self.words.push((kind, name));
            // Of two that begin alike the longer one is meant.
            self.words.sort_by_key(|(_, name)| std::cmp::Reverse(name.len()));
        }
    }

    /// What was left out, by its kind.
    pub fn left_out(&self) -> Vec<LeftOut> {
        let one = |((kind, name), (instead, times)): (&(NameKind, String), &(String, u64))| {
            LeftOut { kind: *kind, name: name.clone(), instead: instead.clone(), times: *times }
        };
        self.seen.iter().map(one).collect()
    }

    /// Leaves names out of an event.
    pub fn leave_out(&mut self, event: &mut TrialEvent) {
        match event {
            TrialEvent::Began(beginning) => {
                let known = beginning.parameters.iter().map(|(_, value)| value);
                for place in known.chain([&beginning.target]) {
                    self.know_path(place);
                }
                self.text(&mut beginning.target);
                self.text(&mut beginning.label);
                beginning.parameters.iter_mut().for_each(|(_, value)| self.text(value));
                if let Some(cell) = &mut beginning.cell {
                    [&mut cell.plan, &mut cell.variant, &mut cell.job]
                        .into_iter()
                        .for_each(|name| self.text(name));
                }
            }
            TrialEvent::Environment { facts } => {
                for fact in facts.iter().filter(|fact| HOST_FACTS.contains(&&*fact.name)) {
                    self.know(NameKind::Host, &fact.value);
                }
                for fact in facts {
                    if fact.name == COMMAND_LINE_FACT {
                        fact.value = self.command_line(&fact.value);
                    }
                    if is_on_network(&fact.value) {
                        fact.value = self.instead(NameKind::Path, &fact.value);
                    }
                    self.text(&mut fact.value);
                }
            }
            TrialEvent::PhaseBegan { name, .. } => self.text(name),
            TrialEvent::TaskBegan { kind, subject, .. } => {
                self.text(kind);
                self.text(subject);
            }
            TrialEvent::Ticked { counters, .. } => self.counters(counters),
            TrialEvent::TaskEnded(task) => {
                [&mut task.kind, &mut task.subject, &mut task.state, &mut task.tally]
                    .into_iter()
                    .for_each(|text| self.text(text));
                self.counters(&mut task.counters);
            }
            TrialEvent::PhaseEnded(phase) => self.text(&mut phase.name),
            TrialEvent::Measured(metric) => match &mut metric.scope {
                Scope::Trial => {}
                Scope::Phase(name) | Scope::Kind(name) => self.text(name),
            },
            TrialEvent::Produced(Artifact { name, body, .. }) => {
                self.text(name);
                self.json(body);
            }
            TrialEvent::Cautioned(caution) => self.text(&mut caution.message),
            TrialEvent::Ended { ending, .. } => match ending {
                Ending::Failed { why } | Ending::Invalid { why } => self.text(why),
                Ending::Completed | Ending::Interrupted => {}
            },
        }
    }

    /// Leaves names out of what was said of a trial.
    pub fn leave_out_of_annotation(&mut self, annotation: &mut Annotation) {
        match &mut annotation.change {
            Change::Relabelled { label, was } => {
                self.text(label);
                self.text(was);
            }
            Change::Excluded { reason } => self.text(reason),
            Change::Included => {}
        }
    }

    /// Leaves names out of any text.
    pub fn text(&mut self, text: &mut String) {
        if !self.may_name(text) {
            return;
        }
        for path in self.paths_with_blanks.clone() {
            if text.contains(&path) {
                let instead = self.instead(NameKind::Path, &path);
                *text = text.replace(&path, &instead);
            }
        }
        *text = self.without_paths(text);
        for (kind, word) in self.words.clone() {
            *text = self.without_word(text, kind, &word);
        }
        *text = self.without_serials(text);
    }

    /// Whether there may be a name in a text: most have none.
    fn may_name(&self, text: &str) -> bool {
        let has_word = |word: &str| {
            let (text, word) = (text.as_bytes(), word.as_bytes());
            text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word))
        };
        let dashes = text.bytes().filter(|byte| *byte == b'-').count();
        text.contains('/') || dashes >= 4 || self.words.iter().any(|(_, word)| has_word(word))
    }

    /// A path that does not end where a blank stands.
    fn know_path(&mut self, path: &str) {
        let is_such = path.starts_with('/') && path.contains(char::is_whitespace);
        if is_such && !self.paths_with_blanks.iter().any(|known| known == path) {
            self.paths_with_blanks.push(path.to_owned());
        }
    }

    /// What stands for a name.
    fn instead(&mut self, kind: NameKind, name: &str) -> String {
        if let Some((instead, times)) = self.seen.get_mut(&(kind, name.to_owned())) {
            *times += 1;
            return instead.clone();
        }
        let number = self.numbers.entry(kind).or_default();
        *number += 1;
        let instead = format!("{}{number}", kind.stand_in());
        self.seen.insert((kind, name.to_owned()), (instead.clone(), 1));
        instead
    }

    fn without_paths(&mut self, text: &str) -> String {
        let mut to = String::with_capacity(text.len());
        let (mut rest, mut before) = (text, None);
        while let Some(at) = rest.find('/') {
            let (head, tail) = rest.split_at(at);
            to.push_str(head);
            before = head.chars().next_back().or(before);
            let len = tail.find(ends_path).unwrap_or(tail.len());
            let path = tail[..len].trim_end_matches('.');
            // Within a word it is no path: MiB/s, create/files_per_second.
            let is_path = before.is_none_or(|one| !is_of_word(one)) && path.len() > 1;
            let path = if is_path { path } else { &tail[..1] };
            if is_path && !is_common(path) {
                let instead = self.instead(NameKind::Path, path);
                to.push_str(&instead);
            } else {
                to.push_str(path);
            }
            before = path.chars().next_back();
            rest = &tail[path.len()..];
        }
        to.push_str(rest);
        to
    }

    fn without_word(&mut self, text: &str, kind: NameKind, word: &str) -> String {
        let lower = text.to_ascii_lowercase();
        let mut to = String::with_capacity(text.len());
        let mut from = 0;
        for (at, _) in lower.match_indices(word) {
            let end = at + word.len();
            let is_word = !text[..at].chars().next_back().is_some_and(char::is_alphanumeric)
                && !text[end..].chars().next().is_some_and(char::is_alphanumeric);
            if is_word && at >= from {
                to.push_str(&text[from..at]);
                let instead = self.instead(kind, word);
                to.push_str(&instead);
                from = end;
            }
        }
        to.push_str(&text[from..]);
        to
    }

    /// Without the identities of filesystems and partitions: eight hexadecimal digits, a dash, and
    /// so on.
    fn without_serials(&mut self, text: &str) -> String {
        const LENGTH: usize = 36;
        let mut to = String::with_capacity(text.len());
        let mut at = 0;
        while let Some(character) = text[at..].chars().next() {
            match text.get(at..at + LENGTH).filter(|part| is_uuid(part)) {
                Some(uuid) => {
                    let instead = self.instead(NameKind::Serial, uuid);
                    to.push_str(&instead);
                    at += LENGTH;
                }
                None => {
                    to.push(character);
                    at += character.len_utf8();
                }
            }
        }
        to
    }

    /// The kernel's command line without the values of words that name something.
    fn command_line(&mut self, line: &str) -> String {
        let word = |word: &str| match word.split_once('=') {
            Some((name, value)) if NAMING_WORDS.contains(&name) && !value.starts_with("/dev/") => {
                format!("{name}={}", self.instead(NameKind::Serial, value))
            }
            _ => word.to_owned(),
        };
        line.split(' ').map(word).collect::<Vec<_>>().join(" ")
    }

    fn counters(&mut self, counters: &mut Counters) {
        let mut json = counters.json().to_owned();
        self.json(&mut json);
        if json != counters.json() {
            *counters = Counters::from_json(json);
        }
    }

    /// Leaves names out of the texts of a JSON value. What holds none stays as it is, byte for
    /// byte.
    fn json(&mut self, json: &mut String) {
        if !self.may_name(json) {
            return;
        }
        let Ok(mut value) = serde_json::from_str::<Value>(json) else { return self.text(json) };
        let before = value.clone();
        self.value(&mut value);
        if value != before {
            *json = value.to_string();
        }
    }

    fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.value(value)),
            Value::Object(fields) => {
                for (mut key, mut value) in std::mem::take(fields) {
                    // The names of fields are treering's own, unless they are paths.
                    if key.starts_with('/') {
                        self.text(&mut key);
                    }
                    self.value(&mut value);
                    fields.insert(key, value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Whether no path goes on here.
fn ends_path(one: char) -> bool {
    one.is_whitespace() || one.is_control() || "\"'`<>|,;:()[]{}\\".contains(one)
}

fn is_of_word(one: char) -> bool {
    one.is_alphanumeric() || "._-)]}/%…".contains(one)
}

/// Whether a path is the same on every machine: a device by its usual name, or what the kernel
/// shows.
fn is_common(path: &str) -> bool {
    let is_device = path.strip_prefix("/dev/").is_some_and(|name| {
        !name.is_empty() && name.bytes().all(|one| one.is_ascii_alphanumeric())
    });
    is_device || COMMON.iter().any(|dir| path.starts_with(dir))
}

/// Whether it is a directory of another machine: `server:/export`.
fn is_on_network(value: &str) -> bool {
    let server = value.split_once(":/").map(|(server, _)| server);
    server.is_some_and(|server| !server.is_empty() && !server.contains([' ', '/']))
}

fn is_uuid(text: &str) -> bool {
    let is_digit = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.bytes().enumerate().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::{NameKind, Names};

    fn without(text: &str) -> String {
        let known = [
            (NameKind::Host, "Kestrel".to_owned()),
            (NameKind::User, "root".to_owned()),
            (NameKind::User, "ada".to_owned()),
        ];
        let mut text = text.to_owned();
        Names::new(known).text(&mut text);
        text
    }

    #[test]
    fn paths_hosts_users_and_serial_numbers_are_left_out() {
        let cases = [
            ("/home/ada/tree: Permission denied", "/path-1: Permission denied"),
            (
                "cannot open '/a/b' and '/a/c' of /a/b.",
                "cannot open '/path-1' and '/path-2' of /path-1.",
            ),
            ("on kestrel, KESTREL.example.org", "on host-1, host-1.example.org"),
            ("ada's adagio", "user-1's adagio"),
            ("UUID=6f9619ff-8b86-d011-b42d-00c04fc964ff", "UUID=serial-1"),
            ("dir=/srv/x,other=~/y", "dir=/path-1,other=~/path-2"),
            ("/dev/disk/by-id/ata-X_123", "/path-1"),
            ("été /mnt/é", "été /path-1"),
        ];
        for (before, after) in cases {
            assert_eq!(without(before), after);
        }
    }

    #[test]
    fn what_names_nobody_stays() {
        for text in [
            "MiB/s",
            "create/files_per_second",
            "root",
            "/",
            "a / b",
            "/dev/loop0 of /dev/shm",
            "/proc/sys/vm/drop_caches",
            "1/2, 3/4",
            "",
        ] {
            assert_eq!(without(text), text);
        }
    }

    #[test]
    fn what_was_left_out_is_told() {
        let mut names = Names::new([]);
        let mut text = "/a /b /a".to_owned();
        names.text(&mut text);
        let told: Vec<_> = names.left_out().into_iter().map(|one| (one.name, one.times)).collect();
        assert_eq!(told, [("/a".to_owned(), 2), ("/b".to_owned(), 1)]);
    }
}
