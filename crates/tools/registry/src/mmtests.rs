//! Result directories of MMTests: which files are outputs of a tool, and of which run and
//! iteration. The caller reads the directories and gives the paths.
//!
//! Current layout: `RUN/iter-0/TEST/logs/FILE`; before 2018: `TEST-RUN/noprofile/FILE`.

use std::cmp::Ordering;

use treering_kit::import::number::whole;

/// Output in a result directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResultFile {
    /// Path as given by the caller.
    pub path: String,
    /// Name of the run.
    pub run: String,
    /// Number of the iteration of the run, from 0.
    pub iteration: u64,
    /// Name of the test in MMTests.
    pub test: String,
    /// Path of the file that may contain the start time of each test.
    pub timestamps: String,
}

/// Predicate on the name of a test's file: true if the file is an output.
type OutputPredicate = fn(&str) -> bool;

/// Supported tests by the prefix of their name.
const TESTS: [(&str, OutputPredicate); 6] = [
    ("fsmark", |file| is_numbered(file, "fsmark-")),
    ("fio", |file| file == "fio.log" || file.starts_with("fio-")),
    ("dbench", |file| is_numbered(file, "dbench-")),
    ("filebench", is_iteration),
    ("blogbench", |file| is_numbered(file, "blogbench-")),
    ("bonnie", |file| file == "bonnie" || is_iteration(file) && file.starts_with("bonnie.")),
];
/// Extensions of compressed files.
const COMPRESSED: [&str; 2] = [".gz", ".xz"];

/// Outputs among these paths, which have slashes as separators: run by run, iteration by iteration.
pub(crate) fn results(paths: &[String]) -> Vec<ResultFile> {
    let mut results: Vec<ResultFile> = paths.iter().filter_map(|path| result(path)).collect();
    results.sort_by(|left, right| {
        natural(&left.run, &right.run)
            .then(left.iteration.cmp(&right.iteration))
            .then_with(|| natural(&left.test, &right.test))
            .then_with(|| natural(&left.path, &right.path))
    });
    results
}

/// Names of the tests with logs among these paths that no importer reads.
pub(crate) fn tests(paths: &[String]) -> Vec<String> {
    let test = |path: &String| {
        let directories: Vec<&str> = path.split('/').collect();
        let place = new_place(&directories)?;
        let has_logs = directories.windows(2).any(|pair| pair == [place.test, "logs"]);
        let is_read = TESTS.iter().any(|(name, ..)| place.test.starts_with(name));
        (has_logs && !is_read).then(|| place.test.to_owned())
    };
    let mut tests: Vec<String> = paths.iter().filter_map(test).collect();
    tests.sort();
    tests.dedup();
    tests
}

/// Start times of the tests, in milliseconds since 1970, from the text of a timestamps file.
pub(crate) fn beginnings(text: &str) -> Vec<(String, i64)> {
    let line = |line: &str| {
        let (test, seconds) = line.strip_prefix("test begin :: ")?.trim().rsplit_once(' ')?;
        let ms = whole(seconds)?.checked_mul(1000)?;
        Some((test.trim().to_owned(), i64::try_from(ms).ok()?))
    };
    text.lines().filter_map(line).collect()
}

fn result(path: &str) -> Option<ResultFile> {
    let parts: Vec<&str> = path.split('/').collect();
    let (file, directories) = parts.split_last()?;
    let place = new_place(directories).or_else(|| old_place(directories))?;
    let plain = COMPRESSED.into_iter().find_map(|ending| file.strip_suffix(ending)).unwrap_or(file);
    let (_, is_output) = TESTS.into_iter().find(|(name, _)| place.test.starts_with(name))?;
    (!place.run.is_empty() && is_output(plain)).then(|| ResultFile {
        path: path.to_owned(),
        run: place.run.to_owned(),
        iteration: place.iteration,
        test: place.test.to_owned(),
        timestamps: place.timestamps,
    })
}

/// Attributes of an output that follow from its directories.
struct ResultLocation<'p> {
    run: &'p str,
    iteration: u64,
    test: &'p str,
    timestamps: String,
}

fn new_place<'p>(directories: &[&'p str]) -> Option<ResultLocation<'p>> {
    let number = |part: &str| whole(part.strip_prefix("iter-")?);
    let at = directories.iter().rposition(|part| number(part).is_some())?;
    Some(ResultLocation {
        run: directories.get(at.checked_sub(1)?)?,
        iteration: number(directories[at])?,
        test: directories.get(at + 1)?,
        timestamps: format!("{}/tests-timestamp", directories[..=at].join("/")),
    })
}

fn old_place<'p>(directories: &[&'p str]) -> Option<ResultLocation<'p>> {
    let [above @ .., name, "noprofile"] = directories else { return None };
    let (test, run) = named(name)?;
    let timestamps = format!("{}/tests-timestamp-{run}", above.join("/"));
    Some(ResultLocation { run, iteration: 0, test, timestamps })
}

