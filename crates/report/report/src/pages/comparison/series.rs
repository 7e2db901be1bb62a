//! Jobs of a comparison as a series, in which one workload varies in a parameter such as the number
//! of threads. A table has a row for each value, like those of MMTests.

use treering_analysis::compare::{MetricComparison, Verdict};
use treering_model::Unit;

use super::tables::{
    better_heading, interval, label, percentage, ratio, shown_rows, turned, value, verdict,
};
use crate::{Cell, Column, Table};

/// Maximum number of rows; the whole page has all.
const ROWS_MAX: usize = 10;
/// Parameters in which a workload is usually varied, the most significant first. The number of
/// files or directories often follows the number of threads.
const VARIED: [&str; 10] =
    ["workers", "threads", "clients", "ranks", "numjobs", "iodepth", "bs", "size", "files", "dirs"];
/// Parameters that count things, and so follow their value: `4 workers`, but `iodepth 4`.
const COUNTED: [&str; 6] = ["workers", "threads", "clients", "ranks", "files", "dirs"];

/// Jobs of one workload with their positions in the series.
pub(super) struct JobSeries<'o> {
    workload: &'o str,
    parameter: &'o str,
    /// Distinguishing parameters of each job, and the value of its varied parameter.
    values: Vec<(&'o str, &'o str)>,
}

