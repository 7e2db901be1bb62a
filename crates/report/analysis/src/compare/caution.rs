//! Cautions about a comparison: a closed list of codes, each with advice.

/// Code of a caution. Each code has its own advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ComparisonCautionCode {
    /// The variants have no job in common.
    NothingInCommon,
    /// Guests of one variant ran with hardware virtualization, those of the other were emulated.
    AcceleratorsDiffer,
    /// A trial failed, was invalid or was interrupted.
    FailedTrial,
    /// Files, bytes or operations differ between the variants.
    UnequalWork,
    /// A caution is carried by all trials of one variant and by none of the other, or clearly more
    /// often by one of them.
    OneSided,
    /// The workload's parameters differ.
    ParametersDiffer,
    /// The trials were made by different versions of treering.
    VersionsDiffer,
    /// Kernel releases differ although kernels were not compared.
    KernelsDiffer,
    /// The kernels differ in boot parameters, configuration or runtime settings.
    KernelSettingsDiffer,
    /// Filesystem types differ although filesystems were not compared.
    FilesystemsDiffer,
    /// The filesystems differ in size.
    SizesDiffer,
    /// The filesystems differ in free space before the trial.
    FreeSpaceDiffers,
    /// The filesystems differ in features or block size.
    FeaturesDiffer,
    /// The variants store different numbers of copies of their metadata.
    MetadataProfilesDiffer,
    /// The devices differ in kind or queue settings.
    DevicesDiffer,
    /// The variants use different places of one disk.
    SameDisk,
    /// The disks of imported runs, and their places on these disks, are unknown.
    PlacesUnknown,
    /// The filesystems are mounted with different options.
    MountOptionsDiffer,
    /// The machines differ.
    MachinesDiffer,
    /// Caches could be dropped on one variant only.
    CachesDiffer,
    /// A fact of the environment is known for one variant only.
    KnownOfOneSide,
    /// The trials of one variant differ among themselves.
    MixedSide,
    /// The number of rounds is too small for any difference to become significant.
    TooFewRounds,
    /// The measured time of a primary metric is too short.
    TooShort,
    /// The faster variant made the device seek more or left a worse layout.
    TimeAgainstSeeks,
    /// The rounds could not be paired.
    Unpaired,
    /// The variants ran one after the other, or in long blocks, instead of interleaved.
    NotInterleaved,
    /// The same variant ran first in every round.
    OrderNeverChanges,
    /// The ratios of neighbouring rounds are correlated.
    SerialRounds,
    /// The ratio changed over the rounds.
    Drifting,
    /// The control failed: the baseline differs from itself.
    Unstable,
    /// A primary metric exists on one variant only, or cannot be compared.
    MetricMissing,
    /// Trials carry cautions of their own.
    TrialCautions,
    /// Trials were excluded by the user.
    TrialsExcluded,
    /// The campaign continued beyond its plan after a look at its results.
    LookedBefore,
}

impl ComparisonCautionCode {
    /// All codes, the most severe first.
    pub const ALL: [Self; 35] = [
        Self::NothingInCommon,
        Self::AcceleratorsDiffer,
        Self::FailedTrial,
        Self::UnequalWork,
        Self::OneSided,
        Self::ParametersDiffer,
        Self::VersionsDiffer,
        Self::KernelsDiffer,
        Self::KernelSettingsDiffer,
        Self::FilesystemsDiffer,
        Self::SizesDiffer,
        Self::FreeSpaceDiffers,
        Self::FeaturesDiffer,
        Self::MetadataProfilesDiffer,
        Self::DevicesDiffer,
        Self::SameDisk,
        Self::PlacesUnknown,
        Self::MountOptionsDiffer,
        Self::MachinesDiffer,
        Self::CachesDiffer,
        Self::KnownOfOneSide,
        Self::MixedSide,
        Self::TooFewRounds,
        Self::TooShort,
        Self::TimeAgainstSeeks,
        Self::Unpaired,
        Self::NotInterleaved,
        Self::OrderNeverChanges,
        Self::SerialRounds,
        Self::Drifting,
        Self::Unstable,
        Self::MetricMissing,
        Self::TrialCautions,
        Self::TrialsExcluded,
        Self::LookedBefore,
    ];

    /// Reports whether the variants differ in more than the declared factor. A measured difference
    /// may then have another cause, so the gate neither passes nor fails.
    pub const fn differs_beyond_factor(self) -> bool {
        matches!(
            self,
            Self::UnequalWork
                | Self::OneSided
                | Self::ParametersDiffer
                | Self::VersionsDiffer
                | Self::KernelsDiffer
                | Self::KernelSettingsDiffer
                | Self::FilesystemsDiffer
                | Self::SizesDiffer
                | Self::FreeSpaceDiffers
                | Self::FeaturesDiffer
                | Self::MetadataProfilesDiffer
                | Self::DevicesDiffer
                | Self::SameDisk
                | Self::MountOptionsDiffer
                | Self::MachinesDiffer
                | Self::CachesDiffer
                | Self::AcceleratorsDiffer
        )
    }

