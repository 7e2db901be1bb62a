//! Settings that steer a job, and those of its scheduling.

use treering_kit::faults::Fault;

use super::super::section::Section;
use super::super::steering::{RangeSync, SteadyState};
use super::super::values::RawValue;
use super::pairs;

const COUNT_MAX: u64 = u32::MAX as u64;
/// Longest steady state window, in seconds.
const STEADY_SECONDS_MAX: u64 = 86_400;
/// Names of the errnos, from 1.
const ERRORS: &str = "EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM \
     EACCES EFAULT ENOTBLK EBUSY EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY \
     ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM ERANGE";

impl Section {
    pub(super) fn apply_steering(
        &mut self,
        name: &str,
        value: &RawValue<'_>,
    ) -> Result<bool, Fault> {
        match name {
            "flow" => self.extras.flow.weight = value.number(0, COUNT_MAX)?,
            "flow_id" => self.extras.flow.id = value.number(0, COUNT_MAX)?,
            "flow_sleep" => self.extras.flow.sleep_us = value.number(0, COUNT_MAX)?,
            // The option has no meaning any more.
            "flow_watermark" => value.number(0, COUNT_MAX).map(|_| ())?,
            "rate_min" => pairs(value, |direction, part| {
                self.extras.lowest.bytes[direction.place()] = part.size()?;
                Ok(())
            })?,
            "rate_iops_min" => pairs(value, |direction, part| {
                self.extras.lowest.requests[direction.place()] = part.number(0, COUNT_MAX)?;
                Ok(())
            })?,
            "rate_cycle" => self.extras.lowest.cycle_ms = value.number(0, COUNT_MAX)?,
            "rate_process" => {
                self.extras.is_poisson = value.word(&[("linear", false), ("poisson", true)])?;
            }
            "zonemode" => {
                let is_strided = value.word(&[("none", false), ("strided", true)])?;
                self.extras.strides.are_asked = Some(is_strided);
            }
            "zonesize" => self.extras.strides.bytes = value.size()?,
            "zonerange" => self.extras.strides.range = value.size()?,
            "zoneskip" => self.extras.strides.skip = value.size()?,
            "continue_on_error" => self.continue_on_error(value)?,
            "ignore_error" => self.ignore_error(value)?,
            // The option only changes how a tolerated error is reported.
            "error_dump" => value.switch().map(|_| ())?,
            "wait_for" => {
                self.extras.waits_for = Some(value.text.to_owned()).filter(|name| name != "none");
            }
            _ => return self.apply_running(name, value),
        }
        Ok(true)
    }

    fn continue_on_error(&mut self, value: &RawValue<'_>) -> Result<(), Fault> {
        let [read, write, verify] =
            [[true, false, false], [false, true, false], [false, false, true]];
        let words = [
            ("none", [false; 3]),
            ("read", read),
            ("write", write),
            ("verify", verify),
            ("io", [true, true, false]),
            ("all", [true; 3]),
            ("0", [false; 3]),
            ("1", [true; 3]),
        ];
        self.extras.tolerance.kinds = value.word(&words)?;
        Ok(())
    }

    /// Parses `sync_file_range`: flags separated by commas, then a colon and the number of writes.
    pub(super) fn sync_file_range(&mut self, value: &RawValue<'_>) -> Result<(), Fault> {
        let mut sync = RangeSync::default();
        for part in value.text.split(',') {
            let (word, every) = part.split_once(':').unwrap_or((part, "1"));
            sync.flags |= value.part(word).word(&RangeSync::WORDS)?;
            sync.every = value.part(every).number(1, u64::from(u32::MAX))?;
        }
        self.extras.range_sync = sync;
        Ok(())
    }

