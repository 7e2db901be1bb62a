//! `treering doctor`: what is here to measure with, how noisy it is, what would make measurements
//! questionable, and what to type next: of the machine, and of a directory, a block device or a
//! plan.

mod guard;
mod inventory;
mod next;
mod noise;
mod page;
mod plan;

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::process::ExitCode;

use treering_lab::inspect;
use treering_model::{Caution, CautionCode, Fact};
use treering_observe::{ObserverContext, ObserverOptions, look, look_at_device, watch};
use treering_report::Warning;
use treering_report::pages::doctor_json::Diagnosis;
use treering_sys::{SignalWatch, StopFlag, is_root};

use self::next::Asked;
use self::noise::Probed;
use super::{compare, lab, output};
use crate::arguments::DoctorArgs;
use crate::failure::{Failure, Kind};

/// Every caution, in the order of how much harm it does: what makes numbers wrong, what makes them
/// another machine's, what makes them noisy, what only wants to be known.
const WORST_FIRST: [CautionCode; CautionCode::ALL.len()] = [
    CautionCode::KernelWarning,
    CautionCode::DebugKernel,
    CautionCode::MayNotFit,
    CautionCode::HostMayFill,
    CautionCode::AppendedToExisting,
    CautionCode::HostCacheAnswers,
    CautionCode::ImageInMemory,
    CautionCode::DataFitInMemory,
    CautionCode::CachesNotDropped,
    CautionCode::CompressibleData,
    CautionCode::CgroupLimits,
    CautionCode::MemorySqueezed,
    CautionCode::Swapped,
    CautionCode::Misaligned,
    CautionCode::OtherSectors,
    CautionCode::Throttled,
    CautionCode::Stolen,
    CautionCode::OtherLoad,
    CautionCode::NotQuiet,
    CautionCode::CachesDroppedOutside,
    CautionCode::Governor,
    CautionCode::TooShort,
    CautionCode::NotLocked,
    CautionCode::ConfinedByWalk,
    CautionCode::StoreStaged,
    CautionCode::Handicapped,
    CautionCode::TooFewOperations,
    CautionCode::NamesCollided,
    CautionCode::FlushesDecide,
    CautionCode::VersionUnknown,
    CautionCode::OtherwiseThanRecorded,
    CautionCode::TraceIncomplete,
    CautionCode::MetricMissing,
    CautionCode::ProcessesLeft,
    CautionCode::Emulated,
    CautionCode::PlayedLate,
    CautionCode::NotFresh,
    CautionCode::NotShared,
    CautionCode::MountsDiffer,
];

/// Findings of the doctor.
#[derive(Default)]
struct Findings {
    /// Errors that prevent a run.
    obstacles: Vec<String>,
    /// Size of the plan: rounds, trials, time, comparisons.
    plan: Vec<String>,
    /// Cautions that a comparison of the plan would give.
    warnings: Vec<Warning>,
    cautions: Vec<Caution>,
    facts: Vec<Fact>,
}

impl Findings {
    fn value(&self, name: &str) -> Option<&str> {
        self.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str())
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.value(name)?.parse().ok()
    }

    /// Moves the cautions behind the warnings, worst first.
    fn sort(&mut self) {
        let rank = |caution: &Caution| WORST_FIRST.iter().position(|code| *code == caution.code);
        self.cautions.sort_by_key(rank);
        self.warnings.extend(self.cautions.drain(..).map(|caution| Warning::from(&caution)));
    }

    /// Drops the findings about the directory, which only served for the probe.
    fn forget_the_place(&mut self) {
        let of_place = |name: &str| name.starts_with("filesystem.") || name.starts_with("device.");
        self.facts.retain(|fact| !of_place(&fact.name));
        self.cautions.retain(|caution| caution.code != CautionCode::Misaligned);
    }
}

