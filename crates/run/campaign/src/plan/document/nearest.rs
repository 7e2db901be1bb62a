//! Which known word an unknown one was perhaps meant to be.

/// Longer words are not compared: nobody mistypes so much.
const CHARS_MAX: usize = 40;

/// The known word that is a few changes of letters away from `word`, when there is one.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = normal(word)?;
    let apart = |name: &'a str| Some((changes(&word, &normal(name)?), name));
    let (changes, name) =
        known.into_iter().filter_map(apart).min_by_key(|(changes, _)| *changes)?;
    (changes <= 1 || changes * 3 <= word.len()).then_some(name)
}

/// Known words, those first that the fewest changes of letters make of `word`.
pub fn by_nearness<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let normal_word = normal(word);
    let apart = |name: &str| Some(changes(normal_word.as_ref()?, &normal(name)?));
    let mut all: Vec<&str> = known.into_iter().collect();
    all.sort_by_cached_key(|name| (apart(name).unwrap_or(usize::MAX), *name));
    all
}

/// What differs only in case or in the dash is as good as the same.
fn normal(word: &str) -> Option<Vec<char>> {
    let short = word.chars().nth(CHARS_MAX).is_none();
    let plain = |c: char| if c == '_' || c == ' ' { '-' } else { c.to_ascii_lowercase() };
    short.then(|| word.chars().map(plain).collect())
}

/// Letters added, left out, exchanged, or swapped with their neighbour: the distance of Levenshtein
/// and Damerau, no letter being changed twice.
fn changes(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let exchanged = row[j] + usize::from(from != to);
            let mut least = exchanged.min(row[j + 1] + 1).min(next[j] + 1);
            let are_swapped = i > 0 && j > 0 && *from == b[j - 1] && a[i - 1] == *to;
            if are_swapped {
                least = least.min(before[j - 1] + 1);
            }
            next.push(least);
        }
        before = row;
        row = next;
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::{by_nearness, changes, nearest};

    #[test]
    fn few_changes_are_a_slip_and_many_are_another_word() {
        let known = ["initial-dirs", "runs", "filesystem", "mkfs"];
        for (typed, meant) in [
            ("initial_dirs", Some("initial-dirs")),
            ("Runs", Some("runs")),
            ("filesytem", Some("filesystem")),
            ("file-system", Some("filesystem")),
            ("mfks", Some("mkfs")),
            ("mkdir", None),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, known), meant, "{typed}");
        }
        assert_eq!(nearest(&"x".repeat(1 << 20), known), None);
        assert_eq!(nearest("x", []), None);
        assert_eq!(by_nearness("mkf", known), ["mkfs", "runs", "filesystem", "initial-dirs"]);
    }

    #[test]
    fn distances() {
        let letters = |word: &str| word.chars().collect::<Vec<_>>();
        assert_eq!(changes(&letters("kitten"), &letters("sitting")), 3);
        assert_eq!(changes(&letters(""), &letters("abc")), 3);
        assert_eq!(changes(&letters("brtfs"), &letters("btrfs")), 1);
        assert_eq!(changes(&letters("abc"), &letters("abc")), 0);
    }
}
