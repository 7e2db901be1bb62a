//! Text output of ior, byte for byte: the header, a row for each test, and the summary.

use treering_kit::op_times::exponential;
use treering_model::workloads::ior::TransferCounts;

use super::parameters::JsonParameters;
use super::results::{AccessKind, StonewallResult, TestResult};

/// Version of ior that the output imitates.
pub(crate) const VERSION: &str = "4.1.0+dev";
pub(super) const MIB: f64 = 1_048_576.0;

/// Parameters of a test as printed.
#[derive(Clone, Debug, Default)]
pub(crate) struct TestParams {
    /// Number of the test in its run.
    pub id: u64,
    /// The machine's name.
    pub machine: String,
    /// Interface as typed.
    pub api: String,
    /// File name as typed.
    pub file: String,
    /// File of rank 0.
    pub first_file: String,
    /// File per process: each rank has a file of its own.
    pub file_per_process: bool,
    /// Random order of transfers.
    pub is_random: bool,
    /// Ranks read data of other ranks, shifted by a constant or drawn at random.
    pub reorder: bool,
    /// The rank to read from is drawn at random.
    pub reorder_random: bool,
    /// The ranks to read from are a permutation.
    pub is_shuffled: bool,
    /// Number of machines by which the rank to read from is shifted.
    pub task_offset: u64,
    /// The seed of the random order of tasks.
    pub reorder_seed: u64,
    /// Ranks.
    pub ranks: u64,
    /// Machines.
    pub nodes: u64,
    /// Ranks on the machine of rank 0.
    pub ranks_on_first: u64,
    /// Bytes that are taken of each machine's memory.
    pub memory_per_node: u64,
    /// Repetitions.
    pub repetitions: u64,
    /// Segments.
    pub segments: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Bytes of a transfer.
    pub transfer_bytes: u64,
    /// Seconds after which a test ends.
    pub wall_seconds: u64,
    /// After the time limit, all ranks go on to the transfer count of the fastest (wear-out).
    pub wears_out: bool,
    /// Reference number given by the user, shown in the summary.
    pub reference: u64,
    /// Write tests are done.
    pub writes: bool,
    /// Read tests are done.
    pub reads: bool,
    /// Verbose output.
    pub verbose: bool,
    /// Parameters shown only in JSON.
    pub parameters: JsonParameters,
}

impl TestParams {
    /// Number of times that the random choice of ranks was asked for.
    pub(super) fn random_level(&self) -> u8 {
        u8::from(self.reorder_random) + u8::from(self.is_shuffled)
    }
}

/// A line `name : value`.
fn pair(name: &str, value: impl std::fmt::Display) -> String {
    format!("{name:<20}: {value}\n")
}

/// Formats a size in bytes as the original does.
pub(super) fn human(bytes: u64) -> String {
    for (shift, unit) in [(40, "TiB"), (30, "GiB"), (20, "MiB")] {
        let unit_bytes = 1_u64 << shift;
        if bytes >= unit_bytes {
            return if bytes.is_multiple_of(unit_bytes) {
                format!("{} {unit}", bytes / unit_bytes)
            } else {
                format!("{:.2} {unit}", bytes as f64 / unit_bytes as f64)
            };
        }
    }
    format!("{bytes} bytes")
}

/// The first lines.
pub(crate) fn header(started: &str, words: &[String], machine: &str) -> String {
    let mut text = format!("IOR-{VERSION}: MPI Coordinated Test of Parallel I/O\n");
    text += &pair("Began", started);
    text += &pair("Command line", words.join(" "));
    text + &pair("Machine", format!("Linux {machine}"))
}

/// The first lines of a test, up to the warnings before its table.
pub(crate) fn test_header(started: &str, params: &TestParams, filesystem: &str) -> String {
    let mut text = pair("TestID", params.id);
    text += &pair("StartTime", started);
    text += &pair("Path", &params.first_file);
    text += filesystem;
    text + &options(params)
}

