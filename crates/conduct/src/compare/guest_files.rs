//! Files that a job needs in a guest: its options, the files named by them, and the program to run.
//! No other files exist in a guest, unless it shares the root of the host.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::plan::PlannedJob;
use treering_guest::{Architecture, ExtraFile, GuestProgram, with_libraries};
use treering_model::filesystems::by_name;
use treering_model::{Layer, Variant};
use treering_script::ValueKind;

use crate::failure::{Failure, FailureKind};
use crate::host::PlanOptions;
use crate::trial::beginning::named;

/// Maximum size of a file for a guest.
const EXTRA_BYTES_MAX: u64 = 64 << 20;

/// Directories of system programs that may be missing from a user's search path.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin";

/// Configuration file of mke2fs, with the default features.
const MKFS_CONFIGURATION: &str = "/etc/mke2fs.conf";

/// Options of a workload by name.
type Options = Vec<(String, String)>;

/// Options of a job with the paths that a guest sees, and the files that they name. `root` is the
/// directory of this machine that the guest shares as its root; its program has to be for the
/// architecture of the guest.
pub(crate) fn options(
    job: &PlannedJob,
    around: &PlanOptions<'_>,
    root: Option<&Path>,
    architecture: Architecture,
) -> Result<(Options, Vec<ExtraFile>), Failure> {
    let base = around.plan_dir.as_deref();
    let workload = named(around.workloads, &job.workload);
    let specs = workload.map_or(&[][..], |workload| workload.manifest().native);
    let kind = |name: &str| specs.iter().find(|spec| spec.name == name).map(|spec| &spec.value);
    let takes_path = |name: &str| {
        use ValueKind::{Operand, Operands, Path, Paths};
        kind(name).is_some_and(|kind| matches!(kind, Path | Paths | Operand | Operands))
    };
    let (mut given, mut extras) = (Vec::new(), Vec::new());
    let mut is_program_known = false;
    for (name, value) in &job.options {
        let is_word = kind(name).is_some_and(|kind| matches!(kind, ValueKind::Words));
        if job.job.is_by_program() && is_word && !is_program_known {
            is_program_known = true;
            let extra = match root {
                Some(root) => program_of_root(&job.name, value, around, (root, extras.len()))?,
                None => Some(program((&job.name, value), around, extras.len(), architecture)?),
            };
            let path = extra.as_ref().map_or(value, |extra| &extra.path);
            given.push((name.clone(), path.clone()));
            extras.extend(extra);
            continue;
        }
        let is_named = takes_path(name) || value.contains('/');
        let path = base.unwrap_or(Path::new("")).join(value);
        let file = path.canonicalize().ok().filter(|path| is_named && path.is_file());
        let extra = match (file, job.record.files.get(value)) {
            (Some(file), _) => extra_file(&file, extras.len())?,
            // The file is embedded in this program.
            (None, Some(text)) if is_named => extra_file_from_text(value, text, extras.len()),
            (None, _) => {
                given.push((name.clone(), value.clone()));
                continue;
            }
        };
        given.push((name.clone(), extra.path.clone()));
        extras.push(extra);
    }
    if job.job.is_by_program() && !is_program_known && root.is_none() {
        let message =
            format!("{}: a guest has no programs of this machine, and no shell", job.name);
        return Err(Failure::usage(message).hint(
            "share them: root = \"/\" in [guest]; or name one static program, as in command = \
             [\"./program\", \"argument\"], which is taken into the guest",
        ));
    }
    Ok((given, extras))
}

