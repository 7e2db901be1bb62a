//! Environments of the variants: differences, and all known facts.

use treering_analysis::compare::{EnvironmentFact, FactStatus, FactValue};
use treering_model::Unit;

use crate::table::RowField;
use crate::{Cell, Column, Number, Table, Tone};

/// Maximum number of variants with a column each; with more, each value has a row that lists its
/// variants.
const MOST_COLUMNS: usize = 6;

/// Maximum number of values of one fact in a cell.
const CELL_VALUES_MAX: usize = 3;

/// Maximum number of variants listed in a cell for one value.
const NAMED_SIDES: usize = 4;

/// Maximum lengths of a value in the table of differences, and in the table of all facts.
const SHORT: usize = 60;
const LONG: usize = 400;

/// Table of facts that differ, undeclared differences first.
pub(super) fn differences(facts: &[EnvironmentFact], variants: &[&str]) -> Option<Table> {
    let tells =
        |fact: &&EnvironmentFact| !matches!(fact.status, FactStatus::Alike | FactStatus::Momentary);
    let mut differing: Vec<&EnvironmentFact> = facts.iter().filter(tells).collect();
    differing.sort_by_key(|fact| fact.status);
    if differing.is_empty() {
        return None;
    }
    let caption = "Differences in the environment. differs: an unintended difference between the \
                   variants; varies: changes between trials of one variant; compared: what is \
                   compared, or follows from it. Names, momentary sizes and the activity of the \
                   machine are left out.";
    let mut table = in_columns("environment differences", caption, &differing, variants, SHORT);
    let status = |fact: &EnvironmentFact| {
        let tone = match fact.status {
            FactStatus::Differs => Tone::Caution,
            _ => Tone::Plain,
        };
        Cell::toned(fact.status.name(), tone)
    };
    table.columns.insert(1, Column::text("how"));
    let mut rows = table.rows.into_iter();
    table.rows = (differing.iter())
        .flat_map(|fact| {
            let mut own: Vec<Vec<Cell>> = rows.by_ref().take(height(fact, variants)).collect();
            own.iter_mut().for_each(|row| row.insert(1, status(fact)));
            own
        })
        .collect();
    Some(table)
}

/// Table of all facts of all variants; equal values are shown once.
pub(super) fn everything(facts: &[EnvironmentFact], variants: &[&str]) -> Option<Table> {
    let all_facts: Vec<&EnvironmentFact> = facts.iter().collect();
    let caption = "The environment that every trial recorded when it began.";
    (!all_facts.is_empty()).then(|| in_columns("environment", caption, &all_facts, variants, LONG))
}

/// Number of rows of a fact.
fn height(fact: &EnvironmentFact, variants: &[&str]) -> usize {
    if variants.len() <= MOST_COLUMNS { 1 } else { by_value(fact).len() }
}

fn in_columns(
    name: &str,
    caption: &str,
    facts: &[&EnvironmentFact],
    variants: &[&str],
    length: usize,
) -> Table {
    let some =
        |name: &str, text: &str| RowField::new(Column::long_text(name), Cell::some_text(text));
    if variants.len() > MOST_COLUMNS {
        let rows = facts.iter().flat_map(|fact| {
            by_value(fact).into_iter().map(|(value, having)| {
                vec![
                    RowField::text("fact", &fact.name),
                    some("value", &readable(&fact.name, value, length)),
                    RowField::long_text("variants", holders(&having, variants)),
                ]
            })
        });
        return Table::from_rows(name, caption, rows);
    }
    let row = |fact: &&EnvironmentFact| {
        let own = variants.iter().zip(&fact.variants);
        let own = own.map(|(variant, found)| some(variant, &values(&fact.name, found, length)));
        std::iter::once(RowField::text("fact", &fact.name)).chain(own).collect()
    };
    Table::from_rows(name, caption, facts.iter().map(row))
}

/// Values of a fact with the indices of the variants that have them; an unknown value is empty.
fn by_value(fact: &EnvironmentFact) -> Vec<(&str, Vec<usize>)> {
    let mut values: Vec<(&str, Vec<usize>)> = Vec::new();
    let mut note = |value, place| match values.iter_mut().find(|(known, _)| *known == value) {
        Some((_, having)) => having.push(place),
        None => values.push((value, vec![place])),
    };
    for (place, variant) in fact.variants.iter().enumerate() {
        variant.iter().for_each(|variant_fact| note(variant_fact.value.as_str(), place));
        if variant.is_empty() {
            note("", place);
        }
    }
    // A few values suffice for a fact that changes with every trial.
    values.truncate(CELL_VALUES_MAX * 4);
    values
}

