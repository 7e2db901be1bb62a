//! Scripts that build programs: each program has its own path, and no build removes the result of
//! another. A fake cargo creates the requested programs.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Fake cargo: writes its options into the requested program; fails if the file `fail` exists.
const CARGO: &str = r#"#!/bin/sh
[ "$1" = build ] || exit 0
folder=debug triple='' kind=plain
while [ $# -gt 0 ]; do
    case "$1" in
        --release) folder=release ;;
        --profile) folder=$2 ;;
        --target) triple=$2/ ;;
        --features) kind=$2 ;;
    esac
    shift
done
mkdir -p "$CARGO_TARGET_DIR/$triple$folder"
rm -f "$CARGO_TARGET_DIR/$triple$folder/treering"
[ -e "$CARGO_TARGET_DIR/fail" ] && exit 101
echo "$kind" >"$CARGO_TARGET_DIR/$triple$folder/treering"
"#;

/// A target directory with the fake cargo.
struct BuildSandbox {
    target: PathBuf,
}

impl BuildSandbox {
    fn new(name: &str) -> Self {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _none_yet = fs::remove_dir_all(&target);
        fs::create_dir_all(target.join("bin")).unwrap();
        for (tool, text) in [("cargo", CARGO), ("mpicc.openmpi", "#!/bin/sh\n")] {
            let path = target.join("bin").join(tool);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        }
        Self { target }
    }

    fn run(&self, script: &str, option: Option<&str>) -> bool {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new(root.join("scripts").join(script));
        command.args(option).env("CARGO_TARGET_DIR", &self.target);
        command.env("PATH", format!("{}:{path}", self.target.join("bin").display()));
        command.output().unwrap().status.success()
    }

    /// Word in a built program.
    fn built(&self, program: &str) -> Option<String> {
        let text = fs::read_to_string(self.target.join(program)).ok()?;
        Some(text.trim().to_owned())
    }
}

#[test]
fn both_programs_stay_after_either_build() {
    for order in [["build.sh", "build-mpi.sh"], ["build-mpi.sh", "build.sh"]] {
        let bench = BuildSandbox::new("either");
        for script in [order[0], order[1], order[0]] {
            assert!(bench.run(script, None), "{script}");
        }
        assert_eq!(bench.built("release/treering").as_deref(), Some("plain"), "{order:?}");
        assert_eq!(bench.built("release/treering-mpi").as_deref(), Some("mpi"), "{order:?}");
    }
}

#[test]
fn a_failed_build_with_mpi_leaves_the_program_without_it() {
    let bench = BuildSandbox::new("failed");
    assert!(bench.run("build.sh", None));
    fs::write(bench.target.join("fail"), "").unwrap();
    assert!(!bench.run("build-mpi.sh", None));
    assert_eq!(bench.built("release/treering").as_deref(), Some("plain"));
    assert_eq!(bench.built("release/treering-mpi"), None);
}

#[test]
fn programs_with_mpi_for_tests_have_a_place_of_their_own() {
    let bench = BuildSandbox::new("tests");
    fs::create_dir_all(bench.target.join("debug")).unwrap();
    fs::write(bench.target.join("debug/treering"), "plain").unwrap();
    assert!(bench.run("build-mpi.sh", Some("--tests")));
    assert_eq!(bench.built("debug/treering").as_deref(), Some("plain"));
    assert_eq!(bench.built("mpi/treering-mpi.openmpi").as_deref(), Some("mpi"));
}
