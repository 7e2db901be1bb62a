//! Boot loaders that can boot a kernel once: GRUB, systemd-boot, kexec; their availability and
//! commands.

use std::fs;
use std::path::{Path, PathBuf};

use super::entries::{in_entries, in_grub_menu, text};
use super::error::RebootError;
use crate::machine::word;

/// EFI variable that systemd-boot sets when it boots the machine.
const LOADER_INFO: &str =
    "sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
/// Folders of system programs, beneath the root.
const PROGRAMS: [&str; 6] =
    ["usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "sbin", "bin"];
/// Prefixes of GRUB's programs and directories in the distributions.
const GRUBS: [&str; 2] = ["grub", "grub2"];

treering_model::named_enum! {
    /// A program that can boot a kernel once.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum BootLoader {
        /// systemd-boot, by `bootctl set-oneshot`.
        SystemdBoot = "systemd-boot",
        /// GRUB, by `grub-reboot`.
        Grub = "grub",
        /// The running kernel, by `kexec`, without firmware and boot loader.
        Kexec = "kexec",
    }
}

/// A command, one element per argument.
pub type CommandLine = Vec<String>;

/// Commands of one boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootCommands {
    /// Commands that select this kernel for the next boot only.
    pub prepare: Vec<CommandLine>,
    /// Command that reboots the machine.
    pub boot: CommandLine,
}

impl BootLoader {
    /// Boot loader with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|loader| loader.name() == name)
    }

    /// Returns the requested loader, or the first that can boot a kernel once on this machine.
    ///
    /// # Errors
    /// When the requested loader, or every loader, lacks a requirement; the error names it.
    pub(super) fn choose(root: &Path, requested: Option<Self>) -> Result<Self, RebootError> {
        if let Some(requested) = requested {
            let usable = requested
                .missing_requirement(root)
                .map_or(Ok(requested), |why| Err((requested, why)));
            return usable
                .map_err(|(loader, why)| RebootError::Unusable { loader: loader.name(), why });
        }
        let mut reasons = Vec::new();
        for loader in Self::ALL {
            match loader.missing_requirement(root) {
                None => return Ok(loader),
                Some(why) => reasons.push(format!("{}: {why}", loader.name())),
            }
        }
        Err(RebootError::NoLoader { reasons })
    }

    /// Reason why the loader cannot be used here, if any.
    fn missing_requirement(self, root: &Path) -> Option<String> {
        match self {
            Self::SystemdBoot => {
                if program(root, "bootctl").is_none() {
                    return Some("there is no bootctl".to_owned());
                }
                let wide = fs::read(root.join(LOADER_INFO)).unwrap_or_default();
                // The variable has four bytes of attributes, then UTF-16 text.
                let info: String = wide
                    .get(4..)
                    .unwrap_or_default()
                    .iter()
                    .step_by(2)
                    .map(|&b| char::from(b))
                    .collect();
                let is_booted = info.starts_with("systemd-boot");
                (!is_booted).then(|| "it has not booted this machine".to_owned())
            }
            Self::Grub => {
                let Some(grub) = grub(root) else {
                    return Some("there is no grub-reboot with a grub.cfg".to_owned());
                };
                let heeds = grub.text.contains("next_entry");
                (!heeds).then(|| "its grub.cfg ignores next_entry".to_owned())
            }
            Self::Kexec => {
                if program(root, "kexec").is_none() {
                    return Some("there is no kexec".to_owned());
                }
                if word(&root.join("sys/kernel/kexec_loaded")).is_none() {
                    return Some("this kernel was built without it".to_owned());
                }
                if word(&root.join("proc/sys/kernel/kexec_load_disabled")).as_deref() == Some("1") {
                    return Some("kernel.kexec_load_disabled is set".to_owned());
                }
                let lockdown = word(&root.join("sys/kernel/security/lockdown"));
                let is_locked = lockdown.is_some_and(|modes| !modes.contains("[none]"));
                is_locked.then(|| "the kernel is locked down".to_owned())
            }
        }
    }

    /// Commands for a single boot of this kernel.
    ///
    /// # Errors
    /// When the kernel is not installed, or the loader does not know it.
    pub(super) fn commands(self, root: &Path, release: &str) -> Result<BootCommands, RebootError> {
        let missing = |why: String| RebootError::NoKernel {
            release: release.to_owned(),
            loader: self.name(),
            why,
        };
        let systemctl = |verb: &str| vec![tool(root, "systemctl"), verb.to_owned()];
        let prepare = match self {
            Self::SystemdBoot => {
                let entry = in_entries(root, release)
                    .ok_or_else(|| missing("no entry of the boot loader has it".to_owned()))?;
                vec![tool(root, "bootctl"), "set-oneshot".to_owned(), entry]
            }
            Self::Grub => {
                let grub = grub(root).ok_or_else(|| missing("GRUB has no menu".to_owned()))?;
                let in_menu = in_grub_menu(&grub.text, release);
                let in_snippets = || {
                    let name = in_entries(root, release)?;
                    Some(name.trim_end_matches(".conf").to_owned())
                };
                let reads_snippets = grub.text.contains("blscfg");
                let entry = in_menu.or_else(|| reads_snippets.then(in_snippets).flatten());
                let menu = grub.menu.display();
                let entry = entry.ok_or_else(|| missing(format!("{menu} has no entry of it")))?;
                vec![grub.reboot.display().to_string(), entry]
            }
            Self::Kexec => return kexec(root, release, &missing),
        };
        Ok(BootCommands { prepare: vec![prepare], boot: systemctl("reboot") })
    }

    /// Command that makes the next boot the usual one again.
    pub(super) fn cancel(self, root: &Path) -> CommandLine {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        match self {
            Self::SystemdBoot => {
                [vec![tool(root, "bootctl")], words(&["set-oneshot", ""])].concat()
            }
            Self::Grub => {
                let name = grub(root).map_or(GRUBS[0], |grub| grub.name);
                let editor = tool(root, &format!("{name}-editenv"));
                [vec![editor], words(&["-", "unset", "next_entry"])].concat()
            }
            Self::Kexec => [vec![tool(root, "kexec")], words(&["-u"])].concat(),
        }
    }
}

