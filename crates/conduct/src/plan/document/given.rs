//! Options of jobs in their command-line form.

use std::ops::Range;

use treering_model::nearest::nearest;
use treering_script::{OptionSpec, ValueKind, WorkloadManifest};

use super::tree::{Entry, Placed, Script};
use super::values::Datum;
use crate::plan::error::{Fault, is_invisible, quoted};

/// Name of the option that sets parameters inside a job file.
const SET: &str = "set";

/// Option with its text and its position in the document.
#[derive(Clone, Debug)]
pub(super) struct GivenOption {
    pub(super) name: &'static str,
    pub(super) text: String,
    pub(super) span: Range<usize>,
    /// Parameter inside a job file.
    parameter: Option<String>,
}

impl GivenOption {
    pub(super) fn new(name: &'static str, text: String, span: &Range<usize>) -> Self {
        Self { name, text, span: span.clone(), parameter: None }
    }

    /// Name by which options replace one another; parameters inside a job file are told apart by
    /// their own names.
    fn replacement_key(&self) -> &str {
        self.parameter.as_deref().unwrap_or(self.name)
    }
}

/// Merges the options of a job with those of the full size, which replace options of the same name.
pub(super) fn merged(options: Vec<GivenOption>, full: Vec<GivenOption>) -> Vec<GivenOption> {
    let is_replaced = |option: &GivenOption| {
        full.iter().any(|other| other.replacement_key() == option.replacement_key())
    };
    let mut merged: Vec<GivenOption> =
        options.into_iter().filter(|option| !is_replaced(option)).collect();
    merged.extend(full);
    merged.sort_by_key(|given| given.name);
    merged
}

/// Applies changes to the options of a job. A change to `false` removes a flag.
pub(super) fn replaced<'e>(
    mut options: Vec<GivenOption>,
    given: Vec<GivenOption>,
    changes: impl Iterator<Item = &'e Entry<Datum>> + Clone,
) -> Vec<GivenOption> {
    options.retain(|option| !changes.clone().any(|change| change.key == option.replacement_key()));
    merged(options, given)
}

/// Options of an existing job, without positions in the document.
pub(super) fn of_job(
    options: &[(String, String)],
    manifest: &WorkloadManifest,
) -> Vec<GivenOption> {
    let option = |(name, text): &(String, String)| {
        let spec = manifest.native.iter().find(|spec| spec.name == name)?;
        let parameter = text.split_once('=').filter(|_| name == SET);
        let parameter = parameter.map(|(parameter, _)| parameter.to_owned());
        Some(GivenOption { parameter, ..GivenOption::new(spec.name, text.clone(), &(0..0)) })
    };
    options.iter().filter_map(option).collect()
}

/// Options in command-line form, sorted by name. Flags that are false are left out. `is_named` is
/// false if the plan does not name the workload.
pub(super) fn given<'e>(
    options: impl IntoIterator<Item = &'e Entry<Datum>>,
    manifest: &WorkloadManifest,
    is_named: bool,
) -> Result<Vec<GivenOption>, Fault> {
    let mut given = Vec::new();
    for entry in options {
        let spec = manifest.native.iter().find(|spec| spec.name == entry.key);
        let Some(spec) = spec else {
            given.push(parameter(entry, manifest, is_named)?);
            continue;
        };
        let is_list = matches!(spec.value, ValueKind::Words | ValueKind::Texts);
        match &entry.value {
            Datum::Array(elements) if is_list => {
                for element in elements {
                    let Datum::String(Script(text)) = &element.value else {
                        return Err(wrong(&entry.key, element, "a string"));
                    };
                    given.push(GivenOption::new(spec.name, text.clone(), &element.span));
                }
            }
            _ => {
                let text = option_text(entry, spec)?;
                given.extend(text.map(|text| GivenOption::new(spec.name, text, &entry.span)));
            }
        }
    }
    given.sort_by_key(|given| given.name);
    Ok(given)
}

