//! Extras of guests in a plan: the emulator and its options, modules, and files.

use std::path::{Path, PathBuf};

use treering_model::ExtraModule;

use crate::plan::document::tree::{Entry, Placed};
use crate::plan::document::values::OneOrMany;
use crate::plan::document::words;
use crate::plan::error::{Fault, quoted};

/// Options of QEMU that a plan may give, each with a value. All others are set by treering, or name
/// files and devices of the host, which must be guarded like every other device.
const OPTIONS: [&str; 8] =
    ["-cpu", "-device", "-machine", "-object", "-global", "-rtc", "-smbios", "-overcommit"];
/// Objects of QEMU that open no file of the host.
const OBJECTS: [&str; 5] =
    ["iothread", "memory-backend-memfd", "memory-backend-ram", "rng-builtin", "throttle-group"];
/// Beginnings of the names of QEMU devices that open neither a file nor a device of the host.
const DEVICES: [&str; 14] = [
    "amd-iommu",
    "cxl-",
    "edu",
    "i6300esb",
    "intel-iommu",
    "ioh3420",
    "nvdimm",
    "pc-dimm",
    "pcie-",
    "pvpanic",
    "pxb",
    "virtio-balloon",
    "virtio-iommu",
    "virtio-rng",
];
/// Maximum number of options, modules or files.
const EXTRAS_MAX: usize = 64;

/// Program of the emulator; a relative path begins where the plan is.
pub(super) fn qemu(path: &Placed<String>, base: &Path) -> Result<PathBuf, Fault> {
    if path.contains('/') {
        return Ok(base.join(path.text()));
    }
    let message = format!("{} is no path", quoted(path));
    Err(path.fault(message, "").hint("write qemu = \"/usr/local/bin/qemu-system-x86_64\""))
}

/// Additional options of the emulator.
pub(super) fn qemu_options(entry: &Entry<OneOrMany<String>>) -> Result<Vec<String>, Fault> {
    let words = words::of_command(entry)?;
    let fault = |message: String| entry.fault(message, "");
    if words.len() > 2 * EXTRAS_MAX {
        return Err(fault(format!("more than {EXTRAS_MAX} options")));
    }
    for pair in words.chunks(2) {
        let option = &pair[0];
        if !OPTIONS.contains(&option.as_str()) {
            let message = format!("{} is no option that a plan gives to QEMU", quoted(option));
            let hint = format!(
                "these are: {}; disks, CPUs, memory and the kernel have keys of their own",
                OPTIONS.join(", ")
            );
            return Err(fault(message).hint(hint));
        }
        let Some(value) = pair.get(1) else {
            return Err(fault(format!("{} has no value", quoted(option))));
        };
        check_value(option, value)
            .map_err(|message| fault(message).hint("give a disk with `device` of the variant"))?;
    }
    Ok(words)
}

/// Refuses the value of an option that may open a file or a device of the host.
fn check_value(option: &str, value: &str) -> Result<(), String> {
    let first = value.split(',').next().unwrap_or_default();
    let named = ["driver=", "qom-type="].iter().find_map(|key| first.strip_prefix(key));
    let first = named.unwrap_or(first);
    let is_harmless = match option {
        "-device" => DEVICES.iter().any(|begin| first.starts_with(begin)),
        "-object" => OBJECTS.contains(&first),
        _ => !value.contains("dumpdtb") && !value.contains("file="),
    };
    if is_harmless && !value.contains('/') {
        return Ok(());
    }
    Err(format!("{} may open a file or a device of this machine", quoted(value)))
}

/// Additional modules: names of modules of the kernel, and paths of files, which have a `/`.
pub(super) fn modules(
    entry: &Entry<OneOrMany<String>>,
    base: &Path,
) -> Result<Vec<ExtraModule>, Fault> {
    let read = |text: &str| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        if text.contains('/') {
            Ok(ExtraModule::File(base.join(text)))
        } else if !text.is_empty() && text.chars().all(is_name) {
            Ok(ExtraModule::OfKernel(text.to_owned()))
        } else {
            Err("write the name of a module, such as \"zram\", or a path with a / in it")
        }
    };
    each(entry, "no module", read)
}

/// Additional files of the initramfs; a relative path begins where the plan is.
pub(super) fn files(entry: &Entry<OneOrMany<String>>, base: &Path) -> Result<Vec<PathBuf>, Fault> {
    let read = |text: &str| match text {
        "" => Err("write the path of a file of this machine"),
        text => Ok(base.join(text)),
    };
    each(entry, "no file", read)
}

/// Reads each element of a list; `wrong` says what a refused one is.
fn each<T>(
    entry: &Entry<OneOrMany<String>>,
    wrong: &str,
    read: impl Fn(&str) -> Result<T, &'static str>,
) -> Result<Vec<T>, Fault> {
    let elements = entry.elements(&entry.span);
    if elements.len() > EXTRAS_MAX {
        return Err(entry.fault(format!("more than {EXTRAS_MAX} in `{}`", entry.key), ""));
    }
    let one = |(span, text): (&std::ops::Range<usize>, &String)| {
        let fault =
            |hint| Fault::at(span.clone(), format!("{} is {wrong}", quoted(text)), "").hint(hint);
        read(text).map_err(fault)
    };
    elements.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::check_value;

    #[test]
    fn options_that_open_something_of_the_host_are_refused() {
        for (option, value, is_allowed) in [
            ("-cpu", "max,-avx2", true),
            ("-device", "virtio-rng-pci", true),
            ("-device", "driver=virtio-balloon-pci", true),
            ("-device", "vfio-pci,host=01:00.0", false),
            ("-device", "driver=vfio-pci,host=01:00.0", false),
            ("-device", "host=01:00.0,driver=vfio-pci", false),
            ("-device", "{\"driver\":\"vfio-pci\"}", false),
            ("-device", "usb-mtp,rootdir=..", false),
            ("-device", "loader,file=image,addr=0", false),
            ("-device", "virtio-rng-pci,romfile=/etc/shadow", false),
            ("-device", "intel-iommu,intremap=on", true),
            ("-smbios", "file=table", false),
            ("-object", "rng-builtin,id=r", true),
            ("-object", "memory-backend-file,id=m,mem-path=/dev/sda,share=on,size=1G", false),
            ("-machine", "hmat=on", true),
            ("-machine", "dumpdtb=/etc/passwd", false),
        ] {
            assert_eq!(check_value(option, value).is_ok(), is_allowed, "{option} {value}");
        }
    }
}
