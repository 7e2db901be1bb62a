//! Import of fio in each output format; the texts are real, but shortened.

use treering_model::{CautionCode, Metric, Op, Scope};
use treering_registry::{ForeignTrial, ImportResult, ImportedTrial, import};

use crate::logs::only;

/// Output of 1.38, with lines broken by a mail program.
pub(crate) const FIO_OLD: &str = "\
seq: (g=0): rw=read, bs=8K-8K/8K-8K, ioengine=libaio, iodepth=8
...
seq: (g=0): rw=read, bs=8K-8K/8K-8K, ioengine=libaio, iodepth=8
rnd: (g=1): rw=randwrite, bs=8K-8K/8K-8K, ioengine=libaio,
iodepth=8
Starting 8 threads

seq: (groupid=0, jobs=4): err= 0: pid=77
  read : io=65,128KB, bw=541KB/s, iops=67, runt=120381msec
    slat (usec): min=48, max=55,230, avg=167.95, stdev=248.50
    clat (msec): min=74, max=4,229, avg=472.23, stdev=129.50
    bw (KB/s) : min=    0, max=  203, per=25.34%, avg=137.08,
stdev=21.73
  cpu          : usr=0.85%, sys=2.19%, ctx=44001, majf=30, minf=3726
  IO depths    : 1=0.1%, 2=0.1%, 4=0.2%, 8=99.7%, 16=0.0%, 32=0.0%,
>=64=0.0%
     submit    : 0=0.0%, 4=100.0%, 8=0.0%, 16=0.0%, 32=0.0%, 64=0.0%,
>=64=0.0%
     complete  : 0=0.0%, 4=100.0%, 8=0.1%, 16=0.0%, 32=0.0%, 64=0.0%,
>=64=0.0%
     issued r/w: total=8141/0, short=0/0

     lat (msec): 100=0.04%, 250=0.09%, 500=81.72%, 750=13.09%,
1000=2.97%
     lat (msec): 2000=1.50%, >=2000=0.59%
rnd: (groupid=1, jobs=4): err= 0: pid=77
  write: io=200MB, bw=1,698KB/s, iops=212, runt=120331msec
    slat (usec): min=48, max=215K, avg=2272.24, stdev=2283.09
    clat (usec): min=762, max=14,617K, avg=147521.66, stdev=444146.36
  cpu          : usr=1.25%, sys=4.20%, ctx=135229, majf=0, minf=10194
  IO depths    : 1=0.1%, 2=0.1%, 4=0.1%, 8=99.9%, 16=0.0%, 32=0.0%, >=64=0.0%
     issued r/w: total=0/25536, short=0/0

Run status group 0 (all jobs):
   READ: io=65,128KB, aggrb=541KB/s, minb=553KB/s, maxb=553KB/s,
mint=120381msec, maxt=120381msec

Run status group 1 (all jobs):
  WRITE: io=200MB, aggrb=1,697KB/s, minb=1,738KB/s, maxb=1,738KB/s, mint=120331msec, maxt=120331msec

Disk stats (read/write):
  loop0: ios=10/20, merge=1/2, ticks=300/400, in_queue=700, util=12.50%
";

/// Output of 3.33.
pub(crate) const FIO_NEW: &str = "\
w: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync, iodepth=1
fio-3.33
Starting 1 process
w: Laying out IO file (1 file / 2MiB)
Jobs: 1 (f=1): [m(1)][100.0%][r=1MiB/s][eta 00m:00s]

