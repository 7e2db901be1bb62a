//! Kernels of variants: the release that must be running, or a file to boot in a guest; and the
//! settings of guests.

mod extras;

use std::path::{Path, PathBuf};

use treering_model::{Accelerator, GuestSpec, Variant};

use self::extras::{files, modules, qemu, qemu_options};
use super::Known;
use super::format::{GuestTable, PlanTable, VariantTable};
use super::tree::{Optional, Placed};
use super::values::WholeNumber;
use crate::kernels::is_commit;
use crate::plan::Machine;
use crate::plan::error::{Fault, quoted};

/// File name extensions of kernel packages.
const PACKAGES: [&str; 2] = [".deb", ".rpm"];

/// Guest of a section, with an empty path as its kernel.
pub(super) fn guest(section: &GuestTable, known: &Known<'_>) -> Result<GuestSpec, Fault> {
    let base = known.base_dir.as_deref().unwrap_or(Path::new(""));
    let default = GuestSpec::new(PathBuf::new());
    let spec = GuestSpec {
        cpus: section.cpus.value().map(WholeNumber::small),
        memory_bytes: section.memory.value().map_or(default.memory_bytes, |memory| memory.0),
        disk: section.disk.value().map_or(default.disk, |disk| disk.0),
        accelerator: section.accelerator.value().map(|accelerator| accelerator.0),
        timeout_seconds: section
            .timeout
            .value()
            .map_or(default.timeout_seconds, WholeNumber::small),
        root: section.root.as_ref().map(|path| root(path)).transpose()?,
        append: section.append.as_ref().map(|words| append(words)).transpose()?.unwrap_or_default(),
        queues: section.queues.value().map(WholeNumber::small),
        has_iothread: section.iothread.value().unwrap_or_default(),
        is_rotational: section.rotational.value().unwrap_or_default(),
        numa_nodes: section.numa.value().map(WholeNumber::small),
        program: section.program.as_ref().map(|path| base.join(path.text())),
        qemu: section.qemu.as_ref().map(|path| qemu(path, base)).transpose()?,
        qemu_options: listed(section.qemu_options.as_ref().map(qemu_options))?,
        modules: listed(section.modules.as_ref().map(|entry| modules(entry, base)))?,
        files: listed(section.files.as_ref().map(|entry| files(entry, base)))?,
        ..default
    };
    check_disk(section, &spec)?;
    if let (Some(Accelerator::Icount), Some(value)) = (spec.accelerator, &section.accelerator)
        && spec.cpus.is_some_and(|cpus| cpus > 1)
    {
        let message = "instructions are counted on one CPU only";
        return Err(value.fault(message, "").hint("write cpus = 1"));
    }
    Ok(spec)
}

/// A list that may be absent.
fn listed<T>(list: Option<Result<Vec<T>, Fault>>) -> Result<Vec<T>, Fault> {
    list.transpose().map(Option::unwrap_or_default)
}

/// Maximum length of the added kernel parameters, in bytes; x86 kernels accept 2,048 in all.
const APPEND_BYTES_MAX: usize = 1024;
/// Kernel parameters that the guest sets itself.
const RESERVED_PARAMETERS: [&str; 7] =
    ["init", "rdinit", "root", "console", "panic", "oops", "initrd"];

/// Checks that the disk has what is asked of it.
fn check_disk(section: &GuestTable, spec: &GuestSpec) -> Result<(), Fault> {
    let refused = |what: &str| format!("a disk of the kind {} has {what}", spec.disk.name());
    if let Some(value) = section.queues.as_ref().filter(|_| !spec.disk.has_queues()) {
        let hint = "leave it out, or write disk = \"virtio-blk\", \"nvme\" or \"scsi\"";
        return Err(value.fault(refused("one queue"), "").hint(hint));
    }
    let iothread = section.iothread.as_ref().filter(|_| spec.has_iothread);
    if let Some(value) = iothread.filter(|_| !spec.disk.has_iothread()) {
        let hint = "leave it out, or write disk = \"virtio-blk\" or \"scsi\"";
        return Err(value.fault(refused("no thread of its own"), "").hint(hint));
    }
    let rotational = section.rotational.as_ref().filter(|_| spec.is_rotational);
    if let Some(value) = rotational.filter(|_| !spec.disk.has_rotation()) {
        let hint = "leave it out, or write disk = \"scsi\" or \"ahci\"";
        return Err(value.fault(refused("no word for rotation"), "").hint(hint));
    }
    Ok(())
}

/// Checks the path of the root that guests share with the host.
fn root(path: &Placed<String>) -> Result<PathBuf, Fault> {
    let root = PathBuf::from(path.text());
    if root.is_absolute() {
        return Ok(root);
    }
    let message = format!("{} is not a path from / on", quoted(path));
    Err(path.fault(message, "").hint("write root = \"/\" for the programs of this machine"))
}

