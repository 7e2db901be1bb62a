//! Filesystems have one table, `crates/model/src/filesystems`: other code must not contain the name
//! of a filesystem, its magic number, or the magic bytes on its devices. Code for a single
//! filesystem says so with a constant of the table, in a list with one line for each.
//!
//! A text with a space in it is for people (help, hints, messages) and may name a filesystem, as
//! may tests.

use std::collections::BTreeSet;

use super::Problem;
use super::source::{RustFile, Token};
use super::tree::CheckoutTree;

const TABLE: &str = "crates/model/src/filesystems/";

/// Files with words of imitated tools (dbench calls one of its backends `nfs`), or with names of
/// shipped plans, which name the filesystems that they compare.
const OTHER_NAMES: &[&str] = &["crates/tools/", "crates/conduct/src/plan/shipped.rs"];

/// Minimum length of magic bytes to look for: shorter ones occur in too many other texts.
const MAGIC_CHARS_MIN: usize = 4;

/// Constructors of table entries and signatures from names.
const CONSTRUCTORS: &[&str] = &["mounted", "known", "on_disk", "at"];

/// Names, magic numbers and magic bytes in the table.
#[derive(Default)]
struct NameTable {
    /// Names in lower case.
    names: BTreeSet<String>,
    numbers: BTreeSet<u64>,
    magics: BTreeSet<String>,
}

pub(super) fn check(tree: &CheckoutTree) -> Vec<Problem> {
    let mut table = NameTable::default();
    for (_, rust) in tree.rust().filter(|(file, _)| file.path.starts_with(TABLE)) {
        table.read(rust);
    }
    let mut problems = Vec::new();
    for (file, rust) in tree.rust() {
        let is_code = file.path.starts_with("crates/") && file.path.contains("/src/");
        let is_other = OTHER_NAMES.iter().any(|place| file.path.starts_with(place));
        if !is_code || is_other || file.path.starts_with(TABLE) {
            continue;
        }
        for token in rust.tokens.iter().filter(|token| !rust.is_test(token.line)) {
            if let Some(finding) = table.forbidden_name(token) {
                let advice = format!("let {TABLE} say it and use it from there");
                problems.push(Problem::new(&file.path, token.line, finding, advice));
            }
        }
    }
    problems
}

impl NameTable {
    fn read(&mut self, rust: &RustFile) {
        let code = || rust.tokens.iter().filter(|token| !rust.is_test(token.line));
        let tokens: Vec<&Token> = code().collect();
        for window in tokens.windows(3) {
            let [before, sign, literal] = window else { continue };
            let is_named = before.text == "name" && sign.text == ":";
            let is_made = CONSTRUCTORS.contains(&before.text.as_str()) && sign.text == "(";
            if (is_named || is_made)
                && let Some(name) = text_of(&literal.text).filter(|name| !name.is_empty())
            {
                self.names.insert(name.to_lowercase());
            }
        }
        self.numbers.extend(code().filter_map(|token| number(&token.text)).filter(is_magic));
        let bytes = code().filter(|token| token.text.starts_with("b\""));
        let long = bytes.filter(|token| token.text.len() >= MAGIC_CHARS_MIN + "b\"\"".len());
        self.magics.extend(long.map(|token| token.text.clone()));
    }

    /// Description of a token that only the table may contain, if it is one.
    fn forbidden_name(&self, token: &Token) -> Option<String> {
        if let Some(text) = text_of(&token.text) {
            let is_prose = text.contains(char::is_whitespace);
            let lower = text.to_lowercase();
            let mut words = lower.split(|letter: char| !letter.is_ascii_alphanumeric());
            let name = words.find(|word| self.names.contains(*word)).filter(|_| !is_prose)?;
            return Some(format!("`{text}` has the name of a filesystem, {name}"));
        }
        if self.magics.contains(&token.text) {
            return Some(format!("{} is what a filesystem is known by", token.text));
        }
        let number = number(&token.text).filter(|number| self.numbers.contains(number))?;
        Some(format!("{number:#x} is the number of a filesystem"))
    }
}

/// Content of a plain string literal.
fn text_of(literal: &str) -> Option<&str> {
    literal.strip_prefix('"')?.strip_suffix('"')
}

/// Value of a hexadecimal number, the form of magic numbers.
fn number(literal: &str) -> Option<u64> {
    let digits: String = literal.strip_prefix("0x")?.chars().filter(|c| *c != '_').collect();
    let digits = digits.trim_end_matches("u64").trim_end_matches("u32").trim_end_matches("u16");
    u64::from_str_radix(digits, 16).ok()
}

/// True for numbers with many one bits, as magic numbers have; offsets on a device have few.
fn is_magic(number: &u64) -> bool {
    *number > 0xff && number.count_ones() >= 4
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::CheckoutTree;

    const XFS: &str = "const XFS: F = F {\n    name: \"xfs\",\n    magic: 0x5846_5342,\n    \
                       signatures: &[S { name: \"XFS\", place: Begin(0x1000), magic: b\"XFSB\" }],\n};\n\
                       const OTHERS: &[F] = &[mounted(\"overlay\", 0x794c_7630)];\n";

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let table = ("crates/model/src/filesystems/xfs.rs", XFS);
        let tree = CheckoutTree::from_texts(&[table, (path, text)]);
        check(&tree).iter().map(|problem| problem.line).collect()
    }

    #[test]
    fn filesystem_names_numbers_and_magic_bytes_are_reported() {
        let text = "fn a() {\n    b(\"xfs\");\n    b(\"fs/overlay/x\");\n    b(\"CONFIG_XFS_FS\");\n    \
                    b(0x58465342_u32);\n    b(b\"XFSB\");\n}\n";
        assert_eq!(lines("crates/engine/x/src/a.rs", text), [2, 3, 4, 5, 6]);
    }

    #[test]
    fn messages_tests_other_words_and_round_numbers_pass() {
        let text = "/// xfs\nfn a() {\n    b(\"xfs has none\", \"xfsprogs\", 0x1000);\n}\n";
        assert!(lines("crates/engine/x/src/a.rs", text).is_empty());
        let text = "#[cfg(test)]\nmod tests {\n    const A: &str = \"xfs\";\n}\n";
        assert!(lines("crates/engine/x/src/a.rs", text).is_empty());
        assert!(lines("crates/engine/x/tests/a.rs", "const A: &str = \"xfs\";\n").is_empty());
        assert!(lines("crates/tools/a.rs", "const A: &str = \"xfs\";\n").is_empty());
    }
}
