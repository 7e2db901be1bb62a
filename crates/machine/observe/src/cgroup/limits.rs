//! What our control groups let us have: memory, CPUs, I/O, processes.

use std::fmt::Write;

use super::hierarchy::{Lineage, Version};
use crate::places::Places;

/// The limits in force: the smallest on the way from our group to the top.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Limits {
    /// Below the machine's memory.
    pub(crate) memory_max_bytes: Option<u64>,
    /// Above it the kernel takes memory back and slows us; below the machine's memory.
    pub(crate) memory_high_bytes: Option<u64>,
    /// CPUs' worth of time, fewer than the machine has.
    pub(crate) cpu_time: Option<f64>,
    /// CPUs on which we may run, fewer than the machine has.
    pub(crate) cpus: Option<usize>,
    /// Limits of devices, in the kernel's words.
    pub(crate) io: Vec<String>,
    /// Processes and threads.
    pub(crate) pids_max: Option<u64>,
}

/// Files of the first version that limit a device, and how the second calls it.
const THROTTLES: [(&str, &str); 4] = [
    ("blkio.throttle.read_bps_device", "rbps"),
    ("blkio.throttle.write_bps_device", "wbps"),
    ("blkio.throttle.read_iops_device", "riops"),
    ("blkio.throttle.write_iops_device", "wiops"),
];

impl Limits {
    /// Those in force; a limit that lets us have all of the machine is none.
    pub(crate) fn read(places: &Places) -> Self {
        let mut limits = Self::default();
        let memory = places.memory_bytes("MemTotal").unwrap_or(u64::MAX);
        if let Some(lineage) = Lineage::of(places, "memory") {
            let (max, high) = match lineage.version {
                Version::One => ("memory.limit_in_bytes", "memory.soft_limit_in_bytes"),
                Version::Two => ("memory.max", "memory.high"),
            };
            limits.memory_max_bytes = lineage.least(max).filter(|bytes| *bytes < memory);
            // The soft limit of the first version slows nobody.
            if lineage.version == Version::Two {
                limits.memory_high_bytes = lineage.least(high).filter(|bytes| *bytes < memory);
            }
        }
        let cpuinfo = places.proc("cpuinfo").unwrap_or_default();
        let all = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
        limits.cpu_time = cpu_time(places).filter(|cpus| *cpus < all as f64);
        let status = places.proc("self/status").unwrap_or_default();
        let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        limits.cpus = allowed.and_then(|list| count(list.trim())).filter(|cpus| *cpus < all);
        limits.io = io(places);
        limits.pids_max = Lineage::of(places, "pids").and_then(|all| all.least("pids.max"));
        limits
    }

    /// The memory that we may have before it is taken back.
    pub(crate) fn memory_bytes(&self) -> Option<u64> {
        [self.memory_max_bytes, self.memory_high_bytes].into_iter().flatten().min()
    }

    /// All of them in one line, in the words of the second version; `none` without any.
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

    /// Those that make measurements differ, in words; `None` without such.
    pub(crate) fn caution(&self, memory_bytes: Option<u64>) -> Option<String> {
        let mut said = Vec::new();
        let mib = |bytes: u64| bytes >> 20;
        if let Some(bytes) = self.memory_bytes() {
            let mut words = format!("memory to {} MiB", mib(bytes));
            if let Some(all) = memory_bytes {
                let _to_a_string_always_works = write!(words, " of {}", mib(all));
            }
            said.push(words);
        }
        said.extend(self.cpu_time.map(|cpus| format!("CPU time to that of {cpus:.2} CPUs")));
        said.extend(self.cpus.map(|cpus| format!("CPUs to {cpus}")));
        if !self.io.is_empty() {
            said.push(format!("I/O to {}", self.io.join("; ")));
        }
        (!said.is_empty())
            .then(|| format!("a control group or CPU affinity limits {}", said.join(", ")))
    }
}

/// CPUs' worth of time.
fn cpu_time(places: &Places) -> Option<f64> {
    let lineage = Lineage::of(places, "cpu")?;
    let quotas: Vec<(String, String)> = match lineage.version {
        Version::One => {
            let (quota, period) = ("cpu.cfs_quota_us", "cpu.cfs_period_us");
            lineage.texts(quota).into_iter().zip(lineage.texts(period)).collect()
        }
        Version::Two => {
            let texts = lineage.texts("cpu.max");
            let pair = |text: &String| {
                let (quota, period) = text.split_once(' ')?;
                Some((quota.to_owned(), period.to_owned()))
            };
            texts.iter().filter_map(pair).collect()
        }
    };
    // No quota is `max`, or below zero.
    let cpus = quotas.iter().filter_map(|(quota, period)| {
        let quota = quota.parse::<f64>().ok().filter(|quota| *quota > 0.0)?;
        let period = period.parse::<f64>().ok().filter(|period| *period > 0.0)?;
        Some(quota / period)
    });
    cpus.min_by(f64::total_cmp)
}

fn io(places: &Places) -> Vec<String> {
    let first = Lineage::of(places, "blkio").filter(|all| all.version == Version::One);
    if let Some(lineage) = first {
        let found = THROTTLES.iter().flat_map(|(file, word)| {
            let texts = lineage.texts(file);
            let lines = texts.iter().flat_map(|text| text.lines());
            let said = lines.filter_map(|line| {
                let (device, value) = line.split_once(' ')?;
                Some(format!("{device} {word}={value}"))
            });
            said.collect::<Vec<_>>()
        });
        return found.collect();
    }
    let Some(lineage) = Lineage::of(places, "io") else { return Vec::new() };
    let texts = lineage.texts("io.max");
    let lines = texts.iter().flat_map(|text| text.lines());
    let limiting = lines.filter_map(|line| {
        let is_limit = |word: &&str| !word.ends_with("=max");
        let words: Vec<&str> = line.split(' ').filter(is_limit).collect();
        (words.len() > 1).then(|| words.join(" "))
    });
    limiting.collect()
}

/// How many numbers a list as `0-3,8` has.
fn count(list: &str) -> Option<usize> {
    let length = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        Some(last.checked_sub(first)? + 1)
    };
    list.split(',').map(length).sum()
}
