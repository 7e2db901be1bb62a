//! JSON output of ior: the original's keys in their order, one document for each run.

use serde::Serialize;

use super::parameters::JsonParameters;
use super::results::{AccessKind, StonewallResult, TestResult};
use super::text::{MIB, TestParams, VERSION, human, spread};
use treering_kit::space::FilesystemUsage;

#[derive(Serialize)]
struct JsonDocument<'d> {
    #[serde(rename = "Version")]
    version: &'d str,
    #[serde(rename = "Began")]
    began: &'d str,
    #[serde(rename = "Command line")]
    command_line: String,
    #[serde(rename = "Machine")]
    machine: String,
    tests: Vec<JsonTest<'d>>,
    summary: Vec<JsonSummary<'d>>,
    #[serde(rename = "Finished")]
    finished: &'d str,
}

#[derive(Serialize)]
struct JsonTest<'d> {
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
    options: JsonOptions<'d>,
    #[serde(rename = "Results")]
    results: &'d [ResultEntry],
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<BestRates>,
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
    others: &'d JsonParameters,
    #[serde(flatten)]
    never: UnsupportedParams,
    verbose: u8,
    segment_count: u64,
    transfer_size: u64,
    block_size: u64,
}

/// Parameters without a counterpart here, under the original's names; always 0.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct UnsupportedParams {
    dry_run: u8,
    memory_per_task: u8,
    single_xfer_attempt: u8,
    keep_file_with_error: u8,
    warning_as_errors: u8,
}

#[derive(Serialize)]
struct JsonOptions<'d> {
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
    #[serde(rename = "ordering inter file", skip_serializing_if = "Option::is_none")]
    order_of_files: Option<&'static str>,
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
pub(crate) enum ResultEntry {
    /// A test of all ranks.
    Moved(TransferEntry),
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
pub(crate) struct TransferEntry {
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
struct BestRates {
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
struct JsonSummary<'d> {
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

/// Rounds a figure to four decimals, as the original prints all of them.
fn rounded(figure: f64) -> f64 {
    (figure * 1e4).round() / 1e4
}

/// Result entry of a write or read test.
pub(crate) fn transfer_entry(
    access: AccessKind,
    result: &TestResult,
    params: &TestParams,
) -> ResultEntry {
    let [rate, iops, latency, block, transfer, open_time, wr_rd_time, close_time, total_time] =
        super::text::figures(result, params).map(rounded);
    ResultEntry::Moved(TransferEntry {
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
pub(crate) fn removed(seconds: f64) -> ResultEntry {
    ResultEntry::Removed { access: "remove", seconds: rounded(seconds) }
}

/// Start, end, command line and machine of the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunInfo<'r> {
    /// Start time in the format of `ctime`.
    pub started: &'r str,
    /// End time in the format of `ctime`.
    pub finished: &'r str,
    /// The command line.
    pub words: &'r [String],
    /// The machine.
    pub machine: &'r str,
}

/// Test of the run, with its results.
#[derive(Clone, Debug)]
pub(crate) struct TestRun<'r> {
    /// Start time in the format of `ctime`.
    pub started: &'r str,
    /// The filesystem.
    pub filesystem: FilesystemUsage,
    /// Parameters of the test.
    pub params: &'r TestParams,
    /// Result entries, one for each write, read or removal.
    pub lines: &'r [ResultEntry],
    /// Results of the writes.
    pub writes: &'r [TestResult],
    /// Results of the reads.
    pub reads: &'r [TestResult],
}

/// The whole document.
pub(crate) fn document(run: &RunInfo<'_>, tests: &[TestRun<'_>]) -> String {
    let document = JsonDocument {
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

fn test<'d>(run: &TestRun<'d>) -> JsonTest<'d> {
    let TestRun { params, lines, writes, reads, .. } = *run;
    let [capacity, used_capacity, inodes, used_inodes] =
        treering_kit::space::room_words(run.filesystem);
    JsonTest {
        id: params.id,
        started: run.started,
        path: &params.first_file,
        capacity,
        used_capacity,
        inodes,
        used_inodes,
        parameters: parameters(params),
        options: options(params),
        results: lines,
        max: best(params, writes, reads),
    }
}

fn parameters(params: &TestParams) -> AllParameters<'_> {
    AllParameters {
        id: params.id,
        refnum: params.reference,
        api: &params.api,
        platform: format!(
            "{}(Linux)",
            params.machine.trim_end_matches(|c: char| c.is_ascii_digit())
        ),
        test_file_name: &params.file,
        deadline_for_stonewall: params.wall_seconds,
        stone_walling_wear_out: params.wears_out.into(),
        nodes: params.nodes,
        memory_per_node: params.memory_per_node,
        tasks_per_node: params.ranks_on_first,
        repetitions: params.repetitions,
        read_file: params.reads.into(),
        write_file: params.writes.into(),
        file_per_proc: params.file_per_process.into(),
        reorder_tasks: params.reorder.into(),
        reorder_tasks_random: params.random_level(),
        reorder_tasks_random_seed: params.reorder_seed,
        others: &params.parameters,
        never: UnsupportedParams::default(),
        verbose: params.verbose.into(),
        segment_count: params.segments,
        transfer_size: params.transfer_bytes,
        block_size: params.block_bytes,
    }
}

fn options(params: &TestParams) -> JsonOptions<'_> {
    let is_drawn = params.reorder_random && !params.is_shuffled;
    let is_reordered = params.reorder || is_drawn;
    let total_bytes =
        params.block_bytes.saturating_mul(params.segments).saturating_mul(params.ranks);
    let has_wall = params.wall_seconds > 0;
    JsonOptions {
        api: &params.api,
        api_version: "",
        file: &params.file,
        access: if params.file_per_process { "file-per-process" } else { "single-shared-file" },
        r#type: params.parameters.kind_of_transfers(),
        segments: params.segments,
        order: if params.is_random { "random" } else { "sequential" },
        order_of_files: match (params.reorder, params.reorder_random) {
            (true, _) => Some("constant task offset"),
            (false, true) => is_drawn.then_some("random task offset"),
            (false, false) => Some("no tasks offsets"),
        },
        task_offset: is_reordered.then_some(params.task_offset),
        reorder_seed: is_drawn.then_some(params.reorder_seed),
        nodes: params.nodes,
        tasks: params.ranks,
        clients_per_node: params.ranks_on_first,
        memory_per_node: Some(params.memory_per_node).filter(|&bytes| bytes > 0).map(human),
        memory_buffer: "CPU",
        data_access: "CPU",
        gpu_direct: "0",
        repetitions: params.repetitions,
        xfersize: human(params.transfer_bytes),
        blocksize: human(params.block_bytes),
        all: human(total_bytes),
        verbose: params.verbose.then_some(1),
        wall_seconds: has_wall.then_some(params.wall_seconds),
        wears_out: has_wall.then_some(params.wears_out.into()),
    }
}

fn best(params: &TestParams, writes: &[TestResult], reads: &[TestResult]) -> Option<BestRates> {
    let most = |is_done: bool, results: &[TestResult], unit: f64| {
        let rates = results.iter().map(TestResult::bytes_per_second);
        is_done.then(|| rounded(rates.fold(0.0, f64::max) / unit))
    };
    params.verbose.then(|| BestRates {
        write_mib: most(params.writes, writes, MIB),
        write_mb: most(params.writes, writes, 1e6),
        read_mib: most(params.reads, reads, MIB),
        read_mb: most(params.reads, reads, 1e6),
    })
}

fn summaries<'d>(test: &TestRun<'d>) -> Vec<JsonSummary<'d>> {
    let tests = [(AccessKind::Write, test.writes), (AccessKind::Read, test.reads)];
    let done = tests.into_iter().filter(|(_, results)| !results.is_empty());
    done.map(|(access, results)| summary(access, results, test.params)).collect()
}

