//! Jobs that variants change by `options` and `env`: changed jobs, refused changes, and written
//! plans that read back.

use treering_conduct::plan::{Plan, PlannedJob};

use crate::read_plan;

/// Job on a variant, by the indices of both.
fn job(plan: &Plan, variant: usize, job: usize) -> &PlannedJob {
    plan.job_of(variant, job)
}

fn parameter(planned: &PlannedJob, name: &str) -> Option<String> {
    let parameters = planned.job.parameters();
    parameters.into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

fn refused(text: &str) -> String {
    read_plan(text).unwrap_err().to_string()
}

const TWO: &str = "[[variant]]\nname = \"a\"\nfilesystem = \"ext4\"\n\
                   [[variant]]\nname = \"b\"\nfilesystem = \"ext4\"\n";
const FIO: &str = "[[job]]\nname = \"random\"\nworkload = \"fio\"\n\
                   options = { jobfile = \"../fio/random-read.fio\", size = \"1m\", \
                   ioengine = \"psync\" }\n";
const MARK: &str = "[[job]]\nname = \"mark\"\nworkload = \"fs_mark\"\n\
                    options = { files = 5, size = 7, until-full = true }\n";

#[test]
fn a_variant_cannot_let_a_job_rewrite_files_in_a_directory() {
    let refused = |variant: &str, job: &str| {
        let text = format!(
            "[[variant]]\ndevice = {{ directory = \"/srv/db\" }}\n{variant}[[job]]\n\
             workload = \"fio\"\n\
             options = {{ jobfile = \"../fio/database-file.fio\", section = \"rewrite\"{job} }}\n"
        );
        read_plan(&text).map_err(|error| error.message().to_owned())
    };
    assert!(refused("", "").is_ok());
    let message = "`fio` would overwrite files in the directory of `/srv/db`";
    for (variant, job) in [("", ", in-place = true"), ("options = { in-place = true }\n", "")] {
        assert_eq!(refused(variant, job).unwrap_err(), message);
    }
    // A variant that only reads changes nothing.
    let reads = "options = { in-place = true, section = \"read\" }\n";
    assert!(refused(reads, "").is_ok());
}

#[test]
fn options_of_a_variant_replace_options_of_the_job() {
    let plan = read_plan(&format!("{TWO}options = {{ files = 9 }}\n{MARK}")).unwrap();
    assert_eq!(parameter(job(&plan, 0, 0), "files").as_deref(), Some("5"));
    assert_eq!(parameter(job(&plan, 1, 0), "files").as_deref(), Some("9"));
    assert_eq!(parameter(job(&plan, 1, 0), "size").as_deref(), Some("7"));
    assert_eq!(job(&plan, 0, 0).name, job(&plan, 1, 0).name);
    let other = read_plan(&format!("{TWO}options = {{ files = 8 }}\n{MARK}")).unwrap();
    assert_ne!(plan.digest(), other.digest());
}

#[test]
fn parameters_inside_a_fio_job_can_be_changed_as_options() {
    let plan = read_plan(&format!("{TWO}options = {{ ioengine = \"io_uring\" }}\n{FIO}")).unwrap();
    let engine = |variant| {
        let lines = job(&plan, variant, 0).job.parameters();
        lines.iter().map(|(name, value)| format!("{name}={value};")).collect::<Vec<_>>().concat()
    };
    assert!(engine(0).contains("psync") && !engine(0).contains("io_uring"), "{}", engine(0));
    assert!(engine(1).contains("io_uring") && !engine(1).contains("psync"), "{}", engine(1));
}

#[test]
fn options_of_a_single_job_override_options_of_all_jobs() {
    let plan = read_plan(&format!(
        "{TWO}options = {{ size = 11, mark = {{ size = 12 }} }}\n{MARK}\
         [[job]]\nname = \"other\"\nworkload = \"fs_mark\"\noptions = {{ files = 3, size = 7 }}\n"
    ))
    .unwrap();
    for (place, size) in [(0, "12"), (1, "11")] {
        assert_eq!(parameter(job(&plan, 1, place), "size").as_deref(), Some(size));
        assert_eq!(parameter(job(&plan, 0, place), "size").as_deref(), Some("7"));
    }
    let single = read_plan(&format!("{TWO}options.mark = {{ size = 12 }}\n{MARK}{FIO}")).unwrap();
    assert_eq!(parameter(job(&single, 1, 0), "size").as_deref(), Some("12"));
    assert_eq!(job(&single, 1, 1).job.parameters(), job(&single, 0, 1).job.parameters());
}

#[test]
fn the_baseline_keeps_its_options_when_another_variant_is_the_baseline() {
    let text = format!("baseline = \"b\"\n{TWO}options = {{ files = 9 }}\n{MARK}");
    let plan = read_plan(&text).unwrap();
    assert_eq!(plan.variants[0].name, "b");
    assert_eq!(parameter(job(&plan, 0, 0), "files").as_deref(), Some("9"));
    assert_eq!(parameter(job(&plan, 1, 0), "files").as_deref(), Some("5"));
}

#[test]
fn unknown_options_are_refused_at_their_position_with_a_suggestion() {
    let error = refused(&format!("{TWO}options = {{ fils = 9 }}\n{MARK}"));
    assert!(error.contains("fs_mark has no option `fils`"), "{error}");
    assert!(error.contains("plan.toml:7:13") && error.contains("did you mean `files`"), "{error}");
    let error = refused(&format!("{TWO}options = {{ files = 9 }}\n{MARK}[[job]]\n"));
    assert!(error.contains("compilebench has no option `files`"), "{error}");
    assert!(error.contains("to change only some jobs"), "{error}");
    let error = refused(&format!("{TWO}options.marc = {{ files = 9 }}\n{MARK}"));
    assert!(error.contains("no job is called `marc`"), "{error}");
    assert!(error.contains("did you mean `mark`"), "{error}");
    let error = refused(&format!("{TWO}options = {{ files = \"many\" }}\n{MARK}"));
    assert!(error.contains("plan.toml:7:21") && error.contains("many"), "{error}");
}

#[test]
fn written_plans_keep_options_and_environment_of_variants() {
    let text = format!(
        "{TWO}options = {{ random = {{ ioengine = \"io_uring\", iodepth = 4 }}, \
         mark = {{ until-full = false }} }}\nenv = {{ A = \"true\", B = \"2\", C = \"\" }}\n\
         limits = {{ memory = \"512M\", cpu = \"50%\", io-write = \"20M\" }}\n\
         prepare = \"true\"\n{FIO}{MARK}prepare = [\"true\", \"a b\"]\ncompressibility = \"30%\"\n\
         latency = \"off\"\nheat = true\nheat-half-life = 2.5\n"
    );
    let plan = read_plan(&text).unwrap();
    let reread = read_plan(&plan.to_toml()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(reread.to_toml(), plan.to_toml());
    assert_eq!(reread.digest(), plan.digest());
    assert_eq!(reread.variants, plan.variants);
    assert_eq!(
        (reread.jobs[1].engine, &reread.jobs[1].around),
        (plan.jobs[1].engine, &plan.jobs[1].around)
    );
    assert_eq!(reread.jobs[1].engine.compressibility, 30);
    assert_eq!(reread.jobs[1].around.prepare, ["true", "a b"]);
    for place in [0, 1] {
        let parameters = job(&reread, 1, place).job.parameters();
        assert_eq!(parameters, job(&plan, 1, place).job.parameters());
        assert_ne!(parameters, job(&reread, 0, place).job.parameters());
    }
}

#[test]
fn job_files_use_the_environment_of_their_variant() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("j.fio");
    std::fs::write(&file, "[a]\nsize=${NUMBER}m\n").unwrap();
    let plan = read_plan(&format!(
        "{TWO}env = {{ NUMBER = 5 }}\n[[job]]\nworkload = \"fio\"\n\
         options = {{ jobfile = {:?} }}\n",
        file.to_str().unwrap()
    ))
    .unwrap();
    let bytes = |variant| {
        let facts = treering_script::TargetFacts::unknown();
        job(&plan, variant, 0).job.footprint(&facts).peak_bytes
    };
    assert_eq!((bytes(0), bytes(1)), (3 << 20, 5 << 20));
}

#[test]
fn an_environment_that_no_program_reads_is_refused() {
    let error = refused(&format!("{TWO}env = {{ A = 1 }}\n{MARK}"));
    assert!(error.contains("no program reads `env`") && error.contains("plan.toml:7:1"), "{error}");
    let command = "[[job]]\ncommand = \"true\"\n";
    for read in [
        format!("{TWO}env = {{ A = 1 }}\n{command}"),
        format!("{TWO}env = {{ A = 1 }}\nprepare = \"true\"\n{MARK}"),
    ] {
        read_plan(&read).unwrap();
    }
    for (wrong, why) in [
        ("\"A-B\" = 1", "no name of an environment variable"),
        ("TREERING_DIR = \"/\"", "treering sets itself"),
        ("A = true", "`A` is true or false, not a value"),
        ("A = [1]", "`A` is an array, not a value"),
        ("A = \"one\\ntwo\"", "write a text on one line"),
    ] {
        let error = refused(&format!("{TWO}env = {{ {wrong} }}\n{command}"));
        assert!(error.contains(why), "{error}");
    }
}
