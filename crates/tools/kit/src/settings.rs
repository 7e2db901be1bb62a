//! Settings that several tools read and record alike: directories, status files, seeds of data.

use std::path::{Path, PathBuf};

use treering_script::{ConfigError, Settings};

use crate::packet::PacketType;

/// Maximum size of a status file, which holds one number.
const NUMBER_BYTES_MAX: u64 = 64;

/// Error with the original's message and no hint.
///
/// # Errors
/// Always.
pub fn refuse<T>(message: impl Into<String>) -> Result<T, ConfigError> {
    Err(ConfigError::new(message))
}

/// Absolute path, as recorded with a trial.
pub fn absolute(path: &Path) -> String {
    let full = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    full.to_string_lossy().into_owned()
}

/// Parameters of directories: `dir`, `dir.2` and so on, with their absolute paths.
pub fn directories(dirs: &[PathBuf]) -> Vec<(String, String)> {
    let name = |number| if number == 1 { "dir".to_owned() } else { format!("dir.{number}") };
    (1..).zip(dirs).map(|(number, dir)| (name(number), absolute(dir))).collect()
}

/// Number in the status file of an earlier run; `None` if the file cannot be read.
///
/// # Errors
/// When it holds something else, in the words of `refusal` for its path and its text.
pub fn status_number(
    settings: &Settings,
    file: &str,
    refusal: impl Fn(std::path::Display<'_>, &str) -> String,
) -> Result<Option<u64>, ConfigError> {
    let path = settings.file(file);
    let Ok(bytes) = settings.files.read(&path, NUMBER_BYTES_MAX) else { return Ok(None) };
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    text.parse().map(Some).or_else(|_| refuse(refusal(path.display(), &text)))
}

/// Seed of the data of mdtest and ior, from `-G`.
///
/// # Errors
/// When it is no number of 32 bits.
pub fn data_seed(text: &str) -> Result<i32, ConfigError> {
    text.parse().map_err(|_| {
        ConfigError::new(format!("-G: '{text}' is not a whole number of 32 bits"))
            .hint("give a number from -2147483648 to 2147483647")
    })
}

/// Content of the data of mdtest and ior, by its name.
///
/// # Errors
/// When there is no such content.
pub fn packet_type(text: &str) -> Result<PacketType, ConfigError> {
    PacketType::from_text(text).map_or_else(
        || {
            refuse(format!(
                "Unknown packet type {text}: give timestamp, offset, incompressible or random"
            ))
        },
        Ok,
    )
}
