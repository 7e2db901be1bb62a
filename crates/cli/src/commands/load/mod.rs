//! `treering load`: searches for the highest request rate at which the latency bounds are met.

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches};
use treering_conduct::load::{LoadOptions, LoadResult, search_load, seed};
use treering_fio::Fio;
use treering_model::TrialId;
use treering_model::workloads::load::Probe;
use treering_report::PageOrigin;
use treering_report::pages::history::load::{LoadData, LoadView, page, probe_line};
use treering_script::{Settings, Workload};
use treering_stats::LoadAnswer;
use treering_store::LoadDetail;

use super::typed::typed_again;
use super::{native, output};
use crate::arguments::{AnyRunArgs, LoadArgs, NativeRunArgs, percentage, settings};
use crate::classic_output::say;
use crate::failure::{Failure, Kind};
use crate::storage::{failure, place_at, run_store};

/// Parsed arguments of a load search.
struct ParsedLoad {
    args: LoadArgs,
    any: AnyRunArgs,
    own: NativeRunArgs,
    options: LoadOptions,
    settings: Settings,
}

/// Runs the search.
pub(crate) fn run(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let ParsedLoad { args, any, own, options, settings } = ParsedLoad::from_matches(matches)?;
    if any.dry_run {
        native::rehearse(&Fio, options.first_probe(&settings), (&any, &own), None)?;
        return Ok(ExitCode::SUCCESS);
    }
    let store = run_store(&any);
    let quiet = NativeRunArgs { quiet: true, ..own.clone() };
    let host = native::NativeTerminal { own: &quiet, store: &store, has_layouts: false };
    let probed = |probe: &Probe, number: usize| {
        if !own.quiet {
            say(&probe_line(probe, number, &options.bounds));
        }
    };
    let native = native::options(&any, &own);
    let result = search_load(&options, &native, &settings, (&store, &host), &probed)?;
    if result.probes.is_empty() {
        return Ok(ExitCode::from(Kind::Interrupted.code()));
    }
    if !own.quiet || any.no_store || args.page.format().is_some() {
        let view = LoadView {
            answer: result.answer,
            probes: &result.probes,
            idle: result.idle.as_ref(),
            bounds: &options.bounds,
            recorded: result.recorded,
        };
        let (names, origin) = stored(&result, &any)?;
        let page = page(&view, &names, origin);
        output::write_or_data(&page, &LoadData::new(&view), &args.page)?;
        if let Some(path) = args.page.output.as_deref().filter(|_| !own.quiet) {
            say(&format!("page: {}", path.display()));
        }
    }
    Ok(match (result.is_interrupted, result.answer) {
        (true, _) => ExitCode::from(Kind::Interrupted.code()),
        (false, LoadAnswer::BelowLowest | LoadAnswer::Open { .. }) => {
            ExitCode::from(crate::exit_codes::UNCLEAR)
        }
        (false, _) => ExitCode::SUCCESS,
    })
}

impl ParsedLoad {
    fn from_matches(matches: &ArgMatches) -> Result<Self, Failure> {
        let usage = |error: clap::Error| Failure::usage(error.to_string());
        let (_, below) =
            matches.subcommand().ok_or_else(|| Failure::usage("the load is missing: fio"))?;
        let args = LoadArgs::from_arg_matches(matches).map_err(usage)?;
        let own = NativeRunArgs::from_arg_matches(below).map_err(usage)?;
        let mut specs = Fio.manifest().native.to_vec();
        specs.retain(|spec| !Fio::of_offered_load(spec.name));
        let settings = settings(&specs, below);
        if settings.text("with-fio").is_some() {
            let message = "--with-fio: the installed fio cannot be offered a load by the clock";
            return Err(Failure::usage(message).hint("leave it out"));
        }
        let seed = seed(&settings)?;
        let any = AnyRunArgs::from_arg_matches(below).map_err(usage)?;
        let precision = percentage("--precision", &args.precision)?;
        if args.max_rate < args.min_rate {
            return Err(Failure::usage("--max-rate is below --min-rate"));
        }
        let options = LoadOptions {
            bounds: args.bounds(),
            arrivals: args.arrivals.clone(),
            duration: args.duration,
            warm_up: args.warm_up,
            min_rate: args.min_rate,
            max_rate: args.max_rate,
            precision,
            precision_text: args.precision.clone(),
            minutes: args.minutes,
            seed,
        };
        Ok(Self { args, any, own, options, settings })
    }
}

/// Short names of the probes in the store, and their origin for the foot of the page; probes that
/// the store does not hold are omitted.
fn stored(
    result: &LoadResult,
    any: &AnyRunArgs,
) -> Result<(BTreeMap<TrialId, String>, Option<PageOrigin>), Failure> {
    let store = if any.no_store { None } else { place_at(any.store.as_deref()).open_to_read()? };
    let Some(store) = store else { return Ok((BTreeMap::new(), None)) };
    let probes = result.probes.iter().chain(&result.idle);
    let ids: Vec<TrialId> = probes.map(|probe| probe.trial).collect();
    let names = store.short_ids(&ids).map_err(|error| failure(&error))?;
    let trials = store.load_many(&ids, LoadDetail::Headlines).map_err(|error| failure(&error))?;
    let origin = PageOrigin::of_trials(trials.iter())
        .with_command("The same search", &typed_again(std::env::args_os()));
    Ok((ids.into_iter().zip(names).collect(), Some(origin)))
}
