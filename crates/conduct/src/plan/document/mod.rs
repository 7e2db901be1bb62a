//! Plans as TOML documents, for people. docs/plan.md describes every key.
//!
//! A document is read into a tree in which every key and value has its place; each section then
//! takes what it knows. So each fault points at a line, and nothing is guessed: unknown keys,
//! contradictions and values that a workload or mkfs would refuse are refused before anything is
//! made. Documents are taken for hostile: their size, depth and numbers are bounded.

mod command;
mod device;
mod ending;
mod guest;
mod job;
mod nearest;
mod observing;
mod quantity;
mod ranks;
mod section;
mod sweep;
mod variant;
mod words;

use std::path::{Path, PathBuf};

use toml::de::DeTable;
use treering_model::filesystems::is_in_memory;
use treering_model::{DeviceSpec, Metric, Variant};
use treering_script::Workload;

use device::PlacedDevice;
use nearest::nearest;
use section::{DEVICE, PLAN, REPORT, Section};

pub use nearest::by_nearness;

use super::error::{Fault, PlanError, is_invisible, quoted};
use super::{Conditions, Judging, Plan, PlannedJob, family, foreseen, is_known, known_metrics};

/// Maximum size of a plan document.
pub const BYTES_MAX: usize = 1 << 20;
const METRICS_MAX: usize = 64;
/// Maximum number of metric names in a hint.
const METRICS_SHOWN: usize = 8;

/// Names and settings that a document can refer to.
#[derive(Default)]
pub struct Known<'a> {
    /// The workloads.
    pub workloads: &'a [&'static dyn Workload],
    /// The names of the filesystems.
    pub filesystems: &'a [&'a str],
    /// Directories searched for a user's own files of a workload, best first.
    pub data_dirs: Vec<PathBuf>,
    /// Environment variables that a workload's files may refer to.
    pub environment: Vec<(String, String)>,
    /// True if jobs run at full size, for those that also have a small one.
    pub is_full_size: bool,
    /// Base directory of relative paths in the plan; `None` means the current directory.
    pub base_dir: Option<PathBuf>,
}

/// Reads a plan. Workloads read the files that their options name; no other files are opened.
///
/// # Errors
/// When it is not a plan that can be run; says where, and what would be right.
pub fn read(text: &str, name_of_file: &str, known: &Known<'_>) -> Result<Plan, PlanError> {
    plan(text, name_of_file, known).map_err(|fault| PlanError::new(fault, text, name_of_file))
}

