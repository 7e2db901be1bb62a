//! Profiles: files and their operations, read from TOML. The built-in profiles are the files of the
//! folder `profiles` of this crate.
//!
//! `generator` draws the operations of a profile.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use treering_model::harmless;
use treering_model::nearest::suggestion;
use treering_script::{ConfigError, Settings};

use super::likeness::classes::{ClassText, TreeClasses};
use super::likeness::directories::DirectoryTree;
use super::maintenance::plan::{MaintenancePlan, MaintenanceText};
use super::sizes::{ProfileError, SizeDistribution, SizeText, counted, share};
use super::source_tree::SourceTree;

/// Largest accepted profile, in bytes.
const TEXT_BYTES_MAX: u64 = 1 << 20;
/// Largest accepted number of populations, and of operations.
const PARTS_MAX: usize = 100;
/// Largest accepted count of files.
const COUNT_MAX: u64 = 50_000_000;
/// Largest accepted number of directories of a population.
const DIRECTORIES_MAX: u64 = 10_000_000;
/// Largest accepted weight or number of operations.
const NUMBER_MAX: u64 = 1_000_000_000;

macro_rules! profile {
    ($name:literal) => {
        ($name, include_str!(concat!("../profiles/", $name, ".toml")))
    };
}

/// Names and texts of the built-in profiles.
static ALL: [(&str, &str); 9] = [
    profile!("kernel-tree"),
    profile!("source-history"),
    profile!("mail"),
    profile!("database"),
    profile!("container"),
    profile!("round-robin"),
    profile!("shuffled"),
    profile!("shuffled-clone"),
    profile!("size-age-depth"),
];

/// Names of the built-in profiles, each with its summary.
pub fn profiles() -> impl Iterator<Item = (&'static str, String)> {
    ALL.iter().map(|(name, text)| (*name, about(text)))
}

/// Text of a built-in profile.
pub fn profile_text(name: &str) -> Option<&'static str> {
    ALL.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Checks that a text is a profile; `name` is its name in errors.
///
/// # Errors
/// When it is none: the message says where and why.
pub fn check_profile(name: &str, text: &str) -> Result<(), ConfigError> {
    read(name, text).map(drop)
}

fn about(text: &str) -> String {
    toml::from_str::<ProfileText>(text).map(|profile| profile.about).unwrap_or_default()
}

/// A profile as in its TOML file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ProfileText {
    about: String,
    #[serde(default)]
    #[expect(dead_code, reason = "for readers of the file: where its numbers come from")]
    source: String,
    #[serde(default)]
    workload: Option<String>,
    #[serde(default)]
    options: std::collections::BTreeMap<String, String>,
    #[serde(default = "default_measure_every")]
    measure_every: u64,
    #[serde(default)]
    sync_every: Option<u64>,
    #[serde(default)]
    remount_every: Option<u64>,
    #[serde(default)]
    read_after_remount: bool,
    #[serde(default)]
    hold_full: Option<String>,
    #[serde(default)]
    files: Vec<FilesText>,
    #[serde(default)]
    operation: Vec<OperationText>,
    #[serde(default)]
    maintenance: Vec<MaintenanceText>,
}

