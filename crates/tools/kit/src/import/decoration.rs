//! Decoration that all lines of an output share, and that no other line tells from its text: the
//! name of a node or a container, marks of comments, of tables and of changes, line numbers. It is
//! looked for only where outputs are missed without it.

use std::collections::{BTreeMap, VecDeque};

use crate::import::prefix::KnownPrefixes;

/// Maximum number of decorations that are tried.
const TRIED_MOST: usize = 12;
/// Maximum number of decorations that are counted.
const COUNTED_MOST: usize = 4096;
/// Longest decoration in bytes.
const BYTES_MOST: usize = 120;
/// Maximum number of decorations of a line, which end at its first delimiters.
const ENDS_MOST: usize = 8;
/// Maximum number of lines of other writers between two of the same.
const LINES_BETWEEN_MOST: usize = 4;
/// Minimum number of times that a decoration stands below itself.
const REPEATS_FEWEST: usize = 2;
/// Characters that end a decoration.
const DELIMITERS: &str = ":]|\t>)#+*/- ";

/// Text before each line of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoration {
    /// Blanks and marks of quotation.
    Blanks,
    /// Line numbers, each greater by one than that of the line above.
    Numbers,
    /// The same text.
    Text(String),
}

/// Counts of what lines of a file begin with.
#[derive(Default)]
pub(crate) struct DecorationCounts {
    counts: BTreeMap<String, usize>,
    /// Decorations of the lines above, the nearest first.
    above: VecDeque<Vec<String>>,
    /// Number of the line above.
    number: Option<u64>,
    /// Number of line numbers that follow one another.
    numbered: usize,
}

impl DecorationCounts {
    /// Takes the next line of the file.
    pub(crate) fn take(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        let number = line_number(line).map(|(number, _)| number);
        self.numbered += usize::from(follows(self.number, number));
        self.number = number;
        let texts: Vec<String> = decorations(line).map(str::to_owned).collect();
        let is_above = |text: &&String| self.above.iter().any(|line| line.contains(text));
        for text in texts.iter().filter(is_above) {
            if self.counts.len() < COUNTED_MOST || self.counts.contains_key(text) {
                *self.counts.entry(text.clone()).or_default() += 1;
            }
        }
        self.above.push_front(texts);
        self.above.truncate(LINES_BETWEEN_MOST);
    }

    /// Decorations to try, the most frequent first.
    pub(crate) fn candidates(self) -> Vec<Decoration> {
        let mut counts: Vec<(String, usize)> =
            self.counts.into_iter().filter(|(_, count)| *count >= REPEATS_FEWEST).collect();
        counts.sort_by_key(|(text, count)| std::cmp::Reverse((*count, text.len())));
        let numbers = (self.numbered >= REPEATS_FEWEST).then_some(Decoration::Numbers);
        let texts = counts.into_iter().map(|(text, _)| Decoration::Text(text));
        [Decoration::Blanks].into_iter().chain(numbers).chain(texts).take(TRIED_MOST).collect()
    }
}

impl Decoration {
    /// True if one of the decorations begins with the other, so that only one can be meant.
    pub fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) => {
                one.starts_with(other.as_str()) || other.starts_with(one.as_str())
            }
            (one, other) => one == other,
        }
    }

    /// True if a line has the decoration.
    pub fn is_on(&self, line: &str) -> bool {
        match self {
            Self::Blanks => line.starts_with([' ', '\t', '>']),
            Self::Numbers => line_number(line).is_some(),
            Self::Text(text) => line.trim_start_matches(' ').starts_with(text.trim_end()),
        }
    }

    /// Line without the decoration, and without times and blanks behind it; unchanged if the line
    /// does not have it.
    pub(crate) fn without<'t>(&self, line: &'t str, prefixes: &KnownPrefixes) -> &'t str {
        let behind = match self {
            Self::Blanks => Some(line),
            Self::Numbers => line_number(line).map(|(_, behind)| behind),
            Self::Text(text) => line.trim_start_matches(' ').strip_prefix(text.trim_end()),
        };
        let Some(behind) = behind else { return line };
        // A row of a table ends as it began.
        let is_row = matches!(self, Self::Text(text) if text.trim() == "|");
        let behind = if is_row { behind.strip_suffix('|').unwrap_or(behind) } else { behind };
        let quoted = |text: &'t str| text.trim_start_matches(['>', ' ', '\t']);
        quoted(prefixes.without(quoted(behind))).trim_end()
    }
}

