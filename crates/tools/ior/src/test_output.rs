//! Results of one test and the output lines made of them.

use std::path::PathBuf;

use crate::classic::json::{self, TestRun};
use crate::classic::outliers::OutlierWarnings;
use crate::classic::parameters::JsonParameters;
use crate::classic::results::{AccessKind, TestResult};
use crate::classic::text::{
    CSV_TABLE, RANK_HEAD, TABLE, TestParams, best, csv_row, exists_already, pairs, rank_rows,
    removal, row, summary, test_header, unexpected_size, wall,
};
use treering_kit::op_times::op_rows;
use treering_kit::space::{FilesystemUsage, space};
use treering_model::TaskTotals;
use treering_model::workloads::ior::TransferCounts;
use treering_script::{MachineFacts, Settings, StatfsSpace};

use super::config::{ClassicConfig, OutputFormat};
use super::options::ClassicOptions;
use super::session::SETUP;
use super::shape::{ClassicCompat, TestKind};
use super::transfer::FilePresence;

fn params(id: u64, config: &ClassicConfig, machine: &MachineFacts) -> TestParams {
    let ClassicConfig { shape, options, .. } = config;
    let nodes = machine.nodes(options.ranks);
    let directory = &shape.named_file(0).typed;
    TestParams {
        id,
        machine: machine.name.clone(),
        api: options.others.api.clone(),
        file: options.file.clone(),
        // The original tells it before the first repetition.
        first_file: format!("{directory}{}", shape.file_of(0, None)),
        file_per_process: shape.own_files,
        is_random: options.random,
        reorder: options.reorder,
        reorder_random: options.reorder_random,
        is_shuffled: options.reorder_random && options.reorder_shuffled,
        task_offset: options.task_offset,
        reorder_seed: options.reorder_seed,
        ranks: shape.ranks.into(),
        nodes: nodes.count,
        ranks_on_first: nodes.ranks_on_first,
        memory_per_node: shape.memory.map_or(0, |memory| memory.node_bytes),
        repetitions: shape.repetitions.into(),
        segments: shape.segments,
        block_bytes: shape.block_bytes,
        transfer_bytes: shape.transfer_bytes.into(),
        wall_seconds: shape.wall_seconds.unwrap_or(0),
        wears_out: shape.wears_out,
        reference: options.reference,
        writes: shape.writes,
        reads: shape.reads,
        verbose: options.verbose,
        parameters: parameters(options, shape.as_original),
    }
}

fn parameters(options: &ClassicOptions, original: Option<ClassicCompat>) -> JsonParameters {
    let number = original.map_or(0, |original| original.packet.number());
    JsonParameters {
        max_time_duration: options.minutes,
        inter_test_delay: options.delay,
        options: "(null)",
        fsync: options.fsync.into(),
        fsyncperwrite: options.fsync_each.into(),
        use_existing_test_file: options.use_existing.into(),
        unique_dir: options.unique_dir.into(),
        multi_file: options.multi_file.into(),
        random_offset: u8::from(options.random) + u8::from(options.random_blocks),
        collective: options.collective.into(),
        outlier_threshold: options.outliers,
        check_write: options.tests.check_write.into(),
        check_read: options.tests.check_read.into(),
        data_packet_type: number,
        data_packet_letter: ["g", "t", "o", "i"].get(usize::from(number)).unwrap_or(&"i"),
        keep_file: options.keep.into(),
        data_seed: original.map_or(0, |original| original.data_seed.cast_signed()),
    }
}

/// State of a test's output: its configuration and its results so far.
pub(super) struct TestOutput {
    pub(super) config: ClassicConfig,
    /// Output format of all tests.
    format: OutputFormat,
    params: TestParams,
    outliers: OutlierWarnings,
    /// Per rank: true if it is on the machine of rank 0.
    on_first: Vec<bool>,
    /// Start time, as printed.
    started: String,
    filesystem: FilesystemUsage,
    /// The tasks of the current part, with the worker of each.
    present: Vec<(usize, TransferCounts)>,
    /// Start and end of the removal, in nanoseconds of the trial.
    removed: Option<(u64, u64)>,
    writes: Vec<TestResult>,
    reads: Vec<TestResult>,
    removals: usize,
    /// True until the head of the table was printed.
    lacks_table: bool,
    /// Lines of the file about each rank.
    details: String,
    /// Times of the operations of each rank in the current part.
    times: Vec<Vec<u64>>,
    /// Number of transfers with wrong data.
    pub(super) wrong: u64,
    /// Result entries, in JSON format only.
    lines: Vec<json::ResultEntry>,
}

