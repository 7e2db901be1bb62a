//! Sweeps: a job or variant with lists of values expands to one for each combination.
//!
//! Sweeps are expanded in the parsed document before it is deserialized. Each combination becomes
//! an element as if it had been written out, with the values in its name (`make, threads=4`), so
//! that no other code needs to know about sweeps.

use std::borrow::Cow;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::command;
use super::format::{SweepTable, fault};
use super::tree::{Script, Value};
use super::values::Datum;
use crate::plan::error::{Fault, quoted};

/// Maximum number of combinations of a sweep, and of values of a key.
const COMBINATIONS_MAX: usize = 128;
const VALUES_MAX: usize = 64;
const KEYS_MAX: usize = 4;

const SWEEP: &str = "sweep";
/// Keys of a job itself, rather than of its options.
const JOB_KEYS: [&str; 5] = ["ranks", "launcher", "payload", "compressibility", "latency"];
const SWEEP_HINT: &str =
    "an array of values, or a range: \"1..8\", \"1..64x4\" (times 4), \"0..100+25\" (plus 25)";

/// Key of a sweep with its values, as written in element names and in strings.
struct SweepKey {
    key: String,
    span: Range<usize>,
    values: Vec<String>,
}

impl SweepKey {
    fn spanned<'d>(&self) -> Spanned<Cow<'d, str>> {
        Spanned::new(self.span.clone(), Cow::Owned(self.key.clone()))
    }
}

/// Document with all sweeps expanded; `None` if it has none.
pub(super) fn expanded<'d>(document: &DeTable<'d>) -> Result<Option<DeTable<'d>>, Fault> {
    let steps = elements(document, "step").into_iter().flatten();
    if let Some(step) = steps.into_iter().find(|step| is_swept(step)) {
        let message = "a step has no sweep: it is one of several on one filesystem";
        return Err(Fault::at(step.span(), message, "").hint("write a [[step]] for each value"));
    }
    let has_sweep =
        |name: &str| elements(document, name).is_some_and(|elements| elements.iter().any(is_swept));
    if !["job", "variant"].into_iter().any(has_sweep) {
        return Ok(None);
    }
    let mut expanded = document.clone();
    for name in ["job", "variant"] {
        let Some((key, value)) = document.get_key_value(name) else { continue };
        let Some(elements) = elements(document, name) else { continue };
        let mut expanded_elements = DeArray::new();
        for element in elements {
            let DeValue::Table(table) = element.get_ref() else {
                expanded_elements.push(element.clone());
                continue;
            };
            for one in combinations(table, element.span(), name == "job")? {
                expanded_elements.push(Spanned::new(element.span(), DeValue::Table(one)));
            }
        }
        expanded.insert(key.clone(), Spanned::new(value.span(), DeValue::Array(expanded_elements)));
    }
    Ok(Some(expanded))
}

/// Elements of a list of sections; `None` if the document has no such list.
pub(super) fn elements<'t, 'd>(document: &'t DeTable<'d>, name: &str) -> Option<&'t DeArray<'d>> {
    match document.get(name)?.get_ref() {
        DeValue::Array(elements) => Some(elements),
        _ => None,
    }
}

fn is_swept(element: &Spanned<DeValue<'_>>) -> bool {
    matches!(element.get_ref(), DeValue::Table(table) if table.contains_key(SWEEP))
}

