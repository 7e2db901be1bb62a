//! `treering layout --heat`: attributes the requests of a block trace to files.

use std::path::Path;
use std::process::ExitCode;

use treering_lab::{ReadOnlyView, ViewKind};
use treering_observe::hot::{DeviceHeat, HotError, HotRequests};
use treering_report::pages::heat::{page, write_json};
use treering_trace::{TraceDevice, TraceEntry};

use super::survey_with_progress;
use crate::arguments::LayoutArgs;
use crate::classic_output::say;
use crate::commands::output;
use crate::commands::trace::files::each_entry;
use crate::failure::Failure;

/// Shows the heat of files and of regions of the device.
pub(super) fn run(args: &LayoutArgs, trace: &Path) -> Result<ExitCode, Failure> {
    let failed = |why: String| Failure::environment(why);
    let not_known = |error: HotError| failed(error.to_string());
    let view = ReadOnlyView::open(&args.path)?;
    let target = match view.kind() {
        ViewKind::Directory => args.path.clone(),
        ViewKind::Mounted { point, .. } => point.clone(),
        ViewKind::Private { .. } => {
            let what = args.path.display();
            return Err(failed(format!("{what} is not mounted"))
                .hint("mount it as it was when the trace was recorded, and name the directory"));
        }
    };
    let mut requests = HotRequests::for_directory(&target).map_err(not_known)?;
    hear(trace, &mut requests)?;
    let places = requests.take(&target, args.heat_half_life).map_err(not_known)?;
    let Some(DeviceHeat { report, map }) = places else {
        return Err(failed(format!(
            "{} has no reads or writes of the device of {}",
            trace.display(),
            args.path.display()
        )));
    };
    let path = args.path.to_string_lossy();
    if args.output.format() == Some("json") {
        output::with_writer(args.output.output.as_deref(), |out| {
            write_json(&path, &report, &map, out)
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let layer = if output::is_html(args.output.format()) {
        let plan = treering_observe::layout::SurveyPlan { map: true, ..Default::default() };
        survey_with_progress(&view, &plan)?.map.map(|below| (below, map))
    } else {
        None
    };
    output::write(&page(&path, &report, layer), &args.output)?;
    Ok(ExitCode::SUCCESS)
}

/// Passes the requests of a trace to `requests`. If a trace has one device, it counts as that of
/// the filesystem, whatever its name: the image may have been on another loop device then.
fn hear(trace: &Path, requests: &mut HotRequests) -> Result<(), Failure> {
    let mut devices: Vec<TraceDevice> = Vec::new();
    let mut is_decided = false;
    each_entry(trace, |entry| {
        match entry {
            TraceEntry::Device(device) => devices.push(device.clone()),
            TraceEntry::Event(_) if !is_decided => {
                is_decided = true;
                decide(&devices, requests)?;
            }
            _ => {}
        }
        requests.hear(entry);
        Ok(())
    })
}

fn decide(devices: &[TraceDevice], requests: &mut HotRequests) -> Result<(), Failure> {
    if devices.iter().any(|device| requests.knows(device.number)) {
        return Ok(());
    }
    match devices {
        [] => Ok(()),
        [one] => {
            say(&format!(
                "the trace is of {} ({}), the filesystem is on {}: assumed to be the same",
                one.name,
                one.number,
                requests.device()
            ));
            requests.add_device(one.number);
            Ok(())
        }
        several => {
            let names: Vec<&str> = several.iter().map(|device| device.name.as_str()).collect();
            let message = format!(
                "the trace is of {}, none of which the filesystem is on ({})",
                names.join(", "),
                requests.device()
            );
            Err(Failure::environment(message)
                .hint("record its device alone: `treering trace --device DEVICE`"))
        }
    }
}
