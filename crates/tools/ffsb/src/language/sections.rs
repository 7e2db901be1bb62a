//! Sorting of lines into sections; each value is parsed as its key requires.

use std::collections::HashMap;

use super::keys::{ALL, SettingKey, SettingScope, ValueKind, find};
use super::lines::{ProfileLine, lines};
use super::timed_call::TimedCall;
use super::values::{RawValue, SettingValue};
use treering_kit::faults::{Fault, Faults, Place, shown};
use treering_model::nearest::nearest;

/// Maximum number of filesystems, and of groups, which have at least one thread each.
const FILESYSTEMS_MAX: usize = 1024;
const GROUPS_MAX: usize = 4096;
/// Maximum number of sizes of a filesystem, and of ranges of a group.
const ROWS_MAX: usize = 1000;

/// Section of a profile; also used for the settings outside of all sections.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) scope: SettingScope,
    /// Position of the section's header.
    pub(super) place: Place,
    settings: HashMap<&'static str, Setting>,
    /// Size weights, in the order of the file.
    pub(super) size_weights: Vec<(u64, u64)>,
    pub(super) ranges_ms: Vec<(f64, f64)>,
    pub(super) ignored: [bool; TimedCall::COUNT],
    /// Nested sections, in order.
    pub(super) filesystems: Vec<Self>,
    pub(super) groups: Vec<Self>,
    pub(super) stats: Vec<Self>,
}

#[derive(Debug)]
struct Setting {
    value: SettingValue,
    place: Place,
}

impl Section {
    fn new(scope: SettingScope, place: Place) -> Self {
        Self {
            scope,
            place,
            settings: HashMap::new(),
            size_weights: Vec::new(),
            ranges_ms: Vec::new(),
            ignored: [false; TimedCall::COUNT],
            filesystems: Vec::new(),
            groups: Vec::new(),
            stats: Vec::new(),
        }
    }

    /// Position of a setting's value, or of the section if the setting is missing.
    pub(super) fn place_of(&self, key: &str) -> Place {
        self.settings.get(key).map_or(self.place, |setting| setting.place)
    }

    /// True if the setting is present.
    pub(super) fn has(&self, key: &str) -> bool {
        self.settings.contains_key(key)
    }

    /// First setting other than these two, with its position.
    pub(super) fn first_key_except(&self, keys: [&str; 2]) -> Option<(&'static str, Place)> {
        let others = self.settings.iter().filter(|(key, _)| !keys.contains(*key));
        others.map(|(key, setting)| (*key, setting.place)).min_by_key(|(_, place)| *place)
    }

    /// Value of a number, if present.
    pub(super) fn number(&self, key: &str) -> Option<u64> {
        match self.settings.get(key)?.value {
            SettingValue::Number(number) => Some(number),
            _ => None,
        }
    }

    /// True if a switch is on.
    pub(super) fn is_on(&self, key: &str) -> bool {
        self.number(key) == Some(1)
    }

    /// Value of a share, if present.
    pub(super) fn share(&self, key: &str) -> Option<f64> {
        match self.settings.get(key)?.value {
            SettingValue::Share(share) => Some(share),
            _ => None,
        }
    }

    /// Value of a path or a command, if present.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        match &self.settings.get(key)?.value {
            SettingValue::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Sorts the lines of a profile into sections; returns the settings outside of all sections, which
/// contain the sections.
pub(super) fn sort<'t>(text: &'t [u8], faults: &mut Faults<'t>) -> Result<Section, Fault> {
    let mut sorter = SectionStack { open: Vec::new(), faults };
    let mut current = Section::new(SettingScope::Profile, Place::START);
    for line in lines(text, sorter.faults)? {
        let read = match line {
            ProfileLine::Section { word, place } => {
                // Which settings are right depends on the section: without it, none is looked at.
                current = sorter.section(current, &word, place)?;
                continue;
            }
            ProfileLine::Setting { key, place, value, value_place } => {
                sorter.setting(&mut current, &key, place, value, value_place)
            }
            ProfileLine::Words(words) => sorter.words(&mut current, &words),
        };
        sorter.faults.ok_or_record(read);
        if sorter.faults.is_full() {
            break;
        }
    }
    // A missing last [end] is fine in the original; several are more likely a mistake.
    if sorter.open.len() > 1 {
        let message = format!("[end] is missing {} times", sorter.open.len());
        sorter.faults.warn(current.place, message);
    }
    while !sorter.open.is_empty() {
        current = sorter.end(current, Place::START)?;
    }
    Ok(current)
}

