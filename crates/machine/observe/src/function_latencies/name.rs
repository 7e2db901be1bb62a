//! Names of functions of the kernel.

use std::str::FromStr;

/// Longest name of a symbol of the kernel (`KSYM_NAME_LEN`), without the zero byte.
const LONGEST: usize = 511;

/// Name of a function of the kernel, such as `ext4_sync_file`; never a probe at an offset or in a
/// file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionName(String);

impl FunctionName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for FunctionName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let begins = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        if begins && name.len() <= LONGEST && name.chars().all(is_part) {
            return Ok(Self(name.to_owned()));
        }
        Err("this is no name of a function of the kernel: write it as in /proc/kallsyms, such as \
             ext4_sync_file"
            .to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::FunctionName;

    #[test]
    fn symbols_are_names_and_offsets_or_several_lines_are_not() {
        for name in ["vfs_write", "_raw_spin_lock", "ext4_mb_new_blocks.isra.0"] {
            assert_eq!(name.parse::<FunctionName>().unwrap().as_str(), name);
        }
        for name in ["", "vfs_write+8", "a b", "a\nb", "0x1", "ext4:ext4_sync_file", "-x"] {
            assert!(name.parse::<FunctionName>().is_err(), "{name:?}");
        }
    }
}
