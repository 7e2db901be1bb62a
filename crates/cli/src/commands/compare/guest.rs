//! Guest side: treering is the first process of the guest, and runs the one trial that the host
//! requests.

use treering_guest::{CANNOT_BEGIN, GuestMachine};

use crate::clock::trial_unix_ms;

/// Serves the trial, then shuts the guest down.
pub(crate) fn run() -> ! {
    let served = treering_conduct::serve_guest(treering_registry::workloads(), &trial_unix_ms);
    if let Err(why) = served {
        // A guest has no other output than the console.
        eprintln!("treering: {CANNOT_BEGIN}: {why}");
    }
    GuestMachine::end()
}
