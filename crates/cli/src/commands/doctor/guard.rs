//! `treering doctor --guard DEVICE`: prints the guard's verdict on formatting a device, and what
//! the guard examined. Changes nothing.

use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;
use treering_lab::{DeviceError, Inspection, SearchCoverage, inspect};
use treering_report::{Block, Cell, Data, KeyValue, Report};

use crate::arguments::OutputArgs;
use crate::commands::output;
use crate::commands::trial::quoted;
use crate::exit_codes::REFUSED;
use crate::failure::Failure;

/// The verdict as data: `treering doctor --guard DEVICE --format json`.
#[derive(Debug, Serialize)]
struct GuardVerdict {
    /// The device as it was named.
    path: String,
    /// The device node to which `path` resolves.
    device: String,
    bytes: u64,
    /// True if the device would be formatted without being named in `--erase`.
    free: bool,
    /// True if the device would be formatted when named in `--erase`, or is free.
    erasable: bool,
    /// Reasons against formatting the device.
    obstacles: Vec<String>,
    /// Examined users and regions of the device, in words.
    looked_at: Vec<String>,
}

impl Data for GuardVerdict {
    const FORMAT: &'static str = "treering guard";
    const VERSION: u32 = 1;
}

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
        looked_at: looked_at(&inspection),
    };
    let is_free = verdict.free;
    output::write_or_data(&page(&verdict, inspection), &verdict, args)?;
    Ok(if is_free { ExitCode::SUCCESS } else { ExitCode::from(REFUSED) })
}

fn page(verdict: &GuardVerdict, inspection: Inspection) -> Report {
    let mut page = Report::new(format!("Guard: {}", verdict.path));
    page.paragraph(if verdict.free {
        "Nothing stands against formatting it: nobody uses it, and it is empty."
    } else if verdict.erasable {
        "treering refuses to format it unless it is named for erasing."
    } else {
        "treering refuses to format it, even if it is named for erasing."
    });
    for obstacle in &verdict.obstacles {
        page.note(obstacle.as_str());
    }
    if verdict.free {
        page.command(
            "format it",
            &format!("treering compare --device {}", quoted(&verdict.device)),
        );
    } else if let Some(hint) = DeviceError::Refused(inspection).hint() {
        page.paragraph(format!("hint: {hint}"));
    }
    page.heading("What was looked at");
    let size = format!("{} bytes", verdict.bytes);
    let looked = verdict.looked_at.iter().map(|what| ("looked at", what.clone()));
    let pairs = std::iter::once(("size", size)).chain(looked);
    let pair =
        |(key, value): (&str, String)| KeyValue { key: key.to_owned(), value: Cell::text(value) };
    page.blocks.push(Block::KeyValues { pairs: pairs.map(pair).collect() });
    page
}

/// Examined users and regions of the device, in words.
fn looked_at(inspection: &Inspection) -> Vec<String> {
    if inspection.bytes == 0 {
        return Vec::new();
    }
    let mut words = vec![
        "who uses it: mounts, swap, what is made of it, other loop devices on its bytes, and \
         programs that have it open"
            .to_owned(),
        "the places of all known signatures, and of further copies of them".to_owned(),
    ];
    let edges = "its first, middle and last MiB";
    words.push(match inspection.coverage {
        None => "no search for data: a signature was found".to_owned(),
        Some(SearchCoverage::Whole) => "every byte".to_owned(),
        Some(SearchCoverage::Edges) => edges.to_owned(),
        Some(SearchCoverage::Extents { bytes }) => format!(
            "{edges}, and all that its file has blocks for ({bytes} bytes); the rest are holes"
        ),
        Some(SearchCoverage::Places { count, bytes }) => format!(
            "{edges}, and {count} places of {bytes} bytes, one in each of as many equal parts, \
             drawn anew each time"
        ),
    });
    words
}