/// Sections that enclose the current one, outermost first.
struct SectionStack<'m, 't> {
    open: Vec<Section>,
    faults: &'m mut Faults<'t>,
}

impl SectionStack<'_, '_> {
    /// Handles a section header or end; returns the section that is current afterwards.
    fn section(&mut self, current: Section, word: &str, place: Place) -> Result<Section, Fault> {
        let scope = match word {
            "end" => return self.end(current, place),
            "filesystem" => SettingScope::Filesystem,
            "threadgroup" => SettingScope::Group,
            "stats" => SettingScope::Stats,
            _ => {
                let message = format!("there is no section [{}]", shown(word));
                let words = ["filesystem", "threadgroup", "stats", "end"];
                let right = match nearest(word, words) {
                    Some(meant) => format!("did you mean [{meant}]?"),
                    None => {
                        "the sections are [filesystem], [threadgroup], [stats] and [end]".into()
                    }
                };
                return Err(self.faults.error(place, message).hint(right));
            }
        };
        let (count, most) = match (current.scope, scope) {
            (SettingScope::Profile, SettingScope::Filesystem) => {
                (current.filesystems.len(), FILESYSTEMS_MAX)
            }
            (SettingScope::Profile, SettingScope::Group) => (current.groups.len(), GROUPS_MAX),
            (SettingScope::Filesystem, SettingScope::Group) => (current.groups.len(), 1),
            (SettingScope::Group, SettingScope::Stats) => (current.stats.len(), 1),
            (SettingScope::Profile, _) => {
                let message = "[stats] stands outside of a section";
                let right = "[stats] belongs in [threadgroup], before its [end]";
                return Err(self.faults.error(place, message).hint(right));
            }
            (inside, _) => {
                let message = format!("[{word}] begins {}", inside.inside());
                let right = format!(
                    "is the [end] of the section missing that begins in line {}?",
                    current.place.line
                );
                return Err(self.faults.error(place, message).hint(right));
            }
        };
        if count >= most {
            let message = format!("there are more than {most} [{word}] {}", current.scope.inside());
            let right = format!("there may be {most}; is an [end] missing?");
            return Err(self.faults.error(place, message).hint(right));
        }
        self.open.push(current);
        Ok(Section::new(scope, place))
    }

    /// Ends the current section; returns the enclosing one.
    fn end(&mut self, current: Section, place: Place) -> Result<Section, Fault> {
        let Some(mut around) = self.open.pop() else {
            let right = "each [end] ends one [filesystem], [threadgroup] or [stats]";
            return Err(self.faults.error(place, "[end] without a section").hint(right));
        };
        match current.scope {
            SettingScope::Filesystem => around.filesystems.push(current),
            SettingScope::Group => around.groups.push(current),
            SettingScope::Stats => around.stats.push(current),
            SettingScope::Profile => {}
        }
        Ok(around)
    }