w: (groupid=0, jobs=1): err= 0: pid=5: Sun Nov 22 02:31:44 2026
  read: IOPS=35.2k, BW=138MiB/s (144MB/s)(138MiB/1002msec)
    clat (nsec): min=1057, max=3493.5k, avg=41811.83, stdev=59703.17
     lat (usec): min=20, max=3683, avg=239.97, stdev=234.33
    clat percentiles (usec):
     |  1.00th=[   36],  5.00th=[   65], 10.00th=[   81], 20.00th=[
101],
     | 99.00th=[ 1303], 99.50th=[ 1418], 99.90th=[ 1729], 99.95th=[ 1942],
     | 99.99th=[ 2212]
   bw (  KiB/s): min=275792, max=275792, per=97.82%, avg=275792.00, stdev= 0.00, samples=2
   iops        : min=34474, max=34474, avg=34474.00, stdev= 0.00, samples=2
  write: IOPS=9980, BW=39.0MiB/s (40.9MB/s)(39.1MiB/1002msec); 0 zone resets
    clat (usec): min=8, max=3660, avg=200.41, stdev=230.23
  lat (usec)   : 10=0.01%, 50=2.17%, 100=17.33%, 250=69.26%
  lat (msec)   : 2=2.87%, 4=0.05%
  fsync/fdatasync/sync_file_range:
    sync (usec): min=214, max=9802, avg=753.82, stdev=730.78
    sync percentiles (usec):
     |  1.00th=[  227], 99.99th=[ 9765]
  cpu          : usr=10.00%, sys=50.00%, ctx=32799, majf=0, minf=2
  IO depths    : 1=100.0%, 2=0.0%, 4=0.0%, 8=0.0%, 16=0.0%, 32=0.0%, >=64=0.0%
     issued rwts: total=35312,10000,0,7 short=0,0,0,0 dropped=0,0,0,0
     latency   : target=0, window=0, percentile=100.00%, depth=1

Run status group 0 (all jobs):
   READ: bw=138MiB/s (144MB/s), 138MiB/s-138MiB/s (144MB/s-144MB/s), io=138MiB (145MB), run=1002-1002msec
  WRITE: bw=39.0MiB/s (40.9MB/s), 39.0MiB/s-39.0MiB/s (40.9MB/s-40.9MB/s), io=39.1MiB (41.0MB), run=1002-1002msec

Disk stats (read/write):
    dm-0: ios=1/2, sectors=8/16, merge=0/0, ticks=3/4, in_queue=7, util=1.00%, aggrios=1/2, aggrutil=0.50%
  vda: ios=1/2, sectors=8/16, merge=0/0, ticks=3/4, in_queue=7, util=0.50%
";

/// JSON of the same run as `FIO_NEW`.
pub(crate) const FIO_JSON: &str = r#"{
  "fio version" : "fio-3.33",
  "timestamp" : 1795314704,
  "timestamp_ms" : 1795314704250,
  "time" : "Sun Nov 22 02:31:44 2026",
  "global options" : { "directory" : "/m", "bs" : "4k", "runtime" : "1" },
  "jobs" : [
    {
      "jobname" : "w", "groupid" : 0, "error" : 0, "eta" : 0, "elapsed" : 2,
      "job options" : { "rw" : "randrw", "write_lat_log" : "x" },
      "read" : {
        "io_bytes" : 144637952, "io_kbytes" : 141248, "bw_bytes" : 144349253, "bw" : 140966,
        "iops" : 35241.516966, "runtime" : 1002, "total_ios" : 35312,
        "slat_ns" : { "min" : 0, "max" : 0, "mean" : 0.0, "stddev" : 0.0, "N" : 0 },
        "clat_ns" : {
          "min" : 1057, "max" : 3493500, "mean" : 41811.83, "stddev" : 59703.17, "N" : 35312,
          "percentile" : { "1.000000" : 36000, "99.950000" : 1942000 },
          "bins" : { "1064" : 312, "41000" : 34999, "3489792" : 1 }
        },
        "lat_ns" : { "min" : 20000, "max" : 3683000, "mean" : 239970.0, "stddev" : 1.0, "N" : 35312 },
        "bw_min" : 275792, "bw_max" : 275792, "bw_agg" : 97.8, "bw_mean" : 275792.0, "bw_dev" : 0.0,
        "iops_min" : 34474, "iops_max" : 34474, "iops_mean" : 34474.0, "iops_stddev" : 0.0
      },
      "write" : {
        "io_bytes" : 40960000, "io_kbytes" : 40000, "bw_bytes" : 40878243, "bw" : 39920,
        "iops" : 9980.03992, "runtime" : 1002, "total_ios" : 10000,
        "clat_ns" : { "min" : 8000, "max" : 3660000, "mean" : 200410.0, "stddev" : 230230.0, "N" : 10000 }
      },
      "trim" : { "io_bytes" : 0, "io_kbytes" : 0, "bw_bytes" : 0, "iops" : 0.0, "runtime" : 0, "total_ios" : 0 },
      "sync" : { "total_ios" : 7, "lat_ns" : { "min" : 214000, "max" : 9802000, "mean" : 753820.0, "stddev" : 1.0, "N" : 7 } },
      "job_runtime" : 1002, "usr_cpu" : 10.0, "sys_cpu" : 50.0, "ctx" : 32799, "majf" : 0, "minf" : 2,
      "iodepth_level" : { "1" : 100.0, "2" : 0.0, ">=64" : 0.0 },
      "latency_us" : { "10" : 0.01, "50" : 2.17, "100" : 17.33, "1000" : 0.0 },
      "latency_ms" : { "2" : 2.87, ">=2000" : 0.0 }
    }
  ],
  "disk_util" : [
    { "name" : "vda", "read_ios" : 1, "write_ios" : 2, "read_ticks" : 3, "write_ticks" : 4, "in_queue" : 7, "util" : 0.5 }
  ]
}
"#;

