//! Arguments of the verbs that compare: `compare` and `report`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use treering_conduct::plan::Machine;
use treering_lab::{BootLoader, RebootControl};
use treering_observe::FunctionName;
use treering_report::pages::comparison::PageDetail;

use super::StoreArgs;
use super::quantities::{device, whole};

#[derive(Debug, Default, Args)]
#[command(after_help = COMPARE_HELP)]
pub(crate) struct CompareArgs {
    /// A plan: a TOML file, or the name of one inside the program, such as mail-server [default: a
    /// quick plan made of the options below].
    #[arg(value_name = "PLAN")]
    pub(crate) plan: Option<PathBuf>,
    /// List the plans inside the program, with their minutes and questions.
    #[arg(long, conflicts_with = "plan")]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) quick: QuickArgs,
    #[command(flatten)]
    pub(crate) observe: ObserveArgs,
    /// Allow this block device to be erased, whatever it contains; may be given several times.
    #[arg(long, value_name = "DEVICE", value_parser = device())]
    pub(crate) erase: Vec<PathBuf>,
    /// Run the jobs of the plan at full size, where it gives them one (`full`).
    #[arg(long, requires = "plan")]
    pub(crate) full_size: bool,
    /// Continue where an earlier run of the same plan stopped or was killed.
    #[arg(long)]
    pub(crate) resume: bool,
    /// Print every trial in its order with an estimate of time and space. As root, mkfs and mount
    /// options are tried on sparse images, which are removed; no other disk is touched. With
    /// --machine reboot, also every command that would be run.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Allow this machine to be rebooted for each trial, as --machine reboot asks for.
    #[arg(long)]
    pub(crate) yes: bool,
    /// With --machine reboot: the loader to boot a kernel once: systemd-boot, grub or kexec
    /// [default: the first of them that can].
    #[arg(long, value_name = "LOADER", value_parser = loader)]
    pub(crate) boot_loader: Option<BootLoader>,
    #[command(flatten)]
    pub(crate) root: RootArgs,
    /// Print the plan as TOML for `treering compare PLAN`, and touch no disk.
    #[arg(long)]
    pub(crate) print_plan: bool,
    /// Print no progress, only the report.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) page: PageArgs,
}

/// What is watched beside the measuring. Given with a plan, these stand instead of its own.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Observing")]
pub(crate) struct ObserveArgs {
    /// Record block traces, and compare seeks, offsets and latencies of each phase.
    #[arg(long)]
    pub(crate) trace: bool,
    /// Compare the layout on disk after each phase.
    #[arg(long)]
    pub(crate) layout: bool,
    /// Also measure the layout after every N tasks.
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=1_000_000))]
    pub(crate) layout_every: Option<u32>,
    /// Compare calls of these functions of the kernel, and their time, where the kernel can probe
    /// functions.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) functions: Vec<FunctionName>,
    /// Rounds in which to observe: own (further rounds, behind the measured ones), or measured
    /// [default: own].
    #[arg(long, value_name = "ROUNDS", value_parser = ["own", "measured"])]
    pub(crate) observe_in: Option<String>,
    /// The number of observing rounds [default: 1]; six are needed to show a difference.
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=1000))]
    pub(crate) observe_rounds: Option<u32>,
}

/// Page of a comparison: its store, its format, and the exit code.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PageArgs {
    /// Exit with 1 if a primary metric is worse; with 0 if none is, with 5 if that is unclear, if
    /// nothing was compared, if the variants differ in more than was asked, or if the rounds break
    /// an assumption of the statistics.
    #[arg(long)]
    pub(crate) gate: bool,
    /// With --gate: decide in spite of this caution, given by its code, such as kernels_differ or
    /// not_interleaved; may be given several times.
    #[arg(long, value_name = "CODE", requires = "gate")]
    pub(crate) accept: Vec<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// The format: terminal, plain, markdown, html, csv, json, benchstat or lkp [default: that of
    /// the name of --output, such as page.html; else terminal; plain in a pipe].
    #[arg(long)]
    pub(crate) format: Option<String>,
    /// Write to this file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Short output that fits in a mail: the conclusions, the cautions and the primary metrics, in
    /// 72 columns.
    #[arg(long)]
    pub(crate) brief: bool,
    /// The whole page as text, in place of the answer on one screen; HTML and Markdown are whole.
    #[arg(long, conflicts_with = "brief")]
    pub(crate) full: bool,
    /// Width of text output in columns [default: that of the terminal; 100 in a pipe; 72 with
    /// --format plain or --brief].
    #[arg(long, value_name = "COLUMNS", value_parser = super::width())]
    pub(crate) width: Option<u16>,
    /// Also write every chart as an SVG file to this directory, which is created if needed.
    #[arg(long, value_name = "DIR")]
    pub(crate) charts: Option<PathBuf>,
    /// With --charts: draw them for a paper, 3.5 inches wide, with letters of 8 points, light, with
    /// title and legend only; traces take 7 inches.
    #[arg(long, requires = "charts")]
    pub(crate) paper: bool,
}

