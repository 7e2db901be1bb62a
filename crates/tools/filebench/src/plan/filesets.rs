//! Plans of filesets and single files.

use treering_kit::faults::{Fault, shown};

use std::sync::Arc;

use super::super::draw::{Amount, Kind, Spread};
use super::bind::{Binder, Locals, ResolvedValue};
use super::{ENTRIES_MAX, FILESETS_MAX, FileSizes, FilesetPlan};
use crate::language::{Fileset, SpannedValue, Value};

/// Shape of the gamma distribution of sizes in filebench 1.4, and of widths and depths.
const SHAPE: f64 = 1.5;
/// Longest name and path of a fileset, in bytes.
const NAME_BYTES_MAX: usize = 255;
const PATH_BYTES_MAX: usize = 3000;
/// Largest file size.
const FILE_BYTES_MAX: u64 = 1 << 50;
/// Largest directory width; greater values have no further effect.
const WIDTH_MAX: u64 = 1 << 40;

pub(super) fn plan(binder: &mut Binder<'_, '_>) -> Result<Vec<FilesetPlan>, Fault> {
    let mut all: Vec<FilesetPlan> = Vec::new();
    let mut entries = 0_u64;
    for fileset in &binder.script.filesets {
        let place = fileset.thing.place;
        let one = fileset_plan(binder, fileset)?;
        if all.iter().any(|other| other.name == one.name) {
            let what = format!("there are two filesets {}", shown(&one.name));
            return Err(binder.error(place, what).hint("give each a name of its own"));
        }
        entries = entries.saturating_add(one.entries).saturating_add(one.leafdirs);
        if entries > ENTRIES_MAX {
            let what = format!("the filesets have more than {ENTRIES_MAX} entries");
            return Err(binder.error(place, what).hint("use fewer files"));
        }
        all.push(one);
    }
    if all.len() > FILESETS_MAX {
        let place = binder.script.filesets[FILESETS_MAX].thing.place;
        let what = format!("there are more than {FILESETS_MAX} filesets");
        return Err(binder.error(place, what).hint("use fewer"));
    }
    Ok(all)
}

fn fileset_plan(binder: &mut Binder<'_, '_>, fileset: &Fileset) -> Result<FilesetPlan, Fault> {
    let (thing, none) = (&fileset.thing, Locals::new());
    let what = if fileset.is_file { "the file" } else { "the fileset" };
    let name = required(binder, fileset, "name")?;
    if name.is_empty()
        || name == "."
        || name == ".."
        || name.contains(['/', '\0'])
        || name.len() > NAME_BYTES_MAX
    {
        let what = format!("'{}' is no name of a directory", shown(&name));
        return Err(binder.error(thing.place, what).hint("letters, digits, -, _ and . do"));
    }
    let path = required(binder, fileset, "path")?;
    if path.is_empty() || path.contains('\0') || path.len() > PATH_BYTES_MAX {
        let what = format!("'{}' is no path of a directory", shown(&path));
        return Err(binder.error(thing.place, what).hint("write path=/mnt/test"));
    }
    let entries = match binder.number(thing, "entries", &none, ENTRIES_MAX)? {
        Some(entries) => entries,
        None if fileset.is_file => 1,
        None => 0,
    };
    let leafdirs = binder.number(thing, "leafdirs", &none, ENTRIES_MAX)?.unwrap_or(0);
    let width = if fileset.is_file {
        Amount::Fixed(0)
    } else {
        let Some(width) = binder.amount(thing, "dirwidth", &none)? else {
            let error = binder.error(thing.place, format!("{what} has no dirwidth"));
            return Err(error.hint("write dirwidth=20: about so many entries in a directory"));
        };
        width
    };
    let mean_width = width.mean();
    if !fileset.is_file && (mean_width <= 1.5 || mean_width > WIDTH_MAX as f64) {
        let place = thing.get("dirwidth").map_or(thing.place, |given| given.place);
        let error = binder.error(place, "a dirwidth below 2 makes endlessly deep trees");
        return Err(error.hint(format!("it is from 2 to {WIDTH_MAX}")));
    }
    let shape = match binder.number(thing, "dirgamma", &none, 1_000_000)? {
        Some(gamma) => gamma as f64 / 1000.0,
        None if fileset.is_file => 0.0,
        None => SHAPE,
    };
    let depth = match thing.get("dirdepthrv").cloned() {
        None => None,
        Some(given) => Some(depth(binder, &given)?),
    };
    let switch = |binder: &mut Binder<'_, '_>, name| binder.switch(thing, name, &none);
    Ok(FilesetPlan {
        size: size(binder, fileset)?,
        prealloc: prealloc(binder, fileset)?,
        paralloc: switch(binder, "paralloc")?,
        trust: switch(binder, "trusttree")?,
        reuse: switch(binder, "reuse")?,
        readonly: switch(binder, "readonly")?,
        writeonly: switch(binder, "writeonly")?,
        deletes: false,
        name,
        path,
        entries,
        leafdirs,
        width,
        depth,
        shape,
    })
}

