//! The command line: clap derives treering's verbs; the options of workloads come from their specs.

mod aging;
mod annotating;
mod classic;
mod comparing;
mod completing;
mod help;
mod history;
mod images;
mod io500;
mod keeping;
mod lab;
mod layout;
mod links;
mod output;
mod quantities;
mod settings;
mod sharing;
mod sweeping;
mod tracing;
mod watching;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgMatches, Args, Command, CommandFactory, Parser, Subcommand};
use treering_observe::FunctionName;
use treering_script::Workload;

use crate::colour;

pub(crate) use aging::{AGE, AgeVerb, MeasureProfileArgs, SpreadArgs, image_to_save, resumes};
pub(crate) use annotating::{DeleteArgs, ExcludeArgs, IncludeArgs, LabelArgs};
pub(crate) use classic::{GenerateArgs, classic_os_words, classic_words, is_called};
use classic::{link, named};
pub(crate) use comparing::{
    BisectStepArgs, CompareArgs, KernelArgs, KernelCheckArgs, KernelVerb, PageArgs, QuickArgs,
    ReportArgs, RootArgs,
};
pub(crate) use completing::{CompletionsArgs, ManArgs, as_link, to_complete};
use help::next_step::with_next_step;
pub(crate) use history::{HistoryArgs, OverviewArgs, SeriesArgs};
pub(crate) use images::{ImageArgs, ImageVerb};
pub(crate) use io500::{IO500, InstalledArgs, Io500ListArgs, LIST, REHEARSE};
pub(crate) use keeping::{KeepArgs, KeepVerb};
pub(crate) use lab::{CleanArgs, DiskArgs, LabArgs, LabVerb};
pub(crate) use layout::LayoutArgs;
pub(crate) use links::LinksArgs;
pub(crate) use output::{OutputArgs, format_of};
pub(crate) use quantities::{metric_names, percentage, size, width};
use quantities::{period, whole};
use settings::argument;
pub(crate) use settings::{fio_settings, settings, settings_of_words};
pub(crate) use sharing::{MergeArgs, PackArgs, RepeatArgs};
pub(crate) use sweeping::{LOAD, LoadArgs, PlanArgs, PlanVerb, SweepArgs};
pub(crate) use tracing::{
    CostArgs, PlotArgs, RecordTraceArgs, ShowTraceArgs, TraceArgs, TraceVerb, WindowArgs,
};
pub(crate) use watching::WatchArgs;

/// Measure how a filesystem behaves in use, how it ages, and whether a change made it better or
/// worse.
#[derive(Debug, Parser)]
#[command(
    name = "treering",
    version,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = AFTER_HELP,
    after_long_help = after_help(),
    help_template = help::TEMPLATE
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

const AFTER_HELP: &str = "\
Start here:
  treering doctor                 # what can be measured here, how precisely, and what to try next
  treering compare                # as root: ext4, xfs and btrfs, in a few minutes
  treering compare --list         # questions with a plan that answers them

`treering --help` describes every command, `treering COMMAND --help` has examples, and under a link
with the name of an old tool treering behaves as that tool (`treering links DIR` makes the links).
";

fn after_help() -> String {
    format!("{AFTER_HELP}\n{}", crate::exit_codes::help().trim_end())
}

