//! Job files: parsing, errors, and resolved output.

use super::{Environment, Machine, ParseContext, Reader, Section, parse, show};

use proptest::prelude::{Just, prop_oneof, proptest};
use treering_script::RequestFlags;

use super::direction::Direction;
use super::engine::Engine;
use super::keys::KNOWN;
use super::section::{Blocks, FileOrder, Preallocation, ReadWrite};
use super::values::Amount;

fn around<'s>(reader: &'s Reader<'s>, environment: &'s Environment<'s>) -> ParseContext<'s> {
    let machine = Machine { cpus: 4, page_bytes: 4096, memory_mib: 1000 };
    ParseContext::new(reader, environment, machine)
}

fn read_with(text: &str, included: &str) -> Result<Vec<Section>, String> {
    let reader = |_: &str, name: &str| match name {
        "common.fio" => Ok((name.to_owned(), included.as_bytes().to_vec())),
        _ => Err("No such file".to_owned()),
    };
    let environment = |name: &str| (name == "SIZE").then(|| "3".to_owned());
    parse("f", text.as_bytes(), &[], &around(&reader, &environment)).map_err(|error| {
        assert!(error.hint.is_some(), "{error}");
        error.message
    })
}

fn read(text: &str) -> Result<Vec<Section>, String> {
    read_with(text, "")
}

fn one(settings: &str) -> Section {
    read(&format!("[a]\nsize=1m\n{settings}\n")).unwrap().remove(0)
}

fn wrong(settings: &str) -> String {
    read(&format!("[a]\nsize=1m\n{settings}\n")).unwrap_err()
}

#[test]
fn flags_of_requests_belong_to_the_engines_that_have_them() {
    for (settings, polled, no_wait, uncached) in [
        ("ioengine=pvsync2\nhipri", true, false, false),
        ("ioengine=io_uring\nhipri=1\nnowait=1", true, true, false),
        ("ioengine=libaio\nnowait=1", false, true, false),
        ("ioengine=io_uring\nuncached=1", false, false, true),
        ("ioengine=io_uring\nhipri=0\nuncached=0", false, false, false),
    ] {
        let expected = RequestFlags { polled, no_wait, uncached };
        assert_eq!(one(settings).extras.request_flags, expected, "{settings}");
    }
    for settings in ["ioengine=libaio\nhipri=1", "nowait=1", "ioengine=sync\nuncached=1"] {
        assert!(wrong(settings).contains("with another engine"), "{settings}");
    }
}

#[test]
fn global_sections_apply_to_later_jobs() {
    let text = "; comment\n[global]\n  bs = 8k  ; trailing\nsize=1m # other\n\n[seq read]\nrw=read\n\
                [b]\nrw=randrw\nbs=4k,8k\nrwmixread=70\nstonewall\n[global]\nbs=16k\n[c]\nbs=,2k\n\
                rw=write\nthread\n";
    let jobs = read(text).unwrap();
    let blocks = |job: usize| Direction::ALL.map(|direction| jobs[job].blocks(direction).least);
    assert_eq!(
        jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>(),
        ["seq read", "b", "c"]
    );
    assert_eq!(blocks(0), [8192; 3]);
    assert_eq!(blocks(1), [4096, 8192, 8192]);
    assert_eq!(blocks(2), [16384, 2048, 2048]);
    assert_eq!(jobs[1].rw, ReadWrite { reads: true, writes: true, trims: false, random: true });
    assert!(jobs[1].stonewall && !jobs[2].stonewall && jobs[2].thread);
    assert_eq!(jobs[1].mix_read, 70);
    assert_eq!(jobs[0].given, [("rw".to_owned(), "read".to_owned())]);
    assert_eq!(jobs[2].given_globally.len(), 3);
}