impl PageArgs {
    /// Requested format, by its name or by the name of the output file.
    pub(crate) fn format(&self) -> Option<&str> {
        self.format.as_deref().or_else(|| super::format_of(self.output.as_deref()))
    }

    /// Detail of the page: text on standard output is the short answer by default.
    pub(crate) fn detail(&self) -> PageDetail {
        let is_text = matches!(self.format(), None | Some("terminal" | "plain"));
        match (self.brief, is_text && self.output.is_none() && !self.full) {
            (true, _) => PageDetail::Brief,
            (false, true) => PageDetail::Answer,
            (false, false) => PageDetail::Full,
        }
    }
}

/// Machine that is rebooted.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RootArgs {
    /// A directory that stands for the root of the machine: for tests of reboots.
    #[arg(long = "boot-root", value_name = "DIR", hide = true)]
    pub(crate) dir: Option<PathBuf>,
}

impl RootArgs {
    /// Control over the reboots of that machine, by default this one.
    pub(crate) fn reboots(&self) -> RebootControl {
        RebootControl::new(self.dir.as_deref().unwrap_or(Path::new("/")))
    }
}

fn loader(text: &str) -> Result<BootLoader, String> {
    let names = BootLoader::ALL.map(BootLoader::name).join(", ");
    BootLoader::named(text).ok_or_else(|| format!("not one of: {names}"))
}

fn machine(text: &str) -> Result<Machine, String> {
    let found = Machine::ALL.into_iter().find(|one| one.name() == text);
    found.ok_or_else(|| format!("not one of: {}", Machine::ALL.map(Machine::name).join(", ")))
}

/// Parses a duration in minutes, from the shortest measurable time to a week.
fn minutes(text: &str) -> Result<f64, String> {
    let minutes: Option<f64> = text.parse().ok();
    minutes
        .filter(|minutes| (0.01..=10_080.0).contains(minutes))
        .ok_or_else(|| "give minutes from 0.01 to 10080, such as 3.5".to_owned())
}

