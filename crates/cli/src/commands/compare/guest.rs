//! In a guest: this program is its first process, and runs the one trial that the host asks for.

use treering_guest::GuestMachine;

use crate::clock::trial_unix_ms;

/// Runs the guest to its end, which is that of the machine.
pub(crate) fn run() -> ! {
    let served = treering_conduct::serve_guest(treering_registry::workloads(), &trial_unix_ms);
    if let Err(why) = served {
        // The console is all there is.
        eprintln!("treering: the guest cannot begin: {why}");
    }
    GuestMachine::end()
}
