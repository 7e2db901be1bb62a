//! Requests of jobs, compared with logs of fio 3.33 (`--write_iolog`).

use std::sync::Arc;

use crate::language::{Direction, Machine, ParseContext, parse};

use super::super::file_hash::hash;
use super::super::sizes::extents;
use super::super::tausworthe::{SeedUse, Seeds};
use super::{Generator, IoAction};

/// Creates a generator over new files of a job with these settings.
fn generator(settings: &str) -> Generator {
    let reader = |_: &str, _: &str| Err(String::new());
    let environment = |_: &str| None;
    let machine = Machine { cpus: 1, page_bytes: 4096, memory_mib: 1 };
    let around = ParseContext::new(&reader, &environment, machine);
    let text = format!("[a]\n{settings}\n");
    let job = Arc::new(parse("f", text.as_bytes(), &[], &around).unwrap().remove(0));
    let seeds = Seeds::new(&job.draws, job.rw.random, 1, None);
    let sizes = vec![0; usize::try_from(job.files).unwrap()];
    let extents = extents(&job, 0, &sizes, seeds.generator(SeedUse::FileSize)).unwrap();
    Generator::new(job, &extents, &[hash(b"a.0.0")], seeds)
}

/// Collects requests until this many bytes are issued.
fn requests(settings: &str, bytes: u64) -> Vec<(usize, char, u64, u64)> {
    let mut generator = generator(settings);
    let mut issued = Vec::new();
    while generator.issued.bytes_of_pass < bytes {
        match generator.next(0) {
            IoAction::Request(request) => {
                let direction = if request.direction == Direction::Read { 'R' } else { 'W' };
                issued.push((request.file, direction, request.offset, request.bytes));
            }
            IoAction::End => break,
            _ => {}
        }
    }
    issued
}

/// Block numbers, and the letters of the directions.
fn blocks(issued: &[(usize, char, u64, u64)]) -> (Vec<u64>, String) {
    (
        issued.iter().map(|request| request.2 / 4096).collect(),
        issued.iter().map(|request| request.1).collect(),
    )
}

const DRAWN: [u64; 16] = [0, 11, 13, 7, 6, 14, 8, 5, 15, 1, 2, 10, 3, 4, 9, 12];

#[test]
fn random_map_offsets_come_once_each_in_the_originals_order() {
    let issued = requests("rw=randread\nsize=64k", 64 << 10);
    assert_eq!(blocks(&issued), (DRAWN.to_vec(), "R".repeat(16)));
}

#[test]
fn offsets_follow_the_originals_distributions() {
    for (drawing, expected) in [
        ("zipf", "9 15 9 4 9 4 15 11 9 15 10 0 3 9 9 11 4 7 7 0"),
        ("zipf:1.2", "9 4 9 4 9 4 4 0 9 15 15 5 3 9 9 0 4 12 12 5"),
        ("zipf:0.8:0.25", "4 5 4 10 4 5 5 7 15 5 0 1 14 4 4 12 10 8 13 1"),
        ("pareto", "9 9 9 9 9 9 9 15 9 9 9 4 13 9 9 15 9 6 11 4"),
        ("pareto:0.3", "9 4 9 9 9 4 4 11 9 4 15 0 8 9 9 11 4 7 7 0"),
        ("pareto:0.2:0.5", "8 8 8 8 8 8 8 14 8 8 8 3 12 8 8 14 8 5 10 3"),
        ("normal", "8 13 8 14 13 9 3 3 8 13 9 13 8 8 13 8 3 14 2 14"),
        ("normal:20", "8 8 8 14 8 9 8 13 8 9 2 13 3 2 8 8 13 2 3 8"),
        ("normal:10:0.3", "5 10 5 11 10 11 0 10 10 6 15 10 5 15 5 5 10 15 0 5"),
        ("zoned:60/10:30/20:10/70", "0 0 0 9 2 0 2 0 3 4 13 0 0 0 2 0 0 0 0 0"),
        ("zoned:50/5:30/15:20/", "0 0 0 8 7 0 0 0 1 3 13 0 0 0 0 0 0 0 0 0"),
        ("zoned_abs:60/20k:40/40k", "0 3 4 9 9 4 8 1 14 5 13 3 4 1 8 2 2 4 1 3"),
    ] {
        let settings = format!("rw=randread\nsize=64k\nrandom_distribution={drawing}");
        let issued = requests(&settings, 80 << 10);
        let places: Vec<String> = blocks(&issued).0.iter().map(u64::to_string).collect();
        assert_eq!(places.join(" "), expected, "{drawing}");
    }
    let seeded = "rw=randread\nsize=64k\nrandrepeat=0\nrandseed=77\nrandom_distribution=zipf";
    let first = [1, 0, 5, 5, 5, 7, 5, 1, 5, 5, 9, 5, 4, 14, 12, 0];
    assert_eq!(blocks(&requests(seeded, 64 << 10)).0, first);
}

