//! Tracepoints over `perf_event_open`: one ring per CPU, filled by the kernel.
//!
//! It leaves nothing behind when the process is killed, does not affect other users of tracing, and
//! counts lost events.
#![expect(unsafe_code, reason = "the system call, and rings that the kernel writes")]

mod ring;

use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use ring::PerfRing;

/// `PERF_TYPE_TRACEPOINT`.
const TRACEPOINT: u32 = 2;
/// `PERF_SAMPLE_TIME` and `PERF_SAMPLE_RAW`.
const SAMPLE_TIME_AND_RAW: u64 = 4 | 1024;
/// `disabled`, `watermark` and `use_clockid`.
const FLAGS: u64 = 1 | 1 << 14 | 1 << 25;
/// `PERF_FORMAT_LOST` (Linux 6.0).
const FORMAT_LOST: u64 = 1 << 4;
/// `PERF_FLAG_FD_CLOEXEC`.
const CLOEXEC: libc::c_ulong = 8;

const IOC_ENABLE: u64 = 0x2400;
const IOC_SET_OUTPUT: u64 = 0x2405;
const IOC_SET_FILTER: u64 = 0x4008_2406;

/// `struct perf_event_attr` of version 5 (Linux 4.1), 112 bytes.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct PerfEventAttr {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_watermark: u32,
    breakpoint_type: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clock: i32,
    sample_regs_interrupt: u64,
    aux_watermark: u32,
    sample_max_stack: u16,
    reserved: u16,
}

/// Tracepoint with a filter on its events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracepoint {
    /// Tracepoint ID from tracefs.
    pub id: u32,
    /// The filter in the kernel's language (`dev == 8388608`); empty for all events.
    pub filter: String,
}

/// Event of a tracepoint.
#[derive(Clone, Copy, Debug)]
pub struct TraceSample<'a> {
    /// CPU of the event.
    pub cpu: u32,
    /// Time of the event, in nanoseconds of `CLOCK_MONOTONIC`.
    pub time_ns: u64,
    /// Event fields in the layout of the tracepoint's `format`, possibly padded with zeros.
    pub fields: &'a [u8],
}

/// Open tracepoints with their rings.
#[derive(Debug)]
pub struct Tracepoints {
    rings: Vec<PerfRing>,
    /// Events that write into the rings of others.
    others: Vec<OwnedFd>,
    /// True if the kernel counts lost events per event descriptor.
    counts_lost: bool,
    /// Lost events reported by records in the rings.
    reported_lost: u64,
}

impl Tracepoints {
    /// Opens tracepoints on all online CPUs, with a ring of `ring_bytes` (rounded up to a power of
    /// two of pages) per CPU. Recording starts with [`Tracepoints::enable`].
    ///
    /// # Errors
    /// `EPERM` and `EACCES` without permission, `EINVAL` for an invalid filter, `ENOENT` and
    /// `ENOSYS` on kernels without tracepoints, else as `perf_event_open`.
    pub fn open(points: &[Tracepoint], ring_bytes: usize) -> Result<Self, Errno> {
        match Self::open_counting(points, ring_bytes, true) {
            Err(Errno::INVAL) => Self::open_counting(points, ring_bytes, false),
            other => other,
        }
    }

    fn open_counting(
        points: &[Tracepoint],
        ring_bytes: usize,
        counts: bool,
    ) -> Result<Self, Errno> {
        let mut opened =
            Self { rings: Vec::new(), others: Vec::new(), counts_lost: counts, reported_lost: 0 };
        for cpu in online_cpus() {
            match opened.open_on(cpu, points, ring_bytes) {
                Ok(()) | Err(Errno::NODEV) => {} // the CPU went away meanwhile
                Err(errno) => return Err(errno),
            }
        }
        if opened.rings.is_empty() { Err(Errno::NODEV) } else { Ok(opened) }
    }

    fn open_on(&mut self, cpu: u32, points: &[Tracepoint], bytes: usize) -> Result<(), Errno> {
        let mut ring: Option<PerfRing> = None;
        for point in points {
            let event = open_event(point.id, cpu, ring::rounded(bytes), self.counts_lost)?;
            if !point.filter.is_empty() {
                set_filter(&event, &point.filter)?;
            }
            match &ring {
                None => ring = Some(PerfRing::new(event, cpu, bytes)?),
                Some(ring) => {
                    control(&event, IOC_SET_OUTPUT, i64::from(ring.event().as_raw_fd()))?;
                    self.others.push(event);
                }
            }
        }
        self.rings.extend(ring);
        Ok(())
    }

