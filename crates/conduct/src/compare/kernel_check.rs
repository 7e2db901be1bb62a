//! Check of a kernel file before a plan uses it: identity, drivers, modules, and one boot.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use treering_guest::{
    BootImage, BootParameters, GuestEnd, GuestProgram, Initramfs, Kernel, KernelDriver, Qemu,
    examine, needed,
};
use treering_model::{Accelerator, GuestDisk, GuestSpec, filesystems};
use treering_sys::StopFlag;

use crate::failure::{Failure, FailureKind};

/// Time limit of the boot, which is emulated.
const LIMIT: Duration = Duration::from_secs(180);
/// Memory of the guest that is booted.
const MEMORY_BYTES: u64 = 512 << 20;
/// Width of the names in front of the findings.
const NAME_WIDTH: usize = 12;

/// Result of the check of one kernel.
pub struct KernelCheck {
    /// Findings, a line each.
    pub lines: Vec<String>,
    /// True if the kernel can be used in guests.
    pub is_usable: bool,
}

/// Checks the kernel in a file; `boot` holds the search path for QEMU if the kernel is to be booted
/// once.
///
/// # Errors
/// When a boot is requested and this machine cannot boot guests, or a signal arrives.
pub fn check_kernel_file(
    file: &Path,
    boot: Option<&OsStr>,
    stop: &StopFlag,
) -> Result<KernelCheck, Failure> {
    let mut lines = vec![file.display().to_string()];
    let kernel = match Kernel::read(file) {
        Ok(kernel) => kernel,
        Err(error) => {
            lines.push(finding("unusable", error.to_string()));
            lines.extend(error.hint().map(|hint| finding("", hint)));
            return Ok(KernelCheck { lines, is_usable: false });
        }
    };
    let contents = examine(&kernel);
    lines.push(finding("release", format!("{} {}", kernel.release, kernel.version)));
    lines.push(finding("architecture", kernel.architecture.title()));
    lines.push(finding("image", format!("{} bytes, whole by its header", kernel.image.len())));
    lines.push(finding("modules", format!("{} that a guest could load", contents.modules)));
    let drivers = contents.drivers.iter().map(|(name, driver)| finding(name, words(driver)));
    lines.extend(drivers);
    let mut problems = contents.problems;
    if let Some(search) = boot
        && problems.is_empty()
    {
        let usable: Vec<&str> = usual_filesystems(&contents.drivers);
        match boot_once(&kernel, &usable, search, stop)? {
            Ok(took) => lines.push(finding("boots", format!("in {:.1} s", took.as_secs_f64()))),
            Err(why) => problems.push(why),
        }
    }
    let is_usable = problems.is_empty();
    lines.extend(problems.into_iter().map(|problem| finding("unusable", problem)));
    Ok(KernelCheck { lines, is_usable })
}

fn finding(name: &str, text: impl AsRef<str>) -> String {
    format!("  {name:NAME_WIDTH$}  {}", text.as_ref()).trim_end().to_owned()
}

fn words(driver: &KernelDriver) -> String {
    match driver {
        KernelDriver::BuiltIn => "built in".to_owned(),
        KernelDriver::Unstated => "built in, as far as can be seen: it came alone".to_owned(),
        KernelDriver::Loaded(modules) => format!("modules: {}", modules.join(" ")),
        KernelDriver::Missing(why) => format!("missing: {why}"),
    }
}

/// Names of the usually compared filesystems that the kernel has.
fn usual_filesystems(drivers: &[(&'static str, KernelDriver)]) -> Vec<&'static str> {
    let is_usual = |name: &str| filesystems::by_name(name).is_some_and(|one| one.is_usual);
    let available = drivers.iter().filter(|(_, state)| !matches!(state, KernelDriver::Missing(_)));
    available.map(|(name, _)| *name).filter(|name| is_usual(name)).collect()
}

/// Boots the kernel once with the modules of its filesystems; returns the time until the guest was
/// ready, or the reason why it was not.
fn boot_once(
    kernel: &Kernel,
    names: &[&str],
    search: &OsStr,
    stop: &StopFlag,
) -> Result<Result<Duration, String>, Failure> {
    let skipped = "--no-boot checks the file without QEMU";
    let cannot = |error| Failure::from(error).hint(skipped);
    let program = GuestProgram::find(kernel.architecture, None).map_err(cannot)?;
    let qemu = Qemu::find(search, kernel.architecture).map_err(cannot)?;
    let disk = GuestDisk::ALL.into_iter().find(|&disk| needed(kernel, disk, "", &[]).is_ok());
    let Some(disk) = disk else {
        return Ok(Err("it has no port or no disk of a guest (virtio_console)".to_owned()));
    };
    let mut modules = Vec::new();
    for name in names {
        for module in needed(kernel, disk, name, &[])? {
            if modules.iter().all(|known: &treering_guest::GuestModule| known.name != module.name) {
                modules.push(module);
            }
        }
    }
    let initramfs = Initramfs::new(&program, &modules, &[])
        .map_err(|error| Failure::environment(error.to_string()))?;
    let image = BootImage::new(kernel, &initramfs)?;
    let spec =
        GuestSpec { cpus: Some(1), memory_bytes: MEMORY_BYTES, disk, ..GuestSpec::new("".into()) };
    let boot = BootParameters {
        qemu: &qemu,
        bootable: &image,
        spec: &spec,
        accelerator: Accelerator::Tcg,
        disks: &[],
        root: None,
        limit: LIMIT,
    };
    match boot.try_boot(LIMIT, stop) {
        Ok(took) => Ok(Ok(took)),
        Err(GuestEnd::Broken { why } | GuestEnd::Refused { why }) => Ok(Err(why)),
        Err(GuestEnd::Interrupted { signal }) => {
            let message = format!("stopped by signal {signal}");
            Err(Failure::new(FailureKind::Interrupted, message))
        }
        Err(GuestEnd::Done { console }) => Ok(Err(console)),
    }
}
