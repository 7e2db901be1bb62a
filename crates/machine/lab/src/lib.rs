//! The lab: makes and removes the targets of trials.
//!
//! A target directory is made if missing, locked against a second run, and marked so that the trees
//! of a killed run can be found and removed. A device is a loop image, or a disk that the guard has
//! inspected. It is formatted, mounted and released, and is recorded in the register while it is
//! owned.

mod aged;
mod caches;
mod device;
mod device_caution;
mod device_error;
mod error;
mod examination;
mod families;
pub mod filesystems;
mod guard;
mod images;
mod lab;
mod layers;
mod machine;
mod master;
mod played;
mod reboot;
mod register;
mod rehearsal;
mod release;
mod remounting;
mod scratch;
mod settings;
mod staged;
mod template;
mod tools;
mod trees;
mod unmounted;
mod view;
mod volume;
mod workplace;

pub use aged::{AgedTarget, ImageLibrary, NewImage, SavedImage};
pub use caches::{CacheDrop, CacheEvidence, SettleLimits, SettleResult, drop_and_verify, settle};
pub use device::{LabDevice, MemberDevice, RawDevices};
pub use device_caution::DeviceCaution;
pub use device_error::DeviceError;
pub use error::LabError;
pub use examination::{InventoryRequest, MachineFindings, take_inventory};
pub use filesystems::Availability;
pub use guard::{
    DeviceSignature, EraseList, FormatObstacle, Inspection, SearchCoverage, find_signatures,
    inspect, obstacles_to_writing,
};
pub use lab::{Lab, LabLeftover, LeftoverKind};
pub use machine::DeviceNumber;
pub use played::{PlayedModel, serve_played_disk};
pub use reboot::{
    BootCommands, BootLoader, BootRequest, CommandLine, ContinuationUnit, RebootControl,
    RebootError, RebootLock, RebootRecord,
};
pub use register::PlanIdentity;
pub use rehearsal::{RefusedPart, RehearsalError, rehearse};
pub use remounting::RemountableFilesystem;
pub use scratch::{
    CopyError, FilesystemProfile, FreshCopyComparison, FreshCopyError, TreeCopyError, copy_tree,
};
pub use settings::SettingsInForce;
pub use staged::{
    HeldDirectory, HeldDirectoryError, STAGED_STORE, StagedFile, StagingError,
    own_staging_directory, remove_staged_files, staged_files, staged_prefix,
};
pub use template::{FilesystemTemplate, FormatRecord, PackedTemplate};
pub use trees::{LeftoverTrees, RunTree, SparedTree, find_leftovers, remove_leftovers};
pub use unmounted::options_in_force;
pub use view::{ReadOnlyView, ViewKind, is_image};
pub use volume::{MountRecord, MountedVolume, Volume};
pub use workplace::OwnedDirectory;