/// Examines the machine and shows the findings.
pub(crate) fn run(args: &DoctorArgs) -> Result<ExitCode, Failure> {
    if let Some(device) = &args.guard {
        return guard::run(device, &args.output);
    }
    let path = match &args.path {
        Some(path) => path.clone(),
        None => std::env::current_dir().map_err(|error| {
            Failure::new(
                Kind::Environment,
                format!("cannot determine the current directory: {error}"),
            )
        })?,
    };
    let kind = fs::metadata(&path).map_err(|error| {
        Failure::new(Kind::Usage, format!("{}: {error}", path.display()))
            .hint("name a directory, a block device or a plan")
    })?;
    let signals = SignalWatch::begin().map_err(|error| {
        Failure::new(Kind::Environment, format!("cannot watch for signals: {error}"))
    })?;
    let mut findings = Findings::default();
    let dir = kind.is_dir().then_some(path.as_path());
    let probed = of_machine(dir, &mut findings, signals.flag());
    if signals.flag().is_raised() {
        return Err(Failure::new(Kind::Interrupted, "interrupted: nothing was left behind"));
    }
    let mut asked = Asked::Directory(&path);
    if kind.is_dir() {
        of_directory(&mut findings, &probed);
    } else if kind.file_type().is_block_device() {
        asked = of_device(&path, &mut findings)?;
    } else {
        plan::look_at_plan(&compare::read_plan(&path, false)?, &mut findings)?;
        asked = Asked::Plan(&path);
    }
    findings.sort();
    let inventory = inventory::look(&lab::open_with_cautions(), dir);
    let resolution = noise::resolution(&probed.noise);
    let diagnosis = Diagnosis {
        path: &path.to_string_lossy(),
        obstacles: &findings.obstacles,
        cautions: &findings.warnings,
        next: &next::commands(asked, &inventory),
        inventory: &inventory,
        resolution: resolution.as_ref(),
        noise: &probed.noise,
        environment: &findings.facts,
    };
    output::write_or_data(&page::page(&diagnosis, &findings.plan), &diagnosis, &args.output)?;
    Ok(ExitCode::SUCCESS)
}

/// Collects the facts and cautions that any trial on this machine would get, while the probe works
/// in the directory.
fn of_machine(dir: Option<&Path>, findings: &mut Findings, stop: &StopFlag) -> Probed {
    let scene = ObserverContext {
        target: dir.unwrap_or(Path::new("/")),
        options: ObserverOptions::default(),
    };
    let seen = look(&scene);
    findings.cautions.extend(seen.cautions);
    findings.facts.extend(seen.facts);
    let watching = watch(&scene);
    let probed = noise::probe(dir, stop);
    let seen = watching.end();
    findings.cautions.extend(seen.cautions);
    findings.facts.extend(seen.facts);
    if !is_root() {
        let message = "only root can drop the kernel's caches".to_owned();
        findings.cautions.push(Caution { code: CautionCode::CachesNotDropped, message });
    }
    if dir.is_none() {
        findings.forget_the_place();
    }
    probed
}

fn of_directory(findings: &mut Findings, probed: &Probed) {
    let options = findings.value("filesystem.mount_options").unwrap_or_default();
    if options.split(',').any(|option| option == "ro") {
        findings.obstacles.push("it is mounted read-only".to_owned());
    } else if let Some(error) = &probed.refused {
        findings.obstacles.push(format!("no files can be made in it: {error}"));
    }
    loop_device(findings);
}

/// Warns about a loop device that reads its image through the page cache.
fn loop_device(findings: &mut Findings) {
    let image = findings.value("device.backing_file").map(str::to_owned);
    let is_past_cache = findings.value("device.direct_io") == Some("1");
    if let Some(image) = image.filter(|_| !is_past_cache) {
        let message = format!("it is on a loop device that reads {image} through the page cache");
        findings.cautions.push(Caution { code: CautionCode::HostCacheAnswers, message });
    }
}

fn of_device<'p>(path: &'p Path, findings: &mut Findings) -> Result<Asked<'p>, Failure> {
    let seen = look_at_device(path);
    findings.cautions.extend(seen.cautions);
    findings.facts.extend(seen.facts);
    loop_device(findings);
    let inspection = inspect(path)?;
    findings.obstacles.extend(inspection.obstacles.iter().map(ToString::to_string));
    let leftover = inspection.leftover_hint();
    let holds_data = inspection.obstacles.len() > usize::from(leftover.is_some());
    if holds_data && !inspection.is_in_use() {
        findings.obstacles.push(format!(
            "all of it would be lost; `--erase {}` allows that",
            super::trial::quoted(&path.to_string_lossy())
        ));
    }
    findings.obstacles.extend(leftover);
    Ok(Asked::Device { node: path, is_free: inspection.obstacles.is_empty() })
}

#[cfg(test)]
mod tests {
    use super::WORST_FIRST;
    use std::collections::HashSet;

    #[test]
    fn every_caution_has_its_rank() {
        let ranked: HashSet<_> = WORST_FIRST.into_iter().collect();
        assert_eq!(ranked.len(), WORST_FIRST.len(), "as many as there are, none twice");
    }
}
