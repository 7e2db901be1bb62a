//! Small data sets in the format of the original compilebench: four lists of paths and sizes, as
//! text files.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Files by path, with their sizes.
pub type FileSizes = BTreeMap<String, u64>;

/// Names of the original's files, in the order in which it reads them.
const FILES: [&str; 4] = [
    "dataset-unpatched",
    "dataset-patched",
    "dataset-unpatched-compiled",
    "dataset-patched-compiled",
];

/// A source tree in four states, each with a complete list of its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FourLists {
    /// The clean tree.
    pub unpatched: FileSizes,
    /// The clean tree of the later version.
    pub patched: FileSizes,
    /// The clean tree after a build.
    pub unpatched_compiled: FileSizes,
    /// The later tree after a build.
    pub patched_compiled: FileSizes,
}

impl FourLists {
    /// Creates a tree of a dozen files with every kind of change: a patch changes, adds and removes
    /// files, build products differ, appear and vanish, files are empty or need several writes.
    pub fn tiny() -> Self {
        let sources = [
            ("COPYING", 18_693),
            ("Makefile", 70_000),
            ("fs/ext4/inode.c", 300_000),
            ("fs/ext4/Makefile", 600),
            ("fs/old/gone.c", 5_000),
            ("include/empty.h", 0),
            ("kernel/sched.c", 9_000),
        ];
        let patched = [
            ("COPYING", 18_693),
            ("Makefile", 70_100),
            ("fs/ext4/inode.c", 290_000),
            ("fs/ext4/Makefile", 600),
            ("fs/new/come.c", 6_000),
            ("include/empty.h", 10),
            ("kernel/sched.c", 9_000),
        ];
        let products = [
            ("fs/ext4/inode.o", 40_000),
            ("fs/old/gone.o", 7_000),
            ("kernel/sched.o", 12_000),
            ("kernel/.empty.o.cmd", 0),
            ("vmlinux", 700_000),
        ];
        let patched_products = [
            ("fs/ext4/inode.o", 41_000),
            ("fs/new/come.o", 8_000),
            ("kernel/sched.o", 12_000),
            ("kernel/.empty.o.cmd", 0),
            ("vmlinux", 690_000),
        ];
        let list = |parts: &[&[(&str, u64)]]| -> FileSizes {
            parts.concat().into_iter().map(|(path, size)| (path.to_owned(), size)).collect()
        };
        Self {
            unpatched: list(&[&sources]),
            patched: list(&[&patched]),
            unpatched_compiled: list(&[&sources, &products]),
            patched_compiled: list(&[&patched, &patched_products]),
        }
    }

    /// Creates a tree of `files` files of one size, ten in each directory. All states are equal
    /// except for one build product. For runs that must last for a while.
    pub fn wide(files: u32, bytes: u64) -> Self {
        let path = |number: u32| format!("d{:03}/f{}", number / 10, number % 10);
        let sources: FileSizes = (0..files).map(|number| (path(number), bytes)).collect();
        let mut compiled = sources.clone();
        compiled.insert("product.o".to_owned(), bytes);
        Self {
            unpatched: sources.clone(),
            patched: sources,
            unpatched_compiled: compiled.clone(),
            patched_compiled: compiled,
        }
    }

    /// Writes the four lists into a directory, which is created if missing.
    pub fn write_to(&self, dir: &Path) {
        fs::create_dir_all(dir).expect("the data set's directory can be made");
        let lists =
            [&self.unpatched, &self.patched, &self.unpatched_compiled, &self.patched_compiled];
        for (file, list) in FILES.into_iter().zip(lists) {
            let mut text = String::new();
            for (path, size) in list {
                writeln!(text, "{path} {size}").expect("text takes all");
            }
            fs::write(dir.join(file), text).expect("the data set can be written");
        }
    }
}
