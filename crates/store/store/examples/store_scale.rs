//! Benchmark of a store with many trials: `store_scale FILE [TRIALS [TASKS [LABELS]]]` fills a new
//! file with trials of TASKS tasks each and LABELS labels, unless the file exists, and times the
//! queries of commands.

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::time::Instant;
use std::{fs, io};

use treering_model::{
    BetterDirection, Caution, CautionCode, CpuTime, Ending, Fact, IntervalTotals, Latency, Metric,
    Op, OpTotals, PhaseTotals, RunMode, Scope, TaskTotals, TrialEvent, TrialHeader, TrialId,
    TrialSink, Unit,
};
use treering_store::{Access, Filter, LoadDetail, Store};

const OPS: [Op; 6] = [Op::Create, Op::Open, Op::Read, Op::Write, Op::Close, Op::MakeDir];

fn main() -> Result<(), Box<dyn Error>> {
    #[expect(clippy::disallowed_methods, reason = "a program of its own")]
    let arguments = std::env::args().skip(1).collect::<Vec<_>>();
    let path = Path::new(arguments.first().ok_or("name a file")?);
    let trials = arguments.get(1).map_or(Ok(10_000), |text| text.parse())?;
    let tasks = arguments.get(2).map_or(Ok(10), |text| text.parse())?;
    let labels = arguments.get(3).map_or(Ok(40), |text| text.parse())?;
    let mut out = io::stdout();
    if !path.exists() {
        let began = Instant::now();
        fill(path, trials, tasks, labels)?;
        let mib = fs::metadata(path)?.len() as f64 / 1_048_576.0;
        let seconds = began.elapsed().as_secs_f64();
        writeln!(out, "fill: {trials} trials, {tasks} tasks each, {mib:.0} MiB, {seconds:.1} s")?;
    }
    measure(path, &mut out)
}

fn measure(path: &Path, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut last = Instant::now();
    let mut timed = |name: &str, count: usize| {
        let now = Instant::now();
        let line = writeln!(out, "{name}: {count} in {:.1} ms", (now - last).as_secs_f64() * 1e3);
        last = now;
        line
    };
    let store = Store::open(path, Access::ReadOnly)?;
    timed("open", 1)?;
    let list = store.trials(&Filter::default())?;
    timed("list all", list.len())?;
    let label = Some("label-3".into());
    let some = store.trials(&Filter { label, limit: Some(20), ..Filter::default() })?;
    timed("list 20 of a label", some.len())?;
    let ids = list.iter().map(|summary| summary.trial).collect::<Vec<_>>();
    let short = store.short_ids(&ids)?;
    timed("short identities", short.len())?;
    store.find(&short[0])?;
    timed("find", 1)?;
    // Bound to names, so that freeing them is not measured.
    let headlines = store.load_many(&ids, LoadDetail::Headlines)?;
    timed("load headlines", headlines.len())?;
    let tasks = store.load_many(&ids, LoadDetail::Tasks)?;
    timed("load tasks", tasks.len())?;
    let whole = store.load(ids[0])?;
    timed("load one with everything, tasks", whole.tasks.len())?;
    store.check()?;
    timed("check", 1)?;
    Ok(())
}

fn fill(path: &Path, trials: u32, tasks: u32, labels: u32) -> Result<(), Box<dyn Error>> {
    let mut store = Store::open(path, Access::ReadWrite)?;
    for trial in 0..trials {
        let mut recorder = store.recorder();
        recorder.accept(&beginning(trial, labels))?;
        recorder.accept(&TrialEvent::Environment { facts: facts() })?;
        for phase in 0..3 {
            recorder.accept(&TrialEvent::PhaseBegan {
                phase,
                name: format!("phase-{phase}"),
                at_ns: 0,
            })?;
            for task in (phase..tasks).step_by(3) {
                recorder.accept(&TrialEvent::TaskEnded(task_totals(trial, phase, task)))?;
            }
            recorder.accept(&TrialEvent::PhaseEnded(phase_totals(trial, phase)))?;
        }
        for metric in 0..10 {
            recorder.accept(&measured(trial, metric))?;
        }
        recorder.accept(&TrialEvent::Cautioned(Caution {
            code: CautionCode::MayNotFit,
            message: "3 GiB of data, 2 GiB of room".into(),
        }))?;
        recorder.accept(&TrialEvent::Ended { ending: Ending::Completed, at_ns: 60_000_000_000 })?;
    }
    Ok(())
}

