//! Classic mode of mdtest: a header, and the tables at the end.

use std::path::PathBuf;

use crate::classic::results::{IterationResults, RankTime, Test, TestResult};
use crate::classic::table::{TableOptions, TableQuantity, rank_details, summary};
use crate::classic::text::{HeaderParams, footer, header, wall_hit};
use crate::classic::verbose;
use treering_kit::op_times::op_rows;
use treering_kit::space::{FilesystemUsage, wrong_data};
use treering_model::workloads::mdtest::ItemCounts;
use treering_model::{Ending, TaskTotals, TrialEvent};
use treering_script::{
    ClassicMode, ClassicOutput, ClassicScene, ConfigError, MissingRootPolicy, OutputContext,
    Settings, ToolOutput, UnusableDirectory,
};

use super::config::ClassicConfig;
use super::session::SETUP;
use super::shape::{ItemOrder, IterationStep};
use treering_kit::cautions;
use treering_kit::ranks::ABORTED;

/// Output of a classic command line.
pub(super) fn classic_mode(settings: &Settings) -> Result<ClassicMode, ConfigError> {
    let config = ClassicConfig::read(settings)?;
    Ok(ClassicMode {
        roots: config.dirs.clone(),
        make_roots: MissingRootPolicy::OneLevel,
        log: None,
        times_all: config.shape.around.keeps_times,
        seed: 1,
        signal_exit: 130,
        catches_sigint: false,
        output: Box::new(MdtestOutput {
            config,
            iterations: Vec::new(),
            present: Vec::new(),
            begun: 0,
            until_wall: None,
            missed: 0,
            wrong: 0,
        }),
    })
}

struct MdtestOutput {
    config: ClassicConfig,
    iterations: Vec<IterationResults>,
    /// Number of parts of the iteration that have ended.
    begun: usize,
    /// Time until the time limit ended the creation of files.
    until_wall: Option<f64>,
    /// Finished tasks of the current part.
    present: Vec<(TaskTotals, ItemCounts)>,
    /// Number of missing items.
    missed: u64,
    /// Number of items with wrong data.
    wrong: u64,
}

impl MdtestOutput {
    fn ranks(&self) -> usize {
        self.config.shape.ranks.into()
    }

    /// Records the result of a part; returns the text printed at once.
    fn part_ended(&mut self) -> ToolOutput {
        let present = std::mem::take(&mut self.present);
        let Some(test) = present.first().and_then(|(task, _)| Test::from_name(&task.tally)) else {
            return ToolOutput::default();
        };
        let result = self.result(test, &present);
        let begins = self.iterations.last().is_none_or(|last| last.result(test).items > 0);
        if begins {
            self.iterations.push(self.new_iteration());
        }
        if let Some(iteration) = self.iterations.last_mut() {
            iteration.set(test, result);
        }
        let mut printed = ToolOutput::default();
        if present.iter().any(|(_, counts)| counts.ended_by_time) {
            printed.out += &wall_hit(&items_at_wall(&present));
        }
        if test == Test::FileCreation && self.config.shape.wall_seconds.is_some() {
            printed.files.extend(self.status_file(&present));
        }
        printed.files.extend(self.operation_files(test, &present));
        if self.config.is_verbose() {
            printed.out = self.verbose_begin() + &printed.out + &self.verbose(test, &present);
        }
        self.begun += 1;
        printed
    }

    /// File with the number of items that the fastest rank had made when time was over, whether or
    /// not it ended them.
    fn status_file(&self, present: &[(TaskTotals, ItemCounts)]) -> Option<(PathBuf, Vec<u8>)> {
        let path = self.config.options.stonewall_file.as_ref()?;
        let most = items_at_wall(present).into_iter().max().unwrap_or(0);
        Some((PathBuf::from(path), most.to_string().into_bytes()))
    }

    /// Files with the time of each operation of a rank, if they are asked for.
    fn operation_files(
        &self,
        test: Test,
        present: &[(TaskTotals, ItemCounts)],
    ) -> Vec<(PathBuf, Vec<u8>)> {
        let Some(prefix) = &self.config.options.printing.save_per_op_data_csv else {
            return Vec::new();
        };
        let data = self.config.shape.data;
        let bytes = match test {
            Test::FileCreation | Test::FileRemoval => data.write_bytes,
            Test::FileRead => data.read_bytes,
            Test::FileStat => 1,
            _ => return Vec::new(),
        };
        let of_rank = |rank: usize| {
            let own = present.iter().filter(|(task, _)| usize::from(task.worker) == rank);
            let numbers: Vec<u64> =
                own.flat_map(|(task, _)| task.counters.bulk().to_vec()).collect();
            let path = PathBuf::from(format!("{prefix}-{}-{rank:05}.csv", test.name()));
            (path, op_rows(&numbers, bytes.max(1).into()).into_bytes())
        };
        (0..self.ranks()).map(of_rank).collect()
    }

