//! Configured FFSB workload: the profile, its demands on the filesystem, and the session.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use treering_model::metrics::rates;
use treering_model::{Caution, Metric, WorkLimit};
use treering_script::{
    ConfigError, Footprint, Job, OutlineLine, RunRequest, ScaleUnit, Session, Settings,
    TargetFacts, WorkScale,
};

use super::fileset::drawn_sizes;
use super::headline::HeadlineSums;
use super::namespace::{DIRECTORY, directory};
use super::operation::Operation;
use super::options::{ClassicOptions, NativeOptions, PROFILE, SizeDrawOptions};
use super::session::{BENCHMARK, BenchSession, RunParameters};
use super::slots::FILESYSTEMS_MAX;
use crate::language::{self, FileSizes, Filesystem, Profile};
use treering_kit::occupied::{is_numbered, refuse_existing};

/// Maximum number of operations, or of seconds, of a job that is scaled.
const SCALE_MAX: u64 = 1_000_000_000;

/// Longest accepted profile in bytes.
const PROFILE_BYTES_MAX: u64 = 2 << 20;

/// FFSB job with all its settings.
#[derive(Debug)]
pub(super) struct BenchJob {
    run: RunParameters,
    request: RunRequest,
}

/// Reads the named profile; also returns its full path.
pub(super) fn read_profile(
    settings: &Settings,
    named: Option<&str>,
) -> Result<(PathBuf, Profile), ConfigError> {
    let Some(named) = named else {
        return Err(ConfigError::new("usage: ffsb <config file>"));
    };
    let path = settings.file(named);
    let text = settings.files.read(&path, PROFILE_BYTES_MAX).map_err(|error| {
        ConfigError::new(format!("cannot read the profile {named}: {error}"))
            .hint("give the path of a profile; examples/ffsb has some")
    })?;
    let profile = language::parse(named, &text)?;
    if profile.filesystems.len() > FILESYSTEMS_MAX {
        let count = profile.filesystems.len();
        return Err(ConfigError::new(format!(
            "{named}: {count} filesystems; at most {FILESYSTEMS_MAX} can be worked on at once"
        )));
    }
    let full = std::path::absolute(&path).unwrap_or(path);
    Ok((full, profile))
}

/// Location with symbolic links resolved; it need not exist yet.
fn resolved(location: &str) -> PathBuf {
    let path = Path::new(location);
    let below = || {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        Some(parent.unwrap_or(Path::new(".")).canonicalize().ok()?.join(path.file_name()?))
    };
    let real = path.canonicalize().ok().or_else(below);
    real.or_else(|| std::path::absolute(path).ok()).unwrap_or_else(|| path.to_owned())
}

/// Checks that no two locations are the same place under different names, and that none lies within
/// the files of another. The profile's text cannot show this because of symbolic links.
fn check_disjoint(filesystems: &[Filesystem]) -> Result<(), ConfigError> {
    let mut known = HashMap::new();
    for Filesystem { location, .. } in filesystems {
        if let Some(other) = known.insert(resolved(location), location) {
            let message = format!("the locations {other} and {location} are one directory");
            return Err(
                ConfigError::new(message).hint("each filesystem has a directory of its own")
            );
        }
    }
    for (real, location) in &known {
        for inner in real.ancestors() {
            let Some(outer) = inner.parent().and_then(|outer| known.get(outer)) else { continue };
            if inner.ends_with("data") || inner.ends_with("meta") {
                let message = format!("the location {location} lies in the files of {outer}");
                let right = "the files of a filesystem are removed before they are made";
                return Err(ConfigError::new(message).hint(right));
            }
        }
    }
    Ok(())
}

fn parameter(name: &str, value: impl ToString) -> (String, String) {
    (name.to_owned(), value.to_string())
}

impl BenchJob {
    /// Reads the classic command line.
    pub(super) fn classic(settings: &Settings) -> Result<Self, ConfigError> {
        let mut options = ClassicOptions::read(settings)?;
        let (path, mut profile) = read_profile(settings, options.profile.as_deref())?;
        check_disjoint(&profile.filesystems)?;
        let seed = *options.seed.get_or_insert(settings.started_unix_ms);
        apply_original_draw(&mut options.drawing, &mut profile);
        let mut parameters = vec![parameter(PROFILE, path.display())];
        parameters.extend(contents(&profile));
        parameters.extend(options.parameters());
        let profile = Arc::new(profile);
        let run = RunParameters { profile, classic: true, seed, operations: None, callout: true };
        Ok(Self { run, request: RunRequest::classic(parameters) })
    }

