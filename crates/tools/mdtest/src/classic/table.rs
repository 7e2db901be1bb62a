//! Tables of mdtest, byte for byte: rates or times over the iterations, the figures of each
//! process, and the file of rank performance details.

use super::results::{IterationResults, Test};

/// Quantity shown in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableQuantity {
    /// Operations a second.
    Rate,
    /// Phase time in seconds, under the original's heading ms/op.
    Time,
}

/// Options that select the contents of the tables.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TableOptions {
    /// Ranks.
    pub ranks: usize,
    /// Directory tests were done.
    pub dirs: bool,
    /// File tests were done.
    pub files: bool,
    /// Print the figures of each process.
    pub each_process: bool,
    /// Also show the extremes over single ranks.
    pub rank_statistics: bool,
}

impl TableOptions {
    /// Tests in the upper part of the table.
    fn tests(&self) -> &'static [Test] {
        match (self.dirs, self.files) {
            (true, true) => &Test::ALL[..9],
            (true, false) => &Test::ALL[..5],
            (false, true) => &Test::ALL[5..9],
            (false, false) => &[],
        }
    }
}

/// Extremes and sum of a series.
#[derive(Clone, Copy, Debug)]
struct SeriesRange {
    max: f64,
    min: f64,
    sum: f64,
}

impl SeriesRange {
    const NONE: Self = Self { max: 0.0, min: 1e308, sum: 0.0 };

    fn add(&mut self, value: f64) {
        if value > self.max {
            self.max = value;
        }
        if value < self.min {
            self.min = value;
        }
        self.sum += value;
    }
}

/// Table of results, preceded by the figures of each process if requested.
pub(crate) fn summary(
    iterations: &[IterationResults],
    shown: &TableOptions,
    figure: TableQuantity,
) -> String {
    let mut text =
        if shown.each_process { processes(iterations, shown, figure) } else { String::new() };
    let (title, count) = (
        if figure == TableQuantity::Rate { "rate (in ops/sec)" } else { "time (in ms/op)" },
        iterations.len(),
    );
    text += &format!("\nSUMMARY {title}: (of {count} iterations)\n   Operation     ");
    text += if shown.rank_statistics {
        "per Rank: Max            Min           Mean      per Iteration:"
    } else {
        "               "
    };
    text += " Max            Min           Mean        Std Dev\n   ---------      ";
    if shown.rank_statistics {
        text += "         ---            ---           ----       ";
    }
    text += "               ---            ---           ----        -------\n";
    for &test in shown.tests() {
        // The original has no test that reads directories, but a place for it.
        if test != Test::DirectoryRead {
            text += &row(iterations, shown, figure, test);
        }
    }
    for test in [Test::TreeCreation, Test::TreeRemoval] {
        text += &tree_row(iterations, shown, figure, test);
    }
    text
}

/// Row of the upper part: a test of items.
fn row(
    iterations: &[IterationResults],
    shown: &TableOptions,
    figure: TableQuantity,
    test: Test,
) -> String {
    let (mut each, mut overall) = (SeriesRange::NONE, SeriesRange::NONE);
    let mut values = Vec::with_capacity(iterations.len());
    let times = shown.ranks as f64;
    for iteration in iterations {
        let result = iteration.result(test);
        let mut slowest = if figure == TableQuantity::Time { 0.0_f64 } else { 1e308 };
        for rank in 0..shown.ranks {
            match figure {
                TableQuantity::Rate => {
                    each.add(result.rate_before_barrier(rank));
                    slowest = slowest.min(result.rate(rank));
                }
                TableQuantity::Time => {
                    each.add(result.of_rank(rank).seconds_before_barrier);
                    slowest = slowest.max(result.of_rank(rank).seconds);
                }
            }
        }
        let value = if figure == TableQuantity::Rate { slowest * times } else { slowest };
        overall.add(value);
        values.push(value);
    }
    let count = iterations.len() as f64;
    let mut line = format!("   {:<18} ", test.name());
    if shown.rank_statistics {
        line +=
            &format!("{:14.3} {:14.3} {:14.3}     ", each.max, each.min, each.sum / count / times);
    }
    line + &format!(
        "    {:14.3} {:14.3} {:14.3} {:14.3}\n",
        overall.max,
        overall.min,
        overall.sum / count,
        deviation(&values)
    )
}

/// Row of the lower part: a test of trees.
fn tree_row(
    iterations: &[IterationResults],
    shown: &TableOptions,
    figure: TableQuantity,
    test: Test,
) -> String {
    let mut range = SeriesRange::NONE;
    let value = |iteration: &IterationResults| match figure {
        TableQuantity::Rate => iteration.result(test).rate(0),
        TableQuantity::Time => iteration.result(test).of_rank(0).seconds,
    };
    let values: Vec<f64> = iterations.iter().map(value).collect();
    values.iter().for_each(|&value| range.add(value));
    let mean = range.sum / values.len() as f64;
    let mut line = format!("   {:<22} ", test.name());
    if shown.rank_statistics {
        line += &format!("{:14.3} {:14.3} {mean:14.3}     ", range.max, range.min);
    }
    line + &format!(
        "{:14.3} {:14.3} {mean:14.3} {:14.3}\n",
        range.max,
        range.min,
        deviation(&values)
    )
}

/// The standard deviation; 0 of a single value.
fn deviation(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    if values.len() < 2 {
        return 0.0;
    }
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (mean - value) * (mean - value)).sum();
    (squares / (count - 1.0)).sqrt()
}