/// Elements that an element with a sweep expands to; the element itself without one.
fn combinations<'d>(
    table: &DeTable<'d>,
    span: Range<usize>,
    is_job: bool,
) -> Result<Vec<DeTable<'d>>, Fault> {
    let Some((key, value)) = table.get_key_value(SWEEP) else { return Ok(vec![table.clone()]) };
    let key = (key.get_ref().as_ref(), key.span());
    let swept = swept(Value::new(key, value.get_ref(), value.span()), value.span())?;
    let count: usize = swept.iter().map(|one| one.values.len()).product();
    if count > COMBINATIONS_MAX {
        let message = format!("the sweep has {count} combinations; at most {COMBINATIONS_MAX}");
        return Err(Fault::at(value.span(), message, ""));
    }
    let mut bare = table.clone();
    bare.remove(SWEEP);
    let base = name(&bare, is_job);
    let mut expanded = Vec::new();
    for number in 0..count {
        let mut element = bare.clone();
        let mut label = base.clone();
        let mut remaining = number;
        // The last key varies fastest.
        let mut chosen = Vec::new();
        for swept in swept.iter().rev() {
            chosen.push((swept, &swept.values[remaining % swept.values.len()]));
            remaining /= swept.values.len();
        }
        for (swept, value) in chosen.into_iter().rev() {
            label += &format!(", {}={value}", swept.key);
            substitute(&mut element, swept, value, is_job);
        }
        element.insert(spanned(&span, "name"), Spanned::new(span.clone(), text(label)));
        expanded.push(element);
    }
    Ok(expanded)
}

/// Key at this position.
pub(super) fn spanned<'d>(span: &Range<usize>, key: &'static str) -> Spanned<Cow<'d, str>> {
    Spanned::new(span.clone(), Cow::Borrowed(key))
}

/// Value of a text.
pub(super) fn text<'d>(text: impl Into<String>) -> DeValue<'d> {
    DeValue::String(Cow::Owned(text.into()))
}

/// Name of the element before the swept values are appended.
pub(super) fn name(table: &DeTable<'_>, is_job: bool) -> String {
    let text = |key: &str| match table.get(key)?.get_ref() {
        DeValue::String(text) => Some(text.to_string()),
        _ => None,
    };
    let default = match is_job {
        true if table.contains_key("command") => command::WORKLOAD,
        true => super::job::DEFAULT_WORKLOAD,
        false => "variant",
    };
    let kind = if is_job { text("workload") } else { text("filesystem") };
    text("name").or(kind).unwrap_or_else(|| default.to_owned())
}

/// Keys of a sweep with their values.
fn swept(sweep: Value<'_>, span: Range<usize>) -> Result<Vec<SweepKey>, Fault> {
    let SweepTable(entries) = SweepTable::deserialize(sweep).map_err(fault)?;
    if entries.is_empty() || entries.len() > KEYS_MAX {
        let message = format!("a sweep has 1 to {KEYS_MAX} keys, this one has {}", entries.len());
        return Err(Fault::at(span, message, ""));
    }
    let mut swept = Vec::new();
    for entry in entries {
        let wrong = |message: String| entry.fault(message, "").hint(SWEEP_HINT);
        let name = quoted(&entry.key);
        let values = match &entry.value {
            Datum::Array(values) => values.iter().map(|value| written(value)).collect(),
            Datum::String(Script(range)) => range_of(range),
            _ => None,
        };
        let values: Vec<String> =
            values.ok_or_else(|| wrong(format!("{name} has no values to sweep over")))?;
        if values.is_empty() || values.len() > VALUES_MAX {
            let message = format!("{name} has {} values; 1 to {VALUES_MAX}", values.len());
            return Err(wrong(message));
        }
        let mut indexed = values.iter().enumerate();
        if let Some((_, twice)) = indexed.find(|(at, value)| values[..*at].contains(value)) {
            return Err(wrong(format!("{name} has {} twice", quoted(twice))));
        }
        swept.push(SweepKey { key: entry.key.clone(), span: entry.key_span.clone(), values });
    }
    Ok(swept)
}

/// Text of a value, for names and substitutions.
fn written(value: &Datum) -> Option<String> {
    match value {
        Datum::String(Script(text)) => Some(text.clone()),
        Datum::Boolean(flag) => Some(flag.to_string()),
        number => number.number(),
    }
}

