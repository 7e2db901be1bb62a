//! Removal of names of machines, people and places from all texts.
//!
//! Each name is replaced by the same placeholder everywhere in the pack, so that equal texts stay
//! equal. Figures, and the words of treering itself, are never changed.

use std::collections::BTreeMap;

use serde_json::Value;
use treering_model::{Annotation, AnnotationKind, Artifact, Counters, Ending, Scope, TrialEvent};

use crate::identifiers;
use crate::kind::NameKind;

/// A name that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovedName {
    /// Kind of the name.
    pub kind: NameKind,
    /// Name that was replaced.
    pub name: String,
    /// Placeholder that replaces it.
    pub instead: String,
    /// Number of replacements.
    pub times: u64,
}

/// Words that are never treated as names: they are part of JSON, or common to all machines.
const NEVER_NAMES: [&str; 9] =
    ["localhost", "(none)", "root", "nobody", "host", "user", "true", "false", "null"];

/// Facts that hold a host name, and the fact with the kernel command line.
const HOST_FACTS: [&str; 1] = ["import.machine"];
const COMMAND_LINE_FACT: &str = "kernel.command_line";
/// Kernel parameters whose values name a disk or a machine.
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

/// Directories with the same contents on every machine.
const COMMON: [&str; 2] = ["/proc/", "/sys/kernel/"];

/// Replaces names. One instance serves a whole pack, so that a name always gets the same
/// placeholder.
#[derive(Clone, Debug, Default)]
pub struct NameRemover {
    words: Vec<(NameKind, String)>,
    paths_with_blanks: Vec<String>,
    seen: BTreeMap<(NameKind, String), (String, u64)>,
    numbers: BTreeMap<NameKind, usize>,
}

impl NameRemover {
    /// Creates a replacer of paths, serial numbers, and the given names of machines and people.
    pub fn new(known: impl IntoIterator<Item = (NameKind, String)>) -> Self {
        let mut names = Self::default();
        known.into_iter().for_each(|(kind, name)| names.register(kind, &name));
        names
    }

    /// Registers a name to replace from now on.
    fn register(&mut self, kind: NameKind, name: &str) {
        let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
        let is_never_a_name = NEVER_NAMES.iter().any(|word| word.eq_ignore_ascii_case(name));
        if is_number || is_never_a_name || name.len() < 2 {
            return;
        }
        let name = name.to_ascii_lowercase();
        if !self.words.iter().any(|(_, known)| *known == name) {
            self.words.push((kind, name));
            // The longer of two names with the same beginning takes precedence.
            self.words.sort_by_key(|(_, name)| std::cmp::Reverse(name.len()));
        }
    }

    /// Names left out so far, by kind.
    pub fn left_out(&self) -> Vec<RemovedName> {
        let removed = |((kind, name), (instead, times)): (&(NameKind, String), &(String, u64))| {
            RemovedName { kind: *kind, name: name.clone(), instead: instead.clone(), times: *times }
        };
        self.seen.iter().map(removed).collect()
    }

