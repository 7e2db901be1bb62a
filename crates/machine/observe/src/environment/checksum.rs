//! Code that computes the checksums of a filesystem. The kernel takes what has the highest
//! priority among what is loaded, and says nothing if that is slow.

use treering_model::Fact;
use treering_model::filesystems::by_name;

use super::fact;
use crate::places::KernelRoots;

/// End of the names of code that uses no instructions of the processor.
const GENERIC: &str = "-generic";

/// Facts about the checksums of a filesystem; `stated` is the algorithm with its code as the
/// filesystem itself states them: `crc32c (crc32c-intel)`.
pub(super) fn facts(places: &KernelRoots, fs_type: &str, stated: Option<&str>) -> Vec<Fact> {
    let algorithm = by_name(fs_type).and_then(|filesystem| filesystem.checksum);
    let registered = || {
        let (algorithm, list) = (algorithm?, places.proc("crypto")?);
        Some(match preferred(&list, algorithm) {
            Some(driver) => format!("{algorithm} ({driver})"),
            // Since 6.14 filesystems call the library, which chooses by the processor.
            None => format!("{algorithm} (library of the kernel)"),
        })
    };
    let Some(used) = stated.map(str::to_owned).or_else(registered) else { return Vec::new() };
    let is_generic = used.trim_end_matches(')').ends_with(GENERIC);
    let code = if is_generic { "generic" } else { "for the processor" };
    vec![fact("filesystem.checksum", &used), fact("filesystem.checksum_code", code)]
}

/// Driver of an algorithm with the highest priority in `/proc/crypto`.
fn preferred<'t>(list: &'t str, algorithm: &str) -> Option<&'t str> {
    let mut best: Option<(u32, &str)> = None;
    for entry in list.split("\n\n") {
        let value = |key: &str| {
            let mut pairs = entry.lines().filter_map(|line| line.split_once(':'));
            pairs.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim())
        };
        let priority = value("priority").and_then(|priority| priority.parse().ok());
        if let (Some(name), Some(driver), Some(priority)) =
            (value("name"), value("driver"), priority)
            && name == algorithm
            && best.is_none_or(|(highest, _)| priority > highest)
        {
            best = Some((priority, driver));
        }
    }
    best.map(|(_, driver)| driver)
}

#[cfg(test)]
mod tests {
    use super::{facts, preferred};
    use crate::places::KernelRoots;

    const LIST: &str = "name         : crc32c\ndriver       : crc32c-generic\nmodule       : \
                        crc32c_generic\npriority     : 100\n\nname         : \
                        crc32c\ndriver       : crc32c-intel\npriority     : 200\n\nname         : \
                        crc32\ndriver       : crc32-generic\npriority     : 100\n\nname         : x\n";

    #[test]
    fn code_with_the_highest_priority_is_used() {
        assert_eq!(preferred(LIST, "crc32c"), Some("crc32c-intel"));
        assert_eq!(preferred(LIST, "sha256"), None);
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("crypto"), LIST).unwrap();
        let places = KernelRoots { proc: root.path().to_owned(), ..KernelRoots::default() };
        let algorithms = |fs_type, stated| -> Vec<String> {
            facts(&places, fs_type, stated).into_iter().map(|fact| fact.value).collect()
        };
        assert_eq!(algorithms("ext4", None), ["crc32c (crc32c-intel)", "for the processor"]);
        assert_eq!(algorithms("f2fs", None), ["crc32 (crc32-generic)", "generic"]);
        let stated = "xxhash64 (xxhash64-generic)";
        assert_eq!(algorithms("btrfs", Some(stated)), [stated, "generic"]);
        assert!(algorithms("ext2", None).is_empty());
        std::fs::write(root.path().join("crypto"), "").unwrap();
        assert_eq!(
            algorithms("xfs", None),
            ["crc32c (library of the kernel)", "for the processor"]
        );
    }
}
