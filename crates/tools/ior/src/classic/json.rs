//! JSON output of ior: the original's keys in their order, one document for each run.

use serde::Serialize;

use super::parameters::Parameters;
use super::results::{Access, TestResult, Wall};
use super::text::{Asked, MIB, VERSION, human, spread};
use treering_kit::space::Filesystem;

#[derive(Serialize)]
struct Document<'d> {
    #[serde(rename = "Version")]
    version: &'d str,
    #[serde(rename = "Began")]
    began: &'d str,
    #[serde(rename = "Command line")]
    command_line: String,
    #[serde(rename = "Machine")]
    machine: String,
    tests: Vec<Test<'d>>,
    summary: Vec<Summary<'d>>,
    #[serde(rename = "Finished")]
    finished: &'d str,
}

#[derive(Serialize)]
struct Test<'d> {
    #[serde(rename = "TestID")]
    id: u64,
    #[serde(rename = "StartTime")]
    started: &'d str,
    #[serde(rename = "Path")]
    path: &'d str,
    #[serde(rename = "Capacity")]
    capacity: String,
    #[serde(rename = "Used Capacity")]
    used_capacity: String,
    #[serde(rename = "Inodes")]
    inodes: String,
    #[serde(rename = "Used Inodes")]
    used_inodes: String,
    #[serde(rename = "Parameters")]
    parameters: AllParameters<'d>,
    #[serde(rename = "Options")]
    options: Options<'d>,
    #[serde(rename = "Results")]
    results: &'d [Line],
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<Best>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AllParameters<'d> {
    #[serde(rename = "testID")]
    id: u64,
    refnum: u64,
    api: &'d str,
    platform: String,
    test_file_name: &'d str,
    deadline_for_stonewall: u64,
    stone_walling_wear_out: u8,
    nodes: u64,
    memory_per_node: u64,
    tasks_per_node: u64,
    repetitions: u64,
    read_file: u8,
    write_file: u8,
    file_per_proc: u8,
    reorder_tasks: u8,
    reorder_tasks_random: u8,
    reorder_tasks_random_seed: u64,
    #[serde(flatten)]
    others: &'d Parameters,
    #[serde(flatten)]
    never: Never,
    verbose: u8,
    segment_count: u64,
    transfer_size: u64,
    block_size: u64,
}

/// Parameters without a counterpart here, under the original's names; always 0.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Never {
    dry_run: u8,
    memory_per_task: u8,
    single_xfer_attempt: u8,
    keep_file_with_error: u8,
    warning_as_errors: u8,
}

#[derive(Serialize)]
struct Options<'d> {
    api: &'d str,
    #[serde(rename = "apiVersion")]
    api_version: &'static str,
    #[serde(rename = "test filename")]
    file: &'d str,
    access: &'static str,
    r#type: &'static str,
    segments: u64,
    #[serde(rename = "ordering in a file")]
    order: &'static str,
    #[serde(rename = "ordering inter file")]
    order_of_files: &'static str,
    #[serde(rename = "task offset", skip_serializing_if = "Option::is_none")]
    task_offset: Option<u64>,
    #[serde(rename = "reorder random seed", skip_serializing_if = "Option::is_none")]
    reorder_seed: Option<u64>,
    nodes: u64,
    tasks: u64,
    #[serde(rename = "clients per node")]
    clients_per_node: u64,
    #[serde(rename = "memoryPerNode", skip_serializing_if = "Option::is_none")]
    memory_per_node: Option<String>,
    #[serde(rename = "memoryBuffer")]
    memory_buffer: &'static str,
    #[serde(rename = "dataAccess")]
    data_access: &'static str,
    #[serde(rename = "GPUDirect")]
    gpu_direct: &'static str,
    repetitions: u64,
    xfersize: String,
    blocksize: String,
    #[serde(rename = "aggregate filesize")]
    all: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    verbose: Option<u8>,
    #[serde(rename = "stonewallingTime", skip_serializing_if = "Option::is_none")]
    wall_seconds: Option<u64>,
    #[serde(rename = "stoneWallingWearOut", skip_serializing_if = "Option::is_none")]
    wears_out: Option<u8>,
}

