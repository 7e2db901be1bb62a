//! Extras that a plan gives to guests: emulators, modules in files, and files of this machine.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use treering_guest::{Architecture, ExtraFile, GuestError, GuestProgram, Kernel, Qemu};
use treering_model::{ExtraModule, Fact, Fingerprint, GuestSpec, Variant};

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

    /// Architecture of all kernels that were read. What guests of two architectures take for the
    /// same work cannot be compared.
    ///
    /// # Errors
    /// When there are two.
    pub(super) fn architecture(&self) -> Result<Option<Architecture>, Failure> {
        let mut all = self.0.values();
        let Some(first) = all.next() else { return Ok(None) };
        let Some(other) = all.find(|kernel| kernel.architecture != first.architecture) else {
            return Ok(Some(first.architecture));
        };
        let is_for =
            |kernel: &Kernel| format!("{} is for {}", kernel.release, kernel.architecture.title());
        let message = format!("{}, and {}", is_for(first), is_for(other));
        let hint = "the numbers of two architectures cannot be compared: give kernels for one";
        Err(Failure::usage(message).hint(hint))
    }

    /// Files of the kernels with what was read.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Path, &Kernel)> {
        self.0.iter().map(|((path, _), kernel)| (path.as_path(), kernel))
    }
}

/// Things that the guests of a plan share, by the files that it names for them.
type ByFile<T> = BTreeMap<Option<PathBuf>, T>;

/// Finds what guests share, once for each file.
fn by_file<T, E>(
    files: impl Iterator<Item = Option<PathBuf>>,
    find: impl Fn(Option<&Path>) -> Result<T, E>,
) -> Result<ByFile<T>, E> {
    let mut all = ByFile::new();
    for file in files {
        if let Entry::Vacant(vacant) = all.entry(file) {
            let found = find(vacant.key().as_deref())?;
            vacant.insert(found);
        }
    }
    Ok(all)
}

/// Programs that run in the guests of a plan, by the files that it names.
#[derive(Debug, Default)]
pub(super) struct Programs(ByFile<GuestProgram>);

impl Programs {
    /// Finds the programs of these guests.
    ///
    /// # Errors
    /// When there is none for this architecture, or one of them does not do.
    pub(super) fn find<'s>(
        specs: impl Iterator<Item = &'s GuestSpec>,
        architecture: Architecture,
    ) -> Result<Self, GuestError> {
        let files = specs.map(|spec| spec.program.clone());
        by_file(files, |named| GuestProgram::find(architecture, named)).map(Self)
    }

    /// Program of a guest.
    pub(super) fn of(&self, spec: &GuestSpec) -> &GuestProgram {
        &self.0[&spec.program]
    }
}

/// Emulators of a plan, by the programs that it names.
#[derive(Debug, Default)]
pub(super) struct Emulators(ByFile<Qemu>);

impl Emulators {
    /// Finds the emulators of these guests.
    ///
    /// # Errors
    /// When one of them cannot be started.
    pub(super) fn find<'s>(
        specs: impl Iterator<Item = &'s GuestSpec>,
        architecture: Architecture,
        search: &OsStr,
    ) -> Result<Self, GuestError> {
        let files = specs.map(|spec| spec.qemu.clone());
        let find = |named: Option<&Path>| match named {
            Some(program) => Qemu::at(program.to_owned()),
            None => Qemu::find(search, architecture),
        };
        by_file(files, find).map(Self)
    }

    /// Emulator of a guest.
    pub(super) fn of(&self, spec: &GuestSpec) -> &Qemu {
        &self.0[&spec.qemu]
    }
}

/// Refuses what takes programs of this machine into a guest of another architecture.
///
/// # Errors
/// When the guest would need such programs.
pub(super) fn refuse_programs(
    architecture: Architecture,
    spec: &GuestSpec,
    variant: &Variant,
) -> Result<(), Failure> {
    if architecture.is_own() {
        return Ok(());
    }
    let (what, hint) = if spec.root.as_deref() == Some(Path::new("/")) {
        ("a shared root", "name the directory of a system for that: root = \"/srv/arm64\"")
    } else if spec.root.is_none() && !variant.settings.layers.is_empty() {
        ("layers", "share the root of a system for that, or leave the layers out")
    } else {
        return Ok(());
    };
    let title = architecture.title();
    let message = format!("{what} would need programs of this machine in a guest for {title}");
    Err(Failure::usage(message).context(&variant.name).hint(hint))
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