    /// Reads native options.
    pub(super) fn native(settings: &Settings) -> Result<Self, ConfigError> {
        let mut options = NativeOptions::read(settings)?;
        if options.profile.is_none() {
            return Err(ConfigError::new("no profile is given")
                .hint("treering run ffsb FILE --dir DIR; examples/ffsb has profiles"));
        }
        let (path, mut profile) = read_profile(settings, options.profile.as_deref())?;
        let NativeOptions { operations, time, seed, .. } = options;
        if operations.is_some() && time.is_some() {
            return Err(ConfigError::new("--operations and --time exclude each other")
                .hint("give the number of operations, or the seconds"));
        }
        profile.seconds = time.unwrap_or(profile.seconds);
        if profile.groups.is_empty() && (operations.is_some() || profile.seconds > 0) {
            let file = path.display();
            return Err(ConfigError::new(format!(
                "{file}: there is no threadgroup that could work"
            ))
            .hint("add a [threadgroup] with weights, or give --time 0 to make files only"));
        }
        let is = |word| options.callout == Some(word);
        if let Some(command) = profile.callout.as_ref().filter(|_| is("refuse")) {
            let command: String = command.chars().flat_map(char::escape_debug).collect();
            return Err(ConfigError::new(format!(
                "{}: the profile would have the shell run: {command}",
                path.display()
            ))
            .hint("give --callout run when that is right, or --callout skip to leave it out"));
        }
        let callout = is("run");
        if profile.callout.is_none() {
            options.callout = None;
        }
        apply_original_draw(&mut options.drawing, &mut profile);
        let mut parameters = vec![parameter(PROFILE, path.display())];
        parameters.extend(options.parameters());
        parameters.extend(contents(&profile));
        let run =
            RunParameters { profile: Arc::new(profile), classic: false, seed, operations, callout };
        Ok(Self { run, request: RunRequest::native(parameters) })
    }

    fn filesystems(&self) -> &[Filesystem] {
        &self.run.profile.filesystems
    }
}

/// Applies the option that draws sizes as the original does. An option that is off is not recorded
/// as a parameter.
fn apply_original_draw(drawing: &mut SizeDrawOptions, profile: &mut Profile) {
    drawing.sizes_as_original = drawing.sizes_as_original.filter(|is_asked| *is_asked);
    for filesystem in &mut profile.filesystems {
        filesystem.sizes_as_original = drawing.sizes_as_original.is_some();
    }
}

/// Parameters of the profile, with a prefix before their names.
fn contents(profile: &Profile) -> impl Iterator<Item = (String, String)> {
    let parameters = language::parameters(profile).into_iter();
    parameters.map(|(name, value)| (format!("{PROFILE}.{name}"), value))
}

/// Mean and whole-block mean of the sizes of new files.
fn mean_bytes(sizes: &FileSizes, block_bytes: u64) -> (u64, u64) {
    let block = block_bytes.max(1);
    let in_blocks = |bytes: u64| bytes.div_ceil(block).saturating_mul(block);
    match sizes {
        FileSizes::Range(least, most) => {
            let mean = least.midpoint(*most);
            (mean, in_blocks(mean))
        }
        FileSizes::Weights(weights) => {
            let mean = |of: &dyn Fn(u64) -> u64| {
                let sum: u128 = weights.iter().map(|&(_, weight)| u128::from(weight)).sum();
                let total = weights.iter().fold(0_u128, |total, &(bytes, weight)| {
                    total.saturating_add(u128::from(of(bytes)) * u128::from(weight))
                });
                u64::try_from(total / sum.max(1)).unwrap_or(u64::MAX)
            };
            (mean(&|bytes| bytes), mean(&in_blocks))
        }
    }
}

/// Files and bytes that a filesystem is filled with, and bytes in whole blocks.
fn filled(filesystem: &Filesystem, facts: &TargetFacts) -> (u64, u64, u64) {
    let (mean, in_blocks) = mean_bytes(&drawn_sizes(filesystem), facts.block_bytes);
    let used = facts.capacity_bytes.saturating_sub(facts.free_bytes) as f64;
    let until = |share: f64| {
        let capacity = facts.capacity_bytes as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not below 0")]
        let bytes = (share * capacity - used).max(0.0) as u64;
        if facts.capacity_bytes == u64::MAX { 0 } else { bytes }
    };
    let (files, bytes) = if filesystem.files > 0 {
        (filesystem.files, filesystem.files.saturating_mul(mean))
    } else {
        let bytes = match filesystem.init_bytes {
            0 => until(filesystem.init_share),
            bytes => bytes,
        };
        (bytes / in_blocks.max(1), bytes)
    };
    let aged = filesystem.aging.as_ref().map_or(0, |aging| until(aging.until_share));
    let in_blocks = files.saturating_mul(in_blocks).max(bytes);
    (files, bytes.max(aged), in_blocks.max(aged))
}

impl Job for BenchJob {
    fn request(&self) -> &RunRequest {
        &self.request
    }

    fn check(&self, facts: &TargetFacts) -> Result<Vec<Caution>, ConfigError> {
        if self.run.classic {
            return Ok(Vec::new());
        }
        refuse_existing(facts, |name| is_numbered(name, DIRECTORY))?;
        Ok(Vec::new())
    }

