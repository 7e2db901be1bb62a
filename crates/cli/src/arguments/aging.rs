//! Command line of `treering age`: a native run of the workload of that name, in a directory that
//! is an operand instead of an option, and the subcommands about profiles.

use std::path::PathBuf;

use clap::{Arg, ArgAction, Args, Command, FromArgMatches, Subcommand, value_parser};
use treering_age::AgeWorkload;
use treering_script::Workload;

use super::settings::argument;
use super::{AnyRunArgs, NativeRunArgs, OutputArgs, StoreArgs};

/// Name of the verb.
pub(crate) const AGE: &str = "age";

/// Name of the option that saves the aged filesystem as an image.
const SAVE: &str = "save";

/// The option that goes on with an interrupted run.
const RESUME: &str = "resume";

/// True if an interrupted run goes on.
pub(crate) fn resumes(matches: &clap::ArgMatches) -> bool {
    matches.get_flag(RESUME)
}

/// The name of the image that the aged filesystem is to be saved as.
pub(crate) fn image_to_save(matches: &clap::ArgMatches) -> Option<&str> {
    matches.get_one::<String>(SAVE).map(String::as_str)
}

/// Subcommands about profiles, and about stored runs.
#[derive(Debug, Subcommand)]
pub(crate) enum AgeVerb {
    /// List the profiles that are built in.
    List {
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Print a profile as TOML, to be copied and changed.
    Show(ShowProfileArgs),
    /// Measure the files of a directory, and print a profile with their sizes and directories.
    Profile(MeasureProfileArgs),
    /// Extract what the commits of a git repository did to its files, to be replayed without git.
    Extract(ExtractArgs),
    /// Show the spread of the layouts of stored runs that did the same on equal filesystems.
    Spread(SpreadArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SpreadArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// Only runs of the plan of this name.
    #[arg(long, value_name = "NAME")]
    pub(crate) plan: Option<String>,
    /// Only runs with this label.
    #[arg(long)]
    pub(crate) label: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ExtractArgs {
    /// The repository, or a directory of its work tree; it is only read.
    #[arg(value_name = "GIT_DIR")]
    pub(crate) repository: PathBuf,
    /// Write to this file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The last commit; its first parents are followed to the beginning.
    #[arg(long, default_value = "HEAD", value_name = "REVISION")]
    pub(crate) revision: String,
    /// Also what git itself writes: each commit is pulled into a repository in TMPDIR.
    #[arg(long)]
    pub(crate) with_git: bool,
    /// With --with-git: collect garbage from so many loose objects on, as `gc.auto`; 0 never.
    #[arg(long, value_name = "OBJECTS", default_value_t = 6700, requires = "with_git")]
    pub(crate) gc_auto: u64,
}

#[derive(Debug, Args)]
pub(crate) struct MeasureProfileArgs {
    /// The directory; nothing is read but names and sizes.
    pub(crate) dir: PathBuf,
    /// Write to this file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ShowProfileArgs {
    /// Name of the profile, from `treering age list`.
    pub(crate) name: String,
}

const AFTER_AGE: &str = "\
Age a filesystem as a mail server does, until its layout changes no more:
  treering age /mnt/test --profile mail --until steady --until written=3x
Then measure on it, or compare its layout with that of a fresh copy:
  treering layout /mnt/test --fresh-copy
Write less: what is deleted or replaced on the way is allocated, not written:
  treering age /mnt/test --profile mail --until operations=100000 --fast-forward
Go on after Ctrl-C, a kill or a reboot:
  treering age /mnt/test --resume
See how much the layout differs between runs that did the same:
  treering age spread
Keep it as an image that each trial of a plan starts from:
  treering age /mnt/test --profile mail --until steady --save old-mail

The aged files stay in TARGET/age-0 (TARGET/kernel-N with --profile kernel-tree). One seed gives
one list of operations; its fingerprint is part of the result. docs/aging.md has the details.";

/// Command line of the verb.
pub(super) fn command() -> Command {
    let manifest = AgeWorkload.manifest();
    let base = Command::new(AGE)
        .next_help_heading("Options of the aging")
        .args(manifest.native.iter().map(argument))
        .next_help_heading(super::help::EVERY_RUN);
    let target = |_dir: Arg| {
        Arg::new("dir")
            .value_name("TARGET")
            .help("The directory to age, on the filesystem under test; it must exist")
            .value_parser(value_parser!(PathBuf))
            .required_unless_present("dry_run")
    };
    let command = AnyRunArgs::augment_args(NativeRunArgs::augment_args(base))
        .mut_arg("dir", target)
        .mut_args(|arg| match arg.get_id().as_str() {
            // An aging run always keeps the tree and measures its layout.
            "keep" | "layout" | "layout_every" => arg.hide(true),
            _ => arg,
        })
        .after_help(AFTER_AGE)
        .args_conflicts_with_subcommands(true)
        .subcommand_negates_reqs(true)
        .arg_required_else_help(true);
    let command = command.arg(
        Arg::new(SAVE)
            .long(SAVE)
            .value_name("NAME")
            .help(
                "Then save the whole filesystem as an image of this name, which a plan can start \
                 from; it is unmounted for that and mounted again. Requires root",
            )
            .conflicts_with("dry_run"),
    );
    let command = command.arg(
        Arg::new(RESUME)
            .long(RESUME)
            .action(ArgAction::SetTrue)
            .help(
                "Go on with the run in TARGET that Ctrl-C or a kill ended, from its last whole step; \
                 profile, rules and contents are those that it had",
            )
            .conflicts_with_all(manifest.native.iter().map(|spec| spec.name).chain(["dry_run"])),
    );
    // Doc comments of the groups would stand in for the words on the command.
    AgeVerb::augment_subcommands(command)
        .subcommand_required(false)
        .about(manifest.about)
        .long_about(None)
}

impl AgeVerb {
    /// Parses the subcommand, if one was typed.
    pub(crate) fn of(matches: &clap::ArgMatches) -> Option<Result<Self, clap::Error>> {
        matches.subcommand_name().map(|_| Self::from_arg_matches(matches))
    }
}
