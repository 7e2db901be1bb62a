//! Random jobs of fio: all requests are carried out, and the files on a disk and in memory are
//! equal afterwards.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::fs;

use proptest::prelude::{Just, ProptestConfig, Strategy, prop_oneof, proptest};
use treering_engine::oracle::TreeSnapshot;
use treering_engine::{
    EngineOptions, EntryOrder, LatencyMode, MemoryFilesystem, PayloadKind, RunOptions, RunProgress,
    RunSessions, StopFlag, Target,
};
use treering_fio::Fio;
use treering_model::Op;
use treering_script::{Job, Settings, TargetFacts, Workload};
use treering_testkit::temp_dir;

use treering_testkit::{TaskCollector, assert_decides_as_foreseen};

#[derive(Clone, Debug)]
struct RandomJob {
    ways: &'static str,
    sizes: &'static str,
    size: u64,
    files: u64,
    service: &'static str,
    clones: u64,
    more: Vec<&'static str>,
}

fn random_job() -> impl Strategy<Value = RandomJob> {
    let ways = prop_oneof![
        Just("read"),
        Just("write"),
        Just("randread"),
        Just("randwrite"),
        Just("rw"),
        Just("randrw"),
        Just("randrw:3"),
        Just("read:4k"),
    ];
    let sizes = prop_oneof![
        Just("bs=4k"),
        Just("bs=3000"),
        Just("bs=1k,8k"),
        Just("bsrange=1k-16k"),
        Just("bssplit=1k/20:4k/50:8k/30"),
    ];
    let service = prop_oneof![Just("random:3"), Just("roundrobin"), Just("sequential")];
    let options = [
        "norandommap",
        "fallocate=none",
        "fsync=3",
        "end_fsync=1",
        "loops=2",
        "invalidate=0",
        "ioengine=sync",
        "offset=8k",
        "io_size=100k",
        "number_ios=7",
        "percentage_random=50",
        "openfiles=1",
        "create_on_open=1",
    ];
    let more = proptest::sample::subsequence(options.to_vec(), 0..4);
    // Each file takes the largest request: otherwise there may be none.
    (ways, sizes, 65_536..200_000_u64, 1..5_u64, service, 1..4_u64, more).prop_map(
        |(ways, sizes, size, files, service, clones, mut more)| {
            // Processes have no memory in common.
            more.push("thread");
            // What is read must be there.
            if !matches!(ways, "write" | "randwrite") {
                more.retain(|option| !option.starts_with("create"));
            }
            RandomJob { ways, sizes, size, files, service, clones, more }
        },
    )
}

impl RandomJob {
    fn text(&self) -> String {
        let Self { ways, sizes, size, files, service, clones, more } = self;
        format!(
            "[a]\nrw={ways}\n{sizes}\nsize={size}\nnrfiles={files}\nfile_service_type={service}\n\
             numjobs={clones}\n{}\n",
            more.join("\n")
        )
    }
}

/// Runs a job; returns its requests in each direction, and their bytes.
fn done(job: &dyn Job, place: &impl RunSessions) -> [(u64, u64); 2] {
    let options =
        EngineOptions::new(LatencyMode::All, PayloadKind::Native { compressibility: 0 }, 1);
    let mut session = job.begin(&TargetFacts::unknown());
    let (mut tasks, progress) = (TaskCollector::default(), RunProgress::new());
    place
        .run(session.as_mut(), RunOptions::new(&options, &mut tasks, &progress, &StopFlag::new()))
        .unwrap();
    assert_decides_as_foreseen(job, &session.metrics());
    let work = tasks.0.iter().filter(|task| task.phase > 0);
    let ops = work.flat_map(|task| &task.ops);
    let mut moved = [(0, 0); 2];
    for op in ops {
        let place = match op.op {
            Op::Read => 0,
            Op::Write => 1,
            _ => continue,
        };
        moved[place].0 += op.calls;
        moved[place].1 += op.bytes;
    }
    moved
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn a_disk_has_the_same_afterwards_as_memory(random in random_job()) {
        let dir = temp_dir();
        let path = dir.path().join("j.fio");
        fs::write(&path, random.text()).unwrap();
        let settings = vec![("jobfile".to_owned(), path.to_str().unwrap().to_owned())];
        // A size that no request fits into is refused.
        let job = Fio.native(&Settings::new(settings)).unwrap();
        let memory = MemoryFilesystem::new(EntryOrder::Creation);
        let real = dir.path().join("real");
        fs::create_dir(&real).unwrap();
        let in_memory = done(job.as_ref(), &memory);
        let on_disk = done(job.as_ref(), &Target::open(&real).unwrap());
        assert_eq!(in_memory, on_disk, "{random:?}");
        assert_eq!(memory.snapshot(), TreeSnapshot::from_directory(&real).unwrap(), "{random:?}");
        let moved = in_memory[0].1 + in_memory[1].1;
        let limit = (random.size * random.clones * 2).max(100 * 1024 * random.clones * 2);
        assert!(moved > 0 && moved <= limit + (16384 * 5), "{random:?}: {moved}");
    }
}
