//! The tables of a comparison: sides, verdicts, and scores with time and CPU beside them.

use treering_analysis::compare::{Estimate, MetricComparison, Outcome, SideSummary, Verdict};
use treering_model::{Better, Scope, Unit};

use super::identity::metric_words;
use crate::table::titled;
use crate::verdict::words;
use crate::{Cell, Column, Number, Style, Table, Tone};

/// The sides: how many trials count, on what they ran.
pub(super) fn sides(outcome: &Outcome) -> Table {
    let columns = vec![
        Column::long_text("side"),
        Column::text("role"),
        Column::count("completed"),
        Column::count("failed"),
        Column::long_text("kernel"),
        Column::long_text("filesystem"),
    ];
    let mut table = Table::new("sides", "", columns);
    let row = |side: &SideSummary, role: &str| {
        let failed = if side.failed == 0 {
            Cell::whole(0)
        } else {
            Cell::toned(format!("{} failed", side.failed), Tone::Bad)
        };
        vec![
            Cell::text(&side.name),
            Cell::text(role),
            Cell::whole(side.completed as u64),
            failed,
            Cell::some_text(&side.kernels.join(", ")),
            Cell::some_text(&side.filesystems.join(", ")),
        ]
    };
    table.rows.push(row(&outcome.baseline, "baseline"));
    table.rows.extend(outcome.contenders.iter().map(|side| row(side, "contender")));
    table
}

/// Ratios and verdicts, primary metrics or the others.
pub(super) fn verdicts(
    comparisons: &[&MetricComparison],
    primary: bool,
    several_contenders: bool,
) -> Table {
    let mut columns = vec![Column::long_text("metric")];
    if several_contenders {
        columns.push(Column::long_text("contender"));
    }
    columns.extend([
        Column::text("verdict"),
        Column::mixed("ratio"),
        Column::range("95 % interval", Unit::Count),
        Column::count(if primary { "Holm p" } else { "q" }),
        Column::mixed("n"),
    ]);
    let needs = comparisons.iter().any(|c| c.rounds_needed.is_some());
    if needs {
        columns.push(Column::count("needs"));
    }
    columns.extend([Column::mixed("baseline"), Column::mixed("contender")]);
    let name = if primary { "primary" } else { "exploratory" };
    let keys = if several_contenders { 2 } else { 1 };
    let caption = caption(comparisons, primary, needs);
    let mut table = Table::new(name, &caption, columns).with_keys(keys);
    for one in comparisons {
        let mut cells = vec![Cell::text(label(one))];
        if several_contenders {
            cells.push(Cell::text(&one.contender));
        }
        cells.extend([verdict(one), ratio(one), interval(one), probability(one), runs(one)]);
        if needs {
            cells.push(one.rounds_needed.map_or(Cell::Missing, |n| Cell::whole(u64::from(n))));
        }
        cells.push(Cell::measured(one.baseline_median, one.unit));
        cells.push(Cell::measured(one.contender_median, one.unit));
        table.rows.push(cells);
    }
    table
}

fn caption(comparisons: &[&MetricComparison], primary: bool, needs: bool) -> String {
    let mut said = if primary {
        "Primary metrics. Ratio: contender over baseline, with its interval; n: pairs of rounds."
            .to_owned()
    } else {
        "Exploratory: all other metrics, to look at and not to decide by. q: Benjamini-Hochberg."
            .to_owned()
    };
    if comparisons.iter().any(|c| !c.paired) {
        said += " n with a plus: unpaired trials of both sides.";
    }
    if comparisons.iter().any(|c| c.few_rounds) {
        said += " Few rounds: the intervals are Student's t and lean on normality.";
    }
    if comparisons.iter().any(|c| c.difference.is_some()) {
        said += " Where a value is not above zero, a difference with its unit stands for a ratio.";
    }
    if comparisons.iter().any(|c| c.within_one_run) {
        said += " single-run with an interval: operations or rows of one run a side, in pairs \
                 within one run; Holm over the kinds with six pairs or more. It describes these two \
                 runs and says nothing of how runs differ.";
    }
    if needs {
        said += " needs: about so many rounds would settle it.";
    }
    said
}