impl TestOutput {
    /// The test of this number.
    pub(super) fn new(
        id: u64,
        config: ClassicConfig,
        format: OutputFormat,
        settings: &Settings,
    ) -> Self {
        let machine = &settings.machine;
        let outliers = OutlierWarnings {
            threshold_seconds: config.options.outliers,
            started_unix_ms: settings.started_unix_ms,
        };
        Self {
            params: params(id, &config, machine),
            on_first: (0..config.shape.ranks).map(|rank| machine.is_on_first(rank)).collect(),
            config,
            format,
            outliers,
            started: String::new(),
            filesystem: FilesystemUsage::default(),
            present: Vec::new(),
            removed: None,
            writes: Vec::new(),
            reads: Vec::new(),
            removals: 0,
            lacks_table: true,
            details: String::new(),
            times: Vec::new(),
            wrong: 0,
            lines: Vec::new(),
        }
    }

    /// Begins the test at `now`; `room` holds the filesystem's space, if known. Returns the header.
    pub(super) fn begin(&mut self, now: &str, room: Option<StatfsSpace>) -> String {
        now.clone_into(&mut self.started);
        let filesystem = room.map(|room| FilesystemUsage {
            capacity_bytes: room.capacity_bytes,
            unused_bytes: room.unused_bytes,
            inodes: room.inodes.unwrap_or((0, 0)),
        });
        self.filesystem = filesystem.unwrap_or_default();
        match self.format {
            OutputFormat::Text => test_header(now, &self.params, &space(filesystem)),
            OutputFormat::Csv => CSV_TABLE.to_owned(),
            OutputFormat::Json => String::new(),
        }
    }

    /// File of rank 0, as shown in the header.
    pub(super) fn first_file(&self) -> &str {
        &self.params.first_file
    }

    pub(super) fn phase_began(&mut self) {
        self.present.clear();
        self.times.clear();
    }

