//! Random workload files of filebench: the files in memory and on a disk are equal afterwards, and
//! so are the counters.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::fmt::Write as _;
use std::fs;

use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use treering_engine::oracle::TreeSnapshot;
use treering_engine::{
    EngineOptions, EntryOrder, LatencyMode, MemoryFilesystem, PayloadKind, RunOptions, RunProgress,
    RunSessions, StopFlag, Target,
};
use treering_filebench::Filebench;
use treering_model::{Metric, Scope};
use treering_script::{Job, Settings, TargetFacts, Workload};
use treering_testkit::temp_dir;

use treering_testkit::{TaskCollector, assert_decides_as_foreseen};

#[derive(Clone, Debug)]
struct GeneratedWorkload {
    entries: u64,
    leaves: u64,
    width: u64,
    size: String,
    prealloc: u64,
    groups: Vec<usize>,
    stop: u64,
    seed: u64,
}

/// Groups of flowops that leave their descriptor closed.
const GROUPS: [&str; 8] = [
    "flowop openfile name=o{n},filesetname=a,fd=1 flowop readwholefile name=r{n},fd=1,iosize=3k \
     flowop closefile name=c{n},fd=1",
    "flowop createfile name=m{n},filesetname=a,fd=2 flowop writewholefile name=w{n},fd=2,srcfd=2,\
     iosize=2k flowop closefile name=x{n},fd=2 flowop deletefile name=d{n},filesetname=a",
    "flowop openfile name=p{n},filesetname=a,fd=3 flowop appendfilerand name=q{n},fd=3,iosize=4k \
     flowop fsync name=f{n},fd=3 flowop closefile name=y{n},fd=3",
    "flowop statfile name=s{n},filesetname=a,iters=2",
    "flowop openfile name=t{n},filesetname=a,fd=4,indexed=$i flowop fsyncset name=u{n},filesetname=a \
     flowop closefile name=v{n},fd=4",
    "flowop removedir name=e{n},filesetname=l flowop makedir name=g{n},filesetname=l",
    "flowop listdir name=h{n},filesetname=a",
    "flowop write name=k{n},filesetname=a,iosize=700,fd=5 flowop closefile name=z{n},fd=5",
];

fn workload() -> impl Strategy<Value = GeneratedWorkload> {
    let size = prop_oneof![
        Just("0".to_owned()),
        Just("5000".to_owned()),
        Just("randvar(type=gamma,min=1,mean=4k)".to_owned()),
        Just("cvar(type=cvar-uniform,parameters=lower:1;upper:9000)".to_owned()),
    ];
    let groups = proptest::collection::vec(0..GROUPS.len(), 1..5);
    (4..60_u64, 2..9_u64, 2..30_u64, size, 60..=100_u64, groups, 20..300_u64, any::<u64>())
        .prop_map(|(entries, leaves, width, size, prealloc, groups, stop, seed)| {
            GeneratedWorkload { entries, leaves, width, size, prealloc, groups, stop, seed }
        })
}

impl GeneratedWorkload {
    fn text(&self) -> String {
        let Self { entries, leaves, width, size, prealloc, groups, stop, .. } = self;
        let mut text = format!(
            "set mode quit alldone set $s={size} set $i=randvar(type=uniform,min=0,mean=1)\n\
             define fileset name=a,path=/tmp,entries={entries},dirwidth={width},size=$s,\
             prealloc={prealloc}\n\
             define fileset name=l,path=/tmp,leafdirs={leaves},dirwidth={width},prealloc\n\
             define process name=p {{ thread name=t {{\n"
        );
        for (number, group) in groups.iter().enumerate() {
            writeln!(text, "{}", GROUPS[*group].replace("{n}", &number.to_string())).unwrap();
        }
        writeln!(text, "flowop finishoncount name=end,value={stop} }} }} run 600").unwrap();
        text
    }
}

/// Runs a job; returns its counted operations, and their bytes.
fn run_metrics(job: &dyn Job, place: &impl RunSessions) -> Result<Vec<Metric>, String> {
    let options =
        EngineOptions::new(LatencyMode::All, PayloadKind::Native { compressibility: 0 }, 1);
    let mut session = job.begin(&TargetFacts::unknown());
    let (mut tasks, progress) = (TaskCollector::default(), RunProgress::new());
    place
        .run(session.as_mut(), RunOptions::new(&options, &mut tasks, &progress, &StopFlag::new()))
        .map_err(|error| error.to_string())?;
    assert_decides_as_foreseen(job, &session.metrics());
    Ok(session.metrics())
}

fn operations(metrics: &[Metric]) -> f64 {
    let mut of_trial = metrics.iter().filter(|metric| metric.scope == Scope::Trial);
    of_trial.find(|metric| metric.name == "operations").map_or(0.0, |metric| metric.value)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn run_leaves_equal_trees_on_disk_and_in_memory(workload in workload()) {
        let dir = temp_dir();
        let path = dir.path().join("w.f");
        fs::write(&path, workload.text()).unwrap();
        let options = vec![
            ("workload".to_owned(), path.to_str().unwrap().to_owned()),
            ("seed".to_owned(), workload.seed.to_string()),
        ];
        let job = Filebench.native(&Settings::new(options)).unwrap();
        let memory = MemoryFilesystem::new(EntryOrder::Creation);
        let real = dir.path().join("real");
        fs::create_dir(&real).unwrap();
        let in_memory = run_metrics(job.as_ref(), &memory);
        let on_disk = run_metrics(job.as_ref(), &Target::open(&real).unwrap());
        match (in_memory, on_disk) {
            (Ok(in_memory), Ok(on_disk)) => {
                assert_eq!(operations(&in_memory), operations(&on_disk), "{workload:?}");
                // It ends by itself where no file is left, and not before it is told to otherwise.
                assert!(operations(&in_memory) > 0.0, "{workload:?}");
            }
            // All files were deleted, or none was there, before one operation was done.
            (Err(in_memory), Err(on_disk)) => assert_eq!(in_memory, on_disk),
            (in_memory, on_disk) => panic!("{workload:?}: {in_memory:?} but {on_disk:?}"),
        }
        assert_eq!(memory.snapshot(), TreeSnapshot::from_directory(&real).unwrap(), "{workload:?}");
    }
}
