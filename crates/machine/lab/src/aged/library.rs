//! The library of saved images. Each image has a folder with the record (`image.json`) and the
//! content, and appears in the library only when it is complete.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::Deserialize;
use treering_model::ImageRecord;
use treering_model::filesystems::{Filesystem, by_name};
use treering_sys::{ExistingFile, LockError, WholeFile, lock_exclusive};

use super::content::{ContentDigest, unpack};
use crate::error::unfit;
use crate::machine::names;
use crate::master::MasterImage;
use crate::register::{is_private_directory, private_directory};
use crate::{DeviceError, LabError};

const RECORD: &str = "image.json";
const CONTENT: &str = "content.zst";
/// Prefix of the folder of an image that is being saved; no image name begins like this.
const UNFINISHED: &str = ".unfinished-";
/// Largest accepted record, in bytes.
const RECORD_BYTES_MAX: u64 = 1 << 20;
const NAME_LENGTH_MAX: usize = 64;
/// Version of the record and the content.
const VERSION: u32 = 1;

/// Folder of saved images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageLibrary {
    directory: PathBuf,
}

impl ImageLibrary {
    /// Library in this directory, which may be missing.
    pub fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    /// Directory of the library.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Sorted names of all images, damaged ones included.
    pub fn names(&self) -> Vec<String> {
        let mut image_names = names(&self.directory);
        image_names.retain(|name| is_name(name) && self.directory.join(name).is_dir());
        image_names.sort();
        image_names
    }

    /// Loads the image of this name. Checks the record, and of the content only its length.
    ///
    /// # Errors
    /// When there is no such image, or it is damaged.
    pub fn load(&self, name: &str) -> Result<SavedImage, LabError> {
        refuse_other_names(name)?;
        let folder = self.directory.join(name);
        if !folder.is_dir() {
            return Err(self.no_image(name));
        }
        let damaged =
            |why: String| LabError::from(DeviceError::BadImage { name: name.to_owned(), why });
        let text = read_record(&folder.join(RECORD))
            .map_err(|error| damaged(format!("{RECORD}: {error}")))?;
        let version = serde_json::from_slice::<FormatVersion>(&text);
        let version = version.map_err(|error| damaged(format!("{RECORD}: {error}")))?.version;
        if version > VERSION {
            return Err(damaged(format!(
                "it has version {version}, this treering reads {VERSION}"
            )));
        }
        let record: ImageRecord =
            serde_json::from_slice(&text).map_err(|error| damaged(format!("{RECORD}: {error}")))?;
        let print = ImageRecord::fingerprint_of_text(&String::from_utf8_lossy(&text));
        // Records of older versions have none.
        if !record.record_fingerprint.is_empty() && record.record_fingerprint != print {
            return Err(damaged(format!("{RECORD} is not what was saved")));
        }
        if record.name != name {
            return Err(damaged(format!("it was saved as '{}'", record.name.escape_debug())));
        }
        let filesystem = by_name(&record.filesystem).filter(|known| known.mkfs().is_some());
        let filesystem =
            filesystem.ok_or_else(|| damaged("its filesystem is unknown".to_owned()))?;
        let image = SavedImage { record, filesystem, folder };
        let length =
            image.open()?.metadata().map_err(LabError::io("cannot look at", image.content()))?;
        if length.len() != image.record.stored_bytes {
            let (is, was) = (length.len(), image.record.stored_bytes);
            return Err(damaged(format!("{CONTENT} has {is} bytes, {was} were saved")));
        }
        Ok(image)
    }

    fn no_image(&self, name: &str) -> LabError {
        LabError::NoImage { name: name.to_owned(), known: self.names() }
    }

    /// Removes the image of this name, damaged or not.
    ///
    /// # Errors
    /// When there is no such image, or it cannot be removed.
    pub fn remove(&self, name: &str) -> Result<(), LabError> {
        refuse_other_names(name)?;
        let folder = self.directory.join(name);
        if !fs::symlink_metadata(&folder).is_ok_and(|metadata| metadata.is_dir()) {
            return Err(self.no_image(name));
        }
        for file in [RECORD, CONTENT] {
            remove_if_exists(&folder.join(file))?;
        }
        fs::remove_dir(&folder).map_err(LabError::io("cannot remove", &folder))
    }

    /// Begins to save an image under this name.
    ///
    /// # Errors
    /// When the name is used already, or the folder cannot be written.
    pub fn begin(&self, name: &str) -> Result<NewImage, LabError> {
        self.refuse_taken(name)?;
        let directory = private_directory(&self.directory)?;
        for left in UnfinishedImage::list_in(&directory).iter().filter(|left| !left.is_alive) {
            let _stays_for_release = UnfinishedImage::remove(&left.folder);
        }
        let folder = directory.join(format!("{UNFINISHED}{}-{name}", std::process::id()));
        let made = DirBuilder::new().mode(0o700).create(&folder);
        made.map_err(LabError::io("cannot make", &folder))?;
        let place = directory.join(name);
        let mut image = NewImage { folder: Some(folder.clone()), place, lock: None };
        let lock = File::open(&folder).map_err(LabError::io("cannot open", &folder))?;
        let _not_every_filesystem_locks = lock_exclusive(&lock);
        image.lock = Some(lock);
        Ok(image)
    }

