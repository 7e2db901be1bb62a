//! Formatting of errors and their causes in one line.

use std::error::Error;

/// Message of an error and its causes in one line, without repetitions.
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(below) = source {
        let below_text = below.to_string();
        if !text.contains(&below_text) {
            text = format!("{text}: {below_text}");
        }
        source = below.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io;

    use thiserror::Error;

    use super::with_causes;

    #[derive(Debug, Error)]
    #[error("cannot read {name}")]
    struct ReadError {
        name: &'static str,
        source: io::Error,
    }

    #[test]
    fn causes_are_appended_unless_already_in_the_message() {
        let error = ReadError { name: "a", source: io::Error::other("it is gone") };
        assert_eq!(with_causes(&error), "cannot read a: it is gone");
        let error = ReadError { name: "a: it is gone", source: io::Error::other("it is gone") };
        assert_eq!(with_causes(&error), "cannot read a: it is gone");
    }
}
