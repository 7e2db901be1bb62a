//! Arguments of `treering trace`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::OutputArgs;

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true,
    after_help = AFTER_TRACE,
    override_usage = "treering trace [OPTIONS] -- COMMAND [ARGUMENTS]...\n       \
                      treering trace show [OPTIONS] FILES...\n       \
                      treering trace plot [OPTIONS] --output FILE FILES...\n       \
                      treering trace cost [OPTIONS] FILES..."
)]
pub(crate) struct TraceArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<TraceVerb>,
    #[command(flatten)]
    pub(crate) record: RecordTraceArgs,
}

const AFTER_TRACE: &str = "\
Record what a program does to the disk of the current directory, and plot it:
  treering trace --out cold.trace -- cp -r linux-6.1 /dev/shm
  treering trace plot cold.trace -o cold.html
What it would take on a disk with a head that moves:
  treering trace cost cold.trace --disk hdd-7200

The exit code is that of the command. Recording requires root, or CAP_PERFMON and a readable
tracefs.";

#[derive(Debug, Subcommand)]
pub(crate) enum TraceVerb {
    /// Summarize traces, our own or those of blktrace.
    Show(ShowTraceArgs),
    /// Plot traces on a common time axis: offsets, throughput, seeks, IOPS, queue depth, latency.
    Plot(PlotArgs),
    /// Estimate what traces would take on a modelled disk, on which seeks have a price.
    Cost(CostArgs),
}

/// Options of a recording.
#[derive(Debug, Default, Args)]
pub(crate) struct RecordTraceArgs {
    /// The command with its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
    /// Record the devices that hold this directory [default: the current directory].
    #[arg(long, value_name = "DIR", conflicts_with = "device")]
    pub(crate) dir: Option<PathBuf>,
    /// Record this block device or partition; may be given several times.
    #[arg(long, value_name = "DEVICE", value_parser = super::quantities::device())]
    pub(crate) device: Vec<PathBuf>,
    /// After the command has ended, sync the filesystem and record that as well.
    #[arg(long)]
    pub(crate) sync: bool,
    /// Write all events to this file, for `treering trace show` and `plot`; it must not exist.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Write blktrace files to this directory, for blkparse, btt and iowatcher.
    #[arg(long, value_name = "DIR")]
    pub(crate) blktrace_out: Option<PathBuf>,
    /// The size of the ring buffer of each CPU: larger buffers lose fewer events under load.
    #[arg(long, value_name = "SIZE", default_value = "4MiB")]
    pub(crate) ring: String,
    /// Source of events: tracefs, perf_event, or statistics (device counters, which give rates only
    /// and no events) [default: the first that works].
    #[arg(long, alias = "way", value_name = "METHOD",
          value_parser = ["tracefs", "perf_event", "statistics"])]
    pub(crate) method: Option<String>,
    #[command(flatten)]
    pub(crate) page: TracePageArgs,
}

/// Output options of a page about traces. All have defaults, so that a subcommand may be given
/// instead.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct TracePageArgs {
    /// The format: terminal, plain, markdown, html, csv or json [default: that of the name of
    /// --output, such as page.html; else terminal; plain in a pipe].
    #[arg(long)]
    pub(crate) format: Option<String>,
    /// Write to this file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

impl TracePageArgs {
    /// Converts the arguments to the output arguments of other pages.
    pub(crate) fn output(&self) -> OutputArgs {
        let (format, output) = (self.format.clone(), self.output.clone());
        OutputArgs { format, output, ..OutputArgs::default() }
    }
}

/// Part of a trace to read.
#[derive(Clone, Debug, Args)]
pub(crate) struct WindowArgs {
    /// Only events between these seconds of the trace, such as 1.5:4.
    #[arg(long, value_name = "FROM:TO")]
    pub(crate) times: Option<String>,
    /// Only requests between these offsets of the device, such as 100MiB:2GiB.
    #[arg(long, value_name = "FROM:TO")]
    pub(crate) offsets: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ShowTraceArgs {
    /// Files written by `treering trace --out`, blktrace files (those of all CPUs are read), or
    /// directories of blktrace files.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) window: WindowArgs,
    /// Also write the first trace to this directory in the format of blktrace.
    #[arg(long, value_name = "DIR")]
    pub(crate) blktrace_out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) page: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CostArgs {
    /// Traces, as for `treering trace show`.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// The disk: hdd-7200, hdd-7200-write-through, hdd-7200-500g, hdd-5400, ssd-sata, ssd-ftl,
    /// hp97560, or a TOML file; may be given several times.
    #[arg(long, value_name = "DISK", default_value = "hdd-7200")]
    pub(crate) disk: Vec<String>,
    #[command(flatten)]
    pub(crate) page: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PlotArgs {
    /// Traces, drawn one above the other on one scale.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// The file to write: .svg for a picture, .html for a page with zoom and an animation of the
    /// device.
    #[arg(long, short, value_name = "FILE", required = true)]
    pub(crate) output: PathBuf,
    /// Names of the traces, separated by commas [default: the file names].
    #[arg(long, value_name = "LABELS", value_delimiter = ',')]
    pub(crate) label: Vec<String>,
    #[command(flatten)]
    pub(crate) window: WindowArgs,
}
