//! Messages about a plan and its trials.

use crate::host::Host;
use crate::plan::Plan;

/// Warns of too few rounds, and of variants that are compared with nothing; the plan runs all the
/// same.
pub fn warn_of_plan(plan: &Plan, host: &dyn Host) {
    for warning in plan.uncompared().into_iter().chain(plan.shortfall()) {
        host.say(&format!("caution: {warning}"));
    }
}

/// Reports trees that could not be removed after a trial.
pub fn say_left_behind(left_behind: &[String], say: &dyn Fn(&str)) {
    const SAID_MAX: usize = 3;
    for why in left_behind.iter().take(SAID_MAX) {
        say(&format!("treering: left behind: {why}"));
    }
    if left_behind.len() > SAID_MAX {
        say(&format!("treering: left behind: {} more", left_behind.len() - SAID_MAX));
    }
}
