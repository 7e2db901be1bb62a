//! Observer of the latencies of functions of the kernel, if requested. `probes` installs them,
//! `histogram` reads what the kernel counted.
//!
//! Without probes of functions in the kernel (`CONFIG_KPROBE_EVENTS`, `CONFIG_HIST_TRIGGERS`,
//! `CONFIG_SYNTH_EVENTS`) or without root there is a caution and no number.

mod histogram;
mod name;
mod probes;

use rustix::io::Errno;
use treering_model::metrics::functions;
use treering_model::{
    Artifact, Caution, CautionCode, FunctionLatency, Metric, PhaseTotals, Scope, counted,
};

pub use name::FunctionName;

use self::probes::{FunctionProbes, ProbeFailure, ProbeReading};
use crate::{Findings, Observer, ObserverContext, TrialWatch};

/// Observer of the latencies of functions.
#[derive(Debug)]
pub(crate) struct FunctionLatencies;

impl Observer for FunctionLatencies {
    fn name(&self) -> &'static str {
        "function_latencies"
    }

    fn look(&self, _scene: &ObserverContext<'_>) -> Findings {
        Findings::default()
    }

    fn watch(&self, scene: &ObserverContext<'_>) -> Option<Box<dyn TrialWatch>> {
        let functions = &scene.options.functions;
        (!functions.is_empty())
            .then(|| Box::new(FunctionWatch::new(functions)) as Box<dyn TrialWatch>)
    }
}

/// Watch of one trial.
#[derive(Default)]
struct FunctionWatch {
    probes: Option<FunctionProbes>,
    problems: Vec<String>,
    /// Reading at the beginning of the phase.
    before: ProbeReading,
    /// Latencies by the name of the phase, in the order of the phases.
    phases: Vec<(String, Vec<FunctionLatency>)>,
    lost: u64,
}

impl FunctionWatch {
    fn new(functions: &[FunctionName]) -> Self {
        match FunctionProbes::install(functions) {
            Ok((probes, failures)) => {
                let problems = failures.iter().map(problem).collect();
                Self { probes: Some(probes), problems, ..Self::default() }
            }
            Err(errno) => Self { problems: vec![problem(&(None, errno))], ..Self::default() },
        }
    }
}

fn problem((function, errno): &ProbeFailure) -> String {
    let Some(function) = function else {
        return format!("functions of the kernel cannot be probed: tracefs: {errno}");
    };
    let name = function.as_str();
    match *errno {
        Errno::NOENT | Errno::ADDRNOTAVAIL => format!(
            "{name} cannot be probed: the kernel has no such function (it may be inlined, or its \
             module is not loaded), or no probes of functions (CONFIG_KPROBE_EVENTS)"
        ),
        Errno::INVAL => format!(
            "{name} cannot be probed: it is no function that probes may be set at, or the kernel \
             has no histograms of them (CONFIG_HIST_TRIGGERS, CONFIG_SYNTH_EVENTS)"
        ),
        other => format!("{name} cannot be probed: {other}"),
    }
}

impl TrialWatch for FunctionWatch {
    fn phase_begins(&mut self, _phase: u32, _name: &str) {
        self.before = self.probes.as_ref().map(FunctionProbes::read).unwrap_or_default();
    }

    fn phase_ended(&mut self, totals: &PhaseTotals) -> Findings {
        let Some(probes) = &self.probes else { return Findings::default() };
        let reading = probes.read();
        self.lost += reading.lost.saturating_sub(self.before.lost);
        let pairs = reading.functions.iter().zip(&self.before.functions);
        let latencies: Vec<FunctionLatency> = pairs.map(|(now, then)| now.since(then)).collect();
        let (kind, version) = (FunctionLatency::KIND, FunctionLatency::VERSION);
        let artifact = Artifact::new(kind, version, &latencies).ok();
        let phase = Some(totals.phase);
        match self.phases.iter_mut().find(|(name, _)| *name == totals.name) {
            Some((_, all)) => {
                all.iter_mut().zip(&latencies).for_each(|(all, one)| all.merge(one));
            }
            None => self.phases.push((totals.name.clone(), latencies)),
        }
        let artifacts = artifact.map(|artifact| Artifact { phase, ..artifact });
        Findings { artifacts: artifacts.into_iter().collect(), ..Findings::default() }
    }

    fn end(self: Box<Self>) -> Findings {
        let mut total: Vec<FunctionLatency> = Vec::new();
        for (_, latencies) in &self.phases {
            if total.is_empty() {
                total.clone_from(latencies);
            } else {
                total.iter_mut().zip(latencies).for_each(|(all, one)| all.merge(one));
            }
        }
        let mut metrics = metrics(&total, &Scope::Trial);
        if self.phases.len() > 1 {
            for (name, latencies) in &self.phases {
                metrics.extend(self::metrics(latencies, &Scope::Phase(name.clone())));
            }
        }
        let mut problems = self.problems;
        if self.lost > 0 {
            let calls = counted(self.lost, "call");
            problems.push(format!("latencies of functions: {calls} could not be timed"));
        }
        let caution = |message| Caution { code: CautionCode::TraceIncomplete, message };
        let cautions = problems.into_iter().map(caution).collect();
        Findings { cautions, metrics, ..Findings::default() }
    }
}

fn metrics(latencies: &[FunctionLatency], scope: &Scope) -> Vec<Metric> {
    let of_function = |latency: &FunctionLatency| {
        let name = &[latency.function.as_str()];
        let (calls, total_ns) = (latency.calls(), latency.total_ns());
        let mut metrics = vec![
            functions::CALLS.of_member(name, scope.clone(), calls as f64),
            functions::SECONDS.of_member(name, scope.clone(), total_ns as f64 / 1e9),
        ];
        if calls > 0 {
            let mean_ns = total_ns as f64 / calls as f64;
            metrics.push(functions::MEAN_NANOSECONDS.of_member(name, scope.clone(), mean_ns));
        }
        metrics
    };
    latencies.iter().flat_map(of_function).collect()
}