const fn default_measure_every() -> u64 {
    1000
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct FilesText {
    name: String,
    #[serde(default)]
    size: Option<SizeText>,
    #[serde(default)]
    dataset: Option<String>,
    #[serde(default)]
    count: Option<u64>,
    #[serde(default)]
    share: Option<String>,
    #[serde(default)]
    tree: Option<Vec<ClassText>>,
    #[serde(default = "one")]
    directories: u64,
    #[serde(default)]
    fan_out: Option<u64>,
    #[serde(default)]
    unit: Option<UnitText>,
    #[serde(default)]
    shuffled: Option<String>,
}

const fn one() -> u64 {
    1
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct UnitText {
    least: u64,
    most: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct OperationText {
    files: String,
    #[serde(rename = "do")]
    kind: OperationKind,
    #[serde(default = "one")]
    weight: u64,
    #[serde(default)]
    choose: FileChoice,
    #[serde(default)]
    bytes: Option<SizeText>,
    #[serde(default)]
    inputs: Option<u64>,
    #[serde(default)]
    fsync: bool,
}

/// Kind of operation on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum OperationKind {
    /// Creates a file, or a directory of files where the population has units.
    Create,
    /// Writes at the end of a file.
    Append,
    /// Writes in place, at a random block.
    Overwrite,
    /// Truncates the file to zero and writes it again.
    Rewrite,
    /// Writes a new file and renames it over the old one.
    Replace,
    /// Moves the file to another directory.
    Rename,
    /// Deletes the file.
    Delete,
    /// Deletes several files after writing one of their total size.
    Compact,
    /// Creates a file with the content of another.
    Copy,
    /// Creates a file that shares the blocks of another.
    Reflink,
    /// Punches a hole at a random block.
    Punch,
}

impl OperationKind {
    /// True for operations that depend on file data and not only on sizes.
    const fn needs_data(self) -> bool {
        matches!(self, Self::Copy | Self::Reflink | Self::Punch)
    }
}

/// Choice of a file in a population.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FileChoice {
    /// Uniform random choice.
    #[default]
    Random,
    /// The oldest file.
    Oldest,
    /// The newest file.
    Newest,
    /// Any file of a `tree`, with a chance inverse to its age.
    ByAge,
    /// Files in turn.
    Turn,
}

/// Initial size of a population.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum InitialSize {
    /// Number of files.
    Count(u64),
    /// Target fraction of the live bytes; creates and deletes are balanced to hold it.
    Share(f64),
}

/// A population: files of one kind.
#[derive(Clone, Debug)]
pub(super) struct FilesPlan {
    pub(super) name: String,
    pub(super) sizes: SizeDistribution,
    pub(super) amount: InitialSize,
    pub(super) directories: u64,
    /// Subdirectories per directory; 0 for a flat layout.
    pub(super) fan_out: u64,
    /// Least and largest number of files in a unit, a directory that is made and removed as a
    /// whole.
    pub(super) unit: Option<(u64, u64)>,
    /// Fraction of the files that is created in random order.
    pub(super) shuffled: f64,
    /// Directories and ages of a tree on disk.
    pub(super) classes: Option<TreeClasses>,
    /// Directories made from the classes, for the bytes of a run.
    pub(super) layout: Option<Arc<DirectoryTree>>,
    /// Name of the data set that lists the files.
    pub(super) dataset: Option<String>,
    /// Files of the data set, once it is loaded.
    pub(super) tree: Option<Arc<SourceTree>>,
}

/// Kind of operation with its weight and parameters.
#[derive(Clone, Debug)]
pub(super) struct OperationPlan {
    /// Index of the population.
    pub(super) files: usize,
    pub(super) kind: OperationKind,
    pub(super) weight: u64,
    pub(super) choose: FileChoice,
    /// Sizes of appends, overwrites and rewrites.
    pub(super) bytes: SizeDistribution,
    /// Number of files compacted into one.
    pub(super) inputs: u64,
    pub(super) fsync: bool,
}

/// A parsed profile.
#[derive(Clone, Debug)]
pub(super) enum Profile {
    /// Runs another workload of treering with these options.
    Workload { name: String, options: Vec<(String, String)> },
    /// Runs operations drawn by the generator.
    Model(Model),
}

/// Populations and their operations.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) files: Vec<FilesPlan>,
    pub(super) operations: Vec<OperationPlan>,
    /// Operations between two measurements of the layout.
    pub(super) measure_every: u64,
    /// Operations between two syncs of the filesystem.
    pub(super) sync_every: u64,
    /// Operations between two remounts of the filesystem; a multiple of `measure_every`.
    pub(super) remount_every: Option<u64>,
    /// True if all files are read after each remount.
    pub(super) read_after_remount: bool,
    /// Used share of the filesystem that the populations with a share keep.
    pub(super) hold_full: Option<f64>,
    pub(super) maintenance: Vec<MaintenancePlan>,
}

