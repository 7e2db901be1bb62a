//! Suggestions for misspelt words.

use strsim::osa_distance;

/// Maximum length of compared words, in characters.
const CHARS_MAX: usize = 40;

/// Known word within a few edits of `word`, if any.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = normal(word)?;
    let apart = |name: &'a str| Some((osa_distance(&word, &normal(name)?), name));
    let (changes, name) =
        known.into_iter().filter_map(apart).min_by_key(|(changes, _)| *changes)?;
    (changes <= 1 || changes * 3 <= word.chars().count()).then_some(name)
}

/// Known words by edit distance from `word`, nearest first.
pub fn by_nearness<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let normal_word = normal(word);
    let apart = |name: &str| Some(osa_distance(normal_word.as_ref()?, &normal(name)?));
    let mut all: Vec<&str> = known.into_iter().collect();
    all.sort_by_cached_key(|name| (apart(name).unwrap_or(usize::MAX), *name));
    all
}

/// Word in lower case with dashes for underscores and spaces; `None` for words too long to compare.
fn normal(word: &str) -> Option<String> {
    let short = word.chars().nth(CHARS_MAX).is_none();
    let plain = |c: char| if c == '_' || c == ' ' { '-' } else { c.to_ascii_lowercase() };
    short.then(|| word.chars().map(plain).collect())
}

/// Hint with the nearest known name, and all known ones.
pub(super) fn suggestion(name: &str, known: &[&str], what: &str) -> String {
    let all = format!("{what}: {}", known.join(", "));
    match nearest(name, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`? {all}"),
        None => all,
    }
}

#[cfg(test)]
mod tests {
    use super::{by_nearness, nearest};

    #[test]
    fn few_changes_are_a_slip_and_many_are_another_word() {
        let known = ["initial-dirs", "runs", "filesystem", "mkfs", "btrfs"];
        for (typed, meant) in [
            ("initial_dirs", Some("initial-dirs")),
            ("Runs", Some("runs")),
            ("filesytem", Some("filesystem")),
            ("file-system", Some("filesystem")),
            ("mfks", Some("mkfs")),
            ("brtfs", Some("btrfs")),
            ("mkdir", None),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, known), meant, "{typed}");
        }
        assert_eq!(nearest(&"x".repeat(1 << 20), known), None);
        assert_eq!(nearest("x", []), None);
        assert_eq!(
            by_nearness("mkf", known),
            ["mkfs", "btrfs", "runs", "filesystem", "initial-dirs"]
        );
    }
}