/// Options of a quick plan.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "The quick plan")]
pub(crate) struct QuickArgs {
    /// The filesystems to compare, the baseline first [default: those of ext4, xfs and btrfs that
    /// can be made here; without root: --directories].
    #[arg(long, value_delimiter = ',', value_name = "NAME,…", conflicts_with = "plan")]
    pub(crate) filesystems: Vec<String>,
    /// Kernels to compare, each booted in a guest (QEMU) for every trial, the baseline first:
    /// a .deb or .rpm package, an image, an unpacked package, a built tree, or git:REVISION, a
    /// commit of the repository of this directory, which --build builds. With a plan, for each of
    /// its variants.
    #[arg(long = "kernel", value_name = "KERNEL", conflicts_with = "directories")]
    pub(crate) kernels: Vec<PathBuf>,
    /// Build the kernels that are named as git:REVISION with this text for `sh -c`, each in a
    /// working tree of its own with the .config of this one; kernels that were built before are
    /// kept and taken.
    #[arg(long, value_name = "CMD", requires = "kernels")]
    pub(crate) build: Option<String>,
    /// Emulate the guests, and count instructions instead of measuring time, on one CPU: repeatable
    /// for phases that compute [default: where KVM does not boot each kernel].
    #[arg(long)]
    pub(crate) icount: bool,
    /// Emulate the guests with the clock of this machine, by default on two CPUs.
    #[arg(long, conflicts_with = "icount")]
    pub(crate) no_icount: bool,
    /// Machine that runs the kernels of the variants: guest, in which QEMU boots them, or reboot,
    /// which boots this machine itself for each trial; --kernel then names releases that are
    /// installed, as printed by `uname -r` [default: that of the plan, or guest].
    #[arg(long, value_name = "MACHINE", value_parser = machine)]
    pub(crate) machine: Option<Machine>,
    /// Directories to compare as they are, the baseline first; does not require root [default
    /// without root: the present one and /dev/shm].
    #[arg(long, value_delimiter = ',', value_name = "DIR,…",
        conflicts_with_all = ["plan", "filesystems"])]
    pub(crate) directories: Vec<PathBuf>,
    /// The workload.
    #[arg(long, default_value = "compilebench", conflicts_with = "plan")]
    pub(crate) workload: String,
    /// Size of each loop image, allocated in advance [default: 1GiB, or more if the job needs it].
    #[arg(long, conflicts_with = "plan")]
    pub(crate) size: Option<String>,
    /// Block devices to make the filesystems on, instead of loop images.
    #[arg(long, value_delimiter = ',', value_name = "DEVICE,…", value_parser = device(),
        conflicts_with_all = ["plan", "size", "images", "directories"])]
    pub(crate) device: Vec<PathBuf>,
    /// Directory for the images [default: the lab's own directory in /var/tmp].
    #[arg(long, value_name = "DIR", conflicts_with = "plan")]
    pub(crate) images: Option<PathBuf>,
    /// Play this disk over the images, so that seeks take their time: hdd-7200,
    /// hdd-7200-write-through, hdd-7200-500g, hdd-5400, ssd-sata, ssd-ftl, hp97560, or a
    /// TOML file.
    #[arg(long, value_name = "DISK", conflicts_with_all = ["plan", "device", "directories"])]
    pub(crate) disk: Option<String>,
    /// Mount options for every variant.
    #[arg(long, value_delimiter = ',', value_name = "OPTION,…", conflicts_with = "plan")]
    pub(crate) mount: Vec<String>,
    /// The metrics that decide, by their JSON names, such as create/mib_per_second [default: one
    /// that stands for the whole run, if the workload has one].
    #[arg(long, value_name = "METRIC,…", conflicts_with = "plan")]
    pub(crate) primary: Vec<String>,
    /// Number of rounds, in each of which every variant runs once; overrides the plan, and is not
    /// combined with --minutes [default: as many as fit into --minutes].
    #[arg(long, value_name = "N", value_parser = whole::<u16>(1..=1000))]
    pub(crate) rounds: Option<u16>,
    /// Make every job that can be scaled so large that a phase of the fastest variant takes this
    /// many seconds, as the warm-up tells; 0 leaves all as they are [default: 5, for jobs whose
    /// size is not stated].
    #[arg(long, value_name = "N", value_parser = whole::<u16>(0..=3600))]
    pub(crate) phase_seconds: Option<u16>,
    /// Run as many rounds as fit into this many minutes: at most 20, and never fewer than are
    /// needed to show a difference in every primary metric (at least 6); overrides the plan
    /// [default: 3.5].
    #[arg(long, value_name = "N", value_parser = minutes,
        conflicts_with_all = ["rounds", "precision", "sequential"])]
    pub(crate) minutes: Option<f64>,
    /// Instead of a fixed number of rounds: run until every primary interval is this narrow, such
    /// as 1.5%.
    #[arg(long, value_name = "N%", conflicts_with_all = ["plan", "rounds", "sequential"])]
    pub(crate) precision: Option<String>,
    /// Instead of a fixed number of rounds: test after 10, 15, 20 and 30 rounds, each time at a
    /// stricter level.
    #[arg(long, conflicts_with_all = ["plan", "rounds"])]
    pub(crate) sequential: bool,
    /// The maximum number of rounds for --precision.
    #[arg(long, default_value_t = 30, requires = "precision",
        value_parser = whole::<u16>(6..=1000))]
    pub(crate) most_rounds: u16,
    /// The seed of the order and of file contents; the workload has its own.
    #[arg(long, default_value_t = 1, conflicts_with = "plan")]
    pub(crate) seed: u64,
    /// The smallest difference that matters [default: 3%; 5% for a p99, any for errors].
    #[arg(long, value_name = "N%", conflicts_with = "plan")]
    pub(crate) threshold: Option<String>,
    /// The plan's name in the store.
    #[arg(long, value_name = "NAME", default_value = "quick", conflicts_with = "plan")]
    pub(crate) name: String,
    /// Run the baseline a second time in each round, to show what chance alone does and which
    /// differences could not have been detected.
    #[arg(long, conflicts_with = "plan")]
    pub(crate) control: bool,
    /// Run no second baseline, which is the default.
    #[arg(long, hide = true, conflicts_with_all = ["plan", "control"])]
    pub(crate) no_control: bool,
    /// Skip the warm-up round (which is stored but not compared).
    #[arg(long, conflicts_with = "plan")]
    pub(crate) no_warm_up: bool,
    /// Options of the workload, as for `treering run` [default: two trees of linux-6.1-small and
    /// six operations].
    #[arg(last = true, value_name = "WORKLOAD OPTIONS", conflicts_with = "plan")]
    pub(crate) options: Vec<String>,
}

