//! ior's own way to run and to speak: a header, a line for each test, and a summary.

use std::path::PathBuf;

use treering_classic::ior::counts::TransferCounts;
use treering_classic::ior::json;
use treering_classic::ior::outliers::Outliers;
use treering_classic::ior::parameters::Parameters;
use treering_classic::ior::results::{Access, TestResult};
use treering_classic::ior::text::{
    Asked, CSV_TABLE, TABLE, best, csv_row, footer, header, removal, row, summary, unexpected_size,
    wall,
};
use treering_classic::mdtest::text::{Filesystem, space, wrong_data};
use treering_model::{Ending, PhaseTotals, TaskTotals, TrialEvent};
use treering_script::{
    ClassicMode, ClassicOutput, ClassicScene, ConfigError, Machine, MakeRoots, Said, Settings,
    Witness,
};

use super::config::{ClassicConfig, Format};
use super::options::Classic;
use super::session::SETUP;
use super::shape::{AsOriginal, Part};
use crate::cautions;

/// How a classic command line is run.
pub(super) fn classic_mode(settings: &Settings) -> Result<ClassicMode, ConfigError> {
    let config = ClassicConfig::read(settings)?;
    let asked = asked(&config, &settings.machine);
    let outliers = Outliers {
        threshold_seconds: config.options.outliers,
        started_unix_ms: settings.started_unix_ms,
    };
    let on_first = (0..config.shape.ranks).map(|rank| settings.machine.is_on_first(rank)).collect();
    Ok(ClassicMode {
        roots: vec![config.directory.clone()],
        make_roots: MakeRoots::Never,
        log: None,
        times_all: true,
        seed: 1,
        signal_exit: 130,
        catches_sigint: false,
        output: Box::new(Output {
            config,
            asked,
            outliers,
            on_first,
            present: Vec::new(),
            removed: None,
            writes: Vec::new(),
            reads: Vec::new(),
            removals: 0,
            wrong: 0,
            kept: String::new(),
            lines: Vec::new(),
            scene: ClassicScene::default(),
        }),
    })
}

