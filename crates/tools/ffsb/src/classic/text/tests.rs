//! Comparison of the output with two reports of the original: one of 2012 from a mailing list
//! archive, and one of RC2 on a loop device.

use super::{
    GroupReport, aging, configuration, creating, finished, report, reusing, set_up, set_up_only,
    size, starting, syncing, three_digits,
};
use crate::classic::tally::{CallTimes, OperationCounts, WorkerCounters};
use crate::language::operation::Operation;
use crate::language::{LatencySelection, Profile, TimedCall, parse};

const EVERYTHING: &str = include_str!("../../../../../../examples/ffsb/everything-2012.ffsb");

fn profile(text: &str) -> Profile {
    parse("f", text.as_bytes()).unwrap()
}

/// Configuration printed by the original in 2012; the location and the lines of later versions are
/// filled in.
const CONFIGURATION: &str = "FFSB version 6.0-RC2 started

benchmark time = 10
ThreadGroup 0
================
\t num_threads      = 4
\t
\t read_random      = off
\t read_size        = 40960\t(40KB)
\t read_blocksize   = 4096\t(4KB)
\t read_skip        = off
\t read_skipsize    = 0\t(0B)
\t
\t write_random     = off
\t write_size       = 40960\t(40KB)
\t fsync_file       = 0
\t write_blocksize  = 4096\t(4KB)
\t wait time        = 0
\t
\t op weights
\t                 read = 0 (0.00%)
\t              readall = 1 (10.00%)
\t                write = 0 (0.00%)
\t               create = 1 (10.00%)
\t               append = 1 (10.00%)
\t               delete = 1 (10.00%)
\t               metaop = 0 (0.00%)
\t            createdir = 0 (0.00%)
\t                 stat = 1 (10.00%)
\t             writeall = 1 (10.00%)
\t       writeall_fsync = 1 (10.00%)
\t           open_close = 1 (10.00%)
\t          write_fsync = 0 (0.00%)
\t         create_fsync = 1 (10.00%)
\t         append_fsync = 1 (10.00%)
\t
FileSystem /mnt/scratch/test1
==========
\t num_dirs         = 100
\t starting files   = 0
\t
\t Fileset weight:
\t\t     33554432 (  32MB) -> 1 (1.00%)
\t\t      8388608 (   8MB) -> 2 (2.00%)
\t\t       524288 ( 512KB) -> 3 (3.00%)
\t\t       262144 ( 256KB) -> 4 (4.00%)
\t\t       131072 ( 128KB) -> 5 (5.00%)
\t\t        65536 (  64KB) -> 8 (8.00%)
\t\t        32768 (  32KB) -> 10 (10.00%)
\t\t        16384 (  16KB) -> 13 (13.00%)
\t\t         8192 (   8KB) -> 21 (21.00%)
\t\t         4096 (   4KB) -> 33 (33.00%)
\t directio         = off
\t alignedio        = off
\t bufferedio       = off
\t
\t aging is off
\t current utilization = 26.19%
\t
";

#[test]
fn configuration_matches_the_published_report() {
    let profile = profile(&EVERYTHING.replace("/mnt/test\t", "/mnt/scratch/test1\t"));
    assert_eq!(configuration(&profile, &[0.2619]), CONFIGURATION);
}

