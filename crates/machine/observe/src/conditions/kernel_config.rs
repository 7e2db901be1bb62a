//! Kernel build options: debugging options that slow the kernel down, and options that affect the
//! cost of filesystem operations.

use std::fs;
use std::io::Read;

use flate2::read::GzDecoder;
use treering_model::filesystems::all;

/// Limit of the configuration size in bytes.
const LONGEST: u64 = 4 << 20;

/// Options that slow down every lock, allocation or memory access. Filesystems have their own.
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

/// Prefixes of options that can affect the cost of filesystem operations, in order of report: debug
/// options first. Those of filesystems follow.
const MATTERS: [&str; 43] = [
    "DEBUG_",
    "KASAN",
    "KCSAN",
    "KMSAN",
    "KFENCE",
    "UBSAN",
    "KCOV",
    "GCOV",
    "LOCKDEP",
    "PROVE_",
    "LOCK_STAT",
    "SLUB_DEBUG",
    "FAULT_INJECTION",
    "FUNCTION_TRACER",
    "HZ",
    "NO_HZ",
    "PREEMPT",
    "SCHED_CORE",
    "CC_OPTIMIZE",
    "LTO_",
    "CFI_",
    "X86_KERNEL_IBT",
    "SLAB",
    "SLUB",
    "INIT_ON_",
    "INIT_STACK",
    "HARDENED_",
    "FORTIFY_",
    "STACKPROTECTOR",
    "RANDOMIZE_",
    "PAGE_TABLE_ISOLATION",
    "RETPOLINE",
    "RETHUNK",
    "CALL_DEPTH_TRACKING",
    "TRANSPARENT_HUGEPAGE",
    "LRU_GEN",
    "MEMCG",
    "MQ_IOSCHED",
    "IOSCHED",
    "BFQ",
    "BLK_WBT",
    "BLK_CGROUP",
    "BLK_DEV_INTEGRITY",
];
/// Prefixes of matching options without cost at run time.
const HARMLESS: [&str; 9] = [
    "DEBUG_FS",
    "DEBUG_INFO",
    "DEBUG_KERNEL",
    "DEBUG_MISC",
    "DEBUG_BUGVERBOSE",
    "DEBUG_SECTION",
    "KFENCE_NUM",
    "KFENCE_STRESS",
    "LOCKDEP_SUPPORT",
];
/// Prefix of some options since Linux 6.9; removed for comparison.
const RENAMED: &str = "MITIGATION_";

/// Relevant options that are set: `HZ=250`, `XFS_FS=m`, and `XFS_QUOTA` for a built-in one.
pub(super) fn settings_in(configuration: &str) -> Vec<String> {
    let own = all().filter(|filesystem| filesystem.mkfs().is_some());
    let of_filesystems: Vec<String> =
        own.map(|filesystem| format!("{}_", filesystem.name.to_ascii_uppercase())).collect();
    let begins: Vec<&str> =
        MATTERS.iter().copied().chain(of_filesystems.iter().map(String::as_str)).collect();
    let mut settings: Vec<(usize, String)> = Vec::new();
    for line in configuration.lines() {
        let option = line.strip_prefix("CONFIG_").and_then(|option| option.split_once('='));
        let Some((name, value)) = option else { continue };
        let name = name.strip_prefix(RENAMED).unwrap_or(name);
        if HARMLESS.iter().any(|begin| name.starts_with(begin)) {
            continue;
        }
        let Some(place) = begins.iter().position(|begin| name.starts_with(begin)) else { continue };
        let word = if value == "y" { name.to_owned() } else { format!("{name}={value}") };
        settings.push((place, word));
    }
    settings.sort();
    settings.dedup();
    settings.into_iter().map(|(_, word)| word).collect()
}

pub(super) fn slow_in(configuration: &str) -> Vec<String> {
    let is_set = |name: &&str| {
        configuration
            .lines()
            .any(|line| line.strip_prefix(*name).is_some_and(|value| value == "=y"))
    };
    let of_filesystems = all().flat_map(|filesystem| filesystem.debug_options);
    let options = SLOW.iter().chain(of_filesystems).copied();
    options.filter(is_set).map(str::to_owned).collect()
}

/// Configuration of the running kernel; `None` if it is not available.
pub(super) fn configuration() -> Option<String> {
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
    use super::{settings_in, slow_in};

    #[test]
    fn relevant_options_are_reported_debug_options_first() {
        let text = "CONFIG_XFS_FS=m\nCONFIG_XFS_QUOTA=y\nCONFIG_HZ=250\nCONFIG_HZ_250=y\n\
                    CONFIG_DEBUG_FS=y\nCONFIG_DEBUG_LIST=y\nCONFIG_SOUND=m\n\
                    # CONFIG_KASAN is not set\nCONFIG_MITIGATION_RETPOLINE=y\n";
        let words = ["DEBUG_LIST", "HZ=250", "HZ_250", "RETPOLINE", "XFS_FS=m", "XFS_QUOTA"];
        assert_eq!(settings_in(text), words);
    }

    #[test]
    fn only_options_that_are_set_are_reported() {
        let text = "CONFIG_KASAN=y\n# CONFIG_KCSAN is not set\nCONFIG_KASAN_INLINE=y\n\
                    CONFIG_PROVE_LOCKING=y\nCONFIG_XFS_DEBUG=m\nCONFIG_HAVE_ARCH_KMSAN=y\n";
        assert_eq!(slow_in(text), ["CONFIG_KASAN", "CONFIG_PROVE_LOCKING"]);
        assert_eq!(slow_in("CONFIG_BTRFS_ASSERT=y\n"), ["CONFIG_BTRFS_ASSERT"]);
        assert!(slow_in("").is_empty());
    }
}