fn asked(config: &ClassicConfig, machine: &Machine) -> Asked {
    let ClassicConfig { shape, options, .. } = config;
    let nodes = machine.nodes(shape.ranks);
    let directory = options.file.strip_suffix(shape.file.as_str()).unwrap_or_default();
    Asked {
        machine: machine.name.clone(),
        file: options.file.clone(),
        // The original tells it before the first repetition.
        first_file: format!("{directory}{}", shape.file_of(0, None)),
        file_per_process: shape.own_files,
        is_random: options.random,
        reorder: options.reorder,
        reorder_random: options.reorder_random,
        task_offset: options.task_offset,
        reorder_seed: options.reorder_seed,
        ranks: shape.ranks.into(),
        nodes: nodes.count,
        ranks_on_first: nodes.ranks_on_first,
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

fn parameters(options: &Classic, original: Option<AsOriginal>) -> Parameters {
    let number = original.map_or(0, |original| original.packet.number());
    Parameters {
        max_time_duration: options.minutes,
        inter_test_delay: options.delay,
        fsync: options.fsync.into(),
        fsyncperwrite: options.fsync_each.into(),
        use_existing_test_file: options.use_existing.into(),
        unique_dir: options.unique_dir.into(),
        multi_file: options.multi_file.into(),
        random_offset: options.random.into(),
        collective: options.collective.into(),
        outlier_threshold: options.outliers,
        check_write: options.tests.check_write.into(),
        check_read: options.tests.check_read.into(),
        data_packet_type: number,
        data_packet_letter: ["g", "t", "o", "i"].get(usize::from(number)).unwrap_or(&"i"),
        keep_file: options.keep.into(),
        data_seed: options.data_seed.unwrap_or(0),
    }
}

struct Output {
    config: ClassicConfig,
    asked: Asked,
    outliers: Outliers,
    /// Which ranks are on the machine of rank 0.
    on_first: Vec<bool>,
    /// The tasks of the present part, with the worker of each.
    present: Vec<(usize, TransferCounts)>,
    /// When the removal began and ended.
    removed: Option<(u64, u64)>,
    writes: Vec<TestResult>,
    reads: Vec<TestResult>,
    removals: usize,
    /// Transfers whose data were wrong.
    wrong: u64,
    /// What goes to the summary's own file.
    kept: String,
    /// What the tests came to, where JSON is asked for.
    lines: Vec<json::Line>,
    scene: ClassicScene,
}

/// The filesystem of the file.
fn filesystem(scene: &ClassicScene) -> Filesystem {
    let room = scene.rooms.first().copied().unwrap_or_default();
    Filesystem {
        capacity_bytes: room.capacity_bytes,
        unused_bytes: room.unused_bytes,
        inodes: room.inodes.unwrap_or((0, 0)),
    }
}

impl Output {
    fn is_text(&self) -> bool {
        self.config.directives.format == Format::Text
    }

    fn is_json(&self) -> bool {
        self.config.directives.format == Format::Json
    }

    /// Says it, or keeps it for the file of the summary.
    fn says(&mut self, text: String) -> Said {
        if self.config.directives.summary_file.is_some() {
            self.kept += &text;
            return Said::default();
        }
        Said { out: text, ..Said::default() }
    }

    fn task(&mut self, task: &TaskTotals) {
        if task.kind == Part::Remove.kind() {
            let ended = task.began_ns + task.wall_ns;
            let (began, last) = self.removed.unwrap_or((task.began_ns, ended));
            self.removed = Some((began.min(task.began_ns), last.max(ended)));
        } else if task.kind != SETUP {
            let counts = task.counters.read::<TransferCounts>().unwrap_or_default();
            self.wrong += counts.wrong;
            self.present.push((task.worker.into(), counts));
        }
    }

    fn part_ended(&mut self, phase: &PhaseTotals) -> Said {
        let present = std::mem::take(&mut self.present);
        let kind = phase.name.split(' ').next().unwrap_or_default();
        let text = match kind {
            "write" => self.test(Access::Write, &present),
            "read" => self.test(Access::Read, &present),
            "remove" => self.removal(),
            _ => return Said::default(),
        };
        self.says(text)
    }

    fn test(&mut self, access: Access, present: &[(usize, TransferCounts)]) -> String {
        let shape = &self.config.shape;
        let result = TestResult::of(present, shape.ranks.into());
        let has_wall = shape.wall_seconds.is_some();
        let mut text = String::new();
        if let Some(found) = result.wall.filter(|_| shape.wears_out) {
            text += &wall(&found);
        }
        if result.bytes != shape.bytes() && self.is_text() {
            text += &unexpected_size(shape.bytes(), result.bytes, result.bytes, has_wall);
        }
        let results = if access == Access::Write { &mut self.writes } else { &mut self.reads };
        let repetition = results.len();
        results.push(result);
        match self.config.directives.format {
            Format::Text => {
                text += &row(access, &result, &self.asked, repetition);
                text + &self.outliers.lines(access, present, &|rank| self.host(rank))
            }
            Format::Csv => text + &csv_row(access, &result, &self.asked, repetition),
            Format::Json => {
                self.lines.push(json::moved(access, &result, &self.asked));
                // Nothing but the document goes where that goes.
                String::new()
            }
        }
    }

    /// The machine of a rank, where that is known.
    fn host(&self, rank: usize) -> Option<String> {
        let is_here = self.on_first.get(rank).copied().unwrap_or_default();
        is_here.then(|| self.asked.machine.clone())
    }

    fn removal(&mut self) -> String {
        let (began, ended) = self.removed.take().unwrap_or((0, 0));
        let repetition = self.removals;
        self.removals += 1;
        let seconds = ended.saturating_sub(began) as f64 / 1e9;
        if !self.asked.verbose {
            return String::new();
        }
        match self.config.directives.format {
            Format::Text => removal(seconds, repetition),
            Format::Csv => String::new(),
            Format::Json => {
                self.lines.push(json::removed(seconds));
                String::new()
            }
        }
    }

    fn ended(&mut self, now: &str) -> Said {
        let mut text = String::new();
        if self.is_text() {
            if self.asked.verbose {
                text += &best(&self.asked, &self.writes, &self.reads);
            }
            text += &summary(&self.asked, &self.writes, &self.reads);
            text += &footer(now);
        }
        if self.is_json() {
            let run = json::Run {
                started: &self.scene.started,
                finished: now,
                words: &self.scene.words,
                filesystem: filesystem(&self.scene),
            };
            text = json::document(&run, &self.asked, &self.lines, &self.writes, &self.reads);
        }
        let mut said = self.says(text);
        if self.wrong > 0 {
            said.out += &wrong_data(self.wrong);
        }
        let directives = &self.config.directives;
        if let Some(path) = &directives.summary_file {
            said.files.push((PathBuf::from(path), self.kept.clone().into_bytes()));
        }
        let most = self.writes.last().and_then(|result| result.wall).map(|wall| wall.most);
        if let (Some(path), Some(most)) = (&directives.status_file, most) {
            said.files.push((PathBuf::from(path), most.to_string().into_bytes()));
        }
        said
    }
}

impl ClassicOutput for Output {
    fn open(&mut self, scene: &ClassicScene) -> Said {
        self.scene = scene.clone();
        let filesystem = space(filesystem(scene));
        let text = match self.config.directives.format {
            Format::Text => header(&scene.started, &scene.words, &self.asked, &filesystem) + TABLE,
            Format::Csv => CSV_TABLE.to_owned(),
            Format::Json => String::new(),
        };
        self.says(text)
    }

    fn refused(&mut self, error: &ConfigError) -> Said {
        Said { out: format!("ERROR: {}\n", error.message), ..Said::default() }
    }

    fn hear(&mut self, event: &TrialEvent, witness: &mut dyn Witness) -> Said {
        match event {
            TrialEvent::PhaseBegan { .. } => {
                self.present.clear();
                Said::default()
            }
            TrialEvent::TaskEnded(task) => {
                self.task(task);
                Said::default()
            }
            TrialEvent::PhaseEnded(phase) => self.part_ended(phase),
            TrialEvent::Ended { ending: Ending::Completed, .. } => self.ended(&witness.time()),
            TrialEvent::Cautioned(caution) => cautions::reported(caution, &[]),
            _ => Said::default(),
        }
    }

    fn close(&mut self, _signal: Option<i32>) -> Said {
        Said::default()
    }
}
