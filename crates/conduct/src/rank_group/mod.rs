//! Runs on several ranks: rank 0 acts like a single process, the others assist it.
//!
//! `meeting` is the handshake before a trial, `place` checks that all ranks see one filesystem, and
//! `launched` runs a trial that a plan has launched.

mod classic;
mod launched;
mod meeting;
mod place;
mod process;
mod ranks;

use std::fmt::Display;
use std::process::ExitCode;
use std::time::Duration;

use treering_engine::World;

pub use self::launched::{LaunchedRank, serve_launched};
pub use self::process::{Connection, RankProcess};
pub use self::ranks::Ranks;
use crate::failure::Failure;

/// Performs the handshake, calls `run` on every rank, and waits at the final barrier. A rank that
/// is silent for longer than the limit counts as lost. Only rank 0 shows failures and decides the
/// exit code.
pub fn together<E: From<Failure> + Display>(
    connection: &dyn Connection,
    process: &RankProcess<'_>,
    limit: Duration,
    run: impl FnOnce(&Ranks<'_>) -> Result<ExitCode, E>,
    show: impl FnOnce(&E) -> ExitCode,
) -> ExitCode {
    let world = World::new(connection.link(), limit);
    let workloads = process.workloads;
    let done = meeting::meet(&world, process).map_err(E::from).and_then(|trial| {
        run(&Ranks { world: &world, trial, library: connection.library(), workloads })
    });
    match &done {
        Err(failure) => world.leave(&failure.to_string()),
        // Tells ranks that still wait for rank 0 that it has ended.
        Ok(_) if world.is_first() => world.leave("it has ended"),
        Ok(_) => {}
    }
    if !world.is_first() {
        let _abandoned = world.farewell();
        return ExitCode::SUCCESS;
    }
    let code = match &done {
        Ok(code) => *code,
        Err(failure) => show(failure),
    };
    if world.farewell().is_err() {
        // A rank that hangs does not end by itself.
        connection.abort();
    }
    code
}
