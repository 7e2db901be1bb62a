//! Forecasts of the duration of plans, from earlier trials and without them.

use treering_conduct::plan::{Plan, ShippedPlan};
use treering_conduct::{
    EarlierTrial, Failure, Host, PlanOptions, RecordedTrial, ResultStore, dry_run,
};
use treering_model::{Caution, Cell, CellRole, TrialId, TrialSink};

use crate::read_plan;

/// Store with the earlier trials of every workload, and a host without words.
struct Earlier(Vec<EarlierTrial>);

impl ResultStore for Earlier {
    fn record(
        &self,
        _trial: &RecordedTrial<'_>,
        _run: &mut dyn FnMut(&mut dyn TrialSink, Option<Caution>),
    ) -> Result<(), Failure> {
        Ok(())
    }

    fn earlier(&self, _workload: &str, _limit: usize) -> Result<Vec<EarlierTrial>, Failure> {
        Ok(self.0.clone())
    }
}

impl Host for Earlier {
    fn say(&self, _words: &str) {}

    fn unix_ms(&self) -> i64 {
        0
    }
}

const TWO: &str = "[[variant]]\nfilesystem = \"ext4\"\n[[variant]]\nfilesystem = \"xfs\"\n";

/// Line of the dry run about rounds, trials and time.
fn time_line(plan: &Plan, earlier: Vec<EarlierTrial>) -> String {
    let store = Earlier(earlier);
    let lines = dry_run(plan, &PlanOptions::default(), (&store, &store)).unwrap();
    lines.into_iter().find(|line| line.contains(" trials, ")).unwrap()
}

/// Trial of a plan that took so many seconds.
fn earlier(
    plan: &Plan,
    campaign: TrialId,
    (job, role, round): (&str, CellRole, u32),
    seconds: f64,
) -> EarlierTrial {
    let cell = Cell {
        campaign,
        plan: String::new(),
        digest: plan.digest(),
        variant: "ext4".to_owned(),
        job: job.to_owned(),
        round,
        role,
    };
    let parameters = Vec::new();
    EarlierTrial { parameters, started_unix_ms: 0, seconds, is_of_guest: false, cell: Some(cell) }
}

fn with_job(job: &str) -> Plan {
    read_plan(&format!("rounds = 6\nwarm-up = false\ncontrol = false\n{TWO}{job}")).unwrap()
}

#[test]
fn the_duration_of_jobs_that_wait_for_requests_is_unknown_without_earlier_trials() {
    for job in [
        "[[job]]\nworkload = \"command\"\noptions = { command = [\"true\"] }\n",
        "[[job]]\nworkload = \"fs_mark\"\noptions = { files = 4000, size = \"4K\" }\n",
        "[[job]]\nworkload = \"dbench\"\noptions = { passes = 2 }\n",
    ] {
        let line = time_line(&with_job(job), Vec::new());
        assert!(line.ends_with("the duration is unknown until the first round"), "{line}");
    }
    let unsynced = "[[job]]\nworkload = \"fs_mark\"\n\
                    options = { files = 4000, size = \"4K\", sync-method = \"none\" }\n";
    let line = time_line(&with_job(unsynced), Vec::new());
    assert!(line.contains("12 trials, about "), "{line}");
}

#[test]
fn earlier_trials_of_the_job_give_its_duration_whatever_size_the_warm_up_gave_it() {
    let job = "[[job]]\nname = \"mail\"\nworkload = \"fs_mark\"\n";
    let plan = with_job(job);
    let campaign = TrialId::new();
    let of = |role, seconds| earlier(&plan, campaign, ("mail", role, 1), seconds);
    let trials =
        vec![of(CellRole::WarmUp, 1.0), of(CellRole::Round, 57.0), of(CellRole::Round, 57.0)];
    // 12 trials of 57 seconds, and 3 seconds between them.
    let line = time_line(&plan, trials);
    assert!(line.ends_with("12 trials, about 12 min"), "{line}");
    let other = EarlierTrial { cell: None, ..of(CellRole::Round, 57.0) };
    let line = time_line(&plan, vec![other]);
    assert!(line.ends_with("unknown until the first round"), "{line}");
}

#[test]
fn rounds_with_a_limit_of_time_end_after_it_even_if_their_duration_is_unknown() {
    let text = format!(
        "[stopping]\nrule = \"time\"\nminutes = 10\n{TWO}[[job]]\nworkload = \"command\"\n\
         options = {{ command = [\"true\"] }}\n"
    );
    let line = time_line(&read_plan(&text).unwrap(), Vec::new());
    let expected = "unknown until the first round; as many rounds as fit into 10 min";
    assert!(line.ends_with(expected), "{line}");
}

#[test]
fn aging_in_each_round_is_part_of_the_duration() {
    let text = format!(
        "rounds = 6\nwarm-up = false\ncontrol = false\n{TWO}\
         [aging]\nage = [500]\noptions = {{ profile = \"mail\", live = \"16M\" }}\n\
         [[job]]\nworkload = \"fs_mark\"\n\
         options = {{ files = 10, size = \"4K\", sync-method = \"none\" }}\n"
    );
    let plan = read_plan(&text).unwrap();
    let line = time_line(&plan, Vec::new());
    assert!(line.ends_with("unknown until the first round"), "{line}");
    let aging = plan.aging.as_ref().unwrap().name.clone();
    let campaign = TrialId::new();
    let of = |round| earlier(&plan, campaign, (&aging, CellRole::Preparation, round), 297.0);
    // Two filesystems are aged in each of six rounds, for 297 seconds each.
    let line = time_line(&plan, vec![of(1), of(1), of(2), of(2)]);
    assert!(line.contains("about 60 min"), "{line}");
}

#[test]
fn a_plan_inside_the_program_takes_as_long_as_its_head_says_without_earlier_trials() {
    let shipped = ShippedPlan::find("mail-server").unwrap();
    let mut plan = with_job("[[job]]\nworkload = \"dbench\"\noptions = { passes = 2 }\n");
    plan.name = shipped.name.to_owned();
    let own = time_line(&plan, Vec::new());
    assert!(!own.contains("as shipped"), "another plan of that name: {own}");
    plan.question = shipped.question();
    let line = time_line(&plan, Vec::new());
    let expected = format!("about {} min as shipped, on two CPUs", shipped.minutes());
    assert!(line.contains(&expected), "{line}");
}