fn options(params: &TestParams) -> String {
    let mut text = "\nOptions: \n".to_owned();
    text += &pair("api", &params.api);
    text += &pair("apiVersion", "");
    text += &pair("test filename", &params.file);
    let access = if params.file_per_process { "file-per-process" } else { "single-shared-file" };
    text += &pair("access", access);
    text += &pair("type", params.parameters.kind_of_transfers());
    text += &pair("segments", params.segments);
    text += &pair("ordering in a file", if params.is_random { "random" } else { "sequential" });
    text += &if params.reorder {
        pair("ordering inter file", "constant task offset")
            + &pair("task offset", params.task_offset)
    } else if params.is_shuffled {
        // The original has no words for it.
        String::new()
    } else if params.reorder_random {
        pair("ordering inter file", "random task offset")
            + &pair("task offset", params.task_offset)
            + &pair("reorder random seed", params.reorder_seed)
    } else {
        pair("ordering inter file", "no tasks offsets")
    };
    text += &pair("nodes", params.nodes);
    text += &pair("tasks", params.ranks);
    text += &pair("clients per node", params.ranks_on_first);
    if params.memory_per_node > 0 {
        text += &pair("memoryPerNode", human(params.memory_per_node));
    }
    text += &pair("memoryBuffer", "CPU");
    text += &pair("dataAccess", "CPU");
    text += &pair("GPUDirect", 0);
    text += &pair("repetitions", params.repetitions);
    text += &pair("xfersize", human(params.transfer_bytes));
    text += &pair("blocksize", human(params.block_bytes));
    let total_bytes =
        params.block_bytes.saturating_mul(params.segments).saturating_mul(params.ranks);
    text += &pair("aggregate filesize", human(total_bytes));
    if params.verbose {
        text += &pair("verbose", 1);
    }
    if params.wall_seconds > 0 {
        text += &pair("stonewallingTime", params.wall_seconds);
        text += &pair("stoneWallingWearOut", u8::from(params.wears_out));
    }
    text + "\nResults: \n"
}

/// The head of the table.
pub(crate) const TABLE: &str = "
access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   \
total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   \
--------   ----
";

/// The head of the table as comma-separated values.
pub(crate) const CSV_TABLE: &str =
    "access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),\
close(s),total(s),numTasks,iter
";

/// A number in ten columns, with as many decimals as it needs.
fn column(number: f64) -> String {
    if number < 0.0 {
        "   -      ".to_owned()
    } else if number < 1.0 {
        format!("{number:<10.6}")
    } else if number < 3600.0 {
        format!("{number:<10.2}")
    } else {
        format!("{number:<10.0}")
    }
}

/// The figures of a line.
pub(super) fn figures(result: &TestResult, params: &TestParams) -> [f64; 9] {
    let transfers = (result.bytes / params.transfer_bytes.max(1)) as f64;
    [
        result.bytes_per_second() / MIB,
        transfers / result.moved_seconds,
        result.latency_seconds,
        params.block_bytes as f64 / 1024.0,
        params.transfer_bytes as f64 / 1024.0,
        result.open_seconds,
        result.moved_seconds,
        result.close_seconds,
        result.total_seconds,
    ]
}

/// Row of the table.
pub(crate) fn row(
    access: AccessKind,
    result: &TestResult,
    params: &TestParams,
    repetition: usize,
) -> String {
    let mut text = format!("{:<10}", access.word());
    for (place, figure) in figures(result, params).into_iter().enumerate() {
        text += &column(figure);
        // The original has one blank more behind the latency.
        text += if place == 2 { "  " } else { " " };
    }
    text + &format!("{repetition:<4}\n")
}

/// Result row as comma-separated values.
pub(crate) fn csv_row(
    access: AccessKind,
    result: &TestResult,
    params: &TestParams,
    repetition: usize,
) -> String {
    let figures = figures(result, params).map(|figure| format!("{figure:.4}")).join(",");
    format!("{},{figures},{},{repetition}\n", access.word(), params.ranks)
}

/// Warning about a file that is there before a test.
pub(crate) fn exists_already(path: &str, is_kept: bool) -> String {
    let fate = if is_kept { "overwritten" } else { "deleted" };
    format!("WARNING: The file \"{path}\" exists already and will be {fate}\n")
}

/// The head of the file about each rank.
pub(crate) const RANK_HEAD: &str = "access,rank,runtime-with-openclose,runtime,\
                                    throughput-withopenclose,throughput\n";

/// Rows of a test in the file about each rank. The original divides the bytes of all ranks evenly.
pub(crate) fn rank_rows(
    access: AccessKind,
    tasks: &[(usize, TransferCounts)],
    ranks: usize,
) -> String {
    let bytes: u64 = tasks.iter().map(|(_, counts)| counts.bytes).sum();
    let share = bytes as f64 / ranks.max(1) as f64;
    let mut text = String::new();
    for rank in 0..ranks {
        let own = || tasks.iter().filter(|(of, _)| *of == rank).map(|(_, counts)| counts);
        let span = |began: Option<u64>, ended: Option<u64>| {
            ended.unwrap_or(0).saturating_sub(began.unwrap_or(0)) as f64 / 1e9
        };
        let whole = span(
            own().map(|times| times.open.began_ns).min(),
            own().map(|times| times.close.ended_ns).max(),
        );
        let moved = span(
            own().map(|times| times.moved.began_ns).min(),
            own().map(|times| times.moved.ended_ns).max(),
        );
        let figures = [whole, moved, share / whole, share / moved]
            .map(|figure| exponential(figure, 10))
            .join(",");
        text += &format!("{},{rank},{figures}\n", access.word());
    }
    text
}

