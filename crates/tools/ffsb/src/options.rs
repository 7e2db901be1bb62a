//! The options of FFSB: the original has none but the profile.

use treering_script::{ClassicPayload, WorkloadManifest, options};

/// FFSB's name tag.
pub(super) static MANIFEST: WorkloadManifest = WorkloadManifest {
    name: "ffsb",
    aliases: &[],
    about: "Run an FFSB profile: threads that draw weighted operations over many files",
    imitates: "FFSB 6.0-RC2",
    classic: ClassicOptions::SPECS,
    native: NativeOptions::SPECS,
    classic_payload: ClassicPayload::Zeros,
    classic_usage_exit: 1,
};

/// The operand's name.
pub(super) const PROFILE: &str = "profile";

options! {
    /// Options for the draw of file sizes.
    pub(super) struct SizeDrawOptions {
        /// Draw file sizes with the shares of FFSB 6.0-RC2, which differ from the configured
        /// weights.
        sizes_as_original: Option<bool> = Flag;
    }
}

options! {
    /// The classic command line.
    pub(super) struct ClassicOptions {
        /// The profile.
        #[recorded = false]
        profile: Option<String> = Operand;
        /// The random seed; the original has none and draws anew each time.
        seed: Option<u64> = Number;
        /// Size draw options.
        drawing: SizeDrawOptions;
    }
}

options! {
    /// The native command line, and plans.
    pub(super) struct NativeOptions {
        /// The profile; its filesystems become directories below the target.
        #[recorded = false]
        profile: Option<String> = Operand;
        /// Run time in seconds, instead of that of the profile; 0 only creates the files.
        time: Option<u64> = Number[0..=1_000_000_000];
        /// End after this many operations of all threads together, instead of after a time.
        operations: Option<u64> = Number[1..=1 << 50];
        /// What to do with shell commands in the profile: refuse, run or skip them.
        callout: Option<&'static str> = Choice(&["run", "skip", "refuse"]), "refuse";
        /// The random seed.
        seed: u64 = Number, "1";
        /// Size draw options.
        drawing: SizeDrawOptions;
    }
}
