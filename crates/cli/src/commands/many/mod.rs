//! Runs on several ranks: `connection` connects them, and `launched` runs a rank of a trial that a
//! plan has launched.

mod connection;
pub(super) mod launched;

use std::process::ExitCode;
use std::time::Duration;

use treering_conduct::{RankProcess, together};

pub(super) use treering_conduct::Ranks;

use self::connection::Connected;
use crate::failure::{Failure, show};

/// Connects with the other ranks, if a launcher started several, and calls `run_with` with them; a
/// rank that is silent for `timeout` counts as lost. Without other ranks returns `None` and does
/// nothing.
pub(super) fn run(
    timeout: Duration,
    run_with: impl FnOnce(&Ranks<'_>) -> Result<ExitCode, Failure>,
) -> Result<Option<ExitCode>, Failure> {
    let Some(connected) = Connected::open()? else { return Ok(None) };
    Ok(Some(together(&connected, &process(), timeout, run_with, show)))
}

/// Description of this process for the other ranks.
fn process() -> RankProcess<'static> {
    RankProcess {
        words: std::env::args_os().skip(1).map(|word| word.to_string_lossy().into()).collect(),
        host: crate::places::machine().name,
        workloads: treering_registry::workloads(),
    }
}
