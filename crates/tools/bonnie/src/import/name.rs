//! Name of a result: the file from which a terminal log shows it.

use treering_kit::import::log::Log;

/// Largest distance from a result back to the command that showed it: bytes in its line, and lines
/// above.
const BYTES_MOST: usize = 4000;
const LINES_MOST: usize = 24;
/// Longest name, in bytes.
const NAME_MOST: usize = 60;
/// File name endings that are left out of a name.
const PLAIN: [&str; 6] = [".txt", ".log", ".csv", ".out", ".dat", ".result"];

/// Name of the file shown before a result: `$ cat bonnie.ext3`. `text` precedes the result in its
/// line; then the lines above are searched.
pub(super) fn before(log: &Log<'_>, line: usize, text: &str) -> Option<String> {
    let mut from = text.len().saturating_sub(BYTES_MOST);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    if let Some(name) = shown(&text[from..]) {
        return Some(name);
    }
    for above in (line.saturating_sub(LINES_MOST)..line).rev() {
        let text = log.line(above);
        if text.len() > BYTES_MOST || super::has_start(text) {
            return None;
        }
        if let Some(name) = shown(text) {
            return Some(name);
        }
    }
    None
}

/// File of the last `cat` after a prompt.
fn shown(text: &str) -> Option<String> {
    let is_command = |at: &usize| {
        let before = &text[..*at];
        before.is_empty() || ["$ ", "# ", "% "].iter().any(|prompt| before.ends_with(prompt))
    };
    let (at, command) = text.rmatch_indices("cat ").find(|(at, _)| is_command(at))?;
    let file = text[at + command.len()..].split_whitespace().next()?;
    label(file.rsplit('/').next().unwrap_or(file))
}

/// Label from a file name: `bonnie-stats.ext3` gives `ext3`, `oak.txt` gives `oak`.
fn label(file: &str) -> Option<String> {
    let stem = PLAIN.into_iter().find_map(|ending| file.strip_suffix(ending)).unwrap_or(file);
    let label = match stem.rsplit_once('.') {
        Some((_, last)) if last.starts_with(|letter: char| letter.is_ascii_alphabetic()) => last,
        _ => stem,
    };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
    let is_name = !label.is_empty() && label.len() <= NAME_MOST && label.bytes().all(is_plain);
    is_name.then(|| label.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{label, shown};

    #[test]
    fn displayed_parameters_give_the_run_name() {
        let glued = "me@oak:~$ cat a.txt x me@oak:~$ cat /tmp/stats.ext3 Reading ...done";
        assert_eq!(shown(glued).as_deref(), Some("ext3"));
        assert_eq!(shown("cat new_kernel.csv").as_deref(), Some("new_kernel"));
        for text in ["my cat sleeps", "", "$ cat", "$ cat \u{1b}[31m", "concat x"] {
            assert_eq!(shown(text), None, "{text}");
        }
        assert_eq!(label("results-2.6.39").as_deref(), Some("results-2.6.39"));
        assert_eq!(label(&"x".repeat(61)), None);
        assert_eq!(label(".txt"), None);
    }
}
