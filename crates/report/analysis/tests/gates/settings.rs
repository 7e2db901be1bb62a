//! Bytes charged by the kernel, memory assigned to a guest, and settings of one side.

use treering_analysis::compare::{
    ComparedVariant, ComparisonCautionCode as Code, ComparisonTerms, Factor, Outcome, compare,
};
use treering_model::{BetterDirection, Fact, Metric, PhaseTotals, Scope, Unit, WorkLimit};

use crate::campaign::{Answers, planned, rounds, variants};
use crate::noise::SeededNoise;

/// Eight rounds with a contender whose rate is changed by `factor`, with noise of 2 %.
fn campaign(factor: f64, noise: &mut SeededNoise) -> [ComparedVariant; 2] {
    let order = rounds(8, || noise.uniform() < 0.5);
    let rate = |is_contender: &bool| {
        100.0 * (0.02 * noise.normal()).exp() * if *is_contender { factor } else { 1.0 }
    };
    variants(&order, &order.iter().map(rate).collect::<Vec<f64>>())
}

fn with(mut variant: ComparedVariant, facts: &[(&str, &str)]) -> ComparedVariant {
    for (name, value) in facts {
        let fact = Fact { name: (*name).to_owned(), value: (*value).to_owned() };
        variant.trials.iter_mut().for_each(|trial| trial.facts.push(fact.clone()));
    }
    variant
}

fn compared([base, other]: [ComparedVariant; 2]) -> Outcome {
    compare(&base, &[other], &ComparisonTerms::default()).unwrap()
}

/// The program prints a number, and the kernel charges different bytes to it each time.
#[test]
fn io_that_the_kernel_charged_to_a_program_is_no_work_and_what_the_user_names_is() {
    let mut noise = SeededNoise(41);
    let mut gates = [Answers::default(); 2];
    for (factor, gate) in [1.0, 0.8].into_iter().zip(&mut gates) {
        for _ in 0..40 {
            let mut sides = campaign(factor, &mut noise);
            for trial in sides.iter_mut().flat_map(|side| &mut side.trials) {
                trial.beginning.workload = "command".to_owned();
                let pages = (0..100).filter(|_| noise.uniform() < 0.2).count();
                let bytes = 4096 * pages as u64;
                trial.phases = vec![PhaseTotals { bytes, ..PhaseTotals::default() }];
            }
            gate.count(compared(sides), &[]);
        }
    }
    assert!(gates[0].worse <= 2 && gates[0].pass >= 10, "{gates:?}");
    assert!(gates[1].worse >= 36 && gates[1].pass == 0, "a bad revision is bad: {gates:?}");
    for (rows, is_unequal) in [(1000.0, false), (1010.0, false), (900.0, true)] {
        let mut sides = campaign(1.0, &mut noise);
        for (side, rows) in sides.iter_mut().zip([1000.0, rows]) {
            *side = with(side.clone(), &[(WorkLimit::METRICS_FACT, "rows")]);
            for trial in &mut side.trials {
                trial.beginning.workload = "command".to_owned();
                let better = BetterDirection::Higher;
                trial.metrics.push(Metric::new("rows", Scope::Trial, rows, Unit::Count, better));
            }
        }
        let cautions = compared(sides).cautions;
        let is_told = cautions.iter().any(|caution| caution.code == Code::UnequalWork);
        assert_eq!(is_told, is_unequal, "{rows} rows");
    }
}

#[test]
fn a_slow_kernel_that_reserves_more_memory_is_judged_in_guests_of_equal_memory() {
    let mut noise = SeededNoise(42);
    let guest = |release: &'static str, total: &'static str, given: &'static str| {
        [
            ("guest.kernel", release),
            ("guest.accelerator", "tcg"),
            ("guest.memory_bytes", given),
            ("guest.cpus", "1"),
            ("memory.bytes", total),
            ("cpu.count", "1"),
        ]
    };
    let mut gates = [Answers::default(); 2];
    for (given, gate) in ["1073741824", "536870912"].into_iter().zip(&mut gates) {
        for _ in 0..40 {
            let [base, other] = campaign(1.0 / 2.98, &mut noise);
            let base = with(base, &guest("good.deb", "1005000000", "1073741824"));
            let other = with(other, &guest("bad.deb", "870000000", given));
            gate.count(compared(planned([base, other])), &[]);
        }
    }
    assert!(gates[0].worse >= 36 && gates[0].pass == 0, "{gates:?}");
    assert_eq!(gates[1], Answers { unclear: 40, ..Answers::default() });
}