fn kexec(
    root: &Path,
    release: &str,
    missing: &dyn Fn(String) -> RebootError,
) -> Result<BootCommands, RebootError> {
    let first = |names: &[String]| {
        let folder = root.join("boot");
        names.iter().map(|name| folder.join(name)).find(|path| path.is_file())
    };
    let file_name = |begin: &str, end: &str| format!("{begin}{release}{end}");
    let image =
        first(&[file_name("vmlinuz-", ""), file_name("kernel-", ""), file_name("vmlinux-", "")]);
    let image = image.ok_or_else(|| missing(format!("there is no /boot/vmlinuz-{release}")))?;
    let initrd = first(&[
        file_name("initrd.img-", ""),
        file_name("initramfs-", ".img"),
        file_name("initrd-", ""),
    ]);
    let line = word(&root.join("proc/cmdline")).unwrap_or_default();
    // Words that the boot loader added to the running kernel's command line are left out.
    let is_own = |word: &&str| !word.starts_with("BOOT_IMAGE=") && !word.starts_with("initrd=");
    let line: Vec<&str> = line.split_whitespace().filter(is_own).collect();
    let mut load = vec![tool(root, "kexec"), "-l".to_owned(), image.display().to_string()];
    load.extend(initrd.map(|path| format!("--initrd={}", path.display())));
    load.push(format!("--command-line={}", line.join(" ")));
    let boot = vec![tool(root, "systemctl"), "kexec".to_owned()];
    Ok(BootCommands { prepare: vec![load], boot })
}

/// The installed GRUB.
struct Grub {
    name: &'static str,
    /// Path of `grub-reboot`, which sets the next entry.
    reboot: PathBuf,
    menu: PathBuf,
    text: String,
}

fn grub(root: &Path) -> Option<Grub> {
    GRUBS.iter().find_map(|&name| {
        let reboot = program(root, &format!("{name}-reboot"))?;
        let menu = root.join("boot").join(name).join("grub.cfg");
        Some(Grub { name, reboot, text: text(&menu)?, menu })
    })
}

/// Path of a program. Beneath another root only its own programs are found, so that tests never run
/// programs of this machine.
fn program(root: &Path, name: &str) -> Option<PathBuf> {
    PROGRAMS.iter().map(|folder| root.join(folder).join(name)).find(|path| path.is_file())
}

/// Path of a program to run; if it is missing, the usual path, so that running it fails with a
/// clear error.
fn tool(root: &Path, name: &str) -> String {
    let usual = || root.join("usr/bin").join(name);
    program(root, name).unwrap_or_else(usual).display().to_string()
}
