//! Comparison with the output of the original, as Debian's 2.00a printed it.

use super::table::figure;
use super::{CsvVersion, PrintedResult, RunLabel, RunReport, header, line, table};
use crate::classic::asked::{FileKind, FilesShape, IoShape, RunParameters};
use crate::classic::test::Test;

fn parameters() -> RunParameters {
    RunParameters {
        io: Some(IoShape {
            bytes: 1 << 30,
            char_bytes: 3 << 20,
            chunk: 4096,
            seeks: 20_000,
            seekers: 3,
        }),
        files: Some(FilesShape {
            count: 40 << 10,
            max_bytes: 1024,
            min_bytes: 0,
            kind: FileKind::Regular,
            dirs: 10,
            chunk: 8192,
        }),
        copies: 2,
    }
}

fn label() -> RunLabel {
    RunLabel {
        name: "h".to_owned(),
        seed: 7,
        mib: 1024,
        k: 40,
        csv: CsvVersion::Long,
        csv_as_original: false,
    }
}

/// Result of a test with this rate, CPU percentage and latency.
fn at(
    parameters: &RunParameters,
    test: Test,
    rate: f64,
    percent: u64,
    latency_us: u64,
) -> PrintedResult {
    let work = parameters.work(test) as f64
        / if test.is_io() && test != Test::Seeks { 1024.0 } else { 1.0 };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a test's figures")]
    let elapsed_ns = (work / rate * 1e9) as u64;
    // Half a percent is added, which truncation removes.
    let cpu_ns = elapsed_ns * (percent * 10 + 5) / 1000;
    PrintedResult { elapsed_ns, cpu_ns, latency_ns: latency_us * 1000 }
}

/// Results of the reference sample, with the real rates of files.
fn results(parameters: &RunParameters) -> [Option<PrintedResult>; Test::COUNT] {
    let known = |test, rate, percent, us| Some(at(parameters, test, rate, percent, us));
    let short =
        |us: u64| Some(PrintedResult { elapsed_ns: 499_999_999, cpu_ns: 1, latency_ns: us * 1000 });
    [
        known(Test::CharWrite, 1951.5, 99, 3962),
        known(Test::BlockWrite, 415_783.5, 21, 307),
        known(Test::Rewrite, 887_697.5, 44, 2372),
        known(Test::CharRead, 3234.5, 78, 7341),
        short(3664),
        short(10_975),
        known(Test::SequentialCreate, 38_873.5, 49, 35_121),
        short(15_112),
        known(Test::SequentialDelete, 49_615.5, 39, 10_300),
        known(Test::RandomCreate, 40_668.5, 51, 15_333),
        short(15_888),
        known(Test::RandomDelete, 34_683.5, 36, 51_011),
    ]
}

const TABLE: &str = "\
Version 2.00a       ------Sequential Output------ --Sequential Input- --Random-
                    -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Name:Size etc        /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
h     1G:4k:2:20000 1951k  99  406m  21  867m  44 3234k  78 +++++ +++ +++++ +++
Latency              3962us     307us    2372us    7341us    3664us   10975us
Version 2.00a       ------Sequential Create------ --------Random Create--------
h                   -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--
files:max            /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
       40:1024:0/10 38873  49 +++++ +++ 49615  39 40668  51 +++++ +++ 34683  36
Latency             35121us   15112us   10300us   15333us   15888us   51011us
";

/// CSV line of the original, with its misplaced columns.
const LINE: &str = "1.98,2.00a,h,2,7,1G,,20000,3,1951,99,415783,21,887697,44,3234,78,+++++,+++,\
                    +++++,+++,40,1024,,,10,38873,49,+++++,+++,49615,39,40668,51,+++++,+++,34683,\
                    36,3962us,307us,2372us,7341us,3664us,10975us,35121us,15112us,10300us,15333us,\
                    15888us,51011us\n";

fn report<'r>(parameters: &'r RunParameters, label: &'r RunLabel) -> RunReport<'r> {
    RunReport { asked: parameters, label, results: results(parameters) }
}

#[test]
fn the_table_is_that_of_the_original_with_the_real_rates_of_files() {
    assert_eq!(table(&report(&parameters(), &label())), TABLE);
}

#[test]
fn the_line_is_that_of_the_original_where_that_is_asked_for() {
    let original = RunLabel { csv_as_original: true, ..label() };
    assert_eq!(line(&report(&parameters(), &original)), LINE);
    let right = line(&report(&parameters(), &label()));
    let wanted = LINE.replace("1G,,", "1G,4k,").replace("1024,,,10,", "1024,,10,,");
    assert_eq!(right, wanted);
    let mut other = parameters();
    other.files.as_mut().unwrap().chunk = 4096;
    other.files.as_mut().unwrap().dirs = 1;
    let right = line(&report(&other, &label()));
    assert!(right.contains(",40,1024,,1,4k,"), "{right}");
}