    /// Parses a criterion, a colon, and its limit, perhaps in percent.
    fn steadystate(&mut self, value: &RawValue<'_>) -> Result<(), Fault> {
        let right = "write a criterion and its limit, as iops:10% or bw_slope:1%";
        let (word, limit) =
            value.text.split_once(':').ok_or_else(|| value.refuse("has no limit", right))?;
        let [iops, bw] = [true, false];
        let words = [
            ("iops", (iops, false)),
            ("iops_slope", (iops, true)),
            ("bw", (bw, false)),
            ("bw_slope", (bw, true)),
        ];
        let (of_requests, is_slope) = value.part(word).word(&words)?;
        let percent = limit.trim().strip_suffix('%').map(str::trim_end);
        let in_percent = percent.is_some();
        let plain = percent.unwrap_or(limit.trim());
        let limit = match (in_percent, of_requests) {
            (false, false) => value.part(plain).size()? as f64,
            _ => {
                let number = plain.parse::<f64>().ok();
                let number = number.filter(|number| number.is_finite() && *number >= 0.0);
                number.ok_or_else(|| value.refuse("has no limit that is a number", right))?
            }
        };
        let steady = &mut self.extras.steady;
        *steady = SteadyState { of_requests, is_slope, limit, in_percent, ..*steady };
        Ok(())
    }

    /// Parses lists of errors of reads, writes and verification, separated by commas; items are
    /// separated by colons.
    fn ignore_error(&mut self, value: &RawValue<'_>) -> Result<(), Fault> {
        for (kind, list) in value.text.split(',').enumerate().take(3) {
            let names = list.split(':').map(str::trim).filter(|name| !name.is_empty());
            for name in names {
                let known = (1..).zip(ERRORS.split(' ')).find(|(_, known)| *known == name);
                let number = known.map(|(number, _)| number).or_else(|| name.parse().ok());
                let Some(number) = number.filter(|number| *number > 0) else {
                    return Err(value.refuse("names an error that is none", "write EIO:ENOSPC"));
                };
                self.extras.tolerance.numbers[kind].push(number);
                self.extras.tolerance.kinds[kind] = true;
            }
        }
        Ok(())
    }

    fn apply_running(&mut self, name: &str, value: &RawValue<'_>) -> Result<bool, Fault> {
        match name {
            "cpus_allowed" => self.extras.running.cpus = cpus(value)?,
            "cpumask" => {
                let mask = value.number(0, u64::MAX)?;
                self.extras.running.cpus = (0..64).filter(|cpu| mask >> cpu & 1 == 1).collect();
            }
            "cpus_allowed_policy" => {
                self.extras.running.splits = value.word(&[("shared", false), ("split", true)])?;
            }
            "nice" => {
                let (sign, digits) = match value.text.strip_prefix('-') {
                    Some(digits) => (-1, digits),
                    None => (1, value.text),
                };
                let nice = value.part(digits).number(0, 20)?;
                self.extras.running.nice = sign * i32::try_from(nice).unwrap_or(0);
            }
            "prio" => self.extras.running.io_level = small(value.number(0, 7)?),
            "prioclass" => self.extras.running.io_class = small(value.number(0, 3)?),
            "io_submit_mode" => {
                let words = [("inline", false), ("offload", true)];
                self.extras.running.is_offloaded = value.word(&words)?;
            }
            "mem" => {
                value.word(&[("malloc", ()), ("mmap", ()), ("shm", ()), ("mmapshared", ())])?;
            }
            "clocksource" => {
                value.word(&[("gettimeofday", ()), ("clock_gettime", ()), ("cpu", ())])?;
            }
            "lockfile" => value.word(&[("none", ()), ("exclusive", ()), ("readwrite", ())])?,
            // These options change how a request reaches the kernel, but neither its kind nor the
            // number of requests.
            "fixedbufs" | "registerfiles" | "sqthread_poll" | "userspace_reap"
            | "serialize_overlap" | "softrandommap" => {
                value.switch().map(|_| ())?;
            }
            "allow_mounted_write" => self.extras.writes_mounted = value.switch()?,
            "nonvectored" | "force_async" | "write_barrier" | "iomem_align" | "gtod_cpu"
            | "sqthread_poll_cpu" | "lockmem" | "log_entries" => value.size().map(|_| ())?,
            "allow_file_create" => value.word(&[("1", ())])?,
            "exitall_on_error" => self.extras.exits_on_error = value.switch()?,
            "stats" => self.extras.reports_stats = value.switch()?,
            "uid" => self.extras.running.user = Some(identity(value)?),
            "gid" => self.extras.running.group = Some(identity(value)?),
            "max_latency" => self.extras.max_latency_us = value.time_us(1)?,
            _ => return self.apply_latency(name, value),
        }
        Ok(true)
    }

