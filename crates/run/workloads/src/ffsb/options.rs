//! The options of FFSB: the original has none but the profile.

use treering_script::{ClassicPayload, Manifest, options};

/// FFSB's name tag.
pub(super) static MANIFEST: Manifest = Manifest {
    name: "ffsb",
    aliases: &[],
    about: "Runs a profile of FFSB: threads that draw operations by weight, over many files",
    imitates: "FFSB 6.0-RC2",
    classic: Classic::SPECS,
    native: Native::SPECS,
    classic_payload: ClassicPayload::Zeros,
    classic_usage_exit: 1,
};

/// The operand's name.
pub(super) const PROFILE: &str = "profile";

options! {
    /// How sizes of files are drawn.
    pub(super) struct Drawing {
        /// Draw sizes of files with the shares of FFSB 6.0-RC2, which differ from the weights.
        sizes_as_original: Option<bool> = Flag;
    }
}

options! {
    /// The classic command line.
    pub(super) struct Classic {
        /// The profile.
        #[recorded = false]
        profile: Option<String> = Operand;
        /// The seed of all draws; the original has none and draws anew each time.
        seed: Option<u64> = Number;
        /// How sizes are drawn.
        drawing: Drawing;
    }
}

options! {
    /// The native command line, and plans.
    pub(super) struct Native {
        /// The profile; its filesystems become directories below the target.
        #[recorded = false]
        profile: Option<String> = Operand;
        /// Seconds that the benchmark runs, instead of the profile's; 0 makes the files only.
        time: Option<u64> = Number[0..=1_000_000_000];
        /// End after so many operations of all threads together, instead of after a time.
        operations: Option<u64> = Number[1..=1 << 50];
        /// What becomes of a shell command in the profile: refused, run, or left out.
        callout: Option<&'static str> = Choice(&["run", "skip", "refuse"]), "refuse";
        /// The seed of all draws.
        seed: u64 = Number, "1";
        /// How sizes are drawn.
        drawing: Drawing;
    }
}
