//! tmpfs: in memory and swap, without mkfs and without a device. It is as large as the loop images
//! of the other variants would be, unless the user gives a size.

use std::ffi::OsString;
use std::path::PathBuf;

use super::{Filesystem, MkfsRequest, OptionRefusal, Tool};

/// tmpfs.
#[derive(Debug)]
pub(super) struct Tmpfs;

impl Filesystem for Tmpfs {
    fn name(&self) -> &'static str {
        "tmpfs"
    }

    fn tool(&self) -> Option<&'static Tool> {
        None
    }

    fn kernel_option(&self) -> &'static str {
        "CONFIG_TMPFS"
    }

    fn bytes_min(&self) -> u64 {
        1 << 20
    }

    fn signature(&self) -> &'static str {
        ""
    }

    fn arguments(&self, request: &MkfsRequest<'_>) -> Result<Vec<OsString>, OptionRefusal> {
        match request.options.first() {
            None => Ok(Vec::new()),
            Some(option) => {
                let why = "there is no mkfs for tmpfs; its settings are mount options";
                Err(OptionRefusal { option: option.clone(), why })
            }
        }
    }

    fn mount_options(&self, _devices: &[PathBuf], bytes: u64, user: &[String]) -> Vec<String> {
        let words = user.iter().flat_map(|options| options.split(','));
        let sized = words
            .into_iter()
            .any(|word| ["size=", "nr_blocks="].iter().any(|begin| word.starts_with(begin)));
        if sized { Vec::new() } else { vec![format!("size={bytes}")] }
    }
}

#[cfg(test)]
mod tests {
    use super::Tmpfs;
    use crate::filesystems::{Filesystem, MkfsRequest};

    #[test]
    fn the_size_is_ours_unless_the_user_has_one() {
        let user = |option: &str| Tmpfs.mount_options(&[], 4096, &[option.to_owned()]);
        assert_eq!(user("noatime"), ["size=4096"]);
        assert!(user("noatime,size=1g").is_empty() && user("nr_blocks=7").is_empty());
    }

    #[test]
    fn it_has_no_mkfs() {
        let request = MkfsRequest { devices: &[], label: "l", options: &["-q".to_owned()] };
        assert!(Tmpfs.arguments(&request).is_err());
    }
}
