//! Options of aging, each declared once.

use treering_script::{ClassicPayload, WorkloadManifest, options};

/// Workload manifest: name, summary, options.
pub(super) static MANIFEST: WorkloadManifest = WorkloadManifest {
    name: "age",
    aliases: &[],
    about: "Age a filesystem by a profile: files are born, grow, change and die until a rule holds",
    imitates: "",
    classic: &[],
    native: NativeOptions::SPECS,
    classic_payload: ClassicPayload::Zeros,
    classic_usage_exit: 2,
};

options! {
    /// Options of the native command line and of plans.
    pub(super) struct NativeOptions {
        /// What happens: a profile from `treering age list`, or a TOML file.
        profile('p'): String = Text, "mail";
        /// When it ends: operations=N, written=2x (times the filesystem) or written=SIZE, full=70%,
        /// steady or steady=adjacent:1% (the traversal score or the share of adjacent siblings
        /// drifts no more), free-space=FILE (as in a layout written as JSON). May be given several
        /// times; the first that holds ends it.
        until: Vec<String> = Texts;
        /// Bytes of files that stand at a time [default: half of the free space].
        live: Option<u64> = Size;
        /// Level at which the filesystem is kept while another rule ends the run, such as 85%: the
        /// files follow what it reports as used [default: the profile's, or none].
        hold_full: Option<f64> = Percent;
        /// Operations between two measurements of the layout [default: the profile's].
        measure_every: Option<u64> = Number[1..=1_000_000_000];
        /// Operations between two remounts of the filesystem, a multiple of those between two
        /// measurements; requires root [default: never].
        remount_every: Option<u64> = Number[1..=1_000_000_000];
        /// Share of the files at the beginning that is created in random order [default: the
        /// profile's].
        shuffled: Option<f64> = Percent;
        /// Allocate (fallocate) what files hold instead of writing it, and write at the end what
        /// then stands: less is written, and the layout differs a little.
        fast_forward: bool = Flag;
        /// With the profile source-history: the history, as `treering age extract` writes it.
        history: Option<String> = Text;
        /// The random seed.
        seed: u64 = Number, "1";
    }
}
