//! F2FS, on one device. (It can span several with `-c`, which the lab does not offer.)

use std::ffi::OsString;

use super::getopt::read;
use super::{Filesystem, MkfsRequest, OptionRefusal, Tool};

/// F2FS.
#[derive(Debug)]
pub(super) struct F2fs;

const TOOL: Tool = Tool { program: "mkfs.f2fs", package: "f2fs-tools", version_argument: "-V" };

/// Letters that want a value.
const WITH_VALUE: &str = "acCdeEglOoRsStTUwzZ";

impl Filesystem for F2fs {
    fn name(&self) -> &'static str {
        "f2fs"
    }

    fn tool(&self) -> Option<&'static Tool> {
        Some(&TOOL)
    }

    fn kernel_option(&self) -> &'static str {
        "CONFIG_F2FS_FS"
    }

    fn bytes_min(&self) -> u64 {
        52 << 20
    }

    fn signature(&self) -> &'static str {
        "F2FS"
    }

    fn arguments(&self, request: &MkfsRequest<'_>) -> Result<Vec<OsString>, OptionRefusal> {
        let given = read(request.options, WITH_VALUE)?;
        if given.iter().any(|option| option.name == "c") {
            let why = "would format a device that the variant does not name";
            return Err(OptionRefusal { option: "-c".to_owned(), why });
        }
        let mut arguments = vec![OsString::from("-f")];
        if !given.iter().any(|option| option.name == "l") {
            arguments.extend(["-l".into(), request.label.into()]);
        }
        arguments.extend(request.options.iter().map(OsString::from));
        arguments.extend(request.devices.iter().map(OsString::from));
        Ok(arguments)
    }
}
