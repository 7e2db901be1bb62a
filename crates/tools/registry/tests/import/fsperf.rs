//! Databases of fsperf, made here with its tables.

use rusqlite::{Connection, MAIN_DB};
use treering_model::{BetterDirection, Metric, Unit};
use treering_registry::{ForeignTrial, ImportResult, ImportedTrial, import};

const TABLES: &str = "
    CREATE TABLE runs (id INTEGER PRIMARY KEY, kernel VARCHAR, config VARCHAR, name VARCHAR,
        hostname VARCHAR, purpose VARCHAR, time DATETIME);
    CREATE TABLE fio_results (id INTEGER PRIMARY KEY, run_id INTEGER NOT NULL, read_iops FLOAT,
        write_bw_bytes INTEGER, write_clat_ns_p99 INTEGER);
    CREATE TABLE time_results (id INTEGER PRIMARY KEY, run_id INTEGER NOT NULL, elapsed FLOAT);
    CREATE TABLE latency_traces (id INTEGER PRIMARY KEY, run_id INTEGER NOT NULL,
        function VARCHAR, ns_mean FLOAT, calls INTEGER);
    CREATE TABLE alembic_version (version_num VARCHAR(32));
";
const RUNS: &str = "
    INSERT INTO runs VALUES
        (1, '6.9.0', 'btrfs', 'randwrite', 'oak', 'before', '2024-05-01 10:20:30.250000'),
        (2, '6.9.0', 'btrfs', 'untar', 'oak', 'before', '2024-05-01 10:30:30'),
        (3, '6.10.0', 'btrfs', 'untar', 'oak', 'after', '2024-05-02 10:30:30');
    INSERT INTO fio_results VALUES (1, 1, 0.0, 104857600, 350000);
    INSERT INTO time_results VALUES (1, 2, 21.75), (2, 3, 27.5), (3, 99, 1.0);
    INSERT INTO latency_traces VALUES (1, 2, 'btrfs_sync_log', 15000.5, 321);
";

/// Bytes of a database made by these statements.
fn database(statements: &str) -> Vec<u8> {
    let made = Connection::open_in_memory().unwrap();
    made.execute_batch(statements).unwrap();
    made.serialize(MAIN_DB).unwrap().to_vec()
}

fn trials(imported: &ImportResult) -> Vec<&ForeignTrial> {
    let each = imported.found.iter().map(|found| match &found.content {
        ImportedTrial::Foreign(trial) => &**trial,
        ImportedTrial::Own(_) => panic!("a trial of treering"),
    });
    each.collect()
}

fn refused(bytes: &[u8]) -> String {
    let imported = import(bytes);
    assert!(imported.found.is_empty());
    imported.remarks[0].what.clone()
}

#[test]
fn each_run_is_a_trial_under_its_purpose() {
    let imported = import(&database(&format!("{TABLES}{RUNS}")));
    assert_eq!(imported.remarks, []);
    let trials = trials(&imported);
    let names: Vec<&str> = trials.iter().map(|trial| trial.name.as_str()).collect();
    assert_eq!(names, ["before", "before", "after"]);
    assert_eq!(trials[0].started_unix_ms, Some(1_714_558_830_250));
    let tests: Vec<&str> = trials.iter().map(|trial| trial.parameters[0].1.as_str()).collect();
    assert_eq!(tests, ["randwrite", "untar", "untar"]);
    let version = trials[2].facts.iter().find(|fact| fact.name == "version").unwrap();
    assert_eq!(version.value, "6.10.0");
    let of_fio: Vec<(&str, f64, Unit)> =
        trials[0].metrics.iter().map(|it| (it.name.as_str(), it.value, it.unit)).collect();
    let rate = ("write_bw", 100.0, Unit::MibPerSecond);
    assert_eq!(of_fio, [rate, ("write_clat_ns_p99", 350_000.0, Unit::Nanoseconds)]);
    let traced = trials[1].metrics.iter().find(|it| it.name == "btrfs_sync_log_ns_mean").unwrap();
    assert_eq!((traced.value, traced.better), (15000.5, BetterDirection::Lower));
    let decides = |metric: &&Metric| metric.primary;
    let deciding: Vec<&str> =
        trials[1].metrics.iter().filter(decides).map(|it| it.name.as_str()).collect();
    assert_eq!(deciding, ["elapsed"]);
}

#[test]
fn a_database_with_a_write_ahead_log_is_read() {
    let mut bytes = database(&format!("{TABLES}{RUNS}"));
    bytes[18..20].fill(2);
    assert_eq!(import(&bytes).found.len(), 3);
}

#[test]
fn other_databases_are_refused_with_the_reason() {
    assert!(refused(&database("CREATE TABLE t (a)")).contains("not of fsperf"));
    assert!(refused(&database(TABLES)).contains("without a run"));
    let own = database("PRAGMA application_id = 0x54526e67; CREATE TABLE t (a)");
    assert!(refused(&own).contains("store merge"));
    let view = "CREATE VIEW runs AS SELECT 1 AS id, 'x' AS name, '2024-05-01' AS time";
    assert!(refused(&database(view)).contains("not of fsperf"));
}

#[test]
fn a_damaged_database_is_an_error_and_no_crash() {
    let whole = database(&format!("{TABLES}{RUNS}"));
    for at in (100..whole.len()).step_by(97) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0xff;
        import(&damaged);
        import(&whole[..at]);
    }
}