fn kind(name: &str) -> Scope {
    Scope::Kind(name.to_owned())
}

fn find<'t>(trial: &'t ForeignTrial, scope: &Scope, name: &str) -> &'t Metric {
    let same = |metric: &&Metric| metric.scope == *scope && metric.name == name;
    let first = trial.metrics.iter().find(same);
    first.unwrap_or_else(|| panic!("no {name} of {scope:?} in {:#?}", trial.metrics))
}

fn near(trial: &ForeignTrial, scope: &Scope, name: &str, value: f64) {
    let actual = find(trial, scope, name).value;
    assert!((actual - value).abs() <= value.abs() * 1e-9, "{name} of {scope:?}: {actual}");
}

fn fact<'t>(trial: &'t ForeignTrial, name: &str) -> Option<&'t str> {
    trial.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str())
}

fn parameter<'t>(trial: &'t ForeignTrial, name: &str) -> Option<&'t str> {
    let pair = trial.parameters.iter().find(|(known, _)| known == name);
    pair.map(|(_, value)| value.as_str())
}

fn reported(imported: &ImportResult) -> Vec<String> {
    imported.remarks.iter().map(|remark| format!("{}: {}", remark.line, remark.what)).collect()
}

#[test]
fn broken_output_of_an_old_version_is_joined_and_read() {
    let imported = import(format!("Hi,\n\n{FIO_OLD}\nBye\n").as_bytes());
    let trial = only(&imported);
    assert_eq!(imported.found[0].lines, (3, 3 + FIO_OLD.lines().count() - 1));
    assert_eq!(imported.skipped_lines, 2);
    let timed = "3: its size is not a whole number of MiB: taken for a run with a time limit";
    assert_eq!(reported(&imported), [timed]);
    assert_eq!(fact(trial, "work.amount"), Some("timed"));
    assert_eq!(parameter(trial, "rnd iodepth"), Some("8"));
    assert_eq!(parameter(trial, "seq jobs"), Some("4"));
    let (seq, rnd) = (kind("seq"), kind("rnd"));
    // More digits than are printed, from the number of operations.
    near(trial, &seq, "read_mib_per_second", 8141.0 * 8192.0 / 120.381 / 1_048_576.0);
    near(trial, &seq, "read_operations_per_second", 8141.0 / 120.381);
    near(trial, &rnd, "write_operations_per_second", 25_536.0 / 120.331);
    assert!(find(trial, &rnd, "write_mib_per_second").primary);
    assert!(!find(trial, &rnd, "write_operations_per_second").primary);
    near(trial, &seq, "read_slat_max_nanoseconds", 55_230_000.0);
    near(trial, &seq, "read_clat_mean_nanoseconds", 472_230_000.0);
    near(trial, &rnd, "write_clat_max_nanoseconds", 14_617e6);
    near(trial, &seq, "read_sample_mib_per_second_mean", 137.08 / 1024.0);
    let phase = Scope::Phase("seq".to_owned());
    near(trial, &phase, "system_cpu_percent", 2.19);
    near(trial, &phase, "within_100ms_percent", 0.04);
    near(trial, &phase, "within_1s_percent", 0.04 + 0.09 + 81.72 + 13.09 + 2.97);
    assert_eq!(
        fact(trial, "import.seq.latency_shares"),
        Some(
            "100ms=0.04%, 250ms=0.09%, 500ms=81.72%, 750ms=13.09%, 1s=2.97%, 2s=1.50%, more=0.59%"
        )
    );
    assert_eq!(fact(trial, "import.rnd.io_depths"), Some("1=0.1%, 2=0.1%, 4=0.1%, 8=99.9%"));
    near(trial, &kind("disk loop0"), "in_queue_seconds", 0.7);
    near(trial, &kind("disk loop0"), "busy_percent", 12.5);
    assert_eq!(trial.phases.len(), 2);
    assert_eq!((trial.phases[0].bytes, trial.phases[0].tasks), (8141 * 8192, 4));
    // 2.19 % of four threads for 120.381 s.
    assert_eq!(trial.phases[0].cpu.system_ns, 10_545_375_600);
    assert_eq!(trial.cautions, [], "no option is reported, and none is guessed");
}

