//! Lines of blogbench output.

use treering_kit::import::number::whole;

/// Parsed line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OutputLine {
    /// Seconds between two rows, from the first line.
    Frequency(u64),
    Directory(String),
    /// Kind and number of threads.
    Threads(&'static str, u64),
    /// Number of rows to come.
    Iterations(u64),
    /// Heading of the table.
    TableBegins,
    /// Blogs written since the start; then, since the row before: articles read and written,
    /// pictures read and written, comments read and written.
    Row([u64; COLUMNS]),
    /// Final score of writes or reads.
    Score(ScoreSide, u64),
    /// Error that the filesystem is full.
    Full,
    /// Line of blogbench without information.
    Furniture,
}

/// Direction of a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScoreSide {
    Writes,
    Reads,
}

/// Number of columns of a row.
pub(super) const COLUMNS: usize = 7;
/// Words of the table heading.
const HEADING: [&str; 14] = [
    "Nb", "blogs", "R", "articles", "W", "articles", "R", "pictures", "W", "pictures", "R",
    "comments", "W", "comments",
];
const KINDS: [(&str, &str); 4] = [
    ("writers...", "writers"),
    ("rewriters...", "rewriters"),
    ("commenters...", "commenters"),
    ("readers...", "readers"),
];

/// Parses a line; `None` unless the whole line is as blogbench prints it.
pub(super) fn line(text: &str) -> Option<OutputLine> {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        ["Frequency", "=", seconds, "secs"] => whole(seconds).map(OutputLine::Frequency),
        ["Scratch", "dir", "=", ..] => {
            let place = text.split_once("= [")?.1.trim_end().strip_suffix(']')?;
            Some(OutputLine::Directory(place.to_owned()))
        }
        ["Spawning", count, kind] => {
            let (_, name) = KINDS.iter().find(|(word, _)| word == kind)?;
            whole(count).map(|count| OutputLine::Threads(name, count))
        }
        ["Benchmarking", "for", count, "iterations."] => whole(count).map(OutputLine::Iterations),
        ["The", "test", "will", "run", "during", minutes, "minutes."] => {
            whole(minutes).map(|_| OutputLine::Furniture)
        }
        ["Final", "score", "for", "writes:", behind @ ..]
        | ["Final", "score", "for", "writes", ":", behind @ ..] => {
            score(behind).map(|score| OutputLine::Score(ScoreSide::Writes, score))
        }
        ["Final", "score", "for", "reads:", behind @ ..]
        | ["Final", "score", "for", "reads", ":", behind @ ..] => {
            score(behind).map(|score| OutputLine::Score(ScoreSide::Reads, score))
        }
        words if words == HEADING => Some(OutputLine::TableBegins),
        // Error messages of blogbench do not end with a newline.
        _ if text.contains("(): No space left on device") => Some(OutputLine::Full),
        words => row(words),
    }
}

/// Parses a score, to which harnesses may have added a remark. Several numbers are a table of
/// theirs.
fn score(words: &[&str]) -> Option<u64> {
    let (score, remark) = words.split_first()?;
    let is_table = remark.iter().any(|word| whole(word).is_some());
    whole(score).filter(|_| !is_table)
}

fn row(words: &[&str]) -> Option<OutputLine> {
    let words: &[&str; COLUMNS] = words.try_into().ok()?;
    let mut row = [0; COLUMNS];
    for (number, word) in row.iter_mut().zip(words) {
        *number = whole(word)?;
    }
    Some(OutputLine::Row(row))
}

#[cfg(test)]
mod tests {
    use super::{OutputLine, ScoreSide, line};

    #[test]
    fn lines_are_those_of_blogbench() {
        let heading = "  Nb blogs   R articles    W articles    R pictures    W pictures    \
                       R comments    W comments";
        let known = [
            ("Frequency = 2 secs", OutputLine::Frequency(2)),
            ("Scratch dir = [/m/a b]", OutputLine::Directory("/m/a b".to_owned())),
            ("Spawning 1 rewriters...", OutputLine::Threads("rewriters", 1)),
            ("Benchmarking for 30 iterations.", OutputLine::Iterations(30)),
            ("The test will run during 5 minutes.", OutputLine::Furniture),
            (heading, OutputLine::TableBegins),
            (
                "  95   2  4939   2   5250   0   3003",
                OutputLine::Row([95, 2, 4939, 2, 5250, 0, 3003]),
            ),
            ("Final score for writes:            95", OutputLine::Score(ScoreSide::Writes, 95)),
            ("Final score for reads :             0", OutputLine::Score(ScoreSide::Reads, 0)),
            ("Final score for writes: 95 (ext4)", OutputLine::Score(ScoreSide::Writes, 95)),
            ("write(): No space left on devicewrite(): No space left on device", OutputLine::Full),
        ];
        for (text, wanted) in known {
            assert_eq!(line(text), Some(wanted), "{text}");
        }
    }

    #[test]
    fn lines_of_other_programs_are_not_parsed() {
        for text in [
            "",
            "1 2 3 4 5 6",
            "1 2 3 4 5 6 7 8",
            "Final score for writes: 4834 4900 4945",
            "Spawning 3 threads...",
            "Frequency = 2.5 GHz",
        ] {
            assert_eq!(line(text), None, "{text}");
        }
    }
}
