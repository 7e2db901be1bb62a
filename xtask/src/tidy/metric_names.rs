//! Metrics have their names from one vocabulary, `crates/model/src/metrics`: other code neither
//! makes a metric from another name, nor contains a name of the vocabulary as text.

use super::Problem;
use super::tree::CheckoutTree;

const VOCABULARY: &str = "crates/model/src/metrics/";

/// Files that may make a metric from a stored name: the vocabulary itself, and readers of stores
/// and exports.
const READERS: &[&str] = &[
    "crates/model/src/metric.rs",
    "crates/store/store/src/load.rs",
    "crates/tools/registry/src/own/csv.rs",
];

/// Files with similar names of another kind: units, keys of fio's JSON.
const OTHER_NAMES: &[&str] = &["crates/model/src/metric.rs", "crates/tools/fio/src/report/"];

/// Minimum length of the fixed part of a family's name: a shorter one occurs in too many other
/// words.
const FIXED_CHARS_MIN: usize = 9;

pub(super) fn check(tree: &CheckoutTree) -> Vec<Problem> {
    let names = declared(tree);
    let mut problems = Vec::new();
    for (file, rust) in tree.rust() {
        let is_code = file.path.starts_with("crates/") && file.path.contains("/src/");
        if !is_code || file.path.starts_with(VOCABULARY) {
            continue;
        }
        let mut problem = |line: usize, finding: String| {
            let advice = format!("declare it in {VOCABULARY} and use it from there");
            problems.push(Problem::new(&file.path, line, finding, advice));
        };
        if !READERS.contains(&file.path.as_str()) {
            for token in rust.find("Metric::new").into_iter().filter(|t| !rust.is_test(t.line)) {
                problem(token.line, "a metric with a name of its own".to_owned());
            }
        }
        if OTHER_NAMES.iter().any(|place| file.path.starts_with(place)) {
            continue;
        }
        for token in rust.tokens.iter().filter(|token| !rust.is_test(token.line)) {
            let Some(text) = text_of(&token.text) else { continue };
            if names.iter().any(|name| is_metric_name(name, text)) {
                problem(token.line, format!("`{text}` is the name of a metric"));
            }
        }
    }
    problems
}

/// Names of the vocabulary: the literals after `=` in its declarations.
fn declared(tree: &CheckoutTree) -> Vec<String> {
    let files = tree.rust().filter(|(file, _)| file.path.starts_with(VOCABULARY));
    let mut names = Vec::new();
    for (_, rust) in files {
        for window in rust.tokens.windows(3) {
            if let [constant, equals, literal] = window
                && constant.is_name
                && equals.text == "="
                && constant
                    .text
                    .chars()
                    .all(|c| c.is_ascii_uppercase() || "_0123456789".contains(c))
            {
                names.extend(text_of(&literal.text).map(str::to_owned));
            }
        }
    }
    names
}

/// Content of a plain string literal.
fn text_of(literal: &str) -> Option<&str> {
    literal.strip_prefix('"')?.strip_suffix('"')
}

/// True if a text is this metric name or belongs to this family. Single words have other meanings.
fn is_metric_name(name: &str, text: &str) -> bool {
    if !name.contains("{}") {
        return name.contains('_') && name == text;
    }
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_{}".contains(c);
    if name.replace("{}", "").len() < FIXED_CHARS_MIN || !text.chars().all(is_word) {
        return false;
    }
    let parts: Vec<&str> = name.split("{}").collect();
    let [first, middle @ .., last] = parts.as_slice() else { return false };
    let inner = text.strip_prefix(first).and_then(|inner_text| inner_text.strip_suffix(last));
    let Some(mut unread) = inner.filter(|inner| !inner.is_empty()) else { return false };
    for part in middle {
        let Some((_, behind)) = unread.split_once(part) else { return false };
        unread = behind;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::CheckoutTree;

    const RATES: &str = "metrics! {\n    RATE = \"files_per_second\", FilesPerSecond, Higher;\n    \
                         MIB = \"{}_mib_per_second\", MibPerSecond, Higher;\n    \
                         PASSES = \"passes\", Count, Higher;\n}\n";

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let tree =
            CheckoutTree::from_texts(&[("crates/model/src/metrics/rates.rs", RATES), (path, text)]);
        check(&tree).iter().map(|problem| problem.line).collect()
    }

    #[test]
    fn literal_metric_names_are_reported() {
        let text = "fn a() {\n    let a = \"files_per_second\";\n    let b = \"read_mib_per_second\";\n    \
                    let c = format!(\"{way}_mib_per_second\");\n    Metric::new(\"own\", b);\n}\n";
        assert_eq!(lines("crates/engine/x/src/a.rs", text).len(), 4);
    }

    #[test]
    fn metric_constants_readers_tests_and_plain_words_pass() {
        let text = "fn a() { Metric::new(name, scope); }\n";
        assert!(lines("crates/store/store/src/load.rs", text).is_empty());
        let text = "fn a() { b(\"passes\", \"_mib_per_second\", \"their files_per_second\") }\n";
        assert!(lines("crates/engine/x/src/a.rs", text).is_empty());
        let text = "#[cfg(test)]\nmod tests {\n    const A: &str = \"files_per_second\";\n}\n";
        assert!(lines("crates/engine/x/src/a.rs", text).is_empty());
        assert!(
            lines("crates/engine/x/tests/a.rs", "const A: &str = \"files_per_second\";\n")
                .is_empty()
        );
    }
}
