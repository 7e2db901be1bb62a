//! Conversion of sections to a profile, with the original's defaults.

use std::collections::HashMap;
use std::path::Path;

use super::operation::Operation;
use super::sections::Section;
use super::{Aging, FileSizes, Filesystem, LatencySelection, Profile, ThreadGroup};
use treering_kit::faults::{Fault, Faults, Place, shown};
use treering_model::nearest::nearest;

/// Default size of a file and of a write, in bytes.
const BYTES: u64 = 4096;

/// Index of each filesystem by its location; paths that differ only in `//`, `/.` or a trailing `/`
/// are equal.
type FilesystemNumbers<'s> = HashMap<&'s Path, usize>;

/// Profile of these sections, without the checks that concern several settings.
pub(super) fn profile(sections: &Section, to: &mut Faults) -> Result<Profile, Fault> {
    let locations = locations(&sections.filesystems, to)?;
    let direct = sections.is_on("directio");
    let groups = sections.groups.iter().map(|section| {
        let bound = bound(section, &sections.filesystems, &locations, to)?;
        Ok(ThreadGroup { bound, ..group(section) })
    });
    let groups = groups.collect::<Result<_, Fault>>()?;
    Ok(Profile {
        seconds: sections.number("time").unwrap_or(0),
        direct,
        align: direct || sections.is_on("alignio"),
        buffered: sections.is_on("bufferio"),
        callout: sections.text("callout").map(str::to_owned),
        filesystems: filesystems(&sections.filesystems, &locations, to)?,
        groups,
        warnings: Vec::new(),
    })
}

/// Locations of the filesystems; each must be present and distinct.
fn locations<'s>(sections: &'s [Section], to: &Faults) -> Result<FilesystemNumbers<'s>, Fault> {
    let mut locations = FilesystemNumbers::new();
    for (number, section) in sections.iter().enumerate() {
        let Some(location) = section.text("location") else {
            let message = "the filesystem has no location";
            return Err(to.error(section.place, message).hint("write location = /a/directory"));
        };
        if let Some(other) = locations.insert(Path::new(location), number) {
            let line = sections[other].place_of("location").line;
            let message = format!("location: '{}' is that of line {line} too", shown(location));
            let right = "each filesystem has a directory of its own";
            return Err(to.error(section.place_of("location"), message).hint(right));
        }
    }
    Ok(locations)
}

/// Index of the filesystem whose location this key names.
fn named(
    section: &Section,
    key: &str,
    filesystems: &[Section],
    locations: &FilesystemNumbers<'_>,
    to: &Faults,
) -> Result<Option<usize>, Fault> {
    let Some(location) = section.text(key) else { return Ok(None) };
    if let Some(number) = locations.get(Path::new(location)) {
        return Ok(Some(*number));
    }
    let message = format!("{key}: no filesystem has the location '{}'", shown(location));
    let known = filesystems.iter().filter_map(|filesystem| filesystem.text("location"));
    let right = match nearest(location, known.take(100)) {
        Some(meant) => format!("did you mean {}?", shown(meant)),
        None => format!("{key} is the location of a [filesystem] of this profile"),
    };
    Err(to.error(section.place_of(key), message).hint(right))
}

fn bound(
    section: &Section,
    filesystems: &[Section],
    locations: &FilesystemNumbers<'_>,
    to: &Faults,
) -> Result<Option<usize>, Fault> {
    named(section, "bindfs", filesystems, locations, to)
}

/// Filesystems of the profile; a clone gets the settings of its origin.
fn filesystems(
    sections: &[Section],
    locations: &FilesystemNumbers<'_>,
    to: &mut Faults,
) -> Result<Vec<Filesystem>, Fault> {
    let mut next = Vec::with_capacity(sections.len());
    for section in sections {
        next.push(named(section, "clone", sections, locations, to)?);
    }
    let origins = origins(&next, sections, to)?;
    let mut made = Vec::with_capacity(sections.len());
    for (section, origin) in sections.iter().zip(origins) {
        if section.has("clone") {
            warn_of_settings_beside_clone(section, to);
        }
        let location = section.text("location").unwrap_or_default().to_owned();
        made.push(Filesystem { location, ..filesystem(&sections[origin]) });
    }
    Ok(made)
}