    /// Starts recording.
    ///
    /// # Errors
    /// As the `ioctl`.
    pub fn enable(&self) -> Result<(), Errno> {
        let owners = self.rings.iter().map(PerfRing::event);
        owners.chain(&self.others).try_for_each(|event| control(event, IOC_ENABLE, 0))
    }

    /// Waits until a ring is a quarter full, at most for `at_most`.
    pub fn wait(&self, at_most: Duration) {
        let mut polled: Vec<PollFd<'_>> = (self.rings.iter())
            .map(|ring| PollFd::from_borrowed_fd(ring.event().as_fd(), PollFlags::IN))
            .collect();
        let timeout = Timespec::try_from(at_most).ok();
        // The rings are drained next, whatever ended the wait.
        let _ready = poll(&mut polled, timeout.as_ref());
    }

    /// Drains the rings, one CPU after the other; the events of each CPU are in chronological
    /// order.
    pub fn drain(&mut self, mut each: impl FnMut(&TraceSample<'_>)) {
        let reported: u64 = self.rings.iter_mut().map(|ring| ring.drain(&mut each)).sum();
        self.reported_lost = self.reported_lost.saturating_add(reported);
    }

    /// Lost events according to the rings. A CPU reports a loss together with its next event.
    pub fn reported_lost(&self) -> u64 {
        self.reported_lost
    }

    /// Events lost because a ring was full. Queries every CPU, which disturbs the workload; before
    /// Linux 6.0 the same as [`Tracepoints::reported_lost`].
    pub fn lost(&self) -> u64 {
        if !self.counts_lost {
            return self.reported_lost;
        }
        let owners = self.rings.iter().map(PerfRing::event);
        let counted: u64 = owners.chain(&self.others).map(count_lost).sum();
        counted.max(self.reported_lost)
    }

    /// Size of all rings in bytes.
    pub fn ring_bytes(&self) -> usize {
        self.rings.iter().map(PerfRing::bytes).sum()
    }
}

/// Online CPUs; CPU 0 if sysfs cannot be read.
pub fn online_cpus() -> Vec<u32> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let cpus = parse_cpus(text.trim());
    if cpus.is_empty() { vec![0] } else { cpus }
}

/// Possible CPUs, online or not.
pub fn possible_cpus() -> Vec<u32> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    parse_cpus(text.trim())
}

/// Parses a CPU list of the kernel: `0-3,6`.
fn parse_cpus(text: &str) -> Vec<u32> {
    let range = |part: &str| -> Option<std::ops::RangeInclusive<u32>> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse().ok()?, last.parse().ok()?);
        (last < 1 << 16).then_some(first..=last)
    };
    text.split(',').filter_map(range).flatten().collect()
}

fn open_event(id: u32, cpu: u32, ring_bytes: usize, counts_lost: bool) -> Result<OwnedFd, Errno> {
    let attributes = PerfEventAttr {
        kind: TRACEPOINT,
        size: u32::try_from(size_of::<PerfEventAttr>()).unwrap_or(0),
        config: u64::from(id),
        sample_period: 1,
        sample_type: SAMPLE_TIME_AND_RAW,
        read_format: if counts_lost { FORMAT_LOST } else { 0 },
        flags: FLAGS,
        wakeup_watermark: u32::try_from(ring_bytes / 4).unwrap_or(u32::MAX),
        clock: libc::CLOCK_MONOTONIC,
        ..PerfEventAttr::default()
    };
    let cpu = libc::c_int::try_from(cpu).map_err(|_large| Errno::INVAL)?;
    let (every_process, no_group): (libc::c_int, libc::c_int) = (-1, -1);
    // SAFETY: the attributes are valid during the call and contain their own size.
    let event = unsafe {
        let attributes: *const PerfEventAttr = &raw const attributes;
        libc::syscall(libc::SYS_perf_event_open, attributes, every_process, cpu, no_group, CLOEXEC)
    };
    let event = i32::try_from(event).map_err(|_no_descriptor| Errno::BADF)?;
    if event < 0 {
        return Err(last_error());
    }
    // SAFETY: the kernel has just created the descriptor, and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(event) })
}

