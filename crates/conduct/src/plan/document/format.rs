//! Format of plan documents: each section with its keys and their types. docs/plan.md describes
//! their meaning.
//!
//! A new key needs a field here, a row in docs/plan.md, a line in `write.rs`, and code in the file
//! of its section, which also checks rules that involve two keys. `values.rs` defines the values
//! that a type accepts.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use treering_engine::HANDICAP_PERCENT_MAX;
use treering_model::nearest::nearest;
use treering_model::{Accelerator, AgedTree, GuestDisk};
use treering_script::Workload;

use super::tree::{Entry, Key, Placed, Script, Value, ValueError};
use super::values::{
    AbsolutePath, AgeInOperations, BlockDevices, CacheModeName, Choice, CipherName, Command,
    ComparedRounds, Datum, DirectoryName, DiskName, FilesystemName, ImageName, JobName,
    KernelFunction, KernelName, MetricName, Name, Number, OneOrMany, ParameterName, PayloadName,
    Percentage, ProgramPath, RankCount, Rate, Size, StoppingRule, VariantName, WholeNumber,
    WorkloadName,
};
use crate::plan::error::{Fault, quoted};
use crate::plan::{Machine, ObservedIn, TimedCalls};

/// Keys above the first section.
#[derive(Debug, Deserialize)]
#[serde(rename = "the plan itself", rename_all = "kebab-case")]
pub(super) struct PlanTable {
    pub(super) name: Key<Name>,
    pub(super) question: Key<String>,
    pub(super) rounds: Key<WholeNumber<1, 10_000>>,
    pub(super) seed: Key<WholeNumber<0, { u64::MAX }>>,
    pub(super) warm_up: Key<bool>,
    pub(super) phase_seconds: Key<WholeNumber<0, 3600>>,
    pub(super) control: Key<bool>,
    pub(super) remount: Key<bool>,
    pub(super) settle_seconds: Key<Number<0, 8_640_000>>,
    pub(super) machine: Key<Choice<Machine>>,
    pub(super) build: Key<Script>,
    pub(super) baseline: Key<VariantName>,
    pub(super) ranks: Key<RankCount>,
    pub(super) launcher: Key<OneOrMany<String>>,
    pub(super) mpi_program: Key<ProgramPath>,
    pub(super) rank_timeout: Key<WholeNumber<1, 86_400>>,
    pub(super) stopping: Key<StoppingTable>,
    pub(super) device: Key<DeviceTable>,
    pub(super) disk: Key<DiskName>,
    pub(super) guest: Key<GuestTable>,
    pub(super) aging: Key<AgingTable>,
    pub(super) variant: Key<VariantTables>,
    pub(super) job: Key<JobTables>,
    pub(super) step: Key<JobTables>,
    pub(super) observe: Key<ObserveTable>,
    pub(super) report: Key<ReportTable>,
}

/// Stopping rule; each rule uses some of the keys.
#[derive(Debug, Deserialize)]
#[serde(rename = "[stopping]", rename_all = "kebab-case")]
pub(super) struct StoppingTable {
    pub(super) rule: Key<Choice<StoppingRule>>,
    pub(super) rounds: Key<WholeNumber<1, 10_000>>,
    pub(super) half_width: Key<Percentage<1, 10_000>>,
    pub(super) fewest: Key<ComparedRounds>,
    pub(super) most: Key<ComparedRounds>,
    pub(super) looks: Key<Vec<Placed<ComparedRounds>>>,
    pub(super) minutes: Key<Number<1, 1_008_000>>,
}

/// Device; the keys after `directory` belong to `loop`.
#[derive(Debug, Deserialize)]
#[serde(rename = "[device]", rename_all = "kebab-case")]
pub(super) struct DeviceTable {
    /// Size of an image: at least the minimum of the smallest filesystem, at most the maximum file
    /// size of any filesystem.
    pub(super) r#loop: Key<Size<1, { 1 << 36 }>>,
    pub(super) block: Key<BlockDevices>,
    pub(super) directory: Key<AbsolutePath>,
    pub(super) count: Key<WholeNumber<1, 64>>,
    pub(super) sparse: Key<bool>,
    pub(super) direct_io: Key<bool>,
    pub(super) sector_bytes: Key<WholeNumber<512, 4096>>,
    pub(super) images: Key<AbsolutePath>,
    pub(super) disk: Key<DiskName>,
}

