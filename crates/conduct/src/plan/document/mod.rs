//! Plans as TOML documents. docs/plan.md describes every key.
//!
//! `format.rs` declares the sections with their keys and types, and serde reads them. The other
//! files check rules that involve several keys. Each fault points at a line, and nothing is
//! guessed: unknown keys, contradictions and values that a workload or mkfs would refuse are
//! refused before anything is made. Documents are treated as hostile: their size, depth and counts
//! are bounded.

mod changed_job;
mod command;
mod device;
mod ending;
mod engine;
mod format;
mod given;
mod guest;
mod job;
mod observing;
mod ranks;
mod rehearsal;
mod report;
mod settings;
mod sweep;
mod tree;
mod values;
mod variant;
mod words;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::DeTable;
use treering_lab::RehearsalError;
use treering_model::filesystems::is_in_memory;
use treering_model::{DeviceSpec, Variant};
use treering_script::Workload;

use format::PlanTable;
use tree::Optional;

pub(crate) use command::WORKLOAD as COMMAND;
pub use format::sections;
pub(crate) use variant::aging::options_until;
pub(in crate::plan) use variant::aging::written_options;

use super::error::{Fault, PlanError, is_invisible, quoted};
use super::{Conditions, Plan, family};

/// Maximum size of a plan document.
pub const BYTES_MAX: usize = 1 << 20;

/// Function that tries the mkfs, mount options and settings of a variant.
pub type VariantRehearsal<'a> = dyn Fn(&Variant) -> Result<(), RehearsalError> + 'a;

/// Names and settings that a document can refer to.
#[derive(Default)]
pub struct Known<'a> {
    /// The workloads.
    pub workloads: &'a [&'static dyn Workload],
    /// The names of the filesystems.
    pub filesystems: &'a [&'a str],
    /// Directories with the user's own files for workloads, in search order.
    pub data_dirs: Vec<PathBuf>,
    /// Environment variables that a workload's files may refer to.
    pub environment: Vec<(String, String)>,
    /// True if jobs that have a small and a full size run at full size.
    pub is_full_size: bool,
    /// Base directory of relative paths in the plan; `None` means the current directory.
    pub base_dir: Option<PathBuf>,
    /// Tries the mkfs, mount options and settings of a variant before it is used; `None` to skip
    /// the rehearsal.
    pub rehearsal: Option<&'a VariantRehearsal<'a>>,
    /// Embedded files by path; all other files are on disk.
    pub files: BTreeMap<PathBuf, &'static str>,
}

/// Reads a plan. Workloads read the files that their options name; no other files are opened.
///
/// # Errors
/// When the text is not a runnable plan. The error has the position and a remedy.
pub fn read(text: &str, name_of_file: &str, known: &Known<'_>) -> Result<Plan, PlanError> {
    plan(text, name_of_file, known).map_err(|fault| PlanError::new(fault, text, name_of_file))
}

fn plan(text: &str, name_of_file: &str, known: &Known<'_>) -> Result<Plan, Fault> {
    if text.len() > BYTES_MAX {
        let bytes = text.len();
        let message = format!("the plan has {bytes} bytes; at most {BYTES_MAX} are accepted");
        return Err(Fault::whole(message));
    }
    let document = DeTable::parse(text).map_err(|error| {
        wanted_at_bare_word(text, &error, known).unwrap_or_else(|| syntax(&error))
    })?;
    let top = table(document, known)?;
    // Missing keys are reported at the end of the document.
    let end = text.trim_end().len();
    let end = end..end;
    let name = top.name.as_ref().map_or_else(|| stem(name_of_file), |name| name.to_string());
    let question = top.question.as_ref().map(|question| question.value.clone()).unwrap_or_default();
    // Checks the stopping rule early; its defaults depend on the jobs and variants.
    ending::stopping(&top, 1)?;
    let shared = device::shared(top.device.as_ref(), top.disk.as_ref())?;
    let guest = top.guest.as_ref().map(|section| guest::guest(section, known)).transpose()?;
    let variants = variant::variants(&top, &end, (&shared, guest.as_ref()), known)?;
    guest::commits_are_built(&top)?;
    let conditions = conditions(&top, &variants)?;
    let observing = observing::observing(&top)?;
    let mut jobs = job::jobs(&top, known)?;
    changed_job::change(&top, &mut jobs, known)?;
    changed_job::environment_is_read(&top, &jobs)?;
    settings::limits_are_possible(&top, &jobs)?;
    command::refuse_commands_in_guests(&top, (&variants, &jobs))?;
    ranks::suits(&top, &end, (&variants, &conditions, &jobs))?;
    job::steps::rewrite_own_files(&top, (&variants, &jobs))?;
    job::steps::suits(&top, (&variants, &conditions, &jobs))?;
    let aging = variant::aging::aging(&top, (&variants, &conditions), known)?;
    let judging = report::judging(&top, &jobs)?;
    let stopping = ending::stopping(&top, family(&variants, &jobs, &judging))?;
    rehearsal::rehearse_variants(&top, (&shared, guest.as_ref()), known)?;
    let build = top.build.as_ref().map(|command| command.value.0.clone());
    Ok(Plan {
        name,
        question,
        variants,
        guest,
        aging,
        build,
        jobs,
        stopping,
        conditions,
        observing,
        judging,
    })
}

