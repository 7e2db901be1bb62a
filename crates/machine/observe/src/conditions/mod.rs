//! Conditions of a trial: other activity of the machine, from counters before and after, and
//! permanent slowdowns.
//!
//! Counters of the whole machine include our own work. Cautions are raised only for activity that
//! is certainly foreign: stolen time, user time of other programs, swapping, and kernel warnings.

mod between;
mod concern;
mod counters;
mod kernel_config;
mod kernel_log;

use treering_model::{Caution, CautionCode, counted};

use crate::environment::fact;
use crate::places::KernelRoots;
use crate::{Findings, Observer, ObserverContext, TrialWatch};
use between::CounterInterval;
use concern::LogRelevance;
use counters::MachineCounters;
use kernel_log::KernelLog;

/// Dirty bytes tolerated at the start of a trial: half a second of a hard disk. A few MiB are
/// always dirty.
const DIRTY_BYTES: u64 = 64 << 20;
/// Number of kernel log lines quoted in a caution.
const QUOTED: usize = 3;

/// Observer of conditions outside of the trial's control.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConditionsObserver;

impl Observer for ConditionsObserver {
    fn name(&self) -> &'static str {
        "conditions"
    }

    fn look(&self, _scene: &ObserverContext<'_>) -> Findings {
        let configuration = kernel_config::configuration();
        let slow = configuration.as_deref().map(kernel_config::slow_in);
        let mut seen = look(&KernelRoots::default(), slow);
        if let Some(text) = configuration {
            let settings = kernel_config::settings_in(&text).join(" ");
            seen.facts.push(fact("kernel.config", settings));
        }
        seen
    }

    fn watch(&self, scene: &ObserverContext<'_>) -> Option<Box<dyn TrialWatch>> {
        let places = KernelRoots::default();
        let before = MachineCounters::read(&places)?;
        let concern = LogRelevance::for_target(&places, scene.target);
        Some(Box::new(ConditionsWatch { before, log: KernelLog::from_now(), concern }))
    }
}

/// Cautions before a trial; `slow` lists the debugging options of the kernel, if known.
fn look(places: &KernelRoots, slow: Option<Vec<String>>) -> Findings {
    let mut seen = Findings::default();
    let mut caution = |code, message| seen.cautions.push(Caution { code, message });
    if let Some(slow) = slow {
        let options = if slow.is_empty() { "none".to_owned() } else { slow.join(" ") };
        if !slow.is_empty() {
            caution(CautionCode::DebugKernel, format!("the kernel is built with {options}"));
        }
        seen.facts.push(fact("kernel.debug_options", &options));
    }
    let governor = places.sys("devices/system/cpu/cpu0/cpufreq/scaling_governor");
    if let Some(governor) = governor.filter(|governor| governor != "performance") {
        caution(CautionCode::Governor, format!("the CPU frequency governor is '{governor}'"));
    }
    let to_write = ["Dirty", "Writeback"].map(|key| places.memory_bytes(key).unwrap_or(0));
    let to_write: u64 = to_write.iter().sum();
    if to_write > DIRTY_BYTES {
        let message = format!("{} MiB from before were not yet written back", to_write >> 20);
        caution(CautionCode::NotQuiet, message);
    }
    seen
}

/// Watch over the host while a guest runs a trial: the guest sees nothing of what slows it.
#[derive(Debug)]
pub struct HostWatch {
    before: MachineCounters,
}

impl HostWatch {
    /// Reads the counters of this machine; `None` without `/proc`.
    pub fn begin() -> Option<Self> {
        Some(Self { before: MachineCounters::read(&KernelRoots::default())? })
    }

    /// Facts since the beginning, as `host.…`, and cautions about CPU time that others took. The
    /// emulator must have been waited for: until then its time is that of another program.
    pub fn end(self) -> Findings {
        let after = MachineCounters::read(&KernelRoots::default());
        after.map_or_else(Findings::default, |after| self.until(&after))
    }

    fn until(&self, after: &MachineCounters) -> Findings {
        let mut seen = CounterInterval { before: &self.before, after }.seen();
        for fact in &mut seen.facts {
            fact.name = fact.name.replacen("conditions.", "host.", 1);
        }
        seen.cautions.retain(|caution| {
            [CautionCode::Stolen, CautionCode::OtherLoad].contains(&caution.code)
        });
        for caution in &mut seen.cautions {
            caution.message = format!("on the host of the guest, {}", caution.message);
        }
        seen
    }
}