    /// Reports whether the rounds violate an assumption of the statistics: that they are pairs,
    /// interleaved, alike, independent of one another, on a machine with reproducible results.
    /// Verdicts are then wrong more often than stated, so the gate neither passes nor fails.
    pub const fn breaks_assumptions(self) -> bool {
        matches!(
            self,
            Self::MixedSide
                | Self::Unpaired
                | Self::NotInterleaved
                | Self::OrderNeverChanges
                | Self::SerialRounds
                | Self::Drifting
                | Self::Unstable
        )
    }

    /// Reports whether the gate is undecided unless this caution is accepted.
    pub const fn stops_gate(self) -> bool {
        self.differs_beyond_factor() || self.breaks_assumptions()
    }

    /// Looks up a code by its name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.name() == name)
    }

    /// Name used in JSON; docs/json.md lists all names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NothingInCommon => "nothing_in_common",
            Self::AcceleratorsDiffer => "accelerators_differ",
            Self::FailedTrial => "failed_trial",
            Self::UnequalWork => "unequal_work",
            Self::OneSided => "one_sided",
            Self::ParametersDiffer => "parameters_differ",
            Self::VersionsDiffer => "versions_differ",
            Self::KernelsDiffer => "kernels_differ",
            Self::KernelSettingsDiffer => "kernel_settings_differ",
            Self::FilesystemsDiffer => "filesystems_differ",
            Self::SizesDiffer => "sizes_differ",
            Self::FreeSpaceDiffers => "free_space_differs",
            Self::FeaturesDiffer => "features_differ",
            Self::MetadataProfilesDiffer => "metadata_profiles_differ",
            Self::DevicesDiffer => "devices_differ",
            Self::SameDisk => "same_disk",
            Self::PlacesUnknown => "places_unknown",
            Self::MountOptionsDiffer => "mount_options_differ",
            Self::MachinesDiffer => "machines_differ",
            Self::CachesDiffer => "caches_differ",
            Self::KnownOfOneSide => "known_of_one_side",
            Self::MixedSide => "mixed_side",
            Self::TooFewRounds => "too_few_rounds",
            Self::TooShort => "too_short",
            Self::TimeAgainstSeeks => "time_against_seeks",
            Self::Unpaired => "unpaired",
            Self::NotInterleaved => "not_interleaved",
            Self::OrderNeverChanges => "order_never_changes",
            Self::SerialRounds => "serial_rounds",
            Self::Drifting => "drifting",
            Self::Unstable => "unstable",
            Self::MetricMissing => "metric_missing",
            Self::TrialCautions => "trial_cautions",
            Self::TrialsExcluded => "trials_excluded",
            Self::LookedBefore => "looked_before",
        }
    }

    /// Advice for the user on how to resolve the caution.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::NothingInCommon => "run the same workload on both variants",
            Self::AcceleratorsDiffer => "write accelerator = \"tcg\" in [guest] of the plan",
            Self::FailedTrial => {
                "find out why with `treering show`; `treering compare --resume` runs it again"
            }
            Self::UnequalWork => {
                "give both variants the same parameters and enough space to finish; until then do \
                 not compare totals"
            }
            Self::OneSided => {
                "run both variants under the same conditions: what only one of them has may \
                 explain the whole difference (advice for each caution: `treering show`)"
            }
            Self::ParametersDiffer => "repeat the trials of one variant with those of the other",
            Self::VersionsDiffer => {
                "repeat the older trials with the newer treering (`treering --version`)"
            }
            Self::KernelsDiffer => {
                "select by `kernel:` to compare kernels, otherwise use one kernel"
            }
            Self::KernelSettingsDiffer => {
                "boot with the same command line (`cat /proc/cmdline`), set the same governor and \
                 `sysctl vm.` values, and repeat one variant"
            }
            Self::FilesystemsDiffer => {
                "select by `fs:` to compare filesystems, otherwise use one filesystem"
            }
            Self::SizesDiffer => {
                "make the filesystems of both variants equally large (`mkfs` on devices of one \
                 size, or `treering compare --size`)"
            }
            Self::FreeSpaceDiffers => {
                "fill or age both alike, or make both afresh: a full filesystem behaves \
                 differently from an empty one"
            }
            Self::FeaturesDiffer => {
                "make both with the same mkfs and options (`mkfs.ext4 -b 4096`, `-O`), or make \
                 the option a variant of a plan if it is to be compared"
            }
            Self::MetadataProfilesDiffer => {
                "everything is written twice: choose deliberately, with `-m single` or `-m dup` \
                 of mkfs.btrfs"
            }
            Self::KnownOfOneSide => {
                "run both with the same treering, as root: what is unknown may differ"
            }
            Self::MixedSide => "choose trials that ran under the same conditions (`treering list`)",
            Self::MachinesDiffer
            | Self::CachesDiffer
            | Self::DevicesDiffer
            | Self::SameDisk
            | Self::PlacesUnknown
            | Self::MountOptionsDiffer => self.advice_about_devices(),
            Self::TooFewRounds
            | Self::TooShort
            | Self::TimeAgainstSeeks
            | Self::Unpaired
            | Self::NotInterleaved
            | Self::OrderNeverChanges
            | Self::SerialRounds
            | Self::Drifting
            | Self::Unstable
            | Self::MetricMissing
            | Self::TrialCautions
            | Self::TrialsExcluded
            | Self::LookedBefore => self.advice_about_rounds(),
        }
    }

    /// Advice for cautions about machines, devices and disks.
    const fn advice_about_devices(self) -> &'static str {
        match self {
            Self::MachinesDiffer => "run both variants on one machine",
            Self::CachesDiffer => {
                "run both variants as root, or neither: warm against cold caches is not a \
                 comparison"
            }
            Self::DevicesDiffer => {
                "run both variants on one device with the same queue settings; select by \
                 `target:` to compare devices"
            }
            Self::SameDisk => {
                "alternate both variants on one partition (`treering compare --device`): the \
                 outer tracks of a disk are faster than the inner ones, and flash wears as a whole"
            }
            Self::PlacesUnknown => {
                "make sure that both worked on one partition of one disk, or repeat it with \
                 `treering compare`: the outer tracks of a disk are faster than the inner ones"
            }
            // Code MountOptionsDiffer; the other codes are covered elsewhere.
            _ => {
                "mount both variants alike, or make the option a variant of a plan if it is to be \
                 compared"
            }
        }
    }

    /// Advice for cautions about the number or order of rounds.
    const fn advice_about_rounds(self) -> &'static str {
        match self {
            Self::TrialsExcluded => {
                "check the reasons; --include-excluded shows the comparison with them, and \
                 `treering include` undoes the exclusion"
            }
            Self::LookedBefore => {
                "nothing has to be done; a plan with enough rounds from the start, or with planned \
                 `looks`, finds smaller differences"
            }
            Self::TooFewRounds => "run more rounds; with so few no difference can be shown",
            Self::TooShort => {
                "measure for longer (more runs, files or time): a single writeback or journal \
                 commit weighs as much as the work itself"
            }
            Self::TimeAgainstSeeks => {
                "do not apply these times to a rotating disk: on a loop device, on a host that \
                 caches and on flash, seeks cost next to nothing. Repeat it on the device in \
                 question (`treering compare --device`)"
            }
            Self::Unpaired => {
                "run the same number of rounds on both variants, alternating, with the same \
                 parameters: pairs need fewer rounds"
            }
            Self::NotInterleaved => {
                "interleave the variants: what changes with time looks like a difference"
            }
            Self::OrderNeverChanges => {
                "change the order from round to round (`treering compare` does): the second run \
                 finds caches, a device and a filesystem that the first one has used"
            }
            Self::SerialRounds => {
                "the intervals are too narrow: rest between trials (settle-seconds), or run more \
                 rounds at other times"
            }
            Self::Drifting => {
                "look for what changed in the meantime: fullness, temperature, other load"
            }
            Self::Unstable => {
                "do not trust a difference of this metric that is not clearly larger than this"
            }
            Self::MetricMissing => "compare trials of the same treering and workload",
            // Code TrialCautions; the other codes are covered above.
            _ => "inspect them with `treering show` and fix the causes",
        }
    }
}