const COMPARE_HELP: &str = "\
Each trial runs on a freshly made filesystem, on the same loop image or device for all variants, in
rounds in which every variant runs once, in random order. `treering lab list` shows what a killed
run left behind; its finished trials are kept, and --resume continues with the rest.
  treering compare --filesystems ext4,xfs --size 8GiB -- --dataset linux-6.1 --runs 30
  treering compare --filesystems ext4,xfs --trace --layout
  treering compare --kernel linux-6.1.deb --kernel linux-6.12.deb --filesystems xfs
  treering compare --kernel git:v6.11 --kernel git:HEAD \\
    --build 'make -s -j8 olddefconfig bindeb-pkg'
  treering compare --machine reboot --kernel 6.1.0-47-amd64 --kernel 6.12.9-amd64 --dry-run
  treering compare --list
  treering compare mail-server
  treering compare plan.toml --dry-run
  treering compare plan.toml --erase /dev/sdb1 --gate";

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = REPORT_HELP)]
pub(crate) struct ReportArgs {
    /// The variant to compare with: label:NAME (or NAME), id:PREFIX[,PREFIX…], kernel:RELEASE,
    /// variant:NAME, job:NAME, fs:TYPE or target:DIR.
    #[arg(long, value_name = "SEL")]
    pub(crate) baseline: Option<String>,
    /// The variant to compare with it; may be given several times [default: all other values of the
    /// same kind].
    #[arg(long, value_name = "SEL", num_args = 1.., conflicts_with = "by")]
    pub(crate) contender: Vec<String>,
    /// Group all trials by this; the baseline is the oldest group, or --baseline VALUE [default:
    /// label; variant with --plan or --campaign].
    #[arg(long, value_name = "WHAT",
        value_parser = ["label", "kernel", "variant", "job", "fs", "target"])]
    pub(crate) by: Option<String>,
    /// Only trials of this plan.
    #[arg(long, value_name = "NAME")]
    pub(crate) plan: Option<String>,
    /// Only trials of this campaign, given as a unique prefix of the ID of its first trial.
    #[arg(long, value_name = "ID", conflicts_with = "plan")]
    pub(crate) campaign: Option<String>,
    /// Only trials of this workload.
    #[arg(long)]
    pub(crate) workload: Option<String>,
    /// Compare trials although they differ in these parameters, such as command for two builds
    /// under different paths.
    #[arg(long, value_name = "PARAMETER,…", value_delimiter = ',')]
    pub(crate) ignore: Vec<String>,
    /// Include the trials excluded by `treering exclude`.
    #[arg(long)]
    pub(crate) include_excluded: bool,
    /// Compare the trials of all campaigns, and those that belong to none, together [default: of
    /// each side those of its newest campaign].
    #[arg(long, conflicts_with = "campaign")]
    pub(crate) all_campaigns: bool,
    /// The smallest difference that matters [default: 3%; 5% for a p99, any for errors].
    #[arg(long, value_name = "N%")]
    pub(crate) threshold: Option<String>,
    /// The metrics that decide, by their JSON names, such as create/mib_per_second [default: the
    /// workload's choice].
    #[arg(long, value_name = "METRIC,…")]
    pub(crate) primary: Vec<String>,
    /// Print the plan of the trials' campaign as TOML for `treering compare PLAN`, and no page.
    #[arg(long, conflicts_with_all = ["gate", "format", "charts"])]
    pub(crate) print_plan: bool,
    #[command(flatten)]
    pub(crate) page: PageArgs,
}

