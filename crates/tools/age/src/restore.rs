//! Files as they were after the last whole step: what a later step made is removed, what it removed
//! or changed is put back. Only names and sizes are compared.

use std::collections::{BTreeMap, BTreeSet};

use treering_script::{CreateHow, DirSlot, ExpectedErrors, Io, Stop};

use super::calls::{
    DataMode, HERE, MadeDirectories, ROOT_DIR, THERE, c_string, create, directory_path, path,
    remove_file,
};
use super::generator::LiveFile;
use super::profile::FilesPlan;

/// Makes the files of a population as they should be; returns how many were put back or removed.
pub(super) fn restore(
    io: &mut dyn Io,
    plan: &FilesPlan,
    standing: &[LiveFile],
    unit_sizes: impl Fn(&LiveFile) -> Vec<u64>,
) -> Result<u64, Stop> {
    if plan.tree.is_some() {
        return restore_tree(io, plan, standing);
    }
    let mut wanted: BTreeMap<u64, BTreeMap<String, &LiveFile>> = BTreeMap::new();
    for live in standing {
        let kind = if live.files.is_some() { 'u' } else { 'f' };
        let of_directory = wanted.entry(live.directory).or_default();
        of_directory.insert(format!("{kind}{}", live.id), live);
    }
    let none = BTreeMap::new();
    let mut changed = 0;
    for directory in 0..plan.directories {
        let wanted = wanted.get(&directory).unwrap_or(&none);
        let place = directory_path(plan, directory);
        io.open_dir(ROOT_DIR, &c_string(place.clone()), HERE)?;
        let is_ours = |name: &String| !name.starts_with('d');
        let names = names_in(io, HERE)?;
        for name in names.iter().filter(|name| is_ours(name) && !wanted.contains_key(*name)) {
            changed += remove_all(io, &place, name)?;
        }
        for (name, live) in wanted {
            if live.files.is_none() {
                changed += put_back(io, &format!("{place}/{name}"), live.bytes)?;
                continue;
            }
            if !names.contains(name) {
                io.open_dir(ROOT_DIR, &c_string(place.clone()), HERE)?;
                io.make_dir(HERE, &c_string(name.clone()))?;
            }
            for (number, bytes) in unit_sizes(live).into_iter().enumerate() {
                changed += put_back(io, &format!("{place}/{name}/f{number}"), bytes)?;
            }
        }
    }
    Ok(changed)
}

/// Makes the files of a data set as they should be.
fn restore_tree(io: &mut dyn Io, plan: &FilesPlan, standing: &[LiveFile]) -> Result<u64, Stop> {
    let mut changed = 0;
    let mut parents = MadeDirectories::default();
    for live in standing {
        let name = path(plan, live);
        parents.make(io, &name)?;
        changed += put_back(io, &name, live.bytes)?;
    }
    Ok(changed)
}

/// Names in an open directory.
fn names_in(io: &mut dyn Io, dir: DirSlot) -> Result<BTreeSet<String>, Stop> {
    let mut names = BTreeSet::new();
    loop {
        let entries = io.read_dir(dir)?;
        if entries.is_empty() {
            return Ok(names);
        }
        names.extend(entries.map(|entry| entry.name.to_string_lossy().into_owned()));
    }
}

/// Writes a file anew unless it is there with this size; returns 1 if it did.
fn put_back(io: &mut dyn Io, name: &str, bytes: u64) -> Result<u64, Stop> {
    // The size is that of a name in an open directory, of no longer path.
    let (place, file) = name.rsplit_once('/').unwrap_or(("", name));
    io.open_dir(ROOT_DIR, &c_string(place.to_owned()), THERE)?;
    let file = c_string(file.to_owned());
    let name = c_string(name.to_owned());
    if io.size(THERE, &file).unless_missing()? == Some(bytes) {
        return Ok(0);
    }
    remove_file(io, &name)?;
    create(io, &name, CreateHow::Exclusive, (DataMode::Written, bytes), false)?;
    Ok(1)
}

/// Removes a file, or a unit with its files; returns how many files that were.
fn remove_all(io: &mut dyn Io, place: &str, name: &str) -> Result<u64, Stop> {
    let whole = format!("{place}/{name}");
    if !name.starts_with('u') {
        remove_file(io, &c_string(whole))?;
        return Ok(1);
    }
    io.open_dir(ROOT_DIR, &c_string(whole.clone()), THERE)?;
    let names = names_in(io, THERE)?;
    for file in &names {
        remove_file(io, &c_string(format!("{whole}/{file}")))?;
    }
    io.open_dir(ROOT_DIR, &c_string(place.to_owned()), THERE)?;
    io.remove_dir(THERE, &c_string(name.to_owned()))?;
    Ok(names.len() as u64)
}
