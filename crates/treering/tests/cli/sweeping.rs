//! Sweeps: every combination runs in every round, and `treering sweep` shows the curves.

use std::fs;
use std::path::Path;

use treering_testkit::temp_dir_in;

use crate::program;

#[test]
fn a_sweep_runs_every_combination_and_is_shown_with_its_curve() {
    let program = program();
    let dir = program.home().join("w");
    fs::create_dir(&dir).unwrap();
    let results = temp_dir_in(Path::new("/dev/shm"));
    let store = results.path().join("r.treering");
    let store = store.to_str().unwrap();
    let plan = format!(
        "name = \"sizes\"\nrounds = 3\nwarm-up = false\n[[variant]]\nname = \"dir\"\n\
         device = {{ directory = \"{}\" }}\n[[job]]\nname = \"make\"\nworkload = \"fs_mark\"\n\
         sweep = {{ files = \"10..160x2\", size = [0, \"1K\"] }}\n",
        dir.display()
    );
    fs::write(program.home().join("sizes.toml"), plan).unwrap();
    let none = program.run(["sweep", "--store", store]);
    none.ends_with(2);
    let words = ["compare", "sizes.toml", "--quiet", "--store", store];
    program.run(words).ends_with(0);
    let page = program.run(["sweep", "--store", store, "--format", "csv"]).ends_with(0).stdout;
    for files in [10, 20, 40, 80, 160] {
        for size in ["0", "1K"] {
            let row = page.lines().find(|line| line.starts_with(&format!("sweep,{files},{size},")));
            assert!(row.is_some_and(|row| row.ends_with(",3")), "{files} {size}: {page}");
        }
    }
    let page = program.run(["sweep", "--store", store]).ends_with(0).stdout;
    assert!(page.contains("in percent of the best"), "{page}");
    assert!(page.contains("size=1K"), "the knee of each curve or that there is none: {page}");
    let html = program.run(["sweep", "--store", store, "--format", "html"]).ends_with(0).stdout;
    assert!(html.contains("<svg"), "curves");
    let metric = ["sweep", "--store", store, "--metric", "no_such"];
    program.run(metric).ends_with(2).complains("no_such");
    let plan = ["sweep", "--store", store, "--plan", "other"];
    program.run(plan).ends_with(2).complains("other");
}
