//! Trials on several ranks, and the metrics of all ranks. Rank 0 conducts, the others assist.

use std::path::{Path, PathBuf};

use treering_engine::{
    EngineError, EngineOptions, PhaseBarriers, RankError, RankSkew, RunOptions, RunProgress,
    RunSessions, StopFlag, Target, World, middle_ns, own_directory,
};
use treering_model::metrics::times::{BARRIER_SECONDS, RANK_SKEW_PERCENT, START_SPREAD_SECONDS};
use treering_model::{
    Artifact, Fact, Metric, RANKS_ARTIFACT, RANKS_FACT, RANKS_VERSION, RankPhase, RankRow,
    RankTable, Scope, SinkError, TrialEvent, TrialSink,
};
use treering_observe::Findings;
use treering_script::{Job, Session, TargetFacts};

/// Placeholder of the rank number in a directory.
pub(crate) const RANK: &str = "{rank}";

/// Directory of a rank: `{rank}` is replaced by its number.
pub(crate) fn dir_of_rank(dir: &Path, rank: usize) -> PathBuf {
    match dir.to_str() {
        Some(text) => text.replace(RANK, &rank.to_string()).into(),
        None => dir.to_owned(),
    }
}

/// Sink that discards all events, since only rank 0 records results.
struct NullSink;

impl TrialSink for NullSink {
    fn accept(&mut self, _event: &TrialEvent) -> Result<(), SinkError> {
        Ok(())
    }
}

/// Broadcasts the target facts, so that the jobs of all ranks begin with the same ones.
pub(crate) fn tell_place(world: &World<'_>, facts: &TargetFacts) -> Result<(), RankError> {
    let message = serde_json::to_vec(facts).unwrap_or_default();
    world.broadcast(&message).map(|_told| ())
}

/// Runs this rank's share of a trial that rank 0 conducts, in the same directories.
///
/// # Errors
/// As for [`RunSessions::run`], and when rank 0 does not begin.
pub(crate) fn assist(
    job: &dyn Job,
    roots: &[Target],
    engine: &EngineOptions,
    world: &World<'_>,
    stop: &StopFlag,
) -> Result<(), EngineError> {
    let message = world.broadcast(&[])?;
    let facts: TargetFacts = serde_json::from_slice(&message).map_err(|error| RankError {
        rank: 0,
        host: world.hosts().swap_remove(0),
        why: format!("what it says of the place is not understood: {error}"),
    })?;
    let mut session = job.begin(&facts);
    let (progress, mut nowhere) = (RunProgress::new(), NullSink);
    let apart = job.works_apart();
    let run = RunOptions::new(engine, &mut nowhere, &progress, stop);
    let run = RunOptions { world: Some(world), apart, ..run };
    match roots.first().filter(|_| apart) {
        Some(root) => run_apart(root, world.rank(), session.as_mut(), run),
        None => roots.run(session.as_mut(), run),
    }
}

/// Makes a directory for each rank that runs a job in full. Rank 0 makes them all, since it records
/// everything that is made.
pub(crate) fn make_directories(world: &World<'_>, root: &Target) -> Result<(), EngineError> {
    (0..world.size()).try_for_each(|rank| Ok(root.make_tree(&own_directory(rank))?))
}

/// Runs a session in the directory of a rank.
pub(crate) fn run_apart(
    root: &Target,
    rank: usize,
    session: &mut dyn Session,
    run: RunOptions<'_>,
) -> Result<(), EngineError> {
    root.beneath(&own_directory(rank))?.run(session, run)
}

/// Metrics of a phase on several ranks: skew, duration of barriers, and spread of the start times.
fn metrics_of(skew: &RankSkew) -> [Metric; 3] {
    let of = || Scope::Phase(skew.name.clone());
    let seconds = |all: &[u64]| middle_ns(all) as f64 / 1e9;
    let PhaseBarriers { took_ns, start_spreads_ns } = &skew.barriers;
    [
        RANK_SKEW_PERCENT.of(of(), skew.percent()),
        BARRIER_SECONDS.of(of(), seconds(took_ns)),
        START_SPREAD_SECONDS.of(of(), seconds(start_spreads_ns)),
    ]
}

/// Facts, metrics and the table of all ranks at the end of a trial.
pub(crate) fn about_ranks(world: &World<'_>) -> Findings {
    let (hosts, clocks, skews) = (world.hosts(), world.clocks(), world.skews());
    let fact = |name: &str, value: String| Fact { name: name.to_owned(), value };
    let unsure_ns = clocks.iter().map(|clock| clock.uncertainty_ns).max().unwrap_or(0);
    let (sent, received) = world.traffic_bytes();
    let mut facts = vec![
        fact(RANKS_FACT, world.size().to_string()),
        fact("ranks.clock_uncertainty_ns_max", unsure_ns.to_string()),
        fact("ranks.messages_sent_bytes", sent.to_string()),
        fact("ranks.messages_received_bytes", received.to_string()),
    ];
    let worst = skews.iter().max_by(|one, other| one.percent().total_cmp(&other.percent()));
    facts.extend(worst.map(|worst| {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let host = hosts.get(worst.slowest).map_or("?", String::as_str);
        let value = format!(
            "rank {} on {host} in {}: {:.3} s, the median of {} ranks {:.3} s",
            worst.slowest,
            worst.name,
            seconds(worst.slowest_ns),
            worst.ranks,
            seconds(worst.median_ns)
        );
        fact("ranks.slowest", value)
    }));
    let metrics = skews.iter().flat_map(metrics_of).collect();
    let rows = hosts.into_iter().zip(clocks).map(|(host, clock)| RankRow {
        host,
        clock_offset_ns: clock.offset_ns,
        clock_uncertainty_ns: clock.uncertainty_ns,
    });
    let phases = skews.into_iter().map(|skew| RankPhase {
        name: skew.name,
        slowest: skew.slowest as u64,
        slowest_ns: skew.slowest_ns,
        median_ns: skew.median_ns,
        ranks: skew.ranks as u64,
        barriers_ns: skew.barriers.took_ns,
        start_spreads_ns: skew.barriers.start_spreads_ns,
    });
    let table = RankTable { ranks: rows.collect(), phases: phases.collect() };
    let artifacts = Artifact::new(RANKS_ARTIFACT, RANKS_VERSION, &table).into_iter().collect();
    Findings { facts, metrics, artifacts, ..Findings::default() }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::dir_of_rank;

    #[test]
    fn the_rank_number_is_substituted_in_directories() {
        assert_eq!(dir_of_rank(Path::new("/mnt/c{rank}/x"), 12), PathBuf::from("/mnt/c12/x"));
        assert_eq!(dir_of_rank(Path::new("/mnt/x"), 3), PathBuf::from("/mnt/x"));
    }
}