/// The line of a removal.
pub(crate) fn removal(seconds: f64, repetition: usize) -> String {
    format!(
        "remove    -          -          -           -          -          -          -          \
         -          {} {repetition:<4}\n",
        column(seconds)
    )
}

/// Line about a test that the time limit ended, with wear-out.
pub(crate) fn wall(wall: &StonewallResult) -> String {
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    format!(
        "stonewalling pairs accessed min: {} max: {} -- min data: {:.1} GiB mean data: {:.1} GiB \
         time: {:.1}s\n",
        wall.least,
        wall.most,
        gib(wall.least_bytes),
        gib(wall.mean_bytes),
        wall.seconds
    )
}

/// Line about the transfers that a test with wear-out has reached.
pub(crate) fn pairs(most: u64) -> String {
    format!("Pairs deadlineForStonewallingaccessed: {most}\n")
}

/// Warning for a total size that differs from the requested one.
pub(crate) fn unexpected_size(expected: u64, actual: u64, moved: u64, has_wall: bool) -> String {
    let mut text = format!(
        "WARNING: Expected aggregate file size       = {expected}\n\
         WARNING: Stat() of aggregate file size      = {actual}\n\
         WARNING: Using actual aggregate bytes moved = {moved}\n"
    );
    if has_wall {
        text += "WARNING: Maybe caused by deadlineForStonewalling\n";
    }
    text
}

/// The best rates.
pub(crate) fn best(params: &TestParams, writes: &[TestResult], reads: &[TestResult]) -> String {
    let most = |results: &[TestResult]| {
        results.iter().map(TestResult::bytes_per_second).fold(0.0, f64::max)
    };
    let line = |name: &str, rate: f64| {
        format!("{name} {:.2} MiB/sec ({:.2} MB/sec)\n", rate / MIB, rate / 1e6)
    };
    let mut text = String::new();
    if params.writes {
        text += &line("Max Write:", most(writes));
    }
    if params.reads {
        text += &line("Max Read: ", most(reads));
    }
    text
}

/// The head of the summary of all tests.
pub(crate) const SUMMARY: &str = "
Summary of all tests:
Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev   Max(OPs)   Min(OPs)  Mean(OPs)     \
StdDev    Mean(s) Stonewall(s) Stonewall(MiB) Test# #Tasks tPN reps fPP reord reordoff \
reordrand seed segcnt   blksiz    xsize aggs(MiB)   API RefNum
";

/// The lines of a test in the summary.
pub(crate) fn summary(params: &TestParams, writes: &[TestResult], reads: &[TestResult]) -> String {
    let mut text = String::new();
    for (access, results) in [(AccessKind::Write, writes), (AccessKind::Read, reads)] {
        if !results.is_empty() {
            text += &summary_row(access, results, params);
        }
    }
    text
}

/// Greatest, least, mean and standard deviation.
pub(super) fn spread(values: &[f64]) -> [f64; 4] {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (mean - value) * (mean - value)).sum();
    let max = values.iter().copied().fold(f64::MIN, f64::max);
    let min = values.iter().copied().fold(f64::MAX, f64::min);
    [max, min, mean, (squares / count).sqrt()]
}

fn summary_row(access: AccessKind, results: &[TestResult], params: &TestParams) -> String {
    let rates: Vec<f64> = results.iter().map(TestResult::bytes_per_second).collect();
    let transfer_bytes = params.transfer_bytes.max(1) as f64;
    let operations: Vec<f64> = rates.iter().map(|rate| rate / transfer_bytes).collect();
    let mib = spread(&rates).map(|rate| rate / MIB);
    let mut text = format!("{:<9} ", access.word());
    for figure in mib.into_iter().chain(spread(&operations)) {
        text += &format!("{figure:10.2} ");
    }
    let count = results.len() as f64;
    let mean = results.iter().map(|result| result.total_seconds).sum::<f64>() / count;
    text += &format!("{mean:10.5} ");
    let walls: Vec<StonewallResult> = results.iter().filter_map(|result| result.wall).collect();
    if params.wears_out {
        let seconds: f64 = walls.iter().map(|wall| wall.seconds).sum();
        let bytes: u64 = walls.iter().map(|wall| wall.mean_bytes).sum();
        text += &format!("{:10.2} {:13.2} ", seconds / count, bytes as f64 / seconds / MIB);
    } else {
        text += &format!("{:>10} {:>13} ", "NA", "NA");
    }
    let first = results.first().map_or(0, |result| result.bytes);
    text + &format!(
        "{:5} {:6} {:3} {:4} {:3} {:5} {:8} {:9} {:4} {:6} {:8} {:8} {:9.1} {:>3} {:6}\n",
        params.id,
        params.ranks,
        params.ranks_on_first,
        params.repetitions,
        u8::from(params.file_per_process),
        u8::from(params.reorder),
        params.task_offset,
        params.random_level(),
        params.reorder_seed,
        params.segments,
        params.block_bytes,
        params.transfer_bytes,
        first as f64 / MIB,
        params.api,
        params.reference,
    )
}

