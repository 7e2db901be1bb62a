//! Probes at the entry and the return of functions, and the histograms of the time in between.
//!
//! Two probes of a function share a group that is named after the instance of tracefs. A trigger at
//! the entry keeps the time by task; one at the return passes the difference to a synthetic event,
//! whose histogram the kernel keeps. Nothing is copied to this process while a phase runs.
//!
//! Source: Documentation/trace/{kprobetrace,histogram}.rst of the kernel; `dynamic_events` is there
//! since Linux 5.0.

use rustix::io::Errno;
use treering_model::FunctionLatency;
use treering_sys::Tracefs;

use super::histogram::parse;
use super::name::FunctionName;
use crate::block_trace::{StaleInstance, next_name, probe_events, remove_instance, remove_probes};

/// Installed probes, which are removed on drop.
pub(super) struct FunctionProbes {
    traces: Tracefs,
    own: Option<Tracefs>,
    /// Name of the instance.
    name: String,
    functions: Vec<FunctionName>,
}

/// Reason why a function cannot be probed, and the function.
pub(super) type ProbeFailure = (Option<FunctionName>, Errno);

/// Latencies of all functions so far, and the number of calls that were not counted.
#[derive(Debug, Default)]
pub(super) struct ProbeReading {
    pub(super) functions: Vec<FunctionLatency>,
    pub(super) lost: u64,
}

impl FunctionProbes {
    /// Installs the probes; also returns what could not be probed.
    pub(super) fn install(names: &[FunctionName]) -> Result<(Self, Vec<ProbeFailure>), Errno> {
        let traces = Tracefs::open()?;
        for left in StaleInstance::list_in(&traces) {
            let _somebody_may_read_it = left.remove_from(&traces);
        }
        let name = next_name();
        let own = traces.make_instance(&name)?;
        let mut probes = Self { traces, own: Some(own), name, functions: Vec::new() };
        let mut failures = Vec::new();
        for function in names {
            match probes.add(function) {
                Ok(()) => probes.functions.push(function.clone()),
                Err(errno) => failures.push((Some(function.clone()), errno)),
            }
        }
        Ok((probes, failures))
    }

    fn add(&self, function: &FunctionName) -> Result<(), Errno> {
        let Some(own) = &self.own else { return Err(Errno::NODEV) };
        let number = self.functions.len();
        let events = probe_events(&self.name, number);
        let install = || {
            for definition in events.definitions(function.as_str()) {
                self.traces.append("dynamic_events", &definition)?;
            }
            events.triggers().into_iter().try_for_each(|(file, text)| own.append(&file, &text))
        };
        install().inspect_err(|_| remove_probes(&self.traces, Some(own), &events))
    }

    /// Reads the histograms.
    pub(super) fn read(&self) -> ProbeReading {
        let Some(own) = &self.own else { return ProbeReading::default() };
        let mut reading = ProbeReading::default();
        let profile = self.traces.read("kprobe_profile").unwrap_or_default();
        for (number, function) in self.functions.iter().enumerate() {
            let events = probe_events(&self.name, number);
            let text = own.read(&events.histogram()).unwrap_or_default();
            let (buckets, dropped) = parse(&text);
            let function = function.as_str().to_owned();
            reading.functions.push(FunctionLatency { function, buckets });
            for file in events.histograms_of_tasks() {
                let (_, dropped) = parse(&own.read(&file).unwrap_or_default());
                reading.lost = reading.lost.saturating_add(dropped);
            }
            reading.lost = reading.lost.saturating_add(dropped + events.missed(&profile));
        }
        reading
    }
}

impl Drop for FunctionProbes {
    fn drop(&mut self) {
        for number in 0..self.functions.len() {
            remove_probes(&self.traces, self.own.as_ref(), &probe_events(&self.name, number));
        }
        self.own = None;
        let _the_next_start_tries_again = remove_instance(&self.traces, &self.name);
    }
}