#[derive(Debug, Args)]
#[command(after_help = BISECT_HELP)]
pub(crate) struct BisectStepArgs {
    /// A plan in TOML with one variant: filesystem, device, guest and jobs.
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,
    /// The kernel known to be good: a .deb or .rpm package, an image, an unpacked package, a built
    /// tree, or git:REVISION, which --build builds once.
    #[arg(long, value_name = "KERNEL")]
    pub(crate) good: PathBuf,
    /// Build the kernel of this revision with this text for `sh -c`; where it fails, the revision
    /// is skipped [default: take the kernel as it is]. What was built before is kept and taken.
    #[arg(long, value_name = "CMD")]
    pub(crate) build: Option<String>,
    /// The kernel of this revision, once it is built [default: the package that the build has made,
    /// or the current directory, a kernel tree].
    #[arg(long, value_name = "KERNEL")]
    pub(crate) kernel: Option<PathBuf>,
    /// Run exactly this many rounds [default: test after 10, 15, 20 and 30 rounds, each time at a
    /// stricter level, and end when everything is decided].
    #[arg(long, value_name = "N", value_parser = whole::<u16>(1..=1000))]
    pub(crate) rounds: Option<u16>,
    /// Emulate the guests without counting instructions [default: where KVM does not boot each
    /// kernel, instructions are counted, on one CPU].
    #[arg(long)]
    pub(crate) no_icount: bool,
    /// The smallest difference that matters [default: that of the plan].
    #[arg(long, value_name = "N%")]
    pub(crate) threshold: Option<String>,
    /// Accept that the two kernels differ in this, given as the code of the caution, such as
    /// kernel_settings_differ; may be given several times.
    #[arg(long, value_name = "CODE")]
    pub(crate) accept: Vec<String>,
    /// Allow this block device to be erased, whatever it contains; may be given several times.
    #[arg(long, value_name = "DEVICE", value_parser = device())]
    pub(crate) erase: Vec<PathBuf>,
    /// Print no progress, only the report and the answer.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

const BISECT_HELP: &str = "\
Exits with 0 if the kernel of this revision is as good as the good one, with 1 if it is worse, with
125 if that cannot be said: it does not build, does not boot, a trial fails, or the result is
unclear. Any other failure exits with 255, which ends `git bisect run` and blames no revision.
  git bisect start BAD GOOD
  git bisect run treering kernel bisect-step --good git:GOOD \\
    --build 'make -s -j8 olddefconfig all' plan.toml
  git bisect run treering kernel bisect-step --good ../good --build ./package.sh --kernel out.deb \\
    plan.toml";

const REPORT_HELP: &str = "\
Rounds of one campaign are paired by their number, other trials with the same parameters by nearness
in time, within one session of measurements. Trials without a partner are compared as two
independent samples.
  treering report --baseline before --contender after
  treering report --by kernel
  treering report --plan filesystems --format markdown";

#[derive(Debug, Args)]
pub(crate) struct KernelArgs {
    #[command(subcommand)]
    pub(crate) verb: KernelVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KernelVerb {
    /// Show the release, drivers and modules of kernels, and boot each once, emulated.
    ///
    /// Exit code 1 says that one of them cannot be used for guests.
    Check(KernelCheckArgs),
    /// Judge the kernel of one revision against a good one, for `git bisect run`.
    BisectStep(BisectStepArgs),
}

#[derive(Debug, Args)]
pub(crate) struct KernelCheckArgs {
    /// Kernels, as for `compare --kernel`: packages, images, or directories.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Do not boot them.
    #[arg(long)]
    pub(crate) no_boot: bool,
}
