//! Options with which a kernel is built to find its own faults, and is slow.

use std::fs;
use std::io::Read;

use flate2::read::GzDecoder;
use treering_model::filesystems::all;

/// Longer than any kernel's configuration.
const LONGEST: u64 = 4 << 20;

/// Options that cost at every lock, allocation or access of memory. Filesystems have their own.
const SLOW: [&str; 11] = [
    "CONFIG_KASAN",
    "CONFIG_KCSAN",
    "CONFIG_KMSAN",
    "CONFIG_PROVE_LOCKING",
    "CONFIG_LOCK_STAT",
    "CONFIG_DEBUG_LOCK_ALLOC",
    "CONFIG_DEBUG_PAGEALLOC_ENABLE_DEFAULT",
    "CONFIG_DEBUG_KMEMLEAK",
    "CONFIG_DEBUG_OBJECTS",
    "CONFIG_SLUB_DEBUG_ON",
    "CONFIG_KCOV",
];

/// Those that the running kernel has; `None` when nobody says.
pub(super) fn slow_options() -> Option<Vec<String>> {
    configuration().map(|text| slow_in(&text))
}

fn slow_in(configuration: &str) -> Vec<String> {
    let is_set = |name: &&str| {
        configuration.lines().any(|line| line.strip_prefix(*name).is_some_and(|rest| rest == "=y"))
    };
    let of_filesystems = all().flat_map(|filesystem| filesystem.debug_options);
    let options = SLOW.iter().chain(of_filesystems).copied();
    options.filter(is_set).map(str::to_owned).collect()
}

fn configuration() -> Option<String> {
    if let Ok(file) = fs::File::open("/proc/config.gz") {
        let mut text = String::new();
        if GzDecoder::new(file).take(LONGEST).read_to_string(&mut text).is_ok() {
            return Some(text);
        }
    }
    let release = crate::kernel_release();
    let places = [format!("/boot/config-{release}"), format!("/lib/modules/{release}/config")];
    places.iter().find_map(|path| fs::read_to_string(path).ok())
}

#[cfg(test)]
mod tests {
    use super::slow_in;

    #[test]
    fn only_options_that_are_set_are_reported() {
        let text = "CONFIG_KASAN=y\n# CONFIG_KCSAN is not set\nCONFIG_KASAN_INLINE=y\n\
                    CONFIG_PROVE_LOCKING=y\nCONFIG_XFS_DEBUG=m\nCONFIG_HAVE_ARCH_KMSAN=y\n";
        assert_eq!(slow_in(text), ["CONFIG_KASAN", "CONFIG_PROVE_LOCKING"]);
        assert_eq!(slow_in("CONFIG_BTRFS_ASSERT=y\n"), ["CONFIG_BTRFS_ASSERT"]);
        assert!(slow_in("").is_empty());
    }
}
