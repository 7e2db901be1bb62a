//! Suggestions for misspelt words, by one rule for command lines, plans and languages.

use strsim::osa_distance;

/// Maximum length of compared words, in characters: the longest names are those of metrics.
const CHARS_MAX: usize = 80;

/// Known word within a few edits of `word`, if any.
pub fn nearest<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let edits = |name: &'w str| Some((edit_distance(word, name)?, name));
    let (edits, name) = known.into_iter().filter_map(edits).min_by_key(|(edits, _)| *edits)?;
    is_slip(word, edits).then_some(name)
}

/// Known words by edit distance from `word`, nearest first.
pub fn by_nearness<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Vec<&'w str> {
    let mut all: Vec<&str> = known.into_iter().collect();
    all.sort_by_cached_key(|name| (edit_distance(word, name).unwrap_or(usize::MAX), *name));
    all
}

/// Hint with the nearest known word, and all known ones after `what`.
pub fn suggestion(word: &str, known: &[&str], what: &str) -> String {
    let all = format!("{what}: {}", known.join(", "));
    match nearest(word, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`? {all}"),
        None => all,
    }
}

/// Beginning of the part of the trial in the name of a metric of a phase.
pub const PHASE_PREFIX: &str = "phase ";

/// Edits between two names of metrics, in the part of the trial and in the last word. A last word
/// that is only begun is one edit.
pub struct MetricEdits<'w> {
    part: (&'w str, usize),
    last: (&'w str, usize),
}

impl<'w> MetricEdits<'w> {
    /// Compares a typed name with a known one.
    pub fn between(unknown: &'w str, name: &str) -> Self {
        let (part, last) = unknown.rsplit_once('/').unwrap_or(("", unknown));
        let (known_part, known_last) = name.rsplit_once('/').unwrap_or(("", name));
        let edits = |word: &str, other: &str| edit_distance(word, other).unwrap_or(word.len());
        let of_last = match known_last.strip_prefix(last) {
            Some("") => 0,
            Some(_) if !last.is_empty() => 1,
            _ => edits(last, known_last),
        };
        // A name without a part leaves it open.
        let of_part = if unknown.contains('/') { edits(part, known_part) } else { 0 };
        let part = part.strip_prefix(PHASE_PREFIX).unwrap_or(part);
        Self { part: (part, of_part), last: (last, of_last) }
    }

    /// Number of edits.
    pub fn sum(&self) -> usize {
        self.part.1.saturating_add(self.last.1)
    }

    /// True if both parts are slips of the pen.
    pub fn are_slips(&self) -> bool {
        [self.part, self.last].into_iter().all(|(word, edits)| is_slip(word, edits))
    }
}

/// True if a word with this number of edits is a slip of the pen and not another word.
pub(crate) fn is_slip(word: &str, edits: usize) -> bool {
    edits <= 1 || edits * 3 <= word.chars().count()
}

/// Number of edits between two words; `None` if one is too long to compare. Case, and dashes for
/// underscores or spaces, are no edits.
pub(crate) fn edit_distance(word: &str, other: &str) -> Option<usize> {
    Some(osa_distance(&normal(word)?, &normal(other)?))
}

/// Word in lower case with dashes for underscores and spaces; `None` for words too long to compare.
fn normal(word: &str) -> Option<String> {
    let is_short = word.chars().nth(CHARS_MAX).is_none();
    let plain = |c: char| if c == '_' || c == ' ' { '-' } else { c.to_ascii_lowercase() };
    is_short.then(|| word.chars().map(plain).collect())
}

#[cfg(test)]
mod tests {
    use super::{by_nearness, nearest, suggestion};

    #[test]
    fn few_edits_are_a_slip_and_many_are_another_word() {
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

    #[test]
    fn all_known_words_are_suggested_with_the_nearest_first_in_the_hint() {
        let known = ["guest", "reboot"];
        assert_eq!(
            suggestion("gest", &known, "machines"),
            "did you mean `guest`? machines: guest, reboot"
        );
        assert_eq!(suggestion("moon", &known, "machines"), "machines: guest, reboot");
    }
}
