//! The lines of a file, without what mail programs put before and behind them; and lines that they
//! broke, put together again.

/// So many lines may one line of a tool have become.
const BROKEN_INTO_MOST: usize = 4;
/// So much of a line is quoted in remarks.
const SHOWN_CHARS: usize = 60;

/// The lines of a file.
pub(crate) struct Log<'t> {
    lines: Vec<&'t str>,
}

impl<'t> Log<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        Self { lines: text.lines().map(plain).collect() }
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// A line, without quotation marks of a mail; empty behind the last.
    pub(crate) fn line(&self, at: usize) -> &'t str {
        self.lines.get(at).copied().unwrap_or("")
    }

    /// Reads a line, or several that were one before a mail program broke it. Says how many.
    pub(crate) fn read<T>(
        &self,
        at: usize,
        reader: impl Fn(&str) -> Option<T>,
    ) -> Option<(T, usize)> {
        if let Some(read) = reader(self.line(at)) {
            return Some((read, 1));
        }
        // Only what is shorter than a mail's width and goes on can have been broken.
        let mut whole = self.line(at).trim_end().to_owned();
        if whole.is_empty() {
            return None;
        }
        for more in 1..BROKEN_INTO_MOST {
            let next = self.line(at + more).trim();
            if next.is_empty() {
                return None;
            }
            whole = format!("{whole} {next}");
            if let Some(read) = reader(&whole) {
                return Some((read, more + 1));
            }
        }
        None
    }
}

/// A line without `> ` before it, as answers quote, and without blanks behind it.
fn plain(line: &str) -> &str {
    let mut line = line.trim_end();
    while let Some(rest) = line.strip_prefix('>') {
        line = rest.strip_prefix(' ').unwrap_or(rest);
    }
    line
}

/// Words without control characters.
pub(crate) fn tame(words: &str) -> String {
    words.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// A line for a message: no control characters, not too long.
pub(crate) fn shortened(line: &str) -> String {
    let mut words: String = tame(line.trim()).chars().take(SHOWN_CHARS + 1).collect();
    if words.chars().count() > SHOWN_CHARS {
        words = words.chars().take(SHOWN_CHARS - 1).chain(['…']).collect();
    }
    format!("`{words}`")
}

#[cfg(test)]
mod tests {
    use super::{Log, shortened};

    #[test]
    fn broken_and_quoted_lines_are_put_together() {
        let log = Log::of("> > a b\r\n> > c\n\nd\n");
        assert_eq!(log.len(), 4);
        assert_eq!(log.line(0), "a b");
        let read = |text: &str| (text == "a b c").then_some(());
        assert_eq!(log.read(0, read), Some(((), 2)));
        assert_eq!(log.read(1, |text| (text == "c d").then_some(())), None, "over an empty line");
        assert_eq!(log.read(2, |text| (text == " d").then_some(())), None, "from an empty line");
        assert_eq!(log.line(9), "");
    }

    #[test]
    fn remarks_quote_little_and_nothing_dangerous() {
        assert_eq!(shortened(" a\u{1b}[31mb "), "`a [31mb`");
        assert_eq!(shortened(&"x".repeat(100)).chars().count(), 62);
    }
}