    /// Removes names from an event.
    pub fn leave_out(&mut self, event: &mut TrialEvent) {
        match event {
            TrialEvent::Began(beginning) => {
                let known = beginning.parameters.iter().map(|(_, value)| value);
                for place in known.chain([&beginning.target]) {
                    self.register_path(place);
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
                    self.register(NameKind::Host, &fact.value);
                }
                for fact in facts {
                    if fact.name == COMMAND_LINE_FACT {
                        fact.value = self.command_line(&fact.value);
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

    /// Removes names from an annotation of a trial.
    pub fn leave_out_of_annotation(&mut self, annotation: &mut Annotation) {
        match &mut annotation.change {
            AnnotationKind::Relabelled { label, was } => {
                self.text(label);
                self.text(was);
            }
            AnnotationKind::Excluded { reason } => self.text(reason),
            AnnotationKind::Included => {}
            AnnotationKind::Acknowledged(change) | AnnotationKind::Withdrawn(change) => {
                self.text(&mut change.reason);
            }
        }
    }

    /// Removes names from a text.
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
        *text = self.without_servers(text);
        *text = self.without_paths(text);
        *text = self.without_identifiers(text);
        for (kind, word) in self.words.clone() {
            *text = self.without_word(text, kind, &word);
        }
    }

    /// Reports whether a text may contain a name; most do not.
    fn may_name(&self, text: &str) -> bool {
        let has_word = |word: &str| {
            let (text, word) = (text.as_bytes(), word.as_bytes());
            text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word))
        };
        text.contains('/')
            || identifiers::may_identify(text)
            || self.words.iter().any(|(_, word)| has_word(word))
    }

    /// Registers a path that contains blanks, which would otherwise end it.
    fn register_path(&mut self, path: &str) {
        let is_such = path.starts_with('/') && path.contains(char::is_whitespace);
        if is_such && !self.paths_with_blanks.iter().any(|known| known == path) {
            self.paths_with_blanks.push(path.to_owned());
        }
    }

    /// Placeholder for a name.
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
        let (mut remaining, mut before) = (text, None);
        while let Some(at) = remaining.find('/') {
            let (head, tail) = remaining.split_at(at);
            to.push_str(head);
            before = head.chars().next_back().or(before);
            let len = tail.find(ends_path).unwrap_or(tail.len());
            let path = tail[..len].trim_end_matches('.');
            // Inside a word a slash begins no path: MiB/s, create/files_per_second.
            let is_path = before.is_none_or(|c| !is_of_word(c)) && path.len() > 1;
            let path = if is_path { path } else { &tail[..1] };
            if is_path && !is_common(path) {
                let instead = self.instead(NameKind::Path, path);
                to.push_str(&instead);
            } else {
                to.push_str(path);
            }
            before = path.chars().next_back();
            remaining = &tail[path.len()..];
        }
        to.push_str(remaining);
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

    /// Replaces network addresses, mail addresses and serial numbers, recognised by their form.
    fn without_identifiers(&mut self, text: &str) -> String {
        let mut to = String::with_capacity(text.len());
        let (mut at, mut before) = (0, None);
        while let Some(character) = text[at..].chars().next() {
            let identifier = identifiers::at_start(&text[at..], before);
            let identifier = identifier
                .filter(|(_, skipped, len)| !is_stand_in(&text[at + skipped..at + skipped + len]));
            if let Some((kind, skipped, len)) = identifier {
                let (from, end) = (at + skipped, at + skipped + len);
                to.push_str(&text[at..from]);
                let instead = self.instead(kind, &text[from..end]);
                to.push_str(&instead);
                at = end;
            } else {
                to.push(character);
                at += character.len_utf8();
            }
            before = text[..at].chars().next_back();
        }
        to
    }

    /// Replaces the host names of remote directories: `server:/export`.
    fn without_servers(&mut self, text: &str) -> String {
        let mut to = String::with_capacity(text.len());
        let (mut at, mut before) = (0, None);
        while let Some(character) = text[at..].chars().next() {
            let is_begin = !before.is_some_and(|c: char| is_of_word(c) || c == '@');
            match identifiers::servers(&text[at..]).filter(|_| is_begin) {
                Some(len) => {
                    let hosts = text[at..at + len].split(',');
                    let hosts: Vec<String> = hosts.map(|host| self.server(host)).collect();
                    to.push_str(&hosts.join(","));
                    at += len;
                }
                None => {
                    to.push(character);
                    at += character.len_utf8();
                }
            }
            before = text[..at].chars().next_back();
        }
        to
    }

    /// Placeholder for the host name of a server; an IP address is left for the replacement of
    /// addresses.
    fn server(&mut self, host: &str) -> String {
        let is_address = host.parse::<std::net::IpAddr>().is_ok();
        let is_never_a_name = NEVER_NAMES.iter().any(|word| word.eq_ignore_ascii_case(host));
        if is_address || is_never_a_name || is_stand_in(host) {
            return host.to_owned();
        }
        self.instead(NameKind::Host, &host.to_ascii_lowercase())
    }

    /// Kernel command line without the values of parameters that name something.
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

    /// Removes names from the texts of a JSON value. JSON without names stays as it is, byte for
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
                    // Field names are treering's own, unless they are paths.
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

/// Reports whether a character ends a path.
fn ends_path(c: char) -> bool {
    c.is_whitespace() || c.is_control() || "\"'`<>|,;:()[]{}\\".contains(c)
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || "._-)]}/%…".contains(c)
}

/// Reports whether a path is the same on every machine: a device by its usual name, or a kernel
/// file.
fn is_common(path: &str) -> bool {
    let is_device = path.strip_prefix("/dev/").is_some_and(|name| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    is_device || COMMON.iter().any(|dir| path.starts_with(dir))
}

/// Reports whether a text is a placeholder already.
fn is_stand_in(text: &str) -> bool {
    NameKind::ALL.iter().any(|kind| {
        let number = text.strip_prefix(kind.stand_in());
        number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

#[cfg(test)]
mod tests {
    use super::NameRemover;
    use crate::kind::NameKind;

    fn without(text: &str) -> String {
        let known = [
            (NameKind::Host, "Kestrel".to_owned()),
            (NameKind::User, "root".to_owned()),
            (NameKind::User, "ada".to_owned()),
        ];
        let mut text = text.to_owned();
        NameRemover::new(known).text(&mut text);
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
            ("mail ada@lovelace.example.org.", "mail mail-1."),
            ("(root@builder) #1 SMP", "(mail-1) #1 SMP"),
            ("stale handle on fileserver:/export/x", "stale handle on host-1:/path-1"),
            ("oak,elm.example.org:/vol", "host-1,host-2:/path-1"),
            ("of 10.1.2.3:/srv and 10.1.2.3", "of address-1:/path-1 and address-1"),
            ("[fe80::1ff:fe23:4567:890a]:/x", "[address-1]:/path-1"),
            ("10.0.0.7@tcp:/lustre", "address-1@tcp:/path-1"),
            (
                "rw,vers=4.2,clientaddr=10.0.0.1,addr=10.0.0.2,local_lock=none",
                "rw,vers=4.2,clientaddr=address-1,addr=address-2,local_lock=none",
            ),
            (
                "mountaddr=10.0.0.2,mountport=20048,addr=10.0.0.2",
                "mountaddr=address-1,mountport=20048,addr=address-1",
            ),
            ("addr=2001:db8::17,mounthost=oak", "addr=address-1,mounthost=host-1"),
            ("eth0 52:54:00:12:34:5f up", "eth0 address-1 up"),
            ("id 52-54-00-12-34-5F.", "id address-1."),
            ("id c0ffee00112233445566778899aabbcc;", "id serial-1;"),
            ("wwn-0x5000c500a1b2c3d4-part1", "serial-1-part1"),
            ("port 50:01:43:80:12:34:56:78", "port serial-1"),
            ("naa.5000c500a1b2c3d4 eui.0025385b71b00bd2", "serial-1 serial-2"),
            ("nqn.2014-08.org.nvmexpress:uuid:6f9619ff-8b86-d011-b42d-00c04fc964ff", "serial-1"),
            ("iqn.2003-01.org.example:disk1,t,0x0001", "serial-1,t,0x0001"),
            ("PARTUUID=1a2b3c4d-01 UUID=\"ABCD-1234\"", "PARTUUID=serial-1 UUID=\"serial-2\""),
            ("username=bob,domain=corp", "username=user-1,domain=host-1"),
        ];
        for (before, after) in cases {
            assert_eq!(without(before), after);
        }
    }

    #[test]
    fn impersonal_words_are_kept() {
        for text in [
            "MiB/s",
            "create/files_per_second",
            "root",
            "/",
            "a / b",
            "/dev/loop0 of /dev/shm",
            "/proc/sys/vm/drop_caches",
            "1/2, 3/4",
            "6.1.0-13-amd64 5.15.0 version 1.2.3",
            "localhost",
            "1.2.3.4.5",
            "127.0.0.1 0.0.0.0 ::1 ::",
            "12:34:56 2026-11-26 01-02-03-04-05-06",
            "std::fs::read a::b",
            "0000:00:1f.2",
            "sha256 d0ac54b0d0ac54b0d0ac54b0d0ac54b0d0ac54b0d0ac54b0d0ac54b0d0ac54b0",
            "0123456789abcdef",
            "rw=randwrite,size=64k,bs=4k",
            "subvol=@home",
            "address=1 myaddr=2",
            "",
        ] {
            assert_eq!(without(text), text);
        }
    }

    #[test]
    fn removal_of_names_is_idempotent() {
        let text = "host-1:/path-1 addr=address-1 mail-1 serial-1 UUID=serial-2";
        let again = without(text);
        let words = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
        assert_eq!(words(&again), words(text));
    }

    #[test]
    fn removed_names_are_reported() {
        let mut names = NameRemover::new([]);
        let mut text = "/a /b /a".to_owned();
        names.text(&mut text);
        let reported: Vec<_> =
            names.left_out().into_iter().map(|removed| (removed.name, removed.times)).collect();
        assert_eq!(reported, [("/a".to_owned(), 2), ("/b".to_owned(), 1)]);
    }
}