#[test]
fn a_text_of_a_new_version_is_read() {
    let imported = import(FIO_NEW.as_bytes());
    let trial = only(&imported);
    assert_eq!(fact(trial, "import.tool"), Some("fio 3.33"));
    assert_eq!(trial.started_unix_ms, Some(1_795_314_704_000 - 1002));
    let (read, write, sync) = (kind("w"), kind("w"), kind("w"));
    near(trial, &read, "read_mib_per_second", 35_312.0 * 4096.0 / 1.002 / 1_048_576.0);
    near(trial, &write, "write_operations_per_second", 10_000.0 / 1.002);
    near(trial, &read, "read_clat_min_nanoseconds", 1057.0);
    near(trial, &read, "read_clat_max_nanoseconds", 3_493_500.0);
    near(trial, &read, "read_latency_mean_nanoseconds", 239_970.0);
    near(trial, &read, "read_clat_p20_nanoseconds", 101_000.0);
    near(trial, &read, "read_clat_p995_nanoseconds", 1_418_000.0);
    near(trial, &read, "read_clat_p9999_nanoseconds", 2_212_000.0);
    near(trial, &read, "read_sample_operations_per_second_mean", 34_474.0);
    near(trial, &sync, "sync_latency_mean_nanoseconds", 753_820.0);
    near(trial, &sync, "sync_latency_p9999_nanoseconds", 9_765_000.0);
    near(trial, &sync, "sync_requests", 7.0);
    near(trial, &kind("disk dm-0"), "read_sectors", 8.0);
    near(trial, &kind("disk vda"), "busy_percent", 0.5);
    assert_eq!(reported(&imported), [""; 0]);
    assert_eq!(fact(trial, "work.amount"), None, "177 MiB are a size that somebody asked for");
}

