//! Names of datasets: restricted so that they are file names and unquoted option values on every
//! system.

use thiserror::Error;

/// Longest name in bytes.
pub(super) const TITLE_BYTES_MAX: usize = 64;

/// Error of an invalid dataset name.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "'{}' cannot be the name of a dataset: use 1 to 64 letters, digits, '.', '-' and '_', \
     beginning with a letter or digit",
    name.escape_debug()
)]
pub struct TitleError {
    /// Name as given, shortened if it is long.
    pub name: String,
}

/// Checks that a dataset can have this name.
///
/// # Errors
/// When it has other characters than `A-Z a-z 0-9 . - _`, begins with none of the first three, is
/// empty or longer than 64 bytes.
pub fn check_title(name: &str) -> Result<(), TitleError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if first && name.len() <= TITLE_BYTES_MAX && name.bytes().all(allowed) {
        return Ok(());
    }
    Err(TitleError { name: name.chars().take(TITLE_BYTES_MAX).collect() })
}

#[cfg(test)]
mod tests {
    use super::check_title;

    #[test]
    fn names_that_could_be_paths_or_options_are_refused() {
        for good in ["linux-6.1", "a", "Mail_store.2", &"x".repeat(64)] {
            assert_eq!(check_title(good), Ok(()), "{good}");
        }
        for bad in
            ["", ".", "..", ".x", "-x", "_x", "a/b", "a b", "a\0", "ä", "a\n", &"x".repeat(65)]
        {
            assert!(check_title(bad).is_err(), "{bad:?}");
        }
    }
}