impl Model {
    /// Refuses bytes with which a tree like one on disk would be larger than what a run makes.
    pub(super) fn refuse_too_many_files(&self, live_bytes: u64) -> Result<(), ConfigError> {
        self.files.iter().try_for_each(|plan| {
            let bytes = plan.amount.target_bytes(live_bytes);
            let classes = plan.classes.as_ref();
            classes.map_or(Ok(()), |classes| classes.refuse_too_many(bytes, plan.sizes.mean()))
        })
    }

    /// True if some operation is of this kind.
    pub(super) fn does(&self, kind: OperationKind) -> bool {
        self.operations.iter().any(|plan| plan.kind == kind)
    }

    /// True if files must be written and not only allocated.
    pub(super) fn needs_data(&self) -> bool {
        !self.maintenance.is_empty() || self.operations.iter().any(|plan| plan.kind.needs_data())
    }

    /// Reports whether files of a population can be deleted one by one.
    pub(super) fn deletes(&self, files: usize) -> bool {
        let kind = OperationKind::Delete;
        self.operations.iter().any(|plan| plan.files == files && plan.kind == kind)
    }

    /// Reports whether the filesystem can be kept at a level: a population with a share both
    /// creates and deletes.
    pub(super) fn can_hold(&self) -> bool {
        let creates = |files: usize| {
            let kind = OperationKind::Create;
            self.operations.iter().any(|plan| plan.files == files && plan.kind == kind)
        };
        let is_shared = |files: &usize| matches!(self.files[*files].amount, InitialSize::Share(_));
        (0..self.files.len()).filter(is_shared).any(|files| self.deletes(files) && creates(files))
    }
}

/// Reads the profile of a name, or of a file.
pub(super) fn load(name: &str, settings: &Settings) -> Result<Profile, ConfigError> {
    let is_file = name.contains('/') || Path::new(name).extension().is_some();
    if !is_file {
        let text = profile_text(name).ok_or_else(|| {
            let known: Vec<&str> = profiles().map(|(name, _)| name).collect();
            let known = suggestion(name, &known, "profiles");
            ConfigError::new(format!("--profile: there is no profile '{name}'"))
                .hint(format!("{known}; or give the path of a TOML file"))
        })?;
        return read(name, text);
    }
    let path = settings.file(name);
    let text = settings.files.read(&path, TEXT_BYTES_MAX + 1);
    let text = text.map_err(|error| ConfigError::new(format!("{}: {error}", path.display())))?;
    let text = String::from_utf8(text).ok().filter(|text| text.len() as u64 <= TEXT_BYTES_MAX);
    let text = text.ok_or_else(|| {
        ConfigError::new(format!("{}: not a text of up to 1 MiB", path.display()))
    })?;
    read(name, &text)
}

/// Parses a profile; `name` is its name in messages.
pub(super) fn read(name: &str, text: &str) -> Result<Profile, ConfigError> {
    let wrong = |message: String| {
        ConfigError::new(format!("{name}: {}", harmless(message.trim_end())))
            .hint("`treering age show mail` prints a complete profile")
    };
    let written: ProfileText = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
    if let Some(workload) = written.workload {
        let parts = [written.files.len(), written.operation.len(), written.maintenance.len()];
        if parts.iter().any(|count| *count > 0) {
            let message = "`workload` excludes [[files]], [[operation]] and [[maintenance]]";
            return Err(wrong(message.into()));
        }
        let options = written.options.into_iter().collect();
        return Ok(Profile::Workload { name: workload, options });
    }
    model(written).map(Profile::Model).map_err(|ProfileError(message)| wrong(message))
}

