//! Modules of a build tree that are older than their sources: after a checkout and `make bzImage`
//! they belong to an earlier commit, and nothing in them says so.
//!
//! The build records the sources of every object beside it, in `.NAME.o.cmd`, and the objects of a
//! module in `NAME.mod`. `make modules` would compile a source that is newer than its object.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::unpack::read_all;

/// Limit of a record in bytes.
const RECORD_BYTES_MAX: u64 = 16 << 20;
/// Limit of the objects of one module.
const OBJECTS_MAX: usize = 10_000;

/// Times at which the files of a build tree were written.
pub(super) struct TreeTimes<'t> {
    top: &'t Path,
    known: HashMap<PathBuf, Option<SystemTime>>,
}

impl<'t> TreeTimes<'t> {
    pub(super) fn new(top: &'t Path) -> Self {
        Self { top, known: HashMap::new() }
    }

    /// Reports whether a source of this module was written after it, as far as the build has
    /// recorded its sources.
    pub(super) fn is_stale(&mut self, module: &Path) -> bool {
        let objects = text(&module.with_extension("mod")).unwrap_or_default();
        let built = self.written(module);
        objects.split_whitespace().take(OBJECTS_MAX).any(|object| {
            let object = self.top.join(object);
            let compiled = self.written(&object);
            compiled > built || self.has_newer_source(&object, compiled)
        })
    }

    fn has_newer_source(&mut self, object: &Path, compiled: Option<SystemTime>) -> bool {
        let name = object.file_name().unwrap_or_default().to_string_lossy();
        let record = text(&object.with_file_name(format!(".{name}.cmd"))).unwrap_or_default();
        compiled.is_some()
            && sources(&record).any(|source| self.written(&self.top.join(source)) > compiled)
    }

    /// Time at which a file was written; `None` if it is not there.
    fn written(&mut self, path: &Path) -> Option<SystemTime> {
        if let Some(known) = self.known.get(path) {
            return *known;
        }
        let time = path.metadata().and_then(|file| file.modified()).ok();
        self.known.insert(path.to_owned(), time);
        time
    }
}

/// Sources in a record: the file that was compiled, its headers, and options of the configuration,
/// which are files below `include/config`.
fn sources(record: &str) -> impl Iterator<Item = &str> {
    let mut is_list = false;
    record.lines().filter_map(move |line| {
        if line.starts_with("source_") || line.starts_with("deps_") {
            is_list = true;
            return line.split_once(":=").map(|(_, source)| source).and_then(source);
        }
        is_list &= !line.trim().is_empty();
        if is_list { source(line) } else { None }
    })
}

/// Path in a line of a list.
fn source(line: &str) -> Option<&str> {
    let word = line.trim_end_matches('\\').trim();
    let option = word.strip_prefix("$(wildcard ").and_then(|word| word.strip_suffix(')'));
    let path = option.unwrap_or(word);
    (!path.is_empty() && !path.contains('$')).then_some(path)
}

fn text(path: &Path) -> Option<String> {
    let bytes = read_all(fs::File::open(path).ok()?, RECORD_BYTES_MAX).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::{TreeTimes, sources};
    use std::fs::{self, File};
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::time::{Duration, SystemTime};

    /// Record as the build of 6.x writes it.
    const RECORD: &str = "savedcmd_fs/a/file.o := gcc -Wp,-MMD,fs/a/.file.o.d -D__KERNEL__ -c -o \
                          fs/a/file.o fs/a/file.c\n\n\
                          source_fs/a/file.o := fs/a/file.c\n\n\
                          deps_fs/a/file.o := \\\n    $(wildcard include/config/A_RT) \\\n  \
                          include/linux/types.h \\\n  fs/a/inode.h \\\n\n\
                          fs/a/file.o: $(deps_fs/a/file.o)\n\n$(deps_fs/a/file.o):\n";

    #[test]
    fn sources_are_the_file_its_headers_and_its_options() {
        let found: Vec<&str> = sources(RECORD).collect();
        let expected =
            ["fs/a/file.c", "include/config/A_RT", "include/linux/types.h", "fs/a/inode.h"];
        assert_eq!(found, expected);
    }

    /// Directory of a kernel's build system that is installed here.
    fn build_system() -> Option<PathBuf> {
        let kernels = fs::read_dir("/lib/modules").ok()?.flatten();
        let mut builds = kernels.map(|kernel| kernel.path().join("build"));
        builds.find(|build| build.join("Makefile").is_file())
    }

    #[test]
    fn a_module_of_a_real_build_is_stale_until_it_is_made_again() {
        let Some(build) = build_system() else {
            treering_testkit::skip("no build system of a kernel is installed (linux-headers)");
            return;
        };
        let place = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(place.path().join(name), text).unwrap();
        write("Makefile", "obj-m := pair.o\npair-y := first.o second.o\n");
        write("own.h", "int second(void);\n");
        write(
            "first.c",
            "#include <linux/module.h>\n#include \"own.h\"\n\
             static int __init begin(void) { return second(); }\nmodule_init(begin);\n\
             MODULE_LICENSE(\"GPL\");\n",
        );
        write("second.c", "#include \"own.h\"\nint second(void) { return 0; }\n");
        let made = || {
            let mut make = Command::new("make");
            make.arg("-C").arg(&build).arg(format!("M={}", place.path().display()));
            make.arg("modules").output().is_ok_and(|made| made.status.success())
        };
        if !made() {
            treering_testkit::skip("the build system of the kernel makes no module here");
            return;
        }
        let is_stale = || TreeTimes::new(&build).is_stale(&place.path().join("pair.ko"));
        assert!(!is_stale());
        write("own.h", "int second(void);\nenum { NEW };\n");
        assert!(is_stale());
        assert!(made() && !is_stale());
    }

    #[test]
    fn a_module_is_stale_if_a_source_or_an_object_is_newer() {
        let top = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str, second: u64| {
            let path = top.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(second)).unwrap();
        };
        let is_stale = || TreeTimes::new(top.path()).is_stale(&top.path().join("fs/a/a.ko"));
        write("fs/a/a.ko", "", 30);
        assert!(!is_stale(), "without records");
        write("fs/a/a.mod", "fs/a/file.o\nfs/a/dir.o\n", 20);
        write("fs/a/.file.o.cmd", RECORD, 20);
        write("fs/a/file.o", "", 20);
        write("fs/a/file.c", "", 10);
        write("fs/a/inode.h", "", 20);
        assert!(!is_stale());
        for changed in ["fs/a/file.c", "fs/a/inode.h", "include/config/A_RT"] {
            write(changed, "", 25);
            assert!(is_stale(), "{changed}");
            write(changed, "", 10);
        }
        write("fs/a/dir.o", "", 31);
        assert!(is_stale(), "an object that is not linked");
        assert!(!TreeTimes::new(Path::new("/")).is_stale(Path::new("/none.ko")));
    }
}
