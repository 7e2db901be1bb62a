//! The options of FFSB: the original has none but the profile.

use treering_script::{ClassicPayload, Manifest, OptionSpec, ValueKind};

/// FFSB's name tag.
pub(super) static MANIFEST: Manifest = Manifest {
    name: "ffsb",
    aliases: &[],
    about: "Runs a profile of FFSB: threads that draw operations by weight, over many files",
    imitates: "FFSB 6.0-RC2",
    classic: CLASSIC,
    native: NATIVE,
    classic_payload: ClassicPayload::Zeros,
    classic_usage_exit: 1,
};

/// The operand's name.
pub(super) const PROFILE: &str = "profile";

/// The option's name, as of the parameter of a trial.
pub(super) const SIZES_AS_ORIGINAL: &str = "sizes-as-original";
const SIZES: OptionSpec = OptionSpec::long(
    SIZES_AS_ORIGINAL,
    ValueKind::Flag,
    None,
    "Draw sizes of files with the shares of FFSB 6.0-RC2, which differ from the weights.",
);

/// Options of the classic command line.
pub(super) const CLASSIC: &[OptionSpec] = &[
    OptionSpec::long(PROFILE, ValueKind::Operand, None, "The profile."),
    OptionSpec::long(
        "seed",
        ValueKind::Number,
        None,
        "The seed of all draws; the original has none and draws anew each time.",
    ),
    SIZES,
];

/// Options of the native command line and of plans.
pub(super) const NATIVE: &[OptionSpec] = &[
    OptionSpec::long(
        PROFILE,
        ValueKind::Operand,
        None,
        "The profile; its filesystems become directories below the target.",
    ),
    OptionSpec::long(
        "time",
        ValueKind::Number,
        None,
        "Seconds that the benchmark runs, instead of the profile's; 0 makes the files only.",
    ),
    OptionSpec::long(
        "operations",
        ValueKind::Number,
        None,
        "End after so many operations of all threads together, instead of after a time.",
    ),
    OptionSpec::long(
        "callout",
        ValueKind::Choice(&["run", "skip", "refuse"]),
        Some("refuse"),
        "What becomes of a shell command in the profile: refused, run, or left out.",
    ),
    OptionSpec::long("seed", ValueKind::Number, Some("1"), "The seed of all draws."),
    SIZES,
];