fn required(binder: &mut Binder<'_, '_>, fileset: &Fileset, name: &str) -> Result<String, Fault> {
    let text = binder.text(&fileset.thing, name, &Locals::new())?;
    text.ok_or_else(|| {
        let what = if fileset.is_file { "the file" } else { "the fileset" };
        let error = binder.error(fileset.thing.place, format!("{what} has no {name}"));
        error.hint(format!("write {name}=..."))
    })
}

fn depth(binder: &mut Binder<'_, '_>, given: &SpannedValue) -> Result<Arc<Spread>, Fault> {
    match binder.find(given, &Locals::new())? {
        ResolvedValue::Drawn(spread) => Ok(spread),
        _ => Err(binder
            .error(given.place, "dirdepthrv is no random variable")
            .hint("write set $depth=randvar(type=uniform) and dirdepthrv=$depth")),
    }
}

fn size(binder: &mut Binder<'_, '_>, fileset: &Fileset) -> Result<Amount, Fault> {
    let (thing, none) = (&fileset.thing, Locals::new());
    // As in the original, the default is 1 KiB.
    let size = binder.amount(thing, "size", &none)?.unwrap_or(Amount::Fixed(1024));
    if size.mean() > FILE_BYTES_MAX as f64 {
        let place = thing.get("size").map_or(thing.place, |given| given.place);
        let error = binder.error(place, "the files are larger than treering makes them");
        return Err(error.hint(format!("size goes up to {FILE_BYTES_MAX}")));
    }
    let gamma = binder.plan_overrides.sizes == FileSizes::Gamma && !fileset.is_file;
    Ok(match size {
        Amount::Fixed(mean) if gamma && mean > 0 => {
            let kind = Kind::Gamma { from: 0.0, mean: mean as f64, shape: SHAPE };
            let most = Some(FILE_BYTES_MAX as f64);
            Amount::Drawn(Arc::new(Spread { kind, least: None, most, round: 0.0 }))
        }
        Amount::Drawn(spread) => {
            let bound = FILE_BYTES_MAX as f64;
            let most = Some(spread.most.map_or(bound, |most| most.min(bound)));
            Amount::Drawn(Arc::new(Spread { most, ..(*spread).clone() }))
        }
        fixed @ Amount::Fixed(_) => fixed,
    })
}

/// Percentage of preallocated entries; `None` if `false` excludes directories too.
fn prealloc(binder: &mut Binder<'_, '_>, fileset: &Fileset) -> Result<Option<u64>, Fault> {
    let Some(given) = fileset.thing.get("prealloc").cloned() else { return Ok(None) };
    let percent = match binder.find(&given, &Locals::new())? {
        ResolvedValue::Switch(true) => return Ok(Some(100)),
        ResolvedValue::Switch(false) => return Ok(None),
        ResolvedValue::Number(percent) if percent <= 100 => percent,
        ResolvedValue::Number(_) | ResolvedValue::Text(_) | ResolvedValue::Drawn(_) => {
            let error = binder.error(given.place, "prealloc is no percentage");
            return Err(error.hint("write prealloc for all, or a number from 0 to 100"));
        }
    };
    // Written as a number, 0 also means none.
    let none = percent == 0 && matches!(given.value, Value::Number(_));
    Ok(Some(percent).filter(|_| !none))
}