fn holders(having: &[usize], variants: &[&str]) -> String {
    if having.len() == variants.len() {
        return "all".to_owned();
    }
    let names = having.iter().filter_map(|place| variants.get(*place).copied());
    let named: Vec<&str> = names.take(NAMED_SIDES).collect();
    match having.len().saturating_sub(NAMED_SIDES) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// Formats the values of a variant: a single value, a few values with their numbers of trials, or a
/// range.
fn values(name: &str, variant: &[FactValue], length: usize) -> String {
    let shown = |value: &str| readable(name, value, length);
    if let [only] = variant {
        return shown(&only.value);
    }
    let numbers: Option<Vec<f64>> = variant.iter().map(|fact| fact.value.parse().ok()).collect();
    if let Some(numbers) = numbers.filter(|listed| listed.len() > CELL_VALUES_MAX) {
        let least = (0..variant.len()).min_by(|a, b| numbers[*a].total_cmp(&numbers[*b]));
        let most = (0..variant.len()).max_by(|a, b| numbers[*a].total_cmp(&numbers[*b]));
        if let (Some(least), Some(most)) = (least, most) {
            let (least, most) = (&variant[least].value, &variant[most].value);
            return format!("{} to {}", shown(least), shown(most));
        }
    }
    if variant.len() > CELL_VALUES_MAX {
        let example = variant.first().map_or("", |fact| &fact.value);
        return format!("{} values, such as {}", variant.len(), shown(example));
    }
    let texts: Vec<String> =
        variant.iter().map(|fact| format!("{} ({})", shown(&fact.value), fact.trials)).collect();
    texts.join(", ")
}

/// Formats a value for people: large byte counts are scaled, with the exact number after them.
pub(super) fn readable(name: &str, value: &str, length: usize) -> String {
    let bytes = name.ends_with("bytes").then(|| value.parse::<u64>().ok()).flatten();
    match bytes.filter(|bytes| *bytes >= 1 << 20) {
        Some(bytes) => {
            let number = Number::measured(bytes as f64, Unit::Bytes).text();
            format!("{number} ({bytes})")
        }
        // This value contains only kernel options that differ.
        None if name == "kernel.config" => cut(value, LONG),
        None => cut(value, length),
    }
}

/// First line of a value, truncated to `length`.
fn cut(value: &str, length: usize) -> String {
    let line = value.trim().lines().next().unwrap_or_default();
    let short: String = line.chars().take(length).collect();
    if short.len() < value.trim().len() { format!("{short}…") } else { short }
}

#[cfg(test)]
mod tests {
    use super::{cut, differences, everything, readable};
    use crate::Cell;
    use treering_analysis::compare::{EnvironmentFact, FactStatus, FactValue};

    fn fact(name: &str, status: FactStatus, variants: &[&[(&str, usize)]]) -> EnvironmentFact {
        let value = |(value, trials): &(&str, usize)| FactValue {
            value: (*value).to_owned(),
            trials: *trials,
        };
        let variants = variants.iter().map(|variant| variant.iter().map(value).collect()).collect();
        EnvironmentFact { name: name.to_owned(), status, variants }
    }

    fn texts(row: &[Cell]) -> Vec<String> {
        row.iter().map(|cell| cell.shown("")).collect()
    }

    fn some() -> Vec<EnvironmentFact> {
        vec![
            fact("kernel", FactStatus::Alike, &[&[("6.1", 2)], &[("6.1", 2)]]),
            fact("type", FactStatus::Compared, &[&[("ext4", 2)], &[("xfs", 2)]]),
            fact(
                "free",
                FactStatus::Varies,
                &[&[("9", 1), ("10", 1), ("11", 1), ("8", 1)], &[("5", 2), ("6", 1)]],
            ),
            fact("memory", FactStatus::Differs, &[&[("8 GiB", 2)], &[]]),
        ]
    }

    #[test]
    fn undeclared_differences_come_first() {
        let table = differences(&some(), &["a", "b"]).unwrap();
        let rows: Vec<Vec<String>> = table.rows.iter().map(|row| texts(row)).collect();
        assert_eq!(rows[0], ["memory", "differs", "8 GiB", "–"]);
        assert_eq!(rows[1], ["free", "varies", "8 to 11", "5 (2), 6 (1)"]);
        assert_eq!(rows[2], ["type", "compared", "ext4", "xfs"]);
        assert_eq!(rows.len(), 3);
        assert_eq!(everything(&some(), &["a", "b"]).unwrap().rows.len(), 4);
        assert_eq!(differences(&some()[..1], &["a", "b"]), None);
    }

    #[test]
    fn many_variants_stand_in_rows() {
        let names: Vec<String> = (0..9).map(|place| format!("variant-{place}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut variants: Vec<&[(&str, usize)]> = vec![&[("6.1", 1)]; 8];
        variants.push(&[("6.2", 1)]);
        let table = differences(&[fact("kernel", FactStatus::Differs, &variants)], &names).unwrap();
        let rows: Vec<Vec<String>> = table.rows.iter().map(|row| texts(row)).collect();
        let eight = "variant-0, variant-1, variant-2, variant-3 and 4 more";
        assert_eq!(rows[0], ["kernel", "differs", "6.1", eight]);
        assert_eq!(rows[1], ["kernel", "differs", "6.2", "variant-8"]);
    }

    #[test]
    fn bytes_are_scaled_and_stay_exact() {
        assert_eq!(readable("memory.bytes", "8589934592", 60), "8.000 GiB (8589934592)");
        assert_eq!(readable("device.logical_block_bytes", "512", 60), "512");
        assert_eq!(readable("device.sectors", "8589934592", 60), "8589934592");
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(cut("one\ntwo", 10), "one…");
        assert_eq!(cut("0123456789ab", 10), "0123456789…");
        assert_eq!(cut("0123456789\n", 10), "0123456789");
    }
}
