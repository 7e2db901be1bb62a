//! Kernels of variants: runs each variant under each of several kernels, in guests or by reboots.
//! Also the execution method of guests that is chosen outside of the plan.

use std::path::{Path, PathBuf};

use treering_model::{Accelerator, DeviceSpec, GuestSpec, Variant};

use super::{Machine, Plan};
use crate::failure::Failure;

/// File name extensions of kernel packages.
const PACKAGES: [&str; 2] = [".deb", ".rpm"];

/// Kernel that was chosen outside of the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelChoice {
    /// Name of its variants; `None` for one from the name of the file.
    pub name: Option<String>,
    /// File or directory of the kernel; with reboots, its release.
    pub file: PathBuf,
}

/// Whole path of a kernel's file or directory, which `whose` names.
///
/// # Errors
/// When it does not exist.
fn existing(kernel: &Path, whose: &str) -> Result<PathBuf, Failure> {
    kernel.canonicalize().map_err(|error| {
        let failure = Failure::of_path(kernel, &error);
        let failure = failure.context(format!("{whose}: no kernel can be read"));
        if kernel.components().count() > 1 {
            return failure;
        }
        let revision = kernel.display();
        failure.hint(format!(
            "name a package, an image or a built tree; a revision of the sources here is \
             git:{revision}, with --build"
        ))
    })
}

/// Copy of a variant under another kernel, in a guest.
///
/// # Errors
/// When the file does not exist.
pub(crate) fn with_kernel(
    variant: &Variant,
    name: &str,
    kernel: &Path,
) -> Result<Variant, Failure> {
    let kernel = existing(kernel, name)?;
    let spec = variant.guest.clone().unwrap_or_else(|| GuestSpec::new(PathBuf::new()));
    let guest = Some(GuestSpec { kernel, ..spec });
    Ok(Variant { name: name.to_owned(), kernel: None, guest, ..variant.clone() })
}

/// Combines each variant with each kernel, in a guest or by reboots. `guest` has the settings for
/// variants without a guest.
///
/// # Errors
/// When a kernel cannot be used on this kind of machine.
pub(super) fn under_kernels(
    variants: Vec<Variant>,
    guest: Option<&GuestSpec>,
    kernels: &[KernelChoice],
    machine: Machine,
) -> Result<Vec<Variant>, Failure> {
    match machine {
        Machine::Guest => in_guests(variants, guest, kernels),
        Machine::Reboot => {
            let release = |kernel: &KernelChoice| {
                let name = kernel.file.to_string_lossy().into_owned();
                let is_file = name.contains('/') || PACKAGES.iter().any(|end| name.ends_with(end));
                let message = format!("--kernel: '{name}' is a file, which is not booted");
                let failure = Failure::usage(message)
                    .hint("with --machine reboot: install it and give its release (`uname -r`)");
                if is_file { Err(failure) } else { Ok((name.clone(), name)) }
            };
            let releases: Vec<_> = kernels.iter().map(release).collect::<Result<_, _>>()?;
            Ok(combined(&variants, &with_unique_names(releases), |variant, release| Variant {
                kernel: Some(release.clone()),
                guest: None,
                ..variant.clone()
            }))
        }
    }
}

/// Emulates every guest: with a clock that counts instructions, or with that of the host.
///
/// # Errors
/// When a variant runs in no guest, or its guest is described otherwise.
pub(crate) fn emulate(plan: &mut Plan, counts_instructions: bool) -> Result<(), Failure> {
    let (option, accelerator) = if counts_instructions {
        ("--icount", Accelerator::Icount)
    } else {
        ("--no-icount", Accelerator::Tcg)
    };
    let usage = |message: String, hint: &str| Failure::usage(message).hint(hint);
    for variant in &mut plan.variants {
        let Some(guest) = &mut variant.guest else {
            let message = format!("{option}: '{}' runs in no guest", variant.name);
            return Err(usage(message, "give --kernel FILE: its guest has such a clock"));
        };
        if guest.accelerator == Some(Accelerator::Kvm) {
            let message = format!("{option}: with KVM, instructions are not counted");
            return Err(usage(message, "leave `accelerator` out of [guest]"));
        }
        if counts_instructions && guest.cpus.is_some_and(|cpus| cpus > 1) {
            let message = format!("{option}: instructions are counted on one CPU only");
            return Err(usage(message, "write cpus = 1 in [guest]"));
        }
        guest.accelerator = Some(accelerator);
    }
    Ok(())
}

