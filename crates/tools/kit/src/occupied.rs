//! Check that refuses a native run in a target with entries of an earlier run.

use treering_script::{ConfigError, TargetFacts};

/// Refuses a target that already holds an entry for whose name `is_ours` returns true.
///
/// # Errors
/// When there is one; the message names the first.
pub fn refuse_existing(
    facts: &TargetFacts,
    is_ours: impl Fn(&str) -> bool,
) -> Result<(), ConfigError> {
    let Some(existing_name) = facts.existing.iter().find(|name| is_ours(name)) else {
        return Ok(());
    };
    Err(ConfigError::new(format!("{existing_name} is there already")).hint(
        "name an empty directory, or remove it; `treering lab clean DIR` removes what a killed run \
         left",
    ))
}

/// True if the name is the prefix followed by a 16-bit number.
pub fn is_numbered(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|number| number.parse::<u16>().is_ok())
}
