//! `treering layout FILE...`: the extents of files, as filefrag lists them.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;

use treering_lab::is_image;
use treering_model::filesystems::name_of;
use treering_report::pages::extents::{FileExtents, ListedExtent, json, page};
use treering_sys::{Errno, ExtentBuffer, file_extents, filesystem_facts, sync_filesystem};

use crate::arguments::LayoutArgs;
use crate::commands::output;
use crate::failure::Failure;

/// True if the arguments name files whose own extents are to be shown: several paths, or one that
/// is not an image of a filesystem.
pub(super) fn are_wanted(args: &LayoutArgs) -> Result<bool, Failure> {
    let other = std::iter::once(&args.path).chain(&args.files).find(|path| !path.is_file());
    match other {
        None if args.extents || !args.files.is_empty() => Ok(true),
        None => Ok(!(args.fresh_copy || args.heat.is_some() || is_image(&args.path)?)),
        Some(path) if args.extents || !args.files.is_empty() => {
            let message = format!("{} is not a regular file", path.display());
            let message =
                if path.exists() { message } else { format!("{}: not found", path.display()) };
            Err(Failure::usage(message).hint(
                "extents are listed for regular files only; name a single directory or device",
            ))
        }
        Some(_) => Ok(false),
    }
}

/// Lists the extents.
pub(super) fn run(args: &LayoutArgs) -> Result<ExitCode, Failure> {
    let mut buffer = ExtentBuffer::default();
    let files = std::iter::once(&args.path).chain(&args.files);
    let listed = files.map(|path| list(path, !args.no_sync, &mut buffer));
    let listed = listed.collect::<Result<Vec<FileExtents>, Failure>>()?;
    if args.output.format() == Some("json") {
        output::with_writer(args.output.output.as_deref(), |out| {
            writeln!(out, "{}", json(&listed))
        })?;
    } else {
        output::write(&page(&listed), &args.output)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn list(path: &Path, write_back: bool, buffer: &mut ExtentBuffer) -> Result<FileExtents, Failure> {
    let failed =
        |error: std::io::Error| Failure::environment(format!("{}: {error}", path.display()));
    let file = File::open(path).map_err(failed)?;
    if write_back {
        // A write error of another process must not prevent listing.
        let _reported_by_whoever_wrote = sync_filesystem(file.as_fd());
    }
    let facts = filesystem_facts(&file).map_err(|errno| failed(errno.into()))?;
    let mut extents = Vec::new();
    let result = file_extents(&file, buffer, |extent| {
        extents.push(ListedExtent {
            logical_bytes: extent.logical,
            physical_bytes: extent.is_placed().then_some(extent.physical),
            length_bytes: extent.length,
            flags: extent.flag_names(),
        });
    });
    match result {
        Ok(_) => Ok(FileExtents {
            path: path.to_string_lossy().into_owned(),
            bytes: file.metadata().map_err(failed)?.len(),
            block_bytes: facts.block_bytes,
            extents,
        }),
        Err(Errno::OPNOTSUPP | Errno::NOTTY) => {
            let name = name_of(facts.type_magic).unwrap_or("its filesystem");
            let message =
                format!("{}: {name} does not report where files lie (no FIEMAP)", path.display());
            Err(Failure::environment(message))
        }
        Err(errno) => Err(failed(errno.into())),
    }
}