#[test]
fn json_with_bins_is_read_completely() {
    let imported = import(format!("note: both iodepth\n{FIO_JSON}").as_bytes());
    let trial = only(&imported);
    assert_eq!(reported(&imported), [""; 0]);
    assert_eq!((trial.target.as_str(), trial.wall_ns), ("/m", 1_002_000_000));
    assert_eq!(trial.started_unix_ms, Some(1_795_314_703_248));
    let names: Vec<&str> = trial.parameters.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["bs", "runtime", "w rw"]);
    near(trial, &kind("w"), "read_mib_per_second", 144_349_253.0 / 1_048_576.0);
    near(trial, &kind("w"), "read_clat_p9995_nanoseconds", 1_942_000.0);
    near(trial, &kind("w"), "sync_requests", 7.0);
    let ops = &trial.phases[0].ops;
    assert_eq!(ops.len(), 1, "only of reads there are counts");
    assert_eq!((ops[0].op, ops[0].calls, ops[0].latency.samples()), (Op::Read, 35_312, 35_312));
    let median = ops[0].latency.quantile_ns(0.5);
    assert!((40_500..41_500).contains(&median), "{median}");
    assert_eq!(fact(trial, "import.latency"), Some("completion (clat), without submission"));
    assert_eq!(fact(trial, "import.w.io_depths"), Some("1=100.0%"));
    let codes: Vec<CautionCode> = trial.cautions.iter().map(|caution| caution.code).collect();
    assert_eq!(codes, [CautionCode::DataFitInMemory, CautionCode::TooShort]);
    let direct = FIO_JSON.replace(r#""bs" : "4k""#, r#""direct" : "1""#);
    assert_eq!(only(&import(direct.as_bytes())).cautions, []);
    let buffered = FIO_JSON.replace(r#""bs" : "4k""#, r#""ioengine" : "libaio""#);
    let remarks = reported(&import(buffered.as_bytes()));
    assert!(remarks[0].starts_with("1: w read: asynchronous without direct=1"), "{remarks:?}");
    let counts = FIO_JSON.replace(r#""1064" : 312"#, r#""1064" : 313"#);
    let remarks = reported(&import(counts.as_bytes()));
    assert_eq!(remarks, ["1: w read: the counts of its latencies are not 35312 in all"]);
}

#[test]
fn json_of_old_versions_is_in_kib_and_microseconds() {
    let text = r#"{ "fio version" : "fio-2.2.10", "timestamp" : 1444144664, "jobs" : [ {
        "jobname" : "r", "groupid" : 0, "error" : 0, "elapsed" : 26,
        "read" : { "io_bytes" : 7116, "bw" : 275, "iops" : 68, "runtime" : 25788, "total_ios" : 1779,
          "slat" : { "min" : 0, "max" : 0, "mean" : 0.00, "stddev" : -nan },
          "clat" : { "min" : 53, "max" : 6329, "mean" : 100.50, "stddev" : 2.00,
            "percentile" : { "50.000000" : 99, "0.00" : 0 },
            "bins" : { "FIO_IO_U_PLAT_BITS" : 6, "FIO_IO_U_PLAT_VAL" : 64, "5" : 2, "128" : 1 } } }
    } ] }"#;
    let imported = import(text.as_bytes());
    let trial = only(&imported);
    let read = kind("r");
    near(trial, &read, "read_mib_per_second", 7116.0 / 1024.0 / 25.788);
    near(trial, &read, "read_operations_per_second", 1779.0 / 25.788);
    near(trial, &read, "read_clat_mean_nanoseconds", 100_500.0);
    near(trial, &read, "read_clat_p50_nanoseconds", 99_000.0);
    let percentiles = trial.metrics.iter().filter(|metric| metric.name.contains("_p"));
    assert_eq!(percentiles.filter(|metric| metric.name.starts_with("read_clat")).count(), 1);
    assert!(trial.phases.is_empty(), "the time of the clones is not reported");
    assert_eq!(trial.cautions, [], "options are reported since 2.3");
}

/// Terse line of this version: a read of `kib` KiB, and a device with `disk_reads` reads.
fn terse(version: u32, name: &str, kib: u64, disk_reads: u64) -> String {
    let head = match version {
        2 => format!("2;{name};0;0"),
        _ => format!("{version};fio-3.33;{name};0;0"),
    };
    let samples = if version == 5 { ";3;90;110;100.5;5.5;3" } else { "" };
    let mut percentiles: Vec<String> = vec!["50.000000%=90".into(), "99.990000%=1286".into()];
    percentiles.resize(20, "0%=0".into());
    let percentiles = percentiles.join(";");
    let read = format!(
        "{kib};{};100;10000;1;9;2.5;0.5;80;1500;95.5;10.25;{percentiles};81;1509;98.0;11.0;\
         30;50;99.5%;40.5;2.5{samples}",
        kib / 10
    );
    let none: Vec<&str> = vec!["0"; if version == 5 { 47 } else { 41 }];
    let none = none.join(";");
    let others = if version == 3 { 1 } else { 2 };
    let mut text = format!("{head};{read}");
    for _ in 0..others {
        text += &format!(";{none}");
    }
    text += ";11.050000%;25.600000%;3661;1;32";
    text += ";0.1%;0.1%;0.1%;99.8%;0.0%;0.0%;0.0%";
    text += &";0.00%".repeat(5);
    text += ";90.00%";
    text += &";0.00%".repeat(4);
    text += &";0.00%".repeat(11);
    text += ";10.00%";
    if version > 2 {
        text += &format!(";vda;{disk_reads};2;0;4;1000;6;1006;39.81%");
    }
    text
}

