//! tracefs instances created by treering, named after their process. After a kill an instance
//! remains until the next recording or `treering lab release` removes it; the kernel refuses while
//! one of its files is open.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::io::Errno;
use treering_sys::Tracefs;

use super::probe_events::remove_instance;

/// Name prefix. Process ID, start time of the process in clock ticks since boot, and a serial
/// number follow: `treering-4711-123456-0`.
const BEGINNING: &str = "treering-";

/// Serial number of the next instance of this process.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// Name for the next instance of this process.
pub(crate) fn next_name() -> String {
    let process = std::process::id();
    let start = start_time(process).unwrap_or(0);
    format!("{BEGINNING}{process}-{start}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Start time of a process in clock ticks since boot; `None` if it does not exist.
fn start_time(process: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    start_time_in(&stat)
}

/// Field 22 of `/proc/PID/stat`, counted from behind the command name, which may contain any
/// character.
fn start_time_in(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(19)?.parse().ok()
}

/// tracefs instance whose process is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleInstance {
    name: String,
    /// Process that created it.
    pub process: u32,
    /// Start time of that process, in clock ticks since boot.
    pub start: u64,
}

impl fmt::Display for StaleInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "instance {} of tracefs", self.name)
    }
}

impl StaleInstance {
    /// All leftover instances; empty if tracefs cannot be read.
    pub fn list() -> Vec<Self> {
        Tracefs::open().map(|traces| Self::list_in(&traces)).unwrap_or_default()
    }

    pub(crate) fn list_in(traces: &Tracefs) -> Vec<Self> {
        let names = traces.instances().unwrap_or_default();
        names.into_iter().filter_map(|name| Self::parse(name, start_time)).collect()
    }

    /// Parses an instance name; `None` for foreign names and running processes.
    fn parse(name: String, start_of: impl Fn(u32) -> Option<u64>) -> Option<Self> {
        let mut numbers = name.strip_prefix(BEGINNING)?.splitn(3, '-');
        let process = numbers.next()?.parse().ok()?;
        let then: u64 = numbers.next()?.parse().ok()?;
        let _number: u32 = numbers.next()?.parse().ok()?;
        (start_of(process) != Some(then)).then_some(Self { name, process, start: then })
    }

    /// Removes the instance.
    ///
    /// # Errors
    /// `EBUSY` while one of its files is open.
    pub fn remove(&self) -> Result<(), Errno> {
        self.remove_from(&Tracefs::open()?)
    }

    pub(crate) fn remove_from(&self, traces: &Tracefs) -> Result<(), Errno> {
        remove_instance(traces, &self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::{StaleInstance, next_name, start_time, start_time_in};

    #[test]
    fn instances_of_ended_processes_are_stale() {
        let begun_then = |process| (process == 7).then_some(1000);
        let left = |name: &str| StaleInstance::parse(name.to_owned(), begun_then);
        assert_eq!(left("treering-7-1000-0"), None, "its process is there");
        assert_eq!(left("treering-7-999-0").unwrap().process, 7, "another has its number");
        assert_eq!(left("treering-8-1000-3").unwrap().to_string(), {
            "instance treering-8-1000-3 of tracefs"
        });
        let others = ["treering-7", "treering-test-9", "other-8-1000-0", "treering-8-1000-x"];
        for other in others {
            assert_eq!(left(other), None, "{other}");
        }
        let (first, second) = (next_name(), next_name());
        assert_ne!(first, second);
        assert_eq!(StaleInstance::parse(first, start_time), None, "we are there");
    }

    #[test]
    fn start_time_is_parsed_behind_any_command_name() {
        let fields: Vec<String> = (3..30).map(|field| (field * 10).to_string()).collect();
        let stat = format!("12 (a) b (c) {}", fields.join(" "));
        assert_eq!(start_time_in(&stat), Some(220));
        assert_eq!(start_time_in("12 (a) S 1"), None);
    }
}
