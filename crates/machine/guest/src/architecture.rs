//! Processor architectures of guests: everything that differs between them.

use std::env::consts::ARCH;
use std::path::{Path, PathBuf};

/// Processor architecture of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// x86-64, also called amd64.
    X86_64,
    /// AArch64, also called arm64.
    Aarch64,
}

/// Names and settings of an architecture.
pub(crate) struct ArchitectureTraits {
    /// Name in `uname -m`, in QEMU's programs and in Rust's targets.
    pub(crate) machine: &'static str,
    /// Name in messages.
    pub(crate) title: &'static str,
    /// Number in ELF files.
    elf: u16,
    /// Advice where QEMU for it is missing.
    pub(crate) emulator_hint: &'static str,
    /// Machine of QEMU.
    pub(crate) board: &'static str,
    /// Processor of QEMU without KVM, with all that it can emulate.
    pub(crate) emulated_cpu: &'static str,
    /// Kernel parameters: the serial console, and what keeps an emulated machine going.
    pub(crate) parameters: &'static str,
    /// True if the machine has SATA ports of its own.
    pub(crate) has_sata: bool,
    /// Image in a build tree.
    pub(crate) built_image: &'static str,
}

/// The timer check is disabled as under KVM: on a busy machine an emulated timer is too late for
/// it, and the kernel panics (`IO-APIC + timer doesn't work`).
const X86_64: ArchitectureTraits = ArchitectureTraits {
    machine: "x86_64",
    title: "x86-64",
    elf: 62,
    emulator_hint: "install QEMU (apt install qemu-system-x86)",
    board: "q35",
    emulated_cpu: "max",
    parameters: "console=ttyS0 no_timer_check",
    has_sata: true,
    built_image: "arch/x86/boot/bzImage",
};

/// Pointers are authenticated by a cheap function of QEMU's own: with the architected one, a boot
/// of Debian's 6.1 cloud kernel takes 5.1 s of CPU instead of 2.2 s.
const AARCH64: ArchitectureTraits = ArchitectureTraits {
    machine: "aarch64",
    title: "AArch64",
    elf: 183,
    emulator_hint: "install QEMU for it (apt install qemu-system-arm)",
    board: "virt,gic-version=max",
    emulated_cpu: "max,pauth-impdef=on",
    parameters: "console=ttyAMA0",
    has_sata: false,
    built_image: "arch/arm64/boot/Image",
};

/// Images in build trees, by their paths below the top.
pub const BUILT_IMAGES: [&str; 2] = [X86_64.built_image, AARCH64.built_image];

impl Architecture {
    pub(crate) const ALL: [Self; 2] = [Self::X86_64, Self::Aarch64];

    pub(crate) const fn traits(self) -> &'static ArchitectureTraits {
        match self {
            Self::X86_64 => &X86_64,
            Self::Aarch64 => &AARCH64,
        }
    }

    /// Name in messages.
    pub const fn title(self) -> &'static str {
        self.traits().title
    }

    /// Reports whether programs of this machine run on it.
    pub fn is_own(self) -> bool {
        self.traits().machine == ARCH
    }

    /// Architecture with this number in ELF files.
    pub(crate) fn of_elf(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.traits().elf == number)
    }

    /// Places of a treering for it, seen from the program that runs: beside that as
    /// `treering-aarch64`, and in the target directory of a build.
    pub(crate) fn program_places(self, running: &Path) -> Vec<PathBuf> {
        let machine = self.traits().machine;
        let Some(folder) = running.parent() else { return Vec::new() };
        let beside = folder.join(format!("treering-{machine}"));
        let targets = folder.ancestors().skip(1).take(2);
        let built = targets.flat_map(|target| {
            ["musl", "gnu"].into_iter().flat_map(move |libc| {
                let triple = target.join(format!("{machine}-unknown-linux-{libc}"));
                ["release", "demo"].map(|profile| triple.join(profile).join("treering"))
            })
        });
        [beside].into_iter().chain(built).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Architecture;
    use std::path::{Path, PathBuf};

    #[test]
    fn a_program_for_another_architecture_is_beside_this_one_or_in_its_target_directory() {
        let places = Architecture::Aarch64.program_places(Path::new("/t/release/treering"));
        for place in
            ["/t/release/treering-aarch64", "/t/aarch64-unknown-linux-gnu/release/treering"]
        {
            assert!(places.contains(&PathBuf::from(place)), "{places:?}");
        }
    }

    #[test]
    fn architectures_are_known_by_the_numbers_of_elf_files() {
        for one in Architecture::ALL {
            assert_eq!(Architecture::of_elf(one.traits().elf), Some(one));
        }
        assert_eq!(Architecture::of_elf(243), None);
    }
}
