//! The initramfs of a guest: our program as `/init`, a console, the modules in their order, and
//! files that a job reads.

use std::collections::BTreeSet;
use std::io;
use std::path::{Component, Path};

use crate::cpio::Writer;
use crate::{Loaded, Program};

/// Where the modules are in a guest, by number in the order in which they are loaded.
pub(crate) const MODULES: &str = "/modules";
/// The console of a Linux kernel.
const CONSOLE: (u32, u32) = (5, 1);
/// Directories that are mounted over or are the guest's own.
const OURS: [&str; 9] = ["proc", "sys", "dev", "run", "tmp", "mnt", "modules", "init", "root"];

/// A file of the host that a job reads, with its path there, which it keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extra {
    /// The absolute path.
    pub path: String,
    /// What is in it.
    pub bytes: Vec<u8>,
    /// Whether it can be run.
    pub is_program: bool,
}

impl Extra {
    /// Whether a file of this path can be in a guest: an absolute path without `..`, and nothing of
    /// the guest's own.
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

/// An initramfs.
#[derive(Clone, Debug)]
pub struct Initramfs {
    pub(crate) bytes: Vec<u8>,
}

impl Initramfs {
    /// Makes one. Extra files that cannot be in a guest are left out.
    ///
    /// # Errors
    /// When a part is longer than an archive can say.
    pub fn new(program: &Program, modules: &[Loaded], extras: &[Extra]) -> io::Result<Self> {
        let mut archive = Writer::new(Vec::new());
        for folder in ["dev", "proc", "sys", "run", "tmp", "mnt", "modules"] {
            archive.directory(folder)?;
        }
        archive.device("dev/console", 0o600, CONSOLE)?;
        archive.file("init", 0o755, &program.bytes)?;
        for (number, module) in modules.iter().enumerate() {
            archive.file(&format!("modules/{number:04}-{}", module.name), 0o644, &module.bytes)?;
        }
        let mut made = BTreeSet::new();
        for extra in extras.iter().filter(|extra| Extra::is_possible(Path::new(&extra.path))) {
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
    use super::{Extra, Initramfs};
    use crate::cpio::read;
    use crate::{Loaded, Program};
    use std::path::Path;

    #[test]
    fn files_keep_their_paths_and_nothing_of_the_guest_is_replaced() {
        for (path, possible) in [
            ("/home/a/profile.ffsb", true),
            ("/init", false),
            ("/proc/x", false),
            ("/dev/console", false),
            ("/a/../proc/x", false),
            ("relative/x", false),
            ("/", false),
        ] {
            assert_eq!(Extra::is_possible(Path::new(path)), possible, "{path}");
        }
        let program = Program { bytes: b"program".to_vec() };
        let modules = [Loaded { name: "xfs".to_owned(), bytes: b"module".to_vec() }];
        let bytes = b"text".to_vec();
        let extra =
            |path: &str| Extra { path: path.to_owned(), bytes: bytes.clone(), is_program: false };
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
