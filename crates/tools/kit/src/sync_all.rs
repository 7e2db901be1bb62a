//! A sync before what is measured, or after it.

use treering_script::{Io, Script, Stop, SyncScope};

/// The code that waits until everything within this scope is on disk.
#[derive(Debug)]
pub struct SyncAll(pub SyncScope);

impl Script for SyncAll {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        io.sync(self.0)
    }
}