/// Verbs of treering. Each workload also gets a subcommand of `run`, and a verb with the name of
/// the imitated tool.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// List the trials in the store, newest first.
    List(ListArgs),
    /// Show one trial: its figures first, then what was run and where.
    Show(ShowArgs),
    /// Change the label of stored trials.
    Label(LabelArgs),
    /// Exclude stored trials from comparisons, giving a reason that reports show.
    Exclude(ExcludeArgs),
    /// Include excluded trials in comparisons again.
    Include(IncludeArgs),
    /// Delete stored trials for good, giving a reason.
    Delete(DeleteArgs),
    /// Export trials for other programs.
    Export(ExportArgs),
    /// Import the logs of other tools, and trials exported by treering.
    Import(ImportArgs),
    /// Compare stored trials: better, worse, the same or unclear.
    Report(ReportArgs),
    /// Show the results of each kernel, day or commit in a row, and where their level changed.
    History(HistoryArgs),
    /// Measure a new point of a series, in turns with an anchor that never changes.
    Watch(WatchArgs),
    /// Use the store as a whole: check it, pack trials for others, merge theirs, write an overview.
    Store(KeepArgs),
    /// List, show, record and import data sets: the source trees that compilebench works on.
    Dataset(DatasetArgs),
    /// Compare filesystems under a workload: freshly made, on one device, in interleaved rounds.
    Compare(Box<CompareArgs>),
    /// Show a plan inside the program, draw the curves of a swept one, or repeat that of a pack.
    Plan(PlanArgs),
    /// Check kernels for guests before a plan uses them; judge one for `git bisect run`.
    Kernel(KernelArgs),
    /// Record the block I/O requests that a program causes; show and plot traces.
    Trace(TraceArgs),
    /// Show what can be measured on this machine, how precisely, and which commands to try next.
    Doctor(DoctorArgs),
    /// Measure the layout of files and free space of a directory, a device or an image.
    Layout(LayoutArgs),
    /// Keep aged filesystems as images that plans start from: list, show, verify, restore.
    Image(ImageArgs),
    /// Show which filesystems can be made here, and remove what killed runs left behind.
    Lab(LabArgs),
    /// Create links with the names of the classic tools: compilebench, fs_mark, fio and the others.
    Links(LinksArgs),
    /// Print a shell completion script.
    Completions(CompletionsArgs),
    /// Write the man pages to a directory.
    Man(ManArgs),
    /// Old spelling of `treering store pack`.
    #[command(hide = true)]
    Pack(PackArgs),
    /// Old spelling of `treering store merge`.
    #[command(hide = true)]
    Merge(MergeArgs),
    /// Old spelling of `treering store overview`.
    #[command(hide = true)]
    Overview(OverviewArgs),
    /// Old spelling of `treering plan repeat`.
    #[command(hide = true)]
    Repeat(RepeatArgs),
    /// Old spelling of `treering plan sweep`.
    #[command(hide = true)]
    Sweep(SweepArgs),
    /// Old spelling of `treering kernel bisect-step`.
    #[command(hide = true)]
    BisectStep(BisectStepArgs),
    /// Old spelling of `treering lab clean`.
    #[command(hide = true)]
    Clean(CleanArgs),
}

/// Location of the store.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct StoreArgs {
    /// The result store [default: results.treering in the data directory].
    #[arg(long, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// Only trials of this workload.
    #[arg(long)]
    pub(crate) workload: Option<String>,
    /// Only trials with this label.
    #[arg(long)]
    pub(crate) label: Option<String>,
    /// Show at most this many trials, newest first.
    #[arg(long, short = 'n', default_value_t = 50, value_parser = quantities::count)]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The trial: a unique prefix of its ID, or `last`.
    #[arg(default_value = "last")]
    pub(crate) trial: String,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// Print only what the classic tool printed; for trials run in classic mode.
    #[arg(long, conflicts_with_all = ["tasks", "seconds", "charts", "format", "output"])]
    pub(crate) classic: bool,
    /// Print only the consoles of the guest's boots that failed, whole; for variants with a kernel.
    #[arg(long, conflicts_with_all = ["classic", "tasks", "seconds", "charts", "format", "output"])]
    pub(crate) console: bool,
    /// Also show every task with its figures.
    #[arg(long)]
    pub(crate) tasks: bool,
    /// Also show the rate of every second.
    #[arg(long)]
    pub(crate) seconds: bool,
    /// Also write every chart as an SVG file to this directory, which is created if needed.
    #[arg(long, value_name = "DIR")]
    pub(crate) charts: Option<PathBuf>,
    /// With --charts: draw them for a paper, 3.5 inches wide, with letters of 8 points, light, with
    /// title and legend only; traces take 7 inches.
    #[arg(long, requires = "charts")]
    pub(crate) paper: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The trials: unique prefixes of their IDs, or `last`; all when none is named.
    pub(crate) trials: Vec<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// json: everything; csv: a row per task; csv-ops, csv-intervals, csv-metrics: other tables.
    #[arg(long, default_value = "json")]
    pub(crate) format: String,
    /// Write to this file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = AFTER_IMPORT)]