/// Result entry of a test or of a removal.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Line {
    /// A test of all ranks.
    Moved(Moved),
    /// A removal.
    Removed {
        /// `remove`.
        access: &'static str,
        /// Total time in seconds.
        #[serde(rename = "totalTime")]
        seconds: f64,
    },
}

/// A test of all ranks: sizes in KiB, times in seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Moved {
    access: &'static str,
    #[serde(rename = "bwMiB")]
    rate: f64,
    #[serde(rename = "blockKiB")]
    block: f64,
    #[serde(rename = "xferKiB")]
    transfer: f64,
    iops: f64,
    latency: f64,
    open_time: f64,
    wr_rd_time: f64,
    close_time: f64,
    total_time: f64,
}

#[derive(Serialize)]
struct Best {
    #[serde(rename = "writeMiB", skip_serializing_if = "Option::is_none")]
    write_mib: Option<f64>,
    #[serde(rename = "writeMB", skip_serializing_if = "Option::is_none")]
    write_mb: Option<f64>,
    #[serde(rename = "readMiB", skip_serializing_if = "Option::is_none")]
    read_mib: Option<f64>,
    #[serde(rename = "readMB", skip_serializing_if = "Option::is_none")]
    read_mb: Option<f64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary<'d> {
    operation: &'static str,
    #[serde(rename = "API")]
    api: &'d str,
    #[serde(rename = "TestID")]
    id: u64,
    #[serde(rename = "ReferenceNumber")]
    reference: u64,
    segment_count: u64,
    block_size: u64,
    transfer_size: u64,
    num_tasks: u64,
    tasks_per_node: u64,
    repetitions: u64,
    file_per_proc: u8,
    reorder_tasks: u8,
    task_per_node_offset: u64,
    reorder_tasks_random: u8,
    reorder_tasks_random_seed: u64,
    #[serde(rename = "bwMaxMIB")]
    rate_max: f64,
    #[serde(rename = "bwMinMIB")]
    rate_min: f64,
    #[serde(rename = "bwMeanMIB")]
    rate_mean: f64,
    #[serde(rename = "bwStdMIB")]
    rate_deviation: f64,
    #[serde(rename = "OPsMax")]
    operations_max: f64,
    #[serde(rename = "OPsMin")]
    operations_min: f64,
    #[serde(rename = "OPsMean")]
    operations_mean: f64,
    #[serde(rename = "OPsSD")]
    operations_deviation: f64,
    #[serde(rename = "MeanTime")]
    mean_seconds: f64,
    #[serde(rename = "StoneWallTime", skip_serializing_if = "Option::is_none")]
    wall_seconds: Option<f64>,
    #[serde(rename = "StoneWallbwMeanMIB", skip_serializing_if = "Option::is_none")]
    wall_rate: Option<f64>,
    #[serde(rename = "xsizeMiB")]
    size: f64,
}

/// A figure with four decimals, as the original prints all.
fn rounded(figure: f64) -> f64 {
    (figure * 1e4).round() / 1e4
}

/// Result entry of a write or read test.
pub(crate) fn moved(access: Access, result: &TestResult, asked: &Asked) -> Line {
    let [rate, iops, latency, block, transfer, open_time, wr_rd_time, close_time, total_time] =
        super::text::figures(result, asked).map(rounded);
    Line::Moved(Moved {
        access: access.word(),
        rate,
        block,
        transfer,
        iops,
        latency,
        open_time,
        wr_rd_time,
        close_time,
        total_time,
    })
}

/// Result entry of a removal.
pub(crate) fn removed(seconds: f64) -> Line {
    Line::Removed { access: "remove", seconds: rounded(seconds) }
}