/// Aging of the variants; `aging.rs` has given them the ages before they are read.
#[derive(Debug, Deserialize)]
#[serde(rename = "[aging]", rename_all = "kebab-case")]
pub(super) struct AgingTable {
    pub(super) age: Option<Ages>,
    pub(super) copies: Key<bool>,
    pub(super) options: Option<JobOptions>,
}

/// Variant to compare.
#[derive(Debug, Deserialize)]
#[serde(rename = "[[variant]]", rename_all = "kebab-case")]
pub(super) struct VariantTable {
    pub(super) name: Key<Name>,
    pub(super) against: Key<VariantName>,
    pub(super) filesystem: Key<FilesystemName>,
    pub(super) mkfs: Key<OneOrMany<String>>,
    pub(super) mount: Key<OneOrMany<String>>,
    pub(super) image: Key<ImageName>,
    pub(super) age: Key<AgeInOperations>,
    pub(super) tree: Key<Choice<AgedTree>>,
    pub(super) kernel: Key<KernelName>,
    pub(super) guest: Key<GuestTable>,
    pub(super) device: Key<DeviceTable>,
    pub(super) disk: Key<DiskName>,
    pub(super) journal: Key<DeviceTable>,
    pub(super) second_device: Key<DeviceTable>,
    pub(super) handicap: Key<Percentage<0, { 100 * HANDICAP_PERCENT_MAX }>>,
    pub(super) sysctl: Key<SettingTable>,
    pub(super) sysfs: Key<SettingTable>,
    pub(super) env: Key<EnvironmentTable>,
    pub(super) options: Key<VariantOptions>,
    pub(super) limits: Key<LimitTable>,
    pub(super) layers: Key<Layers>,
    pub(super) prepare: Key<Command>,
    pub(super) cleanup: Key<Command>,
    /// Sweep, which `sweep.rs` has expanded before the variant is read.
    #[serde(rename = "sweep")]
    _sweep: Option<IgnoredAny>,
}

/// Limits of a variant's processes.
#[derive(Debug, Deserialize)]
#[serde(rename = "[variant.limits]", rename_all = "kebab-case")]
pub(super) struct LimitTable {
    /// At least 16 MiB: no useful process runs in less.
    pub(super) memory: Key<Size<16, { 1 << 20 }>>,
    pub(super) cpu: Key<Percentage<100, 10_240_000>>,
    pub(super) io_read: Key<Rate>,
    pub(super) io_write: Key<Rate>,
}

/// Layers of a variant, from the device upwards.
#[derive(Debug, Deserialize)]
#[serde(rename = "an array of layers, such as [{ loop = { on = \"xfs\" } }, \"overlay\"]")]
pub(super) struct Layers(pub(super) OneOrMany<LayerForm>);

/// Layer with its options, or its name alone.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename = "a layer such as { loop = { on = \"xfs\" } }", rename_all = "lowercase")]
pub(super) enum LayerForm {
    String(String),
    Table(Box<LayerTable>),
}

/// Layer with its options; exactly one key is present.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename = "a layer", rename_all = "kebab-case")]
pub(super) struct LayerTable {
    pub(super) r#loop: Key<LoopTable>,
    pub(super) crypt: Key<CryptTable>,
    pub(super) thin: Key<ThinTable>,
    pub(super) snapshot: Key<SnapshotTable>,
    pub(super) md: Key<ArrayTable>,
    pub(super) bcache: Key<CacheTable>,
    pub(super) overlay: Key<OverlayTable>,
}

