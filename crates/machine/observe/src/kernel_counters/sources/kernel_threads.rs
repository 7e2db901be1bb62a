//! CPU time of kernel threads from `/proc/PID/schedstat`, by name: nanoseconds, where `stat` has
//! ticks of 10 ms.
//!
//! The name of a kworker ends in the work that it did last, for whichever subsystem that was, so
//! all kworkers are one group. The numbers of CPUs and devices are cut off the other names. Time of
//! a thread that ends is lost from its last reading on.

use std::collections::{BTreeMap, HashMap};
use std::fs::read_dir;

use treering_model::Unit;
use treering_model::metrics::kernel::{
    THREAD_CPU_SECONDS, THREADS_CPU_SECONDS, WORKERS_CPU_SECONDS,
};

use super::super::reading::Reading;
use super::super::scene::CounterScene;
use super::CounterSource;
use crate::places::KernelRoots;

/// Flag of kernel threads in the ninth field of `/proc/PID/stat`.
const KERNEL_THREAD: u64 = 0x0020_0000;
/// Group of the workers of all workqueues.
const WORKERS: &str = "kworker";
const SOURCE: &str = "/proc/PID/schedstat";

/// Kernel thread: its group, and its CPU time when it was last read.
struct KernelThread {
    group: usize,
    cpu_ns: u64,
}

/// Threads with one name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ThreadGroup {
    name: String,
    /// True if the threads work only for the filesystem under test or its devices.
    is_own: bool,
    cpu_ns: u64,
}

struct KernelThreads {
    roots: KernelRoots,
    mounted: Vec<String>,
    fs_type: String,
    /// Threads by process number; `None` for other processes.
    known: HashMap<u32, Option<KernelThread>>,
    groups: Vec<ThreadGroup>,
    by_name: BTreeMap<String, usize>,
}

/// Opens the threads if the kernel accounts their time.
pub(super) fn open(scene: &CounterScene) -> Option<Box<dyn CounterSource>> {
    scene.roots.proc("self/schedstat")?;
    let mut mounted = scene.mounted.clone();
    mounted.extend(
        scene
            .devices
            .iter()
            .flat_map(|one| [one.device.name.clone(), one.device.number.to_string()]),
    );
    Some(Box::new(KernelThreads {
        roots: scene.roots.clone(),
        mounted,
        fs_type: scene.fs_type.clone(),
        known: HashMap::new(),
        groups: Vec::new(),
        by_name: BTreeMap::new(),
    }))
}

impl CounterSource for KernelThreads {
    fn read(&mut self) -> Vec<Reading> {
        self.scan();
        let reading = |group: &ThreadGroup| {
            let name = format!("thread.{}", group.name);
            let reading = Reading::counter(name, SOURCE, Unit::Nanoseconds, group.cpu_ns);
            if group.name == WORKERS {
                reading.promoted(WORKERS_CPU_SECONDS)
            } else if group.is_own {
                reading.promoted_as(THREAD_CPU_SECONDS, &word(&group.name))
            } else {
                reading
            }
        };
        let mut readings: Vec<Reading> = self.groups.iter().map(reading).collect();
        // None at all: these are the processes of a container, which has no kernel threads.
        if !readings.is_empty() {
            let total = self.groups.iter().map(|group| group.cpu_ns).sum();
            let total = Reading::counter("threads", SOURCE, Unit::Nanoseconds, total);
            readings.push(total.promoted(THREADS_CPU_SECONDS));
        }
        readings
    }
}

impl KernelThreads {
    /// Adds the time since the last scan to the groups. Only new processes are examined in full.
    fn scan(&mut self) {
        let entries = read_dir(&self.roots.proc).into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let mut known = HashMap::with_capacity(self.known.len());
        for pid in numbers {
            let thread = self.known.remove(&pid).unwrap_or_else(|| self.look(pid));
            let Some(mut thread) = thread else {
                known.insert(pid, None);
                continue;
            };
            if let Some(cpu_ns) = self.cpu_ns(pid) {
                // A number that was given to another thread begins again at 0.
                let more = if cpu_ns < thread.cpu_ns { cpu_ns } else { cpu_ns - thread.cpu_ns };
                self.groups[thread.group].cpu_ns += more;
                thread.cpu_ns = cpu_ns;
            }
            known.insert(pid, Some(thread));
        }
        self.known = known;
    }

    fn cpu_ns(&self, pid: u32) -> Option<u64> {
        let text = self.roots.proc(&format!("{pid}/schedstat"))?;
        text.split_whitespace().next()?.parse().ok()
    }

    /// Examines a new process; `None` if it is not a kernel thread.
    fn look(&mut self, pid: u32) -> Option<KernelThread> {
        let stat = self.roots.proc(&format!("{pid}/stat"))?;
        let comm = kernel_thread(&stat)?;
        let name = group_name(comm, &self.mounted);
        let is_own = is_own(comm, &name, &self.mounted, &self.fs_type);
        let group = *self.by_name.entry(name.clone()).or_insert_with(|| {
            self.groups.push(ThreadGroup { name, is_own: false, cpu_ns: 0 });
            self.groups.len() - 1
        });
        self.groups[group].is_own |= is_own;
        Some(KernelThread { group, cpu_ns: 0 })
    }
}

/// Name of a kernel thread by its `stat`; `None` for other processes.
fn kernel_thread(stat: &str) -> Option<&str> {
    // The name may contain any character.
    let (begin, fields) = stat.rsplit_once(") ")?;
    let (_, comm) = begin.split_once(" (")?;
    let flags: u64 = fields.split(' ').nth(6)?.parse().ok()?;
    (flags & KERNEL_THREAD != 0).then_some(comm)
}

