//! XFS. Nothing is added to what the user gives but the label and `-f`: the guard has already
//! looked at the device, and mkfs would otherwise stop at our own filesystem of the trial before.

use std::ffi::OsString;

use super::getopt::read;
use super::{Filesystem, MkfsRequest, OptionRefusal, Tool};

/// XFS.
#[derive(Debug)]
pub(super) struct Xfs;

const TOOL: Tool = Tool { program: "mkfs.xfs", package: "xfsprogs", version_argument: "-V" };

/// Letters that want a value.
const WITH_VALUE: &str = "bcdilLmnprs";

impl Filesystem for Xfs {
    fn name(&self) -> &'static str {
        "xfs"
    }

    fn tool(&self) -> Option<&'static Tool> {
        Some(&TOOL)
    }

    fn kernel_option(&self) -> &'static str {
        "CONFIG_XFS_FS"
    }

    /// What xfsprogs since 5.19 refuses below; older ones made filesystems that nobody uses.
    fn bytes_min(&self) -> u64 {
        300 << 20
    }

    fn signature(&self) -> &'static str {
        "XFS"
    }

    fn arguments(&self, request: &MkfsRequest<'_>) -> Result<Vec<OsString>, OptionRefusal> {
        let given = read(request.options, WITH_VALUE)?;
        let mut arguments = vec![OsString::from("-f")];
        // Given twice it is an error.
        if !given.iter().any(|option| option.name == "L") {
            arguments.extend(["-L".into(), request.label.into()]);
        }
        arguments.extend(request.options.iter().map(OsString::from));
        arguments.extend(request.devices.iter().map(OsString::from));
        Ok(arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::Xfs;
    use crate::filesystems::{Filesystem, MkfsRequest};
    use std::path::PathBuf;

    #[test]
    fn the_label_is_given_once() {
        for (options, labels) in [(&[][..], 1), (&["-Lmine"], 0), (&["-qL", "mine"], 0)] {
            let options: Vec<_> = options.iter().map(|&option: &&str| option.to_owned()).collect();
            let devices = [PathBuf::from("/dev/x")];
            let request = MkfsRequest { devices: &devices, label: "l", options: &options };
            let arguments = Xfs.arguments(&request).unwrap();
            assert_eq!(arguments.iter().filter(|argument| *argument == "-L").count(), labels);
        }
    }
}
