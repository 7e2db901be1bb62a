//! Verdict of the guard on formatting a device, and the results of its examination.

use serde::Serialize;
use treering_model::quoted;

use crate::{Cell, Data, Report};

/// Data of the verdict: `treering doctor --guard DEVICE --format json`.
#[derive(Debug, Serialize)]
pub struct GuardVerdict {
    /// Path of the device as named by the user.
    pub path: String,
    /// Device node to which `path` resolves.
    pub device: String,
    /// Size of the device in bytes.
    pub bytes: u64,
    /// True if the device may be formatted without being named in `--erase`.
    pub free: bool,
    /// True if the device may be formatted when named in `--erase`, or is free.
    pub erasable: bool,
    /// Reasons against formatting the device.
    pub obstacles: Vec<String>,
    /// Examined users and regions of the device, in words.
    pub looked_at: Vec<String>,
}

impl Data for GuardVerdict {
    const FORMAT: &'static str = "treering guard";
    const VERSION: u32 = 1;
}

/// Builds the page; `hint` describes how to free the device.
pub fn page(verdict: &GuardVerdict, hint: Option<&str>) -> Report {
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
    } else if let Some(hint) = hint {
        page.paragraph(format!("hint: {hint}"));
    }
    page.heading("What was looked at");
    let size = format!("{} bytes", verdict.bytes);
    let looked = verdict.looked_at.iter().map(|what| ("looked at", what.clone()));
    let pairs = std::iter::once(("size", size)).chain(looked);
    page.key_values(pairs.map(|(key, value)| (key.to_owned(), Cell::text(value))));
    page
}