struct ConditionsWatch {
    before: MachineCounters,
    log: Option<KernelLog>,
    concern: LogRelevance,
}

impl TrialWatch for ConditionsWatch {
    fn end(self: Box<Self>) -> Findings {
        let mut seen = Findings::default();
        if let Some(after) = MachineCounters::read(&KernelRoots::default()) {
            seen = CounterInterval { before: &self.before, after: &after }.seen();
        }
        let mut lines = self.log.map(KernelLog::warnings).unwrap_or_default();
        lines.retain(|line| self.concern.is_about(line));
        if !lines.is_empty() {
            seen.facts.push(fact("conditions.kernel_warnings", lines.len()));
            let quoted: Vec<&str> = lines.iter().take(QUOTED).map(String::as_str).collect();
            let more = if lines.len() > QUOTED { " …" } else { "" };
            let warnings = counted(lines.len(), "warning");
            let message = format!("{warnings} in the kernel's log: {}{more}", quoted.join(" | "));
            seen.cautions.push(Caution { code: CautionCode::KernelWarning, message });
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::counters::MachineCounters;
    use super::{HostWatch, look};
    use crate::places::KernelRoots;
    use std::fs;
    use treering_model::CautionCode;

    #[test]
    fn conditions_before_a_trial_raise_cautions() {
        let root = tempfile::tempdir().unwrap();
        let places = KernelRoots { proc: root.path().join("proc"), sys: root.path().join("sys") };
        let cpufreq = places.sys.join("devices/system/cpu/cpu0/cpufreq");
        fs::create_dir_all(&cpufreq).unwrap();
        fs::create_dir_all(&places.proc).unwrap();
        let codes = |slow: &[&str]| -> Vec<CautionCode> {
            let slow = slow.iter().map(|option| (*option).to_owned()).collect();
            look(&places, Some(slow)).cautions.iter().map(|caution| caution.code).collect()
        };
        fs::write(cpufreq.join("scaling_governor"), "performance\n").unwrap();
        fs::write(places.proc.join("meminfo"), "Dirty: 60000 kB\nWriteback: 0 kB\n").unwrap();
        assert_eq!(codes(&[]), []);
        fs::write(cpufreq.join("scaling_governor"), "powersave\n").unwrap();
        assert_eq!(codes(&[]), [CautionCode::Governor]);
        fs::write(places.proc.join("meminfo"), "Dirty: 60000 kB\nWriteback: 9000 kB\n").unwrap();
        let codes_expected =
            [CautionCode::DebugKernel, CautionCode::Governor, CautionCode::NotQuiet];
        assert_eq!(codes(&["CONFIG_KASAN"]), codes_expected);
    }

    #[test]
    fn load_of_the_host_is_told_as_that_of_the_host() {
        let before = MachineCounters { load_average: "1 1 1".to_owned(), ..Default::default() };
        let after = MachineCounters {
            all_ticks: 1000,
            user_ticks: 600,
            own_user_ticks: 100,
            uptime_seconds: 5.0,
            load_average: "57 40 9".to_owned(),
            ..MachineCounters::default()
        };
        let seen = HostWatch { before }.until(&after);
        let value = |name: &str| {
            let fact = seen.facts.iter().find(|fact| fact.name == name);
            fact.map(|fact| fact.value.as_str())
        };
        assert_eq!(value("host.load_average"), Some("57 40 9"));
        assert_eq!(value("host.other_programs_percent"), Some("50.00"));
        let messages: Vec<&str> =
            seen.cautions.iter().map(|caution| caution.message.as_str()).collect();
        assert_eq!(messages, ["on the host of the guest, other programs used 50 % of all CPUs"]);
        assert_eq!(seen.cautions[0].code, CautionCode::OtherLoad);
    }

    #[test]
    fn no_slow_options_differs_from_unknown_options() {
        let value = |slow| look(&KernelRoots::default(), slow).facts.pop().map(|fact| fact.value);
        assert_eq!(value(Some(Vec::new())).as_deref(), Some("none"));
        assert_eq!(value(None), None);
    }
}
