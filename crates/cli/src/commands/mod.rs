//! The verbs, one file each, and the dispatch of parsed arguments to them.

mod age;
mod annotate;
mod charts;
mod classic;
mod clean;
mod compare;
mod dataset;
mod doctor;
mod export;
mod fio_check;
mod generate;
mod history;
mod image;
mod import;
mod io500;
mod lab;
mod layout;
mod links;
mod list;
mod load;
mod man;
mod many;
mod native;
mod original_fio;
mod output;
mod overview;
mod report;
mod share;
mod show;
mod store;
mod sweep;
mod trace;
mod trial;
mod typed;
mod watch;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgMatches, FromArgMatches};
use treering_script::Workload;

pub(crate) use self::compare::run_guest as in_guest;
pub(crate) use self::many::launched::run as as_rank;
use crate::arguments::{self, CheckArgs, CompletionsArgs, KernelArgs, KernelVerb, PlanVerb, Verb};
use crate::failure::{Failure, Kind, show, show_refused};

/// Handles a command line that the parser rejected: help is printed, fio command lines go to the
/// installed fio, and any other is an error.
pub(crate) fn refused(refused: &clap::Error, typed: &[OsString]) -> ExitCode {
    let is_fio = arguments::is_called(typed, arguments::FIO);
    let done = match refused.kind() {
        ErrorKind::DisplayVersion if is_fio => original_fio::version(),
        _ if is_fio && refused.exit_code() != 0 => original_fio::run(not_native(refused), None),
        _ => return show_refused(refused, arguments::usage_exit(typed)),
    };
    done.unwrap_or_else(|failure| show(&failure))
}

/// Reasons why a fio command line cannot run natively: each unsupported option, and the errors in
/// the jobs.
fn not_native(refused: &clap::Error) -> Failure {
    let words = arguments::classic_words();
    let fio = workload(arguments::FIO);
    let options = fio.map_or(&[][..], |fio| fio.manifest().classic);
    let own = ["label", "store", "no-store", "dry-run", "show-options", "help", "version"];
    let known: Vec<&str> = options.iter().map(|spec| spec.name).chain(own).collect();
    let (mut faults, rest) = treering_fio::not_native(&words, &known);
    if faults.is_empty() {
        let text = refused.to_string();
        let first = text.lines().next().unwrap_or_default();
        return Failure::new(Kind::Classic, first.trim_start_matches("error: "));
    }
    let rest: Vec<OsString> = rest.into_iter().map(OsString::from).collect();
    if let (Some(fio), Ok(matches)) = (fio, arguments::parse(&rest))
        && let Some((_, below)) = matches.subcommand()
    {
        faults.extend(classic::fault(fio, below));
    }
    Failure::new(Kind::Classic, faults.join("\n"))
}

/// Runs the command of the parsed command line.
pub(crate) fn run(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    if let Some((name, below)) = matches.subcommand() {
        if name == arguments::AGE {
            return age::run(below);
        }
        if name == arguments::LOAD {
            return load::run(below);
        }
        if name == arguments::IO500 {
            return io500::run(below);
        }
        if let Some(("generate", asked)) = below.subcommand()
            && workload(name).is_some()
        {
            return generate::run(asked);
        }
        if let Some(workload) = workload(name) {
            return classic::run(workload, below);
        }
        if let ("run", Some((name, below))) = (name, below.subcommand())
            && let Some(workload) = workload(name)
        {
            if name == arguments::FIO
                && let Some(check) = CheckArgs::from_arg_matches(below).ok().filter(|one| one.check)
            {
                return fio_check::run(below, &check);
            }
            return native::run(workload, below);
        }
    }
    let verb =
        Verb::from_arg_matches(matches).map_err(|error| Failure::usage(error.to_string()))?;
    match verb {
        Verb::List(args) => list::run(&args),
        Verb::Show(args) => show::run(&args),
        Verb::Label(args) => annotate::label(&args),
        Verb::Exclude(args) => annotate::exclude(&args),
        Verb::Include(args) => annotate::include(&args),
        Verb::Delete(args) => annotate::delete(&args),
        Verb::Export(args) => export::run(&args),
        Verb::Import(args) => import::run(&args),
        Verb::Pack(args) => share::pack(&args),
        Verb::Merge(args) => share::merge(&args),
        Verb::Repeat(args) => share::repeat(&args),
        Verb::Report(args) => report::run(&args),
        Verb::History(args) => history::run(&args),
        Verb::Overview(args) => overview::run(&args),
        Verb::Sweep(args) => sweep::run(&args),
        Verb::Watch(args) => watch::run(&args),
        Verb::Store(args) => store::run(&args.verb),
        Verb::Dataset(args) => dataset::run(args.verb),
        Verb::Compare(args) => compare::run(&args),
        Verb::Plan(args) => plan(&args.verb),
        Verb::Kernel(KernelArgs { verb: KernelVerb::Check(args) }) => compare::check_kernels(&args),
        Verb::Kernel(KernelArgs { verb: KernelVerb::BisectStep(args) })
        | Verb::BisectStep(args) => Ok(compare::bisect_step(&args)),
        Verb::Doctor(args) => doctor::run(&args),
        Verb::Layout(args) => layout::run(&args),
        Verb::Image(args) => image::run(&args.verb),
        Verb::Lab(args) => lab::run(&args.verb),
        Verb::Trace(args) => trace::run(&args),
        Verb::Links(args) => links::run(&args),
        Verb::Clean(args) => clean::run(&args),
        Verb::Completions(args) => completions(&args),
        Verb::Man(args) => man::run(&args),
    }
}

fn plan(verb: &PlanVerb) -> Result<ExitCode, Failure> {
    match verb {
        PlanVerb::List => compare::list_shipped(None),
        PlanVerb::Show { name } => compare::show_shipped(name),
        PlanVerb::Sweep(args) => sweep::run(args),
        PlanVerb::Repeat(args) => share::repeat(args),
    }
}

fn workload(name: &str) -> Option<&'static dyn Workload> {
    treering_registry::workloads().iter().copied().find(|workload| workload.manifest().name == name)
}

fn completions(args: &CompletionsArgs) -> Result<ExitCode, Failure> {
    let tools: Vec<&str> = args.names.iter().map(String::as_str).collect();
    let names = if tools.is_empty() { vec!["treering"] } else { tools };
    output::with_writer(None, |out| crate::completion::write_script(args.shell, &names, out))?;
    Ok(ExitCode::SUCCESS)
}
