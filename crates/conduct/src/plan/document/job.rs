//! Jobs: workloads with their options, made by the workloads themselves.

use std::ops::Range;

use toml::de::DeValue;
use treering_script::{
    ConfigError, JobRecord, OptionSpec, Settings, ValueKind, Workload, WorkloadManifest,
};

use super::Known;
use super::command;
use super::nearest::nearest;
use super::ranks;
use super::section::{Given, JOB, Section, Value};
use super::variant::suggestion;
use crate::plan::error::{Fault, quoted};
use crate::plan::{PlannedJob, QUICK_OPTIONS, job_of_ranks};

const JOBS_MAX: usize = 128;
pub(super) const DEFAULT_WORKLOAD: &str = "compilebench";
pub(super) fn jobs(top: &Section<'_>, known: &Known<'_>) -> Result<Vec<PlannedJob>, Fault> {
    let Some(value) = top.get("job") else { return Ok(vec![quick(top, known)?]) };
    let sections = value.sections(&JOB, JOBS_MAX)?;
    if sections.is_empty() {
        return Err(value.fault("the plan has no job", "").hint("omit `job` for a quick one"));
    }
    let mut jobs: Vec<PlannedJob> = Vec::new();
    let mut spans: Vec<Range<usize>> = Vec::new();
    for section in &sections {
        let (job, span) = job(top, section, known)?;
        if let Some(first) = jobs.iter().position(|other| other.name == job.name) {
            let message = format!("two jobs are called {}", quoted(&job.name));
            return Err(Fault::at(span, message, "the second")
                .also(spans[first].clone(), "the first")
                .hint("give each a `name` of its own"));
        }
        jobs.push(job);
        spans.push(span);
    }
    Ok(jobs)
}

/// Default job of a plan without jobs.
fn quick(top: &Section<'_>, known: &Known<'_>) -> Result<PlannedJob, Fault> {
    let options = QUICK_OPTIONS.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let without = || Fault::whole("the plan has no [[job]]").hint("write one with its `workload`");
    let workload = find(DEFAULT_WORKLOAD, known).ok_or_else(without)?;
    let launch = ranks::launch((top, top), workload, known)?;
    let settings = settings(&options, known);
    let job = workload.native(&settings).map_err(|error| Fault::whole(error.message))?;
    let name = DEFAULT_WORKLOAD.to_owned();
    let record = JobRecord::from_settings(&settings);
    Ok(PlannedJob { workload: name.clone(), name, options, job, launch, record })
}

/// Reads a job, with the position of the value that names it.
fn job(
    top: &Section<'_>,
    section: &Section<'_>,
    known: &Known<'_>,
) -> Result<(PlannedJob, Range<usize>), Fault> {
    let named = section.get("workload");
    let workload_name = match &named {
        Some(value) => value.word("the name of a workload")?,
        None if command::is_one(section) => command::WORKLOAD,
        None => DEFAULT_WORKLOAD,
    };
    let place = named.as_ref().map_or(section.span.clone(), |value| value.span.clone());
    let Some(workload) = find(workload_name, known) else {
        let names: Vec<&str> = known.workloads.iter().map(|each| each.manifest().name).collect();
        let message = format!("unknown workload {}", quoted(workload_name));
        let hint = suggestion(workload_name, &names, "workloads");
        return Err(Fault::at(place, message, "").hint(hint));
    };
    let (name, span) = match section.get("name") {
        Some(value) => (value.word("a name")?.to_owned(), value.span),
        None => (workload_name.to_owned(), place.clone()),
    };
    let options = match section.get("options") {
        Some(value) => given(&value, workload.manifest())?,
        None => Vec::new(),
    };
    // Options of the full size are checked in small runs too.
    let at_full_size = match section.get("full") {
        Some(value) => given(&value, workload.manifest())?,
        None => Vec::new(),
    };
    let given = if known.is_full_size { merged(options, at_full_size) } else { options };
    let given = match command::given(section, workload_name)? {
        Some(more) => given.into_iter().chain(more).collect(),
        None => given,
    };
    let options: Vec<(String, String)> =
        given.iter().map(|given| (given.name.to_owned(), given.text.clone())).collect();
    let settings = settings(&options, known);
    let launch = ranks::launch((top, section), workload, known)?;
    let refused = |error| refusal(error, &given, workload_name, place.clone());
    let job = match &launch {
        Some(launch) => {
            job_of_ranks(workload, &settings, launch.ranks, known.workloads).map(|all| all.job)
        }
        None => workload.native(&settings),
    };
    let job = job.map_err(refused)?;
    if let (true, Some(value)) = (launch.is_some() && job.remounts(), named) {
        return Err(ranks::is_mounted_again(value.span));
    }
    let (workload, record) = (workload_name.to_owned(), JobRecord::from_settings(&settings));
    Ok((PlannedJob { name, workload, options, job, launch, record }, span))
}

