//! Import of blogbench: complete outputs, scores alone, of a full filesystem, with and without a
//! version.

use treering_model::{CautionCode, Scope};
use treering_registry::{ForeignTrial, ImportResult, ImportedTrial, import};

use crate::logs::{only, primary};

/// Invented run of two rows.
pub(crate) const BLOGBENCH: &str = "
Frequency = 5 secs
Scratch dir = [/m/w]
Spawning 3 writers...
Spawning 1 rewriters...
Spawning 5 commenters...
Spawning 100 readers...
Benchmarking for 2 iterations.
The test will run during 0 minutes.

  Nb blogs   R articles    W articles    R pictures    W pictures    R comments    W comments
        40          100            50           200            60            70            30
       100          300           150           400            60            80            20

Final score for writes:           100
Final score for reads :           500

";

fn value(trial: &ForeignTrial, scope: &Scope, name: &str) -> Option<f64> {
    let same = |metric: &&treering_model::Metric| metric.scope == *scope && metric.name == name;
    trial.metrics.iter().find(same).map(|metric| metric.value)
}

fn codes(trial: &ForeignTrial) -> Vec<CautionCode> {
    trial.cautions.iter().map(|caution| caution.code).collect()
}

fn says(imported: &ImportResult, words: &str) -> bool {
    imported.remarks.iter().any(|remark| remark.what.contains(words))
}

#[test]
fn a_complete_run_is_read() {
    let imported = import(BLOGBENCH.as_bytes());
    let trial = only(&imported);
    assert_eq!((trial.workload, trial.target.as_str()), ("blogbench", "/m/w"));
    let parameters: Vec<String> =
        trial.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(
        parameters,
        ["iterations=2", "sleep=5", "writers=3", "rewriters=1", "commenters=5", "readers=100"]
    );
    let whole = Scope::Trial;
    assert_eq!(value(trial, &whole, "write_score"), Some(100.0));
    assert_eq!(value(trial, &whole, "read_score"), Some(500.0));
    assert_eq!(value(trial, &whole, "write_score_per_second"), Some(10.0));
    assert_eq!(value(trial, &whole, "read_score_per_second"), Some(50.0));
    assert_eq!(primary(trial), ["write_score_per_second", "read_score_per_second"]);
    let row = |number: u32| Scope::Phase(format!("iteration {number}"));
    assert_eq!(value(trial, &row(1), "read_files_per_second"), Some(74.0));
    assert_eq!(value(trial, &row(1), "written_files_per_second"), Some(28.0));
    assert_eq!(value(trial, &row(2), "blogs_written_per_second"), Some(12.0));
    let kind = Scope::Kind("write picture".to_owned());
    assert_eq!(value(trial, &kind, "files_per_second"), Some(12.0));
    let files: Vec<u64> = trial.phases.iter().map(|phase| phase.files).collect();
    assert_eq!(files, [510, 1010]);
    assert_eq!(trial.wall_ns, 10_000_000_000);
    assert!(!trial.is_interrupted);
    // Which version it is, nothing says.
    assert_eq!(codes(trial), [CautionCode::VersionUnknown]);
    assert_eq!(imported.remarks.len(), 1, "{:?}", imported.remarks);
}

#[test]
fn version_is_taken_from_the_surrounding_text() {
    for (text, version, bytes) in [
        (format!("$ ./blogbench-1.1/src/blogbench -d /m/w\n{BLOGBENCH}"), "1.1", "65536"),
        (format!("Blogbench 1.2:\n{BLOGBENCH}"), "1.2", "8"),
        (format!("{BLOGBENCH}(blogbench v1.2)\n"), "1.2", "8"),
    ] {
        let imported = import(text.as_bytes());
        let trial = only(&imported);
        assert_eq!(trial.facts[0].value, format!("blogbench {version}"));
        assert_eq!(trial.parameters[0], ("read-bytes".to_owned(), bytes.to_owned()));
        assert_eq!(codes(trial), []);
        assert!(says(&imported, &format!("assumed to be version {version} because of line")));
    }
}

#[test]
fn scores_alone_are_a_trial_of_unknown_length() {
    let text = "A:\nFinal score for writes:          4834\nFinal score for reads :        189432\n\
                B:\nFinal score for writes: 392\nFinal score for reads:  433915\n\
                C:\nFinal score for writes: 4834 4900 4945\n";
    let imported = import(text.as_bytes());
    let trials: Vec<&ForeignTrial> = imported
        .found
        .iter()
        .map(|output| match &output.content {
            ImportedTrial::Foreign(trial) => trial.as_ref(),
            ImportedTrial::Own(_) => panic!("an own trial"),
        })
        .collect();
    assert_eq!(trials.len(), 2);
    assert_eq!(value(trials[1], &Scope::Trial, "read_score"), Some(433_915.0));
    assert_eq!(primary(trials[0]), ["write_score", "read_score"]);
    assert!(trials.iter().all(|trial| !trial.is_interrupted));
    assert!(says(&imported, "unknown run time"));
}

#[test]
fn truncated_full_and_contradictory_outputs_are_remarked() {
    let (torn, _) = BLOGBENCH.split_once("\nFinal").unwrap();
    let imported = import(format!("{torn}\nBye\n{BLOGBENCH}").as_bytes());
    assert_eq!(imported.found.len(), 2);
    assert!(says(&imported, "a final score is missing"));
    let full = BLOGBENCH
        .replace("\nFinal score for w", "write(): No space left on device\nFinal score for w");
    let imported = import(full.as_bytes());
    let trial = only(&imported);
    assert_eq!(codes(trial), [CautionCode::VersionUnknown, CautionCode::MayNotFit]);
    let other = BLOGBENCH.replace("writes:           100", "writes:           101");
    assert!(says(&import(other.as_bytes()), "but its last row has 100"));
    let cut = BLOGBENCH.replace("for 2 iterations", "for 30 iterations");
    let imported = import(cut.as_bytes());
    assert!(says(&imported, "2 of 30 rows present"), "{:?}", imported.remarks);
    let rate = value(only(&imported), &Scope::Trial, "read_score_per_second").unwrap();
    assert!((rate - 500.0 / 150.0).abs() < 1e-9);
    let nothing = import("Frequency = 5 secs\nScratch dir = [/m/w]\n".as_bytes());
    assert!(nothing.found.is_empty() && says(&nothing, "no result"));
}
