//! mdtest and ior in place of the originals: links to treering-mpi that a launcher starts. Output
//! and trees equal those of one process with as many ranks, which is compared with the originals
//! elsewhere.

use std::fs;
use std::path::Path;
use std::process::Command;

use treering_model::{Ending, RANKS_FACT, RunMode};
use treering_testkit::{FinishedCommand, temp_dir};

use crate::kernels::fact;
use crate::mpi::{Mpi, elsewhere, only};
use crate::{ior, mdtest};

fn words(command: &mut Command, words: &str) -> FinishedCommand {
    FinishedCommand::run(command.args(words.split_whitespace()))
}

/// Command lines of mdtest; `-G` makes the data the same in both programs.
const MDTEST: [&str; 5] = [
    "-n 20 -C -u -N 1",
    "-n 12 -i 2 -u -N 1 -P --print-all-procs --showRankStatistics",
    "-n 30 -F -w 3901 -e 3901 -X -G 7 -N 1 -C -T -E",
    "-n 10 -c -C -Z",
    "-n 10 -F -S -C",
];

#[test]
fn mdtest_under_a_launcher_equals_a_single_process() {
    for mpi in Mpi::all() {
        for line in MDTEST {
            let (alone, place) = (crate::program(), temp_dir());
            let ours = mdtest::classic(&alone, 4, line).ends_with(0);
            let mut command = mpi.tool(4, "mdtest");
            command.current_dir(place.path());
            let ran = words(&mut command, &format!("{line} --no-store")).ends_with(0);
            assert_eq!(mdtest::shape(&ran.stdout), mdtest::shape(&ours.stdout), "{line}");
            assert_eq!(ran.stdout.matches("-- finished at").count(), 1, "rank 0 prints: {ran}");
            let (made, expected) = (place.path().join("out"), alone.home().join("out"));
            assert_eq!(mdtest::tree(&made), mdtest::tree(&expected), "{line}");
        }
    }
}

#[test]
fn ior_under_a_launcher_equals_a_single_process() {
    for mpi in Mpi::all() {
        for line in [
            "-b 256k -t 64k -G 7 -k -C -o out/f",
            "-F -b 128k -t 64k -s 2 -G 7 -k -e -o out/f",
            "-f script",
            "-b 256k -t 64k -k -M 1% -G 7 -o out/f",
        ] {
            let (alone, place) = (crate::program(), temp_dir());
            for dir in [alone.home(), place.path()] {
                fs::create_dir(dir.join("out")).unwrap();
                fs::write(dir.join("script"), ior::SCRIPT).unwrap();
            }
            let ours = ior::classic(&alone, 4, line).ends_with(0);
            let mut command = mpi.tool(4, "ior");
            command.current_dir(place.path());
            let ran = words(&mut command, &format!("{line} --no-store")).ends_with(0);
            assert_eq!(ior::shape(&ran.stdout), ior::shape(&ours.stdout), "{line}");
            let data = |dir: &Path| ior::files(&dir.join("out"));
            assert_eq!(data(place.path()), data(alone.home()), "{line}");
            assert!(!data(place.path()).is_empty());
        }
    }
}

#[test]
fn ranks_of_a_tool_are_one_trial_that_can_be_shown_again() {
    for mpi in Mpi::all() {
        let (place, data) = (temp_dir(), elsewhere());
        let store = data.path().join("results.db");
        let dir = place.path().join("out");
        let line = format!("-n 10 -u -N 1 -w 100 -e 100 -X -d {}", dir.display());
        let mut command = mpi.tool(3, "mdtest");
        let ran = words(command.arg("--store").arg(&store), &line).ends_with(0);
        // Each rank checks data of another rank, so all must use one seed, the time of rank 0.
        assert!(!ran.stdout.contains("WARNING") && !ran.stdout.contains("ERROR"), "{ran}");
        let trial = only(&store);
        assert_eq!(
            (trial.ending.clone(), trial.beginning.mode),
            (Ending::Completed, RunMode::Classic)
        );
        assert_eq!(fact(&trial, RANKS_FACT), Some("3"));
        let ranks = trial.beginning.parameters.iter().find(|(name, _)| name == "ranks");
        assert_eq!(ranks.map(|(_, value)| value.as_str()), Some("3"));
        let treering = crate::program();
        let shown = treering.run([
            "show".as_ref(),
            "last".as_ref(),
            "--classic".as_ref(),
            "--store".as_ref(),
            store.as_os_str(),
        ]);
        assert_eq!(shown.ends_with(0).stdout, ran.stdout);
        assert!(mdtest::tree(&dir).is_empty(), "nothing stays");
    }
}

#[test]
fn a_refusal_is_printed_once_with_the_exit_code_of_the_tool() {
    for mpi in Mpi::all() {
        let place = temp_dir();
        for (tool, line, message, code) in [
            ("mdtest", "-S -c", "-c not compatible with -S", 1),
            ("ior", "-b 3 -t 2", "block size must be a multiple", 1),
            ("ior", "-o no/such/data", "ERROR: open64(\"no/such/data\") failed", 255),
            ("mdtest", "-a HDFS", "only POSIX calls are made", 1),
            ("mdtest", "-n 3 --ranks 2", "--ranks 2: the launcher has started 3", 2),
        ] {
            let mut command = mpi.tool(3, tool);
            command.current_dir(place.path()).arg("--no-store");
            let ran = words(&mut command, line).ends_with(code);
            let output = format!("{}{}", ran.stdout, ran.stderr);
            assert_eq!(output.matches(message).count(), 1, "{tool} {line}: {output}");
        }
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "nothing was done");
    }
}