fn summary<'d>(
    access: AccessKind,
    results: &[TestResult],
    params: &'d TestParams,
) -> JsonSummary<'d> {
    let rates: Vec<f64> = results.iter().map(TestResult::bytes_per_second).collect();
    let transfer_bytes = params.transfer_bytes.max(1) as f64;
    let operations: Vec<f64> = rates.iter().map(|rate| rate / transfer_bytes).collect();
    let [rate_max, rate_min, rate_mean, rate_deviation] =
        spread(&rates).map(|rate| rounded(rate / MIB));
    let [operations_max, operations_min, operations_mean, operations_deviation] =
        spread(&operations).map(rounded);
    let count = results.len() as f64;
    let walls: Vec<StonewallResult> = results.iter().filter_map(|result| result.wall).collect();
    let wall_seconds: f64 = walls.iter().map(|wall| wall.seconds).sum();
    let wall_bytes: u64 = walls.iter().map(|wall| wall.mean_bytes).sum();
    JsonSummary {
        operation: access.word(),
        api: &params.api,
        id: params.id,
        reference: params.reference,
        segment_count: params.segments,
        block_size: params.block_bytes,
        transfer_size: params.transfer_bytes,
        num_tasks: params.ranks,
        tasks_per_node: params.ranks_on_first,
        repetitions: params.repetitions,
        file_per_proc: params.file_per_process.into(),
        reorder_tasks: params.reorder.into(),
        task_per_node_offset: params.task_offset,
        reorder_tasks_random: params.random_level(),
        reorder_tasks_random_seed: params.reorder_seed,
        rate_max,
        rate_min,
        rate_mean,
        rate_deviation,
        operations_max,
        operations_min,
        operations_mean,
        operations_deviation,
        mean_seconds: rounded(
            results.iter().map(|result| result.total_seconds).sum::<f64>() / count,
        ),
        wall_seconds: params.wears_out.then(|| rounded(wall_seconds / count)),
        wall_rate: params.wears_out.then(|| rounded(wall_bytes as f64 / wall_seconds / MIB)),
        size: rounded(results.first().map_or(0.0, |result| result.bytes as f64 / MIB)),
    }
}
