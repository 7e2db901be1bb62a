//! Kernels of variants: the release that must be running, or a file to boot in a guest; and the
//! settings of guests.

use std::path::{Path, PathBuf};

use treering_model::{Accelerator, GuestDisk, GuestSpec, Variant};

use super::Known;
use super::nearest::suggestion;
use super::quantity::size;
use super::section::{GUEST, Section, Value};
use crate::plan::Machine;
use crate::plan::error::{Fault, quoted};

/// Accepted guest memory, in MiB.
const MEMORY_MIB: std::ops::RangeInclusive<u64> = 256..=1 << 20;
const CPUS_MAX: u64 = 255;
/// Accepted boot timeout: emulated kernels need at least 10 s; one day is the cap.
const TIMEOUT_SECONDS: std::ops::RangeInclusive<u32> = 10..=86_400;
/// File name extensions of kernel packages.
const PACKAGES: [&str; 2] = [".deb", ".rpm"];

/// Guest of a plan document, without a kernel.
#[derive(Clone, Debug)]
pub(super) struct Guest(GuestSpec);

impl Guest {
    /// Guest specification with an empty path as its kernel.
    pub(super) fn spec(self) -> GuestSpec {
        self.0
    }
}

/// Reads a `[guest]` section.
pub(super) fn guest(value: &Value<'_>) -> Result<Guest, Fault> {
    let section = value.section(&GUEST)?;
    let mut spec = GuestSpec::new(PathBuf::new());
    if let Some(cpus) = section.get("cpus") {
        spec.cpus = u16::try_from(cpus.whole(1..=CPUS_MAX)?).unwrap_or(spec.cpus);
    }
    if let Some(memory) = section.get("memory") {
        let bytes = size(&memory)?;
        if !MEMORY_MIB.contains(&(bytes >> 20)) {
            let message = format!("a guest with {bytes} bytes of memory cannot be had");
            return Err(memory.fault(message, "write a size from \"256MiB\" to \"1TiB\""));
        }
        spec.memory_bytes = bytes;
    }
    if let Some(disk) = section.get("disk") {
        let known = GuestDisk::ALL.map(|one| (one, one.name()));
        spec.disk = choice(&disk, "a kind of disk", "disks", &known)?;
    }
    if let Some(accelerator) = section.get("accelerator") {
        let known = Accelerator::ALL.map(|one| (one, one.name()));
        spec.accelerator = Some(choice(&accelerator, "an accelerator", "accelerators", &known)?);
        if spec.accelerator == Some(Accelerator::Icount) {
            if section.get("cpus").is_some() && spec.cpus > 1 {
                let message = "instructions are counted on one CPU only";
                return Err(accelerator.fault(message, "").hint("write cpus = 1"));
            }
            spec.cpus = 1;
        }
    }
    if let Some(timeout) = section.get("timeout") {
        spec.timeout_seconds = timeout.whole_u32(TIMEOUT_SECONDS)?;
    }
    Ok(Guest(spec))
}

/// Reads the machine that runs the kernels. With reboots, each variant must name an installed
/// kernel.
pub(super) fn machine(value: &Value<'_>, variants: &[Variant]) -> Result<Machine, Fault> {
    let known = Machine::ALL.map(|one| (one, one.name()));
    let machine = choice(value, "a machine", "machines", &known)?;
    if machine == Machine::Guest {
        return Ok(machine);
    }
    if let Some(variant) = variants.iter().find(|variant| variant.kernel.is_none()) {
        let name = quoted(&variant.name);
        let (message, hint) = match &variant.guest {
            Some(guest) => (
                format!("{name} names a file, which this machine cannot boot"),
                format!(
                    "install {} and name its release, as printed by `uname -r`; or write machine \
                     = \"guest\"",
                    guest.kernel.file_name().unwrap_or_default().display()
                ),
            ),
            None => (
                format!("{name} names no kernel to boot"),
                "write kernel = \"6.1.0-47-amd64\", as printed by `uname -r`, in each variant"
                    .to_owned(),
            ),
        };
        return Err(value.fault(message, "").hint(hint));
    }
    Ok(machine)
}

fn choice<T: Copy>(
    value: &Value<'_>,
    what: &str,
    all: &str,
    known: &[(T, &str)],
) -> Result<T, Fault> {
    let word = value.word(what)?;
    let found = known.iter().find(|(_, name)| *name == word).map(|(one, _)| *one);
    found.ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(_, name)| *name).collect();
        let message = format!("{} is not {what}", quoted(word));
        value.fault(message, "").hint(suggestion(word, &names, all))
    })
}

/// Reads the kernel of a variant: the release that must be running, or a guest with its own kernel.
pub(super) fn kernel_and_guest(
    section: &Section<'_>,
    shared: Option<&Guest>,
    known: &Known<'_>,
) -> Result<(Option<String>, Option<GuestSpec>), Fault> {
    let own = section.get("guest");
    let Some(value) = section.get("kernel") else {
        return match own {
            None => Ok((None, None)),
            Some(stray) => {
                let message = "a guest without a kernel: nothing is booted in it";
                let hint = "write kernel = \"linux-image-….deb\", or leave `guest` out";
                Err(Fault::at(stray.key_span, message, "").hint(hint))
            }
        };
    };
    let word = value.word("a kernel release, or the file of a kernel")?;
    let is_file = word.contains('/') || PACKAGES.iter().any(|end| word.ends_with(end));
    if is_file {
        let of_variant = own.map(|own| guest(&own)).transpose()?;
        let spec = of_variant
            .as_ref()
            .or(shared)
            .map_or_else(|| GuestSpec::new(PathBuf::new()), |Guest(spec)| spec.clone());
        let base = known.base_dir.as_deref().unwrap_or(Path::new(""));
        return Ok((None, Some(GuestSpec { kernel: base.join(word), ..spec })));
    }
    if let Some(stray) = own {
        let message = format!("{} names a kernel that runs already", quoted(word));
        let hint = "leave `guest` out, or name the file of a kernel, with a / in it";
        return Err(Fault::at(stray.key_span, message, "").hint(hint));
    }
    if word.contains(char::is_whitespace) {
        let message = format!("{} is no kernel release", quoted(word));
        return Err(value.fault(message, "").hint("give it as printed by `uname -r`"));
    }
    Ok((Some(word.to_owned()), None))
}
