//! Pages about IO500: a rehearsal of a full run with settings, expected errors and a configuration;
//! and runs side by side, phase by phase.

use std::path::Path;

use treering_analysis::io500::{
    ClientMachines, FullRun, FullRunRisk, ListedRun, PhaseFigures, TestRequirement, phases_of,
};
use treering_model::Unit;
use treering_model::workloads::io500::FULL_SECONDS;

use crate::table::RowField;
use crate::{Cell, Column, Report, Table};

const GIB: f64 = (1_u64 << 30) as f64;

/// Builds the page, which the lines of [`config`] follow.
pub fn page(full: &FullRun, has_ranks: bool) -> Report {
    let mut page = Report::new("IO500, rehearsed");
    page.paragraph(format!(
        "Writing ended after {} s, not after {FULL_SECONDS}: this is no result of IO500, and there \
         is no score. Only IO500 itself scores.",
        full.rehearsed_seconds
    ));
    page.table(phases(&full.phases, has_ranks));
    page.heading("What a full run needs");
    page.table(needs(&full.needs));
    page.paragraph(format!(
        "{:.1} GiB and {} files are written in {FULL_SECONDS} s a phase, and all phases take about \
         {:.0} minutes, if rates stay as they are here. What is proposed is twice what the fastest \
         worker reaches: what is too much costs nothing, since time ends it.",
        full.bytes as f64 / GIB,
        full.files,
        full.seconds / 60.0
    ));
    if full.risks.is_empty() {
        page.note("Nothing is known that would make the full run invalid.");
    } else {
        page.heading("What would go wrong");
        page.table(risks(&full.risks));
    }
    page.heading("For the config.ini of IO500");
    page
}

fn phases(phases: &[PhaseFigures], has_ranks: bool) -> Table {
    let who = if has_ranks { "rank" } else { "worker" };
    let caption = "Rates are all bytes or items by the time from the first beginning to the last \
                   end, the wear-out included. From–to are the lowest and the highest rate of whole \
                   seconds, or of workers. CPU is the share of the workers' time. Higher rates are \
                   better.";
    Table::from_rows("io500_phases", caption, phases.iter().map(|phase| row(phase, who)))
}

fn row(phase: &PhaseFigures, who: &str) -> Vec<RowField> {
    let spread = phase
        .spread
        .map_or(String::new(), |spread| format!("{}–{}", digits(spread.low), digits(spread.high)));
    let over = match phase.spread {
        None => String::new(),
        Some(spread) if spread.seconds == 0 => "workers".to_owned(),
        Some(spread) => format!("{} seconds", spread.seconds),
    };
    let slowest =
        phase.slowest.map_or(String::new(), |(who, percent)| format!("{who}, +{percent:.0} %"));
    vec![
        RowField::text("phase", phase.name),
        RowField::text("rate", digits(phase.rate)),
        RowField::text("in the unit", if phase.moves_data { "GiB/s" } else { "kIOPS" }),
        RowField::text("from–to", spread),
        RowField::text("over", over),
        RowField::text("time", format!("{} s", digits(phase.seconds))),
        RowField::text(&format!("slowest {who}"), slowest),
        RowField::text("CPU", format!("{:.0} %", phase.cpu_percent)),
    ]
}

fn needs(needs: &[TestRequirement]) -> Table {
    let caption = "Of each worker: what the fastest reaches, and what to set. Of all together: what \
                   is written, and how many files are made.";
    let row = |need: &TestRequirement| {
        let how = if need.was_ended_by_time {
            "its rate until time ended it"
        } else {
            "its rate until all that it may write was written"
        };
        vec![
            RowField::text("test", need.test.name()),
            RowField::text("option", need.option),
            RowField::text(&format!("reached in {FULL_SECONDS} s"), need.reached.to_string()),
            RowField::text("set", need.value()),
            RowField::text("default", need.default.to_string()),
            RowField::text("written", format!("{:.1} GiB", need.bytes as f64 / GIB)),
            RowField::text("files", need.files.to_string()),
            RowField::text("from", how),
        ]
    };
    Table::from_rows("io500_needs", caption, needs.iter().map(row))
}