    /// Finds the key of a name in a section.
    fn key(
        &self,
        scope: SettingScope,
        name: &str,
        place: Place,
    ) -> Result<&'static SettingKey, Fault> {
        match find(name, scope) {
            Some(key) if key.scope == scope => Ok(key),
            Some(key) => {
                let message = format!("'{name}' stands {}", scope.inside());
                let right = format!("{name} belongs {}", key.scope.inside());
                Err(self.faults.error(place, message).hint(right))
            }
            None => {
                let message = format!("there is no setting '{}' {}", shown(name), scope.inside());
                let is_former = |key: &&SettingKey| {
                    matches!(
                        key.kind,
                        ValueKind::Former(_) | ValueKind::Sections(_) | ValueKind::FsyncFile
                    )
                };
                let present = ALL.iter().filter(|key| !is_former(key));
                let in_scope = present.clone().filter(|key| key.scope == scope).map(|key| key.name);
                let right = match nearest(name, in_scope.clone()) {
                    Some(meant) => format!("did you mean {meant}?"),
                    None => match nearest(name, present.map(|key| key.name)) {
                        Some(meant) => {
                            let scope = find(meant, scope).map_or(scope, |key| key.scope);
                            format!("did you mean {meant}? It belongs {}", scope.inside())
                        }
                        None => format!("there are {}", in_scope.collect::<Vec<_>>().join(", ")),
                    },
                };
                Err(self.faults.error(place, message).hint(right))
            }
        }
    }

    /// Parses `key = value`.
    fn setting(
        &mut self,
        section: &mut Section,
        name: &str,
        place: Place,
        value: &str,
        value_place: Place,
    ) -> Result<(), Fault> {
        let mut key = self.key(section.scope, name, place)?;
        if let ValueKind::Former(now) = key.kind {
            self.faults.warn(place, format!("FFSB 6.0-RC2 refuses {name}; it is read as {now}"));
            key = self.key(section.scope, now, place)?;
        }
        let raw = RawValue { key: name, text: value, place: value_place };
        match key.kind {
            ValueKind::SizeWeight | ValueKind::Range => {
                let words = if key.kind == ValueKind::Range { "FROM TO" } else { "SIZE WEIGHT" };
                let message = format!("'{name}' has a =");
                let right = format!("write {name} {words}, without =");
                return Err(self.faults.error(place, message).hint(right));
            }
            ValueKind::Ignore => {
                section.ignored[raw.call(self.faults)?.place()] = true;
                return Ok(());
            }
            ValueKind::FsyncFile => {
                let more = match raw.read(key.kind, self.faults)? {
                    SettingValue::Number(1) => {
                        "; write_fsync_weight, create_fsync_weight and others do"
                    }
                    _ => "",
                };
                let message = format!("FFSB 6.0-RC2 refuses {name}; it has no effect{more}");
                self.faults.warn(place, message);
                return Ok(());
            }
            _ => {}
        }
        let value = raw.read(key.kind, self.faults)?;
        let setting = Setting { value, place: value_place };
        if section.settings.insert(key.name, setting).is_some() {
            self.faults.warn(place, format!("{} is given again; this one counts", key.name));
        }
        Ok(())
    }

    /// Parses `size_weight SIZE WEIGHT` or `msec_range FROM TO`.
    fn words(&mut self, section: &mut Section, words: &[(&str, Place)]) -> Result<(), Fault> {
        let [(name, place), tail @ ..] = words else { return Ok(()) };
        let key = self.key(section.scope, name, *place)?;
        let right = match key.kind {
            ValueKind::SizeWeight => {
                "write size_weight SIZE WEIGHT, as size_weight 4k 33".to_owned()
            }
            ValueKind::Range => "write msec_range FROM TO, as msec_range 0.5 1".to_owned(),
            _ => {
                let message = format!("'{name}' has no =");
                return Err(self.faults.error(*place, message).hint(format!("write {name} = ...")));
            }
        };
        let [(first, first_place), (second, second_place)] = *tail else {
            let message = format!("{name} has {} values, not two", tail.len());
            return Err(self.faults.error(*place, message).hint(right));
        };
        let raw = |text, place| RawValue { key: key.name, text, place };
        let (first, second) = (raw(first, first_place), raw(second, second_place));
        if section.size_weights.len().max(section.ranges_ms.len()) >= ROWS_MAX {
            let message = format!("there are more than {ROWS_MAX} {name}");
            return Err(self
                .faults
                .error(*place, message)
                .hint(format!("give at most {ROWS_MAX}")));
        }
        if key.kind == ValueKind::SizeWeight {
            let row = (first.size(self.faults)?, second.number(u64::MAX, self.faults)?);
            section.size_weights.push(row);
            return Ok(());
        }
        let row = (first.milliseconds(self.faults)?, second.milliseconds(self.faults)?);
        if row.0 > row.1 {
            let message = format!("msec_range: {} is more than {}", row.0, row.1);
            return Err(self.faults.error(first.place, message).hint(right));
        }
        section.ranges_ms.push(row);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Faults, sort};

    fn refused(text: &str) -> (String, String) {
        let mut faults = Faults::new("f", text.as_bytes());
        let sorted = sort(text.as_bytes(), &mut faults);
        let error = sorted.err().map(|fault| faults.refuse(fault));
        let error = error.unwrap_or_else(|| faults.check().unwrap_err());
        (error.message.lines().next().unwrap().to_owned(), error.hint.unwrap())
    }

    #[test]
    fn section_nesting_is_checked() {
        let text = "[stats0]\n";
        assert_eq!(refused(text).0, "f:1:1: [stats] stands outside of a section");
        assert_eq!(refused("\n[end]").0, "f:2:1: [end] without a section");
        let (message, right) = refused("[filesystem0]\nreuse=0\n [filesystem1]");
        assert_eq!(message, "f:3:2: [filesystem] begins in [filesystem]");
        assert_eq!(right, "is the [end] of the section missing that begins in line 1?");
        let twice = "[filesystem]\n[threadgroup]\n[end]\n[threadgroup]\n";
        assert_eq!(refused(twice).0, "f:4:1: there are more than 1 [threadgroup] in [filesystem]");
        assert_eq!(refused("[thread_group0]").1, "did you mean [threadgroup]?");
        assert!(refused("[x]").1.starts_with("the sections are"));
    }

    #[test]
    fn unknown_and_misplaced_keys_are_explained() {
        let (message, right) = refused("time=1\n  num_dirs = 3");
        assert_eq!(message, "f:2:3: 'num_dirs' stands outside of the sections");
        assert_eq!(right, "num_dirs belongs in [filesystem]");
        let (message, right) = refused("[threadgroup]\nnum_thread=2");
        assert_eq!(message, "f:2:1: there is no setting 'num_thread' in [threadgroup]");
        assert_eq!(right, "did you mean num_threads?");
        let (_, right) = refused("[threadgroup]\nenable_stat=2");
        assert_eq!(right, "did you mean enable_stats? It belongs in [stats]");
        assert!(refused("colour").1.starts_with("there are time, directio"));
        assert_eq!(refused("time 3").0, "f:1:1: 'time' has no =");
        assert_eq!(refused("\u{1b} = 3").0, "f:1:1: the control character \\u{1b}");
        assert_eq!(
            refused("a\u{200b}\u{a0} = 3").0,
            "f:1:1: there is no setting 'a\\u{200b}\\u{a0}' outside of the sections"
        );
    }

    #[test]
    fn rows_of_two_values_are_checked() {
        let (message, right) = refused("[filesystem]\nsize_weight = 4k 33");
        assert_eq!(message, "f:2:1: 'size_weight' has a =");
        assert_eq!(right, "write size_weight SIZE WEIGHT, without =");
        assert_eq!(
            refused("[filesystem]\nsize_weight 4k").0,
            "f:2:1: size_weight has 1 values, not two"
        );
        assert_eq!(
            refused("[filesystem]\nsize_weight 4k -3").0,
            "f:2:16: size_weight: '-3' is not a whole number that fits"
        );
        let range = "[threadgroup]\n[stats]\nmsec_range 2 1.5";
        assert_eq!(refused(range).0, "f:3:12: msec_range: 2 is more than 1.5");
        let many = format!("[filesystem]\n{}", "size_weight 4k 1\n".repeat(1001));
        assert_eq!(refused(&many).0, "f:1002:1: there are more than 1000 size_weight");
    }

    #[test]
    fn number_of_sections_is_limited() {
        let text = "[filesystem]\n[end]\n".repeat(50_000);
        assert!(refused(&text).0.ends_with("more than 1024 [filesystem] outside of the sections"));
        let again = "time=1\n".repeat(140_000);
        let mut faults = Faults::new("f", b"");
        sort(again.as_bytes(), &mut faults).unwrap();
        let warnings = faults.into_warnings();
        assert_eq!(warnings.len(), 101);
        assert_eq!(warnings[0], "f:2:1: time is given again; this one counts");
        assert_eq!(warnings[100], "f: 139899 more warnings");
    }
}
