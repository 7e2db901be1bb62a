//! Dynamic events that measure a function of the kernel, by the instance of tracefs that they
//! belong to: what is left after a kill is found and removed by its name.

use rustix::io::Errno;
use treering_sys::Tracefs;

/// Name prefix of synthetic events in `dynamic_events`.
const SYNTHETIC: &str = "synthetic/";
/// Number of tasks whose time of entry the kernel keeps.
const TASKS_MOST: u32 = 8192;
/// Number of concurrent calls whose return is seen.
const RETURNS_MOST: u32 = 256;

/// Events of one function: `f0` at its entry, `r0` at its return, and a synthetic one with the
/// latency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProbeEvents {
    /// Group of the probes: the name of the instance, with underscores.
    group: String,
    number: usize,
}

/// Events of the function with this number in an instance.
pub(crate) fn probe_events(instance: &str, number: usize) -> ProbeEvents {
    ProbeEvents { group: instance.replace('-', "_"), number }
}

impl ProbeEvents {
    fn synthetic(&self) -> String {
        format!("{}_l{}", self.group, self.number)
    }

    /// Lines for `dynamic_events`.
    pub(crate) fn definitions(&self, function: &str) -> [String; 3] {
        let Self { group, number } = self;
        [
            format!("s:{} u64 lat", self.synthetic()),
            format!("p:{group}/f{number} {function}"),
            format!("r{RETURNS_MOST}:{group}/r{number} {function}"),
        ]
    }

    /// Triggers by their files in the instance, in the order in which they are set.
    pub(crate) fn triggers(&self) -> [(String, String); 3] {
        let Self { group, number } = self;
        let synthetic = self.synthetic();
        [
            (
                format!("events/synthetic/{synthetic}/trigger"),
                "hist:keys=lat.log2:vals=lat:size=128".to_owned(),
            ),
            (
                format!("events/{group}/f{number}/trigger"),
                format!("hist:keys=common_pid:ts0=common_timestamp:size={TASKS_MOST}"),
            ),
            (
                format!("events/{group}/r{number}/trigger"),
                format!(
                    "hist:keys=common_pid:lat=common_timestamp-$ts0:\
                     onmatch({group}.f{number}).{synthetic}($lat):size={TASKS_MOST}"
                ),
            ),
        ]
    }

    /// File with the histogram of the latencies.
    pub(crate) fn histogram(&self) -> String {
        format!("events/synthetic/{}/hist", self.synthetic())
    }

    /// Files with the histograms of the entries and the returns by task, in which tasks that find
    /// no room are dropped.
    pub(crate) fn histograms_of_tasks(&self) -> [String; 2] {
        let Self { group, number } = self;
        [format!("events/{group}/f{number}/hist"), format!("events/{group}/r{number}/hist")]
    }

    /// Number of calls that the probes missed, by `kprobe_profile`.
    pub(crate) fn missed(&self, profile: &str) -> u64 {
        let own = [format!("f{}", self.number), format!("r{}", self.number)];
        let missed = |line: &str| {
            let mut fields = line.split_whitespace();
            let name = fields.next()?;
            let count = fields.nth(1)?.parse::<u64>().ok()?;
            own.iter().any(|own| own == name).then_some(count)
        };
        profile.lines().filter_map(missed).fold(0, u64::saturating_add)
    }
}

/// Removes the triggers and the events of a function, as far as they are there.
pub(crate) fn remove_probes(traces: &Tracefs, own: Option<&Tracefs>, events: &ProbeEvents) {
    let ProbeEvents { group, number } = events;
    for (file, text) in events.triggers().into_iter().rev() {
        let _it_may_not_be_set = own.map(|own| own.append(&file, &format!("!{text}")));
    }
    for event in [
        format!("{group}/r{number}"),
        format!("{group}/f{number}"),
        format!("{SYNTHETIC}{}", events.synthetic()),
    ] {
        let _it_may_not_be_there = traces.append("dynamic_events", &format!("-:{event}"));
    }
}

/// Removes an instance of tracefs, and before it the events of functions that belong to it.
///
/// # Errors
/// `EBUSY` while one of its files is open.
pub(crate) fn remove_instance(traces: &Tracefs, name: &str) -> Result<(), Errno> {
    let events = traces.read("dynamic_events").unwrap_or_default();
    let own = traces.instance(name).ok();
    for number in numbers(&events, &probe_events(name, 0).group) {
        remove_probes(traces, own.as_ref(), &probe_events(name, number));
    }
    drop(own);
    traces.remove_instance(name)
}

/// Numbers of the functions of a group in `dynamic_events`.
fn numbers(events: &str, group: &str) -> Vec<usize> {
    let number = |line: &str| {
        let (_, name) = line.split_once(':')?;
        let name = name.split_whitespace().next()?;
        let rest = match name.strip_prefix(SYNTHETIC) {
            Some(synthetic) => synthetic.strip_prefix(group)?.strip_prefix("_l")?,
            None => name.strip_prefix(group)?.strip_prefix("/")?.get(1..)?,
        };
        rest.parse().ok()
    };
    let mut numbers: Vec<usize> = events.lines().filter_map(number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

#[cfg(test)]
mod tests {
    use super::{numbers, probe_events};

    #[test]
    fn events_of_a_group_are_found_by_name() {
        let events = "p:treering_7_99_0/f0 vfs_write\nr256:treering_7_99_0/r2 vfs_read\n\
                      s:synthetic/treering_7_99_0_l1\tu64 lat\np:treering_7_99_01/f5 other\n\
                      p:others/f7 vfs_write\nbroken\n";
        assert_eq!(numbers(events, "treering_7_99_0"), [0, 1, 2]);
    }

    #[test]
    fn missed_calls_are_those_of_both_probes() {
        let profile = "  f0      10      1\n  r0     8      2\n  f1     7      9\n  x\n";
        assert_eq!(probe_events("treering-7-99-0", 0).missed(profile), 3);
    }
}
