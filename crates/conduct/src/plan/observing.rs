//! Traces and layouts that a plan records, the rounds in which they are recorded, and primary
//! metrics that need them.

use treering_model::metrics::{RequestedRecording, requested_recording};
use treering_model::{CellRole, DeviceSpec, Variant};
use treering_observe::layout::LayoutSchedule;
use treering_observe::{FunctionName, ObserverOptions};
use treering_script::TargetFacts;

use super::Plan;
use crate::failure::Failure;

/// Long names of the options of `treering run` that record traces and layouts.
const OPTIONS: [&str; 4] = ["layout", "layout-every", "trace", "functions"];

/// Traces and layouts to record, and the rounds for them. Nothing is recorded by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observing {
    /// True if the block requests of the devices are traced.
    pub trace: bool,
    /// True if the layout is recorded after each phase.
    pub layout: bool,
    /// Number of tasks between two additional layouts; 0 disables them.
    pub layout_every: u32,
    /// Functions of the kernel whose latencies are measured.
    pub functions: Vec<FunctionName>,
    /// Kind of rounds in which these are recorded.
    pub place: ObservedIn,
    /// Number of additional rounds for [`ObservedIn::Own`].
    pub rounds: u32,
}

treering_model::named_enum! {
    /// Kind of rounds in which traces and layouts are recorded.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ObservedIn {
        /// Additional rounds after the measured ones, so that the overhead of recording affects no
        /// result.
        Own = "own",
        /// Measured rounds and their control.
        Measured = "measured",
    }
}

impl ObservedIn {
    /// Parses the name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|place| place.name() == name)
    }
}

impl Default for Observing {
    fn default() -> Self {
        let place = ObservedIn::Own;
        Self {
            trace: false,
            layout: false,
            layout_every: 0,
            functions: Vec::new(),
            place,
            rounds: 1,
        }
    }
}

impl Observing {
    /// True if anything is recorded.
    pub fn is_wanted(&self) -> bool {
        self.trace || self.layout || self.layout_every > 0 || !self.functions.is_empty()
    }

    /// True if additional rounds are run for the recording.
    pub(crate) fn is_in_own_rounds(&self) -> bool {
        self.is_wanted() && self.place == ObservedIn::Own
    }

    /// Options of `treering run` for the same recordings, as (long name, value).
    pub(crate) fn options(&self) -> Vec<(String, String)> {
        let switch = |is_on: bool| is_on.then(|| "true".to_owned());
        let every = (self.layout_every > 0).then(|| self.layout_every.to_string());
        let functions =
            (!self.functions.is_empty()).then(|| function_names(&self.functions).join(","));
        let values = [switch(self.layout), every, switch(self.trace), functions];
        let named = OPTIONS.into_iter().zip(values);
        named.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }

    /// True if a trial with these parameters makes exactly the same recordings.
    pub(crate) fn matches_parameters(&self, parameters: &[(String, String)]) -> bool {
        let watching = |(name, _): &&(String, String)| OPTIONS.contains(&name.as_str());
        parameters.iter().filter(watching).eq(&self.options())
    }
}

/// Names of functions as texts.
pub(crate) fn function_names(functions: &[FunctionName]) -> Vec<String> {
    functions.iter().map(|function| function.as_str().to_owned()).collect()
}

impl Plan {
    /// Observer options of a trial with this role, and the trial parameters that describe them.
    pub fn observed(&self, role: CellRole) -> (ObserverOptions, Vec<(String, String)>) {
        let observing = &self.observing;
        let is_watched = match role {
            CellRole::Observed => true,
            CellRole::Round | CellRole::Control => observing.place == ObservedIn::Measured,
            CellRole::WarmUp | CellRole::Preparation => false,
        };
        if !is_watched {
            return (ObserverOptions::default(), Vec::new());
        }
        let every_tasks = observing.layout_every;
        let layout = (observing.layout || every_tasks > 0)
            .then_some(LayoutSchedule { every_tasks, map: true });
        let wanted = ObserverOptions {
            layout,
            trace: observing.trace,
            functions: observing.functions.clone(),
            ..ObserverOptions::default()
        };
        (wanted, observing.options())
    }
    /// Refuses primary metrics of recordings that the plan does not make.
    ///
    /// # Errors
    /// At the first such metric, with the key to add.
    pub(super) fn primaries_are_recorded(&self) -> Result<(), Failure> {
        for metric in &self.judging.primary {
            let name = metric.rsplit('/').next().unwrap_or_default();
            let Some(recording) = requested_recording(name) else { continue };
            let Some(hint) = self.missing_recording(recording) else { continue };
            let message =
                format!("the primary metric '{metric}' is measured only where it is asked for");
            return Err(Failure::usage(message).hint(hint));
        }
        Ok(())
    }

    /// Hint with the key that asks for a recording; `None` if the plan makes it.
    fn missing_recording(&self, recording: RequestedRecording<'_>) -> Option<String> {
        let observing = &self.observing;
        let (is_made, key, option) = match recording {
            RequestedRecording::Trace => {
                (observing.trace, "trace = true".to_owned(), "--trace".to_owned())
            }
            RequestedRecording::Layout => {
                (self.has_layouts(), "layout = true".to_owned(), "--layout".to_owned())
            }
            RequestedRecording::Function(name) => (
                observing.functions.iter().any(|function| function.as_str() == name),
                format!("functions = [\"{name}\"]"),
                format!("--functions {name}"),
            ),
            RequestedRecording::PlayedDisk => {
                let is_played =
                    self.variants.iter().flat_map(Variant::devices).any(DeviceSpec::is_played);
                let hint = "write disk = \"hdd-7200\" into [device]";
                return (!is_played).then(|| hint.to_owned());
            }
        };
        (!is_made).then(|| format!("write {key} into [observe], or give {option}"))
    }

    /// True if trials of the plan measure layouts: by request, of aged filesystems, or for a
    /// session whose end depends on them.
    fn has_layouts(&self) -> bool {
        let observing = &self.observing;
        let hears =
            |job: &super::PlannedJob| job.job.begin(&TargetFacts::unknown()).layouts().is_some();
        observing.layout
            || observing.layout_every > 0
            || self.aging.is_some()
            || self.jobs.iter().any(hears)
    }
}
