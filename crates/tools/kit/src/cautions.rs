//! Cautions that classic modes print.

use treering_model::{Caution, CautionCode};
use treering_script::ToolOutput;

/// Formats a caution as a line on standard error. Only cautions about locking and confinement and
/// those whose codes are in `also` are printed; all others are only stored.
pub fn reported(caution: &Caution, also: &[CautionCode]) -> ToolOutput {
    match caution.code {
        CautionCode::NotLocked | CautionCode::ConfinedByWalk => {}
        other if also.contains(&other) => {}
        _ => return ToolOutput::default(),
    }
    ToolOutput::err_line(&format!("treering: {}", caution.message))
}