/// Loop device on a file of another filesystem.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename = "{ loop = … }", rename_all = "kebab-case")]
pub(super) struct LoopTable {
    pub(super) on: Key<FilesystemName>,
    pub(super) mkfs: Key<OneOrMany<String>>,
    pub(super) mount: Key<OneOrMany<String>>,
    pub(super) size: Key<Size<1, { 1 << 36 }>>,
    pub(super) sparse: Key<bool>,
    pub(super) direct_io: Key<bool>,
}

/// Encryption by dm-crypt.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename = "{ crypt = … }", rename_all = "kebab-case")]
pub(super) struct CryptTable {
    pub(super) cipher: Key<CipherName>,
    pub(super) key_bits: Key<WholeNumber<64, 1024>>,
    pub(super) sector_bytes: Key<WholeNumber<512, 4096>>,
    pub(super) no_read_workqueue: Key<bool>,
    pub(super) no_write_workqueue: Key<bool>,
    pub(super) same_cpu_crypt: Key<bool>,
    pub(super) submit_from_crypt_cpus: Key<bool>,
    pub(super) allow_discards: Key<bool>,
}

/// Thin volume in a pool.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename = "{ thin = … }", rename_all = "kebab-case")]
pub(super) struct ThinTable {
    pub(super) block_bytes: Key<WholeNumber<65_536, { 1 << 30 }>>,
}

/// Volume with a snapshot.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename = "{ snapshot = … }", rename_all = "kebab-case")]
pub(super) struct SnapshotTable {
    pub(super) chunk_bytes: Key<WholeNumber<4_096, { 1 << 20 }>>,
}

/// Array of the md driver.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename = "{ md = … }", rename_all = "kebab-case")]
pub(super) struct ArrayTable {
    pub(super) level: Key<WholeNumber<0, 10>>,
    pub(super) disks: Key<WholeNumber<2, 64>>,
    pub(super) chunk_bytes: Key<WholeNumber<4_096, { 1 << 26 }>>,
    pub(super) stripe_cache: Key<WholeNumber<17, 32_768>>,
    pub(super) threads: Key<WholeNumber<0, 8_192>>,
}

/// Cache by bcache.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename = "{ bcache = … }", rename_all = "kebab-case")]
pub(super) struct CacheTable {
    pub(super) mode: Key<CacheModeName>,
    pub(super) bucket_bytes: Key<WholeNumber<4_096, { 1 << 24 }>>,
    pub(super) cache_percent: Key<WholeNumber<1, 99>>,
    pub(super) sequential_cutoff: Key<WholeNumber<0, { 1 << 32 }>>,
}

/// Overlayfs above the filesystem.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename = "{ overlay = … }", rename_all = "kebab-case")]
pub(super) struct OverlayTable {
    pub(super) mount: Key<OneOrMany<String>>,
}

/// Job to run on each variant.
#[derive(Debug, Deserialize)]
#[serde(rename = "[[job]]", rename_all = "kebab-case")]
pub(super) struct JobTable {
    pub(super) name: Key<Name>,
    pub(super) against: Key<JobName>,
    pub(super) workload: Key<WorkloadName>,
    pub(super) options: Key<JobOptions>,
    pub(super) full: Key<JobOptions>,
    pub(super) ranks: Key<RankCount>,
    pub(super) launcher: Key<OneOrMany<String>>,
    pub(super) mpi_program: Key<ProgramPath>,
    pub(super) rank_timeout: Key<WholeNumber<1, 86_400>>,
    pub(super) command: Key<Command>,
    pub(super) prepare: Key<Command>,
    pub(super) cleanup: Key<Command>,
    pub(super) metric: Key<Metrics>,
    pub(super) payload: Key<Choice<PayloadName>>,
    pub(super) compressibility: Key<Percentage<0, 10_000>>,
    pub(super) latency: Key<Choice<TimedCalls>>,
    pub(super) heat: Key<bool>,
    pub(super) heat_half_life: Key<Number<1, 4_000_000_000>>,
    /// Key of a `[[step]]`, which otherwise has the keys of a job.
    pub(super) measure: Key<bool>,
    /// Key of a `[[step]]`.
    pub(super) directory: Key<DirectoryName>,
    /// Key of a `[[step]]`.
    pub(super) below_overlay: Key<bool>,
    /// Sweep, which `sweep.rs` has expanded before the job is read.
    #[serde(rename = "sweep")]
    _sweep: Option<IgnoredAny>,
}