/// Options of the job, with those of the full size in place of the ones with the same names.
fn merged<'d>(options: Vec<Given<'d>>, full: Vec<Given<'d>>) -> Vec<Given<'d>> {
    // Parameters of a job file are compared by their own names.
    fn name<'g>(given: &'g Given<'_>) -> &'g str {
        if given.name == SET { given.value.key } else { given.name }
    }
    let is_replaced = |one: &Given<'_>| full.iter().any(|other| name(other) == name(one));
    let mut all: Vec<Given<'d>> = options.into_iter().filter(|one| !is_replaced(one)).collect();
    all.extend(full);
    all.sort_by_key(|given| given.name);
    all
}

fn find(name: &str, known: &Known<'_>) -> Option<&'static dyn Workload> {
    known.workloads.iter().copied().find(|workload| workload.manifest().name == name)
}

fn settings(options: &[(String, String)], known: &Known<'_>) -> Settings {
    let mut settings = Settings::new(options.to_vec());
    settings.data_dirs.clone_from(&known.data_dirs);
    settings.base_dir.clone_from(&known.base_dir);
    settings.environment.clone_from(&known.environment);
    settings
}

/// Reads options, sorted by name. Flags that are false are left out.
fn given<'d>(value: &Value<'d>, manifest: &WorkloadManifest) -> Result<Vec<Given<'d>>, Fault> {
    let table = value.table("a table: [job.options]")?;
    let mut values: Vec<Value<'d>> =
        table.iter().map(|(key, value)| Value::new(key, value)).collect();
    values.sort_by_key(|value| value.key_span.start);
    let mut given = Vec::new();
    for value in values {
        let spec = manifest.native.iter().find(|spec| spec.name == value.key);
        let Some(spec) = spec else {
            given.push(parameter(value, manifest)?);
            continue;
        };
        let is_list = matches!(spec.value, ValueKind::Words | ValueKind::Texts);
        if is_list && matches!(value.value, DeValue::Array(_)) {
            for value in value.array(wanted(spec.value))? {
                let text = value.script("a string")?.to_owned();
                given.push(Given { name: spec.name, text, value });
            }
        } else if let Some(text) = option_text(&value, spec)? {
            given.push(Given { name: spec.name, text, value });
        }
    }
    given.sort_by_key(|given| given.name);
    Ok(given)
}

/// Name of the option that sets parameters inside a job file.
const SET: &str = "set";

/// Reads an unknown key as a parameter inside the job file, for workloads with job files.
fn parameter<'d>(value: Value<'d>, manifest: &WorkloadManifest) -> Result<Given<'d>, Fault> {
    let Some(set) = manifest.native.iter().find(|spec| spec.name == SET) else {
        return Err(unknown_option(&value, manifest));
    };
    let text = match value.value {
        DeValue::Boolean(is_set) => u8::from(*is_set).to_string(),
        _ => option_text(&value, &OptionSpec::long(SET, ValueKind::Text, None, ""))?
            .unwrap_or_default(),
    };
    Ok(Given { name: set.name, text: format!("{}={text}", value.key), value })
}

