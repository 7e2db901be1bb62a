//! Limits by control groups: memory, CPUs, I/O, processes.

use std::fmt::Write;

use super::hierarchy::{CgroupPath, CgroupVersion};
use crate::places::KernelRoots;

/// Effective limits: the smallest from the own group up to the root.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CgroupLimits {
    /// Memory limit, if below the machine's memory.
    pub(crate) memory_max_bytes: Option<u64>,
    /// Memory throttling threshold, if below the machine's memory: above it the kernel reclaims
    /// memory and slows the group down.
    pub(crate) memory_high_bytes: Option<u64>,
    /// CPU quota in CPUs, if below the number of the machine.
    pub(crate) cpu_time: Option<f64>,
    /// Allowed CPUs, if fewer than the machine has.
    pub(crate) cpus: Option<usize>,
    /// I/O limits by device, in kernel notation.
    pub(crate) io: Vec<String>,
    /// Limit of processes and threads.
    pub(crate) pids_max: Option<u64>,
}

/// Throttling files of cgroup v1, with the v2 names of their limits.
const THROTTLES: [(&str, &str); 4] = [
    ("blkio.throttle.read_bps_device", "rbps"),
    ("blkio.throttle.write_bps_device", "wbps"),
    ("blkio.throttle.read_iops_device", "riops"),
    ("blkio.throttle.write_iops_device", "wiops"),
];

impl CgroupLimits {
    /// Reads the effective limits; limits that leave the whole machine are omitted.
    pub(crate) fn read(places: &KernelRoots) -> Self {
        let mut limits = Self::default();
        let memory = places.memory_bytes("MemTotal").unwrap_or(u64::MAX);
        if let Some(lineage) = CgroupPath::find(places, "memory") {
            let (max, high) = match lineage.version {
                CgroupVersion::One => ("memory.limit_in_bytes", "memory.soft_limit_in_bytes"),
                CgroupVersion::Two => ("memory.max", "memory.high"),
            };
            limits.memory_max_bytes = lineage.least(max).filter(|bytes| *bytes < memory);
            // The v1 soft limit does not throttle.
            if lineage.version == CgroupVersion::Two {
                limits.memory_high_bytes = lineage.least(high).filter(|bytes| *bytes < memory);
            }
        }
        let cpuinfo = places.proc("cpuinfo").unwrap_or_default();
        let processors = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
        limits.cpu_time = cpu_time(places).filter(|cpus| *cpus < processors as f64);
        let status = places.proc("self/status").unwrap_or_default();
        let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        limits.cpus = allowed.and_then(|list| count(list.trim())).filter(|cpus| *cpus < processors);
        limits.io = io(places);
        limits.pids_max =
            CgroupPath::find(places, "pids").and_then(|processors| processors.least("pids.max"));
        limits
    }

    /// Memory usable before reclaim sets in, in bytes.
    pub(crate) fn memory_bytes(&self) -> Option<u64> {
        [self.memory_max_bytes, self.memory_high_bytes].into_iter().flatten().min()
    }

    /// All limits in one line in cgroup v2 notation; `none` without limits.
    pub(crate) fn words(&self) -> String {
        let mut words = Vec::new();
        let mut tell = |name: &str, value: Option<String>| {
            words.extend(value.map(|value| format!("{name}={value}")));
        };
        tell("memory.max", self.memory_max_bytes.map(|bytes| bytes.to_string()));
        tell("memory.high", self.memory_high_bytes.map(|bytes| bytes.to_string()));
        tell("cpu.max", self.cpu_time.map(|cpus| format!("{cpus:.2}")));
        tell("cpus", self.cpus.map(|cpus| cpus.to_string()));
        tell("io.max", (!self.io.is_empty()).then(|| self.io.join("; ")));
        tell("pids.max", self.pids_max.map(|pids| pids.to_string()));
        if words.is_empty() { "none".to_owned() } else { words.join(", ") }
    }

    /// Caution text for limits that affect results, if any.
    pub(crate) fn caution(&self, memory_bytes: Option<u64>) -> Option<String> {
        let mut limits = Vec::new();
        let mib = |bytes: u64| bytes >> 20;
        if let Some(bytes) = self.memory_bytes() {
            let mut words = format!("memory to {} MiB", mib(bytes));
            if let Some(total) = memory_bytes {
                let _to_a_string_always_works = write!(words, " of {}", mib(total));
            }
            limits.push(words);
        }
        limits.extend(self.cpu_time.map(|cpus| format!("CPU time to that of {cpus:.2} CPUs")));
        limits.extend(self.cpus.map(|cpus| format!("CPUs to {cpus}")));
        if !self.io.is_empty() {
            limits.push(format!("I/O to {}", self.io.join("; ")));
        }
        (!limits.is_empty())
            .then(|| format!("a control group or CPU affinity limits {}", limits.join(", ")))
    }
}

/// CPU quota in CPUs.
fn cpu_time(places: &KernelRoots) -> Option<f64> {
    let lineage = CgroupPath::find(places, "cpu")?;
    let quotas: Vec<(String, String)> = match lineage.version {
        CgroupVersion::One => {
            let (quota, period) = ("cpu.cfs_quota_us", "cpu.cfs_period_us");
            lineage.texts(quota).into_iter().zip(lineage.texts(period)).collect()
        }
        CgroupVersion::Two => {
            let texts = lineage.texts("cpu.max");
            let pair = |text: &String| {
                let (quota, period) = text.split_once(' ')?;
                Some((quota.to_owned(), period.to_owned()))
            };
            texts.iter().filter_map(pair).collect()
        }
    };
    // `max` or a negative quota means unlimited.
    let cpus = quotas.iter().filter_map(|(quota, period)| {
        let quota = quota.parse::<f64>().ok().filter(|quota| *quota > 0.0)?;
        let period = period.parse::<f64>().ok().filter(|period| *period > 0.0)?;
        Some(quota / period)
    });
    cpus.min_by(f64::total_cmp)
}

fn io(places: &KernelRoots) -> Vec<String> {
    let first = CgroupPath::find(places, "blkio").filter(|path| path.version == CgroupVersion::One);
    if let Some(lineage) = first {
        let limits = THROTTLES.iter().flat_map(|(file, word)| {
            let texts = lineage.texts(file);
            let lines = texts.iter().flat_map(|text| text.lines());
            let words = lines.filter_map(|line| {
                let (device, value) = line.split_once(' ')?;
                Some(format!("{device} {word}={value}"))
            });
            words.collect::<Vec<_>>()
        });
        return limits.collect();
    }
    let Some(lineage) = CgroupPath::find(places, "io") else { return Vec::new() };
    let texts = lineage.texts("io.max");
    let lines = texts.iter().flat_map(|text| text.lines());
    let limiting = lines.filter_map(|line| {
        let is_limit = |word: &&str| !word.ends_with("=max");
        let words: Vec<&str> = line.split(' ').filter(is_limit).collect();
        (words.len() > 1).then(|| words.join(" "))
    });
    limiting.collect()
}

/// Number of elements in a list such as `0-3,8`.
fn count(list: &str) -> Option<usize> {
    let length = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        Some(last.checked_sub(first)? + 1)
    };
    list.split(',').map(length).sum()
}