#[test]
fn zones_beyond_the_end_of_the_file_end_the_job() {
    let issued = requests("rw=randread\nsize=64k\nrandom_distribution=zoned_abs:100/1m", 64 << 10);
    assert_eq!(issued.len(), 0);
}

#[test]
fn distributions_work_for_the_smallest_files() {
    for drawing in ["zipf:0", "zipf:3", "pareto:0.999", "normal:99", "normal:50:0", "zoned:100/0"] {
        for size in ["4k", "8k", "12k"] {
            let settings = format!("rw=randread\nsize={size}\nrandom_distribution={drawing}");
            assert!(!requests(&settings, 16 << 10).is_empty(), "{drawing} of {size}");
        }
    }
}

#[test]
fn mixed_directions_follow_the_originals_draws() {
    let issued = requests("rw=randrw\nsize=64k", 64 << 10);
    assert_eq!(blocks(&issued), (DRAWN.to_vec(), "RRRWRRWWWRWRWRRR".to_owned()));
}

#[test]
fn request_sizes_follow_the_originals_draws_and_stop_at_used_blocks() {
    let issued = requests("rw=randwrite\nsize=64k\nbssplit=1k/50:4k/50", 64 << 10);
    let got: Vec<(u64, u64)> = issued.iter().map(|request| (request.2, request.3)).collect();
    let expected = [
        (3072, 1024),
        (48128, 1024),
        (54272, 1024),
        (30720, 4096),
        (25600, 4096),
        (55296, 1024),
        (24576, 1024),
        (22528, 1024),
        (59392, 4096),
        (4096, 4096),
        (56320, 3072),
        (41984, 1024),
        (63488, 1024),
        (15360, 1024),
        (29696, 1024),
        (35840, 1024),
        (34816, 1024),
        (52224, 1024),
        (23552, 1024),
        (39936, 1024),
        (0, 3072),
    ];
    assert_eq!(got[..expected.len()], expected);
    assert_eq!(got.last(), Some(&(50176, 1024)));
    assert_eq!(got.iter().map(|request| request.1).sum::<u64>(), 64 << 10);
}

#[test]
fn files_are_chosen_as_by_the_original() {
    let settings = "rw=randread\nnrfiles=3\nsize=48k\nfile_service_type=random:2";
    let issued = requests(settings, 48 << 10);
    let got: Vec<(usize, u64)> = issued.iter().map(|request| (request.0, request.2)).collect();
    let expected = [
        (2, 0),
        (2, 8192),
        (2, 12288),
        (2, 4096),
        (0, 4096),
        (0, 12288),
        (0, 8192),
        (0, 0),
        (1, 12288),
        (1, 8192),
        (1, 0),
        (1, 4096),
    ];
    assert_eq!(got, expected);
}

#[test]
fn sequential_files_take_turns_and_holes_are_skipped() {
    let issued = requests("rw=write\nnrfiles=2\nsize=32k", 32 << 10);
    let got: Vec<(usize, u64)> =
        issued.iter().map(|request| (request.0, request.2 / 4096)).collect();
    assert_eq!(got, [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2), (0, 3), (1, 3)]);
    let issued = requests("rw=read:4k\nsize=32k", 32 << 10);
    assert_eq!(blocks(&issued).0, [0, 2, 4, 6, 0, 2, 4, 6]);
}

#[test]
fn open_files_stay_within_openfiles() {
    let mut generator = generator("rw=read\nnrfiles=5\nsize=40k\nopenfiles=2");
    let (mut open, mut most) = (0_i64, 0);
    loop {
        match generator.next(0) {
            IoAction::Open(_) => open += 1,
            IoAction::Close(_) => open -= 1,
            IoAction::End => break,
            _ => {}
        }
        most = most.max(open);
    }
    assert_eq!((open, most, generator.issued.total()), (0, 2, 40 << 10));
}