#[test]
fn warnings_equal_those_of_the_original() {
    use super::Warning;
    for (settings, warning) in [
        ("time_based", Some(Warning::Timeless)),
        ("rw=randread\nba=8k", Some(Warning::Aligned)),
        ("rw=randread\nba=8k\nnorandommap", None),
        ("rw=read\nba=8k", None),
        ("verify=md5\nrw=write\nruntime=1\ntime_based", Some(Warning::NeverVerified)),
        ("verify=md5\nrw=rw\nruntime=1\ntime_based", None),
        ("verify=md5\nrw=write\nruntime=1\ntime_based\nverify_backlog=4", None),
        ("verify=md5\nrw=write\nruntime=1\ntime_based\ndo_verify=0", None),
        ("verify=md5\nrw=write\nnumjobs=2\nfilename=x", Some(Warning::Writers)),
        ("verify=md5\nrw=write\nnumjobs=2\nfilename_format=$jobname", Some(Warning::Writers)),
        ("verify=md5\nrw=write\nnumjobs=2", None),
        ("verify=md5\nrw=read\nnumjobs=2\nfilename=x", None),
        ("verify=md5\nrw=write\nnorandommap\nbs=4k,8k", Some(Warning::VerifiedSizes)),
        ("verify=md5\nrw=write\nnorandommap", None),
    ] {
        let job = one(settings);
        assert_eq!(job.extras.warnings, Vec::from_iter(warning), "{settings}");
    }
    assert!(!one("time_based").is_timed());
}

#[test]
fn defaults_equal_those_of_the_original() {
    let job = one("");
    assert_eq!(job.rw.name(), "read");
    assert_eq!(
        job.blocks(Direction::Read),
        &Blocks { least: 4096, most: 4096, split: vec![], align: None }
    );
    assert_eq!((job.engine, job.depth, job.direct), (Engine::Psync, 1, false));
    assert_eq!(
        (job.allocation, job.invalidate, job.draws.random_map),
        (Preallocation::Native, true, true)
    );
    assert_eq!((job.mix_read, job.files, job.open_files, job.loops), (50, 1, 1, 1));
    assert!(
        job.draws.repeatable && !job.draws.all_repeatable && job.create_fsync && !job.time_based
    );
    assert_eq!(job.service, FileOrder::RoundRobin);
}

#[test]
fn block_size_ranges_and_splits_are_parsed() {
    let job = one("bsrange=1k-4k,8k-16k\nrw=randrw:8");
    assert_eq!(
        (job.blocks(Direction::Read).most, job.blocks(Direction::Write).least),
        (4096, 8192)
    );
    assert_eq!(job.sequence, 8);
    let job = one("bssplit=4k/60:8k/40");
    assert_eq!(job.blocks(Direction::Write).split, [(8192, 40), (4096, 60)]);
    assert_eq!((job.blocks(Direction::Read).least, job.blocks(Direction::Read).most), (4096, 8192));
    let job = one("bssplit=1k/50:2k:4k");
    assert_eq!(job.blocks(Direction::Read).split, [(2048, 25), (4096, 25), (1024, 50)]);
    let job = one("bssplit=,4k/60:8k/40\nbs=64k");
    assert!(job.blocks(Direction::Write).split.is_empty());
    assert_eq!(job.least_block(), 65536);
    assert_eq!(one("rw=write:4k").hole, 4096);
    assert_eq!(one("rw=write:-4k").hole, -4096);
    assert!(wrong("bssplit=4k/60:8k/41").contains("does not make 100 percent"));
    assert!(wrong("bs=2g").contains("is not the size of a request"));
    assert!(wrong("bs=1,2,3,4").contains("too many parts"));
}

#[test]
fn variables_are_expanded() {
    let job = one("size=${SIZE}m\nnumjobs=$ncpus\nio_size=8*$pagesize\nkb_base=1000");
    assert_eq!(job.size, Some(Amount::Bytes(3_000_000)));
    assert_eq!((job.clones, job.io_size), (4, Some(Amount::Bytes(32768))));
    assert!(wrong("size=${NONE}").starts_with("f:3:6: size: the environment has no variable NONE"));
}

#[test]
fn includes_are_read() {
    let jobs = read_with("[a]\nsize=1m\ninclude common.fio\n", "bs=64k\n").unwrap();
    assert_eq!(jobs[0].least_block(), 65536);
    let wrong = read_with("[a]\nsize=1m\ninclude common.fio\n", "[b]\nbs=64k\n").unwrap_err();
    assert!(wrong.starts_with("common.fio:1:1: a section begins in an included file"), "{wrong}");
    let wrong = read_with("[a]\ninclude common.fio\n", "\nbs=x\n").unwrap_err();
    assert!(wrong.starts_with("common.fio:2:4: bs: 'x'"), "{wrong}");
    let wrong = read_with("include common.fio\n", "include common.fio\n").unwrap_err();
    assert!(wrong.contains("too many files"), "{wrong}");
    assert!(read_with("include other.fio\n", "").unwrap_err().contains("No such file"));
}