/// Values of a range of integers; the end is included if a step reaches it.
fn range_of(range: &str) -> Option<Vec<String>> {
    let (from, rest) = range.split_once("..")?;
    let step = |rest: &str, sign| {
        let (to, step) = rest.split_once(sign)?;
        Some((to.trim().parse::<u64>().ok()?, step.trim().parse::<u64>().ok()?))
    };
    let from: u64 = from.trim().parse().ok()?;
    let (to, next): (u64, Box<dyn Fn(u64) -> Option<u64>>) =
        if let Some((to, factor)) = step(rest, 'x') {
            if factor < 2 || from == 0 {
                return None;
            }
            (to, Box::new(move |at| at.checked_mul(factor)))
        } else if let Some((to, more)) = step(rest, '+') {
            if more == 0 {
                return None;
            }
            (to, Box::new(move |at| at.checked_add(more)))
        } else {
            (rest.trim().parse().ok()?, Box::new(|at| at.checked_add(1)))
        };
    let values = std::iter::successors(Some(from), |at| next(*at)).take_while(|at| *at <= to);
    // The first value beyond the limit suffices to refuse the range.
    Some(values.take(VALUES_MAX + 1).map(|at| at.to_string()).collect())
}

/// Substitutes a value: for the key in braces in strings, if there is one; otherwise as a key of
/// the variant or job, or as an option of the job.
fn substitute(one: &mut DeTable<'_>, swept: &SweepKey, value: &str, is_job: bool) {
    let key = swept.key.as_str();
    let braced = format!("{{{key}}}");
    if one.values().any(|inside| contains(inside.get_ref(), &braced)) {
        one.iter_mut().for_each(|(_, inside)| replace(inside.get_mut(), &braced, value));
        return;
    }
    let span = swept.span.clone();
    if !is_job || JOB_KEYS.contains(&key) {
        one.insert(swept.spanned(), Spanned::new(span, text(value)));
        return;
    }
    let empty = || Spanned::new(span.clone(), DeValue::Table(DeTable::new()));
    let options = one.entry(spanned(&span, "options")).or_insert_with(empty);
    // Errors in other types are reported when the element is read.
    if let DeValue::Table(options) = options.get_mut() {
        options.insert(swept.spanned(), Spanned::new(span, text(value)));
    }
}

/// True if a string in the value contains the braced word.
fn contains(value: &DeValue<'_>, braced: &str) -> bool {
    match value {
        DeValue::String(text) => text.contains(braced),
        DeValue::Array(values) => values.iter().any(|value| contains(value.get_ref(), braced)),
        DeValue::Table(table) => table.values().any(|value| contains(value.get_ref(), braced)),
        _ => false,
    }
}

fn replace(value: &mut DeValue<'_>, braced: &str, by: &str) {
    match value {
        DeValue::String(text) if text.contains(braced) => {
            *text = Cow::Owned(text.replace(braced, by));
        }
        DeValue::Array(values) => {
            values.iter_mut().for_each(|value| replace(value.get_mut(), braced, by));
        }
        DeValue::Table(table) => {
            table.iter_mut().for_each(|(_, value)| replace(value.get_mut(), braced, by));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::range_of;

    #[test]
    fn ranges_include_both_ends_and_steps() {
        let values = |range: &str| range_of(range).map(|values| values.join(" "));
        let is = |text: &str| Some(text.to_owned());
        assert_eq!(values("1..4"), is("1 2 3 4"));
        assert_eq!(values("1..8x2"), is("1 2 4 8"));
        assert_eq!(values("1..9x2"), is("1 2 4 8"));
        assert_eq!(values("0..100+25"), is("0 25 50 75 100"));
        for wrong in ["", "4", "0..8x2", "1..8x1", "1..8+0", "a..b", "1..", "..3", "-1..3"] {
            assert_eq!(values(wrong), None, "{wrong}");
        }
        assert_eq!(range_of("1..18446744073709551615").unwrap().len(), 65);
        assert_eq!(range_of("5..4").unwrap().len(), 0);
    }
}