/// A caution about a comparison.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ComparisonCaution {
    /// Code of the caution.
    pub code: ComparisonCautionCode,
    /// Findings with their figures, for the user.
    pub message: String,
    /// True if a plan declares exactly this difference. The caution is then shown but does not stop
    /// the gate.
    pub is_declared: bool,
}

impl ComparisonCaution {
    pub(super) fn new(code: ComparisonCautionCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), is_declared: false }
    }

    /// Marks the caution as declared by a plan if `is_declared`.
    pub(super) fn declared_if(mut self, is_declared: bool) -> Self {
        self.is_declared = is_declared;
        self.message += if is_declared { ", as the plan says" } else { "" };
        self
    }
}

#[cfg(test)]
mod tests {
    use super::ComparisonCautionCode;
    use std::collections::BTreeSet;

    #[test]
    fn every_code_has_a_name_of_its_own_and_advice() {
        let names: BTreeSet<&str> =
            ComparisonCautionCode::ALL.iter().map(|code| code.name()).collect();
        assert_eq!(names.len(), ComparisonCautionCode::ALL.len());
        assert!(ComparisonCautionCode::ALL.iter().all(|code| code.advice().len() > 10));
        let advice: BTreeSet<&str> =
            ComparisonCautionCode::ALL.iter().map(|code| code.advice()).collect();
        assert_eq!(advice.len(), names.len());
    }
}