    /// Line at the beginning of an iteration.
    fn verbose_begin(&self) -> String {
        let is_first = self.begun.is_multiple_of(self.config.shape.parts().len().max(1));
        if is_first { verbose::iteration(self.iterations.len()) } else { String::new() }
    }

    /// Lines about a test that has ended; those about items follow the last test of their kind.
    fn verbose(&mut self, test: Test, present: &[(TaskTotals, ItemCounts)]) -> String {
        let shape = &self.config.shape;
        if test == Test::FileCreation && shape.wall_seconds.is_some() {
            let until_then = || present.iter().filter(|(_, counts)| !counts.is_wear_out);
            let began = until_then().map(|(task, _)| task.began_ns).min().unwrap_or(0);
            let ended = until_then().map(|(task, _)| task.began_ns + task.wall_ns).max();
            let wall_ns = ended.unwrap_or(began).saturating_sub(began);
            self.until_wall = Some(wall_ns as f64 / 1e9);
        }
        let Some(results) = self.iterations.last() else { return String::new() };
        let is_of_directory = |step: &IterationStep, wanted: bool| match step {
            IterationStep::Items { is_directory, .. } => *is_directory == wanted,
            IterationStep::MakeTrees | IterationStep::RemoveTrees => false,
        };
        let parts = shape.parts();
        let is_last = |wanted: bool| {
            let mut of_kind = parts.iter().rev().filter(|step| is_of_directory(step, wanted));
            of_kind.next().is_some_and(|step| step.test() == test)
        };
        match test {
            Test::TreeCreation => verbose::tree_creation(results),
            Test::TreeRemoval => verbose::tree_removal(results),
            _ if is_last(true) => verbose::directories(results),
            _ if is_last(false) => verbose::files(results, self.until_wall),
            _ => String::new(),
        }
    }

    /// Creates an iteration. The original's test of reading directories does nothing and takes no
    /// time.
    fn new_iteration(&self) -> IterationResults {
        let mut iteration = IterationResults::default();
        let shape = &self.config.shape;
        if shape.dirs && shape.acts.read {
            let ranks = vec![RankTime::default(); self.ranks()];
            iteration.set(Test::DirectoryRead, TestResult { items: shape.items(), ranks });
        }
        iteration
    }

    fn result(&self, test: Test, present: &[(TaskTotals, ItemCounts)]) -> TestResult {
        let shape = &self.config.shape;
        let ended = |task: &TaskTotals| task.began_ns + task.wall_ns;
        let first = present.iter().map(|(task, _)| task.began_ns).min().unwrap_or(0);
        let last = present.iter().map(|(task, _)| ended(task)).max().unwrap_or(0);
        let seconds = |from: u64, to: u64| to.saturating_sub(from) as f64 / 1e9;
        if test.is_tree_test() {
            let items = shape.tree.directories().unwrap_or(0);
            let whole = seconds(first, last);
            let ranks = vec![RankTime { seconds_before_barrier: whole, seconds: whole }];
            return TestResult { items, ranks };
        }
        let of = |rank: usize| {
            present
                .iter()
                .map(|(task, _)| task)
                .filter(move |task| usize::from(task.worker) == rank)
        };
        let time = |rank: usize| {
            // With -c rank 0 does all the work, and the others wait from the start.
            let began = of(rank).map(|task| task.began_ns).min().filter(|_| !shape.collective);
            let began = began.unwrap_or(first);
            let until = of(rank).map(ended).max().unwrap_or(began);
            RankTime {
                seconds_before_barrier: seconds(began, until),
                seconds: seconds(began, last),
            }
        };
        TestResult { items: self.items(present), ranks: (0..self.ranks()).map(time).collect() }
    }

    /// Items of each rank; after a time limit, the number that the fastest rank created.
    fn items(&self, present: &[(TaskTotals, ItemCounts)]) -> u64 {
        let shape = &self.config.shape;
        if shape.wall_seconds.is_none() && shape.made_before.is_none() {
            return shape.items();
        }
        let mut done = vec![0_u64; self.ranks()];
        for (task, counts) in present {
            done[usize::from(task.worker)] += counts.done;
        }
        done.into_iter().max().unwrap_or(0)
    }