/// Texts at the start of a line that end at one of its first delimiters.
fn decorations(line: &str) -> impl Iterator<Item = &str> {
    let text = line.trim_start_matches(' ');
    let ends = text.char_indices().take_while(|(at, _)| *at < BYTES_MOST);
    let ends = ends.filter(|(_, letter)| DELIMITERS.contains(*letter));
    let is_end = |at: usize| text[..at].ends_with(' ');
    let texts = ends.filter(move |(at, letter)| *letter != ' ' || !is_end(*at));
    texts.take(ENDS_MOST).map(|(at, letter)| &text[..at + letter.len_utf8()])
}

/// Number before a line, as `cat -n` and `grep -n` write it, and the text behind it.
fn line_number(line: &str) -> Option<(u64, &str)> {
    let text = line.trim_start_matches(' ');
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, behind) = text.split_at(end);
    // An empty line has lost the delimiter.
    let behind =
        behind.strip_prefix([':', '\t', '|']).or_else(|| Some("").filter(|it| *it == behind));
    Some((number.parse().ok()?, behind?))
}

/// True if a line number is that of the next line.
fn follows(above: Option<u64>, number: Option<u64>) -> bool {
    above.zip(number).is_some_and(|(above, number)| above.checked_add(1) == Some(number))
}

#[cfg(test)]
mod tests {
    use super::{Decoration, DecorationCounts};
    use crate::import::prefix::KnownPrefixes;

    fn candidates(text: &str) -> Vec<Decoration> {
        let mut counts = DecorationCounts::default();
        text.lines().for_each(|line| counts.take(line));
        counts.candidates()
    }

    fn text(text: &str) -> Decoration {
        Decoration::Text(text.to_owned())
    }

    #[test]
    fn shared_starts_of_lines_are_candidates() {
        for before in ["node1:", "[pod/a-1/fio]", "stdout F ", "|", "#", "a\tb c\t", "x (y):"] {
            let lines = ["Read 12", "wrote 13", "at 14", "", "done"]
                .map(|line| format!("{before}{line}\n"));
            assert!(candidates(&lines.concat()).contains(&text(before)), "{before}");
        }
        let nodes = candidates("n1: a\nn2: b\nn1: c\nn2: d\nn1: e\nn2: f\n");
        assert!(nodes.contains(&text("n1:")) && nodes.contains(&text("n2:")), "{nodes:?}");
        assert_eq!(candidates("Read 12\nwrote 13\ndone\n"), [Decoration::Blanks]);
        assert!(candidates("7:a\n8:b\n9:c\n").contains(&Decoration::Numbers));
        assert!(!candidates("1:a\n0:b\n3:c\n").contains(&Decoration::Numbers), "of ranks");
    }

    #[test]
    fn decorations_are_removed_with_what_is_behind_them() {
        let without = |decoration: &Decoration, line| {
            decoration.without(line, &KnownPrefixes::default()).to_owned()
        };
        let node = text("node1:");
        assert_eq!(without(&node, "node1:  a b"), "a b");
        assert_eq!(without(&node, "node1: 17:35:09 a"), "a");
        assert_eq!(without(&node, "node2: a"), "node2: a");
        assert_eq!(without(&text("|"), "| a | b |"), "a | b");
        assert_eq!(without(&Decoration::Blanks, "\t  > a"), "a");
        assert_eq!(without(&text("| "), "| a | b |"), "a | b");
        assert_eq!(without(&Decoration::Numbers, "   12\ta"), "a");
        assert_eq!(without(&Decoration::Numbers, "   12"), "");
        assert!(node.overlaps(&text("node1: x")) && !node.overlaps(&text("node2:")));
    }
}
