//! `treering doctor`: what would make measurements here doubtful, before anybody measures: of the
//! machine, and of a directory, a block device or a plan.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use treering_campaign::plan::Plan;
use treering_lab::{Device, inspect};
use treering_model::{Caution, CautionCode, DeviceSpec, Fact};
use treering_observe::{Scene, look, watch};
use treering_report::{Block, Cell, Pair, Report};
use treering_script::TargetFacts;
use treering_sys::is_root;

use super::{compare, lab, output};
use crate::arguments::DoctorArgs;
use crate::failure::{Failure, Kind};

/// So long the machine is watched.
const WATCHED: Duration = Duration::from_secs(2);

/// Doubts in the order of how much harm they do; those not named come after them.
const WORST_FIRST: [CautionCode; 11] = [
    CautionCode::KernelWarning,
    CautionCode::DebugKernel,
    CautionCode::MayNotFit,
    CautionCode::HostMayFill,
    CautionCode::Stolen,
    CautionCode::OtherLoad,
    CautionCode::Swapped,
    CautionCode::CachesNotDropped,
    CautionCode::HostCacheAnswers,
    CautionCode::ImageInMemory,
    CautionCode::Governor,
];

/// What was found.
#[derive(Default)]
struct Findings {
    /// What cannot be done at all.
    obstacles: Vec<String>,
    cautions: Vec<Caution>,
    facts: Vec<Fact>,
}

/// Looks, and says what was found.
pub(crate) fn run(args: &DoctorArgs) -> Result<ExitCode, Failure> {
    let path = match &args.path {
        Some(path) => path.clone(),
        None => std::env::current_dir().map_err(|error| {
            Failure::new(Kind::Environment, format!("where is the present directory? {error}"))
        })?,
    };
    let kind = fs::metadata(&path).map_err(|error| {
        Failure::new(Kind::Usage, format!("{}: {error}", path.display()))
            .hint("name a directory, a block device or a plan")
    })?;
    let mut findings = Findings::default();
    let place = if kind.is_dir() { path.clone() } else { PathBuf::from("/") };
    of_machine(&place, &mut findings);
    if kind.is_dir() {
        of_directory(&mut findings);
    } else if kind.file_type().is_block_device() {
        of_device(&path, &mut findings)?;
    } else {
        of_plan(&compare::read_plan(&path)?, &mut findings)?;
    }
    output::write(&page(&path, kind.is_dir(), findings), &args.output)?;
    Ok(ExitCode::SUCCESS)
}

/// What any trial here would see of the machine.
fn of_machine(place: &Path, findings: &mut Findings) {
    let scene = Scene { target: place };
    let seen = look(&scene);
    findings.cautions.extend(seen.cautions);
    findings.facts.extend(seen.facts);
    let watching = watch(&scene);
    sleep(WATCHED);
    let seen = watching.end();
    findings.cautions.extend(seen.cautions);
    findings.facts.extend(seen.facts);
    if !is_root() {
        let message = "only root can drop the kernel's caches".to_owned();
        findings.cautions.push(Caution { code: CautionCode::CachesNotDropped, message });
    }
}

fn of_directory(findings: &mut Findings) {
    let fact = |name: &str| {
        findings.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str())
    };
    let image = fact("device.backing_file").map(str::to_owned);
    let is_past_cache = fact("device.direct_io") == Some("1");
    let options = fact("filesystem.mount_options").unwrap_or_default();
    if options.split(',').any(|option| option == "ro") {
        findings.obstacles.push("it is mounted read-only".to_owned());
    }
    if let Some(image) = image.filter(|_| !is_past_cache) {
        let message = format!("it is on a loop device that reads {image} through the page cache");
        findings.cautions.push(Caution { code: CautionCode::HostCacheAnswers, message });
    }
}

fn of_device(path: &Path, findings: &mut Findings) -> Result<(), Failure> {
    let inspection = inspect(path)?;
    findings.obstacles.extend(inspection.obstacles.iter().map(ToString::to_string));
    if !inspection.obstacles.is_empty() && !inspection.is_in_use() {
        findings.obstacles.push(format!(
            "all of it would be lost; `--erase {}` allows that",
            super::trial::quoted(&path.to_string_lossy())
        ));
    }
    Ok(())
}

fn of_plan(plan: &Plan, findings: &mut Findings) -> Result<(), Failure> {
    let lab = lab::open()?;
    if plan.stopping.most_rounds() < 6 {
        findings.obstacles.push(format!(
            "with {} rounds no difference can ever be shown; six are the fewest",
            plan.stopping.most_rounds()
        ));
    }
    for variant in &plan.variants {
        let name = &variant.name;
        if let Err(error) = Device::check(variant, &lab) {
            let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
            findings.obstacles.push(format!("{name}: {error}{hint}"));
        }
        if !is_root() && !matches!(variant.device, DeviceSpec::Directory { .. }) {
            findings.obstacles.push(format!("{name}: only root can make and mount it"));
        }
        if let DeviceSpec::Block { paths } = &variant.device {
            for path in paths {
                match inspect(path) {
                    Ok(inspection) => {
                        let said = |what| format!("{name}: {}: {what}", path.display());
                        findings.obstacles.extend(inspection.obstacles.iter().map(said));
                    }
                    Err(error) => findings.obstacles.push(format!("{name}: {error}")),
                }
            }
        }
        room(plan, variant, findings);
    }
    Ok(())
}

/// Whether the jobs fit into the images of a variant.
fn room(plan: &Plan, variant: &treering_model::Variant, findings: &mut Findings) {
    let DeviceSpec::Loop { bytes, count, .. } = variant.device else { return };
    let has = bytes.saturating_mul(u64::from(count));
    for planned in &plan.jobs {
        let needs = planned.job.footprint(&TargetFacts::unknown()).peak_block_bytes;
        if needs > has {
            let message = format!(
                "{}: {} needs {} MiB at a time, the device has {}",
                variant.name,
                planned.name,
                needs >> 20,
                has >> 20
            );
            findings.cautions.push(Caution { code: CautionCode::MayNotFit, message });
        }
    }
}

fn page(path: &Path, is_directory: bool, mut findings: Findings) -> Report {
    let rank = |caution: &Caution| {
        WORST_FIRST.iter().position(|code| *code == caution.code).unwrap_or(WORST_FIRST.len())
    };
    findings.cautions.sort_by_key(rank);
    let mut page = Report::new(format!("Doctor: {}", path.display()));
    let count = findings.obstacles.len() + findings.cautions.len();
    page.paragraph(match count {
        0 => "Nothing stands against measuring here.".to_owned(),
        1 => "One thing stands against measuring here.".to_owned(),
        count => format!("{count} things stand against measuring here, the worst first."),
    });
    for obstacle in &findings.obstacles {
        page.note(format!("cannot be used as it is: {obstacle}"));
    }
    page.cautions(&findings.cautions);
    page.heading("What was seen");
    let of_place = |fact: &&Fact| {
        is_directory || !(fact.name.starts_with("filesystem.") || fact.name.starts_with("device."))
    };
    let seen = findings.facts.iter().filter(of_place);
    let pair = |fact: &Fact| Pair { key: fact.name.clone(), value: Cell::text(&fact.value) };
    page.blocks.push(Block::KeyValues { pairs: seen.map(pair).collect() });
    page
}