/// Metric in the output of a command.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename = "[[job.metric]]", rename_all = "kebab-case")]
pub(super) struct MetricTable {
    pub(super) name: Key<Name>,
    pub(super) regex: Key<String>,
    pub(super) json: Key<String>,
    pub(super) unit: Key<String>,
    pub(super) better: Key<String>,
    pub(super) primary: Key<bool>,
    pub(super) work: Key<bool>,
}

/// Guest for the kernels of variants.
#[derive(Debug, Deserialize)]
#[serde(rename = "[guest]", rename_all = "kebab-case")]
pub(super) struct GuestTable {
    pub(super) cpus: Key<WholeNumber<1, 255>>,
    pub(super) memory: Key<Size<256, { 1 << 20 }>>,
    pub(super) disk: Key<Choice<GuestDisk>>,
    pub(super) accelerator: Key<Choice<Accelerator>>,
    /// Emulated kernels need at least 10 s to boot.
    pub(super) timeout: Key<WholeNumber<10, 86_400>>,
    pub(super) append: Key<String>,
    pub(super) root: Key<String>,
    pub(super) queues: Key<WholeNumber<1, 64>>,
    pub(super) iothread: Key<bool>,
    pub(super) rotational: Key<bool>,
    pub(super) numa: Key<WholeNumber<1, 8>>,
    pub(super) program: Key<String>,
    pub(super) qemu: Key<String>,
    pub(super) qemu_options: Key<OneOrMany<String>>,
    pub(super) modules: Key<OneOrMany<String>>,
    pub(super) files: Key<OneOrMany<String>>,
}

/// Traces and layouts to record.
#[derive(Debug, Deserialize)]
#[serde(rename = "[observe]", rename_all = "kebab-case")]
pub(super) struct ObserveTable {
    pub(super) trace: Key<bool>,
    pub(super) layout: Key<bool>,
    pub(super) layout_every: Key<WholeNumber<1, 1_000_000>>,
    pub(super) functions: Option<KernelFunctions>,
    pub(super) r#in: Key<Choice<ObservedIn>>,
    pub(super) rounds: Key<WholeNumber<1, 1_000>>,
}

/// Rules of the comparison.
#[derive(Debug, Deserialize)]
#[serde(rename = "[report]", rename_all = "kebab-case")]
pub(super) struct ReportTable {
    pub(super) primary: Key<PrimaryMetrics>,
    pub(super) threshold: Key<Percentage<0, 100_000>>,
    pub(super) ignore: Option<ParameterNames>,
}

#[derive(Debug, Deserialize)]
#[serde(rename = "a list of [[variant]]")]
pub(super) struct VariantTables(pub(super) Vec<Placed<VariantTable>>);

#[derive(Debug, Deserialize)]
#[serde(rename = "a list of sections: [[job]] or [[step]]")]
pub(super) struct JobTables(pub(super) Vec<Placed<JobTable>>);

/// Options of a workload by their names.
#[derive(Debug, Deserialize)]
#[serde(rename = "a table: [job.options]")]
pub(super) struct JobOptions(pub(super) Vec<Entry<Datum>>);

/// Settings of the kernel by their names.
#[derive(Debug, Deserialize)]
#[serde(rename = "a table: sysctl = { \"vm.dirty_ratio\" = 10 }")]
pub(super) struct SettingTable(pub(super) Vec<Entry<Datum>>);

