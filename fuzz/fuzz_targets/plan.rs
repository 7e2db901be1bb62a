//! A plan as a TOML document, from somebody else: a plan that is written down and read again is the
//! same plan, or an error that can be shown.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;
use treering_compilebench::Compilebench;
use treering_conduct::plan::document::{Known, read};
use treering_fuzz::{folder, write_lists};
use treering_script::{ClassicMode, ConfigError, Job, Settings, Workload, WorkloadManifest};

const LISTS: [&[u8]; 4] =
    [b"a/b 1048576\n", b"a/b 1048577\n", b"a/b 1048576\na/b.o 9\n", b"a/b 1048577\na/b.o 9\n"];
const FILESYSTEMS: [&str; 7] = ["ext4", "ext3", "ext2", "xfs", "btrfs", "f2fs", "tmpfs"];

/// compilebench with one small data set, whatever the plan names: files are another target's.
struct Small;

impl Workload for Small {
    fn manifest(&self) -> &'static WorkloadManifest {
        Compilebench.manifest()
    }

    fn classic(&self, settings: &Settings) -> Result<Box<dyn Job>, ConfigError> {
        self.native(settings)
    }

    fn classic_mode(&self, settings: &Settings) -> Result<ClassicMode, ConfigError> {
        Compilebench.classic_mode(settings)
    }

    fn native(&self, settings: &Settings) -> Result<Box<dyn Job>, ConfigError> {
        static LISTS_FOLDER: OnceLock<TempDir> = OnceLock::new();
        let folder = LISTS_FOLDER.get_or_init(|| {
            let folder = folder();
            write_lists(folder.path(), LISTS);
            folder
        });
        let names = self.manifest().native.iter().map(|spec| spec.name);
        let given =
            names.filter_map(|name| Some((name.to_owned(), settings.text(name)?.to_owned())));
        let dataset = ("dataset".to_owned(), folder.path().display().to_string());
        // The last of several counts.
        Compilebench.native(&Settings::new(given.chain([dataset]).collect()))
    }
}

fuzz_target!(|text: &str| {
    let known = Known { workloads: &[&Small], filesystems: &FILESYSTEMS, ..Known::default() };
    match read(text, "plan.toml", &known) {
        Ok(plan) => {
            let written = plan.to_toml();
            let again = read(&written, "again.toml", &known).expect("what we write, we read");
            assert_eq!(again.digest(), plan.digest(), "{written}");
            assert_eq!(again.to_toml(), written);
        }
        Err(error) => {
            let shown = error.to_string();
            assert!(shown.starts_with("error: ") && shown.len() < 100_000);
            assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{shown:?}");
        }
    }
});