/// Root filesystem of each chain of clones.
fn origins(next: &[Option<usize>], sections: &[Section], to: &Faults) -> Result<Vec<usize>, Fault> {
    let mut origins: Vec<Option<usize>> = vec![None; next.len()];
    for (start, section) in sections.iter().enumerate() {
        let mut chain = vec![start];
        let origin = loop {
            let last = chain[chain.len() - 1];
            match (origins[last], next[last]) {
                (Some(origin), _) => break origin,
                (None, None) => break last,
                // A chain that is longer than there are filesystems goes round.
                (None, Some(_)) if chain.len() > next.len() => {
                    let message = "clone: leads back to itself";
                    let right = "one of the filesystems needs settings of its own";
                    return Err(to.error(section.place_of("clone"), message).hint(right));
                }
                (None, Some(further)) => chain.push(further),
            }
        };
        for number in chain {
            origins[number] = Some(origin);
        }
    }
    Ok(origins.into_iter().flatten().collect())
}

fn warn_of_settings_beside_clone(section: &Section, to: &mut Faults) {
    let place: Option<(&str, Place)> = section.first_key_except(["location", "clone"]);
    let rows = !section.size_weights.is_empty();
    let group = section.groups.first().map(|group| ("[threadgroup]", group.place));
    let other = place.or(rows.then_some(("size_weight", section.place))).or(group);
    if let Some((key, place)) = other {
        let message = format!("{key} has no effect: clone takes all settings but the location");
        to.warn(place, message);
    }
}

fn filesystem(section: &Section) -> Filesystem {
    let sizes = if section.size_weights.is_empty() {
        let least = section.number("min_filesize").unwrap_or(0);
        FileSizes::Range(least, section.number("max_filesize").unwrap_or(0))
    } else {
        FileSizes::Weights(section.size_weights.clone())
    };
    let aging = section.groups.first().filter(|_| section.is_on("agefs"));
    Filesystem {
        location: String::new(),
        files: section.number("num_files").unwrap_or(0),
        dirs: narrow(section.number("num_dirs").unwrap_or(0)),
        sizes,
        sizes_as_original: false,
        init_bytes: section.number("init_size").unwrap_or(0),
        init_share: section.share("init_util").unwrap_or(0.0),
        create_block_bytes: narrow(section.number("create_blocksize").unwrap_or(BYTES)),
        age_block_bytes: narrow(section.number("age_blocksize").unwrap_or(BYTES)),
        reuse: section.is_on("reuse"),
        aging: aging.map(|aging| Aging {
            group: ThreadGroup { stats: None, ..group(aging) },
            until_share: section.share("desired_util").unwrap_or(0.0),
        }),
    }
}

/// Thread group that is not bound to a filesystem.
fn group(section: &Section) -> ThreadGroup {
    let number = |key| section.number(key).unwrap_or(0);
    let mut weights = [0; Operation::COUNT];
    for operation in Operation::ALL {
        weights[operation.place()] = number(super::keys::weight_key(operation));
    }
    let skip = number("read_skipsize");
    ThreadGroup {
        threads: narrow(number("num_threads")),
        bound: None,
        delay_ms: narrow(number("op_delay")),
        read_random: section.is_on("read_random"),
        read_bytes: number("read_size"),
        read_block_bytes: narrow(number("read_blocksize")),
        read_skip_bytes: section.is_on("read_skip").then_some(skip),
        read_skip_bytes_given: skip,
        write_random: section.is_on("write_random"),
        write_bytes: number("write_size"),
        write_block_bytes: narrow(number("write_blocksize")),
        weights,
        stats: section.stats.first().filter(|stats| stats.is_on("enable_stats")).map(stats),
    }
}

fn stats(section: &Section) -> LatencySelection {
    let ranges = section.is_on("enable_range").then(|| section.ranges_ms.clone());
    LatencySelection { ignored: section.ignored, ranges_ms: ranges.unwrap_or_default() }
}

/// Converts a number; its range was checked when it was parsed.
fn narrow<N: TryFrom<u64> + Default>(number: u64) -> N {
    N::try_from(number).unwrap_or_default()
}
