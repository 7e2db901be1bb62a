//! Extras that a plan gives to guests: emulators, modules in files, and files of this machine.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use treering_guest::{ExtraFile, Kernel, Qemu};
use treering_model::{ExtraModule, Fact, Fingerprint, GuestSpec};

use crate::compare::guest_files::extra_file;
use crate::failure::Failure;

/// Kernel file with the modules that a plan adds to it.
type KernelKey = (PathBuf, Vec<PathBuf>);

/// Kernels of a plan, each read once.
#[derive(Debug, Default)]
pub(super) struct Kernels(BTreeMap<KernelKey, Kernel>);

fn key(spec: &GuestSpec) -> KernelKey {
    (spec.kernel.clone(), spec.module_files())
}

impl Kernels {
    /// Reads the kernel of a guest, unless it is there already.
    ///
    /// # Errors
    /// When the kernel or a module that is added to it cannot be read.
    pub(super) fn read(&mut self, spec: &GuestSpec) -> Result<&Kernel, Failure> {
        let key = key(spec);
        if !self.0.contains_key(&key) {
            let mut kernel = Kernel::read(&spec.kernel)?;
            key.1.iter().try_for_each(|file| kernel.add_module(file))?;
            self.0.insert(key.clone(), kernel);
        }
        Ok(&self.0[&key])
    }

    /// Kernel of a guest, which [`Kernels::read`] has read.
    pub(super) fn of(&self, spec: &GuestSpec) -> &Kernel {
        &self.0[&key(spec)]
    }

    /// Files of the kernels with what was read.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Path, &Kernel)> {
        self.0.iter().map(|((path, _), kernel)| (path.as_path(), kernel))
    }
}

/// Emulators of a plan, by the programs that it names.
#[derive(Debug, Default)]
pub(super) struct Emulators(BTreeMap<Option<PathBuf>, Qemu>);

impl Emulators {
    /// Finds the emulators of these guests.
    ///
    /// # Errors
    /// When one of them cannot be started.
    pub(super) fn find<'s>(
        specs: impl Iterator<Item = &'s GuestSpec>,
        search: &OsStr,
    ) -> Result<Self, Failure> {
        let mut all = BTreeMap::new();
        for spec in specs {
            if !all.contains_key(&spec.qemu) {
                let found = match &spec.qemu {
                    Some(program) => Qemu::at(program.clone())?,
                    None => Qemu::find(search)?,
                };
                all.insert(spec.qemu.clone(), found);
            }
        }
        Ok(Self(all))
    }

    /// Emulator of a guest.
    pub(super) fn of(&self, spec: &GuestSpec) -> &Qemu {
        &self.0[&spec.qemu]
    }
}

/// Files of this machine that a plan adds to a guest.
///
/// # Errors
/// When one cannot be read, is too large, or has a place that belongs to the guest itself.
pub(super) fn files(spec: &GuestSpec) -> Result<Vec<ExtraFile>, Failure> {
    let file = |path: &PathBuf| {
        let path = std::path::absolute(path).map_err(|error| Failure::of_path(path, &error))?;
        if !ExtraFile::is_possible(&path) {
            let message = format!("{} is a path that a guest uses itself", path.display());
            let hint = "give a file outside of /proc, /sys, /dev, /run, /tmp, /mnt and /root";
            return Err(Failure::usage(message).hint(hint));
        }
        let read = extra_file(&path, 0)?;
        Ok(ExtraFile { path: path.to_string_lossy().into_owned(), ..read })
    };
    spec.files.iter().map(file).collect()
}

/// Facts about the modules and the files that a plan adds to a guest, with their content.
///
/// # Errors
/// When one cannot be read.
pub(super) fn facts(spec: &GuestSpec) -> Result<Vec<Fact>, Failure> {
    let with_content = |path: &Path| {
        let bytes = std::fs::read(path).map_err(|error| Failure::of_path(path, &error))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(format!("{name} ({})", Fingerprint::from_bytes(&bytes).text()))
    };
    let module = |module: &ExtraModule| match module {
        ExtraModule::OfKernel(name) => Ok(name.clone()),
        ExtraModule::File(path) => with_content(path),
    };
    let modules: Result<Vec<String>, Failure> = spec.modules.iter().map(module).collect();
    let files: Result<Vec<String>, Failure> =
        spec.files.iter().map(|path| with_content(path)).collect();
    let all = [("guest.modules", modules?), ("guest.files", files?)];
    let said = all.into_iter().filter(|(_, values)| !values.is_empty());
    let fact = |(name, values): (&str, Vec<String>)| Fact {
        name: name.to_owned(),
        value: values.join(", "),
    };
    Ok(said.map(fact).collect())
}
