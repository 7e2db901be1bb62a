//! Process that writes a trial, and whether it is still alive.
//!
//! A process is identified by its id, its start time and the boot id of the machine: ids are
//! reused, the combination is not. The kernel provides all of them in `/proc`, so a killed writer
//! needs no cleanup. Limits: a writer on another machine, in a container that this process cannot
//! see into, or hidden by `hidepid` counts as dead.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::fs;

/// A process that records a trial.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct WriterProcess {
    /// Process id in its own namespace.
    pub(crate) pid: u32,
    /// Start time in clock ticks after boot.
    pub(crate) start_ticks: u64,
    /// Boot id of the machine.
    pub(crate) boot_id: String,
    /// PID namespace of the process: `pid:[4026531836]`.
    pub(crate) pid_namespace: String,
}

impl WriterProcess {
    /// Identifies the current process; `None` without `/proc`.
    pub(crate) fn of_this_process() -> Option<Self> {
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        Some(Self {
            pid: stat.split(' ').next()?.parse().ok()?,
            start_ticks: life(&stat)?,
            boot_id: boot_id()?,
            pid_namespace: namespace()?,
        })
    }
}

/// Looks up writers among the live processes of this machine, caching the answers.
#[derive(Debug, Default)]
pub(crate) struct WriterLiveness {
    this_host: OnceCell<Option<(String, String)>>,
    nested: OnceCell<HashSet<(u32, u64)>>,
    answers: HashMap<WriterProcess, bool>,
}

impl WriterLiveness {
    /// Reports whether the process is alive.
    pub(crate) fn contains(&mut self, writer: &WriterProcess) -> bool {
        if let Some(answer) = self.answers.get(writer) {
            return *answer;
        }
        let answer = self.is_alive(writer);
        self.answers.insert(writer.clone(), answer);
        answer
    }

    fn is_alive(&self, writer: &WriterProcess) -> bool {
        let host = self.this_host.get_or_init(|| Some((boot_id()?, namespace()?)));
        let Some((boot_id, namespace)) = host else {
            return false;
        };
        if writer.boot_id != *boot_id {
            return false;
        }
        if writer.pid_namespace == *namespace {
            let stat = fs::read_to_string(format!("/proc/{}/stat", writer.pid));
            return stat.ok().and_then(|stat| life(&stat)) == Some(writer.start_ticks);
        }
        // The writer has another id in this namespace: find the process with that innermost id.
        self.nested.get_or_init(nested_processes).contains(&(writer.pid, writer.start_ticks))
    }
}

/// Live processes in nested PID namespaces: innermost process id and start time.
fn nested_processes() -> HashSet<(u32, u64)> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return HashSet::new();
    };
    let processes = entries.flatten().filter_map(|entry| {
        let _number: u32 = entry.file_name().to_str()?.parse().ok()?;
        let status = fs::read_to_string(entry.path().join("status")).ok()?;
        let pid = innermost_pid(&status)?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        Some((pid, life(&stat)?))
    });
    processes.collect()
}

/// Last number of the line `NSpid:`, if it has several.
fn innermost_pid(status: &str) -> Option<u32> {
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    numbers.split_whitespace().skip(1).last()?.parse().ok()
}

/// Start time of a live process from its `stat`. Field 2, the name, may contain any characters.
fn life(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(") ")?;
    let mut fields = after_name.split(' ');
    if matches!(fields.next()?, "Z" | "X" | "x") {
        return None;
    }
    fields.nth(18)?.trim_end().parse().ok()
}

fn boot_id() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

fn namespace() -> Option<String> {
    fs::read_link("/proc/self/ns/pid").ok()?.into_os_string().into_string().ok()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::{WriterLiveness, WriterProcess, innermost_pid, life};

    const STAT: &str = "4242 (a ) b) S 1 4242 4242 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 10";

    #[test]
    fn process_names_may_contain_any_characters() {
        assert_eq!(life(STAT), Some(987_654));
        assert_eq!(life(&STAT.replace(" S ", " Z ")), None);
        for broken in ["", "1 (a)", "1 (a) S", "1 (a) S 1 2 3"] {
            assert_eq!(life(broken), None);
        }
    }

    #[test]
    fn processes_of_this_namespace_have_one_number() {
        assert_eq!(innermost_pid("Name:\tx\nNSpid:\t77\t5\t1\n"), Some(1));
        assert_eq!(innermost_pid("NSpid:\t77\n"), None);
        assert_eq!(innermost_pid("Name:\tx\n"), None);
    }

    #[test]
    fn liveness_of_writer_processes_is_detected() {
        let me = WriterProcess::of_this_process().unwrap();
        let mut liveness = WriterLiveness::default();
        assert!(liveness.contains(&me));
        assert!(
            !liveness.contains(&WriterProcess { start_ticks: me.start_ticks + 1, ..me.clone() })
        );
        assert!(!liveness.contains(&WriterProcess { boot_id: "another".into(), ..me.clone() }));
        assert!(
            !liveness.contains(&WriterProcess { pid_namespace: "pid:[1]".into(), ..me.clone() })
        );

        let mut child = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap();
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        let other = WriterProcess { pid: child.id(), start_ticks: life(&stat).unwrap(), ..me };
        assert!(WriterLiveness::default().contains(&other));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!WriterLiveness::default().contains(&other));
    }
}
