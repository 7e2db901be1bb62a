//! Program file of the user's fio, and its version.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use treering_script::ConfigError;

/// Option that names the program.
pub(super) const OPTION: &str = "with-fio";
/// Program that is started if no path is given.
pub(super) const NAME: &str = "fio";
/// First version that reports all kinds of percentiles at once.
const ALL_PERCENTILES: (u64, u64) = (3, 18);

/// Execute permission bits for anyone.
const EXECUTABLE: u32 = 0o111;

/// Finds fio in the directories of `paths`, which are separated by colons as in `PATH`. Links to
/// treering itself are skipped.
pub fn installed(paths: &OsStr) -> Option<PathBuf> {
    let own = identity(Path::new("/proc/self/exe"));
    std::env::split_paths(paths).map(|directory| directory.join(NAME)).find(|path| {
        let is_program = |about: &fs::Metadata| about.is_file() && about.mode() & EXECUTABLE != 0;
        fs::metadata(path).is_ok_and(|about| is_program(&about))
            && (own.is_none() || identity(path) != own)
    })
}

/// Device and inode of a path, symbolic links followed.
fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|about| (about.dev(), about.ino()))
}

/// Program that answered as fio.
#[derive(Clone, Debug)]
pub(super) struct Fio {
    pub(super) path: PathBuf,
    /// Version as in `3.33`.
    pub(super) version: String,
}

impl Fio {
    /// Runs the program to get its version.
    pub(super) fn ask(path: PathBuf) -> Result<Self, ConfigError> {
        let shown = path.display().to_string();
        let hint = "install fio, by the package of this name, or give its path with \
                    --with-fio=PATH; without the option treering runs the job itself";
        let refuse =
            |why: String| ConfigError::new(format!("--{OPTION}: {shown}: {why}")).hint(hint);
        if path.as_os_str() == NAME {
            return Err(refuse("not found in the directories of PATH".to_owned()));
        }
        let mut command = Command::new(OsString::from(&path));
        let version = command.arg("--version").stdin(Stdio::null()).output();
        let output = version.map_err(|error| refuse(format!("cannot be started: {error}")))?;
        let stdout = String::from_utf8_lossy(&output.stdout);
        let line = stdout.lines().next().unwrap_or_default();
        let version = line.strip_prefix("fio-").filter(|_| output.status.success());
        let version = version.ok_or_else(|| {
            let line: String = line.chars().take(60).collect();
            refuse(format!("it is no fio: asked for its version it says '{}'", line.escape_debug()))
        })?;
        Ok(Self { path, version: version.escape_debug().to_string() })
    }

    /// True if this version reports histograms of all latency kinds.
    pub(super) fn tells_all_latencies(&self) -> bool {
        let mut numbers = self.version.split(['.', '-']).map(|part| part.parse::<u64>().ok());
        let version =
            (numbers.next().flatten().unwrap_or(0), numbers.next().flatten().unwrap_or(0));
        version >= ALL_PERCENTILES
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use treering_testkit::temp_dir;

    use super::{Fio, installed};

    #[test]
    fn a_link_to_treering_is_not_an_installed_fio() {
        let dir = temp_dir();
        let [ours, plain, theirs] = ["ours", "plain", "theirs"].map(|name| dir.path().join(name));
        [&ours, &plain, &theirs].into_iter().for_each(|dir| fs::create_dir(dir).unwrap());
        symlink("/proc/self/exe", ours.join("fio")).unwrap();
        fs::write(plain.join("fio"), "").unwrap();
        fs::write(theirs.join("fio"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(theirs.join("fio"), fs::Permissions::from_mode(0o755)).unwrap();
        let paths = std::env::join_paths([&ours, &plain]).unwrap();
        assert_eq!(installed(&paths), None);
        let paths = std::env::join_paths([&ours, &plain, &theirs]).unwrap();
        assert_eq!(installed(&paths), Some(theirs.join("fio")));
        assert_eq!(installed(OsStr::new("")), None);
    }

    #[test]
    fn programs_other_than_fio_are_refused() {
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
