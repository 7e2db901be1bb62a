//! Examination of a kernel without booting it: drivers of filesystems and disks, and modules that
//! belong to another kernel.

use treering_model::GuestDisk;
use treering_model::filesystems;

use crate::kernel::ModuleFile;
use crate::modules::{needed_by_root, of_disk, of_filesystem, of_guest};
use crate::root_transport::RootTransport;
use crate::{GuestError, GuestModule, Kernel};

/// Number of modules that are named in a message.
const NAMED_MAX: usize = 3;

/// State of a driver in a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelDriver {
    /// Code of the image itself.
    BuiltIn,
    /// Nothing says where it is: there are neither modules nor a list of built-in ones.
    Unstated,
    /// Modules, in the order in which they are loaded.
    Loaded(Vec<String>),
    /// Reason why the kernel does not have it.
    Missing(String),
}

/// Findings about a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelExamination {
    /// Drivers of the known filesystems, of all kinds of disks, and of shared roots, by name.
    pub drivers: Vec<(&'static str, KernelDriver)>,
    /// Number of modules that a guest could load.
    pub modules: usize,
    /// Reasons against the kernel, in words.
    pub problems: Vec<String>,
}

/// Examines a kernel. Damage that makes it unreadable is reported by [`Kernel::read`].
pub fn examine(kernel: &Kernel) -> KernelExamination {
    let known = filesystems::all().filter(|one| one.mkfs().is_some());
    let of_filesystems = known.map(|one| (one.name, of_filesystem(kernel, one.name)));
    let of_disks = GuestDisk::ALL.into_iter().map(|disk| (disk.name(), of_disk(kernel, disk)));
    let of_roots =
        RootTransport::ALL.into_iter().map(|one| (one.name(), needed_by_root(kernel, one)));
    let all = of_filesystems.chain(of_disks).chain(of_roots);
    let drivers: Vec<_> = all.map(|(name, found)| (name, state(kernel, found))).collect();
    let is_there = |name: &str| {
        let is_meant = |(own, state): &(&str, KernelDriver)| {
            *own == name && !matches!(state, KernelDriver::Missing(_))
        };
        drivers.iter().any(is_meant)
    };
    let mut problems: Vec<String> = strangers(kernel).into_iter().collect();
    if !filesystems::all().any(|one| one.is_usual && is_there(one.name)) {
        problems.push("it has none of the usual filesystems".to_owned());
    }
    if !GuestDisk::ALL.into_iter().any(|disk| is_there(disk.name())) {
        problems.push("it has no driver for a disk of a guest".to_owned());
    }
    problems.extend(of_guest(kernel).err().map(|error| error.to_string()));
    problems.extend(kernel.modules.values().find_map(damaged));
    KernelExamination { drivers, modules: kernel.modules.len(), problems }
}

fn state(kernel: &Kernel, found: Result<Vec<GuestModule>, GuestError>) -> KernelDriver {
    match found {
        Ok(_) if kernel.built_in.is_none() && kernel.modules.is_empty() => KernelDriver::Unstated,
        Ok(modules) if modules.iter().all(|module| module.is_optional) => KernelDriver::BuiltIn,
        Ok(modules) => {
            KernelDriver::Loaded(modules.into_iter().map(|module| module.name).collect())
        }
        Err(GuestError::MissingModule { module, .. }) => {
            KernelDriver::Missing(format!("no module {module}, and it is not built in"))
        }
        Err(error) => KernelDriver::Missing(error.to_string()),
    }
}

/// Description of a module file that is damaged or none.
fn damaged(file: &ModuleFile) -> Option<String> {
    file.information.as_ref().err().map(|why| format!("{}: {why}", file.path))
}

/// Description of the modules that were built for another release, or in another build of it.
fn strangers(kernel: &Kernel) -> Option<String> {
    let built_for = |name: &str| {
        let information = kernel.modules.get(name)?.information.as_ref().ok()?;
        let own = information.built_for().unwrap_or_default();
        let is_of_other_build =
            information.layout.zip(kernel.layout).is_some_and(|(own, all)| own != all);
        (is_of_other_build || (!own.is_empty() && own != kernel.release)).then_some(own)
    };
    let names: Vec<&str> =
        kernel.modules.keys().map(String::as_str).filter(|it| built_for(it).is_some()).collect();
    let first = built_for(names.first()?)?;
    let named = names[..names.len().min(NAMED_MAX)].join(", ");
    let more = if names.len() > NAMED_MAX { ", …" } else { "" };
    let all = names.len();
    Some(format!("{all} of its modules were built for another kernel ({first}): {named}{more}"))
}