#[test]
fn all_switches_are_printed() {
    let text = "time=1\ndirectio=1\nbufferio=1\n[filesystem]\nlocation=/a\nmin_filesize=8k\n\
                max_filesize=1000000\nnum_files=7\nagefs=1\ndesired_util=.2\n[threadgroup]\n\
                num_threads=2\ncreate_weight=1\nwrite_blocksize=4k\n[end]\n[end]\n[filesystem]\n\
                location=/b\n[end]\n[threadgroup]\nnum_threads=1\nstat_weight=1\n[end]\n\
                [threadgroup]\nnum_threads=3\nbindfs=/b\nread_skip=1\nread_skipsize=5g\n\
                write_random=1\nop_delay=20\nread_weight=3\nstat_weight=5\nread_size=1m\n\
                read_blocksize=1536\n[end]\n";
    let text = configuration(&profile(text), &[0.0232, 0.5]);
    let part = |from: &str, to: &str| {
        let start = text.find(from).unwrap();
        let end = start + text[start..].find(to).unwrap();
        text[start..end].to_owned()
    };
    assert!(
        text.starts_with("FFSB version 6.0-RC2 started\n\n1\nbenchmark time = 1\nThreadGroup 0")
    );
    assert_eq!(
        part("ThreadGroup 1", "\t op weights"),
        "ThreadGroup 1\n================\n\t num_threads      = 3\n\t\n\t read_random      = off\n\
         \t read_size        = 1048576\t(1MB)\n\t read_blocksize   = 1536\t(1.5KB)\n\
         \t read_skip        = on\n\t read_skipsize    = 5368709120\t(5GB)\n\t\n\
         \t write_random     = on\n\t write_size       = 0\t(0B)\n\t fsync_file       = 0\n\
         \t write_blocksize  = 0\t(0B)\n\t wait time        = 20\n\t\n\t bound to fs 1\n\t\n"
    );
    assert!(text.contains("\t                 read = 3 (37.50%)\n"));
    assert_eq!(
        part("FileSystem /a", "\t num_threads      = 2\n"),
        "FileSystem /a\n==========\n\t num_dirs         = 0\n\t starting files   = 7\n\t\n\
         \t min file size    = 8192\t(8KB)\n\t max file size    = 1000000\t(977KB)\n\
         \t directio         = on\n\t alignedio        = on\n\t bufferedio       = on\n\t\n\
         \t aging is on\n\t current utilization = 2.32%\n\t desired utilization = 20.00%\n\t \n\
         \t Aging ThreadGroup for fs /a\n\t ================\n"
    );
    let last = "\t         append_fsync = 0 (0.00%)\n\t\n\t\nFileSystem /b\n==========\n";
    assert!(text.contains(last), "{text}");
    assert!(text.ends_with("\t aging is off\n\t current utilization = 50.00%\n\t\n"));
}

/// A tally of blocks of 4 KiB from operations and transactions by name.
fn tally(done: &[(&str, u64, u64)], calls: &[(TimedCall, u64, u64, u64, u64)]) -> WorkerCounters {
    let mut tally = WorkerCounters::default();
    for (name, operations, transactions) in done {
        let operation =
            Operation::ALL.into_iter().find(|operation| operation.name() == *name).unwrap();
        let moves = operation.reads() || operation.writes();
        tally.done[operation.place()] = OperationCounts {
            operations: *operations,
            transactions: *transactions,
            bytes: if moves { transactions * 4096 } else { 0 },
        };
    }
    for &(call, min_us, sum_us, max_us, calls) in calls {
        tally.calls[call.place()] = CallTimes { calls, sum_us, min_us, max_us, in_range: vec![] };
    }
    tally
}

/// Report printed by the original in 2012. The list's archive wraps the last column onto lines of
/// its own and has one of the three empty lines before the CPU's; other reports of RC2 have them
/// all.
const REPORT: &str = "Results:
Benchmark took 11.44 sec

Total Results
===============
             Op Name   Transactions\t Trans/sec\t% Trans\t    % Op Weight\t   Throughput
             =======   ============\t =========\t=======\t    ===========\t   ==========
             readall :           93\t      8.13\t 0.880%\t\t21.053%\t   32.5KB/sec
              create :           20\t      1.75\t 0.189%\t\t 5.263%\t   6.99KB/sec
              append :           10\t      0.87\t 0.095%\t\t 2.632%\t    3.5KB/sec
              delete :            4\t      0.35\t 0.038%\t\t10.526%\t           NA
                stat :            3\t      0.26\t 0.028%\t\t 7.895%\t           NA
            writeall :         2178\t    190.39\t20.600%\t\t10.526%\t    762KB/sec
      writeall_fsync :            5\t      0.44\t 0.047%\t\t 5.263%\t   1.75KB/sec
          open_close :            6\t      0.52\t 0.057%\t\t15.789%\t           NA
        create_fsync :         8234\t    719.78\t77.878%\t\t15.789%\t   2.81MB/sec
        append_fsync :           20\t      1.75\t 0.189%\t\t 5.263%\t   6.99KB/sec
-
924.24 Transactions per Second

Throughput Results
===================
Read Throughput: 32.5KB/sec
Write Throughput: 3.57MB/sec

System Call Latency statistics in millisecs
=====
\t\tMin\t\tAvg\t\tMax\t\tTotal Calls
\t\t========\t========\t========\t============
[   open]\t0.050000\t3.980161\t41.840000\t          31
   -
[   read]\t0.017000\t71.442215\t1286.122000\t          93
   -
[  write]\t0.052000\t1.034817\t2201.956000\t       10467
   -
[ unlink]\t1.118000\t185.398750\t730.807000\t           4
   -