/// Sections of a document, with its sweeps and ages expanded.
fn table(document: Spanned<DeTable<'_>>, known: &Known<'_>) -> Result<PlanTable, Fault> {
    let expanded = sweep::expanded(document.get_ref())?;
    let document = expanded.unwrap_or_else(|| document.into_inner());
    let aged = variant::aging::expanded(&document)?;
    format::plan_table(aged.unwrap_or(document), known.workloads)
}

/// Fault for an unquoted word in place of a value that is not a string, such as `rounds = ten`.
/// `None` if a string is expected.
fn wanted_at_bare_word(text: &str, error: &toml::de::Error, known: &Known<'_>) -> Option<Fault> {
    let span = error.span()?;
    let word = text.get(span.clone()).filter(|word| !word.is_empty())?;
    if word.contains(['"', '\\', '\n']) {
        return None;
    }
    let corrected = format!("{}\"{word}\"{}", &text[..span.start], &text[span.end..]);
    let fault = table(DeTable::parse(&corrected).ok()?, known).err()?;
    fault.is_within(&(span.start..span.end + 2)).then(|| fault.moved_to(span))
}

/// Converts an error of the TOML parser, with its position.
fn syntax(error: &toml::de::Error) -> Fault {
    let (what, wanted) = match error.message().split_once(", expected ") {
        Some((what, "nothing")) => (what, String::new()),
        Some((what, wanted)) => (what, format!("expected {wanted}")),
        None => (error.message(), String::new()),
    };
    let (what, wanted) = match what {
        // The parser gives this message for a missing value too.
        "string values must be quoted" if error.span().is_some_and(|span| span.is_empty()) => {
            ("there is no value", String::new())
        }
        "string values must be quoted" => {
            ("a text without quotation marks", "write it in quotation marks".to_owned())
        }
        what => (what, wanted),
    };
    let message = format!("this is not TOML: {}", what.replace('\n', "; "));
    let fault = match error.span() {
        Some(span) => Fault::at(span, message, wanted),
        None => Fault::whole(message),
    };
    match what {
        "a text without quotation marks" => fault.hint(
            "strings, sizes and percentages are written in quotation marks: loop = \
                        \"8GiB\"",
        ),
        "duplicate key" => fault.hint(
            "each key and each [section] may appear once; [[variant]] and [[job]] may be repeated",
        ),
        _ => fault,
    }
}

/// Default name of a plan: the stem of its file name.
fn stem(name_of_file: &str) -> String {
    let stem = Path::new(name_of_file).file_stem().and_then(|stem| stem.to_str());
    let stem: String =
        stem.unwrap_or_default().chars().filter(|c| !is_invisible(*c)).take(100).collect();
    let stem = stem.trim();
    if stem.is_empty() { "plan".to_owned() } else { stem.to_owned() }
}

fn conditions(top: &PlanTable, variants: &[Variant]) -> Result<Conditions, Fault> {
    let default = Conditions::default();
    if let Some(remount) = top.remount.as_ref().filter(|remount| remount.value) {
        let stays = |variant: &&Variant| {
            matches!(variant.device, DeviceSpec::Directory { .. })
                || is_in_memory(&variant.filesystem)
        };
        if let Some(variant) = variants.iter().find(stays) {
            let message = format!("{} cannot be mounted again", quoted(&variant.name));
            return Err(remount.fault(message, "").hint(
                "a directory is used as it is, and a tmpfs would be empty: write remount = false",
            ));
        }
    }
    let warm_up = top.warm_up.value().unwrap_or(default.warm_up);
    if let Some(seconds) = top.phase_seconds.as_ref().filter(|one| one.value.0 > 0 && !warm_up) {
        let message = "jobs are sized by the warm-up, and this plan has none";
        let hint = "write warm-up = true, or leave `phase-seconds` out";
        return Err(seconds.fault(message, "").hint(hint));
    }
    let phase_seconds = top.phase_seconds.value().and_then(|one| u32::try_from(one.0).ok());
    Ok(Conditions {
        seed: top.seed.value().map_or(default.seed, |seed| seed.0),
        warm_up,
        phase_seconds,
        control: top.control.value().unwrap_or(default.control),
        remount: top.remount.value().unwrap_or(default.remount),
        settle_seconds: top
            .settle_seconds
            .value()
            .map_or(default.settle_seconds, |seconds| seconds.0),
        machine: guest::machine(top, variants)?,
    })
}