    /// Unfinished images, sorted by name.
    pub(crate) fn unfinished(&self) -> Vec<UnfinishedImage> {
        UnfinishedImage::list_in(&self.directory)
    }

    /// Folders of unfinished images whose runs were killed.
    pub fn left_unfinished(&self) -> Vec<PathBuf> {
        let left = self.unfinished().into_iter().filter(|image| !image.is_alive);
        left.map(|image| image.folder).collect()
    }

    /// Refuses an invalid or used name for a new image.
    ///
    /// # Errors
    /// When the name is invalid, or used already.
    pub fn refuse_taken(&self, name: &str) -> Result<(), LabError> {
        refuse_other_names(name)?;
        if fs::symlink_metadata(self.directory.join(name)).is_ok() {
            return Err(unfit(format!(
                "there is a saved image '{name}' already; `treering image remove {name}` removes it"
            )));
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct FormatVersion {
    version: u32,
}

fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let begins_well = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    begins_well && name.len() <= NAME_LENGTH_MAX && name.bytes().all(is_plain)
}

fn refuse_other_names(name: &str) -> Result<(), LabError> {
    if is_name(name) {
        return Ok(());
    }
    let name = name.escape_debug();
    Err(unfit(format!(
        "'{name}' is not a name of up to {NAME_LENGTH_MAX} letters, digits, '-', '_' and '.' that \
         begins with a letter or digit"
    )))
}

fn read_record(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    open_file(path)?.take(RECORD_BYTES_MAX + 1).read_to_end(&mut text)?;
    if text.len() as u64 > RECORD_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "too long"));
    }
    Ok(text)
}

/// Opens a regular file, neither following a link nor blocking on a pipe.
fn open_file(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "not a regular file"))
}

fn remove_if_exists(path: &Path) -> Result<(), LabError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(LabError::io("cannot remove", path)(error))
        }
        _ => Ok(()),
    }
}

/// An image that is being saved, or that a killed run left unfinished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnfinishedImage {
    /// Folder of the image.
    pub(crate) folder: PathBuf,
    /// Process that saves the image.
    pub(crate) pid: u32,
    /// True if the folder is locked: the image is being saved now.
    pub(crate) is_alive: bool,
}

impl UnfinishedImage {
    /// Unfinished images in a private directory; empty for a directory that others can write to.
    fn list_in(directory: &Path) -> Vec<Self> {
        if !is_private_directory(directory) {
            return Vec::new();
        }
        let mut unfinished = Vec::new();
        for name in names(directory) {
            let words = name.strip_prefix(UNFINISHED).and_then(|words| words.split_once('-'));
            let Some((pid, _)) = words.filter(|(_, of)| is_name(of)) else { continue };
            let (folder, Ok(pid)) = (directory.join(&name), pid.parse()) else { continue };
            if is_private_directory(&folder)
                && let Ok(file) = File::open(&folder)
            {
                let is_alive = lock_exclusive(&file) == Err(LockError::Held);
                unfinished.push(Self { folder, pid, is_alive });
            }
        }
        unfinished
    }

    /// Removes an unfinished image, unless a run is still saving it. A missing folder is no error.
    pub(crate) fn remove(folder: &Path) -> Result<(), LabError> {
        let lock = match File::open(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened.map_err(LabError::io("cannot open", folder))?,
        };
        if lock_exclusive(&lock) == Err(LockError::Held) {
            let by = vec!["a run that saves it".to_owned()];
            return Err(DeviceError::StillUsed { what: folder.display().to_string(), by }.into());
        }
        remove_folder(folder)
    }
}

fn remove_folder(folder: &Path) -> Result<(), LabError> {
    remove_if_exists(&folder.join(RECORD))?;
    remove_if_exists(&folder.join(CONTENT))?;
    fs::remove_dir(folder).map_err(LabError::io("cannot remove", folder))
}

/// An image that is being saved. Dropping removes an unfinished image.
#[derive(Debug)]
pub struct NewImage {
    folder: Option<PathBuf>,
    place: PathBuf,
    lock: Option<File>,
}

impl NewImage {
    /// Creates the content file.
    pub(super) fn content(&self) -> Result<File, LabError> {
        let path = self.folder.as_deref().unwrap_or(Path::new("")).join(CONTENT);
        let options = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        options.map_err(LabError::io("cannot make", path))
    }

