//! `treering trace cost`: estimates the time of traces on modelled disks.

use std::path::Path;
use std::process::ExitCode;

use treering_model::nearest::suggestion;
use treering_report::pages::disk_cost::{CostedTrace, page};
use treering_trace::{DiskReplay, ModelledDisk};

use super::files::each_entry;
use crate::arguments::CostArgs;
use crate::commands::output;
use crate::commands::typed::origin_of_files;
use crate::failure::Failure;

/// Maximum size of a disk description.
const DISK_BYTES_MAX: u64 = 1 << 16;

/// Shows the estimates.
pub(super) fn run(args: &CostArgs) -> Result<ExitCode, Failure> {
    let disks = args.disk.iter().map(|name| Ok((name.as_str(), disk(name)?)));
    let disks: Vec<(&str, ModelledDisk)> = disks.collect::<Result<_, Failure>>()?;
    let mut costed = Vec::new();
    for path in &args.files {
        let mut replays: Vec<DiskReplay> =
            disks.iter().map(|(_, disk)| DiskReplay::new(disk)).collect();
        each_entry(path, |entry| {
            replays.iter_mut().for_each(|replay| replay.entry(entry));
            Ok(())
        })?;
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        costed.extend(disks.iter().zip(replays).map(|((disk, _), replay)| CostedTrace {
            trace: name.clone(),
            disk: (*disk).to_owned(),
            costs: replay.end(),
        }));
    }
    let about: Vec<(String, String)> =
        disks.iter().map(|(name, disk)| ((*name).to_owned(), disk.about.clone())).collect();
    let mut shown = page(&costed, &about);
    shown.origin(origin_of_files());
    output::write(&shown, &args.page)?;
    Ok(ExitCode::SUCCESS)
}

/// Finds a built-in disk model, or reads one from a file.
fn disk(name: &str) -> Result<ModelledDisk, Failure> {
    if let Some(disk) = ModelledDisk::named(name) {
        return Ok(disk);
    }
    let path = Path::new(name);
    if !name.contains('/') && path.extension().is_none() {
        let known: Vec<&str> = ModelledDisk::names().collect();
        return Err(Failure::usage(format!("--disk: there is no disk '{name}'")).hint(suggestion(
            name,
            &known,
            "give the path of a TOML file, or one of",
        )));
    }
    let text = read_at_most(path).map_err(|error| Failure::of_path(path, &error))?;
    ModelledDisk::read(&text)
        .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
}

fn read_at_most(path: &Path) -> std::io::Result<String> {
    use std::io::Read as _;

    let mut text = String::new();
    std::fs::File::open(path)?.take(DISK_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}