    fn apply_latency(&mut self, name: &str, value: &RawValue<'_>) -> Result<bool, Fault> {
        match name {
            "latency_target" => self.extras.latency.ns = value.time_us(1)?.saturating_mul(1000),
            "latency_window" => self.extras.latency.window_us = value.time_us(1)?,
            "latency_percentile" => {
                let number = value.text.parse::<f64>().ok();
                let number = number.filter(|number| (0.0..=100.0).contains(number));
                self.extras.latency.percentile = number.ok_or_else(|| {
                    value.refuse("is no percentile", "a percentile is from 0 to 100")
                })?;
            }
            "steadystate" => self.steadystate(value)?,
            "steadystate_duration" => {
                self.extras.steady.seconds = value.time_us(1_000_000)? / 1_000_000;
                if self.extras.steady.seconds > STEADY_SECONDS_MAX {
                    return Err(value.refuse("is too long", "write a day (86400) or less"));
                }
            }
            "steadystate_ramp_time" => {
                self.extras.steady.ramp_us = value.time_us(1_000_000)?;
            }
            "latency_run" => self.extras.latency.runs = value.switch()?,
            "numa_cpu_nodes" => {
                self.extras.names_nodes |= value.text != "all";
                if value.text != "all" {
                    cpus(value)?;
                }
            }
            "numa_mem_policy" => {
                let (policy, _nodes) = value.text.split_once(':').unwrap_or((value.text, ""));
                let words = ["default", "local", "interleave", "bind", "prefer", "prefer_many"];
                value.part(policy).word(&words.map(|word| (word, ())))?;
                self.extras.names_nodes |= !matches!(policy, "default" | "local");
            }
            "rate_ignore_thinktime" => self.extras.skips_pauses = value.switch()?,
            "hipri" => self.extras.request_flags.polled = value.switch()?,
            "nowait" => self.extras.request_flags.no_wait = value.switch()?,
            "uncached" => self.extras.request_flags.uncached = value.switch()?,
            // The options are accepted only if they are off.
            "hipri_percentage" | "cmdprio_percentage" => value.word(&[("0", ()), ("0,0", ())])?,
            // Without a cgroup, none is removed.
            "cgroup_nodelete" => value.switch().map(|_| ())?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn identity(value: &RawValue<'_>) -> Result<u32, Fault> {
    Ok(u32::try_from(value.number(0, COUNT_MAX)?).unwrap_or(0))
}

fn small(number: u64) -> u16 {
    u16::try_from(number).unwrap_or(0)
}

/// Parses a list of processors such as `0,2-4`.
fn cpus(value: &RawValue<'_>) -> Result<Vec<u32>, Fault> {
    let refuse = || value.refuse("is no list of processors", "write numbers and ranges, as 0,2-4");
    let mut cpus = Vec::new();
    for part in value.text.split([',', ':']).map(str::trim) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<u32>().ok().filter(|cpu| *cpu < 1024);
        let (Some(first), Some(last)) = (number(first), number(last)) else {
            return Err(refuse());
        };
        if first > last {
            return Err(refuse());
        }
        cpus.extend(first..=last);
    }
    Ok(cpus)
}