pub(crate) struct ImportArgs {
    /// Files that contain the output of tools, such as mails or logs, and MMTests result
    /// directories; `-` is standard input.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Labels, separated by commas: the first output of each tool gets the first, the second the
    /// second; of MMTests the first run. A single label applies to all files [default: the file's
    /// name, with a number appended if it has several outputs of a tool; the name of the run].
    #[arg(long, value_name = "LABELS", value_delimiter = ',')]
    pub(crate) label: Vec<String>,
    /// Show what would be imported, and store nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Import again what was imported before; it counts as another run.
    #[arg(long)]
    pub(crate) again: bool,
    /// End with 1 if a number on a line of an output was not stored, and name the lines. What could
    /// be read is stored all the same.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print an entry for each output, however many there are.
    #[arg(long)]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const AFTER_IMPORT: &str = "\
Compare two kernels from a mail that contains the logs of both:
  treering import mail.txt --label old,new
  treering report --baseline old --contender new

Compare two kernels from MMTests results, with all iterations:
  treering import work/log/old work/log/new
  treering report --baseline old --contender new

The format of each file is detected, compressed or not. Text around and between the logs is
skipped, and lines that a mail program wrapped are joined. What is not understood is reported with
its line number.";

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// A directory, a block device or a plan [default: the current directory].
    #[arg(value_parser = quantities::device())]
    pub(crate) path: Option<PathBuf>,
    /// Show only whether this device would be formatted, with all that is examined and found;
    /// nothing else is done.
    #[arg(long, value_name = "DEVICE", conflicts_with = "path")]
    #[arg(value_parser = quantities::device())]
    pub(crate) guard: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DatasetArgs {
    #[command(subcommand)]
    pub(crate) verb: DatasetVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DatasetVerb {
    /// List the data sets, built in and your own.
    List {
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Show a data set: counts, sizes, and what a patch and a build change.
    Show {
        /// Name of the data set.
        name: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Record a data set from directories: names, types and sizes only.
    Record(RecordArgs),
    /// Import the four dataset files of the original compilebench.
    Import {
        /// The directory with dataset-unpatched and the other three.
        dir: PathBuf,
        /// Name of the data set [default: the name of the directory].
        #[arg(long)]
        name: Option<String>,
        /// Overwrite your data set of this name.
        #[arg(long)]
        replace: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// Name of the data set: letters, digits, '.', '-' and '_'.
    pub(crate) name: String,
    /// The clean tree.
    #[arg(long, value_name = "DIR")]
    pub(crate) clean: PathBuf,
    /// The clean tree of a later version [default: the clean tree].
    #[arg(long, value_name = "DIR")]
    pub(crate) patched: Option<PathBuf>,
    /// The clean tree after a build [default: the clean tree].
    #[arg(long, value_name = "DIR", conflicts_with = "build")]
    pub(crate) compiled: Option<PathBuf>,
    /// The later tree after a build [default: the later tree plus the build products].
    #[arg(long, value_name = "DIR")]
    pub(crate) patched_compiled: Option<PathBuf>,
    /// Run this build command in the clean tree and in the patched tree after scanning them, and
    /// scan them again.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) build: Option<String>,
    /// Record only what is below these paths; may be given several times.
    #[arg(long, value_name = "PREFIX")]
    pub(crate) only: Vec<String>,
    /// Overwrite your data set of this name.
    #[arg(long)]
    pub(crate) replace: bool,
}

/// Options of every run, classic or native.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "treering's own options")]
pub(crate) struct AnyRunArgs {
    /// A label for the trial, to find and compare it by.
    #[arg(long, default_value = "", hide_default_value = true)]
    pub(crate) label: String,
    /// The result store [default: results.treering in the data directory].
    #[arg(long, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
    /// Store no results.
    #[arg(long, conflicts_with = "store")]
    pub(crate) no_store: bool,
    /// Print what the run would do, in order, and touch no disk.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// With --dry-run: print every system call in its order, by worker; the first 1000 of each task
    /// if the run ends by time.
    #[arg(long, requires = "dry_run")]
    pub(crate) calls: bool,
}

/// Options of native runs of any workload.
#[derive(Clone, Debug, Args)]
pub(crate) struct NativeRunArgs {
    /// The directory to work in, on the filesystem under test; it must exist.
    #[arg(long, alias = "directory", value_name = "DIR", required_unless_present = "dry_run")]
    pub(crate) dir: Option<PathBuf>,
    /// File contents: random bytes, or what the classic tool writes.
    #[arg(long, value_name = "KIND", default_value = "random",
        value_parser = ["random", "classic"])]
    pub(crate) payload: String,
    /// Share of the random payload that a compressing filesystem can save, such as 30%.
    #[arg(long, value_name = "N%", default_value = "0%")]
    pub(crate) compressibility: String,
    /// Calls that are timed individually.
    #[arg(long, value_name = "WHICH", default_value = "sampled",
        value_parser = ["all", "sampled", "off"])]
    pub(crate) latency: String,
    /// Record block traces, and report seeks, latencies and offsets of each phase. Requires root.
    #[arg(long)]
    pub(crate) trace: bool,
    /// Measure calls of these functions of the kernel, and their time, where the kernel can probe
    /// functions. Requires root.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) functions: Vec<FunctionName>,
    /// Report hot data: reads and writes as issued, by file and by MiB; costs CPU time on every
    /// call.
    #[arg(long)]
    pub(crate) heat: bool,
    /// With --heat: half-life of an access's contribution to the temperature, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "60", requires = "heat",
        value_parser = period)]
    pub(crate) heat_half_life: Duration,
    /// Slow down every task deliberately by this percentage, to test whether comparisons detect it.
    #[arg(long, value_name = "N%", default_value = "0%", hide_default_value = true)]
    pub(crate) handicap: String,
    /// Measure the layout on disk after each phase, after syncing.
    #[arg(long)]
    pub(crate) layout: bool,
    /// Also measure the layout after every N tasks; this counts towards the time of the phase but
    /// not of the tasks.
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=u32::MAX))]
    pub(crate) layout_every: Option<u32>,
    /// Keep the trees instead of removing them at the end.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Allow a fio job to write to this block device, whatever it contains; may be repeated.
    #[arg(long, value_name = "DEVICE")]
    pub(crate) erase: Vec<PathBuf>,
    /// End the run when a worker process, or one of several ranks, is kept stopped by a signal for
    /// this many seconds; or when a rank is silent, or none of its calls ends.
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = period)]
    #[cfg_attr(not(feature = "mpi"), arg(hide = true))]
    pub(crate) rank_timeout: Duration,
    /// No progress and no summary.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Print every event of the trial as a line of JSON, on standard output or into FILE.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true,
        default_missing_value = "-")]
    pub(crate) events: Option<PathBuf>,
}