#[test]
fn paths_are_split_at_colons() {
    let job = one("filename=/mnt/a:b\\:c\ndirectory=/x:/y");
    assert_eq!(job.filenames, ["/x//mnt/a", "/x/b:c"]);
    assert_eq!(job.directories, ["/x", "/y"]);
    assert_eq!(job.files, 2);
    assert!(wrong("filename=a::b").contains("is no path"));
}

#[test]
fn named_files_add_up_over_sections_and_keep_their_directory() {
    let jobs = read(
        "[global]\nsize=1m\nfilename=all\ndirectory=/x\n[a]\nfilename=own\nfilename=more\n\
         directory=/y\n[b]\n[global]\nfilename=last\n[c]\nnrfiles=1\n[d]\nnrfiles=9\n",
    );
    let files = |job: &Section| (job.filenames.join(" "), job.files);
    let found: Vec<(String, u64)> = jobs.unwrap().iter().map(files).collect();
    let wanted =
        [("/x/all /y/own /y/more", 3), ("/x/all", 1), ("/x/all /x/last", 1), ("/x/all /x/last", 2)];
    assert_eq!(found, wanted.map(|(files, count)| (files.to_owned(), count)));
}

#[test]
fn an_overriding_file_name_takes_the_place_of_all_others() {
    let reader = |_: &str, _: &str| Err(String::new());
    let environment = |_: &str| None;
    let overriding = ["filename=one".to_owned()];
    let around = ParseContext { overriding: &overriding, ..around(&reader, &environment) };
    let text = b"[global]\nsize=1m\nfilename=all\n[a]\nfilename=own\n";
    assert_eq!(parse("f", text, &[], &around).unwrap()[0].filenames, ["one"]);
}

#[test]
fn keys_of_the_original_only_are_refused_by_name() {
    for (setting, part) in [
        ("verify=crc33", "f:3:8: verify: 'crc33' is not known here"),
        ("verify_state_load=1", "f:3:1: verify_state_load: treering does not do this: verifying"),
        ("zonemode=zbd", "f:3:10: zonemode: 'zbd'"),
        ("rw=trims", "f:3:4: rw: 'trims'"),
        ("ioengine=rados", "f:3:10: ioengine: 'rados' is an engine"),
        ("random_generator=lfsr64", "f:3:18: random_generator: 'lfsr64'"),
        ("random_distribution=zipfian", "f:3:21: random_distribution: 'zipfian' is not known here"),
        ("random_distribution=zipf:1", "f:3:21: random_distribution: 'zipf:1' has an exponent"),
        ("random_distribution=zipf:x", "f:3:21: random_distribution: 'x' is not a number"),
        ("random_distribution=zipf:1e9", "f:3:21: random_distribution: '1e9' is not a number"),
        ("random_distribution=pareto:1", "f:3:21: random_distribution: 'pareto:1' has no share"),
        ("random_distribution=pareto:.2:3", "f:3:21: random_distribution: 'pareto:.2:3' has its"),
        ("random_distribution=normal:100", "f:3:21: random_distribution: 'normal:100' has no"),
        ("random_distribution=zoned", "f:3:21: random_distribution: 'zoned' is not known here"),
        ("random_distribution=zoned:60/10", "f:3:21: random_distribution: 'zoned:60/10' does not"),
        ("random_distribution=zoned:100/101", "f:3:21: random_distribution: '101' is not a whole"),
        ("random_distribution=zoned_abs:100", "f:3:21: random_distribution: 'zoned_abs:100' has a"),
        ("sizes=1m", "f:3:1: 'sizes' is not a key of a job"),
        ("bs", "f:3:1: bs: '' is no value"),
        ("size=", "f:3:6: size: '' is no value"),
        ("direct=2", "f:3:8: direct: '2' is neither 0 nor 1"),
        ("size=x1", "f:3:6: size: 'x1' is not a size"),
        (
            "verify=md5\nrw=write\ntrim_percentage=10\ntrim_backlog=8",
            "f:1:1: [a]: blocks that are written, trimmed and verified",
        ),
        ("direct=1\nbs=1000", "f:1:1: [a]: direct requests"),
    ] {
        let message = wrong(setting);
        assert!(message.starts_with(part), "{message}");
    }
    assert!(read("bs=4k\n").unwrap_err().contains("before the first section"));
    assert!(read("[global]\nbs=4k\n").unwrap_err().contains("there is no job"));
    assert!(read("[a\n").unwrap_err().starts_with("f:1:1: '[a' has no closing ]"));
    assert!(read("[a]\nrw=read\n").unwrap_err().contains("there is no size"));
}

