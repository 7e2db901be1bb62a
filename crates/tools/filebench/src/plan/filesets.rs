//! Plans of filesets and single files.

use treering_kit::faults::{Fault, shown};

use std::sync::Arc;

use super::super::draw::{AttributeAmount, ClampedDistribution, DistributionKind};
use super::bind::{LocalVariables, ResolvedValue, ValueBinder};
use super::{ENTRIES_MAX, FILESETS_MAX, FileSizes, FilesetPlan};
use crate::language::{AttributeValue, FilesetDefinition, SpannedValue};

/// Shape of the gamma distribution of sizes in filebench 1.4, and of widths and depths.
const SHAPE: f64 = 1.5;
/// Longest name and path of a fileset, in bytes.
const NAME_BYTES_MAX: usize = 255;
const PATH_BYTES_MAX: usize = 3000;
/// Largest file size.
const FILE_BYTES_MAX: u64 = 1 << 50;
/// Largest directory width; greater values have no further effect.
const WIDTH_MAX: u64 = 1 << 40;

pub(super) fn plan(binder: &mut ValueBinder<'_, '_>) -> Result<Vec<FilesetPlan>, Fault> {
    let mut filesets: Vec<FilesetPlan> = Vec::new();
    let mut entries = 0_u64;
    for fileset in &binder.script.filesets {
        let place = fileset.definition.place;
        let planned = fileset_plan(binder, fileset)?;
        if filesets.iter().any(|other| other.name == planned.name) {
            let message = format!("there are two filesets {}", shown(&planned.name));
            return Err(binder.error(place, message).hint("give each a name of its own"));
        }
        entries = entries.saturating_add(planned.entries).saturating_add(planned.leafdirs);
        if entries > ENTRIES_MAX {
            let message = format!("the filesets have more than {ENTRIES_MAX} entries");
            return Err(binder.error(place, message).hint("use fewer files"));
        }
        filesets.push(planned);
    }
    if filesets.len() > FILESETS_MAX {
        let place = binder.script.filesets[FILESETS_MAX].definition.place;
        let message = format!("there are more than {FILESETS_MAX} filesets");
        return Err(binder.error(place, message).hint("use fewer"));
    }
    Ok(filesets)
}

fn fileset_plan(
    binder: &mut ValueBinder<'_, '_>,
    fileset: &FilesetDefinition,
) -> Result<FilesetPlan, Fault> {
    let (definition, none) = (&fileset.definition, LocalVariables::new());
    let name = required(binder, fileset, "name")?;
    if name.is_empty()
        || name == "."
        || name == ".."
        || name.contains(['/', '\0'])
        || name.len() > NAME_BYTES_MAX
    {
        let message = format!("'{}' is no name of a directory", shown(&name));
        return Err(binder.error(definition.place, message).hint("letters, digits, -, _ and . do"));
    }
    let path = required(binder, fileset, "path")?;
    if path.is_empty() || path.contains('\0') || path.len() > PATH_BYTES_MAX {
        let message = format!("'{}' is no path of a directory", shown(&path));
        return Err(binder.error(definition.place, message).hint("write path=/mnt/test"));
    }
    let entries = match binder.number(definition, "entries", &none, ENTRIES_MAX)? {
        Some(entries) => entries,
        None if fileset.is_file => 1,
        None => 0,
    };
    let leafdirs = binder.number(definition, "leafdirs", &none, ENTRIES_MAX)?.unwrap_or(0);
    let width = if fileset.is_file {
        AttributeAmount::Fixed(0)
    } else {
        // Without a width, each file gets a directory of its own, as in the original.
        binder.amount(definition, "dirwidth", &none)?.unwrap_or(AttributeAmount::Fixed(0))
    };
    let mean_width = width.mean();
    let has_width = !fileset.is_file && definition.get("dirwidth").is_some();
    if has_width && (mean_width <= 1.5 || mean_width > WIDTH_MAX as f64) {
        let place = definition.get("dirwidth").map_or(definition.place, |value| value.place);
        let error = binder.error(place, "a dirwidth below 2 makes endlessly deep trees");
        return Err(error.hint(format!("it is from 2 to {WIDTH_MAX}")));
    }
    let shape = match binder.number(definition, "dirgamma", &none, 1_000_000)? {
        Some(gamma) => gamma as f64 / 1000.0,
        None if fileset.is_file => 0.0,
        None => SHAPE,
    };
    let depth = match definition.get("dirdepthrv").cloned() {
        None => None,
        Some(value) => Some(depth(binder, &value)?),
    };
    let switch = |binder: &mut ValueBinder<'_, '_>, name| binder.switch(definition, name, &none);
    Ok(FilesetPlan {
        size: size(binder, fileset)?,
        prealloc: prealloc(binder, fileset)?,
        paralloc: switch(binder, "paralloc")?,
        trust: switch(binder, "trusttree")?,
        reuse: switch(binder, "reuse")?,
        readonly: switch(binder, "readonly")?,
        writeonly: switch(binder, "writeonly")?,
        deletes: false,
        is_file: fileset.is_file,
        has_width,
        name,
        path,
        entries,
        leafdirs,
        width,
        depth,
        shape,
    })
}

