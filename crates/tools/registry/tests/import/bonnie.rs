//! Import of bonnie++: lines and tables, separate, together, broken and joined; and the published
//! report of 2011, which is not part of the project.

use treering_model::{Scope, Unit};
use treering_registry::{ForeignTrial, import};
use treering_testkit::{shared, skip};

use crate::logs::{only, trials};

/// Invented run as bonnie++ prints it.
pub(crate) const BONNIE: &str = "\
Version  1.96       ------Sequential Output------ --Sequential Input- --Random-
Concurrency   1     -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP
oak              1G   512  99  2048   9  1024   4   768  85  4096   6 106.5   5
Latency             92041us    1128ms    1835ms     166ms     308ms    6549ms
Version  1.96       ------Sequential Create------ --------Random Create--------
oak                 -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--
              files  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
                 16  9000  26 +++++ +++  8000  26  7000  27 +++++ +++  6000  24
Latency             17882us    1418us    1929us     489us      51us     650us
1.96,1.96,oak,1,1400000000,1G,,512,99,2048,9,1024,4,768,85,4096,6,106.5,5,16,,,,,9000,26,+++++,+++,8000,26,7000,27,+++++,+++,6000,24,92041us,1128ms,1835ms,166ms,308ms,6549ms,17882us,1418us,1929us,489us,51us,650us
";

fn table() -> String {
    BONNIE.split_inclusive('\n').take(10).collect()
}

fn line() -> &'static str {
    BONNIE.lines().last().unwrap()
}

fn value(trial: &ForeignTrial, kind: &str, name: &str) -> Option<f64> {
    let scope = Scope::Kind(kind.to_owned());
    let same = |metric: &&treering_model::Metric| metric.scope == scope && metric.name == name;
    trial.metrics.iter().find(same).map(|metric| metric.value)
}

fn fact<'t>(trial: &'t ForeignTrial, name: &str) -> Option<&'t str> {
    trial.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str())
}

/// Checks the content that both forms of the run have in common.
fn check(trial: &ForeignTrial) {
    assert_eq!(trial.workload, "bonnie++");
    assert_eq!(fact(trial, "import.tool"), Some("bonnie++ 1.96"));
    assert_eq!(fact(trial, "import.machine"), Some("oak"));
    assert_eq!(fact(trial, "import.not_measured"), Some("sequential stat, random stat"));
    let rates = [
        ("per-char write", "mib_per_second", Some(0.5)),
        ("block write", "mib_per_second", Some(2.0)),
        ("rewrite", "mib_per_second", Some(1.0)),
        ("per-char read", "mib_per_second", Some(0.75)),
        ("block read", "mib_per_second", Some(4.0)),
        ("seeks", "ops_per_second", Some(106.5)),
        ("seeks", "classic_cpu_percent", Some(5.0)),
        ("seeks", "latency_ns_max", Some(6.549e9)),
        ("sequential create", "files_per_second", Some(9000.0)),
        ("sequential create", "cpu_percent", Some(26.0)),
        ("sequential stat", "files_per_second", None),
        ("sequential stat", "cpu_percent", None),
        ("sequential stat", "latency_ns_max", Some(1.418e6)),
        ("sequential delete", "files_per_second", Some(8000.0)),
        ("random create", "files_per_second", Some(7000.0)),
        ("random stat", "files_per_second", None),
        ("random delete", "files_per_second", Some(6000.0)),
        ("random delete", "latency_ns_max", Some(650e3)),
    ];
    for (kind, name, wanted) in rates {
        assert_eq!(value(trial, kind, name), wanted, "{kind} {name}");
    }
    assert_eq!(trial.metrics.len(), 36 - 4);
    let primary: Vec<&str> = trial
        .metrics
        .iter()
        .filter(|metric| metric.primary)
        .map(|metric| metric.name.as_str())
        .collect();
    assert_eq!(primary.len(), 12 - 2 - 2, "{primary:?}");
    assert!(trial.metrics.iter().all(|metric| metric.unit != Unit::Bytes));
}

#[test]
fn a_table_and_its_line_are_one_trial() {
    for text in [BONNIE.to_owned(), format!("Hi\n{}\n\n> {}\nBye", table(), line())] {
        let imported = import(text.as_bytes());
        let trial = only(&imported);
        check(trial);
        assert_eq!(trial.started_unix_ms, Some(1_400_000_000_000));
        let parameters: Vec<String> =
            trial.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(parameters, ["concurrency=1", "size=1G", "files=16384"]);
        assert_eq!(imported.remarks.len(), 2, "{:?}", imported.remarks);
    }
    let reversed = format!("{}\n{}", line(), table());
    assert_eq!(import(reversed.as_bytes()).found.len(), 1);
}