fn plan(text: &str, name_of_file: &str, known: &Known<'_>) -> Result<Plan, Fault> {
    if text.len() > BYTES_MAX {
        let bytes = text.len();
        let message = format!("the plan has {bytes} bytes; at most {BYTES_MAX} are accepted");
        return Err(Fault::whole(message));
    }
    let document = DeTable::parse(text).map_err(|error| syntax(&error))?;
    let expanded = sweep::expanded(document.get_ref())?;
    // Missing keys are reported at the end of the plan.
    let end = text.trim_end().len();
    let top = Section::new(&PLAN, expanded.as_ref().unwrap_or(document.get_ref()), end..end)?;
    let name = match top.get("name") {
        Some(value) => value.word("a name")?.to_owned(),
        None => stem(name_of_file),
    };
    let question = match top.get("question") {
        Some(value) => value.text("a question in quotation marks")?.to_owned(),
        None => String::new(),
    };
    // Checks the rule first; its defaults depend on everything else.
    ending::stopping(&top, 1)?;
    let shared = match top.get("device") {
        Some(value) => device::device(&value.section(&DEVICE)?)?,
        None => PlacedDevice::default(),
    };
    let shared = device::played(shared, top.get("disk").as_ref())?;
    let guest = top.get("guest").map(|value| guest::guest(&value)).transpose()?;
    let variants = variant::variants(&top, (&shared, guest.as_ref()), known)?;
    let conditions = conditions(&top, &variants)?;
    let observing = observing::observing(&top)?;
    let jobs = job::jobs(&top, known)?;
    ranks::suits(&top, &variants, &conditions, &jobs)?;
    let judging = judging(&top, &jobs)?;
    let stopping = ending::stopping(&top, family(&variants, &jobs, &judging))?;
    let guest = guest.map(guest::Guest::spec);
    Ok(Plan { name, question, variants, guest, jobs, stopping, conditions, observing, judging })
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

fn conditions(top: &Section<'_>, variants: &[Variant]) -> Result<Conditions, Fault> {
    let default = Conditions::default();
    let flag = |key: &str, default| top.get(key).map_or(Ok(default), |value| value.flag());
    let remount = flag("remount", default.remount)?;
    if let Some(value) = top.get("remount").filter(|_| remount) {
        let stays = |variant: &&Variant| {
            matches!(variant.device, DeviceSpec::Directory { .. })
                || is_in_memory(&variant.filesystem)
        };
        if let Some(variant) = variants.iter().find(stays) {
            let message = format!("{} cannot be mounted again", quoted(&variant.name));
            return Err(value.fault(message, "").hint(
                "a directory is used as it is, and a tmpfs would be empty: write remount = false",
            ));
        }
    }
    Ok(Conditions {
        seed: top.get("seed").map_or(Ok(default.seed), |value| value.whole(0..=u64::MAX))?,
        warm_up: flag("warm-up", default.warm_up)?,
        control: flag("control", default.control)?,
        remount,
        settle_seconds: match top.get("settle-seconds") {
            Some(value) => quantity::seconds(&value)?,
            None => default.settle_seconds,
        },
        machine: match top.get("machine") {
            Some(value) => guest::machine(&value, variants)?,
            None => default.machine,
        },
    })
}

fn judging(top: &Section<'_>, jobs: &[PlannedJob]) -> Result<Judging, Fault> {
    let Some(value) = top.get("report") else { return Ok(Judging::default()) };
    let section = value.section(&REPORT)?;
    let threshold = section.get("threshold");
    let threshold = threshold.map(|value| quantity::share(&value, 0.0, 10.0)).transpose()?;
    let mut primary: Vec<String> = Vec::new();
    if let Some(value) = section.get("primary") {
        let known = foreseen(jobs);
        let wanted = "an array of metrics, such as [\"create/mib_per_second\"]";
        for element in value.array(wanted)? {
            let metric = element.word("the name of a metric")?;
            let last = metric.rsplit('/').next().unwrap_or_default();
            let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            if last.is_empty() || !last.chars().all(is_word) || metric.starts_with('/') {
                let message = format!("{} is no metric", quoted(metric));
                let hint = "use the JSON names of metrics: \"create/mib_per_second\"";
                return Err(element.fault(message, "").hint(hint));
            }
            if primary.iter().any(|other| other == metric) {
                return Err(element.fault(format!("{} appears twice", quoted(metric)), "again"));
            }
            if primary.len() == METRICS_MAX {
                let message = format!("more than {METRICS_MAX} primary metrics are not supported");
                return Err(element
                    .fault(message, "")
                    .hint("choose few: they are corrected together"));
            }
            if !is_known(&known, metric) {
                return Err(element
                    .fault(format!("no job of this plan yields {}", quoted(metric)), "")
                    .hint(known_names(metric, &known)));
            }
            primary.push(metric.to_owned());
        }
    }
    Ok(Judging { primary, threshold })
}

/// Hint for an unknown metric: the nearest name, and a list of known ones.
fn known_names(metric: &str, foreseen: &[Vec<Metric>]) -> String {
    let known = known_metrics(foreseen);
    let shown: Vec<&str> = known.iter().map(String::as_str).take(METRICS_SHOWN).collect();
    let more = match known.len().saturating_sub(shown.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let all = format!("metrics of its jobs: {}{more}", shown.join(", "));
    match nearest(metric, known.iter().map(String::as_str)) {
        Some(meant) => format!("did you mean `{meant}`? {all}"),
        None => all,
    }
}
