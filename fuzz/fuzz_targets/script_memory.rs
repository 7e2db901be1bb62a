//! A small dataset and a few options: a whole run in the filesystem in memory, which ends, and
//! leaves the trees that it says it leaves.
#![no_main]

use std::collections::BTreeSet;

use libfuzzer_sys::fuzz_target;
use treering_compilebench::Compilebench;
use treering_engine::{
    EngineError, EngineOptions, EntryOrder, LatencyMode, MemoryFilesystem, PayloadKind, RunOptions,
    RunProgress, RunSessions, StopFlag,
};
use treering_fuzz::{folder, write_lists};
use treering_model::{SinkError, TrialEvent, TrialSink};
use treering_script::{Job, Settings, TargetFacts, Workload};

/// More steps only cost time.
const STEPS_MAX: u64 = 20_000;

struct Nobody;

impl TrialSink for Nobody {
    fn accept(&mut self, _event: &TrialEvent) -> Result<(), SinkError> {
        Ok(())
    }
}

/// Options from eight bytes.
fn settings(choice: &[u8], lists: &str) -> Settings {
    let word = |byte: u8, words: &[&str]| words[usize::from(byte) % words.len()].to_owned();
    let mut given = vec![
        ("dataset".to_owned(), lists.to_owned()),
        ("sources".to_owned(), lists.to_owned()),
        ("initial-dirs".to_owned(), (choice[1] % 4).to_string()),
        ("runs".to_owned(), (choice[2] % 24).to_string()),
        ("threads".to_owned(), (1 + choice[3] % 3).to_string()),
        ("buffer-size".to_owned(), word(choice[4], &["1", "7", "4096", "1M"])),
        ("seed".to_owned(), choice[5].to_string()),
        ("order".to_owned(), word(choice[6], &["native", "sorted", "random"])),
    ];
    if choice[0] & 2 != 0 {
        given.push(("makej".to_owned(), "true".to_owned()));
    }
    Settings::new(given)
}

fn perform(job: &dyn Job, order: EntryOrder, classic: bool) {
    let facts = TargetFacts::unknown();
    let footprint = job.footprint(&facts);
    let _lines = job.outline(&facts);
    let chunk = job.parameters().into_iter().find(|(name, _)| name == "buffer-size");
    let chunk = chunk.and_then(|(_, value)| value.parse::<u64>().ok()).unwrap_or(1);
    if footprint.written_bytes / chunk + footprint.written_files > STEPS_MAX {
        return;
    }
    let options = EngineOptions::new(LatencyMode::Off, PayloadKind::Classic, 1);
    let place = MemoryFilesystem::new(order);
    let mut session = job.begin(&facts);
    let (progress, stop) = (RunProgress::new(), StopFlag::new());
    let ran = place.run(session.as_mut(), RunOptions::new(&options, &mut Nobody, &progress, &stop));
    match ran {
        Ok(()) => {}
        // As the original, which ends when it cleans a file that is not there.
        Err(EngineError::Call { .. }) if classic => return,
        Err(error) => panic!("{error}"),
    }
    let there: BTreeSet<String> = place
        .snapshot()
        .entries
        .iter()
        .filter(|(path, _, _)| path.components().count() == 1)
        .map(|(path, _, _)| path.display().to_string())
        .collect();
    assert_eq!(there, session.remains().into_iter().collect(), "trees that stand");
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, text)) = data.split_at_checked(8) else { return };
    let folder = folder();
    let mut lists = text.splitn(4, |&byte| byte == 0x0c);
    write_lists(folder.path(), [(); 4].map(|()| lists.next().unwrap_or_default()));
    let settings = settings(choice, &folder.path().display().to_string());
    let order = match choice[7] {
        0 => EntryOrder::Creation,
        seed => EntryOrder::Seeded(u64::from(seed)),
    };
    let classic = choice[0] & 1 != 0;
    let job =
        if classic { Compilebench.classic(&settings) } else { Compilebench.native(&settings) };
    if let Ok(job) = job {
        perform(job.as_ref(), order, classic);
    }
});