/// Each part of the trial: its score, with elapsed time and system CPU beside it.
pub(super) fn figures(comparisons: &[&MetricComparison]) -> Table {
    let seconds = |name: &str| Column::number(name, Unit::Seconds).better(Better::Lower);
    let columns = vec![
        Column::long_text("part"),
        Column::mixed("score base"),
        Column::mixed("score new"),
        seconds("elapsed base"),
        seconds("elapsed new"),
        seconds("system base"),
        seconds("system new"),
        seconds("CPU base"),
        seconds("CPU new"),
    ];
    let (base, new) = comparisons
        .first()
        .map_or(("", ""), |first| (first.baseline.as_str(), first.contender.as_str()));
    let caption = format!(
        "Scores with elapsed time, system CPU and CPU in all beside them: medians. base is \
         {base}, new is {new}. Of a kind of operation: seconds of one operation."
    );
    let mut table = Table::new("figures", &caption, columns);
    let mut scopes: Vec<&Scope> = Vec::new();
    for one in comparisons {
        if !scopes.contains(&&one.scope) {
            scopes.push(&one.scope);
        }
    }
    for scope in scopes {
        let own = || comparisons.iter().filter(|one| one.scope == *scope);
        let named = |names: &[&str]| own().find(|one| names.contains(&one.name.as_str()));
        // Where the user chose what decides, a part without it still has its rate.
        let rate = || own().find(|one| !matches!(one.unit, Unit::Seconds));
        let score = own().find(|one| one.primary).or_else(rate);
        let figures = [
            score,
            named(&["seconds", "elapsed_seconds"]),
            named(&["system_cpu_seconds"]),
            named(&["cpu_seconds", "operation_cpu_seconds"]),
        ];
        let mut cells = vec![Cell::text(part(scope))];
        for one in figures {
            let value = |of: fn(&MetricComparison) -> f64| {
                one.map_or(Cell::Missing, |one| Cell::measured(of(one), one.unit))
            };
            cells.push(value(|one| one.baseline_median));
            cells.push(value(|one| one.contender_median));
        }
        table.rows.push(cells);
    }
    table
}

pub(super) fn part(scope: &Scope) -> String {
    match scope {
        Scope::Trial => "whole trial".to_owned(),
        Scope::Phase(name) => format!("phase {name}"),
        Scope::Kind(name) => name.clone(),
    }
}

/// A metric in words with its unit: `create MiB/s`, `read cpu s`.
pub(super) fn label(one: &MetricComparison) -> String {
    let words = metric_words(&one.name, one.unit);
    let part = match &one.scope {
        Scope::Trial => String::new(),
        Scope::Phase(name) => format!("phase {name}"),
        Scope::Kind(name) => name.clone(),
    };
    let said = [part.as_str(), words.as_str(), one.unit.symbol()];
    let said: Vec<&str> = said.into_iter().filter(|words| !words.is_empty()).collect();
    if said.is_empty() { titled(&one.name, "") } else { said.join(" ") }
}

/// The word with a sign: colour only repeats them. One run against one gets no colour.
pub(super) fn verdict(one: &MetricComparison) -> Cell {
    let tone = match one.verdict {
        Verdict::Better => Tone::Good,
        Verdict::Worse => Tone::Bad,
        Verdict::Unclear => Tone::Doubt,
        Verdict::Small | Verdict::Same | Verdict::SingleRun => Tone::Plain,
    };
    Cell::toned(words(one.verdict), tone)
}

pub(super) fn ratio(one: &MetricComparison) -> Cell {
    match (one.ratio, one.difference) {
        (Some(ratio), _) => of_ratio(ratio.value).into(),
        (None, Some(difference)) => Cell::measured(difference.value, one.unit),
        (None, None) => Cell::Missing,
    }
}

pub(super) fn interval(one: &MetricComparison) -> Cell {
    let ends = |estimate: Estimate| estimate.interval;
    match (one.ratio.and_then(ends), one.difference.and_then(ends)) {
        (Some((low, high)), _) => Cell::between(of_ratio(low), of_ratio(high)),
        (None, Some((low, high))) => Cell::range(low, high, one.unit),
        (None, None) => Cell::Missing,
    }
}

fn of_ratio(value: f64) -> Number {
    Number { value, unit: String::new(), style: Style::Ratio }
}

pub(super) fn probability(one: &MetricComparison) -> Cell {
    one.p_adjusted.map_or(Cell::Missing, |value| {
        Number { value, unit: String::new(), style: Style::Probability }.into()
    })
}

pub(super) fn runs(one: &MetricComparison) -> Cell {
    if one.paired {
        return Cell::whole(one.pairs() as u64);
    }
    Cell::text(format!("{}+{}", one.baseline_values.len(), one.contender_values.len()))
}
