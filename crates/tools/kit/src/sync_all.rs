//! Task that syncs before or after what is measured.

use treering_script::{Io, Script, Stop, SyncScope};

/// Script that waits until everything within this scope is on disk.
#[derive(Debug)]
pub struct SyncAll(pub SyncScope);

impl Script for SyncAll {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        io.sync(self.0)
    }
}
