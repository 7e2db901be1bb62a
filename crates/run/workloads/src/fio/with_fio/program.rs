//! The user's own fio: whether it is there, and which version it is.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use treering_script::ConfigError;

/// The option that names it.
pub(super) const OPTION: &str = "with-fio";
/// What is started where no path is given.
pub(super) const NAME: &str = "fio";
/// Since then all kinds of percentiles can be asked for at once.
const ALL_PERCENTILES: (u64, u64) = (3, 18);

/// A fio that answered.
#[derive(Clone, Debug)]
pub(super) struct Fio {
    pub(super) path: PathBuf,
    /// As `3.33`.
    pub(super) version: String,
}

impl Fio {
    /// Asks it for its version.
    pub(super) fn ask(path: PathBuf) -> Result<Self, ConfigError> {
        let shown = path.display().to_string();
        let hint = "install fio, by the package of this name, or give its path with \
                    --with-fio=PATH; without the option treering runs the job itself";
        let refuse =
            |why: String| ConfigError::new(format!("--{OPTION}: {shown}: {why}")).hint(hint);
        let mut command = Command::new(OsString::from(&path));
        let asked = command.arg("--version").stdin(Stdio::null()).output();
        let output = asked.map_err(|error| refuse(format!("cannot be started: {error}")))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let line = said.lines().next().unwrap_or_default();
        let version = line.strip_prefix("fio-").filter(|_| output.status.success());
        let version = version.ok_or_else(|| {
            let line: String = line.chars().take(60).collect();
            refuse(format!("it is no fio: asked for its version it says '{}'", line.escape_debug()))
        })?;
        Ok(Self { path, version: version.escape_debug().to_string() })
    }

    /// Whether it can tell all kinds of latencies as bins.
    pub(super) fn tells_all_latencies(&self) -> bool {
        let mut numbers = self.version.split(['.', '-']).map(|part| part.parse::<u64>().ok());
        let version =
            (numbers.next().flatten().unwrap_or(0), numbers.next().flatten().unwrap_or(0));
        version >= ALL_PERCENTILES
    }
}

#[cfg(test)]
mod tests {
    use super::Fio;

    #[test]
    fn what_is_no_fio_is_refused() {
        for (path, why) in [("/no/such/fio", "cannot be started"), ("true", "it is no fio")] {
            let error = Fio::ask(path.into()).unwrap_err();
            assert!(error.message.starts_with(&format!("--with-fio: {path}: {why}")), "{error}");
            assert!(error.hint.is_some());
        }
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        for (version, all) in [("3.33", true), ("3.18", true), ("3.9", false), ("2.99", false)] {
            let fio = Fio { path: "fio".into(), version: version.to_owned() };
            assert_eq!(fio.tells_all_latencies(), all, "{version}");
        }
        let built = Fio { path: "fio".into(), version: "3.36-12-gabc".to_owned() };
        assert!(built.tells_all_latencies());
    }
}