impl<'o> JobSeries<'o> {
    /// Orders jobs by the parameter that varies; `None` if they do not form a series.
    pub(super) fn new(jobs: &[Vec<&'o MetricComparison>]) -> Option<Self> {
        let (first, others) = jobs.split_first()?;
        let first = first[0];
        let is_same = |other: &&MetricComparison| {
            (&other.workload, other.mode) == (&first.workload, first.mode)
        };
        if others.is_empty() || !others.iter().all(|job| is_same(&job[0])) {
            return None;
        }
        let names: Vec<&str> = parameters(&first.job).map(|(name, _)| name).collect();
        let usual =
            VARIED.into_iter().filter_map(|usual| names.iter().find(|name| **name == usual));
        let only = names.first().filter(|_| names.len() == 1);
        usual.chain(only).find_map(|name| Self::by(name, jobs))
    }

    /// Orders jobs by a parameter that has a different numeric value in each of them. Names that a
    /// plan gives to jobs say more than a value that they do not mention.
    fn by(parameter: &'o str, jobs: &[Vec<&'o MetricComparison>]) -> Option<Self> {
        let value = |job: &Vec<&'o MetricComparison>| {
            let (_, value) = parameters(&job[0].job).find(|(name, _)| *name == parameter)?;
            let title = &job[0].title;
            let is_mentioned = title.contains(value) || title.contains(&format!("{parameter}="));
            is_mentioned.then_some((job[0].job.as_str(), value, value.parse::<f64>().ok()?))
        };
        let mut values = jobs.iter().map(value).collect::<Option<Vec<_>>>()?;
        values.sort_by(|(.., left), (.., right)| left.total_cmp(right));
        let is_varied = values.windows(2).all(|pair| pair[0].2 < pair[1].2);
        let values = values.into_iter().map(|(job, value, _)| (job, value)).collect();
        is_varied.then(|| Self { workload: &jobs[0][0].workload, parameter, values })
    }

    /// Value of the varied parameter in a job: `2 workers`; `None` for a job of no series.
    pub(super) fn value(&self, comparison: &MetricComparison) -> Option<String> {
        let (_, value) = self.values.iter().find(|(job, _)| *job == comparison.job)?;
        let singular = self.parameter.strip_suffix('s').filter(|_| *value == "1");
        Some(self.with_parameter(value, singular.unwrap_or(self.parameter)))
    }

    fn with_parameter(&self, value: &str, noun: &str) -> String {
        if COUNTED.contains(&self.parameter) {
            format!("{value} {noun}")
        } else {
            format!("{} {value}", self.parameter)
        }
    }

    /// Values of results of one metric, in the order of the series: `1, 2 and 4 workers`. `None`
    /// for several metrics or contenders.
    pub(super) fn values(&self, members: &[&MetricComparison]) -> Option<String> {
        let (first, others) = members.split_first()?;
        if others.is_empty() || !others.iter().all(|other| is_same_metric(first, other)) {
            return None;
        }
        let is_member = |job: &str| members.iter().any(|member| member.job == job);
        let values = self.values.iter().filter(|(job, _)| is_member(job));
        let values: Vec<&str> = values.map(|(_, value)| *value).collect();
        let (last, before) = values.split_last().filter(|_| values.len() == members.len())?;
        Some(self.with_parameter(&format!("{} and {last}", before.join(", ")), self.parameter))
    }

    /// Table of primary metrics, by metric and then in the order of the values. Changes are
    /// inverted where necessary, so that more than 0 % is better.
    pub(super) fn table(&self, primary: &[&'o MetricComparison], contenders: usize) -> Table {
        let rows = self.rows(primary);
        let (rows, left_out) = shown_rows(&rows, ROWS_MAX, |(_, row)| row);
        let metrics = rows.windows(2).filter(|pair| !is_same_metric(pair[0].1, pair[1].1)).count();
        let is_single = rows.iter().all(|(_, row)| row.verdict == Verdict::SingleRun);
        let mut columns = vec![Column::text(self.parameter).aligned_right()];
        if metrics > 0 {
            columns.push(Column::long_text("metric"));
        }
        if contenders > 1 {
            columns.push(Column::long_text("contender"));
        }
        let keys = columns.len();
        let name = |own: Option<&String>, usual: &str| {
            own.filter(|_| contenders == 1).map_or(usual.to_owned(), Clone::clone)
        };
        let first = rows.first().map(|(_, row)| row);
        columns.extend([
            Column::mixed(&name(first.map(|row| &row.baseline), "base")),
            Column::mixed(&name(first.map(|row| &row.contender), "new")),
            Column::text("better by").aligned_right(),
        ]);
        if !is_single {
            let heading = better_heading(rows.iter().map(|(_, row)| *row));
            columns.extend([
                Column::mixed(heading),
                Column::range("interval", Unit::Count),
                Column::text("verdict"),
            ]);
        }
        let caption = self.caption(first.filter(|_| metrics == 0), &left_out);
        let mut table = Table::new("answer", &caption, columns).with_keys(keys);
        for (number, row) in rows {
            let mut cells = vec![Cell::text(number)];
            if metrics > 0 {
                cells.push(Cell::text(label(row)));
            }
            if contenders > 1 {
                cells.push(Cell::text(&row.contender));
            }
            cells.extend([
                value(row.baseline_median, row.unit),
                value(row.contender_median, row.unit),
                Cell::some_text(&better_by(row)),
            ]);
            if !is_single {
                cells.extend([ratio(row), interval(row), verdict(row)]);
            }
            table.rows.push(cells);
        }
        table
    }

    /// Primary comparisons with their values of the parameter. Operations within a run are used
    /// only if there are no other comparisons.
    fn rows(&self, primary: &[&'o MetricComparison]) -> Vec<(&'o str, &'o MetricComparison)> {
        let has_whole = primary.iter().any(|row| !row.within_one_run);
        let kept = primary.iter().filter(|row| row.same_as.is_none());
        let kept: Vec<&MetricComparison> =
            kept.copied().filter(|row| !(has_whole && row.within_one_run)).collect();
        let mut leaders: Vec<&MetricComparison> = Vec::new();
        for row in &kept {
            if !leaders.iter().any(|leader| is_same_metric(leader, row)) {
                leaders.push(row);
            }
        }
        let mut rows = Vec::new();
        for leader in leaders {
            for (job, value) in &self.values {
                let of_cell =
                    |row: &&&'o MetricComparison| row.job == *job && is_same_metric(row, leader);
                rows.extend(kept.iter().filter(of_cell).map(|row| (*value, *row)));
            }
        }
        rows
    }

    /// Caption with the workload, the metric if there is only one, and the rows that are left out.
    fn caption(&self, only: Option<&&MetricComparison>, left_out: &str) -> String {
        let metric = only.map_or_else(String::new, |row| format!(", {}", label(row)));
        let space = if left_out.is_empty() { "" } else { " " };
        format!("{}{metric}.{space}{left_out}", self.workload)
    }
}

/// Parameters in the name of a job: `files=1000 workers=4`.
fn parameters(job: &str) -> impl Iterator<Item = (&str, &str)> {
    job.split_whitespace().filter_map(|word| word.split_once('='))
}

fn is_same_metric(one: &MetricComparison, other: &MetricComparison) -> bool {
    (&one.scope, &one.name, one.unit) == (&other.scope, &other.name, other.unit)
}

/// Change in percent, positive if the contender is better; empty without a ratio.
fn better_by(row: &MetricComparison) -> String {
    row.ratio.and_then(|ratio| percentage(turned(row.better)(ratio.value))).unwrap_or_default()
}