    /// Writes the record and publishes the image under its name.
    pub(super) fn finish(
        mut self,
        mut record: ImageRecord,
        content: &File,
    ) -> Result<(), LabError> {
        let Some(folder) = self.folder.clone() else { return Ok(()) };
        let failed = || LabError::io("cannot write", &folder);
        content.sync_all().map_err(failed())?;
        record.version = VERSION;
        record.stored_bytes = content.metadata().map_err(failed())?.len();
        let text = |record: &ImageRecord| {
            serde_json::to_string_pretty(record).map_err(|error| failed()(error.into()))
        };
        record.record_fingerprint = ImageRecord::fingerprint_of_text(&text(&record)?);
        let text = text(&record)?;
        let path = folder.join(RECORD);
        let mut file = OpenOptions::new();
        let file = file.write(true).create_new(true).mode(0o600).open(&path);
        let mut file = file.map_err(LabError::io("cannot make", &path))?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed())?;
        File::open(&folder).and_then(|folder| folder.sync_all()).map_err(failed())?;
        fs::rename(&folder, &self.place).map_err(LabError::io("cannot make", &self.place))?;
        self.folder = None;
        let above = self.place.parent().unwrap_or(Path::new("/"));
        let synced = File::open(above).and_then(|above| above.sync_all());
        synced.map_err(LabError::io("cannot write", above))
    }
}

impl Drop for NewImage {
    fn drop(&mut self) {
        if let Some(folder) = self.folder.take() {
            // The next save of an image removes a remaining folder.
            let _unfinished = remove_folder(&folder);
        }
    }
}

/// An image in the library.
#[derive(Clone, Debug)]
pub struct SavedImage {
    /// Record of the image.
    pub record: ImageRecord,
    filesystem: &'static Filesystem,
    folder: PathBuf,
}

impl SavedImage {
    /// Filesystem of the image.
    pub fn filesystem(&self) -> &'static Filesystem {
        self.filesystem
    }

    fn content(&self) -> PathBuf {
        self.folder.join(CONTENT)
    }

    fn open(&self) -> Result<File, LabError> {
        open_file(&self.content()).map_err(LabError::io("cannot open", self.content()))
    }

    pub(super) fn damaged(&self, why: String) -> LabError {
        DeviceError::BadImage { name: self.record.name.clone(), why }.into()
    }

    /// Reads the whole content, passes each piece to `each`, and compares the fingerprint.
    pub(super) fn unpack(
        &self,
        each: &mut dyn FnMut(u64, &[u8]) -> io::Result<()>,
    ) -> Result<(), LabError> {
        let mut failed = None;
        let read =
            unpack(BufReader::new(self.open()?), self.record.device_bytes, &mut |at, piece| {
                each(at, piece).map_err(|error| {
                    // The receiver of the pieces failed, not the reader.
                    failed = Some(error);
                    io::Error::other("not taken")
                })
            });
        if let Some(error) = failed {
            return Err(LabError::io("cannot restore", self.content())(error));
        }
        let digest = read.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.damaged(format!("{CONTENT} is cut short")),
            _ => self.damaged(format!("{CONTENT}: {error}")),
        })?;
        let ContentDigest { fingerprint, data_bytes } = digest;
        if (fingerprint.as_str(), data_bytes)
            != (self.record.fingerprint.as_str(), self.record.data_bytes)
        {
            return Err(self.damaged("its content is not what was saved".to_owned()));
        }
        Ok(())
    }

    /// Reads the whole content and compares it with its fingerprint.
    ///
    /// # Errors
    /// When it cannot be read, or is not what was saved.
    pub fn verify(&self) -> Result<(), LabError> {
        self.unpack(&mut |_, _| Ok(()))
    }

    /// Restores the image to a new sparse file of the device's size. After a failure or a kill the
    /// file does not exist.
    ///
    /// # Errors
    /// When the file exists already or cannot be written, or the image is damaged.
    pub fn restore_to(&self, path: &Path) -> Result<(), LabError> {
        let whole = WholeFile::create(path, 0o600, ExistingFile::Keep);
        let whole = whole.map_err(LabError::io("cannot make", path))?;
        let sized = whole.file().set_len(self.record.device_bytes);
        sized.map_err(LabError::io("cannot size", path))?;
        self.unpack(&mut |place, piece| whole.file().write_all_at(piece, place))?;
        whole.publish().map_err(LabError::io("cannot write", path))
    }

    /// Copies the content into a nameless file in this directory.
    pub(crate) fn master(&self, directory: &Path) -> Result<MasterImage, LabError> {
        let master = MasterImage::empty(directory, self.record.device_bytes)
            .map_err(LabError::io("cannot make a file in", directory))?;
        self.unpack(&mut |place, piece| master.write_at(piece, place))?;
        Ok(master)
    }
}
