//! Process limits: open files and threads.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Limit of open files (`RLIMIT_NOFILE`); `None` means unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFiles {
    /// Limit in force.
    pub soft: Option<u64>,
    /// Upper bound for raising the limit.
    pub hard: Option<u64>,
}

/// Current limit of open files.
pub fn open_files() -> OpenFiles {
    let now = getrlimit(Resource::Nofile);
    OpenFiles { soft: now.current, hard: now.maximum }
}

/// Raises the limit of open files to its upper bound and returns the limit in force.
///
/// A refusal is not an error: a call above the limit fails with `EMFILE`.
pub fn raise_open_files() -> OpenFiles {
    let before = getrlimit(Resource::Nofile);
    if before.current != before.maximum {
        let raised = Rlimit { current: before.maximum, maximum: before.maximum };
        // The kernel refuses an unlimited value; the previous limit stays.
        let _refused = setrlimit(Resource::Nofile, raised);
    }
    open_files()
}

/// Limits of processes and threads; `None` means unlimited or unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadLimits {
    /// Limit of the user (`RLIMIT_NPROC`), which does not apply to root.
    pub user: Option<u64>,
    /// Limit of the narrowest control group (`pids.max`).
    pub group: Option<u64>,
    /// Limit of the machine (`kernel.threads-max`).
    pub machine: Option<u64>,
}

/// Limits that can prevent a new thread or process.
pub fn thread_limits() -> ThreadLimits {
    let number = |path: &Path| read_to_string(path).ok()?.trim().parse().ok();
    let group = read_to_string("/proc/self/cgroup").ok().and_then(|text| {
        let files = text.lines().flat_map(pids_files);
        files.filter_map(|path| number(&path)).min()
    });
    ThreadLimits {
        user: getrlimit(Resource::Nproc).current,
        group,
        machine: number(Path::new("/proc/sys/kernel/threads-max")),
    }
}

/// Paths of `pids.max` for a group and its ancestors, from a line of `/proc/PID/cgroup`: of cgroup
/// v2, also mounted next to v1, and of the v1 controller.
fn pids_files(line: &str) -> Vec<PathBuf> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(own)) = (fields.next(), fields.next()) else { return Vec::new() };
    let tops: &[&str] = match controllers {
        "" => &["/sys/fs/cgroup", "/sys/fs/cgroup/unified"],
        "pids" => &["/sys/fs/cgroup/pids"],
        _ => &[],
    };
    let own = Path::new(own.trim_start_matches('/'));
    let groups =
        tops.iter().flat_map(|top| own.ancestors().map(|group| Path::new(top).join(group)));
    groups.map(|group| group.join("pids.max")).collect()
}

#[cfg(test)]
mod tests {
    use super::{pids_files, raise_open_files, thread_limits};

    #[test]
    fn groups_of_both_versions_limit_processes() {
        let files = |line: &str| -> Vec<String> {
            pids_files(line).iter().map(|path| path.to_string_lossy().into_owned()).collect()
        };
        let old = ["a/b/pids.max", "a/pids.max", "pids.max"];
        assert_eq!(files("8:pids:/a/b"), old.map(|path| format!("/sys/fs/cgroup/pids/{path}")));
        assert_eq!(
            files("0::/a")[..2],
            ["a/pids.max", "pids.max"].map(|path| format!("/sys/fs/cgroup/{path}"))
        );
        assert!(files("4:memory:/a").is_empty() && files("").is_empty());
    }

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