[  close]\t0.019000\t1.968968\t39.679000\t          31
   -
[   stat]\t0.043000\t2.173667\t6.428000\t           3
   -



0.8% User   Time
9.2% System Time
10.0% CPU Utilization
";

#[test]
fn report_matches_the_published_one_of_2012() {
    let tally = tally(
        &[
            ("readall", 8, 93),
            ("create", 2, 20),
            ("append", 1, 10),
            ("delete", 4, 4),
            ("stat", 3, 3),
            ("writeall", 4, 2178),
            ("writeall_fsync", 2, 5),
            ("open_close", 6, 6),
            ("create_fsync", 6, 8234),
            ("append_fsync", 2, 20),
        ],
        &[
            (TimedCall::Open, 50, 123_385, 41_840, 31),
            (TimedCall::Read, 17, 6_644_126, 1_286_122, 93),
            (TimedCall::Write, 52, 10_831_430, 2_201_956, 10_467),
            (TimedCall::Unlink, 1118, 741_595, 730_807, 4),
            (TimedCall::Close, 19, 61_038, 39_679, 31),
            (TimedCall::Stat, 43, 6521, 6428, 3),
        ],
    );
    let stats = LatencySelection::default();
    let group = GroupReport { tally: &tally, stats: Some(&stats) };
    assert_eq!(report(&[group], 11.43965, 0.0915, 1.052), REPORT);
}

/// Table rows printed by RC2 on a loop device.
const LOOP_ROWS: &str = "
             readall :       179533\t  34030.76\t31.131%\t\t10.252%\t    133MB/sec
              create :       110457\t  20937.29\t19.153%\t\t10.281%\t   81.8MB/sec
              append :         6670\t   1264.31\t 1.157%\t\t 9.881%\t   4.94MB/sec
              delete :          704\t    133.44\t 0.122%\t\t10.430%\t           NA
                stat :          691\t    130.98\t 0.120%\t\t10.237%\t           NA
            writeall :        88623\t  16798.63\t15.367%\t\t 9.570%\t   65.6MB/sec
      writeall_fsync :       116213\t  22028.35\t20.151%\t\t 9.793%\t     86MB/sec
          open_close :          667\t    126.43\t 0.116%\t\t 9.881%\t           NA
        create_fsync :        66747\t  12652.00\t11.574%\t\t10.193%\t   49.4MB/sec
        append_fsync :         6400\t   1213.13\t 1.110%\t\t 9.481%\t   4.74MB/sec
-
109315.32 Transactions per Second

Throughput Results
===================
Read Throughput: 133MB/sec
Write Throughput: 293MB/sec

System Call Latency statistics in millisecs
=====
\t\tMin\t\tAvg\t\tMax\t\tTotal Calls
\t\t========\t========\t========\t============
[   open]\t0.001000\t0.008935\t4.584000\t        5355
   -
[   read]\t0.000000\t0.001530\t12.478000\t      179533
   -
[  write]\t0.000000\t0.002559\t10.314000\t      395110
   -
[ unlink]\t0.005000\t0.058247\t3.074000\t         704
   -
[  close]\t0.000000\t0.007299\t12.076000\t        5355
   -
[   stat]\t0.000000\t0.003171\t0.125000\t         691
   -



2.1% User   Time
18.2% System Time
20.3% CPU Utilization
";

#[test]
fn report_matches_a_run_on_a_loop_device() {
    let tally = tally(
        &[
            ("readall", 692, 179_533),
            ("create", 694, 110_457),
            ("append", 667, 6670),
            ("delete", 704, 704),
            ("stat", 691, 691),
            ("writeall", 646, 88_623),
            ("writeall_fsync", 661, 116_213),
            ("open_close", 667, 667),
            ("create_fsync", 688, 66_747),
            ("append_fsync", 640, 6400),
        ],
        &[
            (TimedCall::Open, 1, 47_847, 4584, 5355),
            (TimedCall::Read, 0, 274_685, 12_478, 179_533),
            (TimedCall::Write, 0, 1_011_086, 10_314, 395_110),
            (TimedCall::Unlink, 5, 41_006, 3074, 704),
            (TimedCall::Close, 0, 39_086, 12_076, 5355),
            (TimedCall::Stat, 0, 2191, 125, 691),
        ],
    );
    let stats = LatencySelection::default();
    let group = GroupReport { tally: &tally, stats: Some(&stats) };
    let text = report(&[group], 5.275_61, 0.1108, 0.9602);
    assert!(text.starts_with("Results:\nBenchmark took 5.28 sec\n\nTotal Results\n"));
    assert!(text.ends_with(LOOP_ROWS), "{text}");
}