/// The last line.
pub(crate) fn footer(now: &str) -> String {
    pair("Finished", now)
}

#[cfg(test)]
mod tests {
    use super::super::results::{AccessKind, TestResult};
    use super::{TestParams, column, csv_row, human, rank_rows, removal, row, summary, wall};
    use treering_model::workloads::ior::{TimeSpan, TransferCounts};

    fn params() -> TestParams {
        TestParams {
            api: "POSIX".to_owned(),
            ranks: 2,
            nodes: 1,
            ranks_on_first: 2,
            repetitions: 1,
            segments: 1,
            block_bytes: 4 << 20,
            transfer_bytes: 1 << 20,
            file_per_process: true,
            task_offset: 1,
            writes: true,
            ..TestParams::default()
        }
    }

    /// Result of two ranks, of which one opens later and one ends later.
    fn result() -> TestResult {
        let times = |began_ms: u64, ended_ms: u64| TimeSpan {
            began_ns: began_ms * 1_000_000,
            ended_ns: ended_ms * 1_000_000,
        };
        let counts = |late: u64| TransferCounts {
            open: times(late, late + 1),
            moved: times(late + 1, 81),
            close: times(81, 82 + late),
            transfers: 4,
            bytes: 4 << 20,
            ..TransferCounts::default()
        };
        TestResult::from_tasks(&[(0, counts(0)), (1, counts(18))], 2)
    }

    #[test]
    fn lines_are_those_of_the_original() {
        let result = result();
        assert_eq!(
            row(AccessKind::Write, &result, &params(), 0),
            "write     80.00      100.00     0.015500    4096       1024.00    0.019000   \
             0.080000   0.019000   0.100000   0   \n"
        );
        assert_eq!(
            csv_row(AccessKind::Read, &result, &params(), 3),
            "read,80.0000,100.0000,0.0155,4096.0000,1024.0000,0.0190,0.0800,0.0190,0.1000,2,3\n"
        );
        assert_eq!(
            removal(0.000_181, 0),
            "remove    -          -          -           -          -          -          -          \
             -          0.000181   0   \n"
        );
        assert_eq!(
            wall(&result.wall.unwrap()),
            "stonewalling pairs accessed min: 4 max: 4 -- min data: 0.0 GiB mean data: 0.0 GiB \
             time: 0.1s\n"
        );
        let lines = summary(&params(), &[result], &[]);
        // Output of `ior -F -b 4m -t 1m -w` with two ranks, with other figures.
        let wanted = "write          80.00      80.00      80.00       0.00      80.00      80.00      \
                      80.00       0.00    0.10000         NA            NA     0      2   2    1   1     \
                      0        1         0    0      1  4194304  1048576       8.0 POSIX      0";
        assert_eq!(lines.lines().last(), Some(wanted));
    }

    #[test]
    fn performance_of_each_rank_is_in_rows_of_the_original() {
        let times = |began_ns: u64, ended_ns: u64| TimeSpan { began_ns, ended_ns };
        let counts = TransferCounts {
            open: times(0, 1_000_000),
            moved: times(1_000_000, 9_000_000),
            close: times(9_000_000, 10_000_000),
            bytes: 1000,
            ..TransferCounts::default()
        };
        let rows = rank_rows(AccessKind::Write, &[(0, counts), (1, counts)], 2);
        let wanted = "write,0,1.0000000000e-02,8.0000000000e-03,1.0000000000e+05,1.2500000000e+05";
        assert_eq!(rows.lines().next(), Some(wanted));
        assert_eq!(rows.lines().count(), 2);
    }

    #[test]
    fn numbers_have_as_many_decimals_as_the_original_gives_them() {
        assert_eq!(column(0.5), "0.500000  ");
        assert_eq!(column(3599.0), "3599.00   ");
        assert_eq!(column(7096.96), "7097      ");
        assert_eq!(human(1 << 20), "1 MiB");
        assert_eq!(human(3 << 19), "1.50 MiB");
        assert_eq!(human(262_144), "262144 bytes");
    }
}
