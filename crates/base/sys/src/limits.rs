//! Limits of the process: how many files it may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limit of open files (`RLIMIT_NOFILE`); `None` is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFiles {
    /// What is in force now.
    pub soft: Option<u64>,
    /// How far it may be raised.
    pub hard: Option<u64>,
}

/// How many files we may have open now.
pub fn open_files() -> OpenFiles {
    let now = getrlimit(Resource::Nofile);
    OpenFiles { soft: now.current, hard: now.maximum }
}

/// Raises the number of files we may have open as far as we may, and says what it is then.
///
/// A refusal is no error: what is in force is told, and a call that meets it says `EMFILE`.
pub fn raise_open_files() -> OpenFiles {
    let before = getrlimit(Resource::Nofile);
    if before.current != before.maximum {
        let raised = Rlimit { current: before.maximum, maximum: before.maximum };
        // The kernel refuses an endless limit; then the old one stays.
        let _refused = setrlimit(Resource::Nofile, raised);
    }
    open_files()
}

#[cfg(test)]
mod tests {
    use super::raise_open_files;

    #[test]
    fn the_soft_limit_reaches_the_hard_one() {
        let limit = raise_open_files();
        assert_eq!(limit.soft, limit.hard);
        assert_eq!(raise_open_files(), limit);
    }
}