fn model(written: ProfileText) -> Result<Model, ProfileError> {
    if !written.options.is_empty() {
        return Err(ProfileError("[options] needs `workload`".into()));
    }
    if written.files.is_empty() {
        return Err(ProfileError("there is no [[files]]".into()));
    }
    let parts = [written.files.len(), written.operation.len(), written.maintenance.len()];
    if parts.iter().any(|count| *count > PARTS_MAX) {
        let message = format!("more than {PARTS_MAX} [[files]], [[operation]] or [[maintenance]]");
        return Err(ProfileError(message));
    }
    let files: Vec<FilesPlan> = written.files.iter().map(files_plan).collect::<Result<_, _>>()?;
    for (place, plan) in files.iter().enumerate() {
        if files[..place].iter().any(|other| other.name == plan.name) {
            return Err(ProfileError(format!("[[files]] '{}' is there twice", plan.name)));
        }
    }
    let shares: f64 = files.iter().map(|plan| plan.amount.share()).sum();
    if shares > 1.000_001 {
        return Err(ProfileError(format!("the shares are {:.0}% together", shares * 100.0)));
    }
    let operations =
        written.operation.iter().map(|operation_text| operation_plan(operation_text, &files));
    let operations: Vec<OperationPlan> = operations.collect::<Result<_, _>>()?;
    let measure_every = counted("measure-every", written.measure_every, 1..=NUMBER_MAX)?;
    let sync_every = written.sync_every.unwrap_or(measure_every);
    let sync_every = counted("sync-every", sync_every, 1..=NUMBER_MAX)?;
    let remount_every = written.remount_every;
    let remount_every =
        remount_every.map(|every| counted("remount-every", every, 1..=NUMBER_MAX)).transpose()?;
    let read_after_remount = written.read_after_remount;
    let hold_full = written.hold_full.as_deref().map(|text| share("hold-full", text));
    let hold_full = hold_full.transpose()?;
    let names: Vec<&str> = files.iter().map(|plan| plan.name.as_str()).collect();
    let maintenance = MaintenancePlan::read_all(&written.maintenance, &names)?;
    if !maintenance.is_empty() && operations.is_empty() {
        return Err(ProfileError("[[maintenance]] needs an [[operation]]".into()));
    }
    let model = Model {
        files,
        operations,
        measure_every,
        sync_every,
        remount_every,
        read_after_remount,
        hold_full,
        maintenance,
    };
    Ok(model)
}

impl FilesPlan {
    /// Number of files of a tree like one on disk; 0 for other populations.
    pub(super) fn tree_files(&self) -> usize {
        self.layout.as_ref().map_or(0, |layout| layout.births().len())
    }
}

impl InitialSize {
    const fn share(self) -> f64 {
        match self {
            Self::Count(_) => 0.0,
            Self::Share(share) => share,
        }
    }

    /// Target bytes of a population; 0 for a count.
    pub(super) fn target_bytes(self, live_bytes: u64) -> u64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a number is not above it"
        )]
        let bytes = (live_bytes as f64 * self.share()).round() as u64;
        bytes
    }
}

