//! Initramfs of a guest: treering as `/init`, a console, modules in load order, and files used by
//! the job.

use std::collections::BTreeSet;
use std::io;
use std::path::{Component, Path};

use crate::cpio::ArchiveWriter;
use crate::{GuestModule, GuestProgram};

/// Module directory in a guest; file names begin with the load order.
pub(crate) const MODULES: &str = "/modules";
/// End of the file name of a module that may refuse to be loaded.
pub(crate) const OPTIONAL: &str = ".optional";
/// Device number of the Linux console.
const CONSOLE: (u32, u32) = (5, 1);
/// Top-level directories that are mount points or belong to the guest itself.
pub(crate) const OURS: [&str; 9] =
    ["proc", "sys", "dev", "run", "tmp", "mnt", "modules", "init", "root"];

/// Host file used by a job, available in the guest under the same path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtraFile {
    /// Absolute path.
    pub path: String,
    /// Content.
    pub bytes: Vec<u8>,
    /// True for an executable.
    pub is_program: bool,
}

impl ExtraFile {
    /// Reports whether a file with this path can be in a guest: an absolute path without `..`,
    /// outside of the guest's own directories.
    pub fn is_possible(path: &Path) -> bool {
        let mut parts = path.components();
        let is_absolute = parts.next() == Some(Component::RootDir);
        let names: Option<Vec<&str>> = parts
            .map(|part| match part {
                Component::Normal(name) => name.to_str(),
                _ => None,
            })
            .collect();
        is_absolute && names.is_some_and(|names| names.len() > 1 && !OURS.contains(&names[0]))
    }
}

/// Initramfs image.
#[derive(Clone, Debug)]
pub struct Initramfs {
    pub(crate) bytes: Vec<u8>,
}

impl Initramfs {
    /// Builds an initramfs. Extra files that cannot be in a guest are omitted.
    ///
    /// # Errors
    /// If a file exceeds the limits of the archive format.
    pub fn new(
        program: &GuestProgram,
        modules: &[GuestModule],
        extras: &[ExtraFile],
    ) -> io::Result<Self> {
        let mut archive = ArchiveWriter::new(Vec::new());
        for folder in ["dev", "proc", "sys", "run", "tmp", "mnt", "modules"] {
            archive.directory(folder)?;
        }
        archive.device("dev/console", 0o600, CONSOLE)?;
        archive.file("init", 0o755, &program.bytes)?;
        for (number, module) in modules.iter().enumerate() {
            let end = if module.is_optional { OPTIONAL } else { "" };
            let name = format!("modules/{number:04}-{}{end}", module.name);
            archive.file(&name, 0o644, &module.bytes)?;
        }
        let (mut made, mut written) = (BTreeSet::new(), BTreeSet::new());
        for extra in extras.iter().filter(|extra| ExtraFile::is_possible(Path::new(&extra.path))) {
            if !written.insert(&extra.path) {
                continue;
            }
            let name = extra.path.trim_start_matches('/');
            for (end, _) in name.match_indices('/') {
                if made.insert(&name[..end]) {
                    archive.directory(&name[..end])?;
                }
            }
            let mode = if extra.is_program { 0o755 } else { 0o644 };
            archive.file(name, mode, &extra.bytes)?;
        }
        Ok(Self { bytes: archive.finish()? })
    }
}

#[cfg(test)]
mod tests {
    use super::{ExtraFile, Initramfs};
    use crate::cpio::read;
    use crate::{GuestModule, GuestProgram};
    use std::path::Path;

    #[test]
    fn extra_files_keep_their_paths_and_replace_no_guest_files() {
        for (path, possible) in [
            ("/home/a/profile.ffsb", true),
            ("/init", false),
            ("/proc/x", false),
            ("/dev/console", false),
            ("/a/../proc/x", false),
            ("relative/x", false),
            ("/", false),
        ] {
            assert_eq!(ExtraFile::is_possible(Path::new(path)), possible, "{path}");
        }
        let program = GuestProgram { bytes: b"program".to_vec() };
        let (name, bytes) = ("xfs".to_owned(), b"module".to_vec());
        let modules = [GuestModule { name, bytes, is_optional: false }];
        let bytes = b"text".to_vec();
        let extra = |path: &str| ExtraFile {
            path: path.to_owned(),
            bytes: bytes.clone(),
            is_program: false,
        };
        let extras = [extra("/home/a/x"), extra("/home/a/y"), extra("/proc/x")];
        let archive = Initramfs::new(&program, &modules, &extras).unwrap();
        let mut names = Vec::new();
        read(archive.bytes.as_slice(), &mut |name, _, _| {
            names.push(name.to_owned());
            Ok(())
        })
        .unwrap();
        let behind: Vec<&str> = names.iter().map(String::as_str).skip(7).collect();
        let expected =
            ["dev/console", "init", "modules/0000-xfs", "home", "home/a", "home/a/x", "home/a/y"];
        assert_eq!(behind, expected);
    }
}