fn required(
    binder: &mut ValueBinder<'_, '_>,
    fileset: &FilesetDefinition,
    name: &str,
) -> Result<String, Fault> {
    let text = binder.text(&fileset.definition, name, &LocalVariables::new())?;
    text.ok_or_else(|| {
        let noun = if fileset.is_file { "the file" } else { "the fileset" };
        let error = binder.error(fileset.definition.place, format!("{noun} has no {name}"));
        error.hint(format!("write {name}=..."))
    })
}

fn depth(
    binder: &mut ValueBinder<'_, '_>,
    value: &SpannedValue,
) -> Result<Arc<ClampedDistribution>, Fault> {
    match binder.find(value, &LocalVariables::new())? {
        ResolvedValue::Drawn(distribution) => Ok(distribution),
        _ => Err(binder
            .error(value.place, "dirdepthrv is no random variable")
            .hint("write set $depth=randvar(type=uniform) and dirdepthrv=$depth")),
    }
}

fn size(
    binder: &mut ValueBinder<'_, '_>,
    fileset: &FilesetDefinition,
) -> Result<AttributeAmount, Fault> {
    let (definition, none) = (&fileset.definition, LocalVariables::new());
    // As in the original, the default is 1 KiB.
    let size = binder.amount(definition, "size", &none)?.unwrap_or(AttributeAmount::Fixed(1024));
    if size.mean() > FILE_BYTES_MAX as f64 {
        let place = definition.get("size").map_or(definition.place, |value| value.place);
        let error = binder.error(place, "the files are larger than treering makes them");
        return Err(error.hint(format!("size goes up to {FILE_BYTES_MAX}")));
    }
    let gamma = binder.plan_overrides.sizes == FileSizes::Gamma && !fileset.is_file;
    Ok(match size {
        AttributeAmount::Fixed(mean) if gamma && mean > 0 => {
            let kind = DistributionKind::Gamma { from: 0.0, mean: mean as f64, shape: SHAPE };
            let most = Some(FILE_BYTES_MAX as f64);
            AttributeAmount::Drawn(Arc::new(ClampedDistribution {
                kind,
                least: None,
                most,
                round: 0.0,
            }))
        }
        AttributeAmount::Drawn(distribution) => {
            let bound = FILE_BYTES_MAX as f64;
            let most = Some(distribution.most.map_or(bound, |most| most.min(bound)));
            AttributeAmount::Drawn(Arc::new(ClampedDistribution {
                most,
                ..(*distribution).clone()
            }))
        }
        fixed @ AttributeAmount::Fixed(_) => fixed,
    })
}

/// Percentage of preallocated entries; `None` if `false` excludes directories too.
fn prealloc(
    binder: &mut ValueBinder<'_, '_>,
    fileset: &FilesetDefinition,
) -> Result<Option<u64>, Fault> {
    let Some(value) = fileset.definition.get("prealloc").cloned() else { return Ok(None) };
    let percent = match binder.find(&value, &LocalVariables::new())? {
        ResolvedValue::Switch(true) => return Ok(Some(100)),
        ResolvedValue::Switch(false) => return Ok(None),
        ResolvedValue::Number(percent) if percent <= 100 => percent,
        ResolvedValue::Number(_) | ResolvedValue::Text(_) | ResolvedValue::Drawn(_) => {
            let error = binder.error(value.place, "prealloc is no percentage");
            return Err(error.hint("write prealloc for all, or a number from 0 to 100"));
        }
    };
    // Written as a number, 0 also means none.
    let none = percent == 0 && matches!(value.value, AttributeValue::Number(_));
    Ok(Some(percent).filter(|_| !none))
}