/// Options of `treering run fio` that compare the two ways to run a job.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Comparing with fio")]
pub(crate) struct CheckArgs {
    /// Run the job with the installed fio and natively, alternating, and report differences.
    #[arg(long)]
    pub(crate) check: bool,
    /// Number of runs by each of them.
    #[arg(long, value_name = "N", default_value_t = 3, requires = "check",
        value_parser = whole::<u32>(1..=1000))]
    pub(crate) turns: u32,
    /// The output format: terminal, plain, markdown, html, csv or json.
    #[arg(long, requires = "check")]
    pub(crate) format: Option<String>,
}

/// Declares the whole command line for clap.
pub(crate) fn command(workloads: &[&'static dyn Workload]) -> Command {
    let has_classic = |workload: &&&'static dyn Workload| workload.manifest().has_classic();
    let classic = workloads.iter().filter(has_classic).map(|workload| classic_command(*workload));
    let native = workloads.iter().map(|workload| native_command(*workload));
    let run = Command::new("run")
        .about("Run a workload in a directory and store its results")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(native);
    // The global options are only for treering's own verbs: imitated tools must accept no others
    // than the original.
    let own = Cli::command()
        .subcommand(run)
        .subcommand(aging::command())
        .subcommand(io500::command())
        .subcommand(sweeping::load_command(native_options))
        .mut_subcommands(|verb| verb.arg(colour::option().global(true)))
        .arg(colour::option());
    let all = help::with_short_options(own).subcommands(classic);
    let old = old_names(workloads);
    let (short, long) = (help::short(&all, &old), help::long(&all, &old));
    help::in_order(all, &old).before_help(short).before_long_help(long)
}

/// Names of the imitated tools.
pub(crate) fn old_names(workloads: &[&'static dyn Workload]) -> Vec<&'static str> {
    let classic = workloads.iter().filter(|workload| workload.manifest().has_classic());
    classic.map(|workload| workload.manifest().name).collect()
}

/// Parses the command line; under the name of an imitated tool, as a command line of that tool.
pub(crate) fn parse(typed: &[OsString]) -> Result<ArgMatches, clap::Error> {
    let mut command = command(treering_registry::workloads()).color(colour::remember(typed));
    let classic = link(typed).or_else(|| typed.get(1)?.to_str()).and_then(named);
    let Some(workload) = classic else {
        let parsed = command.try_get_matches_from_mut(typed);
        return parsed.map_err(|refused| with_next_step(refused, typed, &command));
    };
    let skipped = if link(typed).is_some() { 1 } else { 2 };
    let rest: Vec<OsString> = typed.iter().skip(skipped).cloned().collect();
    let words: Option<Vec<String>> =
        rest.iter().map(|word| word.to_str().map(str::to_owned)).collect();
    // Only settings that are UTF-8 are expanded.
    let rest = words.map_or(rest, |words| {
        let words = classic::in_full(workload.manifest().classic, words);
        workload.classic_words(words).into_iter().map(OsString::from).collect()
    });
    let name = workload.manifest().name;
    command.try_get_matches_from(["treering".into(), name.into()].into_iter().chain(rest))
}

/// The exit code for a command line that is wrong: the imitated tool's own, where one is meant.
pub(crate) fn usage_exit(typed: &[OsString]) -> u8 {
    let verb = typed.iter().skip(1).find(|verb| *verb != "kernel");
    if verb.is_some_and(|verb| verb == "bisect-step") {
        return crate::exit_codes::BISECTION_ENDS;
    }
    let classic = link(typed).or_else(|| typed.get(1)?.to_str()).and_then(named);
    classic.map_or(crate::failure::Kind::Usage.code(), |workload| {
        workload.manifest().classic_usage_exit
    })
}

fn classic_command(workload: &'static dyn Workload) -> Command {
    let manifest = workload.manifest();
    let about = format!("{} with the options and the output of the original", manifest.imitates);
    let base = Command::new(manifest.name)
        .aliases(manifest.aliases)
        .next_display_order(None)
        .infer_long_args(true)
        .args(manifest.classic.iter().map(argument));
    // Otherwise clap would take the doc comment of the group as the description of the command.
    let command = AnyRunArgs::augment_args(base).about(about).long_about(None);
    classic::with_more(command, manifest.name)
}

/// Name of the workload that the installed original can run, too.
pub(crate) const FIO: &str = "fio";
fn native_command(workload: &'static dyn Workload) -> Command {
    let manifest = workload.manifest();
    let base = Command::new(manifest.name)
        .next_display_order(None)
        .next_help_heading("Options of the workload")
        .args(manifest.native.iter().map(argument));
    let is_fio = manifest.name == FIO;
    let base = if is_fio { CheckArgs::augment_args(base) } else { base };
    // Only fio jobs can name block devices.
    native_options(base)
        .mut_arg("erase", |arg| arg.hide(!is_fio))
        .about(manifest.about)
        .long_about(None)
}

/// Adds the options that every native run has.
fn native_options(base: Command) -> Command {
    let base = base.next_help_heading(help::EVERY_RUN);
    AnyRunArgs::augment_args(NativeRunArgs::augment_args(base))
}
