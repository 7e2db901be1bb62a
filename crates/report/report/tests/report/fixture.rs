//! Synthetic trials, the same at every call. All numbers are invented.

use treering_model::{
    BetterDirection, Caution, CautionCode, CpuTime, Ending, Fact, IntervalTotals, Latency, Metric,
    Op, OpTotals, PhaseTotals, RunMode, Scope, TaskTotals, Trial, TrialHeader, Unit,
};

/// Short id of the trials.
pub(crate) const SHORT_ID: &str = "0193a1b2c3";

/// Task of the aging trial: kind, subject, state, milliseconds, files, listed bytes.
type TaskSpec = (&'static str, &'static str, &'static str, u64, u64, u64);

const U: u64 = 233_176_153;
const P: u64 = 114_997_799;
const PC: u64 = 725_190_942;

const INITIAL: [TaskSpec; 6] = [
    ("create", "kernel-0", "", 2_310, 21_280, U),
    ("create", "kernel-1", "", 2_355, 21_280, U),
    ("create", "kernel-2", "", 2_342, 21_280, U),
    ("create", "kernel-3", "", 2_398, 21_280, U),
    ("create", "kernel-4", "", 2_431, 21_280, U),
    ("create", "kernel-5", "", 2_502, 21_280, U),
];

const AGING: [TaskSpec; 9] = [
    ("patch", "kernel-3", "unpatched", 3_505, 6_136, P),
    ("compile", "kernel-3", "patched", 4_117, 2_573, PC),
    ("read", "kernel-3", "patched compiled", 5_120, 24_463, 958_367_095),
    ("read", "kernel-1", "unpatched", 3_290, 21_280, U),
    ("create", "kernel-64250", "", 4_804, 21_280, U),
    ("clean", "kernel-3", "patched compiled", 516, 2_573, PC),
    ("stat", "kernel-1", "unpatched", 942, 21_280, 0),
    ("read", "kernel-0", "unpatched", 3_412, 21_280, U),
    ("delete", "kernel-4", "unpatched", 1_905, 21_280, 0),
];

fn ms(milliseconds: u64) -> u64 {
    milliseconds * 1_000_000
}

fn op(op: Op, calls: u64, errors: u64, bytes: u64, fastest_ns: u64) -> OpTotals {
    let mut latency = Latency::new();
    for call in 0..calls.min(500) {
        // Most calls are near the fastest; one in fifty is twenty times slower.
        let slow = if call % 50 == 49 { 20 } else { 1 };
        latency.record(slow * (fastest_ns + fastest_ns * (call % 50) / 50));
    }
    OpTotals { op, calls, errors, bytes, latency }
}

fn task(phase: u32, place: usize, began_ns: u64, work: TaskSpec) -> TaskTotals {
    let (kind, subject, state, wall_ms, files, listed_bytes) = work;
    let synced = phase > 0;
    let cpu = CpuTime { user_ns: ms(wall_ms) / 20, system_ns: ms(wall_ms) / 5 };
    let sync_cpu = CpuTime { user_ns: 0, system_ns: if synced { ms(wall_ms) / 50 } else { 0 } };
    TaskTotals {
        phase,
        task: u32::try_from(place).unwrap(),
        worker: 0,
        kind: kind.to_owned(),
        subject: subject.to_owned(),
        state: state.to_owned(),
        tally: if synced { kind.to_owned() } else { "intial create".to_owned() },
        began_ns,
        wall_ns: ms(wall_ms),
        sync_ns: if synced { ms(wall_ms) / 3 } else { 0 },
        cpu,
        sync_cpu,
        files,
        bytes: listed_bytes,
        listed_bytes,
        ops: vec![op(Op::Open, files, 0, 0, 2_100), op(Op::Close, files, 0, 0, 640)],
        direct: false,
        counters: treering_model::Counters::default(),
    }
}

fn phase(number: u32, name: &str, began_ns: u64, tasks: &[TaskTotals]) -> PhaseTotals {
    let wall_ns: u64 = tasks.iter().map(|task| task.wall_ns).sum();
    let bytes: u64 = tasks.iter().map(|task| task.bytes).sum();
    let files: u64 = tasks.iter().map(|task| task.files).sum();
    let seconds = u32::try_from(wall_ns / 1_000_000_000).unwrap();
    let share = u64::from(seconds) + 1;
    // The third and the fourth second are a stall.
    let working = (0..=seconds).filter(|second| !(2..4).contains(second));
    let interval =
        |second| IntervalTotals { second, calls: 3 * files / share, bytes: bytes / share };
    let mut ops = vec![
        op(Op::Create, files / 2, 0, 0, 11_000),
        op(Op::Write, files, 0, bytes, 3_300),
        op(Op::MakeDir, 1_263, 4, 0, 14_000),
    ];
    if number > 0 {
        ops.push(op(Op::Sync, tasks.len() as u64, 0, 0, 480_000_000));
    }
    PhaseTotals {
        phase: number,
        name: name.to_owned(),
        began_ns,
        wall_ns,
        tasks: u32::try_from(tasks.len()).unwrap(),
        files,
        bytes,
        cpu: CpuTime { user_ns: wall_ns / 20, system_ns: wall_ns / 5 },
        ops,
        intervals: working.map(interval).collect(),
    }
}

fn beginning() -> TrialHeader {
    let trial = "0193a1b2-c3d4-7e5f-8a6b-0123456789ab".parse().unwrap();
    TrialHeader {
        started_unix_ms: 1_763_665_726_123,
        treering_version: "0.1.0".to_owned(),
        label: "v6.12 baseline".to_owned(),
        target: "/mnt/scratch".to_owned(),
        parameters: vec![
            ("initial-dirs".to_owned(), "6".to_owned()),
            ("runs".to_owned(), "9".to_owned()),
            ("seed".to_owned(), "555".to_owned()),
        ],
        ..TrialHeader::new(trial, "compilebench", RunMode::Native)
    }
}

fn metric(name: &str, scope: Scope, value: f64, unit: Unit, primary: bool) -> Metric {
    let better = match unit {
        Unit::Seconds | Unit::Nanoseconds | Unit::Percent => BetterDirection::Lower,
        Unit::Bytes
        | Unit::MibPerSecond
        | Unit::FilesPerSecond
        | Unit::OpsPerSecond
        | Unit::Count => BetterDirection::Higher,
    };
    Metric::new(name, scope, value, unit, better).primary_if(primary).of_tasks(6)
}

fn metrics() -> Vec<Metric> {
    let kind = |name: &str| Scope::Kind(name.to_owned());
    vec![
        metric("sync_percent", Scope::Trial, 0.02, Unit::Percent, false),
        metric("mib_per_second", kind("create"), 93.024_681_357, Unit::MibPerSecond, true),
        metric("mib_per_second", kind("read"), 66.364_2, Unit::MibPerSecond, true),
        metric("seconds", kind("delete"), 1.905, Unit::Seconds, true),
        metric("files_per_second", kind("stat"), 22_590.233, Unit::FilesPerSecond, true),
        metric(
            "create_ns_p99",
            Scope::Phase("aging".to_owned()),
            431_999.0,
            Unit::Nanoseconds,
            false,
        ),
    ]
}

/// A trial as recorded by a small aging run.
pub(crate) fn aging() -> Trial {
    let mut at_ns = ms(12);
    let mut tasks = Vec::new();
    let mut phases = Vec::new();
    for (number, name, works) in [(0, "initial", &INITIAL[..]), (1, "aging", &AGING[..])] {
        let (began_ns, first) = (at_ns, tasks.len());
        for (place, &work) in works.iter().enumerate() {
            tasks.push(task(number, place, at_ns, work));
            at_ns += ms(work.3);
        }
        phases.push(phase(number, name, began_ns, &tasks[first..]));
    }
    let fact = |name: &str, value: &str| Fact { name: name.to_owned(), value: value.to_owned() };
    Trial {
        facts: vec![
            fact("kernel.release", "6.12.0"),
            fact("filesystem.type", "ext4"),
            fact("mount.options", "rw,relatime,errors=remount-ro,data=ordered,commit=30"),
            fact("memory.total", "8 GiB"),
        ],
        phases,
        tasks,
        metrics: metrics(),
        cautions: vec![
            Caution {
                code: CautionCode::MayNotFit,
                message: "4.2 GiB needed, 4.1 GiB free".to_owned(),
            },
            Caution {
                code: CautionCode::CachesNotDropped,
                message: "/proc/sys/vm/drop_caches: permission denied".to_owned(),
            },
        ],
        ending: Ending::Completed,
        wall_ns: at_ns + ms(3),
        ..Trial::new(beginning())
    }
}

/// A trial that failed before anything was measured.
pub(crate) fn failed_at_once() -> Trial {
    Trial {
        ending: Ending::Failed { why: "/mnt/scratch: no space left on device".to_owned() },
        wall_ns: ms(4),
        ..Trial::new(aging().beginning)
    }
}

/// A trial killed in its second phase after completing one task of it.
pub(crate) fn interrupted() -> Trial {
    let mut trial = aging();
    trial.phases.truncate(1);
    trial.tasks.truncate(7);
    trial.metrics.clear();
    trial.ending = Ending::Interrupted;
    trial.wall_ns = 0;
    trial
}

/// A trial with extreme numbers: no duration, no files, everything at its maximum.
pub(crate) fn extreme() -> Trial {
    let mut trial = aging();
    let most = u64::MAX;
    let idle = TaskTotals { kind: "nothing".to_owned(), ..TaskTotals::default() };
    let huge_cpu = CpuTime { user_ns: most, system_ns: most };
    let mut slowest = op(Op::Write, 1, 0, 0, most / 40);
    (slowest.calls, slowest.errors, slowest.bytes) = (most, most, most);
    let huge = TaskTotals {
        kind: "everything".to_owned(),
        began_ns: most,
        wall_ns: most,
        sync_ns: most,
        cpu: huge_cpu,
        sync_cpu: huge_cpu,
        files: most,
        bytes: most,
        listed_bytes: most,
        phase: u32::MAX,
        task: u32::MAX,
        worker: u16::MAX,
        ops: vec![slowest.clone(), slowest],
        ..TaskTotals::default()
    };
    let quick = TaskTotals { kind: "quick".to_owned(), wall_ns: 1, files: most, ..idle.clone() };
    trial.tasks = vec![idle, quick, huge.clone(), huge];
    trial.phases = vec![PhaseTotals {
        wall_ns: most,
        intervals: vec![IntervalTotals { second: u32::MAX, calls: most, bytes: most }],
        ..PhaseTotals::default()
    }];
    trial.metrics = vec![metric("huge_bytes", Scope::Trial, f64::MAX, Unit::Bytes, true)];
    trial.beginning.started_unix_ms = i64::MIN;
    trial.wall_ns = most;
    trial
}

/// Hostile texts: escape sequences and markup.
pub(crate) const HOSTILE: [&str; 8] = [
    "\x1b]0;owned\x07\x1b[2J\x1b[31mred",
    "\u{9b}31mred\u{85}\u{7f}",
    "one|two`three`*four*_five_<script>alert(1)</script>",
    "=HYPERLINK(\"http://x\",\"y\")",
    "line\r\nbreak\ttab",
    "abc\u{202e}gpj.exe\u{200b}\u{e0041}",
    "@here, -1 +2 \"quoted\"; $(reboot) ```",
    "木木木木木木木木木木木木木木木木木木木木木木木木木木木木木木木木木木木木木木木木",
];

/// Aging trial with every text replaced by hostile ones.
pub(crate) fn hostile() -> Trial {
    let mut trial = aging();
    let mut next = HOSTILE.iter().cycle();
    let mut take = |text: &mut String| text.clone_from(&(*next.next().unwrap()).to_owned());
    let beginning = &mut trial.beginning;
    take(&mut beginning.label);
    take(&mut beginning.target);
    take(&mut beginning.workload);
    take(&mut beginning.treering_version);
    for (name, value) in &mut beginning.parameters {
        take(name);
        take(value);
    }
    for fact in &mut trial.facts {
        take(&mut fact.name);
        take(&mut fact.value);
    }
    for task in &mut trial.tasks {
        take(&mut task.kind);
        take(&mut task.subject);
        take(&mut task.state);
        take(&mut task.tally);
    }
    trial.phases.iter_mut().for_each(|phase| take(&mut phase.name));
    trial.cautions.iter_mut().for_each(|caution| take(&mut caution.message));
    for metric in &mut trial.metrics {
        take(&mut metric.name);
        if let Scope::Kind(name) | Scope::Phase(name) = &mut metric.scope {
            take(name);
        }
    }
    trial.ending = Ending::Failed { why: HOSTILE.concat() };
    trial
}
