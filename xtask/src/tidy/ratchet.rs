//! The ratchet file: today's exceptions to the length rules, with their sizes, which may only
//! shrink. `lengths` measures; this file reads, judges and lowers.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Problem;

pub(super) const RATCHET: &str = "xtask/ratchet.toml";

/// Measured item: key in the ratchet, location and number of lines.
#[derive(Clone, Debug)]
pub(super) struct MeasuredItem {
    pub(super) key: String,
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) lines: usize,
}

/// One kind of length with its limit, e.g. `functions`.
pub(super) struct LengthRule {
    pub(super) table: &'static str,
    pub(super) word: &'static str,
    pub(super) lines_max: usize,
}

/// Exceptions by table and key.
#[derive(Default)]
pub(super) struct Ratchet {
    comment: String,
    sizes: BTreeMap<String, BTreeMap<String, usize>>,
}

impl Ratchet {
    /// Reads the file; a missing one has no exceptions.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let table = text.parse::<toml::Table>().map_err(|error| error.message().to_owned())?;
        let comment = text.lines().take_while(|line| line.starts_with('#'));
        let comment = comment.fold(String::new(), |text, line| text + line + "\n");
        let mut sizes: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
        for (name, entries) in table {
            let entries = entries.as_table().ok_or_else(|| format!("`{name}` is not a table"))?;
            for (key, size) in entries {
                let size = size.as_integer().and_then(|size| usize::try_from(size).ok());
                let size = size.ok_or_else(|| format!("`{key}` has no number of lines"))?;
                sizes.entry(name.clone()).or_default().insert(key.clone(), size);
            }
        }
        Ok(Self { comment, sizes })
    }

    /// Checks measured items against the limit and the exceptions.
    pub(super) fn judge(&self, rule: &LengthRule, measured: &[MeasuredItem]) -> Vec<Problem> {
        let longest = longest(measured);
        let LengthRule { table, word, lines_max } = rule;
        let mut problems = Vec::new();
        for item in longest.values().filter(|item| item.lines > *lines_max) {
            let lines = item.lines;
            let (finding, advice) = match self.size(table, &item.key) {
                None => (
                    format!("{word} of {lines} lines"),
                    format!("at most {lines_max} without tests: take a part out under its name"),
                ),
                Some(size) if lines > size => (
                    format!("{word} of {lines} lines, {size} in the ratchet"),
                    "it may only shrink: take a part out under its name".to_owned(),
                ),
                Some(size) if lines < size => (
                    format!("{word} of {lines} lines, {size} in the ratchet"),
                    "lower the ratchet: `cargo xtask tidy --update`".to_owned(),
                ),
                Some(_) => continue,
            };
            problems.push(Problem::new(&item.path, item.line, finding, advice));
        }
        for key in self.sizes.get(*table).into_iter().flat_map(BTreeMap::keys) {
            if longest.get(key.as_str()).is_none_or(|item| item.lines <= *lines_max) {
                let finding = format!("`{key}` needs no exception any more");
                let advice = "lower the ratchet: `cargo xtask tidy --update`";
                problems.push(Problem::new(RATCHET, 1, finding, advice));
            }
        }
        problems
    }

    /// Lowers entries to the measured sizes and drops those not needed; never raises or adds one.
    pub(super) fn lower(&mut self, rule: &LengthRule, measured: &[MeasuredItem]) {
        let longest = longest(measured);
        if let Some(entries) = self.sizes.get_mut(rule.table) {
            entries.retain(|key, size| match longest.get(key.as_str()) {
                Some(item) if item.lines > rule.lines_max => {
                    *size = item.lines.min(*size);
                    true
                }
                _ => false,
            });
        }
    }

    /// Text of the file with these tables, including its comment.
    pub(super) fn text(&self, rules: &[LengthRule]) -> String {
        let mut text = self.comment.clone();
        for rule in rules {
            let _ = writeln!(text, "\n[{}]", rule.table);
            for (key, size) in self.sizes.get(rule.table).into_iter().flatten() {
                let _ = writeln!(text, "\"{key}\" = {size}");
            }
        }
        text
    }

    fn size(&self, table: &str, key: &str) -> Option<usize> {
        self.sizes.get(table)?.get(key).copied()
    }
}

/// Longest item for each key; two impls of one method name share a key.
fn longest(measured: &[MeasuredItem]) -> BTreeMap<&str, &MeasuredItem> {
    let mut longest: BTreeMap<&str, &MeasuredItem> = BTreeMap::new();
    for item in measured {
        let entry = longest.entry(&item.key).or_insert(item);
        if item.lines > entry.lines {
            *entry = item;
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::{LengthRule, MeasuredItem, Ratchet};

    const RULE: LengthRule = LengthRule { table: "functions", word: "function", lines_max: 70 };

    fn thing(key: &str, lines: usize) -> MeasuredItem {
        MeasuredItem { key: key.to_owned(), path: "a.rs".to_owned(), line: 3, lines }
    }

    fn verdict(entry: &str, lines: usize) -> Vec<String> {
        let ratchet = Ratchet::parse(&format!("# why\n[functions]\n{entry}\n")).unwrap();
        let problems = ratchet.judge(&RULE, &[thing("a.rs::f", lines)]);
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn growth_fails_shrinking_requires_lowering_and_equality_passes() {
        assert!(verdict("\"a.rs::f\" = 80", 81)[0].contains("may only shrink"));
        assert!(verdict("\"a.rs::f\" = 80", 79)[0].contains("lower the ratchet"));
        assert!(verdict("\"a.rs::f\" = 80", 80).is_empty());
    }

    #[test]
    fn without_an_entry_the_limit_holds() {
        assert!(verdict("", 71)[0].starts_with("a.rs:3: function of 71 lines"));
        assert!(verdict("", 70).is_empty());
    }

    #[test]
    fn unneeded_ratchet_entries_are_reported() {
        assert!(verdict("\"a.rs::f\" = 80", 70)[0].contains("needs no exception"));
        assert!(verdict("\"gone.rs::f\" = 80", 70)[0].contains("needs no exception"));
    }

    #[test]
    fn update_lowers_and_drops_but_never_raises() {
        let text = "# why\n\n[functions]\n\"a\" = 80\n\"b\" = 80\n\"c\" = 80\n\"d\" = 80\n";
        let mut ratchet = Ratchet::parse(text).unwrap();
        ratchet.lower(&RULE, &[thing("a", 75), thing("b", 90), thing("c", 60), thing("e", 99)]);
        assert_eq!(ratchet.text(&[RULE]), "# why\n\n[functions]\n\"a\" = 75\n\"b\" = 80\n");
    }

    #[test]
    fn an_unreadable_ratchet_is_an_error() {
        assert!(Ratchet::parse("[functions]\na = \"x\"\n").is_err());
        assert!(Ratchet::parse("functions = 1\n").is_err());
    }
}
