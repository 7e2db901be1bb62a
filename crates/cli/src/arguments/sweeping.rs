//! Arguments of `treering plan` and `treering load`: plans, their curves, and the search on one.

use std::time::Duration;

use clap::{ArgGroup, Args, Command, Subcommand};
use treering_fio::Fio;
use treering_model::workloads::load::LatencyBound;
use treering_script::Workload;

use super::quantities::{latency, period, rate, whole};
use super::settings::argument;
use super::{FIO, OutputArgs, RepeatArgs, StoreArgs};

pub(crate) use treering_conduct::load::LOAD;

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    #[command(subcommand)]
    pub(crate) verb: PlanVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PlanVerb {
    /// List the plans that are inside the program, by question, as `treering compare --list` does.
    List,
    /// Print a plan that is inside the program, as a TOML file to change.
    Show {
        /// Name of the plan, as `treering plan list` prints it.
        name: String,
    },
    /// Show the curves of a plan whose jobs or variants were swept over values, and their knees.
    Sweep(SweepArgs),
    /// Run what a pack has here as well, and compare: what came of it, and what cannot be the same.
    Repeat(RepeatArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
A job or a variant of a plan with `sweep = { threads = [1, 4, 16, 64] }` stands for one of each value.
After `treering compare PLAN`, this shows its curves:
  treering plan sweep
  treering plan sweep --plan threads --format html -o threads.html")]
pub(crate) struct SweepArgs {
    /// The newest campaign of this plan [default: the newest campaign with a sweep].
    #[arg(long, value_name = "NAME")]
    pub(crate) plan: Option<String>,
    /// This metric only, by its full name as in JSON [default: those that decide comparisons].
    #[arg(long)]
    pub(crate) metric: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const LOAD_HELP: &str = "\
How many requests a second can this filesystem take with 99 of 100 done within 5 ms?
  treering load --p99 5ms fio --dir /mnt/test examples/fio/reads-and-commits.fio

Requests arrive by the clock, whether earlier ones have ended or not, and their latency counts from
when they were due: a filesystem that falls behind does not slow down those who ask it. So many are
under way at once as the job says: iodepth times numjobs; others wait, and that counts. Rates in the
job file are shares of its sections.

Rates are doubled until one fails; between the last that passed and the first that failed the answer
is searched with probes that are repeated until its 95 % interval is narrow, or the time is over.
Each probe is a trial of the store: `treering list`, and so is the answer, if there is one.

Behind `fio` stand the options of `treering run fio`; they hold for every probe.";

/// Options that bound a latency, of which at least one is needed.
const BOUNDS: [&str; 4] = ["p50", "p95", "p99", "p999"];

/// Options of the search.
#[derive(Clone, Debug, Args)]
pub(crate) struct LoadArgs {
    /// Half of the requests are to end within this time, such as 300us, 5ms or 1s.
    #[arg(long, value_name = "TIME", value_parser = latency)]
    pub(crate) p50: Option<Duration>,
    /// 95 % of the requests are to end within this time.
    #[arg(long, value_name = "TIME", value_parser = latency)]
    pub(crate) p95: Option<Duration>,
    /// 99 % of the requests are to end within this time.
    #[arg(long, value_name = "TIME", value_parser = latency)]
    pub(crate) p99: Option<Duration>,
    /// 99.9 % of the requests are to end within this time.
    #[arg(long, value_name = "TIME", value_parser = latency)]
    pub(crate) p999: Option<Duration>,
    /// Seconds of a probe; longer at low rates, until at least five requests are expected to be
    /// slower than each percentile.
    #[arg(long, value_name = "SECONDS", default_value = "3", value_parser = period)]
    pub(crate) duration: Duration,
    /// Seconds before each probe at its rate, which do not count.
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = period)]
    pub(crate) warm_up: Duration,
    /// Requests arrive at random times (a Poisson process), or at equal intervals.
    #[arg(long, value_name = "HOW", default_value = "poisson", value_parser = ["poisson", "fixed"])]
    pub(crate) arrivals: String,
    /// The rate to begin with, in requests a second.
    #[arg(long, value_name = "N", default_value = "100", value_parser = rate)]
    pub(crate) min_rate: u64,
    /// The highest rate to probe, in requests a second.
    #[arg(long, value_name = "N", default_value = "1M", value_parser = rate)]
    pub(crate) max_rate: u64,
    /// The search ends when the interval reaches no farther than this to either side.
    #[arg(long, value_name = "N%", default_value = "10%")]
    pub(crate) precision: String,
    /// Begin no probe after this many minutes, and report what is known then.
    #[arg(long, value_name = "N", default_value_t = 10,
        value_parser = whole::<u32>(1..=10_000))]
    pub(crate) minutes: u32,
    #[command(flatten)]
    pub(crate) page: OutputArgs,
}

impl LoadArgs {
    /// Latency bounds given on the command line; each must be met.
    pub(crate) fn bounds(&self) -> Vec<LatencyBound> {
        let all = [
            ("p50", 0.5, self.p50),
            ("p95", 0.95, self.p95),
            ("p99", 0.99, self.p99),
            ("p999", 0.999, self.p999),
        ];
        let bound = |(name, share, time): (_, _, Option<Duration>)| {
            let ns = u64::try_from(time?.as_nanos()).unwrap_or(u64::MAX);
            Some(LatencyBound { name, share, ns })
        };
        all.into_iter().filter_map(bound).collect()
    }
}

/// Command line of the verb; `options` adds the options of native runs.
pub(super) fn load_command(options: fn(Command) -> Command) -> Command {
    let manifest = Fio.manifest();
    let specs = manifest.native.iter().filter(|spec| !Fio::of_offered_load(spec.name));
    let base = Command::new(FIO).next_display_order(None).args(specs.map(argument));
    let fio = options(base)
        .about("The load is the requests of a fio job file, offered by the clock")
        .long_about(None);
    LoadArgs::augment_args(Command::new(LOAD))
        .group(ArgGroup::new("bounds").args(BOUNDS).required(true).multiple(true))
        .about("Search for the highest rate of requests at which a latency is kept")
        .long_about(None)
        .after_help(LOAD_HELP)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(fio)
}