/// Lost events of an event descriptor: the second number of its value.
fn count_lost(event: &OwnedFd) -> u64 {
    let mut counts = [0u8; 16];
    let read = rustix::io::read(event, &mut counts);
    match read {
        Ok(16) => counts[8..].try_into().map_or(0, u64::from_ne_bytes),
        _ => 0,
    }
}

fn set_filter(event: &OwnedFd, filter: &str) -> Result<(), Errno> {
    let filter = std::ffi::CString::new(filter).map_err(|_nul| Errno::INVAL)?;
    // SAFETY: the filter ends with NUL and is valid during the call.
    let done = unsafe { libc::ioctl(event.as_raw_fd(), request(IOC_SET_FILTER), filter.as_ptr()) };
    if done < 0 { Err(last_error()) } else { Ok(()) }
}

fn control(event: &OwnedFd, number: u64, value: i64) -> Result<(), Errno> {
    // SAFETY: these requests take an integer argument.
    let done = unsafe { libc::ioctl(event.as_raw_fd(), request(number), value) };
    if done < 0 { Err(last_error()) } else { Ok(()) }
}

/// Request number in the type of this C library.
fn request(number: u64) -> libc::Ioctl {
    number as libc::Ioctl
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

#[cfg(test)]
#[expect(clippy::disallowed_macros, reason = "a test that must be skipped says so")]
mod tests {
    use std::time::Duration;

    use super::{Tracepoint, Tracepoints, parse_cpus};
    use crate::{Tracefs, monotonic_ns};

    #[test]
    fn cpu_lists_are_parsed() {
        assert_eq!(parse_cpus("0-3,6"), [0, 1, 2, 3, 6]);
        assert_eq!(parse_cpus("7"), [7]);
        assert_eq!(parse_cpus(""), []);
        assert_eq!(parse_cpus("0-4000000000,x,3-1"), []);
    }

    /// ID of a tracepoint, if it is readable.
    fn id(name: &str) -> Option<u32> {
        let traces = match Tracefs::open() {
            Ok(traces) => traces,
            Err(errno) => {
                println!("skipped: no tracefs here: {errno}");
                return None;
            }
        };
        traces.read(&format!("events/{name}/id")).unwrap().trim().parse().ok()
    }

    #[test]
    fn every_event_has_its_time() {
        let Some(id) = id("sched/sched_process_fork") else { return };
        let mut points = match Tracepoints::open(&[Tracepoint { id, filter: String::new() }], 1) {
            Ok(points) => points,
            Err(errno) => {
                println!("skipped: no tracepoints here: {errno}");
                return;
            }
        };
        points.enable().unwrap();
        let began = monotonic_ns();
        for _ in 0..20 {
            std::thread::spawn(|| {}).join().unwrap();
        }
        points.wait(Duration::from_millis(1));
        let ended = monotonic_ns();
        let mut ours = 0;
        points.drain(|sample| {
            assert_eq!(sample.fields[..2], u16::try_from(id).unwrap().to_ne_bytes());
            let inside = (began..=ended).contains(&sample.time_ns);
            // common_pid is a thread's: that of the one that forks.
            ours += u32::from(inside && sample.fields[4..8] != [0; 4]);
        });
        let lost = points.lost();
        assert!(ours >= 20 || lost > 0, "{ours} of 20, {lost} lost");
    }

    #[test]
    fn events_beyond_the_ring_size_count_as_lost() {
        let Some(id) = id("sched/sched_process_fork") else { return };
        let Ok(mut points) = Tracepoints::open(&[Tracepoint { id, filter: String::new() }], 1)
        else {
            println!("skipped: no tracepoints here");
            return;
        };
        points.enable().unwrap();
        let forked = 400;
        for _ in 0..forked {
            std::thread::spawn(|| {}).join().unwrap();
        }
        let mut seen = 0u64;
        points.drain(|_| seen += 1);
        let lost = points.lost();
        assert!(lost > 0 && seen > 0, "{seen} seen, {lost} lost");
        if points.counts_lost {
            assert!(seen + lost >= forked, "{seen} seen, {lost} lost");
        }
    }

    #[test]
    fn invalid_filters_are_rejected() {
        let Some(id) = id("sched/sched_process_fork") else { return };
        let wrong = Tracepoint { id, filter: "no_such_field == 1".to_owned() };
        assert!(Tracepoints::open(&[wrong], 4096).is_err());
        assert!(Tracepoints::open(&[], 4096).is_err());
    }
}