/// Programs that make the filesystems of a variant with layers, which a guest builds itself.
pub(crate) fn mkfs_programs(
    variant: &Variant,
    around: &PlanOptions<'_>,
) -> Result<Vec<ExtraFile>, Failure> {
    let below = variant.settings.layers.iter().filter_map(|layer| match layer {
        Layer::Loop(layer) => Some(layer.on.as_str()),
        _ => None,
    });
    let mut files = Vec::new();
    for filesystem in below.chain([variant.filesystem.as_str()]).filter_map(by_name) {
        let Some(mkfs) = filesystem.mkfs() else { continue };
        let folders =
            [around.search_path.as_os_str(), OsStr::new(SYSTEM_PATH)].join(OsStr::new(":"));
        let Some(path) = in_path(&folders, mkfs.program) else {
            let message = format!("{} is not installed", mkfs.program);
            return Err(
                Failure::environment(message).hint(format!("install the package {}", mkfs.package))
            );
        };
        files.extend(with_libraries(&path)?);
    }
    let configuration = Some(Path::new(MKFS_CONFIGURATION)).filter(|path| path.is_file());
    files.extend(configuration.map(|path| extra_file(path, files.len())).transpose()?);
    Ok(files)
}

/// Program of a job, which must not depend on files of this machine.
fn program(
    (job, word): (&str, &str),
    around: &PlanOptions<'_>,
    number: usize,
    architecture: Architecture,
) -> Result<ExtraFile, Failure> {
    let near = around.plan_dir.as_deref().unwrap_or(Path::new("")).join(word);
    let found = if word.contains('/') { Some(near) } else { in_path(&around.search_path, word) };
    let found = found.and_then(|path| path.canonicalize().ok()).filter(|path| path.is_file());
    let Some(file) = found else {
        let message = format!("{job}: there is no program {word}");
        return Err(Failure::usage(message).hint("give its path"));
    };
    GuestProgram::read(&file, architecture).map_err(|error| {
        Failure::of(FailureKind::Usage, &error).context(job).hint(
            "a guest has neither libraries nor a shell: link the program statically, or share \
                 them: root = \"/\" in [guest]",
        )
    })?;
    extra_file(&file, number)
}

/// Program of a job in a guest with a shared root; `None` for one that is there under its name.
fn program_of_root(
    job: &str,
    word: &str,
    around: &PlanOptions<'_>,
    (root, number): (&Path, usize),
) -> Result<Option<ExtraFile>, Failure> {
    let near = around.plan_dir.as_deref().unwrap_or(Path::new("")).join(word);
    if let Some(file) = near.canonicalize().ok().filter(|it| word.contains('/') && it.is_file()) {
        return extra_file(&file, number).map(Some);
    }
    let is_there = |path: &Path| {
        let path = path.strip_prefix("/").unwrap_or(path);
        root.join(path).symlink_metadata().is_ok()
    };
    let mut folders = SYSTEM_PATH.split(':').map(Path::new);
    let is_found = if word.contains('/') {
        is_there(Path::new(word))
    } else {
        folders.any(|folder| is_there(&folder.join(word)))
    };
    if is_found {
        return Ok(None);
    }
    let message = format!("{job}: there is no program {word} in {}", root.display());
    Err(Failure::usage(message).hint("install it there, or give the path of a program"))
}

fn in_path(search: &OsStr, word: &str) -> Option<PathBuf> {
    std::env::split_paths(search).map(|dir| dir.join(word)).find(|path| path.is_file())
}

/// File for a guest from a text that is not on disk.
fn extra_file_from_text(path: &str, text: &str, number: usize) -> ExtraFile {
    let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
    let path = format!("/files/{number}/{name}");
    ExtraFile { path, bytes: text.as_bytes().to_vec(), is_program: false }
}

/// File for a guest, at the same path as on this machine if possible.
pub(super) fn extra_file(file: &Path, number: usize) -> Result<ExtraFile, Failure> {
    let failed = |error: std::io::Error| Failure::of_path(file, &error);
    let metadata = file.metadata().map_err(failed)?;
    if metadata.len() > EXTRA_BYTES_MAX {
        let message = format!("{} is too large to be taken into a guest", file.display());
        let hint = format!("a file that a job reads has at most {} MiB", EXTRA_BYTES_MAX >> 20);
        return Err(Failure::usage(message).hint(hint));
    }
    let bytes = std::fs::read(file).map_err(failed)?;
    let is_program = metadata.permissions().mode() & 0o111 != 0;
    let path = if ExtraFile::is_possible(file) {
        file.to_string_lossy().into_owned()
    } else {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        format!("/files/{number}/{name}")
    };
    Ok(ExtraFile { path, bytes, is_program })
}