#[test]
fn terse_lines_of_all_versions_are_read() {
    for version in 2..=5 {
        let imported = import(terse(version, "a b", 10_001, 7).as_bytes());
        let trial = only(&imported);
        let read = kind("a b");
        near(trial, &read, "read_mib_per_second", 1000.1 / 1024.0);
        near(trial, &read, "read_runtime_seconds", 10.0);
        near(trial, &read, "read_slat_mean_nanoseconds", 2_500.0);
        near(trial, &read, "read_clat_stddev_nanoseconds", 10_250.0);
        near(trial, &read, "read_clat_p50_nanoseconds", 90_000.0);
        near(trial, &read, "read_clat_p9999_nanoseconds", 1_286_000.0);
        near(trial, &read, "read_latency_max_nanoseconds", 1_509_000.0);
        near(trial, &read, "read_sample_mib_per_second_mean", 40.5 / 1024.0);
        let has_iops =
            trial.metrics.iter().any(|m| m.name == "read_sample_operations_per_second_mean");
        assert_eq!(has_iops, version == 5);
        let phase = Scope::Phase("a b".to_owned());
        near(trial, &phase, "system_cpu_percent", 25.6);
        near(trial, &phase, "context_switches", 3661.0);
        near(trial, &phase, "within_100us_percent", 90.0);
        assert_eq!(fact(trial, "import.a b.latency_shares"), Some("100us=90.00%, more=10.00%"));
        assert_eq!(fact(trial, "import.a b.io_depths"), Some("1=0.1%, 2=0.1%, 4=0.1%, 8=99.8%"));
        if version > 2 {
            near(trial, &kind("disk vda"), "read_ticks_seconds", 1.0);
        }
    }
}

#[test]
fn neighbouring_terse_lines_are_clones_or_separate_runs() {
    let twice = |reads: [u64; 2]| {
        format!("{}\n{}\n", terse(3, "a", 1024, reads[0]), terse(3, "a", 2048, reads[1]))
    };
    // The same devices did the same: one run.
    let imported = import(twice([7, 7]).as_bytes());
    let trial = only(&imported);
    near(trial, &kind("a"), "read_mib_per_second", 0.3);
    assert_eq!(find(trial, &kind("a"), "read_mib_per_second").tasks, 2);
    assert!(!find(trial, &kind("a.1"), "read_mib_per_second").primary);
    assert_eq!(import(twice([7, 8]).as_bytes()).found.len(), 2);
}

#[test]
fn a_run_in_two_formats_is_one_trial() {
    let (heads, results) = FIO_NEW.split_once("\n\n").unwrap();
    let both = format!("{heads}\n{FIO_JSON}\n{results}");
    let imported = import(both.as_bytes());
    let trial = only(&imported);
    assert_eq!(reported(&imported), ["1: this run is reported in two forms, and imported once"]);
    assert_eq!(trial.phases[0].ops.len(), 1, "that of JSON stands");
    let other = FIO_JSON.replace("\"runtime\" : 1002", "\"runtime\" : 1003");
    assert_eq!(import(format!("{FIO_NEW}\n{other}").as_bytes()).found.len(), 2);
}