fn files_plan(written: &FilesText) -> Result<FilesPlan, ProfileError> {
    let name = written.name.clone();
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() || name.len() > 40 || !name.bytes().all(is_plain) {
        return Err(ProfileError(format!(
            "'{name}' is not a name of up to 40 small letters, digits and '-'"
        )));
    }
    let within = |ProfileError(message)| ProfileError(format!("[[files]] '{name}': {message}"));
    if let Some(dataset) = &written.dataset {
        return dataset_plan(name.clone(), dataset, written).map_err(within);
    }
    let amount = match (written.count, &written.share) {
        (Some(count), None) => {
            InitialSize::Count(counted("count", count, 0..=COUNT_MAX).map_err(within)?)
        }
        (None, Some(text)) => InitialSize::Share(share("share", text).map_err(within)?),
        _ => return Err(within(ProfileError("give either `count` or `share`".into()))),
    };
    let unit = written.unit.as_ref().map(|unit| (unit.least, unit.most));
    if unit.is_some_and(|(least, most)| least == 0 || least > most || most > 100_000) {
        return Err(within(ProfileError("unit: not 1 <= least <= most <= 100000".into())));
    }
    let size =
        written.size.as_ref().ok_or_else(|| within(ProfileError("`size` is missing".into())))?;
    let sizes = SizeDistribution::read(size).map_err(within)?;
    if matches!(amount, InitialSize::Share(_)) && sizes.mean() == 0 {
        return Err(within(ProfileError("empty files have no share of the bytes".into())));
    }
    let classes = written.tree.as_ref().map(|rows| TreeClasses::read(rows)).transpose();
    let classes = classes.map_err(within)?;
    let is_shared = matches!(amount, InitialSize::Share(_)) && unit.is_none();
    let is_even = written.fan_out.is_none() && written.directories == 1;
    if classes.is_some() && !(is_shared && is_even) {
        let message = "`tree` says where files are and how many: beside it only `share`, `size` \
                       and `shuffled`";
        return Err(within(ProfileError(message.into())));
    }
    let fan_out = written.fan_out.map(|number| counted("fan-out", number, 2..=100_000));
    let shuffled = written.shuffled.as_deref().map(|text| share("shuffled", text));
    let directories = counted("directories", written.directories, 1..=DIRECTORIES_MAX);
    Ok(FilesPlan {
        sizes,
        amount,
        directories: directories.map_err(within)?,
        fan_out: fan_out.transpose().map_err(within)?.unwrap_or(0),
        unit,
        shuffled: shuffled.transpose().map_err(within)?.unwrap_or(0.0),
        classes,
        layout: None,
        dataset: None,
        tree: None,
        name,
    })
}

/// Population of the files of a data set, or of a number of files with its paths and sizes.
fn dataset_plan(
    name: String,
    dataset: &str,
    written: &FilesText,
) -> Result<FilesPlan, ProfileError> {
    let excluded = written.size.is_some()
        || written.share.is_some()
        || written.unit.is_some()
        || written.fan_out.is_some()
        || written.tree.is_some()
        || written.directories != 1;
    if excluded {
        return Err(ProfileError(
            "`dataset` says where files are and how large: beside it only `count` \
                          and `shuffled`"
                .into(),
        ));
    }
    let shuffled = written.shuffled.as_deref().map(|text| share("shuffled", text));
    Ok(FilesPlan {
        name,
        sizes: SizeDistribution::Always(0),
        amount: InitialSize::Count(counted(
            "count",
            written.count.unwrap_or(COUNT_MAX),
            1..=COUNT_MAX,
        )?),
        directories: 0,
        fan_out: 0,
        unit: None,
        shuffled: shuffled.transpose()?.unwrap_or(0.0),
        classes: None,
        layout: None,
        dataset: Some(dataset.to_owned()),
        tree: None,
    })
}

fn operation_plan(
    written: &OperationText,
    files: &[FilesPlan],
) -> Result<OperationPlan, ProfileError> {
    let position = files.iter().position(|plan| plan.name == written.files);
    let place = position.ok_or_else(|| {
        ProfileError(format!("[[operation]]: there is no [[files]] named '{}'", written.files))
    })?;
    let plan = &files[place];
    let within = |message: &str| {
        ProfileError(format!("[[operation]] {:?} of '{}': {message}", written.kind, plan.name))
    };
    if plan.dataset.is_some() {
        return Err(within("files of a data set are created and then left alone"));
    }
    if plan.unit.is_some() && !matches!(written.kind, OperationKind::Create | OperationKind::Delete)
    {
        return Err(within("a unit is only created and deleted"));
    }
    if written.choose == FileChoice::ByAge && plan.classes.is_none() {
        return Err(within("`by-age` needs a `tree` in [[files]]"));
    }
    if written.bytes.is_none()
        && matches!(
            written.kind,
            OperationKind::Append | OperationKind::Overwrite | OperationKind::Punch
        )
    {
        return Err(within("`bytes` is missing"));
    }
    let inputs = written.inputs.unwrap_or(4);
    let about = |ProfileError(message): ProfileError| within(&message);
    Ok(OperationPlan {
        files: place,
        kind: written.kind,
        weight: counted("weight", written.weight, 1..=NUMBER_MAX).map_err(about)?,
        choose: written.choose,
        bytes: written
            .bytes
            .as_ref()
            .map_or(Ok(plan.sizes.clone()), SizeDistribution::read)
            .map_err(about)?,
        inputs: counted("inputs", inputs, 2..=1000).map_err(about)?,
        fsync: written.fsync,
    })
}

