//! Restoring files to their state after the last complete step: files made by a later step are
//! removed, files it removed or changed are written again. Only names and sizes are compared.

use std::collections::BTreeMap;

use treering_script::{CreateHow, DirSlot, EntryKind, ExpectedErrors, Io, Stop, SyncScope};

use super::calls::{
    DataMode, HERE, ROOT_DIR, THERE, WriteOutcome, c_string, create, directory_path, remove_file,
};
use super::operation::LiveFile;
use super::profile::FilesPlan;

/// Path of the first entry in the directories of a population that has the name of a file of the
/// run and is none, or stands among the files of a unit; `None` if there is no such entry.
pub(super) fn first_foreign(io: &mut dyn Io, plan: &FilesPlan) -> Result<Option<String>, Stop> {
    for directory in 0..plan.directories {
        let place = directory_path(plan, directory);
        io.open_dir(ROOT_DIR, &c_string(place.clone()), HERE)?;
        for (name, kind) in entries_in(io, HERE)?.into_iter().filter(|(name, _)| is_own(name)) {
            let path = format!("{place}/{name}");
            let is_unit = name.starts_with(UNIT);
            if kind != if is_unit { EntryKind::Directory } else { EntryKind::File } {
                return Ok(Some(path));
            }
            if !is_unit {
                continue;
            }
            io.open_dir(ROOT_DIR, &c_string(path.clone()), THERE)?;
            let is_file = |name: &str, kind| {
                is_own(name) && name.starts_with(FILE) && kind == EntryKind::File
            };
            let mut files = entries_in(io, THERE)?.into_iter();
            if let Some((file, _)) = files.find(|(name, kind)| !is_file(name, *kind)) {
                return Ok(Some(format!("{path}/{file}")));
            }
        }
    }
    Ok(None)
}

/// Restores the files of a population. Returns the number of files written again or removed; `None`
/// without space. Foreign names are left alone.
pub(super) fn restore(
    io: &mut dyn Io,
    plan: &FilesPlan,
    standing: &[LiveFile],
    unit_sizes: impl Fn(&LiveFile) -> Vec<u64>,
) -> Result<Option<u64>, Stop> {
    let mut wanted: BTreeMap<u64, BTreeMap<String, &LiveFile>> = BTreeMap::new();
    for live in standing {
        let kind = if live.files.is_some() { UNIT } else { FILE };
        let of_directory = wanted.entry(live.directory).or_default();
        of_directory.insert(format!("{kind}{}", live.id), live);
    }
    let none = BTreeMap::new();
    let wanted_in = |directory: u64| wanted.get(&directory).unwrap_or(&none);
    let mut changed = 0;
    // What is too much goes first, everywhere: it may have the space of what is missing.
    for directory in 0..plan.directories {
        let place = directory_path(plan, directory);
        io.open_dir(ROOT_DIR, &c_string(place.clone()), HERE)?;
        for name in entries_in(io, HERE)?.into_keys() {
            if is_own(&name) && !wanted_in(directory).contains_key(&name) {
                changed += remove_all(io, &place, &name)?;
            }
        }
    }
    let _lost_data_are_put_back = io.sync(SyncScope::Target).unless_full()?;
    for directory in 0..plan.directories {
        let place = directory_path(plan, directory);
        for (name, live) in wanted_in(directory) {
            let path = format!("{place}/{name}");
            let put_back = match live.files {
                None => put_back(io, &path, live.bytes)?,
                Some(_) => put_back_unit(io, (&place, name), &unit_sizes(live))?,
            };
            let Some(put_back) = put_back else { return Ok(None) };
            changed += put_back;
        }
    }
    Ok(Some(changed))
}

/// First letter of the name of a file, and of a directory of files; a number follows.
const FILE: char = 'f';
const UNIT: char = 'u';

/// True for the form of a run's own names: a letter and a number.
fn is_own(name: &str) -> bool {
    let number = name.strip_prefix([FILE, UNIT]);
    let parsed = number.and_then(|number| Some((number, number.parse::<u64>().ok()?)));
    parsed.is_some_and(|(number, parsed)| parsed.to_string() == number)
}

/// Puts the files of a unit back.
fn put_back_unit(
    io: &mut dyn Io,
    (place, name): (&str, &str),
    sizes: &[u64],
) -> Result<Option<u64>, Stop> {
    io.open_dir(ROOT_DIR, &c_string(place.to_owned()), HERE)?;
    if !entries_in(io, HERE)?.contains_key(name) {
        io.open_dir(ROOT_DIR, &c_string(place.to_owned()), HERE)?;
        if io.make_dir(HERE, &c_string(name.to_owned())).unless_full()?.is_err() {
            return Ok(None);
        }
    }
    let mut changed = 0;
    for (number, bytes) in sizes.iter().enumerate() {
        let Some(put_back) = put_back(io, &format!("{place}/{name}/f{number}"), *bytes)? else {
            return Ok(None);
        };
        changed += put_back;
    }
    Ok(Some(changed))
}

/// Names in an open directory, with what they are.
fn entries_in(io: &mut dyn Io, dir: DirSlot) -> Result<BTreeMap<String, EntryKind>, Stop> {
    let mut all = BTreeMap::new();
    loop {
        let entries = io.read_dir(dir)?;
        if entries.is_empty() {
            return Ok(all);
        }
        all.extend(entries.map(|entry| (entry.name.to_string_lossy().into_owned(), entry.kind)));
    }
}

/// Writes a file unless it exists with this size. Returns 1 if written, `None` without space.
fn put_back(io: &mut dyn Io, name: &str, bytes: u64) -> Result<Option<u64>, Stop> {
    // The size is that of a name in an open directory, of no longer path.
    let (place, file) = name.rsplit_once('/').unwrap_or(("", name));
    io.open_dir(ROOT_DIR, &c_string(place.to_owned()), THERE)?;
    let file = c_string(file.to_owned());
    let name = c_string(name.to_owned());
    if io.size(THERE, &file).unless_missing()? == Some(bytes) {
        return Ok(Some(0));
    }
    remove_file(io, &name)?;
    let made = create(io, &name, CreateHow::Exclusive, (DataMode::Written, bytes), false)?;
    Ok(matches!(made, WriteOutcome::All).then_some(1))
}

/// Removes a file, or a unit with its files. Returns the number of files removed.
fn remove_all(io: &mut dyn Io, place: &str, name: &str) -> Result<u64, Stop> {
    let whole = format!("{place}/{name}");
    if !name.starts_with(UNIT) {
        remove_file(io, &c_string(whole))?;
        return Ok(1);
    }
    io.open_dir(ROOT_DIR, &c_string(whole.clone()), THERE)?;
    let names = entries_in(io, THERE)?;
    for file in names.keys() {
        remove_file(io, &c_string(format!("{whole}/{file}")))?;
    }
    io.open_dir(ROOT_DIR, &c_string(place.to_owned()), THERE)?;
    io.remove_dir(THERE, &c_string(name.to_owned()))?;
    Ok(names.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::is_own;

    #[test]
    fn only_names_that_a_run_gives_are_its_own() {
        assert!(["f0", "u17", "f18446744073709551615"].into_iter().all(is_own));
        let others = ["d3", "f", "f01", "f1.bak", "foto", "u-1", "thesis.txt", ""];
        assert!(!others.into_iter().any(is_own));
    }
}
