//! The command line program: dispatches to the command that the user typed.
//!
//! Through a link with the name of an imitated tool, the program behaves like that tool. There is
//! no logic here.

mod arguments;
mod classic_output;
mod clock;
mod colour;
mod commands;
mod completion;
mod exit_codes;
mod failure;
mod launcher;
mod places;
mod progress;
mod sinks;
mod storage;
mod terminal;

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    failure::reporting_panics(|| {
        let typed: Vec<_> = std::env::args_os().collect();
        answer(&typed)
    })
}

fn answer(typed: &[OsString]) -> ExitCode {
    if treering_guest::is_guest(typed) {
        commands::in_guest();
    }
    if treering_engine::is_rank_of_plan(typed) {
        return commands::as_rank();
    }
    if let Some(answered) = completion::answer(typed) {
        return answered;
    }
    let matches = match arguments::parse(typed) {
        Ok(matches) => matches,
        Err(refused) => return commands::refused(&refused, typed),
    };
    commands::run(&matches).unwrap_or_else(|failure| failure::show(&failure))
}