    fn footprint(&self, facts: &TargetFacts) -> Footprint {
        let mut footprint = Footprint::default();
        for filesystem in self.filesystems() {
            let (files, bytes, in_blocks) = filled(filesystem, facts);
            footprint.peak_files = footprint.peak_files.saturating_add(files);
            footprint.peak_dirs =
                footprint.peak_dirs.saturating_add(u64::from(filesystem.dirs)).saturating_add(3);
            footprint.peak_bytes = footprint.peak_bytes.saturating_add(bytes);
            footprint.peak_block_bytes = footprint.peak_block_bytes.saturating_add(in_blocks);
        }
        footprint.written_files = footprint.peak_files;
        footprint.written_bytes = footprint.peak_bytes;
        footprint
    }

    fn outline(&self, facts: &TargetFacts) -> Vec<OutlineLine> {
        let RunParameters { profile, operations, classic, .. } = &self.run;
        // The profile as it is understood: the outline is a profile again.
        let mut lines: Vec<OutlineLine> =
            language::text(profile).lines().map(str::to_owned).collect();
        let mut say = |words: String| lines.push(format!("# {words}"));
        profile.warnings.iter().cloned().for_each(&mut say);
        for (number, filesystem) in profile.filesystems.iter().enumerate() {
            let place = match classic {
                true => filesystem.location.clone(),
                false => directory(number),
            };
            let (files, bytes, _) = filled(filesystem, facts);
            if let Some(aging) = &filesystem.aging {
                let percent = aging.until_share * 100.0;
                let threads = aging.group.threads;
                say(format!("setup: {place}: {threads} threads age it to {percent:.2} %"));
            }
            say(format!(
                "setup: {place}: {} directories, about {files} files of {bytes} bytes in all",
                filesystem.dirs
            ));
        }
        if !self.run.works() {
            return lines;
        }
        if let Some(command) = profile.callout.as_ref().filter(|_| self.run.callout) {
            let command: String = command.chars().flat_map(char::escape_debug).collect();
            say(format!("the shell runs: {command}"));
        }
        for (number, group) in profile.groups.iter().enumerate() {
            let kinds = Operation::ALL.into_iter().filter(|kind| group.weight(*kind) > 0);
            let sum: u128 = group.weights.iter().map(|&weight| u128::from(weight)).sum();
            let share = |kind: Operation| {
                let percent = group.weight(kind) as f64 / sum as f64 * 100.0;
                format!("{} {percent:.1} %", kind.name())
            };
            let kinds: Vec<String> = kinds.map(share).collect();
            let threads = group.threads;
            say(format!("threadgroup {number}: {threads} threads: {}", kinds.join(", ")));
        }
        say(match operations {
            Some(operations) => format!("until {operations} operations are done"),
            None => format!("for {} seconds", profile.seconds),
        });
        lines
    }

    fn work(&self) -> WorkLimit {
        if self.run.operations.is_some() || !self.run.works() {
            WorkLimit::Drawn
        } else {
            WorkLimit::Timed
        }
    }

    fn scale(&self) -> Option<WorkScale> {
        let of = |option, value, unit| WorkScale {
            option,
            key: None,
            value,
            most: SCALE_MAX,
            unit,
            follows: |phase| phase == BENCHMARK,
            sizes: &["operations", "time", PROFILE],
        };
        match self.run.operations {
            _ if self.run.classic || !self.run.works() => None,
            Some(count) => {
                let unit = ScaleUnit::Amount { name: "operations", each: 1 };
                Some(of("operations", count, unit))
            }
            None => Some(of("time", self.run.profile.seconds, ScaleUnit::Seconds)),
        }
    }

    fn tasks(&self, _facts: &TargetFacts) -> u64 {
        let setup = self.filesystems().iter().map(|filesystem| {
            // Prepared, filled; with some files, then by some threads, when it is aged.
            let aged = filesystem.aging.as_ref();
            2 + aged.map_or(0, |aging| 1 + u64::from(aging.group.threads))
        });
        // A sync before the work and one after it.
        let work = if self.run.works() { u64::from(self.run.profile.workers()) + 2 } else { 0 };
        setup.sum::<u64>() + work
    }

    fn foreseen_metrics(&self, _facts: &TargetFacts) -> Vec<Metric> {
        let drawn = |kind: &Operation| {
            let groups = &self.run.profile.groups;
            self.run.works() && groups.iter().any(|group| group.weight(*kind) > 0)
        };
        HeadlineSums::foreseen(Operation::ALL.into_iter().filter(drawn))
    }

    fn overall_metric(&self) -> Option<&'static str> {
        Some(rates::OPERATIONS_PER_SECOND.name)
    }

    fn begin(&self, _facts: &TargetFacts) -> Box<dyn Session + '_> {
        Box::new(BenchSession::new(self.run.clone()))
    }
}
