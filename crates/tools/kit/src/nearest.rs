//! Suggestions for misspelt words.

/// Known word that differs by few letters.
pub fn nearest<'w>(word: &str, words: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let (changes, candidate) = closest(word, words)?;
    (changes <= 1 || changes * 3 <= word.len()).then_some(candidate)
}

/// Known word that differs by the fewest letters, and the number of changes.
pub fn closest<'w>(
    word: &str,
    words: impl IntoIterator<Item = &'w str>,
) -> Option<(usize, &'w str)> {
    // Known words are never that long.
    if word.len() > 40 {
        return None;
    }
    let word = word.to_ascii_lowercase();
    let changes = |known: &'w str| (strsim::levenshtein(&word, known), known);
    words.into_iter().map(changes).min_by_key(|(changes, _)| *changes)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn misspelt_words_get_the_intended_suggestion() {
        let words = ["iosize", "iters", "fd"];
        assert_eq!(nearest("iosizes", words), Some("iosize"));
        assert_eq!(nearest("FD", words), Some("fd"));
        assert_eq!(nearest("workingset", words), None);
        assert_eq!(nearest(&"x".repeat(1000), words), None);
    }
}