#[test]
fn each_output_format_alone_is_a_trial() {
    for text in [table(), line().to_owned()] {
        check(only(&import(text.as_bytes())));
    }
    // As a mail breaks it, and as a shell does.
    for between in ["\n", "\n> ", "\\\n"] {
        for at in [60, 130, line().len() - 5, line().len() - 2] {
            let (first, second) = line().split_at(at);
            let quote = if between == "\n> " { "> " } else { "" };
            let text = format!("{quote}{first}{between}{second}\n");
            let imported = import(text.as_bytes());
            check(only(&imported));
            assert_eq!((imported.found[0].lines, imported.skipped_lines), ((1, 2), 0));
        }
    }
}

#[test]
fn a_seed_that_the_program_chose_makes_no_other_job() {
    let seeded = |seed: &str| line().replace("1400000000", seed);
    let parameters = |text: &str| only(&import(text.as_bytes())).parameters.clone();
    assert_eq!(parameters(&seeded("1400000001")), parameters(line()));
    let newer = |seed: &str| {
        format!(
            "1.98,1.98,oak,1,{seed},1989M,,8192,5,,,153895,14,156056,12,,,+++++,+++,5204,37,,,,,,,,\
             ,,,,,,,,,,,108us,133us,,75us,109us,,,,,,\n"
        )
    };
    assert_eq!(parameters(&newer("1591800433")), parameters(&newer("1591740594")));
    assert_ne!(parameters(&newer("7")), parameters(&newer("8")), "given by the user");
    let imported = import(newer("1591800433").as_bytes());
    assert_eq!(fact(only(&imported), "import.seed"), Some("1591800433"));
}

#[test]
fn runs_joined_by_a_web_page_are_separated() {
    let glued: String = BONNIE.lines().collect();
    let other = glued.replace("106.5", "99.5").replace("2048", "3000");
    let page = format!(
        "<p>me@oak:~$ cat new.ext4 Using uid...done.{glued}me@oak:~$ cat b.xfs.txt {other}me@oak:~$"
    );
    let imported = import(page.as_bytes());
    let trials = trials(&imported);
    let names: Vec<&str> = trials.iter().map(|trial| trial.name.as_str()).collect();
    assert_eq!(names, ["ext4", "xfs"]);
    check(trials[0]);
    assert_eq!(value(trials[1], "seeks", "ops_per_second"), Some(99.5));
    let places: Vec<usize> = imported.found.iter().map(|output| output.nth).collect();
    assert_eq!(places, [0, 1]);
    let shown = format!("$ cat a.btrfs\nWriting a byte at a time...done\n{BONNIE}");
    assert_eq!(only(&import(shown.as_bytes())).name, "btrfs");
}

#[test]
fn a_table_that_contradicts_its_line_is_remarked() {
    let torn = BONNIE.replace("oak              1G   512", "oak              2G   513");
    let imported = import(torn.as_bytes());
    check(only(&imported));
    let remarks: Vec<&str> = imported.remarks.iter().map(|remark| remark.what.as_str()).collect();
    assert!(
        remarks.contains(&"per-char write, rate: the table says 513, the line 512, which is used")
    );
    assert!(
        remarks.contains(&"size: the table says 2G, the line 1G, which is used"),
        "{remarks:?}"
    );
    // Another run is another trial, and so is each line of several.
    let other = line().replace("1G,,512,99,2048,9,1024,4,768,85", "1G,,9,9,8,8,7,7,6,6");
    let other = other.replace("4096,6,106.5,5,16", "1,1,2,2,16").replace("us", "ms");
    let both = format!("{}{other}\n{}\n", table(), line());
    let imported = import(both.as_bytes());
    assert_eq!(trials(&imported).len(), 3);
    assert_eq!(imported.found[2].lines, (12, 12));
}

#[test]
fn truncated_or_out_of_range_figures_are_dropped() {
    let cut = &line()[..150];
    let imported = import(format!("{cut}\n\n\nand text, of words, and, more\n").as_bytes());
    assert!(imported.found.is_empty());
    assert_eq!(imported.remarks.len(), 1, "{:?}", imported.remarks);
    let odd = line().replace(",512,", ",99999999999999999999,").replace(",9,", ",\u{7}1m,");
    let imported = import(odd.as_bytes());
    let trial = only(&imported);
    assert_eq!(value(trial, "per-char write", "mib_per_second"), None);
    assert_eq!(value(trial, "block write", "cpu_percent"), None);
    assert_eq!(imported.remarks.len(), 4, "{:?}", imported.remarks);
    assert!(!imported.remarks.iter().any(|remark| remark.what.chars().any(char::is_control)));
}

/// Megabytes of commas take linear, not quadratic time.
#[test]
fn megabytes_of_commas_are_parsed_in_linear_time() {
    let heads = "1.96,1.96,a,1,2,1G,,";
    let table = "Version 1.96 ------Sequential Output------ %CP";
    for piece in [",", "1.9", "1.96,", heads, table, "Version ", "cat $ ", "+,", "%CP "] {
        let text = piece.repeat(1_000_000 / piece.len());
        assert!(import(text.as_bytes()).found.len() < 200_000);
        let lines = format!("{heads}\n{}\n", piece.repeat(5)).repeat(1000);
        import(lines.as_bytes());
    }
    let many = line().repeat(1000);
    assert_eq!(import(many.as_bytes()).found.len(), 1000);
}

