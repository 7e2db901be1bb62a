//! Errors and warnings about a file in a language: `FILE:LINE:COLUMN: what is wrong`, and the word
//! that was probably meant.

use std::fmt::Display;

use treering_script::ConfigError;

/// Warnings beyond these are only counted.
const WARNINGS_MAX: usize = 100;
/// Characters of a text that a message shows.
const SHOWN_MAX: usize = 60;

/// A place in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// From 1.
    pub line: usize,
    /// The byte in the line, from 1.
    pub column: usize,
}

impl Place {
    /// Where the file begins: for what is missing in all of it.
    pub const START: Self = Self { line: 1, column: 1 };
}

/// A text as messages show it: control characters escaped, and not endless.
pub fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}...", text[..end].escape_debug()),
        None => text.escape_debug().to_string(),
    }
}

/// Makes errors and keeps warnings.
#[derive(Debug)]
pub struct Messages {
    file: String,
    warnings: Vec<(Place, String)>,
    not_kept: usize,
}

impl Messages {
    /// Those about this file.
    pub fn new(file: &str) -> Self {
        Self { file: file.escape_debug().to_string(), warnings: Vec::new(), not_kept: 0 }
    }

    fn at(&self, place: Place, what: impl Display) -> String {
        format!("{}:{}:{}: {what}", self.file, place.line, place.column)
    }

    /// An error; what would be right is added with `hint`.
    pub fn error(&self, place: Place, what: impl Display) -> ConfigError {
        ConfigError::new(self.at(place, what))
    }

    /// Keeps a warning.
    pub fn warn(&mut self, place: Place, what: impl Display) {
        if self.warnings.len() < WARNINGS_MAX {
            let text = self.at(place, what);
            self.warnings.push((place, text));
        } else {
            self.not_kept += 1;
        }
    }

    /// The warnings in the order of their places.
    pub fn into_warnings(mut self) -> Vec<String> {
        self.warnings.sort_by_key(|(place, _)| *place);
        let mut texts: Vec<String> = self.warnings.into_iter().map(|(_, text)| text).collect();
        if self.not_kept > 0 {
            texts.push(format!("{}: {} more warnings", self.file, self.not_kept));
        }
        texts
    }
}

/// The known word that few changes of letters make of this one.
pub fn nearest<'w>(word: &str, words: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    let (changes, found) = closest(word, words)?;
    (changes <= 1 || changes * 3 <= word.len()).then_some(found)
}

/// The known word that the fewest changes of letters make of this one, and how many they are.
pub fn closest<'w>(word: &str, words: impl Iterator<Item = &'w str>) -> Option<(usize, &'w str)> {
    // No name is that long.
    if word.len() > 40 {
        return None;
    }
    let word = word.to_ascii_lowercase();
    words.map(|known| (distance(&word, known), known)).min_by_key(|(changes, _)| *changes)
}

/// Bytes added, left out or exchanged: the distance of Levenshtein.
pub fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.bytes().enumerate() {
        let mut corner = i;
        row[0] = i + 1;
        for (j, to) in b.bytes().enumerate() {
            let exchanged = corner + usize::from(from != to);
            corner = row[j + 1];
            row[j + 1] = exchanged.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn a_word_is_met_with_the_one_that_was_meant() {
        assert_eq!((distance("kitten", "sitting"), distance("", "abc")), (3, 3));
        let words = || ["iosize", "iters", "fd"].into_iter();
        assert_eq!(nearest("iosizes", words()), Some("iosize"));
        assert_eq!(nearest("FD", words()), Some("fd"));
        assert_eq!(nearest("workingset", words()), None);
        assert_eq!(nearest(&"x".repeat(1000), words()), None);
    }
}
