//! Which cautions the classic modes tell.

use treering_model::{Caution, CautionCode};
use treering_script::Said;

/// What a user of an original hears of too: that the run is not locked or not confined by the
/// kernel, and these. What is questionable about the machine stands in the store.
pub fn reported(caution: &Caution, also: &[CautionCode]) -> Said {
    match caution.code {
        CautionCode::NotLocked | CautionCode::ConfinedByWalk => {}
        other if also.contains(&other) => {}
        _ => return Said::default(),
    }
    Said::err_line(&format!("treering: {}", caution.message))
}