#[test]
fn the_published_report_of_2011_holds_two_runs() {
    let Some(path) = shared("seeds/002_8a4e6bf4da58f2ee.txt") else {
        skip("the published report is not here");
        return;
    };
    let imported = import(&std::fs::read(path).unwrap());
    let trials = trials(&imported);
    let names: Vec<&str> = trials.iter().map(|trial| trial.name.as_str()).collect();
    assert_eq!(names, ["ext3", "btrfs"]);
    // Tests in their order; 0 where the report has plus signs.
    let rates = [
        [331.0, 23464.0, 10988.0, 1174.0, 39629.0, 130.4, 9964.0, 0.0, 13035.0, 11089.0, 0.0],
        [43.0, 22682.0, 10356.0, 1038.0, 28796.0, 86.8, 1623.0, 0.0, 2182.0, 1974.0, 0.0],
    ];
    let cpus = [
        [98.0, 11.0, 4.0, 85.0, 6.0, 5.0, 26.0, 0.0, 26.0, 27.0, 0.0, 24.0],
        [99.0, 17.0, 6.0, 79.0, 6.0, 99.0, 33.0, 0.0, 57.0, 27.0, 0.0, 44.0],
    ];
    let latencies = [
        [92041, 1_128_000, 1_835_000, 166_000, 308_000, 6_549_000, 17882, 1418, 1929, 489, 51, 650],
        [
            293_000, 727_000, 1_222_000, 46541, 504_000, 13_094_000, 78474, 6839, 8791, 1746, 66,
            64034,
        ],
    ];
    let lasts = [11888.0, 1907.0];
    for (run, trial) in trials.iter().enumerate() {
        let of = |unit: Unit| -> Vec<f64> {
            let metrics = trial.metrics.iter().filter(|metric| metric.unit == unit);
            metrics.map(|metric| metric.value).collect()
        };
        let data: Vec<f64> = rates[run][..5].iter().map(|rate| rate / 1024.0).collect();
        assert_eq!(of(Unit::MibPerSecond), data);
        assert_eq!(of(Unit::OpsPerSecond), rates[run][5..6]);
        let mut files: Vec<f64> =
            rates[run][6..].iter().copied().filter(|rate| *rate > 0.0).collect();
        files.push(lasts[run]);
        assert_eq!(of(Unit::FilesPerSecond), files);
        let shares: Vec<f64> = cpus[run].into_iter().filter(|share| *share > 0.0).collect();
        assert_eq!(of(Unit::Percent), shares);
        let most: Vec<f64> = latencies[run].iter().map(|us| f64::from(*us) * 1e3).collect();
        assert_eq!(of(Unit::Nanoseconds), most);
        assert_eq!(fact(trial, "import.not_measured"), Some("sequential stat, random stat"));
        assert_eq!(fact(trial, "import.machine"), Some("loki"));
        let parameters: Vec<&str> =
            trial.parameters.iter().take(3).map(|(_, value)| value.as_str()).collect();
        assert_eq!(parameters, ["1", "2264M", "16384"]);
        assert_eq!(trial.started_unix_ms, Some([1_305_039_600_000, 1_305_040_411_000][run]));
    }
    // Of each: what was not measured, and where the date is from.
    let lines: Vec<usize> = imported.remarks.iter().map(|remark| remark.line).collect();
    assert_eq!(lines, [14, 14, 16, 16], "{:?}", imported.remarks);
}

#[test]
fn lines_of_the_oldest_version_are_read_by_themselves_and_with_their_table() {
    let line = "oak,2G,512,99,2048,9,1024,4,768,85,4096,6,106.5,5,16,9000,26,+++++,+++,8000,26,\
                7000,27,+++++,+++,6000,24";
    let imported = import(format!("a result:\n\n{line}\n\nand more, with a comma\n").as_bytes());
    let runs = trials(&imported);
    assert_eq!(runs.len(), 1, "{imported:?}");
    let rate = |scope: &str, name: &str| {
        let kind = Scope::Kind(scope.to_owned());
        let of = |trial: &&ForeignTrial| {
            trial
                .metrics
                .iter()
                .find(|metric| metric.scope == kind && metric.name == name)
                .map(|metric| metric.value)
        };
        of(&runs[0])
    };
    assert_eq!(rate("block write", "mib_per_second"), Some(2.0));
    assert_eq!(rate("random delete", "files_per_second"), Some(6000.0));
    assert_eq!(rate("sequential stat", "files_per_second"), None);
    let table = table().replace("1.96", "1.03").replace("              1G", "              2G");
    let rows = table.split_inclusive('\n').filter(|line| !line.starts_with("Latency"));
    let table: String = rows.collect();
    let both = import(format!("{table}{line}\n").as_bytes());
    assert_eq!(trials(&both).len(), 1, "{both:?}");
}
