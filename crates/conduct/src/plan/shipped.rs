//! Plans embedded in the program: those of `examples/plans`, with their job files.
//!
//! Each plan is a file in `examples/plans` and a line here. Its head, the comment at the top,
//! states the duration; docs/questions.md has a row for each plan.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::de::DeTable;
use treering_model::filesystems::by_name;
use treering_model::nearest::{by_nearness, nearest};

use super::Plan;
use super::document::{Known, read};
use super::file::unusable;
use crate::failure::Failure;

/// Virtual directory of the plans, against which their paths are resolved; it does not exist on
/// disk.
pub const SHIPPED_PLANS_DIR: &str = "/treering-shipped/plans";
/// Directory of the plans and of their job files, which exists in the program only.
const SHIPPED_DIR: &str = "/treering-shipped";
/// Prefix of the head's line with the duration of the plan in minutes.
const MINUTES_PREFIX: &str = "# Minutes: ";
/// Maximum number of names in a hint.
const NAMES_SHOWN: usize = 3;

/// A plan embedded in the program.
#[derive(Debug)]
pub struct ShippedPlan {
    /// Name on the command line.
    pub name: &'static str,
    /// The TOML document.
    pub text: &'static str,
    /// Job files and profiles that the plan names: paths relative to `examples`, and texts.
    files: &'static [(&'static str, &'static str)],
}

macro_rules! shipped {
    ($file:expr) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/shipped/", $file))
    };
}

macro_rules! plans {
    ($($name:literal $(: $($file:literal),+)?;)+) => {
        &[$(ShippedPlan {
            name: $name,
            text: shipped!(concat!("plans/", $name, ".toml")),
            files: &[$($(($file, shipped!($file))),+)?],
        }),+]
    };
}

static ALL: &[ShippedPlan] = plans! {
    "filesystems";
    "mail-server": "ffsb/mail-server-small.ffsb";
    "file-server";
    "dpkg";
    "fsync-when-full";
    "sqlite-nodatacow": "fio/sqlite-transactions.fio";
    "postgres-cow";
    "dirty-limit": "fio/stalls.fio";
    "rm-many-files";
    "large-directory";
    "database-fragmentation": "fio/database-file.fio";
    "overlay-copy-up";
    "tar";
    "fast-commit";
    "discard";
    "quotas";
    "zstd-levels": "fio/compressible.fio";
    "autodefrag";
    "xfs-features";
    "log-preallocation": "fio/growing-logs.fio";
    "noatime";
    "dm-crypt-workqueues": "fio/small-direct.fio";
    "raid5-stripe-cache": "fio/sequential-and-small-writes.fio";
    "raid5-chunks": "fio/sequential-and-small-writes.fio";
    "raid1-reads": "fio/streams.fio";
    "bcache-modes";
    "ext4-made-otherwise";
    "feature-as-mount-option";
    "allocator";
    "ages";
    "defrag": "age/left.toml", "age/defragmented.toml";
    "btrfs-four-devices";
    "ext3-against-btrfs";
    "directories";
    "webproxy-2018";
    "threads";
    "fio-depth": "fio/random-read.fio";
    "buffered-queue": "fio/queued-reads.fio";
    "io-engines": "fio/read-ahead-engines.fio";
    "clients";
    "kernels";
    "kernel-regression": "fio/buffered-writes.fio";
    "report-2012": "ffsb/everything-2012.ffsb", "fio/report-2012.fio";
    "report-2018": "fio/report-2018-randrw.fio", "fio/report-2018-seqw.fio";
    "watch";
    "demo";
};