#[test]
fn settings_of_one_side_stop_the_gate() {
    // Rounds that do not drift by chance.
    let [first, second] = campaign(1.0, &mut SeededNoise(43));
    let sides = || [first.clone(), second.clone()];
    for (name, left, right, code) in [
        ("memory.vfs_cache_pressure", "100", "1", Code::KernelSettingsDiffer),
        ("memory.dirty_writeback_centisecs", "500", "100", Code::KernelSettingsDiffer),
        ("kernel.config", "HZ=250 XFS_FS=m", "HZ=1000 XFS_FS=m", Code::KernelSettingsDiffer),
        ("kernel.tainted", "0", "4096", Code::KernelSettingsDiffer),
        ("kernel.version", "#1 SMP 2025-01-01", "#2 SMP 2025-01-02", Code::KernelsDiffer),
        ("device.name", "sda", "sdb", Code::DevicesDiffer),
        ("device.fua", "0", "1", Code::DevicesDiffer),
        ("device.write_cache", "write back", "write through", Code::DevicesDiffer),
        ("device.discard_granularity_bytes", "0", "4096", Code::DevicesDiffer),
        ("device.rotational", "0", "1", Code::DevicesDiffer),
        ("device.scheduler", "[none] bfq", "none [bfq]", Code::DevicesDiffer),
        ("device.image_filesystem", "tmpfs", "ext4", Code::DevicesDiffer),
        ("device.image_allocation", "sparse", "allocated", Code::DevicesDiffer),
        ("device.firmware", "1", "2", Code::DevicesDiffer),
        ("filesystem.journal_bytes", "1", "2", Code::FeaturesDiffer),
        ("filesystem.data_profile", "single", "raid1", Code::FeaturesDiffer),
        ("cpu.boost", "0", "1", Code::KernelSettingsDiffer),
        ("cpu.frequency_driver", "acpi-cpufreq", "amd-pstate", Code::KernelSettingsDiffer),
        ("reboot.loader", "kexec", "grub", Code::MachinesDiffer),
        ("ranks.count", "4", "8", Code::MachinesDiffer),
        ("fio.version", "fio-3.35", "fio-3.41", Code::VersionsDiffer),
        ("env.MALLOC_ARENA_MAX", "1", "4", Code::KernelSettingsDiffer),
        ("memory.swap_bytes", "0", "1073741824", Code::MachinesDiffer),
        ("filesystem.free_inodes", "1000000", "900000", Code::FreeSpaceDiffers),
        (
            "mkfs.command",
            "mkfs.ext4 -E lazy_itable_init=0,lazy_journal_init=0 /dev/sda",
            "mkfs.ext4 -E lazy_itable_init=1,lazy_journal_init=0 /dev/sda",
            Code::FeaturesDiffer,
        ),
    ] {
        let [base, other] = sides();
        let alike =
            compared([with(base.clone(), &[(name, left)]), with(other.clone(), &[(name, left)])]);
        assert_eq!(alike.cautions, [], "{name}");
        let apart = compared([with(base, &[(name, left)]), with(other, &[(name, right)])]);
        let codes: Vec<Code> = apart.cautions.iter().map(|caution| caution.code).collect();
        assert_eq!(codes, [code], "{name}");
        let mut gate = Answers::default();
        gate.count(apart, &[]);
        assert_eq!(gate.unclear, 1, "{name}");
    }
    // A difference of two percentage points in used space causes no caution, seven do.
    for (free, is_told) in [("480", false), ("430", true)] {
        let fill = |free: &'static str| {
            [("filesystem.capacity_bytes", "1000"), ("filesystem.free_bytes", free)]
        };
        let [base, other] = sides();
        let outcome = compared([with(base, &fill("500")), with(other, &fill(free))]);
        let mut codes = outcome.cautions.iter().map(|caution| caution.code);
        assert_eq!(codes.any(|code| code == Code::FreeSpaceDiffers), is_told, "{free}");
    }
    // What is reserved for root is not used, and is a choice of mkfs.
    let reserve = |free: &'static str, reserved: &'static str| {
        [
            ("filesystem.capacity_bytes", "1000"),
            ("filesystem.free_bytes", free),
            ("filesystem.reserved_bytes", reserved),
            ("filesystem.type", "ext4"),
        ]
    };
    let [base, other] = sides();
    let outcome =
        compared([with(base, &reserve("940", "50")), with(other, &reserve("790", "200"))]);
    let codes: Vec<Code> = outcome.cautions.iter().map(|caution| caution.code).collect();
    assert_eq!(codes, [Code::FeaturesDiffer]);
    // A fact that is recorded only where somebody asked for something differs from none.
    for (name, value, code) in [
        ("guest.queues", "4", Code::MachinesDiffer),
        ("guest.iothread", "yes", Code::MachinesDiffer),
        ("image.name", "aged", Code::FeaturesDiffer),
        ("commands.prepare", "sh -c 'sleep 1'", Code::KernelSettingsDiffer),
    ] {
        let guest = [("guest.memory_bytes", "1073741824")];
        let [base, other] = sides();
        let pair = [with(base, &guest), with(with(other, &guest), &[(name, value)])];
        let codes: Vec<Code> =
            compared(pair.clone()).cautions.iter().map(|caution| caution.code).collect();
        assert_eq!(codes, [code], "{name}");
        let codes: Vec<Code> =
            compared(planned(pair)).cautions.iter().map(|caution| caution.code).collect();
        assert_eq!(codes, [], "{name} is declared by the plan");
    }
    // Compared kernels are expected to have different builds.
    let [base, other] = sides();
    let kernels =
        [with(base, &[("kernel.version", "#1")]), with(other, &[("kernel.version", "#2")])]
            .map(|side| ComparedVariant { factor: Factor::Kernel, ..side });
    assert_eq!(compared(kernels).cautions, []);
}

/// A setting of the machine changes in the middle of a campaign of a variant against itself.
#[test]
fn a_setting_that_changed_half_way_stops_the_gate() {
    let mut noise = SeededNoise(44);
    let mut gates = [Answers::default(); 2];
    for _ in 0..40 {
        let mut sides = campaign(1.0, &mut noise);
        for side in &mut sides {
            for (place, trial) in side.trials.iter_mut().enumerate() {
                let value = if place < 4 { "60" } else { "1" }.to_owned();
                trial.facts.push(Fact { name: "memory.swappiness".to_owned(), value });
            }
        }
        let outcome = compared(sides);
        gates[0].count(outcome.clone(), &[]);
        gates[1].count(outcome, &[Code::MixedSide]);
    }
    assert_eq!(gates[0].unclear, 40);
    assert!(gates[1].pass >= 5, "{gates:?}");
}
