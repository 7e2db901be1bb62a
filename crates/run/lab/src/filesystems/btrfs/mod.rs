//! btrfs, on one device or several. The devices beside the first are named in the mount options, so
//! that the kernel needs nobody to scan for them.

use std::ffi::OsString;
use std::path::PathBuf;

use super::getopt::read;
use super::{Filesystem, MkfsRequest, OptionRefusal, Tool};

/// btrfs.
#[derive(Debug)]
pub(super) struct Btrfs;

const TOOL: Tool =
    Tool { program: "mkfs.btrfs", package: "btrfs-progs", version_argument: "--version" };

/// Letters that want a value.
const WITH_VALUE: &str = "AbdlLmnOrRsuU";

impl Filesystem for Btrfs {
    fn name(&self) -> &'static str {
        "btrfs"
    }

    fn tool(&self) -> Option<&'static Tool> {
        Some(&TOOL)
    }

    fn kernel_option(&self) -> &'static str {
        "CONFIG_BTRFS_FS"
    }

    /// Of each device. mkfs takes less for some profiles, and says so itself.
    fn bytes_min(&self) -> u64 {
        47 << 20
    }

    fn devices_max(&self) -> usize {
        usize::MAX
    }

    fn signature(&self) -> &'static str {
        "btrfs"
    }

    fn arguments(&self, request: &MkfsRequest<'_>) -> Result<Vec<OsString>, OptionRefusal> {
        let given = read(request.options, WITH_VALUE)?;
        let mut arguments = vec![OsString::from("-f")];
        if !given.iter().any(|option| option.name == "L" || option.name == "label") {
            arguments.extend(["-L".into(), request.label.into()]);
        }
        arguments.extend(request.options.iter().map(OsString::from));
        arguments.extend(request.devices.iter().map(OsString::from));
        Ok(arguments)
    }

    fn mount_options(&self, devices: &[PathBuf], _bytes: u64, _user: &[String]) -> Vec<String> {
        let others = devices.iter().skip(1);
        others.map(|device| format!("device={}", device.display())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Btrfs;
    use crate::filesystems::Filesystem;
    use std::path::PathBuf;

    #[test]
    fn all_devices_are_named_to_the_kernel() {
        let devices: Vec<_> = ["/dev/a", "/dev/b", "/dev/c"].iter().map(PathBuf::from).collect();
        let options = Btrfs.mount_options(&devices, 0, &[]);
        assert_eq!(options, ["device=/dev/b", "device=/dev/c"]);
        assert!(Btrfs.mount_options(&devices[..1], 0, &[]).is_empty());
    }
}