#[test]
fn ranges_are_printed_backwards_and_ignored_calls_are_not() {
    let mut tally = tally(
        &[("stat", 2, 2)],
        &[(TimedCall::Stat, 500, 1500, 1000, 2), (TimedCall::Open, 1, 1, 1, 1)],
    );
    tally.calls[TimedCall::Stat.place()].in_range = vec![1, 0];
    let mut stats = LatencySelection {
        ranges_ms: vec![(0.5, 1.0), (1.5, 20.0)],
        ..LatencySelection::default()
    };
    stats.ignored[TimedCall::Open.place()] = true;
    let text = report(&[GroupReport { tally: &tally, stats: Some(&stats) }], 1.0, 0.0, 0.0);
    let end = "\t========\t============\n\
               [   stat]\t0.500000\t0.750000\t1.000000\t           2\n\
               \t\t msec_range[0]\t1.500000 - 20.000000 :        0\n\
               \t\t msec_range[1]\t0.500000 - 1.000000 :        1\n\
               \n\n\n\n0.0% User   Time\n0.0% System Time\n0.0% CPU Utilization\n";
    assert!(text.ends_with(end), "{text}");
}

#[test]
fn several_groups_have_tables_of_their_own() {
    let (first, second) = (tally(&[("stat", 3, 3)], &[]), tally(&[("read", 1, 10)], &[]));
    let group = |tally| GroupReport { tally, stats: None };
    let text = report(&[group(&first), group(&second)], 2.0, 0.0, 0.0);
    let order = [
        "Results:\n",
        "\nThreadGroup 0\n===============\n",
        "stat :            3",
        "\nThreadGroup 1\n===============\n",
        "read :           10",
        "\nTotal Results\n",
    ];
    let mut tail = &text[..];
    for part in order {
        tail = &tail[tail.find(part).unwrap_or_else(|| panic!("{part}")) + part.len()..];
    }
    let row =
        "                stat :            3\t      1.50\t23.077%\t\t75.000%\t           NA\n";
    assert!(tail.contains(row), "{tail}");
    let end = "6.50 Transactions per Second\n\nThroughput Results\n===================\n\
               Read Throughput: 20KB/sec\n\n\n0.0% User   Time\n";
    assert!(tail.contains(end), "{tail}");
    let nothing = report(&[], 0.0, 0.0, 0.0);
    assert!(nothing.contains("\n-\n0.00 Transactions per Second\n"), "{nothing}");
}

#[test]
fn numbers_have_three_significant_digits_as_in_printf() {
    for (number, text) in [
        (0.0, "0"),
        (1023.4, "1.02e+03"),
        (1000.0, "1e+03"),
        (999.4, "999"),
        (999.5, "1e+03"),
        (86.0, "86"),
        (86.04, "86"),
        (6.994, "6.99"),
        (3.497, "3.5"),
        (0.1, "0.1"),
        (0.012_345, "0.0123"),
        (0.000_123_4, "0.000123"),
        (0.000_012_34, "1.23e-05"),
        (1e100, "1e+100"),
    ] {
        assert_eq!(three_digits(number), text);
    }
    assert_eq!(size(1023.0 * 1024.0), "1.02e+03KB");
    assert_eq!(size(1_048_575.0), "1.02e+03KB");
    assert_eq!(size(1_048_576.0), "1MB");
    assert_eq!(size(5e15), "4.66e+06GB");
}

#[test]
fn progress_lines_match_the_original() {
    assert_eq!(creating("/m/f") + &set_up(0), "creating new fileset /m/f\nfs setup took 0 secs\n");
    assert_eq!(aging("/m/f", 0.0232, 0.2), "aging fs /m/f from 0.02 to 0.20\n");
    let time = "Fri Nov 20 17:47:47 2026";
    assert_eq!(
        syncing(1) + &starting(time) + &syncing(0) + &finished(time),
        "Syncing()...1 sec\nStarting Actual Benchmark At: Fri Nov 20 17:47:47 2026\n\n\
         Syncing()...0 sec\nFFSB benchmark finished   at: Fri Nov 20 17:47:47 2026\n\n"
    );
    assert_eq!(
        reusing("/m/f") + &set_up_only(),
        "checking existing fs: /m/f\nSetup complete, exiting\n"
    );
}
