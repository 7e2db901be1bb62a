//! The options of FFSB: the original has none but the profile.

use treering_script::{ClassicPayload, Manifest, OptionSpec, Support, ValueKind};

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

const fn spec(
    name: &'static str,
    value: ValueKind,
    default: Option<&'static str>,
    doc: &'static str,
) -> OptionSpec {
    OptionSpec { name, short: None, value, default, doc, support: Support::Full }
}

/// The operand's name.
pub(super) const PROFILE: &str = "profile";

/// Options of the classic command line.
pub(super) const CLASSIC: &[OptionSpec] = &[
    spec(PROFILE, ValueKind::Operand, None, "The profile."),
    spec(
        "seed",
        ValueKind::Number,
        None,
        "The seed of all draws; the original has none and draws anew each time.",
    ),
];

/// Options of the native command line and of plans.
pub(super) const NATIVE: &[OptionSpec] = &[
    spec(
        PROFILE,
        ValueKind::Operand,
        None,
        "The profile; its filesystems become directories below the target.",
    ),
    spec(
        "time",
        ValueKind::Number,
        None,
        "Seconds that the benchmark runs, instead of the profile's; 0 makes the files only.",
    ),
    spec(
        "operations",
        ValueKind::Number,
        None,
        "End after so many operations of all threads together, instead of after a time.",
    ),
    spec(
        "callout",
        ValueKind::Choice(&["run", "skip", "refuse"]),
        Some("refuse"),
        "What becomes of a shell command in the profile: refused, run, or left out.",
    ),
    spec("seed", ValueKind::Number, Some("1"), "The seed of all draws."),
];
