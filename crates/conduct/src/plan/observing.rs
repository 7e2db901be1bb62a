//! What a plan has watched beside the measuring, and in which rounds.

use treering_model::CellRole;
use treering_observe::ObserverOptions;
use treering_observe::layout::LayoutSchedule;

use super::Plan;

/// The options of `treering run` by which something is watched, by their long names.
const OPTIONS: [&str; 3] = ["layout", "layout-every", "trace"];

/// What is watched closely, and where. Nothing, by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observing {
    /// The requests that the devices get.
    pub trace: bool,
    /// Where the files lie after each phase.
    pub layout: bool,
    /// Where they lie also after every so many tasks; 0: not.
    pub layout_every: u32,
    /// Which rounds it is done in.
    pub place: ObservedIn,
    /// How many rounds of their own there are.
    pub rounds: u32,
}

/// Which rounds are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObservedIn {
    /// Rounds of their own behind the others: what watching costs is in no figure.
    Own,
    /// The rounds that are measured, and their control.
    Measured,
}

impl ObservedIn {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Own, Self::Measured];

    /// The word for it in plans and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Measured => "measured",
        }
    }

    /// The place with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|place| place.name() == name)
    }
}

impl Default for Observing {
    fn default() -> Self {
        let place = ObservedIn::Own;
        Self { trace: false, layout: false, layout_every: 0, place, rounds: 1 }
    }
}

impl Observing {
    /// Whether anything is watched.
    pub fn is_wanted(&self) -> bool {
        self.trace || self.layout || self.layout_every > 0
    }

    /// Whether rounds of their own are run for it.
    pub(crate) fn is_in_own_rounds(&self) -> bool {
        self.is_wanted() && self.place == ObservedIn::Own
    }

    /// As options of `treering run`, by their long names.
    pub(crate) fn options(&self) -> Vec<(String, String)> {
        let switch = |is_on: bool| is_on.then(|| "true".to_owned());
        let every = (self.layout_every > 0).then(|| self.layout_every.to_string());
        let values = [switch(self.layout), every, switch(self.trace)];
        let named = OPTIONS.into_iter().zip(values);
        named.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }

    /// Whether these parameters of a trial say that just this was watched in it.
    pub(crate) fn is_said_by(&self, parameters: &[(String, String)]) -> bool {
        let watching = |(name, _): &&(String, String)| OPTIONS.contains(&name.as_str());
        parameters.iter().filter(watching).eq(&self.options())
    }
}

impl Plan {
    /// What observers do in a trial of this role, and the parameters that say so.
    pub fn observed(&self, role: CellRole) -> (ObserverOptions, Vec<(String, String)>) {
        let observing = &self.observing;
        let is_watched = match role {
            CellRole::Observed => true,
            CellRole::Round | CellRole::Control => observing.place == ObservedIn::Measured,
            CellRole::WarmUp => false,
        };
        if !is_watched {
            return (ObserverOptions::default(), Vec::new());
        }
        let every_tasks = observing.layout_every;
        let layout = (observing.layout || every_tasks > 0)
            .then_some(LayoutSchedule { every_tasks, map: true });
        let wanted =
            ObserverOptions { layout, trace: observing.trace, ..ObserverOptions::default() };
        (wanted, observing.options())
    }
}