/// Makes the names of kernels unique by a number: comparing a kernel with itself is allowed, and
/// shows the effect of chance.
fn with_unique_names<K>(kernels: Vec<(String, K)>) -> Vec<(String, K)> {
    let mut used_names: Vec<String> = Vec::new();
    let each = |(name, kernel): (String, K)| {
        let twins = used_names.iter().filter(|other| **other == name).count();
        used_names.push(name.clone());
        (if twins == 0 { name } else { format!("{name} ({})", twins + 1) }, kernel)
    };
    kernels.into_iter().map(each).collect()
}

/// Combines each variant with each kernel, with unique names. Since kernels are to be compared, the
/// baseline of each variant is the same variant under the first kernel.
fn combined<K>(
    variants: &[Variant],
    kernels: &[(String, K)],
    with: impl Fn(&Variant, &K) -> Variant,
) -> Vec<Variant> {
    let is_alone = variants.len() == 1;
    let each = |variant: &Variant| -> Vec<Variant> {
        let name_of = |variant: &str, kernel: &str| {
            if is_alone { kernel.to_owned() } else { format!("{variant} {kernel}") }
        };
        let named = |(kernel, file): &(String, K)| {
            let against = match kernels {
                [_] => variant.against.as_ref().map(|other| name_of(other, kernel)),
                [(first, _), ..] if first != kernel && !is_alone => {
                    Some(name_of(&variant.name, first))
                }
                _ => None,
            };
            Variant { name: name_of(&variant.name, kernel), against, ..with(variant, file) }
        };
        kernels.iter().map(named).collect()
    };
    variants.iter().flat_map(each).collect()
}

/// Each variant under each of these kernels, in guests.
fn in_guests(
    variants: Vec<Variant>,
    guest: Option<&GuestSpec>,
    kernels: &[KernelChoice],
) -> Result<Vec<Variant>, Failure> {
    let name_and_path = |KernelChoice { name, file }: &KernelChoice| {
        let kernel = existing(file, "--kernel")?;
        Ok((name.clone().unwrap_or_else(|| kernel_name(file)), kernel))
    };
    let named_kernels = kernels.iter().map(name_and_path).collect::<Result<Vec<_>, Failure>>()?;
    if let Some(directory) =
        variants.iter().find(|variant| matches!(variant.device, DeviceSpec::Directory { .. }))
    {
        let message = format!("--kernel: '{}' is a directory of this machine", directory.name);
        return Err(
            Failure::usage(message).hint("a guest works on a device: device = { loop = \"4GiB\" }")
        );
    }
    Ok(combined(&variants, &with_unique_names(named_kernels), |variant, path| {
        let spec = variant.guest.as_ref().or(guest).cloned();
        let spec = spec.unwrap_or_else(|| GuestSpec::new(PathBuf::new()));
        let guest = Some(GuestSpec { kernel: path.clone(), ..spec });
        Variant { kernel: None, guest, ..variant.clone() }
    }))
}

/// Kernel name from the name of its file: `6.1.0-50-amd64` from
/// `linux-image-6.1.0-50-amd64_6.1.176.deb`.
fn kernel_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let begins = ["linux-image-", "kernel-core-", "kernel-", "vmlinuz-", "bzImage-"];
    let name = begins.iter().find_map(|begin| name.strip_prefix(begin)).unwrap_or(&name);
    let name = PACKAGES.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    name.split('_').next().unwrap_or(name).to_owned()
}