fn risks(risks: &[FullRunRisk]) -> Table {
    let row = |risk: &FullRunRisk| {
        let phase = if risk.phase.is_empty() { "all" } else { risk.phase };
        let said = if risk.is_invalid { "INVALID" } else { "nothing" };
        vec![
            RowField::text("phase", phase),
            RowField::text("IO500 says", said),
            RowField::long_text("why", &risk.why),
        ]
    };
    Table::from_rows("io500_risks", "What this rehearsal knows of.", risks.iter().map(row))
}

/// Page of runs side by side; `runs` have their names.
pub fn list(runs: &[(String, ListedRun)]) -> Report {
    let mut page = Report::new("IO500");
    if runs.is_empty() {
        page.paragraph(
            "No run of IO500 is in the store: `treering io500 rehearse` rehearses one, and \
             `treering import` reads results.",
        );
        return page;
    }
    page.table(circumstances(runs));
    page.table(side_by_side(runs));
    if runs.iter().any(|(_, run)| run.is_rehearsal) {
        page.note(
            "A rehearsal writes for a shorter time than IO500 and has no score: what caches hold \
             weighs more in it. Compare phase by phase, with as many clients.",
        );
    }
    page
}

fn circumstances(runs: &[(String, ListedRun)]) -> Table {
    let row = |(name, run): &(String, ListedRun)| {
        vec![
            RowField::long_text("run", name),
            RowField::text("kind", if run.is_rehearsal { "rehearsal" } else { "IO500" }),
            RowField::new(Column::text("workers").aligned_right(), Cell::some_text(&run.ranks)),
            RowField::number("score", Unit::Count, run.score),
        ]
    };
    Table::from_rows("io500_runs", "", runs.iter().map(row))
}

/// Table with a row for each phase and a column for each run; two runs of the same known
/// number of workers have their ratio.
fn side_by_side(runs: &[(String, ListedRun)]) -> Table {
    let listed: Vec<ListedRun> = runs.iter().map(|(_, run)| run.clone()).collect();
    let are_alike =
        listed.windows(2).all(|pair| !pair[0].ranks.is_empty() && pair[0].ranks == pair[1].ranks);
    let row = |(phase, moves_data): (String, bool)| {
        let mut fields = vec![
            RowField::text("phase", &phase),
            RowField::text("in the unit", if moves_data { "GiB/s" } else { "kIOPS" }),
        ];
        let rates: Vec<Option<f64>> = listed.iter().map(|run| run.rate(&phase)).collect();
        fields.extend(runs.iter().zip(&rates).map(|((name, _), rate)| {
            let cell = rate.map_or(Cell::Missing, |rate| Cell::text(digits(rate)));
            RowField::new(Column::text(name).aligned_right(), cell)
        }));
        if let ([first, second], true) = (&rates[..], are_alike) {
            let ratio = first.zip(*second).map(|(first, second)| second / first);
            fields.push(RowField::number("second/first", Unit::Count, ratio));
        }
        fields
    };
    let caption = "Rates of the phases. Higher is better.";
    Table::from_rows("io500_rates", caption, phases_of(&listed).into_iter().map(row))
}

/// Lines of the IO500 configuration.
pub fn config(full: &FullRun, clients: ClientMachines, dir: &Path) -> Vec<String> {
    let mut lines = vec!["[global]".to_owned(), format!("datadir = {}", dir.display())];
    if clients.count == 1 {
        lines.push("drop-caches = TRUE".to_owned());
    }
    for need in &full.needs {
        lines.push(format!("[{}]", need.test.name()));
        lines.push(format!("{} = {}", need.option, need.value()));
    }
    lines
}

/// Formats a number with three significant digits and at most six decimals.
fn digits(number: f64) -> String {
    let (mut decimals, mut scaled) = (0_usize, number.abs());
    while scaled > 0.0 && scaled < 100.0 && decimals < 6 {
        scaled *= 10.0;
        decimals += 1;
    }
    format!("{number:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::digits;

    #[test]
    fn three_digits_count() {
        assert_eq!(
            [0.001_234, 0.1, 12.34, 1234.5, 0.0].map(digits),
            ["0.00123", "0.100", "12.3", "1234", "0"]
        );
    }
}