/// Unknown key as a parameter inside the job file, for workloads with job files.
fn parameter(
    entry: &Entry<Datum>,
    manifest: &WorkloadManifest,
    is_named: bool,
) -> Result<GivenOption, Fault> {
    let Some(set) = manifest.native.iter().find(|spec| spec.name == SET) else {
        return Err(unknown_option(entry, manifest, is_named));
    };
    let text = match entry.value {
        Datum::Boolean(is_set) => u8::from(is_set).to_string(),
        _ => option_text(entry, &OptionSpec::long(SET, ValueKind::Text, None, ""))?
            .unwrap_or_default(),
    };
    let text = format!("{}={text}", entry.key);
    let parameter = Some(entry.key.clone());
    Ok(GivenOption { parameter, ..GivenOption::new(set.name, text, &entry.span) })
}

fn unknown_option(entry: &Entry<Datum>, manifest: &WorkloadManifest, is_named: bool) -> Fault {
    let names: Vec<&str> = manifest.native.iter().map(|spec| spec.name).collect();
    let name = manifest.name;
    let meant = nearest(&entry.key, names.iter().copied());
    let is_classic = manifest.classic.iter().any(|spec| spec.name == entry.key);
    let listed = format!("options of {name}: {}", names.join(", "));
    let hint = match meant {
        Some(meant) => format!("did you mean `{meant}`? {listed}"),
        None if is_classic => format!("plans take the options of `treering run {name}`; {listed}"),
        None if !is_named => {
            format!("a job without the key `workload` is one of {name}; {listed}")
        }
        None => listed,
    };
    let message = format!("{name} has no option {}", quoted(&entry.key));
    entry.key_fault(message, "unknown option").hint(hint)
}

/// Command-line form of a value; `None` for a flag that is not set.
fn option_text(entry: &Entry<Datum>, spec: &OptionSpec) -> Result<Option<String>, Fault> {
    use ValueKind::{Flag, Optional, Percent, Text, Texts, Words};
    match (spec.value, &entry.value) {
        (Flag, Datum::Boolean(is_set)) => Ok(is_set.then(|| "true".to_owned())),
        (Optional(missing), Datum::Boolean(is_set)) => Ok(is_set.then(|| missing.to_owned())),
        // Written plans contain `true` for such options, since their writer cannot tell flags from
        // strings.
        (Words | Text, Datum::Boolean(true)) => Ok(Some("true".to_owned())),
        (Percent, Datum::Float(_)) => {
            // A bare .4 could mean 40 %.
            let hint = "a percentage is written in quotation marks, such as \"40%\"";
            Err(wrong(&entry.key, entry, "a percentage").hint(hint))
        }
        (kind, Datum::String(Script(text))) if !matches!(kind, Flag) => {
            let is_script = matches!(kind, Words | Text | Texts);
            if !is_script && text.contains(is_invisible) {
                let message = format!("{} has several lines, or a tab", quoted(&entry.key));
                return Err(entry.fault(message, "").hint("write it on one line"));
            }
            Ok(Some(text.clone()))
        }
        (kind, number) if !matches!(kind, Flag) && number.number().is_some() => Ok(number.number()),
        (kind, _) => Err(wrong(&entry.key, entry, expected_kind(kind))),
    }
}

/// Fault for a value whose type is not `wanted`.
fn wrong(key: &str, value: &Placed<Datum>, wanted: &str) -> Fault {
    let fault = |is| {
        let message = format!("{} is {is}, and must be {wanted}", quoted(key));
        value.fault(message, format!("write {wanted}"))
    };
    match &value.value {
        Datum::String(Script(text)) if matches!(text.as_str(), "true" | "false") => {
            fault("a string").hint(format!("write {text} without quotation marks"))
        }
        other => fault(other.kind()),
    }
}

fn expected_kind(kind: ValueKind) -> &'static str {
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
