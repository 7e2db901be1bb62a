//! Changes of a plan by command-line options.

use treering_model::Variant;
use treering_observe::FunctionName;

use super::kernels::{KernelChoice, emulate, under_kernels};
use super::quick::TIMED_ROUNDS_MAX;
use super::{Machine, ObservedIn, Observing, Plan, Stopping};
use crate::failure::Failure;

/// Options that change a plan.
#[derive(Clone, Debug, Default)]
pub struct PlanChanges {
    /// Kernels for each variant.
    pub kernels: Vec<KernelChoice>,
    /// Machine that runs the kernels of the variants: a guest, or this one after a reboot.
    pub machine: Option<Machine>,
    /// True if guests are emulated and count instructions, false if they are emulated and do not;
    /// `None` for what the plan and this machine decide.
    pub counts_instructions: Option<bool>,
    /// Number of rounds.
    pub rounds: Option<u32>,
    /// Minutes into which the rounds are to fit, in place of their number.
    pub minutes: Option<f64>,
    /// Target time of a phase in seconds; the warm-up sizes every job for it.
    pub phase_seconds: Option<u32>,
    /// Changes of the observation options.
    pub observing: ObservingChanges,
}

/// Options that change the observations of a plan.
#[derive(Clone, Debug, Default)]
pub struct ObservingChanges {
    /// Also record block traces.
    pub trace: bool,
    /// Also measure layouts.
    pub layout: bool,
    /// Measure the layout after this many tasks, too.
    pub layout_every: Option<u32>,
    /// Also measure the latencies of these functions of the kernel; empty for those of the plan.
    pub functions: Vec<FunctionName>,
    /// Rounds in which to observe.
    pub place: Option<ObservedIn>,
    /// Number of observing rounds.
    pub rounds: Option<u32>,
}

impl Plan {
    /// Applies the changes. `is_quick` is true for a quick plan, which already has the kernels and
    /// the number of rounds.
    ///
    /// # Errors
    /// When a change does not fit the plan, or nothing records a primary metric of it.
    pub fn change(&mut self, changes: &PlanChanges, is_quick: bool) -> Result<(), Failure> {
        let PlanChanges { kernels, machine, counts_instructions, rounds, .. } = changes;
        if !is_quick && !kernels.is_empty() {
            let variants = std::mem::take(&mut self.variants);
            let machine = machine.unwrap_or_default();
            self.variants = under_kernels(variants, self.guest.as_ref(), kernels, machine)?;
        }
        self.refuse_commands_in_guests()?;
        self.conditions.machine = machine.unwrap_or(self.conditions.machine);
        counts_instructions.map_or(Ok(()), |counts| emulate(self, counts))?;
        if let Some(rounds) = rounds.filter(|_| !is_quick) {
            self.stopping = Stopping::Fixed { rounds };
        }
        if let Some(minutes) = changes.minutes.filter(|_| !is_quick) {
            self.stopping = Stopping::time_for(self.family(), minutes, TIMED_ROUNDS_MAX);
        }
        if let Some(seconds) = changes.phase_seconds {
            if seconds > 0 && !self.conditions.warm_up {
                let message = "--phase-seconds: jobs are sized by the warm-up, and there is none";
                return Err(Failure::usage(message)
                    .hint("leave --no-warm-up out, or write warm-up = true in the plan"));
            }
            self.conditions.phase_seconds = Some(seconds);
        }
        self.observing.change(&changes.observing)?;
        self.primaries_are_recorded()
    }
}

impl Plan {
    /// Refuses prepare and cleanup commands for trials in guests, which have no programs.
    fn refuse_commands_in_guests(&self) -> Result<(), Failure> {
        let mut guests = self.variants.iter().filter(|variant| variant.guest.is_some());
        let has_commands = |variant: &Variant| {
            let settings = &variant.settings;
            !settings.prepare.is_empty()
                || !settings.cleanup.is_empty()
                || self.jobs.iter().any(|job| !job.around.is_empty())
        };
        let Some(variant) = guests.find(|variant| has_commands(variant)) else { return Ok(()) };
        let message = format!(
            "--kernel: the `prepare` and `cleanup` of '{}' cannot run in a guest",
            variant.name
        );
        Err(Failure::usage(message).hint("a guest has no programs: leave them out"))
    }
}

impl Observing {
    fn change(&mut self, changes: &ObservingChanges) -> Result<(), Failure> {
        self.trace |= changes.trace;
        self.layout |= changes.layout;
        self.layout_every = changes.layout_every.unwrap_or(self.layout_every);
        if !changes.functions.is_empty() {
            self.functions.clone_from(&changes.functions);
        }
        self.place = changes.place.unwrap_or(self.place);
        self.rounds = changes.rounds.unwrap_or(self.rounds);
        let options = [
            ("--observe-in", changes.place.is_some()),
            ("--observe-rounds", changes.rounds.is_some()),
        ];
        let named = options.into_iter().find(|(_, is_named)| *is_named);
        if let Some((option, _)) = named.filter(|_| !self.is_wanted()) {
            let message = format!("{option} says how to observe, but nothing is to be observed");
            return Err(Failure::usage(message).hint("give --trace, --layout, or both"));
        }
        if changes.rounds.is_some() && self.place == ObservedIn::Measured {
            let message =
                "--observe-rounds gives the number of observing rounds, but there are none";
            return Err(Failure::usage(message)
                .hint("leave it out, or observe in separate rounds (--observe-in own)"));
        }
        Ok(())
    }
}
