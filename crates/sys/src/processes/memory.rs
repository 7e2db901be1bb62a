//! Available memory, checked before large allocations.

use std::fs::read_to_string;
use std::path::Path;

/// Memory available to new allocations in bytes, limited by the machine and by this process's
/// cgroups; 0 if unknown.
pub fn available_memory_bytes() -> u64 {
    let text = read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = text.lines().find_map(|line| {
        line.strip_prefix("MemAvailable:")?.split_whitespace().next()?.parse::<u64>().ok()
    });
    let cgroup = read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = cgroup.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    kib.map_or(0, |kib| kib << 10).min(available_in_cgroups(Path::new("/sys/fs/cgroup"), own))
}

/// Memory left by the limits of a cgroup and its ancestors; page cache counts as available.
fn available_in_cgroups(root: &Path, own: &str) -> u64 {
    let place = root.join(own);
    let groups = place.ancestors().take_while(|group| group.starts_with(root));
    groups.filter_map(left_of).min().unwrap_or(u64::MAX)
}

fn left_of(group: &Path) -> Option<u64> {
    let most: u64 = read_to_string(group.join("memory.max")).ok()?.trim().parse().ok()?;
    let stat = read_to_string(group.join("memory.stat")).ok()?;
    let used = stat.lines().filter_map(|line| {
        let (name, bytes) = line.split_once(' ')?;
        ["anon", "shmem"].contains(&name).then(|| bytes.parse::<u64>().ok())?
    });
    Some(most.saturating_sub(used.sum()))
}

#[cfg(test)]
mod tests {
    use super::available_in_cgroups;

    #[test]
    fn available_memory_is_limited_by_all_ancestor_groups() {
        let root = tempfile::tempdir().unwrap();
        let put = |group: &str, max: &str, stat: &str| {
            let group = root.path().join(group);
            std::fs::create_dir_all(&group).unwrap();
            std::fs::write(group.join("memory.max"), max).unwrap();
            std::fs::write(group.join("memory.stat"), stat).unwrap();
        };
        put("a", "1000\n", "anon 100\nfile 500\nshmem 50\n");
        put("a/b", "max\n", "anon 90\n");
        assert_eq!(available_in_cgroups(root.path(), "a/b"), 850);
        assert_eq!(available_in_cgroups(root.path(), ""), u64::MAX);
    }
}
