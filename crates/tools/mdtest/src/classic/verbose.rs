//! Lines that mdtest prints with `-v` about its settings and its tests, each with the line of its
//! source.

use super::results::{IterationResults, Test};

/// A line of level 1.
pub(crate) fn line(number: u32, text: &str) -> String {
    format!("V-1: Rank {:3} Line {number:5} {text}\n", 0)
}

/// The line at which the settings begin; each later setting has a later line.
const FIRST_SETTING: u32 = 2442;
/// Lines of the source without a setting that is printed here.
const SKIPPED: [u32; 6] = [2447, DIRECTORY, 2449, 2455, 2456, 2457];
/// Line of the source that prints each directory.
const DIRECTORY: u32 = 2448;

/// Lines about the settings, which are names with their values as the original prints them.
pub(crate) fn settings(pairs: &[(&str, String)]) -> String {
    let mut numbers = (FIRST_SETTING..).filter(|number| !SKIPPED.contains(number));
    let mut text = String::new();
    for (name, value) in pairs {
        if *name == "dirpath" {
            text += &line(DIRECTORY, &format!("\t{value}"));
            continue;
        }
        let number = numbers.next().unwrap_or(FIRST_SETTING);
        let is_list = *name == "dirpath(s)";
        let words = if is_list { format!("{name}:") } else { format!("{name:<24}: {value}") };
        text += &line(number, &words);
    }
    text
}

/// The head of the lines about tests.
pub(crate) fn head() -> String {
    line(2677, "")
        + &line(2678, "   Operation               Duration              Rate")
        + &line(2679, "   ---------               --------              ----")
}

/// The line at the beginning of an iteration, counted from 1.
pub(crate) fn iteration(number: usize) -> String {
    line(2063, &format!("main: * iteration {number} *"))
}

/// Time and rate of a test on rank 0.
fn figures(results: &IterationResults, test: Test) -> String {
    let result = results.result(test);
    format!("{:14.3} sec, {:14.3} ops/sec", result.of_rank(0).seconds, result.rate(0))
}

/// Lines about tests, each with its line in the source and its words.
fn lines(results: &IterationResults, tests: &[(u32, &str, Test)]) -> String {
    let one =
        |(number, words, test): &_| line(*number, &format!("{words}{}", figures(results, *test)));
    tests.iter().map(one).collect()
}

/// The line about the creation of trees.
pub(crate) fn tree_creation(results: &IterationResults) -> String {
    lines(results, &[(2139, "V-1: main:   Tree creation     : ", Test::TreeCreation)])
}

/// The line about the removal of trees.
pub(crate) fn tree_removal(results: &IterationResults) -> String {
    lines(results, &[(2249, "main   Tree removal      : ", Test::TreeRemoval)])
}

/// The lines about the tests of directories.
pub(crate) fn directories(results: &IterationResults) -> String {
    lines(
        results,
        &[
            (1125, "   Directory creation: ", Test::DirectoryCreation),
            (1126, "   Directory stat    : ", Test::DirectoryStat),
            (1127, "   Directory rename : ", Test::DirectoryRename),
            (1128, "   Directory removal : ", Test::DirectoryRemoval),
        ],
    )
}

/// The lines about the tests of files, with the time until the time limit ended their creation.
pub(crate) fn files(results: &IterationResults, until_wall: Option<f64>) -> String {
    let mut text = lines(results, &[(1435, "  File creation     : ", Test::FileCreation)]);
    if let Some(seconds) = until_wall {
        // The original prints a number of items as a rate, which comes out as 0.
        let figures = format!("{seconds:14.3} sec, {:14.3} ops/sec", 0.0);
        text += &line(1437, &format!("  File creation (stonewall): {figures}"));
    }
    text + &lines(
        results,
        &[
            (1439, "  File stat         : ", Test::FileStat),
            (1440, "  File read         : ", Test::FileRead),
            (1441, "  File removal      : ", Test::FileRemoval),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::super::results::{IterationResults, RankTime, Test, TestResult};
    use super::{files, head, settings, tree_creation};

    #[test]
    fn lines_about_tests_are_those_of_the_original() {
        let mut results = IterationResults::default();
        let time = RankTime { seconds_before_barrier: 0.5, seconds: 0.5 };
        results.set(Test::FileCreation, TestResult { items: 3, ranks: vec![time; 2] });
        results.set(Test::TreeCreation, TestResult { items: 1, ranks: vec![time] });
        assert_eq!(
            files(&results, None).lines().next(),
            Some(
                "V-1: Rank   0 Line  1435   File creation     :          0.500 sec,          6.000 \
                 ops/sec"
            )
        );
        assert_eq!(files(&results, Some(0.25)).lines().count(), 5);
        assert!(
            tree_creation(&results).contains("V-1: main:   Tree creation     :          0.500")
        );
        assert_eq!(head().lines().count(), 3);
    }

    #[test]
    fn settings_have_the_lines_of_the_source() {
        let value = |text: &str| text.to_owned();
        let pairs =
            [("api", value("POSIX")), ("barriers", value("True")), ("create_only", value("True"))];
        let text = settings(&pairs);
        let first = "V-1: Rank   0 Line  2442 api                     : POSIX";
        assert_eq!(text.lines().next(), Some(first));
        assert!(text.contains("Line  2444 create_only             : True"));
    }
}
