//! Lines of blogbench output.

use treering_kit::import::number::whole;

/// Parsed line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
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
pub(super) fn line(text: &str) -> Option<Line> {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        ["Frequency", "=", seconds, "secs"] => whole(seconds).map(Line::Frequency),
        ["Scratch", "dir", "=", ..] => {
            let place = text.split_once("= [")?.1.trim_end().strip_suffix(']')?;
            Some(Line::Directory(place.to_owned()))
        }
        ["Spawning", count, kind] => {
            let (_, name) = KINDS.iter().find(|(word, _)| word == kind)?;
            whole(count).map(|count| Line::Threads(name, count))
        }
        ["Benchmarking", "for", count, "iterations."] => whole(count).map(Line::Iterations),
        ["The", "test", "will", "run", "during", minutes, "minutes."] => {
            whole(minutes).map(|_| Line::Furniture)
        }
        ["Final", "score", "for", "writes:", score]
        | ["Final", "score", "for", "writes", ":", score] => {
            whole(score).map(|score| Line::Score(ScoreSide::Writes, score))
        }
        ["Final", "score", "for", "reads:", score]
        | ["Final", "score", "for", "reads", ":", score] => {
            whole(score).map(|score| Line::Score(ScoreSide::Reads, score))
        }
        words if words == HEADING => Some(Line::TableBegins),
        // Error messages of blogbench do not end with a newline.
        _ if text.contains("(): No space left on device") => Some(Line::Full),
        words => row(words),
    }
}

fn row(words: &[&str]) -> Option<Line> {
    let words: &[&str; COLUMNS] = words.try_into().ok()?;
    let mut row = [0; COLUMNS];
    for (number, word) in row.iter_mut().zip(words) {
        *number = whole(word)?;
    }
    Some(Line::Row(row))
}

#[cfg(test)]
mod tests {
    use super::{Line, ScoreSide, line};

    #[test]
    fn lines_are_those_of_blogbench() {
        let heading = "  Nb blogs   R articles    W articles    R pictures    W pictures    \
                       R comments    W comments";
        let known = [
            ("Frequency = 2 secs", Line::Frequency(2)),
            ("Scratch dir = [/m/a b]", Line::Directory("/m/a b".to_owned())),
            ("Spawning 1 rewriters...", Line::Threads("rewriters", 1)),
            ("Benchmarking for 30 iterations.", Line::Iterations(30)),
            ("The test will run during 5 minutes.", Line::Furniture),
            (heading, Line::TableBegins),
            ("  95   2  4939   2   5250   0   3003", Line::Row([95, 2, 4939, 2, 5250, 0, 3003])),
            ("Final score for writes:            95", Line::Score(ScoreSide::Writes, 95)),
            ("Final score for reads :             0", Line::Score(ScoreSide::Reads, 0)),
            ("write(): No space left on devicewrite(): No space left on device", Line::Full),
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