/// Name of the group: all kworkers are one, per-CPU threads one for each kind, and threads of the
/// devices under test are told from those of other devices.
fn group_name(comm: &str, mounted: &[String]) -> String {
    if comm.starts_with(WORKERS) {
        return WORKERS.to_owned();
    }
    let (kind, of) = comm.split_once('/').unwrap_or((comm, ""));
    if of.is_empty() || is_device(of, mounted) || of.bytes().all(|byte| byte.is_ascii_digit()) {
        return kind.to_owned();
    }
    format!("{kind}/others")
}

/// Reports whether a thread works only for the filesystem under test or its devices: it is named
/// after one of them (`jbd2/sda1-8`), or after the filesystem type, in which case other filesystems
/// of the type are included.
fn is_own(comm: &str, group: &str, mounted: &[String], fs_type: &str) -> bool {
    let work = comm.split_once('/').map_or("", |(_, work)| work);
    let is_of_type = |end: &str| end.starts_with('-') || end.starts_with('_');
    (!work.is_empty() && is_device(work, mounted))
        || (!fs_type.is_empty() && group.strip_prefix(fs_type).is_some_and(is_of_type))
}

/// Reports whether the device in a thread's name, which the kernel truncates to 15 bytes, is one of
/// these.
fn is_device(of: &str, mounted: &[String]) -> bool {
    let is_it = |device: &String| {
        let end = of.strip_prefix(device.as_str());
        end.is_some_and(|end| end.is_empty() || end.starts_with('-'))
            || (of.len() >= 5 && device.starts_with(of))
    };
    mounted.iter().any(is_it)
}

/// Word of a group in the name of a metric.
fn word(group: &str) -> String {
    let is_word = |byte: char| byte.is_ascii_alphanumeric();
    group.chars().map(|byte| if is_word(byte) { byte.to_ascii_lowercase() } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::{group_name, is_own, kernel_thread, open, word};
    use crate::kernel_counters::scene::CounterScene;
    use crate::places::KernelRoots;
    use std::fs::{create_dir_all, write};
    use std::path::Path;

    fn process(proc: &Path, pid: &str, comm: &str, flags: u64, schedstat: &str) {
        let folder = proc.join(pid);
        create_dir_all(&folder).unwrap();
        let stat = format!("{pid} ({comm}) S 2 0 0 0 -1 {flags} 0 0 0 0 3 4 0 0 20 0\n");
        write(folder.join("stat"), stat).unwrap();
        write(folder.join("schedstat"), schedstat).unwrap();
    }

    #[test]
    fn threads_are_summed_by_name_however_kworkers_are_called() {
        let top = tempfile::tempdir().unwrap();
        let thread = 0x0020_8040;
        process(top.path(), "self", "treering", 0x40_0000, "1 2 3\n");
        process(top.path(), "5", "kworker/0:1-events", thread, "1000 5 6\n");
        process(top.path(), "6", "kworker/u8:2+flush-7:0", thread, "2000 5 6\n");
        process(top.path(), "7", "jbd2/loop0-8", thread, "300 5 6\n");
        process(top.path(), "8", "jbd2/vda-8", thread, "70 5 6\n");
        process(top.path(), "9", "a) S 2 (b", 0x40_0000, "9000 5 6\n");
        let roots = KernelRoots { proc: top.path().to_owned(), ..KernelRoots::default() };
        let mounted = vec!["loop0".to_owned()];
        let scene = CounterScene { roots, mounted, ..CounterScene::default() };
        let mut source = open(&scene).unwrap();
        let value = |source: &mut Box<dyn super::CounterSource>, name: &str| {
            let readings = source.read();
            readings.iter().find(|one| one.name == name).map(|one| one.value)
        };
        assert_eq!(value(&mut source, "thread.kworker"), Some(3000));
        assert_eq!(value(&mut source, "thread.jbd2"), Some(300));
        assert_eq!(value(&mut source, "thread.jbd2/others"), Some(70));
        // One worker did other work, one ended, one is new, one has the number of another.
        process(top.path(), "5", "kworker/0:1+writeback", thread, "1500 5 6\n");
        std::fs::remove_dir_all(top.path().join("6")).unwrap();
        process(top.path(), "16", "kworker/1:0", thread, "40 5 6\n");
        process(top.path(), "7", "jbd2/loop0-8", thread, "20 5 6\n");
        assert_eq!(value(&mut source, "thread.kworker"), Some(3540));
        assert_eq!(value(&mut source, "thread.jbd2"), Some(320));
        assert_eq!(value(&mut source, "threads"), Some(3540 + 320 + 70));
    }

    #[test]
    fn threads_of_the_filesystem_under_test_are_told_from_others() {
        let mounted = ["loop0".to_owned(), "nvme0n1p1".to_owned(), "7:0".to_owned()];
        assert_eq!(group_name("ksoftirqd/1", &mounted), "ksoftirqd");
        assert_eq!(group_name("jbd2/loop01-8", &mounted), "jbd2/others");
        assert_eq!(group_name("xfsaild/nvme0n1", &mounted), "xfsaild");
        let own = |comm: &str, fs_type: &str| {
            is_own(comm, &group_name(comm, &mounted), &mounted, fs_type)
        };
        assert!(own("jbd2/loop0-8", "") && own("xfsaild/nvme0n1", "") && !own("jbd2/vda-8", ""));
        assert!(own("dmcrypt_write/7:0", "") && !own("ksoftirqd/0", ""));
        assert!(own("btrfs-transacti", "btrfs") && !own("btrfs-transacti", "ext4"));
        assert_eq!(word("btrfs-transacti"), "btrfs_transacti");
        assert_eq!(kernel_thread("7 (cat) S 2 0 0 0 -1 4194304 0"), None);
    }
}
