//! Values of options as people type them: a job with a plan and a footprint, or an error that says
//! what is right.
#![no_main]

use libfuzzer_sys::fuzz_target;
use treering_compilebench::Compilebench;
use treering_fuzz::{folder, write_lists};
use treering_script::{Settings, TargetFacts, Workload, parse_size};

const LISTS: [&[u8]; 4] =
    [b"a/b 1048576\n", b"a/b 1048577\n", b"a/b 1048576\na/b.o 9\n", b"a/b 1048577\na/b.o 9\n"];

fuzz_target!(|text: &str| {
    let given = text.lines().filter_map(|line| line.split_once('='));
    let mut given: Vec<(String, String)> =
        given.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    given.retain(|(name, value)| {
        // Files are another target's; large runs only cost time.
        let plans = matches!(name.as_str(), "runs" | "initial-dirs" | "threads");
        let is_large = value.len() > 2 || parse_size(value).is_some_and(|number| number > 99);
        !matches!(name.as_str(), "dataset" | "sources") && !(plans && is_large)
    });
    for (name, limit) in [("runs", "20"), ("initial-dirs", "5")] {
        if !given.iter().any(|(given, _)| given == name) && !text.contains("fill") {
            given.push((name.to_owned(), limit.to_owned()));
        }
    }
    let folder = folder();
    write_lists(folder.path(), LISTS);
    for name in ["dataset", "sources"] {
        given.push((name.to_owned(), folder.path().display().to_string()));
    }
    let settings = Settings::new(given);
    let facts =
        TargetFacts { capacity_bytes: 1 << 30, free_bytes: 1 << 30, ..TargetFacts::unknown() };
    for job in [Compilebench.native(&settings), Compilebench.classic(&settings)] {
        match job {
            Ok(job) => {
                assert!(job.outline(&facts).len() < 5_000);
                let footprint = job.footprint(&facts);
                assert!(footprint.peak_bytes <= footprint.written_bytes);
                let _fits_or_not = job.check(&facts);
            }
            Err(error) => assert!(!error.message.is_empty()),
        }
    }
    let _size_or_not = text.lines().map(parse_size).filter(Option::is_some).count();
});
