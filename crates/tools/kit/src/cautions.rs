//! Cautions that classic modes print.

use treering_model::{Caution, CautionCode};
use treering_script::ToolOutput;

/// Line on standard error for a caution: for those of locking and confinement, and for the codes in
/// `also`. Cautions about the machine are only stored.
pub fn reported(caution: &Caution, also: &[CautionCode]) -> ToolOutput {
    match caution.code {
        CautionCode::NotLocked | CautionCode::ConfinedByWalk => {}
        other if also.contains(&other) => {}
        _ => return ToolOutput::default(),
    }
    ToolOutput::err_line(&format!("treering: {}", caution.message))
}
