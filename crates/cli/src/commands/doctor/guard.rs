//! `treering doctor --guard DEVICE`: prints the guard's verdict on formatting a device, and what
//! the guard examined. Changes nothing.

use std::path::Path;
use std::process::ExitCode;

use treering_lab::{DeviceError, inspect};
use treering_report::pages::machine::guard::{GuardVerdict, page};

use crate::arguments::OutputArgs;
use crate::commands::output;
use crate::exit_codes::REFUSED;
use crate::failure::Failure;

/// Examines a device and shows the verdict.
pub(super) fn run(path: &Path, args: &OutputArgs) -> Result<ExitCode, Failure> {
    let inspection = inspect(path)?;
    let verdict = GuardVerdict {
        path: inspection.asked_path.to_string_lossy().into_owned(),
        device: inspection.resolved.to_string_lossy().into_owned(),
        bytes: inspection.bytes,
        free: inspection.obstacles.is_empty(),
        erasable: !inspection.is_in_use(),
        obstacles: inspection.obstacles.iter().map(ToString::to_string).collect(),
        looked_at: inspection.examined_parts(),
    };
    let hint = DeviceError::Refused(inspection).hint();
    output::write_or_data(&page(&verdict, hint.as_deref()), &verdict, args)?;
    Ok(if verdict.free { ExitCode::SUCCESS } else { ExitCode::from(REFUSED) })
}