/// Start, end, command line and machine of the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run<'r> {
    /// Start time in the format of `ctime`.
    pub started: &'r str,
    /// End time in the format of `ctime`.
    pub finished: &'r str,
    /// The command line.
    pub words: &'r [String],
    /// The machine.
    pub machine: &'r str,
}

/// A test of it.
#[derive(Clone, Debug)]
pub(crate) struct TestRun<'r> {
    /// Start time in the format of `ctime`.
    pub started: &'r str,
    /// The filesystem.
    pub filesystem: Filesystem,
    /// Parameters of the test.
    pub asked: &'r Asked,
    /// Result entries, one for each write, read or removal.
    pub lines: &'r [Line],
    /// Results of the writes.
    pub writes: &'r [TestResult],
    /// Results of the reads.
    pub reads: &'r [TestResult],
}

/// The whole document.
pub(crate) fn document(run: &Run<'_>, tests: &[TestRun<'_>]) -> String {
    let document = Document {
        version: VERSION,
        began: run.started,
        command_line: run.words.join(" "),
        machine: format!("Linux {}", run.machine),
        tests: tests.iter().map(test).collect(),
        summary: tests.iter().flat_map(summaries).collect(),
        finished: run.finished,
    };
    // Numbers and texts only: that does not fail.
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

fn test<'d>(run: &TestRun<'d>) -> Test<'d> {
    let TestRun { asked, lines, writes, reads, .. } = *run;
    let [capacity, used_capacity, inodes, used_inodes] =
        treering_kit::space::room_words(run.filesystem);
    Test {
        id: asked.id,
        started: run.started,
        path: &asked.first_file,
        capacity,
        used_capacity,
        inodes,
        used_inodes,
        parameters: parameters(asked),
        options: options(asked),
        results: lines,
        max: best(asked, writes, reads),
    }
}

fn parameters(asked: &Asked) -> AllParameters<'_> {
    AllParameters {
        id: asked.id,
        refnum: asked.reference,
        api: &asked.api,
        platform: format!(
            "{}(Linux)",
            asked.machine.trim_end_matches(|c: char| c.is_ascii_digit())
        ),
        test_file_name: &asked.file,
        deadline_for_stonewall: asked.wall_seconds,
        stone_walling_wear_out: asked.wears_out.into(),
        nodes: asked.nodes,
        memory_per_node: asked.memory_per_node,
        tasks_per_node: asked.ranks_on_first,
        repetitions: asked.repetitions,
        read_file: asked.reads.into(),
        write_file: asked.writes.into(),
        file_per_proc: asked.file_per_process.into(),
        reorder_tasks: asked.reorder.into(),
        reorder_tasks_random: asked.reorder_random.into(),
        reorder_tasks_random_seed: asked.reorder_seed,
        others: &asked.parameters,
        never: Never::default(),
        verbose: asked.verbose.into(),
        segment_count: asked.segments,
        transfer_size: asked.transfer_bytes,
        block_size: asked.block_bytes,
    }
}

fn options(asked: &Asked) -> Options<'_> {
    let is_reordered = asked.reorder || asked.reorder_random;
    let all = asked.block_bytes.saturating_mul(asked.segments).saturating_mul(asked.ranks);
    let has_wall = asked.wall_seconds > 0;
    Options {
        api: &asked.api,
        api_version: "",
        file: &asked.file,
        access: if asked.file_per_process { "file-per-process" } else { "single-shared-file" },
        r#type: asked.parameters.kind_of_transfers(),
        segments: asked.segments,
        order: if asked.is_random { "random" } else { "sequential" },
        order_of_files: match (asked.reorder, asked.reorder_random) {
            (true, _) => "constant task offset",
            (false, true) => "random task offset",
            (false, false) => "no tasks offsets",
        },
        task_offset: is_reordered.then_some(asked.task_offset),
        reorder_seed: asked.reorder_random.then_some(asked.reorder_seed),
        nodes: asked.nodes,
        tasks: asked.ranks,
        clients_per_node: asked.ranks_on_first,
        memory_per_node: Some(asked.memory_per_node).filter(|&bytes| bytes > 0).map(human),
        memory_buffer: "CPU",
        data_access: "CPU",
        gpu_direct: "0",
        repetitions: asked.repetitions,
        xfersize: human(asked.transfer_bytes),
        blocksize: human(asked.block_bytes),
        all: human(all),
        verbose: asked.verbose.then_some(1),
        wall_seconds: has_wall.then_some(asked.wall_seconds),
        wears_out: has_wall.then_some(asked.wears_out.into()),
    }
}

