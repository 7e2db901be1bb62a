//! CPU time of io_uring's workers in this process: threads `iou-wrk-PID` below `/proc/self/task`.
//! The workers of forked processes, and the time of workers that have ended, are missing.

use std::collections::HashMap;
use std::fs::read_dir;

use treering_model::Unit;
use treering_model::metrics::kernel::IO_URING_WORKERS_CPU_SECONDS;

use super::super::reading::Reading;
use super::super::scene::CounterScene;
use super::CounterSource;
use crate::places::KernelRoots;

const PREFIX: &str = "iou-wrk";
const TASKS: &str = "self/task";

struct IoUringWorkers {
    roots: KernelRoots,
    /// CPU time of each worker when it was last read; `None` for other threads.
    known: HashMap<String, Option<u64>>,
    cpu_ns: u64,
}

/// Opens the workers if the kernel accounts their time.
pub(super) fn open(scene: &CounterScene) -> Option<Box<dyn CounterSource>> {
    scene.roots.proc("self/schedstat")?;
    let roots = scene.roots.clone();
    Some(Box::new(IoUringWorkers { roots, known: HashMap::new(), cpu_ns: 0 }))
}

impl CounterSource for IoUringWorkers {
    fn read(&mut self) -> Vec<Reading> {
        let entries = read_dir(self.roots.proc.join(TASKS)).into_iter().flatten().flatten();
        let mut known = HashMap::new();
        for task in entries.filter_map(|entry| entry.file_name().into_string().ok()) {
            let file = |name: &str| self.roots.proc(&format!("{TASKS}/{task}/{name}"));
            let before =
                self.known.get(&task).copied().unwrap_or_else(|| {
                    file("comm").filter(|comm| comm.starts_with(PREFIX)).map(|_| 0)
                });
            let now = before.map(|before| {
                let text = file("schedstat");
                let number = text.and_then(|text| text.split_whitespace().next()?.parse().ok());
                number.unwrap_or(before)
            });
            if let (Some(before), Some(now)) = (before, now) {
                self.cpu_ns += now.saturating_sub(before);
            }
            known.insert(task, now);
        }
        self.known = known;
        let (name, source) = ("thread.iou-wrk", "/proc/self/task/TID/schedstat");
        let reading = Reading::counter(name, source, Unit::Nanoseconds, self.cpu_ns);
        vec![reading.promoted(IO_URING_WORKERS_CPU_SECONDS)]
    }
}

#[cfg(test)]
mod tests {
    use super::open;
    use crate::kernel_counters::scene::CounterScene;
    use crate::places::KernelRoots;
    use std::fs::{create_dir_all, write};

    #[test]
    fn only_workers_of_io_uring_are_summed() {
        let top = tempfile::tempdir().unwrap();
        let tasks = top.path().join("self/task");
        for (task, comm, cpu_ns) in [("10", "treering\n", "900"), ("11", "iou-wrk-10\n", "50")] {
            create_dir_all(tasks.join(task)).unwrap();
            write(tasks.join(task).join("comm"), comm).unwrap();
            write(tasks.join(task).join("schedstat"), format!("{cpu_ns} 1 1\n")).unwrap();
        }
        write(top.path().join("self/schedstat"), "1 1 1\n").unwrap();
        let roots = KernelRoots { proc: top.path().to_owned(), ..KernelRoots::default() };
        let mut source = open(&CounterScene { roots, ..CounterScene::default() }).unwrap();
        assert_eq!(source.read()[0].value, 50);
        write(tasks.join("11/schedstat"), "70 1 1\n").unwrap();
        assert_eq!(source.read()[0].value, 70);
    }
}