#[test]
fn an_interim_status_is_not_a_separate_run() {
    let later = FIO_JSON
        .replace("1795314704250", "1795314705250")
        .replace("\"elapsed\" : 2", "\"elapsed\" : 3");
    let imported = import(format!("{FIO_JSON}{later}").as_bytes());
    assert_eq!(only(&imported).wall_ns, 3_000_000_000);
    // Another beginning is another run.
    let other = FIO_JSON.replace("1795314704250", "1795314764250");
    assert_eq!(import(format!("{FIO_JSON}{other}").as_bytes()).found.len(), 2);
    let (_, results) = FIO_NEW.split_once("\n\n").unwrap();
    let imported = import(format!("{FIO_NEW}\n{results}").as_bytes());
    only(&imported);
    let remarks = reported(&imported);
    assert!(remarks.iter().any(|remarks| remarks.contains("an earlier status")), "{remarks:?}");
    let other = results.replace("pid=5", "pid=6");
    assert_eq!(import(format!("{FIO_NEW}\n{other}").as_bytes()).found.len(), 2);
}

#[test]
fn clones_and_groups_are_summed_up() {
    let clone = FIO_NEW.split_once("\n\n").unwrap().1.split("\n\n").next().unwrap();
    let other = clone.replace("w: (groupid", "v: (groupid");
    let imported =
        import(format!("{clone}\n{clone}\n{other}\n").replace("pid=5", "pid=9").as_bytes());
    let trial = only(&imported);
    let ops = 35_312.0 / 1.002;
    near(trial, &kind("w.1"), "read_operations_per_second", ops);
    near(trial, &kind("w"), "read_operations_per_second", 2.0 * ops);
    near(trial, &kind("group 0"), "read_operations_per_second", 3.0 * ops);
    let primary: Vec<&Scope> =
        trial.metrics.iter().filter(|m| m.primary).map(|metric| &metric.scope).collect();
    assert_eq!(primary, [&kind("v"), &kind("v"), &kind("w"), &kind("w")]);
}

#[test]
fn failed_and_truncated_runs_are_remarked_and_interrupted() {
    let failed = FIO_OLD
        .replace("jobs=4): err= 0: pid=77\n  write", "jobs=4): err=28 (file:x): pid=77\n  write");
    let imported = import(failed.as_bytes());
    assert!(only(&imported).is_interrupted);
    assert!(reported(&imported).iter().any(|remarks| remarks.contains("rnd ended with error 28")));
    let cut = FIO_OLD.split("rnd: (groupid").next().unwrap();
    let imported = import(cut.as_bytes());
    assert!(only(&imported).is_interrupted);
    let remarks = reported(&imported);
    assert!(remarks.iter().any(|remarks| remarks.contains("no result of group 1")), "{remarks:?}");
    let heads = FIO_OLD.split("\n\n").next().unwrap();
    let imported = import(heads.as_bytes());
    assert_eq!(imported.found, []);
    assert_eq!(
        reported(&imported),
        ["1: fio has no result: its run failed or its output is truncated"]
    );
    let stopped = FIO_NEW.replace("Jobs: 1", "fio: terminating on signal 2\nJobs: 1");
    assert!(only(&import(stopped.as_bytes())).is_interrupted);
    let sum = FIO_OLD.replace("READ: io=65,128KB", "READ: io=75,128KB");
    let remarks = reported(&import(sum.as_bytes()));
    assert!(remarks[1].starts_with("35: group 0 read: its sum is 75,128KB"), "{remarks:?}");
    let torn = FIO_JSON.replace("\"error\" : 0", "\"error\" : ");
    let remarks = reported(&import(torn.as_bytes()));
    assert!(remarks[0].starts_with("9: this JSON of fio cannot be read"), "{remarks:?}");
}

#[test]
fn figures_survive_mail_formatting() {
    let whole = import(FIO_NEW.as_bytes());
    let quoted: String = format!("> {}", FIO_NEW.replace('\n', "\n> "));
    assert_eq!(only(&import(quoted.as_bytes())), only(&whole));
    let hard = FIO_NEW.replace("   ", " \u{a0} ");
    assert_eq!(only(&import(hard.as_bytes())), only(&whole));
    // Two runs, one below the other, are two trials.
    let both = import(format!("{FIO_OLD}\n2. other\n\n{FIO_OLD}").as_bytes());
    let foreign = |content: &ImportedTrial| matches!(content, ImportedTrial::Foreign(_));
    assert_eq!(both.found.iter().filter(|output| foreign(&output.content)).count(), 2);
}