fn processes(
    iterations: &[IterationResults],
    shown: &TableOptions,
    figure: TableQuantity,
) -> String {
    let quantity_word = if figure == TableQuantity::Rate { "rate" } else { "time" };
    let mut text = format!("\nPer process result ({quantity_word}):\n");
    let first = shown.tests().first().map_or(Test::ALL.len(), |&test| test as usize);
    let tests = if shown.tests().is_empty() { &Test::ALL[..] } else { &Test::ALL[first..] };
    for (number, iteration) in iterations.iter().enumerate() {
        text += &format!("iteration: {number}\n");
        for &test in tests {
            text += &format!("Test {}", test.name());
            for rank in 0..shown.ranks {
                let result = iteration.result(test);
                // For trees the original prints a variable that it never sets.
                let value = match figure {
                    _ if test.is_tree_test() => 0.0,
                    TableQuantity::Rate => result.rate_before_barrier(rank),
                    TableQuantity::Time => result.of_rank(rank).seconds_before_barrier,
                };
                text += &format!("{}{}", if rank == 0 { ' ' } else { ',' }, exponential(value, 6));
            }
            text += "\n";
        }
    }
    text
}

/// Number in the format of C's `%.*e`.
pub(crate) fn exponential(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return if value.is_nan() { "nan" } else { "inf" }.to_owned();
    }
    let text = format!("{value:.digits$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// The file of `--saveRankPerformanceDetails`.
pub(crate) fn rank_details(iterations: &[IterationResults], ranks: usize, items: u64) -> String {
    let mut text = "rank,items".to_owned();
    for test in Test::ALL {
        text += &format!(",rate-{0},time-{0}", test.name());
    }
    text += &format!("\nall,{items}");
    for test in Test::ALL {
        // As the original, of the first iteration only.
        let result = iterations.first().map(|iteration| iteration.result(test));
        let parts = if test.is_tree_test() { 1 } else { ranks };
        let slowest = |result: &super::results::TestResult| {
            (0..parts).map(|rank| result.of_rank(rank).seconds).fold(0.0, f64::max)
        };
        text += &match result {
            Some(result) if result.items > 0 => {
                let seconds = slowest(result);
                pair(result.items as f64 * ranks as f64 / seconds, seconds)
            }
            _ => ",,".to_owned(),
        };
    }
    text += "\n";
    for iteration in iterations {
        for rank in 0..ranks {
            text += &format!("{rank},");
            for &test in &Test::ALL[..9] {
                let result = iteration.result(test);
                let seconds = result.of_rank(rank).seconds_before_barrier;
                text += &if result.items == 0 {
                    ",,".to_owned()
                } else {
                    pair(result.items as f64 / seconds, seconds)
                };
            }
            text += "\n";
        }
    }
    text
}

fn pair(rate: f64, seconds: f64) -> String {
    format!(",{},{}", exponential(rate, 10), exponential(seconds, 10))
}

#[cfg(test)]
mod tests {
    use super::super::results::{IterationResults, RankTime, Test, TestResult};
    use super::{TableOptions, TableQuantity, exponential, rank_details, summary};

    fn iteration(seconds: f64) -> IterationResults {
        let mut iteration = IterationResults::default();
        let time = |own: f64| RankTime { seconds_before_barrier: own, seconds };
        let ranks = vec![time(seconds / 2.0), time(seconds)];
        iteration.set(Test::FileCreation, TestResult { items: 1000, ranks });
        let tree = vec![RankTime { seconds_before_barrier: 0.5, seconds: 0.5 }];
        iteration.set(Test::TreeCreation, TestResult { items: 13, ranks: tree });
        iteration
    }

    #[test]
    fn the_table_is_that_of_the_original() {
        let shown = TableOptions { ranks: 2, files: true, ..TableOptions::default() };
        let text = summary(&[iteration(1.0), iteration(2.0)], &shown, TableQuantity::Rate);
        // Output of `mdtest -F -C`, with other figures.
        let wanted = "
SUMMARY rate (in ops/sec): (of 2 iterations)
   Operation                     Max            Min           Mean        Std Dev
   ---------                     ---            ---           ----        -------
   File creation                2000.000       1000.000       1500.000        707.107
   File stat                       0.000          0.000          0.000          0.000
   File read                       0.000          0.000          0.000          0.000
   File removal                    0.000          0.000          0.000          0.000
   Tree creation                  26.000         26.000         26.000          0.000
   Tree removal                    0.000          0.000          0.000          0.000
";
        assert_eq!(text, wanted);
    }

    #[test]
    fn ranks_have_columns_of_their_own() {
        let shown = TableOptions {
            ranks: 2,
            files: true,
            rank_statistics: true,
            ..TableOptions::default()
        };
        let text = summary(&[iteration(1.0)], &shown, TableQuantity::Time);
        let line = text.lines().find(|line| line.contains("File creation")).unwrap();
        let wanted = "   File creation               1.000          0.500          0.750                  \
                      1.000          1.000          1.000          0.000";
        assert_eq!(line, wanted);
        assert!(text.contains("SUMMARY time (in ms/op): (of 1 iterations)\n"));
    }

    #[test]
    fn numbers_and_rank_file_are_formatted_as_by_printf() {
        assert_eq!(exponential(0.0, 6), "0.000000e+00");
        assert_eq!(exponential(133_364.197, 6), "1.333642e+05");
        assert_eq!(exponential(1.0 / 0.0, 6), "inf");
        assert_eq!(exponential(5e-5, 10), "5.0000000000e-05");
        let text = rank_details(&[iteration(1.0)], 2, 1000);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("rank,items,rate-Directory creation,time-Directory creation"));
        assert!(lines[1].starts_with("all,1000,,,,,,,,,,,2.0000000000e+03,1.0000000000e+00,,"));
        assert_eq!(lines[2], "0,,,,,,,,,,,,2.0000000000e+03,5.0000000000e-01,,,,,,");
        assert_eq!(lines.len(), 4);
    }
}