#[test]
fn fsync_follows_every_nth_write_and_repeats_after_reads() {
    let mut generator = generator("rw=randrw\nsize=64k\nfsync=4");
    let mut words = String::new();
    while generator.issued.bytes_of_pass < 64 << 10 {
        match generator.next(0) {
            IoAction::Request(request) => {
                words.push(if request.direction == Direction::Read { 'r' } else { 'w' });
            }
            IoAction::Sync { data_only: false, .. } => words.push('S'),
            _ => {}
        }
    }
    assert_eq!(words, "rrrwrrwwwSrSwrwrrr");
}

#[test]
fn requests_at_random_times_keep_their_rate_after_the_ramp() {
    let mut generator =
        generator("rw=read\nsize=4m\nrate_iops=1000\nrate_process=poisson\nioengine=null");
    let requests_until = |generator: &mut Generator, us: u64| {
        let (mut now_us, mut count) = (0, 0);
        while now_us < us {
            match generator.next(now_us) {
                IoAction::Wait(us) => now_us += us,
                IoAction::Request(_) => count += 1,
                _ => {}
            }
        }
        count
    };
    assert!((150..250).contains(&requests_until(&mut generator, 200_000)));
    // The clock of the work begins anew with the measured time.
    generator.count_anew();
    assert!((150..250).contains(&requests_until(&mut generator, 200_000)));
}

#[test]
fn a_pause_that_the_rate_skips_is_not_caught_up_with() {
    let mut generator = generator("rw=read\nsize=4m\nrate_iops=1000\nthinktime=1");
    while generator.next(0) != IoAction::Wait(1000) {}
    generator.skip_pause(50_000);
    assert!(matches!(generator.next(51_000), IoAction::Request(_)));
    assert_eq!(generator.next(51_000), IoAction::Wait(1000));
}

#[test]
fn a_rate_limit_causes_pauses() {
    let mut generator = generator("rw=write\nsize=1m\nrate=4k");
    let acts: Vec<IoAction> = (0..3).map(|_| generator.next(0)).collect();
    assert!(
        matches!(acts[..], [IoAction::Open(0), IoAction::Request(_), IoAction::Wait(1_000_000)]),
        "{acts:?}"
    );
    assert_eq!(generator.next(1_000_000), generator_request(1));
}

fn generator_request(block: u64) -> IoAction {
    let (file, direction, bytes) = (0, Direction::Write, 4096);
    IoAction::Request(super::IoRequest {
        file,
        direction,
        offset: block * 4096,
        bytes,
        verifies: None,
    })
}

#[test]
fn another_pass_repeats_or_continues_the_draws() {
    let pass = |generator: &mut Generator| {
        let mut offsets = Vec::new();
        while generator.issued.bytes_of_pass < 64 << 10 {
            if let IoAction::Request(request) = generator.next(0) {
                offsets.push(request.offset);
            }
        }
        generator.begin_pass();
        offsets
    };
    let mut repeatable = generator("rw=randread\nsize=64k");
    assert_eq!(pass(&mut repeatable), pass(&mut repeatable));
    let mut other = generator("rw=randread\nsize=64k\nrandrepeat=0\nrandseed=7");
    assert_ne!(pass(&mut other), pass(&mut other));
}

#[test]
fn a_request_that_does_not_fit_ends_the_pass() {
    for settings in [
        "rw=read\nsize=10000\nbs=4k",
        "rw=randrw\nsize=10000\nbs=4k",
        "rw=randwrite\nsize=64k\nbs=64k\nba=60k\nnumber_ios=9",
        "rw=write:-60k\nsize=64k",
        "rw=randread\nsize=64k\nbsrange=3k-60k\nbs_unaligned",
    ] {
        let mut generator = generator(settings);
        let ended = (0..2000).any(|_| {
            matches!(generator.next(0), IoAction::End) || generator.issued.bytes_of_pass >= 64 << 10
        });
        assert!(ended, "{settings}");
    }
}

#[test]
fn requests_of_a_loop_that_fell_behind_its_rate_are_counted_as_late() {
    let late_of = |settings: &str, now_us: u64| {
        let mut generator = generator(settings);
        let mut issued = 0;
        while issued < 10 {
            issued += u64::from(matches!(generator.next(now_us), IoAction::Request(_)));
        }
        generator.late()
    };
    // The first request is due at once, the tenth after 9 ms.
    let rated = "rw=write\nsize=1m\nbs=4k\nrate_iops=1000";
    assert_eq!(late_of(rated, 50_000), 9);
    assert_eq!(late_of(rated, 9500), 8);
    assert_eq!(late_of("rw=write\nsize=1m\nbs=4k", 50_000), 0);
}