    fn tables(&self, now: &str) -> ToolOutput {
        let ClassicConfig { shape, options, .. } = &self.config;
        let shown = TableOptions {
            ranks: self.ranks(),
            dirs: shape.dirs,
            files: shape.files,
            each_process: options.printing.print_all_procs,
            rank_statistics: options.printing.show_rank_statistics,
        };
        let figures: &[TableQuantity] =
            match (options.printing.rate_and_time, options.printing.print_time) {
                (true, _) => &[TableQuantity::Rate, TableQuantity::Time],
                (false, true) => &[TableQuantity::Time],
                (false, false) => &[TableQuantity::Rate],
            };
        let mut out: String =
            figures.iter().map(|&figure| summary(&self.iterations, &shown, figure)).collect();
        if self.missed > 0 {
            out +=
                &format!("WARNING: {} items were not there, or were there already\n", self.missed);
        }
        if self.wrong > 0 {
            out += &wrong_data(self.wrong);
        }
        out += &footer(now);
        let details = options.printing.save_rank_performance_details.iter().map(|path| {
            let text = rank_details(&self.iterations, self.ranks(), shape.items());
            (PathBuf::from(path), text.into_bytes())
        });
        ToolOutput { out, files: details.collect(), ..ToolOutput::default() }
    }
}

/// Items that each rank had made when the time limit ended the creation, or at its end.
fn items_at_wall(present: &[(TaskTotals, ItemCounts)]) -> Vec<u64> {
    let until_then = present.iter().filter(|(_, counts)| !counts.is_wear_out);
    until_then.map(|(_, counts)| counts.done).collect()
}

impl ClassicOutput for MdtestOutput {
    fn open(&mut self, scene: &ClassicScene) -> ToolOutput {
        let ClassicConfig { shape, options, .. } = &self.config;
        let path = options.dir.split('@').next().unwrap_or_default().to_owned();
        let params = HeaderParams {
            ranks: self.ranks(),
            path,
            stride: shape.stride,
            nodes: self.config.nodes.count,
            on_first: self.config.on_first.clone(),
            random_seed: match shape.order {
                ItemOrder::Original(seed) => Some(seed.into()),
                ItemOrder::Sequential | ItemOrder::Random(_) => None,
            },
            reads_nothing: shape.acts.read && shape.data.read_bytes == 0,
            items: shape.items().saturating_mul(shape.ranks.into()),
            dirs: shape.dirs,
            files: shape.files,
            shared_file: shape.shared_file,
            settings: if self.config.is_verbose() {
                verbose::settings(&self.config.printed_settings())
            } else {
                String::new()
            },
        };
        let filesystem = scene.rooms.first().map(|room| FilesystemUsage {
            capacity_bytes: room.capacity_bytes,
            unused_bytes: room.unused_bytes,
            inodes: room.inodes.unwrap_or((0, 0)),
        });
        ToolOutput {
            out: header(&scene.started, &scene.words, &params, filesystem),
            ..ToolOutput::default()
        }
    }

    fn without_directory(
        &mut self,
        scene: &ClassicScene,
        lacking: &UnusableDirectory<'_>,
    ) -> ToolOutput {
        let UnusableDirectory { path, why, .. } = *lacking;
        let err =
            format!("ERROR: unable to create test directory path {}: {why}\n", path.display());
        let opened = self.open(scene);
        ToolOutput { err: opened.err.clone() + &err, ..opened }
    }

    /// Exit code after `MPI_Abort`, with which the original ends all ranks.
    fn exit_code(&self) -> Option<u8> {
        Some(ABORTED)
    }

    fn refused(&mut self, error: &ConfigError) -> ToolOutput {
        ToolOutput { out: format!("{}\n", error.message), ..ToolOutput::default() }
    }

    fn hear(&mut self, event: &TrialEvent, witness: &mut dyn OutputContext) -> ToolOutput {
        match event {
            TrialEvent::PhaseBegan { .. } => {
                self.present.clear();
                ToolOutput::default()
            }
            TrialEvent::TaskEnded(task) => {
                let counts = task.counters.read::<ItemCounts>().unwrap_or_default();
                if task.kind != SETUP {
                    self.missed += counts.missed;
                    self.wrong += counts.wrong;
                    self.present.push((task.clone(), counts));
                }
                ToolOutput::default()
            }
            TrialEvent::PhaseEnded(_) => self.part_ended(),
            TrialEvent::Ended { ending: Ending::Completed, .. } => self.tables(&witness.time()),
            TrialEvent::Cautioned(caution) => cautions::reported(caution, &[]),
            _ => ToolOutput::default(),
        }
    }
}