/// Environment variables by their names.
#[derive(Debug, Deserialize)]
#[serde(rename = "a table: env = { MALLOC_ARENA_MAX = \"1\" }")]
pub(super) struct EnvironmentTable(pub(super) Vec<Entry<Datum>>);

/// Options that a variant changes in every job, and a table of options for each single job.
#[derive(Debug, Deserialize)]
#[serde(rename = "a table: options = { ioengine = \"io_uring\" }")]
pub(super) struct VariantOptions(pub(super) Vec<Entry<Datum>>);

/// Keys of a sweep with their values.
#[derive(Debug, Deserialize)]
#[serde(rename = "a table: sweep = { threads = [1, 4, 16] }")]
pub(super) struct SweepTable(pub(super) Vec<Entry<Datum>>);

#[derive(Debug, Deserialize)]
#[serde(rename = "an array of ages in operations, such as [0, 1000, 5000]")]
pub(super) struct Ages(pub(super) Vec<Placed<AgeInOperations>>);

#[derive(Debug, Deserialize)]
#[serde(rename = "an array of metrics, such as [\"create/mib_per_second\"]")]
pub(super) struct PrimaryMetrics(pub(super) Vec<Placed<MetricName>>);

#[derive(Debug, Deserialize)]
#[serde(rename = "an array of functions of the kernel, such as [\"ext4_sync_file\"]")]
pub(super) struct KernelFunctions(pub(super) Vec<Placed<KernelFunction>>);

#[derive(Debug, Deserialize)]
#[serde(rename = "an array of parameters, such as [\"command\"]")]
pub(super) struct ParameterNames(pub(super) Vec<Placed<ParameterName>>);

#[derive(Debug, Deserialize)]
#[serde(rename = "a table { name, regex or json, unit, better }, or an array of them")]
pub(super) struct Metrics(pub(super) OneOrMany<MetricForm>);

/// Metric as a table, or as a string in the form of the command line.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename = "a table { name, regex or json, unit, better }", rename_all = "lowercase")]
pub(super) enum MetricForm {
    String(String),
    Table(Box<MetricTable>),
}

/// Reads a document in which sweeps have been expanded.
pub(super) fn plan_table(
    document: DeTable<'_>,
    workloads: &[&dyn Workload],
) -> Result<PlanTable, Fault> {
    let document = DeValue::Table(document);
    let value = Value::new(("the plan", 0..0), &document, 0..0);
    PlanTable::deserialize(value).map_err(|refused| {
        let hint = match &refused {
            ValueError::Key { title: JOB, keys, key, .. } => option_of(workloads, keys, key),
            _ => None,
        };
        let fault = fault(refused);
        hint.into_iter().fold(fault, Fault::hint)
    })
}

/// Fault for a value that was refused.
pub(super) fn fault(refused: ValueError) -> Fault {
    match refused {
        ValueError::Placed(fault) => fault,
        ValueError::Key { title, keys, key, span } => {
            let hint = about_key(title, keys, &key);
            let message = format!("{title} has no key {}", quoted(&key));
            Fault::at(span, message, "unknown key").hint(hint)
        }
        other => Fault::whole(other.to_string()),
    }
}

/// Title of the keys above the first section.
const PLAN: &str = "the plan itself";

/// Titles of a variant, a device and a job.
const VARIANT: &str = "[[variant]]";
const DEVICE: &str = "[device]";
const JOB: &str = "[[job]]";

/// Words for the size of a device.
const WORDS_FOR_SIZE: [&str; 3] = ["size", "device-size", "image-size"];

/// Words that other tools have for keys of a plan.
const OTHER_WORDS: [(&str, &str); 8] = [
    ("fs", "filesystem"),
    ("fstype", "filesystem"),
    ("mkfs-options", "mkfs"),
    ("mkfs_options", "mkfs"),
    ("mount-options", "mount"),
    ("mount_options", "mount"),
    ("repetitions", "rounds"),
    ("iterations", "rounds"),
];

