//! `treering show --console`: prints the consoles of the boots of a trial's guest.

use std::io::{self, Write};
use std::process::ExitCode;

use treering_guest::{CONSOLE_ARTIFACT, CONSOLE_VERSION};
use treering_model::{GuestSpec, Trial};

use crate::classic_output::shown;
use crate::failure::{Failure, output_failed};

/// Prints each console; several have a line with the number of the boot before them.
pub(crate) fn run(trial: &Trial) -> Result<ExitCode, Failure> {
    let consoles: Vec<(&str, String)> = trial
        .artifacts
        .iter()
        .filter_map(|artifact| {
            let text = artifact.read::<String>(CONSOLE_ARTIFACT, CONSOLE_VERSION)?;
            Some((artifact.name.as_str(), text))
        })
        .collect();
    if consoles.is_empty() {
        return Err(missing(trial));
    }
    let mut out = io::stdout().lock();
    for (name, text) in &consoles {
        if consoles.len() > 1 {
            writeln!(out, "== {name}").or_else(|error| output_failed(&error))?;
        }
        out.write_all(shown(text).as_bytes()).or_else(|error| output_failed(&error))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Reason why a trial has no console.
fn missing(trial: &Trial) -> Failure {
    let in_guest = trial.fact(GuestSpec::KERNEL_FACT).is_some();
    if in_guest {
        let message = "no console of this trial is kept: every boot of its guest came up, and the \
                       trial did not fail";
        return Failure::usage(message).hint("`treering show` without --console shows the trial");
    }
    Failure::usage("this trial did not run in a guest: it has no console")
        .hint("variants with a `kernel` run in guests (docs/kernels.md)")
}