    /// Head of the table, once.
    pub(super) fn table(&mut self) -> &'static str {
        let is_first = std::mem::replace(&mut self.lacks_table, false);
        if is_first && self.format == OutputFormat::Text { TABLE } else { "" }
    }

    /// Warning about a file that is there before a test.
    fn existing_file(&self, task: &TaskTotals) -> String {
        let presence = task.counters.read::<FilePresence>();
        if self.format != OutputFormat::Text || !presence.is_some_and(|found| found.is_there) {
            return String::new();
        }
        let shape = &self.config.shape;
        let directory = &shape.named_file(task.worker).typed;
        exists_already(&format!("{directory}{}", task.subject), shape.uses_existing)
    }

    /// Takes a task of the current part; returns the text printed at once.
    pub(super) fn task(&mut self, task: &TaskTotals) -> String {
        if task.kind == SETUP {
            return self.existing_file(task);
        }
        if task.kind == self.config.shape.kind(TestKind::Remove) {
            let ended = task.began_ns + task.wall_ns;
            let (began, last) = self.removed.unwrap_or((task.began_ns, ended));
            self.removed = Some((began.min(task.began_ns), last.max(ended)));
        } else {
            let counts = task.counters.read::<TransferCounts>().unwrap_or_default();
            self.wrong += counts.wrong;
            self.present.push((task.worker.into(), counts));
            self.times.resize(self.times.len().max(usize::from(task.worker) + 1), Vec::new());
            self.times[usize::from(task.worker)].extend_from_slice(task.counters.bulk());
        }
        String::new()
    }

    /// Output for a phase of this test that has ended.
    pub(super) fn part_ended(&mut self, name: &str) -> String {
        let present = std::mem::take(&mut self.present);
        let kind = name.strip_prefix(&self.config.shape.prefix).unwrap_or(name);
        match kind.split(' ').next().unwrap_or_default() {
            "write" => self.test(AccessKind::Write, &present),
            "read" => self.test(AccessKind::Read, &present),
            "remove" => self.removal(),
            _ => String::new(),
        }
    }

    fn test(&mut self, access: AccessKind, present: &[(usize, TransferCounts)]) -> String {
        let shape = &self.config.shape;
        let result = TestResult::from_tasks(present, shape.ranks.into());
        if self.config.directives.rank_details.is_some() {
            self.details += &rank_rows(access, present, shape.ranks.into());
        }
        let has_wall = shape.wall_seconds.is_some();
        let mut text = String::new();
        if let Some(wall_time) = result.wall.filter(|_| shape.wears_out) {
            text += &wall(&wall_time);
        }
        if result.bytes != shape.bytes() && self.format == OutputFormat::Text {
            text += &unexpected_size(shape.bytes(), result.bytes, result.bytes, has_wall);
        }
        let results = if access == AccessKind::Write { &mut self.writes } else { &mut self.reads };
        let repetition = results.len();
        results.push(result);
        match self.format {
            OutputFormat::Text => {
                text += &row(access, &result, &self.params, repetition);
                text + &self.outliers.lines(access, present, &|rank| self.host(rank))
            }
            OutputFormat::Csv => text + &csv_row(access, &result, &self.params, repetition),
            OutputFormat::Json => {
                self.lines.push(json::transfer_entry(access, &result, &self.params));
                // In JSON mode the output consists of the document alone.
                String::new()
            }
        }
    }

    /// Host name of a rank's machine, if known.
    fn host(&self, rank: usize) -> Option<String> {
        let is_here = self.on_first.get(rank).copied().unwrap_or_default();
        is_here.then(|| self.params.machine.clone())
    }

    fn removal(&mut self) -> String {
        let (began, ended) = self.removed.take().unwrap_or((0, 0));
        let repetition = self.removals;
        self.removals += 1;
        let seconds = ended.saturating_sub(began) as f64 / 1e9;
        if !self.params.verbose {
            return String::new();
        }
        match self.format {
            OutputFormat::Text => removal(seconds, repetition),
            OutputFormat::Csv => String::new(),
            OutputFormat::Json => {
                self.lines.push(json::removed(seconds));
                String::new()
            }
        }
    }

    /// Files with the time of each operation of a part that has ended, one for each rank.
    pub(super) fn operation_files(&mut self, name: &str) -> Vec<(PathBuf, Vec<u8>)> {
        let times = std::mem::take(&mut self.times);
        let Some(prefix) = &self.config.directives.operations else { return Vec::new() };
        let of_transfers = ["write", "read"].iter().any(|kind| {
            let kind = format!("{}{kind}", self.config.shape.prefix);
            name.split(' ').next() == Some(kind.as_str())
        });
        if !of_transfers {
            return Vec::new();
        }
        let repetition = name.split(' ').nth(1).and_then(|number| number.parse::<u32>().ok());
        let repetition = repetition.map_or(0, |number| number - 1);
        let bytes = u64::from(self.config.shape.transfer_bytes);
        let file = |(rank, numbers): (usize, &Vec<u64>)| {
            let path = PathBuf::from(format!("{prefix}-{repetition}-{rank:05}.csv"));
            (path, op_rows(numbers, bytes).into_bytes())
        };
        times.iter().enumerate().map(file).collect()
    }

    /// File of the performance of each rank, if one is asked for.
    pub(super) fn rank_details(&self) -> Option<(PathBuf, Vec<u8>)> {
        let path = self.config.directives.rank_details.as_ref()?;
        Some((PathBuf::from(path), format!("{RANK_HEAD}{}", self.details).into_bytes()))
    }

    /// Output at the end of the test.
    pub(super) fn end(&mut self) -> String {
        let table = self.table();
        table.to_owned() + &self.best() + &self.pairs()
    }

    /// Line about the transfers of a test with wear-out, unless a status file has them.
    fn pairs(&self) -> String {
        let has_file = self.config.directives.status_file.is_some();
        if !self.config.shape.wears_out || has_file || self.format == OutputFormat::Json {
            return String::new();
        }
        pairs(self.most_written().unwrap_or(0))
    }

    fn best(&self) -> String {
        if self.format == OutputFormat::Text && self.params.verbose {
            best(&self.params, &self.writes, &self.reads)
        } else {
            String::new()
        }
    }

    /// Summary rows of the test.
    pub(super) fn summary(&self) -> String {
        summary(&self.params, &self.writes, &self.reads)
    }

    /// Test entry of the JSON document.
    pub(super) fn run(&self) -> TestRun<'_> {
        TestRun {
            started: &self.started,
            filesystem: self.filesystem,
            params: &self.params,
            lines: &self.lines,
            writes: &self.writes,
            reads: &self.reads,
        }
    }

    /// Transfers of the fastest rank in the first write at its time limit; `None` without one.
    pub(super) fn most_written(&self) -> Option<u64> {
        self.writes.first().and_then(|result| result.wall).map(|wall| wall.most)
    }
}
