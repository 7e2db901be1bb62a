//! Descriptions of the runs that own the lab's resources.

use crate::{LabLeftover, PlanIdentity, RebootControl};

impl LabLeftover {
    /// Describes the run that made the resource.
    pub fn owner(&self) -> String {
        let run = run_of(self.plan.as_ref());
        match self.pid {
            Some(pid) if self.is_alive => format!("{run}, running (process {pid})"),
            Some(pid) => format!("{run}, which is gone (process {pid})"),
            None => format!("{run}, which is gone"),
        }
    }
}

fn run_of(plan: Option<&PlanIdentity>) -> String {
    match plan {
        Some(plan) => format!("a run of plan {}", plan.name.escape_debug()),
        None => "a run".to_owned(),
    }
}

impl RebootControl {
    /// Describes the pending reboots of a plan.
    pub fn words(&self) -> String {
        format!("reboots of this machine ({})", self.unit_path().display())
    }

    /// Describes the run that the reboots belong to.
    pub fn owner(&self) -> String {
        let record = self.record().ok().flatten();
        let run = run_of(record.as_ref().map(|record| &record.plan));
        let state = if self.is_held() { "running" } else { "which goes on after the next boot" };
        format!("{run}, {state}")
    }
}
