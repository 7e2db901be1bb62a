//! Limit on the length of a dry run's outline.

use treering_script::OutlineLine;

/// Maximum number of lines of a dry run.
const LINES_MAX: usize = 100_000;

/// Shortens the outline to the limit of a dry run.
pub fn limited(lines: impl IntoIterator<Item = OutlineLine>) -> Vec<OutlineLine> {
    let mut lines = lines.into_iter();
    let mut listed: Vec<OutlineLine> = lines.by_ref().take(LINES_MAX).collect();
    listed.extend(lines.next().map(|_| "and so on".to_owned()));
    listed
}

#[cfg(test)]
mod tests {
    use super::{LINES_MAX, limited};

    #[test]
    fn outlines_are_shortened_only_above_the_limit() {
        let lines = |count| limited((0..count).map(|line: usize| line.to_string()));
        assert_eq!(lines(LINES_MAX).last().map(String::as_str), Some("99999"));
        let cut = lines(LINES_MAX + 1);
        assert_eq!((cut.len(), cut[LINES_MAX].as_str()), (LINES_MAX + 1, "and so on"));
    }
}
