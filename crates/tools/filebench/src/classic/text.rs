//! Results in the original's format: a line for each flowop, and the summary.

use std::fmt::Write;

use super::summary::{IoSummary, SummaryRow};
use super::tally::{BUCKETS, FlowopCounters};

const MIB: f64 = 1_048_576.0;
const MS: f64 = 1e6;

/// Formats the table and the summary of `seconds` of measurement, without the leading time stamps.
pub(crate) fn report(
    rows: &[SummaryRow],
    sums: &[FlowopCounters],
    seconds: f64,
    histograms: bool,
) -> [String; 2] {
    let seconds = seconds.max(1e-9);
    let mut table = String::from("Per-Operation Breakdown");
    // As in the original, the last defined row comes first.
    for (row, sum) in rows.iter().zip(sums).rev() {
        // Writing into a string cannot fail.
        let _ = write!(
            table,
            "\n{:<20} {}ops {:8.0}ops/s {:5.1}mb/s {:8.3}ms/op [{:.3}ms - {:5.3}ms]",
            row.name.escape_debug().to_string(),
            sum.count,
            sum.count as f64 / seconds,
            sum.bytes as f64 / MIB / seconds,
            sum.mean_ns() / MS,
            sum.least_ns as f64 / MS,
            sum.most_ns as f64 / MS,
        );
        if histograms {
            let none = [0; BUCKETS];
            let counts = sum.buckets.as_deref().unwrap_or(&none);
            table.push_str("\t[ ");
            counts.iter().for_each(|count| {
                let _ = write!(table, "{count} ");
            });
            table.push(']');
        }
    }
    let total = IoSummary::new(rows, sums);
    let summary = format!(
        "IO Summary: {:5} ops {:5.3} ops/s {:.0}/{:.0} rd/wr {:5.1}mb/s {:5.3}ms/op",
        total.operations,
        total.operations as f64 / seconds,
        total.reads as f64 / seconds,
        total.writes as f64 / seconds,
        total.bytes as f64 / MIB / seconds,
        total.mean_ns / MS,
    );
    [table, summary]
}

#[cfg(test)]
mod tests {
    use super::report;
    use crate::classic::summary::{OperationClass, SummaryRow};
    use crate::classic::tally::FlowopCounters;

    #[test]
    fn result_lines_equal_those_of_the_original() {
        let row = |name: &str, class| SummaryRow { name: name.to_owned(), class };
        let rows = [
            row("readfile6", OperationClass::Read),
            row("closefile6", OperationClass::Other),
            row("limit", OperationClass::Beside),
        ];
        let tally = |count, bytes, mean_ns: u64, most_ns| FlowopCounters {
            count,
            bytes,
            timed: count,
            total_ns: mean_ns * count,
            least_ns: 1000,
            most_ns,
            ..FlowopCounters::default()
        };
        let sums = [
            tally(157_274, 1_352_298_496, 31_000, 274_650_000),
            tally(157_270, 0, 8_000, 214_381_000),
            FlowopCounters::default(),
        ];
        let [table, summary] = report(&rows, &sums, 10.131, false);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(
            lines,
            [
                "Per-Operation Breakdown",
                "limit                0ops        0ops/s   0.0mb/s    0.000ms/op \
                 [0.000ms - 0.000ms]",
                "closefile6           157270ops    15524ops/s   0.0mb/s    0.008ms/op \
                 [0.001ms - 214.381ms]",
                "readfile6            157274ops    15524ops/s 127.3mb/s    0.031ms/op \
                 [0.001ms - 274.650ms]",
            ]
        );
        assert_eq!(
            summary,
            "IO Summary: 314544 ops 31047.675 ops/s 15524/0 rd/wr 127.3mb/s 0.020ms/op"
        );
        let [table, _] = report(&rows[..1], &sums[..1], 10.0, true);
        assert!(table.ends_with(&format!("\t[ {}]", "0 ".repeat(64))));
    }
}
