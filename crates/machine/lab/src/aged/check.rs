//! Verifies a restored image: the filesystem must have no errors and the recorded layout. Changes
//! nothing on the device.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::Path;

use treering_model::filesystems::Filesystem;
use treering_model::{DeviceSpec, FileLayout, ImageRecord};
use treering_observe::layout::{LayoutSurvey, SurveyPlan, survey};
use treering_sys::{DeviceOpenMode, device_bytes, open_device};

use super::library::SavedImage;
use crate::error::unfit;
use crate::tools;
use crate::view::ReadOnlyView;
use crate::{DeviceError, Lab, LabError};

/// Runs the filesystem's own checker, if there is one, on an unmounted device.
pub(super) fn run_checker(
    node: &Path,
    filesystem: &'static Filesystem,
    lab: &Lab,
) -> Result<(), LabError> {
    let Some(checking) = filesystem.checking else { return Ok(()) };
    let tool = lab.tools.find(checking.program).ok_or_else(|| missing(filesystem))?;
    let mut arguments: Vec<OsString> = checking.arguments.iter().map(OsString::from).collect();
    arguments.push(node.into());
    let run = tools::run(&tool, &arguments, &lab.register.empty_folder()?);
    let run = run.map_err(LabError::io("cannot run", &tool))?;
    match run.failure {
        None => Ok(()),
        Some(failure) => {
            let (command, output) = (run.command, run.output);
            Err(DeviceError::Tool { command, failure, output }.into())
        }
    }
}

/// Size of a block device in bytes; 0 for another file.
fn bytes_of(path: &Path) -> Result<u64, LabError> {
    let device = open_device(path, DeviceOpenMode::Look)
        .map_err(|errno| LabError::io("cannot find", path)(errno.into()))?;
    // Size 0 stands for other files; no image fits it.
    Ok(device_bytes(&device).unwrap_or(0))
}

/// Checks that the filesystem's own checker is installed.
pub(super) fn require_checker(filesystem: &'static Filesystem, lab: &Lab) -> Result<(), LabError> {
    let is_installed =
        filesystem.checking.is_none_or(|check| lab.tools.find(check.program).is_some());
    if is_installed { Ok(()) } else { Err(missing(filesystem)) }
}

fn missing(filesystem: &'static Filesystem) -> LabError {
    let program = filesystem.checking.map(|checking| checking.program).unwrap_or_default();
    let package = filesystem.mkfs().map(|mkfs| mkfs.package).unwrap_or_default();
    let (why, how) = (format!("{program} is not installed"), format!("apt install {package}"));
    DeviceError::Missing { filesystem: filesystem.name, why, how }.into()
}

/// Measures the layout of all files on an unmounted device.
pub(super) fn layout(node: &Path) -> Result<FileLayout, LabError> {
    let view = ReadOnlyView::open(node)?;
    let mut go_on = |_: &_, _| ControlFlow::Continue(());
    let surveyed = survey(view.root(), &SurveyPlan::default(), &mut go_on);
    let LayoutSurvey { layout, .. } =
        surveyed.map_err(|error| unfit(format!("the layout cannot be measured: {error}")))?;
    Ok(layout)
}

/// Describes the first measure in which two layouts differ, with both values.
pub(super) fn difference(saved: &FileLayout, restored: &FileLayout) -> Option<String> {
    let whole = |number: u64| number.to_string();
    // JSON numbers have 17 digits, and parsing them may round.
    let share = |share: Option<f64>| share.map_or("none".to_owned(), |share| format!("{share:.9}"));
    let measures = |layout: &FileLayout| {
        let free = layout.free_space.as_ref();
        [
            ("files", whole(layout.files)),
            ("directories", whole(layout.directories)),
            ("placed files", whole(layout.placed_files)),
            ("inline files", whole(layout.inline_files)),
            ("fragmented files", whole(layout.fragmented_files)),
            ("extents", whole(layout.extents.placed.extents)),
            ("bytes in extents", whole(layout.extents.placed.bytes)),
            ("layout score", share(layout.layout_score)),
            ("traversal score", share(layout.traversal_score)),
            ("adjacent siblings", share(layout.adjacent_siblings)),
            ("gap p90", whole(layout.gap_bytes.map_or(0, |gap| gap.p90))),
            ("free extents", whole(free.map_or(0, |free| free.extents))),
            ("free bytes", whole(free.map_or(0, |free| free.bytes))),
        ]
    };
    let pairs = measures(saved).into_iter().zip(measures(restored));
    let mut different = pairs.filter(|((_, saved), (_, restored))| saved != restored);
    different
        .next()
        .map(|((name, saved), (_, restored))| format!("{name}: {restored}, saved {saved}"))
}

impl SavedImage {
    /// Checks that the image can be restored to this device as this filesystem: a loop device must
    /// have exactly the recorded size, a block device at least that.
    ///
    /// # Errors
    /// When the image cannot be restored there, or the device is not found.
    pub fn check_target(&self, filesystem: &str, device: &DeviceSpec) -> Result<(), LabError> {
        let ImageRecord { name, filesystem: own, device_bytes: needed, .. } = &self.record;
        if own != filesystem {
            return Err(unfit(format!("the saved image '{name}' is {own}, not {filesystem}")));
        }
        let (device_bytes, may_be_larger) = match device {
            DeviceSpec::Loop { bytes, .. } => (*bytes, false),
            DeviceSpec::Block { paths } => match paths.as_slice() {
                [path] => (bytes_of(path)?, true),
                _ => (0, true),
            },
            DeviceSpec::Directory { .. } => (0, false),
        };
        if *needed == device_bytes || (may_be_larger && *needed < device_bytes) {
            return Ok(());
        }
        let least = if may_be_larger { "at least " } else { "" };
        Err(unfit(format!(
            "the saved image '{name}' needs a device of {least}{needed} bytes, not {device_bytes}"
        )))
    }

    /// Verifies the image on a device: the filesystem's own checker must find no errors, and the
    /// layout must be the recorded one.
    ///
    /// # Errors
    /// When the image differs, or cannot be verified.
    pub(crate) fn check(&self, node: &Path, lab: &Lab) -> Result<(), LabError> {
        run_checker(node, self.filesystem(), lab)?;
        let restored = layout(node)?;
        match difference(&self.record.layout, &restored) {
            None => Ok(()),
            Some(difference) => {
                Err(self.damaged(format!("its layout is another than at saving: {difference}")))
            }
        }
    }

    /// Checks that the filesystem's own checker is installed.
    ///
    /// # Errors
    /// When the checker is not installed.
    pub fn check_available(&self, lab: &Lab) -> Result<(), LabError> {
        require_checker(self.filesystem(), lab)
    }
}

#[cfg(test)]
mod tests {
    use treering_model::{FileLayout, LayoutFree};

    use super::difference;

    #[test]
    fn layout_difference_names_the_first_differing_measure() {
        let saved =
            FileLayout { files: 7, traversal_score: Some(0.1 + 0.2), ..FileLayout::default() };
        let text = serde_json::to_string(&saved).unwrap();
        assert_eq!(difference(&saved, &serde_json::from_str(&text).unwrap()), None);
        let other = FileLayout { files: 8, ..saved.clone() };
        assert_eq!(difference(&saved, &other).unwrap(), "files: 8, saved 7");
        let free = LayoutFree { extents: 3, ..LayoutFree::default() };
        let other = FileLayout { free_space: Some(free), ..saved.clone() };
        assert_eq!(difference(&saved, &other).unwrap(), "free extents: 3, saved 0");
    }
}