#[test]
fn a_shown_job_parses_to_the_same_job() {
    let text = "[global]\nsize=10%\nrw=randrw:4\nbssplit=4k/60:8k/40,16k\nruntime=30\n\
                time_based\nthread\n[a]\nnrfiles=20\nfilesize=10:1m\nfile_service_type=random:16\n\
                rate=1m,2m\nthinktime=50\nfallocate=keep\n[b]\nfilename=x\\:y:z\nexitall\n\
                exit_what=all\npercentile_list=50:99.9\nioengine=io_uring\niodepth=16\n";
    let jobs = read(text).unwrap();
    let mut again = read(&show(&jobs)).unwrap();
    assert_eq!(show(&again), show(&jobs));
    for (again, job) in again.iter_mut().zip(&jobs) {
        again.heading.place = job.heading.place;
        again.given.clone_from(&job.given);
        again.given_globally.clone_from(&job.given_globally);
        again.extras.bare.clone_from(&job.extras.bare);
        again.extras.warnings.clone_from(&job.extras.warnings);
        again.extras.notes.clone_from(&job.extras.notes);
        for (blocks, before) in again.blocks.iter_mut().zip(&job.blocks) {
            blocks.align = before.align;
        }
        assert_eq!(again, job);
    }
}

#[test]
fn only_selected_sections_are_read() {
    let reader = |_: &str, _: &str| Err(String::new());
    let environment = |_: &str| None;
    let around = around(&reader, &environment);
    let text = b"[global]\nsize=1m\n[a]\nbs=x\n[b]\nrw=write\n";
    let jobs = parse("f", text, &["b".to_owned()], &around).unwrap();
    assert_eq!(jobs.len(), 1);
    assert_eq!(jobs[0].name, "b");
}

#[test]
fn hostile_text_is_refused_in_bounded_time() {
    let many = "[a]\n".repeat(5000);
    let deep = format!("[a]\nsize={}1\n", "(".repeat(100_000));
    let long = format!("[{}]\n", "x".repeat(300));
    for text in [many.as_str(), deep.as_str(), long.as_str(), "[a]\0", "[]\n", "[global\n", "=\n"] {
        let message = read(text).unwrap_err();
        assert!(message.len() < 400, "{message}");
    }
    for settings in ["numjobs=1024\nnrfiles=5000", "numjobs=4097"] {
        assert!(wrong(settings).len() < 400, "{settings}");
    }
    let environment = |_: &str| None;
    let reader = |_: &str, _: &str| Err(String::new());
    assert!(parse("f", b"[a]\n\xff\n", &[], &around(&reader, &environment)).is_err());
}

proptest! {
    #[test]
    fn shown_jobs_parse_to_the_same_jobs(
        lines in proptest::collection::vec(
            (0..KNOWN.len(), prop_oneof![
                Just(""), Just("=1"), Just("=0"), Just("=4k"), Just("=4k,8k"), Just("=1k-8k"),
                Just("=4k/50:8k"), Just("=10%"), Just("=30s"), Just("=randrw:3"),
                Just("=write:-4k"),
                Just("=random:7"), Just("=libaio"), Just("=a:b\\:c"), Just("=all"), Just("=none"),
                Just("=(2*3)"), Just("=zipf:1.2:0.5"), Just("=zoned:60/10:40/"),
                Just("=50:99.9"), Just("=$ncpus"), Just("=\u{fc} x"),
            ]),
            0..12,
        ),
    ) {
        let mut text = "[a]\nsize=1m\nrw=randwrite\n".to_owned();
        for (key, value) in lines {
            text.push_str(KNOWN[key].0);
            text.push_str(value);
            text.push('\n');
        }
        if let Ok(jobs) = read(&text) {
            let shown = show(&jobs);
            let again = read(&shown).map(|jobs| show(&jobs));
            proptest::prop_assert_eq!(again, Ok(shown), "{}", text);
        }
    }
}