impl ShippedPlan {
    /// All plans, in the order of the list.
    pub fn all() -> &'static [Self] {
        ALL
    }

    /// Plan with this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|plan| plan.name == name)
    }

    /// Plan with this name.
    ///
    /// # Errors
    /// When there is no such plan; the hint has the most similar names.
    pub fn named(name: &str) -> Result<&'static Self, Failure> {
        Self::find(name).ok_or_else(|| {
            let message = format!("no plan inside the program is called '{name}'");
            Failure::usage(message).hint(nearest_plans(name))
        })
    }

    /// Question of the plan.
    pub fn question(&self) -> String {
        plan_question(self.text).unwrap_or_default()
    }

    /// Duration of the plan on two CPUs in minutes, from its head.
    pub fn minutes(&self) -> &'static str {
        self.text.lines().find_map(|line| line.strip_prefix(MINUTES_PREFIX)).unwrap_or_default()
    }

    /// Job files of the plan: resolved paths, and texts.
    fn files(&self) -> impl Iterator<Item = (PathBuf, &'static str)> {
        let path = |file: &str| Path::new(SHIPPED_PLANS_DIR).join("..").join(file);
        self.files.iter().map(move |(file, text)| (path(file), *text))
    }

    /// Reads the plan. A fault is rendered with its line, with colours if `in_colour`.
    ///
    /// # Errors
    /// When the plan needs a file of the user that is missing.
    pub fn read(&self, known: Known<'_>, in_colour: bool) -> Result<Plan, Failure> {
        let known = Known {
            base_dir: Some(SHIPPED_PLANS_DIR.into()),
            files: self.files().collect(),
            ..known
        };
        let name = format!("{}.toml", self.name);
        read(self.text, &name, &known).map_err(|error| unusable(&error, in_colour))
    }
}

/// Path, or command line, in which the names of shipped files contain no `..`.
pub(crate) fn plain_names(text: &str) -> String {
    text.replace(&format!("{SHIPPED_PLANS_DIR}/../"), &format!("{SHIPPED_DIR}/"))
}

fn without_parents(path: &Path) -> PathBuf {
    plain_names(&path.to_string_lossy()).into()
}

/// Job files of all plans by their paths, as plans and as commands name them, for commands that
/// repeat a single trial.
pub fn shipped_files() -> BTreeMap<PathBuf, &'static str> {
    let both =
        |(path, text): (PathBuf, &'static str)| [(without_parents(&path), text), (path, text)];
    ALL.iter().flat_map(ShippedPlan::files).flat_map(both).collect()
}

/// Question of a plan's document, if the document has one.
pub fn plan_question(document: &str) -> Option<String> {
    let document = DeTable::parse(document).ok()?;
    Some(document.get_ref().get("question")?.get_ref().as_str()?.to_owned())
}

/// Lines of the list of plans: name, minutes and question.
pub fn shipped_plan_lines() -> Vec<String> {
    let width = ALL.iter().map(|plan| plan.name.len()).max().unwrap_or_default();
    let line = |plan: &ShippedPlan| {
        format!("{:width$}  {:>3} min  {}", plan.name, plan.minutes(), plan.question())
    };
    ALL.iter().map(line).collect()
}

/// True if the names are alike in a word, or as a whole.
fn is_like(plan: &str, name: &str) -> bool {
    let is_near = |own: &str, word: &str| word.len() > 2 && nearest(word, [own]).is_some();
    let mut words = name.split('-');
    is_near(plan, name) || words.any(|word| plan.split('-').any(|own| is_near(own, word)))
}

/// Hint with the plans of the most similar names, or with the option for names of filesystems.
fn nearest_plans(name: &str) -> String {
    if name.split(',').all(|one| by_name(one).is_some()) {
        let others = if name.contains(',') { "" } else { ",OTHER" };
        return format!("filesystems go with --filesystems: `--filesystems {name}{others}`");
    }
    if Path::new(name).is_dir() {
        return "this is a directory: several are compared with --directories DIR,DIR".to_owned();
    }
    let all = || ALL.iter().map(|plan| plan.name);
    let mut names: Vec<&str> = by_nearness(name, all());
    names.retain(|plan| is_like(plan, name));
    names.truncate(NAMES_SHOWN);
    match names.as_slice() {
        [] => "`treering plan list` lists all".to_owned(),
        names => format!("did you mean {}? `treering plan list` lists all", names.join(" or ")),
    }
}