fn beginning(trial: u32, labels: u32) -> TrialEvent {
    let parameters = (0..15).map(|n| (format!("parameter-{n}"), format!("value {n}")));
    let workload = ["compilebench", "fs_mark", "ffsb"][trial as usize % 3];
    TrialEvent::Began(TrialHeader {
        started_unix_ms: 1_700_000_000_000 + i64::from(trial) * 60_000,
        treering_version: "0.1.0".into(),
        label: format!("label-{}", trial % labels.max(1)),
        target: "/mnt/target".into(),
        parameters: parameters.collect(),
        ..TrialHeader::new(TrialId::new(), workload, RunMode::Native)
    })
}

/// Facts that a comparison reads, with the values of a trial on ext4.
const COMPARED: [(&str, &str); 32] = [
    ("kernel.release", "6.18.44"),
    ("kernel.command_line", "BOOT_IMAGE=/vmlinuz-6.18.44 root=/dev/sda1 ro quiet mitigations=auto"),
    ("kernel.debug_options", "none"),
    ("cpu.unmitigated", "none"),
    ("cpu.governor", "performance"),
    ("memory.swappiness", "60"),
    ("memory.dirty_ratio", "20"),
    ("memory.dirty_background_ratio", "10"),
    ("memory.dirty_expire_centisecs", "3000"),
    ("filesystem.type", "ext4"),
    ("filesystem.block_bytes", "4096"),
    ("filesystem.features", "has_journal ext_attr resize_inode dir_index filetype extent 64bit"),
    ("filesystem.geometry", "inode_bytes=256, group_blocks=32768, group_inodes=8192"),
    ("filesystem.metadata_profile", "single"),
    ("filesystem.mount_options", "rw,relatime"),
    ("filesystem.super_options", "rw"),
    ("filesystem.capacity_bytes", "105089261568"),
    ("filesystem.free_bytes", "99704832000"),
    ("cpu.model", "A Processor of 2026"),
    ("cpu.count", "16"),
    ("memory.bytes", "67430416384"),
    ("machine.architecture", "x86_64"),
    ("cgroup.limits", "none"),
    ("device.model", "A Disk of 2026"),
    ("device.name", "sda2"),
    ("device.disk", "sda"),
    ("device.rotational", "0"),
    ("device.scheduler", "[none] mq-deadline kyber bfq"),
    ("device.logical_block_bytes", "512"),
    ("device.read_ahead_kib", "128"),
    ("device.write_cache", "write back"),
    ("variant.device_bytes", "107374182400"),
];

fn facts() -> Vec<Fact> {
    let compared = COMPARED.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    let others =
        (0..50).map(|n| (format!("group.fact_{n}"), format!("some value of the fact {n}")));
    compared.chain(others).map(|(name, value)| Fact { name, value }).collect()
}

fn ops(seed: u32) -> Vec<OpTotals> {
    let ops = OPS.into_iter().map(|op| {
        let mut latency = Latency::new();
        let mut value = u64::from(seed) + 1 + op as u64;
        for _ in 0..1_000 {
            value = value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Two decades around 20 µs, typical of filesystem calls.
            latency.record(2_000_u64 << (value >> 61) | (value >> 53) & 0xfff);
        }
        OpTotals { op, calls: 1_000, errors: 0, bytes: 4_096_000, latency }
    });
    ops.collect()
}

fn task_totals(trial: u32, phase: u32, task: u32) -> TaskTotals {
    TaskTotals {
        phase,
        task,
        kind: "create".into(),
        subject: format!("kernel-{task}"),
        wall_ns: 1_000_000_000,
        cpu: CpuTime { user_ns: 10_000_000, system_ns: 400_000_000 },
        files: 25_000,
        bytes: 300_000_000,
        ops: ops(trial + task),
        ..TaskTotals::default()
    }
}

fn phase_totals(trial: u32, phase: u32) -> PhaseTotals {
    let intervals =
        (0..60).map(|second| IntervalTotals { second, calls: 25_000, bytes: 300_000_000 });
    PhaseTotals {
        phase,
        name: format!("phase-{phase}"),
        wall_ns: 20_000_000_000,
        ops: ops(trial + phase),
        intervals: intervals.collect(),
        ..PhaseTotals::default()
    }
}

fn measured(trial: u32, metric: u32) -> TrialEvent {
    let name = format!("metric_{metric}_mib_per_second");
    let scope = Scope::Kind("create".into());
    let rate = f64::from(trial % 17) + 100.0;
    let rate = Metric::new(name, scope, rate, Unit::MibPerSecond, BetterDirection::Higher);
    TrialEvent::Measured(rate.primary_if(metric < 3).of_tasks(10))
}
