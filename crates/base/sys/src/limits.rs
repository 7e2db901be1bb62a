//! Limits of the process: how many files it may have open, and how many threads there may be.

use std::fs::read_to_string;
use std::path::Path;

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

/// How many processes and threads there may be; `None` is no limit, or an unknown one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadLimits {
    /// Those of the user together (`RLIMIT_NPROC`). Root is not bound by it.
    pub user: Option<u64>,
    /// Those of the narrowest control group that we are in (`pids.max` of cgroup v2).
    pub group: Option<u64>,
    /// Those of the machine (`kernel.threads-max`).
    pub machine: Option<u64>,
}

/// The limits that a refused thread or process may have met.
pub fn thread_limits() -> ThreadLimits {
    let number = |path: &Path| read_to_string(path).ok()?.trim().parse().ok();
    let group = read_to_string("/proc/self/cgroup").ok().and_then(|text| {
        let own = text.lines().find_map(|line| line.strip_prefix("0::/"))?.to_owned();
        let top = Path::new("/sys/fs/cgroup");
        let above = Path::new(&own).ancestors().map(|group| top.join(group).join("pids.max"));
        above.filter_map(|path| number(&path)).min()
    });
    ThreadLimits {
        user: getrlimit(Resource::Nproc).current,
        group,
        machine: number(Path::new("/proc/sys/kernel/threads-max")),
    }
}

#[cfg(test)]
mod tests {
    use super::{raise_open_files, thread_limits};

    #[test]
    fn the_machine_limits_its_threads() {
        assert!(thread_limits().machine.is_some_and(|most| most > 0));
    }

    #[test]
    fn the_soft_limit_reaches_the_hard_one() {
        let limit = raise_open_files();
        assert_eq!(limit.soft, limit.hard);
        assert_eq!(raise_open_files(), limit);
    }
}