/// Checks additional parameters for the kernel's command line.
fn append(words: &Placed<String>) -> Result<String, Fault> {
    let text = words.split_whitespace().collect::<Vec<&str>>().join(" ");
    let is_plain = |c: char| c.is_ascii() && !c.is_control() && c != '"';
    if !words.chars().all(is_plain) || text.len() > APPEND_BYTES_MAX {
        let message = format!("no words of a command line, of at most {APPEND_BYTES_MAX} bytes");
        return Err(words.fault(message, "write append = \"mitigations=off\""));
    }
    let is_ours = |word: &&str| {
        let name = word.split('=').next().unwrap_or_default();
        *word == "--" || RESERVED_PARAMETERS.contains(&name)
    };
    match text.split(' ').find(is_ours) {
        Some(word) => {
            let message = format!("{} is given by the guest itself", quoted(word));
            Err(words.fault(message, "").hint("leave it out"))
        }
        None => Ok(text),
    }
}

/// Machine that runs the kernels. With reboots, each variant must name an installed kernel.
pub(super) fn machine(top: &PlanTable, variants: &[Variant]) -> Result<Machine, Fault> {
    let Some(value) = &top.machine else { return Ok(Machine::default()) };
    let without = variants.iter().find(|variant| variant.kernel.is_none());
    let (Machine::Reboot, Some(variant)) = (value.0, without) else { return Ok(value.0) };
    let name = quoted(&variant.name);
    let (message, hint) = match &variant.guest {
        Some(guest) => (
            format!("{name} names a file, which this machine cannot boot"),
            format!(
                "install {} and name its release, as printed by `uname -r`; or write machine = \
                 \"guest\"",
                guest.kernel.file_name().unwrap_or_default().display()
            ),
        ),
        None => (
            format!("{name} names no kernel to boot"),
            "write kernel = \"6.1.0-47-amd64\", as printed by `uname -r`, in each variant"
                .to_owned(),
        ),
    };
    Err(value.fault(message, "").hint(hint))
}

/// Checks that a plan whose variants name commits says how to build them, and no other does.
pub(super) fn commits_are_built(top: &PlanTable) -> Result<(), Fault> {
    let sections = top.variant.iter().flat_map(|sections| &sections.0);
    let mut kernels = sections.filter_map(|section| section.kernel.as_ref());
    match (kernels.find(|kernel| is_commit(Path::new(kernel.text()))), &top.build) {
        (Some(kernel), None) => {
            let message =
                format!("{} is a commit, and nothing says how to build it", quoted(kernel));
            let hint = "write build = \"make -s -j8 olddefconfig bindeb-pkg\" above the sections";
            Err(kernel.fault(message, "").hint(hint))
        }
        (None, Some(build)) => {
            let message = "no variant has a kernel that is built";
            let hint = "name a commit: kernel = \"git:v6.11\"; or leave `build` out";
            Err(build.key_fault(message, "").hint(hint))
        }
        _ => Ok(()),
    }
}

/// Kernel of a variant: the release that must be running, or a guest with its own kernel.
pub(super) fn kernel_and_guest(
    section: &VariantTable,
    shared: Option<&GuestSpec>,
    known: &Known<'_>,
) -> Result<(Option<String>, Option<GuestSpec>), Fault> {
    let own = section.guest.as_ref();
    let Some(kernel) = &section.kernel else {
        let Some(stray) = own else { return Ok((None, None)) };
        let message = "a guest without a kernel: nothing is booted in it";
        let hint = "write kernel = \"linux-image-….deb\", or leave `guest` out";
        return Err(stray.key_fault(message, "").hint(hint));
    };
    let is_file = kernel.contains('/') || PACKAGES.iter().any(|end| kernel.ends_with(end));
    let is_commit = is_commit(Path::new(kernel.text()));
    if is_commit || is_file {
        let own = own.map(|own| guest(own, known)).transpose()?;
        let spec = own.or_else(|| shared.cloned());
        let spec = spec.unwrap_or_else(|| GuestSpec::new(PathBuf::new()));
        // A commit is found in the repository of the current directory.
        let base = known.base_dir.as_deref().filter(|_| !is_commit).unwrap_or(Path::new(""));
        return Ok((None, Some(GuestSpec { kernel: base.join(kernel.text()), ..spec })));
    }
    if let Some(stray) = own {
        let message = format!("{} names a kernel that runs already", quoted(kernel));
        let hint = "leave `guest` out, or name the file of a kernel, with a / in it";
        return Err(stray.key_fault(message, "").hint(hint));
    }
    if kernel.contains(char::is_whitespace) {
        let message = format!("{} is no kernel release", quoted(kernel));
        return Err(kernel.fault(message, "").hint("give it as printed by `uname -r`"));
    }
    Ok((Some(kernel.to_string()), None))
}