fn best(asked: &Asked, writes: &[TestResult], reads: &[TestResult]) -> Option<Best> {
    let most = |is_done: bool, results: &[TestResult], unit: f64| {
        let rates = results.iter().map(TestResult::bytes_per_second);
        is_done.then(|| rounded(rates.fold(0.0, f64::max) / unit))
    };
    asked.verbose.then(|| Best {
        write_mib: most(asked.writes, writes, MIB),
        write_mb: most(asked.writes, writes, 1e6),
        read_mib: most(asked.reads, reads, MIB),
        read_mb: most(asked.reads, reads, 1e6),
    })
}

fn summaries<'d>(test: &TestRun<'d>) -> Vec<Summary<'d>> {
    let tests = [(Access::Write, test.writes), (Access::Read, test.reads)];
    let done = tests.into_iter().filter(|(_, results)| !results.is_empty());
    done.map(|(access, results)| summary(access, results, test.asked)).collect()
}

fn summary<'d>(access: Access, results: &[TestResult], asked: &'d Asked) -> Summary<'d> {
    let rates: Vec<f64> = results.iter().map(TestResult::bytes_per_second).collect();
    let transfer_bytes = asked.transfer_bytes.max(1) as f64;
    let operations: Vec<f64> = rates.iter().map(|rate| rate / transfer_bytes).collect();
    let [rate_max, rate_min, rate_mean, rate_deviation] =
        spread(&rates).map(|rate| rounded(rate / MIB));
    let [operations_max, operations_min, operations_mean, operations_deviation] =
        spread(&operations).map(rounded);
    let count = results.len() as f64;
    let walls: Vec<Wall> = results.iter().filter_map(|result| result.wall).collect();
    let wall_seconds: f64 = walls.iter().map(|wall| wall.seconds).sum();
    let wall_bytes: u64 = walls.iter().map(|wall| wall.mean_bytes).sum();
    Summary {
        operation: access.word(),
        api: &asked.api,
        id: asked.id,
        reference: asked.reference,
        segment_count: asked.segments,
        block_size: asked.block_bytes,
        transfer_size: asked.transfer_bytes,
        num_tasks: asked.ranks,
        tasks_per_node: asked.ranks_on_first,
        repetitions: asked.repetitions,
        file_per_proc: asked.file_per_process.into(),
        reorder_tasks: asked.reorder.into(),
        task_per_node_offset: asked.task_offset,
        reorder_tasks_random: asked.reorder_random.into(),
        reorder_tasks_random_seed: asked.reorder_seed,
        rate_max,
        rate_min,
        rate_mean,
        rate_deviation,
        operations_max,
        operations_min,
        operations_mean,
        operations_deviation,
        mean_seconds: rounded(results.iter().map(|one| one.total_seconds).sum::<f64>() / count),
        wall_seconds: asked.wears_out.then(|| rounded(wall_seconds / count)),
        wall_rate: asked.wears_out.then(|| rounded(wall_bytes as f64 / wall_seconds / MIB)),
        size: rounded(results.first().map_or(0.0, |one| one.bytes as f64 / MIB)),
    }
}