#[test]
fn runs_of_a_script_are_distinguished_by_command_line() {
    let pass = |jobs: u32, reads: u64| {
        let command = format!("fio --directory=/m --name=a --rw=read --direct=1 --numjobs={jobs}");
        format!("{command} --runtime=15\n{}\n", terse(5, "a", 1 << 14, reads))
    };
    let imported = import(format!("{}{}", pass(1, 7), pass(2, 7)).as_bytes());
    assert_eq!(imported.found.len(), 2);
    for (output, jobs) in imported.found.iter().zip(["1", "2"]) {
        let ImportedTrial::Foreign(trial) = &output.content else { panic!() };
        assert_eq!(parameter(trial, "numjobs"), Some(jobs));
        assert_eq!((trial.target.as_str(), fact(trial, "work.amount")), ("/m", Some("timed")));
        assert_eq!(trial.cautions, []);
    }
    assert_eq!(reported(&imported), [""; 0]);
}

#[test]
fn output_of_intermediate_versions_is_read() {
    let text = "\
t: (g=0): rw=randrw, bs=4K-4K/4K-4K/4K-4K, ioengine=sync, iodepth=1
fio-2.1.11
Starting 1 thread and 1 process

t: (groupid=0, jobs=2): err= 0: pid=9: Tue Oct  6 11:17:44 2015
  read : io=1024.0KB, bw=102400B/s, iops=25 , runt= 10240msec
    clat (usec): min=2 , max=105 , avg= 3.21, stdev= 1.02
     lat (usec): min=2 , max=106 , avg= 3.31, stdev= 1.03
    clat percentiles (usec):
     |  1.00th=[    2],  5.00th=[    3], 99.00th=[   12]
    bw (KB  /s): min=   96, max=  104, per=49.50%, avg=99.50, stdev= 1.50
  write: io=2048.0KB, bw=204800B/s, iops=50, runt= 10240msec
    lat (usec) : 2=0.50%, 4=95.00%, 10=4.00%
  cpu          : usr=0.10%, sys=0.20%, ctx=512, majf=0, minf=7
  IO depths    : 1=100.0%, 2=0.0%, 4=0.0%, 8=0.0%, 16=0.0%, 32=0.0%, >=64=0.0%
     issued    : total=r=256/w=512/d=0, short=r=0/w=0/d=0, drop=r=0/w=0/d=0
     latency   : target=0, window=0, percentile=100.00%, depth=1

Run status group 0 (all jobs):
   READ: io=1024KB, aggrb=100KB/s, minb=100KB/s, maxb=100KB/s, mint=10240msec, maxt=10240msec
  WRITE: io=2048KB, aggrb=200KB/s, minb=200KB/s, maxb=200KB/s, mint=10240msec, maxt=10240msec
";
    let imported = import(text.as_bytes());
    let trial = only(&imported);
    assert_eq!(reported(&imported), [""; 0]);
    assert_eq!(fact(trial, "import.tool"), Some("fio 2.1.11"));
    near(trial, &kind("t"), "read_mib_per_second", 1.0 / 10.24);
    near(trial, &kind("t"), "write_operations_per_second", 50.0);
    near(trial, &kind("t"), "read_clat_p99_nanoseconds", 12_000.0);
    near(trial, &kind("t"), "read_sample_mib_per_second_mean", 99.5 / 1024.0);
    let older = text.replace("fio-2.1.11", "fio 1.59");
    assert_eq!(fact(only(&import(older.as_bytes())), "import.tool"), Some("fio 1.59"));
    // Reported by powers of 1000, as `kb_base=1000` has it since 2.18.
    let base = FIO_NEW.replace("io=138MiB (145MB)", "io=145MB (138MiB)");
    assert_eq!(reported(&import(base.as_bytes())), [""; 0]);
}
