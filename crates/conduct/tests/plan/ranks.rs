//! Jobs on several ranks: number of ranks, launchers, and refused settings.

use std::path::Path;

use treering_conduct::plan::Launch;
use treering_script::TargetFacts;

use crate::read_plan;

const ON: &str = "[[variant]]\nname = \"shm\"\ndevice = { directory = \"/dev/shm\" }\n";
const MAKE: &str = "[[job]]\nname = \"make\"\nworkload = \"fs_mark\"\noptions = { threads = 2 }\n";

#[test]
fn a_sweep_over_ranks_launches_each_size() {
    let plan = format!(
        "launcher = \"mpirun --map-by 'a b'\"\n{ON}{MAKE}sweep = {{ ranks = \"1..8x2\" }}\n"
    );
    let plan = read_plan(&plan).unwrap();
    let names: Vec<&str> = plan.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["make, ranks=1", "make, ranks=2", "make, ranks=4", "make, ranks=8"]);
    let launcher = ["mpirun", "--map-by", "a b"].map(str::to_owned).to_vec();
    let last = Launch { ranks: 8, launcher, program: None, timeout_seconds: 300 };
    assert_eq!(plan.jobs[3].launch.as_ref(), Some(&last));
    assert!(plan.jobs.iter().all(|job| job.options == [("threads".to_owned(), "2".to_owned())]));
    let written =
        |place: usize| plan.jobs[place].job.footprint(&TargetFacts::unknown()).written_files;
    assert_eq!(written(3), 8 * written(0), "that of all ranks together");
}

#[test]
fn keys_of_a_job_override_keys_of_the_plan() {
    let plan = format!(
        "ranks = 4\nmpi-program = \"bin/treering-mpi\"\n{ON}{MAKE}[[job]]\nworkload = \"ior\"\n\
         ranks = 2\nlauncher = [\"srun\", \"--mpi=pmix\"]\nmpi-program = \"/opt/treering-mpi\"\n\
         rank-timeout = 20\n"
    );
    let plan = read_plan(&plan).unwrap();
    let launch = |place: usize| plan.jobs[place].launch.clone().unwrap();
    assert_eq!((launch(0).ranks, launch(0).launcher), (4, Vec::new()));
    assert!(launch(0).program.unwrap().ends_with("examples/plans/bin/treering-mpi"));
    assert_eq!((launch(1).ranks, launch(1).launcher.len()), (2, 2));
    assert_eq!(launch(1).program.as_deref(), Some(Path::new("/opt/treering-mpi")));
    assert_eq!((launch(0).timeout_seconds, launch(1).timeout_seconds), (300, 20));
    let reread = read_plan(&plan.to_toml()).unwrap();
    assert_eq!(format!("{reread:?}"), format!("{plan:?}"));
    assert_eq!(reread.digest(), plan.digest());
}

#[test]
fn ranks_change_the_digest() {
    let digest = |top: &str| read_plan(&format!("{top}{ON}{MAKE}")).unwrap().digest();
    let all = [
        digest(""),
        digest("ranks = 1\n"),
        digest("ranks = 2\n"),
        digest("ranks = 2\nlauncher = \"srun\"\n"),
    ];
    for (place, one) in all.iter().enumerate() {
        assert!(!all[..place].contains(one), "{place}");
    }
    assert_eq!(digest("ranks = 2\nmpi-program = \"/a\"\n"), all[2], "the same work elsewhere");
}

#[test]
fn impossible_settings_of_ranks_are_refused_at_their_position() {
    let by_rank = "[[variant]]\nname = \"g\"\ndevice = { directory = \"/mnt/c{rank}/w\" }\n";
    assert!(read_plan(&format!("ranks = 2\n{by_rank}{MAKE}")).is_ok());
    let ext4 = "[[variant]]\nfilesystem = \"ext4\"\n";
    let booted = format!("{ext4}kernel = \"./linux.deb\"\n");
    for (plan, words) in [
        (
            format!("ranks = 0\n{ON}{MAKE}"),
            "`ranks` is 0, and must be a whole number from 1 to 65536",
        ),
        (format!("ranks = \"all\"\n{ON}{MAKE}"), "`ranks` is a string"),
        (format!("ranks = 2\n{ON}[[job]]\nworkload = \"age\"\n"), "age cannot run on several"),
        (format!("ranks = 2\n{ON}{MAKE}[[job]]\ncommand = \"x\"\n"), "command cannot run on"),
        (format!("launcher = \"srun\"\n{ON}{MAKE}"), "`launcher` without `ranks`"),
        (format!("rank-timeout = 9\n{ON}{MAKE}"), "`rank-timeout` without `ranks`"),
        (format!("ranks = 2\nrank-timeout = 0\n{ON}{MAKE}"), "`rank-timeout` is 0, and"),
        (format!("{ON}{MAKE}mpi-program = \"/a\"\n"), "`mpi-program` without `ranks`"),
        (format!("ranks = 2\nlauncher = \" \"\n{ON}{MAKE}"), "the launcher has no name"),
        (format!("ranks = 2\nlauncher = \"a 'b\"\n{ON}{MAKE}"), "a ' is never closed"),
        (format!("ranks = 2\nremount = true\n{ext4}{MAKE}"), "nothing is unmounted"),
        (format!("ranks = 2\n{booted}{MAKE}"), "not started in the guest of `ext4`"),
        (format!("{by_rank}{MAKE}"), "another for each rank, and `make` has no ranks"),
    ] {
        let said = read_plan(&plan).map(|plan| plan.name).unwrap_err().to_string();
        assert!(said.contains(words), "{plan}\n{said}");
    }
}