fn unknown_option(value: &Value<'_>, manifest: &WorkloadManifest) -> Fault {
    let names: Vec<&str> = manifest.native.iter().map(|spec| spec.name).collect();
    let name = manifest.name;
    let meant = nearest(value.key, names.iter().copied());
    let is_classic = manifest.classic.iter().any(|spec| spec.name == value.key);
    let all = format!("options of {name}: {}", names.join(", "));
    let hint = match meant {
        Some(meant) => format!("did you mean `{meant}`? {all}"),
        None if is_classic => format!("plans take the options of `treering run {name}`; {all}"),
        None => all,
    };
    let message = format!("{name} has no option {}", quoted(value.key));
    Fault::at(value.key_span.clone(), message, "unknown option").hint(hint)
}

/// Command-line form of a value; `None` for a flag that is not set.
fn option_text(value: &Value<'_>, spec: &OptionSpec) -> Result<Option<String>, Fault> {
    match (spec.value, value.value) {
        (ValueKind::Flag, _) => Ok(value.flag()?.then(|| "true".to_owned())),
        (ValueKind::Optional(missing), DeValue::Boolean(is_set)) => {
            Ok(is_set.then(|| missing.to_owned()))
        }
        (ValueKind::Words | ValueKind::Text | ValueKind::Texts, DeValue::String(_)) => {
            value.script("a string").map(|text| Some(text.to_owned()))
        }
        // Plans are written so, since a flag could not be told from a text there.
        (ValueKind::Words | ValueKind::Text, DeValue::Boolean(true)) => Ok(Some("true".to_owned())),
        (_, DeValue::String(_)) => value.text("a string").map(|text| Some(text.to_owned())),
        (ValueKind::Percent, DeValue::Float(_)) => {
            // .4 could be meant as 40 %.
            let hint = "a percentage is written in quotation marks, such as \"40%\"";
            Err(value.wrong("a percentage").hint(hint))
        }
        (_, DeValue::Integer(integer)) => {
            let number = i128::from_str_radix(integer.as_str(), integer.radix());
            let too_long = |_| value.fault(format!("`{}` is too long a number", value.key), "");
            number.map(|number| Some(number.to_string())).map_err(too_long)
        }
        (_, DeValue::Float(float)) => Ok(Some(float.as_str().to_owned())),
        (kind, _) => Err(value.wrong(wanted(kind))),
    }
}

fn wanted(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Flag => "true or false",
        ValueKind::Number => "a whole number",
        ValueKind::Size => "a size, as \"256K\"",
        ValueKind::Percent => "a percentage, as \"40%\"",
        ValueKind::Path | ValueKind::Paths | ValueKind::Operand | ValueKind::Operands => {
            "a path in quotation marks"
        }
        ValueKind::Choice(_) => "a word in quotation marks",
        ValueKind::Words | ValueKind::Texts => "an array of strings",
        ValueKind::Text | ValueKind::Optional(_) => "a string",
    }
}

/// Fault for an option that the workload refuses, at the value that the error mentions.
fn refusal(error: ConfigError, given: &[Given<'_>], workload: &str, place: Range<usize>) -> Fault {
    let words = error.message.strip_prefix("--");
    let about = words.and_then(|words| {
        let name = words.split([':', ' ']).next()?;
        given.iter().find(|given| given.name == name)
    });
    // Data sets are refused in words that do not begin with the option.
    let about = about.or_else(|| {
        given.iter().find(|given| !given.text.is_empty() && error.message.contains(&given.text))
    });
    let place = about.map_or(place, |given| given.value.span.clone());
    // Plans spell options without `--`; kept if the message mentions several options.
    let words = words.filter(|words| !words.contains("--")).unwrap_or(&error.message);
    let message = format!("{workload}: {words}");
    let fault = Fault::at(place, message, "");
    match error.hint {
        Some(hint) => fault.hint(hint),
        None => fault,
    }
}