/// Splits a directory name: `fsmark-threaded-4.0` is the run `4.0` of the test `fsmark-threaded`.
fn named(directory: &str) -> Option<(&str, &str)> {
    const LONG: [&str; 7] =
        ["fsmark-single", "fsmark-threaded", "fsmark", "fio", "filebench", "blogbench", "bonnie"];
    const DBENCH: [&str; 3] = ["dbench3", "dbench4", "dbench"];
    let split = |test: &str| {
        let (test, run) =
            directory.split_at_checked(test.len()).filter(|(head, _)| *head == test)?;
        Some((test, run.strip_prefix('-')?))
    };
    LONG.into_iter().chain(DBENCH).find_map(split)
}

/// True for names of the form `dbench-4.log`.
fn is_numbered(file: &str, before: &str) -> bool {
    let number = file.strip_prefix(before).and_then(|tail| tail.strip_suffix(".log"));
    number.is_some_and(|number| whole(number).is_some())
}

/// True for names such as `webproxy-4.1`.
fn is_iteration(file: &str) -> bool {
    file.rsplit_once('.').is_some_and(|(_, number)| whole(number).is_some())
}

/// Natural order: embedded numbers compare as numbers.
fn natural(left: &str, right: &str) -> Ordering {
    let (mut left, mut right) = (left, right);
    loop {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let (own, other) = (digits(left), digits(right));
        if own > 0 && other > 0 {
            let (number, tail) = left.split_at(own);
            let (against, rest_of_other) = right.split_at(other);
            let zeros = |digits: &str| digits.len() - digits.trim_start_matches('0').len();
            let (bare, bare_other) = (&number[zeros(number)..], &against[zeros(against)..]);
            let by_length = bare.len().cmp(&bare_other.len());
            let by_value = by_length.then_with(|| bare.cmp(bare_other));
            if by_value != Ordering::Equal {
                return by_value;
            }
            (left, right) = (tail, rest_of_other);
            continue;
        }
        match (left.chars().next(), right.chars().next()) {
            (Some(own_char), Some(other_char)) if own_char == other_char => {
                let size = own_char.len_utf8();
                (left, right) = (&left[size..], &right[size..]);
            }
            (own_char, other_char) => return own_char.cmp(&other_char),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{beginnings, natural, results};

    #[test]
    fn outputs_are_found_in_both_layouts() {
        let paths = [
            "/w/log/new-4.20/iter-0/fsmark/logs/fsmark-16.log.gz",
            "/w/log/new-4.20/iter-0/fsmark/logs/fsmark-2.log.gz",
            "/w/log/base/iter-10/fsmark/logs/fsmark-2.log",
            "/w/log/base/iter-2/fsmark/logs/fsmark-2.log",
            "/w/log/base/iter-2/fio/logs/fio.log.gz",
            "/w/log/base/iter-2/fio/logs/fio_lat.1.log.gz",
            "/w/log/base/iter-2/filebench/logs/model",
            "/w/log/base/iter-2/filebench/logs/webproxy-4.1",
            "/w/log/base/iter-2/bonniepp/logs/bonnie",
            "/w/log/base/iter-2/bonniepp/logs/bonnie-detail.gz",
            "/w/log/base/iter-2/blogbench/logs/blogbench-1.time",
            "/w/log/base/iter-2/kernbench/logs/kernbench-1.log",
            "/w/log/base/iter-2/tests-timestamp",
            "/w/log/fsmark-single-3.6/noprofile/fsmark-1.log",
            "fsmark-1.log",
        ];
        let paths = paths.map(str::to_owned);
        let outputs = results(&paths);
        let reported: Vec<String> = outputs
            .iter()
            .map(|output| format!("{} {} {}", output.run, output.iteration, output.test))
            .collect();
        assert_eq!(
            reported,
            [
                "3.6 0 fsmark-single",
                "base 2 bonniepp",
                "base 2 filebench",
                "base 2 fio",
                "base 2 fsmark",
                "base 10 fsmark",
                "new-4.20 0 fsmark",
                "new-4.20 0 fsmark"
            ]
        );
        assert_eq!(outputs[6].path, paths[1], "two threads stand before sixteen");
        assert_eq!(outputs[5].timestamps, "/w/log/base/iter-10/tests-timestamp");
        assert_eq!(outputs[0].timestamps, "/w/log/tests-timestamp-3.6");
    }

    #[test]
    fn test_start_times_are_found_among_other_lines() {
        let text = "start :: 1542000000\ntest begin :: fsmark 1542000100\nfile start :: /x\n\
                    test begin :: dbench4 99999999999999999999\n";
        assert_eq!(beginnings(text), [("fsmark".to_owned(), 1_542_000_100_000)]);
    }

    #[test]
    fn names_are_sorted_in_natural_order() {
        use std::cmp::Ordering::{Equal, Greater, Less};
        assert_eq!(natural("a-2.log", "a-16.log"), Less);
        assert_eq!(natural("a-012", "a-9"), Greater);
        assert_eq!(natural("a-013", "a-12"), Greater);
        assert_eq!(natural("b", "a9"), Greater);
        assert_eq!(natural("ä1", "ä1"), Equal);
        assert_eq!(natural("a", "a1"), Less);
    }
}
