//! Numbers that importers leave out on purpose, each with the reason.

/// Numbers on lines of a tool that are not stored, because others say the same or because they
/// are no result.
#[derive(Clone, Copy, Debug)]
pub struct KnownText {
    /// Text on the line; empty for any line.
    pub line: &'static str,
    /// Numbers that are left out.
    pub numbers: LeftOutNumbers,
    /// Reason, a clause for users.
    pub why: &'static str,
}

/// Selection of numbers on a line.
#[derive(Clone, Copy, Debug)]
pub enum LeftOutNumbers {
    /// All.
    All,
    /// Numbers in these words of the line, counted from 0.
    Words(&'static [usize]),
    /// Numbers in these fields between semicolons, counted from 0.
    Fields(&'static [usize]),
    /// Numbers directly behind one of these names, with `=`, `:`, a quotation mark, a bracket or
    /// blanks between; also all numbers of a list in brackets behind it.
    Named(&'static [&'static str]),
    /// Numbers in the words at the start of the line that end with a colon: process and time.
    Stamps,
    /// Numbers at the places of the line that this function names.
    At(fn(&str, usize) -> bool),
}

impl KnownText {
    /// True if the number that starts at this byte of the line is left out on purpose.
    pub fn covers(&self, line: &str, start: usize) -> bool {
        if !line.contains(self.line) {
            return false;
        }
        let before = &line[..start];
        match self.numbers {
            LeftOutNumbers::All => true,
            LeftOutNumbers::At(is_left_out) => is_left_out(line, start),
            LeftOutNumbers::Words(words) => {
                let is_inside = !before.ends_with(char::is_whitespace) && !before.is_empty();
                let word = before.split_whitespace().count() - usize::from(is_inside);
                words.contains(&word)
            }
            LeftOutNumbers::Fields(fields) => fields.contains(&before.matches(';').count()),
            LeftOutNumbers::Stamps => {
                let tail = line[start..].split_whitespace().next().unwrap_or_default();
                before.split_whitespace().chain([tail]).all(|word| word.ends_with(':'))
            }
            LeftOutNumbers::Named(names) => {
                let before = before_list(before);
                let before = before.trim_end_matches(|letter: char| " \t=:\"([".contains(letter));
                names.iter().any(|name| {
                    before.strip_suffix(name).is_some_and(|earlier| {
                        !earlier.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_')
                    })
                })
            }
        }
    }
}

/// Text up to the bracket of a list of numbers, if it ends within one.
fn before_list(text: &str) -> &str {
    let Some((before, list)) = text.rsplit_once('[') else { return text };
    let is_of_numbers =
        list.chars().all(|letter| letter.is_ascii_digit() || "+-.,eE \t".contains(letter));
    if is_of_numbers { before } else { text }
}

#[cfg(test)]
mod tests {
    use super::{KnownText, LeftOutNumbers};

    fn left_out(numbers: LeftOutNumbers, line: &str, number: &str) -> bool {
        let known = KnownText { line: "write", numbers, why: "" };
        known.covers(line, line.find(number).unwrap())
    }

    #[test]
    fn numbers_are_selected_by_word_and_by_name() {
        assert!(left_out(LeftOutNumbers::All, "  write 12 13", "13"));
        assert!(!left_out(LeftOutNumbers::All, "read 12 13", "13"));
        assert!(left_out(LeftOutNumbers::Words(&[2]), "write 12 (13)", "13"));
        assert!(!left_out(LeftOutNumbers::Words(&[2]), "write 12 13", "12"));
        let named = LeftOutNumbers::Named(&["minb"]);
        assert!(left_out(named, "write minb=12 aminb=13", "12"));
        assert!(left_out(named, "write \"minb\" : 12", "12"));
        assert!(!left_out(named, "write minb=12 aminb=13", "13"));
        assert!(left_out(named, "write \"minb\": [0.5, 1e-3,13], 14", "13"));
        assert!(!left_out(named, "write \"minb\": [0.5], \"maxb\": [14]", "14"));
        assert!(left_out(LeftOutNumbers::Stamps, "12: 1.5: write 13", "1.5"));
        assert!(!left_out(LeftOutNumbers::Stamps, "12: 1.5: write 13", "13"));
    }
}