#[cfg(test)]
mod tests {
    use super::{ALL, Profile, profiles, read};

    #[test]
    fn shipped_profiles_parse_and_have_a_description() {
        for (name, text) in ALL {
            read(name, text).unwrap();
            assert!(text.contains("\nsource = "), "{name}");
        }
        assert!(profiles().all(|(_, about)| !about.is_empty()));
    }

    #[test]
    fn errors_in_a_profile_name_their_place() {
        for (text, wanted) in [
            ("about = \"x\"", "no [[files]]"),
            ("about = 3", "line 1"),
            ("[[files]]\nname = \"../x\"\nsize = \"1\"\ncount = 1\nabout=\"\"", "unknown field"),
            (&files("name = \"../x\"\nsize = \"1\"\ncount = 1"), "small letters"),
            (&files("name = \"x\"\nsize = \"1\""), "either `count` or `share`"),
            (&files("name = \"x\"\nsize = \"huge\"\ncount = 1"), "'huge' is not a size"),
            (&files("name = \"x\"\nsize = \"1k\"\nshare = \"101%\""), "not a percentage"),
            (&files("name = \"x\"\nsize = \"1k\"\ncount = 999999999999"), "count"),
            (&operation("files = \"y\"\ndo = \"create\""), "named 'y'"),
            (&operation("files = \"x\"\ndo = \"append\""), "`bytes` is missing"),
            (&operation("files = \"x\"\ndo = \"explode\""), "explode"),
            (&operation("files = \"x\"\ndo = \"create\"\nweight = 0"), "weight"),
            (&operation("files = \"x\"\ndo = \"punch\""), "`bytes` is missing"),
            (&maintenance("do = \"polish\""), "polish"),
            (&maintenance("do = \"snapshot\""), "`keep` is missing"),
            (&maintenance("do = \"trim\"\nkeep = 2"), "`keep`"),
            (&maintenance("do = \"trim\"\nusage = 50"), "`usage` is for balance"),
            (&maintenance("do = \"balance\"\nusage = 101"), "usage: 101 is not"),
            (&maintenance("do = \"trim\"\nshare = \"5%\""), "`share`"),
            (&maintenance("do = \"read\"\nreads = true"), "`reads`"),
            (&maintenance("do = \"defrag\"\nfiles = \"y\""), "named 'y'"),
            (&maintenance("do = \"trim\"\nevery = 0"), "every"),
            (&maintenance("do = \"trim\"\n[[maintenance]]\ndo = \"trim\""), "twice"),
        ] {
            let error = read("it", text).unwrap_err();
            assert!(error.message.contains(wanted), "{text}: {}", error.message);
        }
        let text = operation("files = \"x\"\ndo = \"create\"");
        assert!(matches!(read("it", &text), Ok(Profile::Model(_))));
    }

    fn files(tail: &str) -> String {
        format!("about = \"x\"\n[[files]]\n{tail}\n")
    }

    fn maintenance(tail: &str) -> String {
        let operation = operation("files = \"x\"\ndo = \"create\"");
        format!("{operation}[[maintenance]]\n{tail}\n")
    }

    fn operation(tail: &str) -> String {
        let files = files("name = \"x\"\nsize = \"1k\"\ncount = 1");
        format!("{files}[[operation]]\n{tail}\n")
    }
}
