//! The known word that was probably meant.

/// The known word that few changes of letters make of this one.
pub fn nearest<'w>(word: &str, words: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let (changes, found) = closest(word, words)?;
    (changes <= 1 || changes * 3 <= word.len()).then_some(found)
}

/// The known word that the fewest changes of letters make of this one, and how many they are.
pub fn closest<'w>(
    word: &str,
    words: impl IntoIterator<Item = &'w str>,
) -> Option<(usize, &'w str)> {
    // No name is that long.
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
    fn a_word_is_met_with_the_one_that_was_meant() {
        let words = ["iosize", "iters", "fd"];
        assert_eq!(nearest("iosizes", words), Some("iosize"));
        assert_eq!(nearest("FD", words), Some("fd"));
        assert_eq!(nearest("workingset", words), None);
        assert_eq!(nearest(&"x".repeat(1000), words), None);
    }
}
