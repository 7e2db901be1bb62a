//! Checks that a run fits: compares its footprint with the free space and inodes.

use treering_script::{Footprint, TargetFacts};

/// Minimum size of an inode and a directory entry.
const BYTES_A_NAME: u64 = 256;
/// Minimum size of a directory entry alone, where inodes lie in tables that are in use from the
/// beginning.
const BYTES_AN_ENTRY: u64 = 16;

/// Needed and available space or inodes, in words; `None` if the run fits.
pub(crate) fn shortage(footprint: &Footprint, facts: &TargetFacts) -> Option<(String, String)> {
    let names = footprint.peak_files.saturating_add(footprint.peak_dirs);
    let name_bytes = if facts.has_inode_tables { BYTES_AN_ENTRY } else { BYTES_A_NAME };
    let bytes = footprint.peak_block_bytes.saturating_add(names.saturating_mul(name_bytes));
    if bytes > facts.free_bytes {
        let needs = format!("the run needs at least {}", gib(bytes));
        return Some((needs, format!("only {} are free", gib(facts.free_bytes))));
    }
    let free = facts.free_inodes?;
    (names > free).then(|| {
        (
            format!("the run needs up to {names} files and directories"),
            format!("the filesystem has only {free} inodes left"),
        )
    })
}

fn gib(bytes: u64) -> String {
    if bytes >= 1 << 30 {
        format!("{:.2} GiB", bytes as f64 / (1u64 << 30) as f64)
    } else {
        format!("{:.1} MiB", bytes as f64 / (1u64 << 20) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::shortage;
    use treering_script::{Footprint, TargetFacts};

    #[test]
    fn a_lack_of_bytes_or_inodes_is_reported() {
        let needs = Footprint {
            peak_files: 100,
            peak_dirs: 10,
            peak_block_bytes: 1 << 30,
            ..Footprint::default()
        };
        let room = |free_bytes, free_inodes| TargetFacts {
            free_bytes,
            free_inodes,
            ..TargetFacts::unknown()
        };
        assert_eq!(shortage(&needs, &room(2 << 30, Some(110))), None);
        assert_eq!(shortage(&needs, &room(2 << 30, None)), None);
        let (needed, has) = shortage(&needs, &room(1 << 30, None)).unwrap();
        assert!(needed.contains("1.00 GiB") && has.contains("1.00 GiB"), "{needed} {has}");
        let (_, has) = shortage(&needs, &room(2 << 30, Some(109))).unwrap();
        assert!(has.contains("109 inodes"));
    }

    #[test]
    fn inodes_in_tables_are_not_charged_to_the_free_bytes() {
        let needs = Footprint { peak_files: 1 << 20, ..Footprint::default() };
        let room = |has_inode_tables| TargetFacts {
            free_bytes: 100 << 20,
            free_inodes: Some(2 << 20),
            has_inode_tables,
            ..TargetFacts::unknown()
        };
        assert!(shortage(&needs, &room(false)).is_some());
        assert_eq!(shortage(&needs, &room(true)), None);
    }
}
