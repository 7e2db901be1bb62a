//! Rules of modprobe that a package brings along, in `lib/modprobe.d`. The files of this machine
//! do not matter, as a guest has none of them.

use std::collections::{BTreeMap, BTreeSet};

use crate::modinfo::ModuleInformation;
use crate::name_pattern::canonical;

/// Lines of modprobe.d(5): aliases, softdeps and the blacklist. Commands and options are ignored,
/// since a guest has no shell.
#[derive(Debug, Default)]
pub(crate) struct ModprobeRules {
    /// Patterns of names, each with a module.
    pub(crate) aliases: Vec<(String, String)>,
    /// Modules that are not loaded by an alias, only by name.
    pub(crate) blacklist: BTreeSet<String>,
    /// Further softdeps of modules.
    pub(crate) softdeps: BTreeMap<String, ModuleInformation>,
}

impl ModprobeRules {
    /// Adds the rules of another package.
    pub(super) fn merge(&mut self, other: Self) {
        self.aliases.extend(other.aliases);
        self.blacklist.extend(other.blacklist);
        self.softdeps.extend(other.softdeps);
    }

    /// Adds the lines of a file.
    pub(super) fn add(&mut self, text: &str) {
        // A line ends with a backslash if it goes on in the next one.
        for line in text.replace("\\\n", " ").lines() {
            let mut words = line.split_whitespace();
            match (words.next(), words.next().map(canonical)) {
                (Some("blacklist"), Some(module)) => {
                    self.blacklist.insert(module);
                }
                (Some("alias"), Some(pattern)) => {
                    self.aliases.extend(words.next().map(|module| (pattern, canonical(module))));
                }
                (Some("softdep"), Some(module)) => {
                    let names: Vec<&str> = words.collect();
                    self.softdeps.entry(module).or_default().add_softdep(&names.join(" "));
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ModprobeRules;

    #[test]
    fn lines_of_modprobe_d_are_read() {
        let mut rules = ModprobeRules::default();
        rules.add("# a comment\nblacklist i6300esb\nalias net-pf-* off-one\noptions a b=c\n");
        rules
            .add("softdep ext4 pre: \\\n  mine-first post: last\ninstall x /bin/true\nblacklist\n");
        assert!(rules.blacklist.contains("i6300esb") && rules.blacklist.len() == 1);
        assert_eq!(rules.aliases, [("net_pf_*".to_owned(), "off_one".to_owned())]);
        assert_eq!(rules.softdeps["ext4"].before, ["mine_first"]);
        assert_eq!(rules.softdeps["ext4"].after, ["last"]);
    }
}