fn about_key(title: &str, keys: &[&str], key: &str) -> String {
    let listed = format!("{title} has: {}", keys.join(", "));
    if key == "personality" {
        return "a personality goes into the options of the job, with workload = \"filebench\": \
                options = { workload = \"varmail\" }"
            .to_owned();
    }
    let other_word =
        OTHER_WORDS.iter().find(|(other, meant)| *other == key && keys.contains(meant));
    let meant = other_word.map(|(_, meant)| *meant);
    if let Some(meant) = meant.or_else(|| nearest(key, keys.iter().copied())) {
        return format!("did you mean `{meant}`? {listed}");
    }
    if WORDS_FOR_SIZE.contains(&key) && (title == VARIANT || title == DEVICE) {
        return "the size of a device is its `loop`: [device] with loop = \"4GiB\", or in a variant \
                device = { loop = \"4GiB\" }"
            .to_owned();
    }
    match sections().into_iter().find(|(_, keys)| keys.contains(&key)) {
        Some((title, _)) if title == PLAN => {
            format!("`{key}` belongs to {title}: write it above the first [section]")
        }
        Some((title, _)) => format!("`{key}` belongs to {title}"),
        None => listed,
    }
}

/// Hint for a key of a job that is an option of its workload, or nearly one and no key.
fn option_of(workloads: &[&dyn Workload], keys: &[&str], key: &str) -> Option<String> {
    let natives = || workloads.iter().flat_map(|workload| workload.manifest().native);
    let names = || natives().map(|option| option.name);
    if names().any(|name| name == key) {
        return Some(format!("`{key}` is an option of a workload: options = {{ {key} = … }}"));
    }
    if nearest(key, keys.iter().copied()).is_some() {
        return None;
    }
    nearest(key, names()).map(|meant| format!("did you mean options = {{ {meant} = … }}?"))
}

/// Title and keys of a section.
type Section = (&'static str, &'static [&'static str]);

/// Sections of a plan, with the keys of each.
pub fn sections() -> Vec<Section> {
    let any = DeTable::from_iter([(
        Spanned::new(0..0, Cow::Borrowed("")),
        Spanned::new(0..0, DeValue::Boolean(true)),
    )]);
    let any = &DeValue::Table(any);
    let sections = [
        section::<PlanTable>(any),
        section::<StoppingTable>(any),
        section::<DeviceTable>(any),
        section::<AgingTable>(any),
        section::<VariantTable>(any),
        section::<LimitTable>(any),
        section::<LayerTable>(any),
        section::<LoopTable>(any),
        section::<CryptTable>(any),
        section::<ThinTable>(any),
        section::<SnapshotTable>(any),
        section::<ArrayTable>(any),
        section::<CacheTable>(any),
        section::<OverlayTable>(any),
        section::<GuestTable>(any),
        section::<JobTable>(any),
        section::<MetricTable>(any),
        section::<ObserveTable>(any),
        section::<ReportTable>(any),
    ];
    sections.into_iter().flatten().collect()
}

/// Title and keys of a section, obtained from serde's refusal of an unknown key.
fn section<'d, T: Deserialize<'d>>(any: &'d DeValue<'d>) -> Option<Section> {
    match T::deserialize(Value::new(("", 0..0), any, 0..0)) {
        Err(ValueError::Key { title, keys, .. }) => Some((title, keys)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::sections;

    #[test]
    fn every_key_is_in_the_reference() {
        let pages = ["/../../docs/plan.md", "/../../docs/layers.md"];
        let reference = pages.map(|page| {
            std::fs::read_to_string(format!("{}{page}", env!("CARGO_MANIFEST_DIR"))).unwrap()
        });
        let reference = reference.concat();
        for (title, keys) in sections() {
            for key in keys {
                let is_documented = |word: String| reference.contains(&word);
                let has_row = is_documented(format!("`{key}`"));
                let forms =
                    [format!("## [{key}]"), format!("## [[{key}]]"), format!("`[[{key}]]`")];
                assert!(has_row || forms.into_iter().any(is_documented), "{title}: {key}");
            }
        }
    }
}