#[test]
fn lines_have_as_many_fields_as_their_format_and_their_header() {
    for (csv, fields) in
        [(CsvVersion::Short("1.96"), 48), (CsvVersion::Short("1.97"), 48), (CsvVersion::Long, 50)]
    {
        let label = RunLabel { csv, ..label() };
        let cases = [
            parameters(),
            RunParameters { io: None, ..parameters() },
            RunParameters { files: None, ..parameters() },
        ];
        for parameters in cases {
            let line = line(&report(&parameters, &label));
            assert_eq!(line.split(',').count(), fields, "{line}");
        }
        assert_eq!(header(csv, false).split(',').count(), fields);
        assert_eq!(header(csv, true).split(',').count(), 48);
        let short = line(&report(&parameters(), &label));
        let format = if fields == 50 { "1.98," } else { "1.9" };
        assert!(short.starts_with(format));
    }
    let label = RunLabel { csv: CsvVersion::Short("1.96"), ..label() };
    let line = line(&report(&parameters(), &label));
    assert!(line.starts_with("1.96,2.00a,h,2,7,1G,4k,1951,99,415783,21,"), "{line}");
    // MMTests' columns of 1.98.
    let label = RunLabel { csv: CsvVersion::Long, ..label };
    let long = super::line(&report(&parameters(), &label));
    let at = |place: usize| long.split(',').nth(place).unwrap();
    assert_eq!((at(9), at(11), at(13), at(15)), ("1951", "415783", "887697", "3234"));
    assert_eq!((at(26), at(30), at(32), at(36)), ("38873", "49615", "40668", "34683"));
}

#[test]
fn tests_that_were_not_run_are_blank() {
    let parameters = RunParameters { files: None, copies: 1, ..parameters() };
    let label = RunLabel { k: 0, ..label() };
    let mut report = report(&parameters, &label);
    report.results[Test::CharWrite.place()] = None;
    report.results[Test::CharRead.place()] = None;
    let wanted = "\
h      1G:4k::20000            406m  21  867m  44           +++++ +++ +++++ +++
Latency                         307us    2372us              3664us   10975us

";
    let text = table(&report);
    assert_eq!(text.split_inclusive('\n').skip(3).collect::<String>(), wanted);
    let report = RunReport { results: [None; Test::COUNT], ..report };
    let line = line(&report);
    assert!(line.trim_end().ends_with(&",".repeat(12 + 5 + 12 + 12)), "{line}");
}

/// Names as the original printed them for `-s 16…` and `-m`.
#[test]
fn names_are_as_short_as_those_of_the_original() {
    let name = |name: &str, mib, chunk, copies, seeks, seekers| {
        let io = IoShape { bytes: mib << 20, char_bytes: 0, chunk, seeks, seekers };
        super::name::io(name, mib, &io, copies)
    };
    assert_eq!(name("h", 16, 4096, 2, 20, 3), "h       16M:4k:2:20");
    assert_eq!(name("h", 16, 512, 1, 3, 5), "h        16M:512::3");
    assert_eq!(name("h", 16, 8192, 1, 8192, 3), "h               16M");
    assert_eq!(name("averylongmachinename", 16, 16_384, 1, 8192, 5), "averylongma 16M:16k");
    assert_eq!(name("averylong", 16, 16_384, 1, 777, 10), "ave 16M:16k::777:10");
    assert_eq!(name("h", 16, 1 << 20, 12, 20, 1), "h      16M:1m:12:20");
    assert_eq!(name("h", 1, 4096, 1, 0, 5), "h          1M:4k::0");
    assert_eq!(name("h", 16, 8192, 2, 8192, 5), "h            16M::2");
    assert_eq!(name("h", 1024, 8192, 1, 8192, 5), "h                1G");
    assert_eq!(name("h", 1 << 40, 256, 200, 99_999_999, 4000).len(), 33);
}

#[test]
fn rates_change_their_unit_where_those_of_the_original_do() {
    let bytes = |rate| figure(Test::BlockWrite, rate);
    assert_eq!(bytes(9_999.9), "9999k");
    assert_eq!(bytes(10_240.0), "10.0m");
    assert_eq!(bytes(102_297.0), "99.9m");
    assert_eq!(bytes(102_400.0), " 100m");
    assert_eq!(bytes(1_023_487.0), " 999m");
    assert_eq!(bytes(1_048_576.0), " 1.0g");
    assert_eq!(figure(Test::Seeks, 999.94), "999.9");
    assert_eq!(figure(Test::Seeks, 12_345.6), "12346");
    assert_eq!(figure(Test::RandomStat, 345.9), "  345");
}
