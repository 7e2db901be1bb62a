//! Counters of the whole machine and of our own process, as `/proc` tells them.

use std::fs::read_to_string;

/// What has been counted since the machine came up.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Counters {
    /// All CPUs, idle or not, in ticks of the kernel's `USER_HZ`.
    pub(super) all_ticks: u64,
    /// In user mode, nice or not, without guests.
    pub(super) user_ticks: u64,
    /// Taken by the host of a virtual machine.
    pub(super) stolen_ticks: u64,
    /// Of our process and of children it has waited for, in user mode.
    pub(super) own_user_ticks: u64,
    pub(super) context_switches: u64,
    /// Read from swap and written to it.
    pub(super) swapped_pages: u64,
    pub(super) load_average: String,
    pub(super) uptime_seconds: f64,
    /// Microseconds in which some task waited; where the kernel counts them.
    pub(super) cpu_pressure_us: Option<u64>,
    pub(super) io_pressure_us: Option<u64>,
    pub(super) memory_pressure_us: Option<u64>,
}

impl Counters {
    /// The counters now; `None` without `/proc`.
    pub(super) fn read() -> Option<Self> {
        let text = |name: &str| read_to_string(format!("/proc/{name}")).ok();
        let mut counters = Self::default();
        counters.take_stat(&text("stat")?);
        counters.own_user_ticks = own_user_ticks(&text("self/stat")?)?;
        counters.swapped_pages = text("vmstat").map_or(0, |text| {
            value(&text, "pswpin").unwrap_or(0) + value(&text, "pswpout").unwrap_or(0)
        });
        counters.load_average = text("loadavg")?.split(' ').take(3).collect::<Vec<_>>().join(" ");
        counters.uptime_seconds = text("uptime")?.split(' ').next()?.parse().ok()?;
        let pressure = |of: &str| some_total(&text(&format!("pressure/{of}"))?);
        counters.cpu_pressure_us = pressure("cpu");
        counters.io_pressure_us = pressure("io");
        counters.memory_pressure_us = pressure("memory");
        Some(counters)
    }

    fn take_stat(&mut self, stat: &str) {
        let cpu = stat.lines().find_map(|line| line.strip_prefix("cpu "));
        let ticks: Vec<u64> = cpu
            .map(|line| line.split_whitespace().filter_map(|word| word.parse().ok()).collect())
            .unwrap_or_default();
        // user nice system idle iowait irq softirq steal; guests are in user and nice already.
        let tick = |place: usize| ticks.get(place).copied().unwrap_or(0);
        self.all_ticks = (0..8).map(tick).sum();
        self.user_ticks = tick(0) + tick(1);
        self.stolen_ticks = tick(7);
        self.context_switches = value(stat, "ctxt").unwrap_or(0);
    }
}

/// The number behind a name, a line each.
fn value(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    line.split_whitespace().next()?.parse().ok()
}

/// User time of a process and its children, fields 14 and 16 of its `stat`.
fn own_user_ticks(stat: &str) -> Option<u64> {
    // The name before may hold anything.
    let (_, fields) = stat.rsplit_once(") ")?;
    let field = |number: usize| fields.split(' ').nth(number - 3)?.parse::<u64>().ok();
    Some(field(14)? + field(16)?)
}

/// The total of the line that begins with `some`.
fn some_total(pressure: &str) -> Option<u64> {
    let some = pressure.lines().find(|line| line.starts_with("some "))?;
    some.split(' ').find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Counters, own_user_ticks, some_total};

    #[test]
    fn lines_are_read_by_their_names() {
        let mut counters = Counters::default();
        counters.take_stat("cpu  10 2 30 400 5 6 7 8 9 1\ncpu0 1 1 1 1\nctxt 77\n");
        assert_eq!((counters.all_ticks, counters.user_ticks), (468, 12));
        assert_eq!((counters.stolen_ticks, counters.context_switches), (8, 77));
        let before = "S 1 1 1 0 -1 4194304 1 2 3 4";
        assert_eq!(own_user_ticks(&format!("7 (a) b) {before} 50 6 70 8 20 0")), Some(120));
        assert_eq!(own_user_ticks("7 (a"), None);
        let pressure = "some avg10=0.00 avg60=0.00 avg300=0.00 total=42\nfull avg10=0 total=1\n";
        assert_eq!(some_total(pressure), Some(42));
    }

    #[test]
    fn this_machine_has_counters() {
        let counters = Counters::read().unwrap();
        assert!(counters.all_ticks > 0 && counters.uptime_seconds > 0.0);
        assert!(!counters.load_average.is_empty());
    }
}
