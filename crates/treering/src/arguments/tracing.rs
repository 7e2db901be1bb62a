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
                      treering trace plot [OPTIONS] --output FILE FILES..."
)]
pub(crate) struct TraceArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<TraceVerb>,
    #[command(flatten)]
    pub(crate) record: RecordTraceArgs,
}

const AFTER_TRACE: &str = "\
What a program does to the disk that the present directory is on, and a plot of it:
  treering trace --out cold.trace -- cp -r linux-6.1 /dev/shm
  treering trace plot cold.trace -o cold.html

The exit code is that of the command. Recording requires root, or CAP_PERFMON and a readable tracefs.";

#[derive(Debug, Subcommand)]
pub(crate) enum TraceVerb {
    /// Show what traces say: our own files, and those of blktrace.
    Show(ShowTraceArgs),
    /// Draw traces above each other: offsets over time, throughput, seeks, IOPS, depth, latency.
    Plot(PlotArgs),
}

/// What is recorded.
#[derive(Debug, Default, Args)]
pub(crate) struct RecordTraceArgs {
    /// The command with its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
    /// Record the devices that this directory is on [default: the present directory].
    #[arg(long, value_name = "DIR", conflicts_with = "device")]
    pub(crate) dir: Option<PathBuf>,
    /// Record this block device or partition; may be given several times.
    #[arg(long, value_name = "DEVICE", value_parser = super::quantities::device())]
    pub(crate) device: Vec<PathBuf>,
    /// When the command has ended, wait until the filesystem has written everything, and record
    /// that too.
    #[arg(long)]
    pub(crate) sync: bool,
    /// Write every event into this file, for `treering trace show` and `plot`. It must not exist.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Write files as blktrace does into this directory, for blkparse, btt and iowatcher.
    #[arg(long, value_name = "DIR")]
    pub(crate) blktrace_out: Option<PathBuf>,
    /// The size of the ring of each CPU: larger ones lose less where much happens.
    #[arg(long, value_name = "SIZE", default_value = "4MiB")]
    pub(crate) ring: String,
    /// Where events come from: tracefs, perf_event, or statistics, the devices' counters, which
    /// tell rates only and have no events to keep [default: the first of them that works].
    #[arg(long, alias = "way", value_name = "METHOD",
          value_parser = ["tracefs", "perf_event", "statistics"])]
    pub(crate) method: Option<String>,
    #[command(flatten)]
    pub(crate) page: TracePageArgs,
}

/// How a page about traces is written. All have defaults, so that verbs below can be named.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct TracePageArgs {
    /// The format: terminal, plain, markdown, html, csv or json [default: terminal; plain in a
    /// pipe].
    #[arg(long)]
    pub(crate) format: Option<String>,
    /// Write to this file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

impl TracePageArgs {
    /// The same as other pages have it.
    pub(crate) fn output(&self) -> OutputArgs {
        let (format, output) = (self.format.clone(), self.output.clone());
        OutputArgs { format, output, ..OutputArgs::default() }
    }
}

/// What of traces is wanted.
#[derive(Clone, Debug, Args)]
pub(crate) struct WindowArgs {
    /// Only what happened from one second to another of the trace, as 1.5:4.
    #[arg(long, value_name = "FROM:TO")]
    pub(crate) times: Option<String>,
    /// Only what went to places from one to another of the device, as 100MiB:2GiB.
    #[arg(long, value_name = "FROM:TO")]
    pub(crate) offsets: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ShowTraceArgs {
    /// Files of `treering trace --out`, files of blktrace (all CPUs of it are read), or directories
    /// with files of blktrace.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) window: WindowArgs,
    /// Also write the first trace as blktrace does into this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) blktrace_out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) page: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PlotArgs {
    /// Traces, which are drawn above each other on one scale.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// The file to be written: .svg for a picture, .html for a page with zoom and a moving picture
    /// of the device.
    #[arg(long, short, value_name = "FILE", required = true)]
    pub(crate) output: PathBuf,
    /// Names of the traces, with commas between [default: those of the files].
    #[arg(long, value_name = "LABELS", value_delimiter = ',')]
    pub(crate) label: Vec<String>,
    #[command(flatten)]
    pub(crate) window: WindowArgs,
}
