//! Folds a shell command into several lines with the same meaning when pasted.
//!
//! Lines end in a backslash, at a blank between words where possible. A break inside a word has no
//! indentation; inside single quotes, where a backslash is literal, the quotes are closed before it
//! and reopened after it.

/// Indentation of continued lines.
const INDENT: &str = "    ";

/// Columns reserved at the end of a line for a closing quote, a blank and a backslash.
const SPARE: usize = 3;

/// Quoting state of the shell within a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum QuoteState {
    None,
    Single,
    Double,
}

/// An unbreakable piece of the line, with the quoting state after it.
struct CommandPiece {
    text: String,
    after: QuoteState,
}

/// Folds a command into lines of at most `room` columns (at least 16), with `indent` before each
/// line that does not continue inside a word. The command must be ASCII.
pub(crate) fn fold(line: &str, indent: &str, room: usize) -> Vec<String> {
    let room = room.max(16);
    let mut current = indent.to_owned();
    if current.len() + line.len() <= room {
        return vec![current + line];
    }
    let mut lines = Vec::new();
    for (place, word) in words(line).iter().enumerate() {
        let length: usize = word.iter().map(|atom| atom.text.len()).sum();
        if place > 0 && current.len() + 1 + length + SPARE <= room {
            current.push(' ');
        } else if place > 0 {
            lines.push(format!("{current} \\"));
            current = format!("{indent}{INDENT}");
        }
        push_word(word, &mut current, room, &mut lines);
    }
    lines.push(current);
    lines
}

/// Appends a word, breaking it where it is longer than the line.
fn push_word(word: &[CommandPiece], current: &mut String, room: usize, lines: &mut Vec<String>) {
    let mut quote = QuoteState::None;
    for atom in word {
        if current.len() + atom.text.len() + SPARE > room {
            let (close, open) = if quote == QuoteState::Single { ("'", "'") } else { ("", "") };
            lines.push(format!("{current}{close}\\"));
            open.clone_into(current);
        }
        current.push_str(&atom.text);
        quote = atom.after;
    }
}

/// Splits the line into words, keeping quoted blanks inside them, each as a list of atoms.
fn words(line: &str) -> Vec<Vec<CommandPiece>> {
    let mut words: Vec<Vec<CommandPiece>> = vec![Vec::new()];
    let mut quote = QuoteState::None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        let mut text = String::from(c);
        match (quote, c) {
            (QuoteState::None, ' ') => {
                words.push(Vec::new());
                continue;
            }
            (QuoteState::None, '\'') => quote = QuoteState::Single,
            (QuoteState::None, '"') => quote = QuoteState::Double,
            (QuoteState::Single, '\'') | (QuoteState::Double, '"') => quote = QuoteState::None,
            (QuoteState::None | QuoteState::Double, '\\') => text.extend(chars.next()),
            (QuoteState::None | QuoteState::Single | QuoteState::Double, _) => {}
        }
        if let Some(word) = words.last_mut() {
            word.push(CommandPiece { text, after: quote });
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::fold;
    use proptest::prelude::{Just, ProptestConfig, Strategy, prop_oneof, proptest};
    use std::process::Command;

    /// Words of the line as a shell parses them.
    fn by_shell(line: &str) -> Vec<u8> {
        let script = format!("printf '%s\\0' {line}");
        let output = Command::new("sh").arg("-c").arg(script).output().unwrap();
        assert!(output.status.success(), "{line}");
        output.stdout
    }

    fn word() -> impl Strategy<Value = String> {
        let quoted = "[a-z0-9 $|*-]{0,40}".prop_map(|text| format!("'{text}'"));
        let double = "[a-z0-9 |*-]{0,40}".prop_map(|text| format!("\"{text}\""));
        let escaped = "[a-z]{1,3}".prop_map(|text| format!("{text}\\ \\'\\\\x"));
        prop_oneof!["[a-z/=.-]{1,50}", quoted, double, escaped, Just("''".to_owned())]
    }

    #[test]
    fn a_short_line_stays() {
        assert_eq!(fold("treering show 0193", "", 72), ["treering show 0193"]);
    }

    #[test]
    fn breaks_between_words_first() {
        let lines = fold("treering compilebench --directory /mnt/scratch", "  ", 36);
        assert_eq!(lines, ["  treering compilebench \\", "      --directory /mnt/scratch"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn broken_command_lines_parse_to_the_same_words(
            words in proptest::collection::vec(word(), 1..8),
            room in 16usize..50,
        ) {
            let line = words.join(" ");
            let lines = fold(&line, "  ", room);
            assert!(lines.iter().all(|line| line.len() <= room), "{lines:?}");
            assert_eq!(by_shell(&lines.join("\n")), by_shell(&line));
        }
    }
}
