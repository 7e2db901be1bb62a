//! Device mapper: block devices that the kernel maps to others by a table of targets
//! (linux/dm-ioctl.h).
//!
//! Devices are found by their UUID, which their maker chooses and which never changes.
#![expect(unsafe_code, reason = "the device mapper is spoken to by ioctls")]

use std::ffi::c_void;
use std::fs::{File, OpenOptions};

use rustix::io::Errno;
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, ioctl, opcode};

use super::loopdev::decode_device;

const CONTROL: &str = "/dev/mapper/control";
/// Interface version: all kernels with another major version refuse the calls.
const VERSION: [u32; 3] = [4, 0, 0];
/// ioctl type of these calls.
const MAPPER: u8 = 0xfd;
/// Size of `struct dm_ioctl`.
const HEADER_BYTES: usize = 312;
/// Size of `struct dm_target_spec`.
const TARGET_BYTES: usize = 40;
/// Space for answers.
const ANSWER_BYTES: usize = 16 << 10;

const DEVICE_CREATE: u8 = 3;
const DEVICE_REMOVE: u8 = 4;
const DEVICE_RESUME: u8 = 6;
const DEVICE_STATUS: u8 = 7;
const TABLE_LOAD: u8 = 9;
const TARGET_VERSIONS: u8 = 13;
const TARGET_MESSAGE: u8 = 14;

// Offsets in `struct dm_ioctl`.
const AT_DATA_SIZE: usize = 12;
const AT_DATA_START: usize = 16;
const AT_TARGET_COUNT: usize = 20;
const AT_OPEN_COUNT: usize = 24;
const AT_DEVICE: usize = 40;
const AT_NAME: usize = 48;
const NAME_BYTES: usize = 128;
const AT_UUID: usize = 176;
const UUID_BYTES: usize = 129;

/// Target of a table: a range of the device and what the kernel does with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapperTarget {
    /// First sector of the range, in units of 512 bytes.
    pub start_sectors: u64,
    /// Length of the range, in units of 512 bytes.
    pub length_sectors: u64,
    /// Type of the target: `linear`, `crypt`.
    pub kind: &'static str,
    /// Parameters of the target.
    pub parameters: String,
}

/// Mapped device as the kernel knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapperStatus {
    /// Device number, in the encoding of `stat`.
    pub device: u64,
    /// Number of openers, holders among them.
    pub open_count: u32,
}

/// Connection to the device mapper.
#[derive(Debug)]
pub struct DeviceMapper {
    control: File,
}

impl DeviceMapper {
    /// Connects to the device mapper.
    ///
    /// # Errors
    /// `ENOENT` if the kernel has none, `EACCES` without root.
    pub fn open() -> Result<Self, Errno> {
        let control = OpenOptions::new().read(true).write(true).open(CONTROL);
        let control = control.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        Ok(Self { control })
    }

    /// Reports whether the kernel has targets of this type now: their module may not be loaded.
    ///
    /// # Errors
    /// As the ioctl.
    pub fn has_target(&self, kind: &str) -> Result<bool, Errno> {
        let answer = self.call(TARGET_VERSIONS, ("", ""), 0, &[])?;
        let start = number(&answer, AT_DATA_START) as usize;
        let end = (number(&answer, AT_DATA_SIZE) as usize).min(answer.len());
        // Entries of `struct dm_target_versions`: offset of the next, three numbers, a name.
        let mut at = start;
        while let Some(name) = answer.get(at + 16..end) {
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            if name == kind.as_bytes() {
                return Ok(true);
            }
            match number(&answer, at) as usize {
                0 => break,
                next => at += next,
            }
        }
        Ok(false)
    }

    /// Makes a device without a table; returns its number, in the encoding of `stat`.
    ///
    /// # Errors
    /// `EBUSY` if there is one of this name or UUID, `EINVAL` for names that are too long.
    pub fn create(&self, name: &str, uuid: &str) -> Result<u64, Errno> {
        let answer = self.call(DEVICE_CREATE, (name, uuid), 0, &[])?;
        Ok(decode_device(device_in(&answer)))
    }

    /// Loads a table, which comes into force with the next resume.
    ///
    /// # Errors
    /// `EINVAL` if a target refuses its parameters (the reason is in the kernel's log) or its type
    /// is unknown.
    pub fn load(&self, uuid: &str, targets: &[MapperTarget]) -> Result<(), Errno> {
        let mut data = Vec::new();
        for target in targets {
            let text = target.parameters.as_bytes();
            let length = (TARGET_BYTES + text.len() + 1).next_multiple_of(8);
            let mut spec = vec![0; length];
            spec[..8].copy_from_slice(&target.start_sectors.to_ne_bytes());
            spec[8..16].copy_from_slice(&target.length_sectors.to_ne_bytes());
            let next = u32::try_from(length).map_err(|_too_long| Errno::INVAL)?;
            spec[20..24].copy_from_slice(&next.to_ne_bytes());
            put_text(&mut spec[24..40], target.kind)?;
            spec[TARGET_BYTES..TARGET_BYTES + text.len()].copy_from_slice(text);
            data.extend(spec);
        }
        let count = u32::try_from(targets.len()).map_err(|_too_many| Errno::INVAL)?;
        self.call(TABLE_LOAD, ("", uuid), count, &data).map(drop)
    }

    /// Brings the loaded table into force.
    ///
    /// # Errors
    /// `ENXIO` if there is no such device; others of the targets.
    pub fn resume(&self, uuid: &str) -> Result<(), Errno> {
        self.call(DEVICE_RESUME, ("", uuid), 0, &[]).map(drop)
    }

    /// Sends a message to the target at the beginning of a device.
    ///
    /// # Errors
    /// `EINVAL` if the target does not understand it.
    pub fn message(&self, uuid: &str, message: &str) -> Result<(), Errno> {
        let mut data = vec![0; 8];
        data.extend(message.as_bytes());
        data.push(0);
        self.call(TARGET_MESSAGE, ("", uuid), 0, &data).map(drop)
    }

    /// Status of a device; `None` if there is none of this UUID.
    ///
    /// # Errors
    /// As the ioctl.
    pub fn status(&self, uuid: &str) -> Result<Option<MapperStatus>, Errno> {
        match self.call(DEVICE_STATUS, ("", uuid), 0, &[]) {
            Ok(answer) => Ok(Some(MapperStatus {
                device: decode_device(device_in(&answer)),
                open_count: number(&answer, AT_OPEN_COUNT),
            })),
            Err(Errno::NXIO) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Removes a device.
    ///
    /// # Errors
    /// `EBUSY` while it is open or held, `ENXIO` if there is none.
    pub fn remove(&self, uuid: &str) -> Result<(), Errno> {
        self.call(DEVICE_REMOVE, ("", uuid), 0, &[]).map(drop)
    }

    /// Makes a call for the device of this name and UUID (empty ones are left out) and returns the
    /// kernel's answer.
    fn call(
        &self,
        command: u8,
        (name, uuid): (&str, &str),
        targets: u32,
        data: &[u8],
    ) -> Result<Vec<u8>, Errno> {
        let size = HEADER_BYTES + data.len().max(ANSWER_BYTES);
        let mut buffer = vec![0; size];
        for (place, part) in VERSION.iter().enumerate() {
            buffer[place * 4..place * 4 + 4].copy_from_slice(&part.to_ne_bytes());
        }
        let fits = |bytes: usize| u32::try_from(bytes).map_err(|_too_large| Errno::INVAL);
        let (size, start) = (fits(size)?, fits(HEADER_BYTES)?);
        for (at, value) in
            [(AT_DATA_SIZE, size), (AT_DATA_START, start), (AT_TARGET_COUNT, targets)]
        {
            buffer[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        put_text(&mut buffer[AT_NAME..AT_NAME + NAME_BYTES], name)?;
        put_text(&mut buffer[AT_UUID..AT_UUID + UUID_BYTES], uuid)?;
        buffer[HEADER_BYTES..HEADER_BYTES + data.len()].copy_from_slice(data);
        let call = MapperCall { command, buffer: &mut buffer };
        // SAFETY: the kernel reads and writes at most `data_size` bytes, the size of the buffer.
        unsafe { ioctl(&self.control, call)? };
        Ok(buffer)
    }
}

/// Copies a text into a field that ends with NUL.
fn put_text(field: &mut [u8], text: &str) -> Result<(), Errno> {
    if text.len() >= field.len() || text.contains('\0') {
        return Err(Errno::INVAL);
    }
    field[..text.len()].copy_from_slice(text.as_bytes());
    Ok(())
}

/// Number of 32 bits at this offset; 0 beyond the end.
fn number(answer: &[u8], at: usize) -> u32 {
    answer.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_ne_bytes)
}

fn device_in(answer: &[u8]) -> u64 {
    let bytes = answer.get(AT_DEVICE..AT_DEVICE + 8).and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, u64::from_ne_bytes)
}

/// Call with a buffer of a `struct dm_ioctl` and its data.
struct MapperCall<'b> {
    command: u8,
    buffer: &'b mut [u8],
}

// SAFETY: the pointer is that of the buffer, which lives as long as the call and whose size is in
// its header.
unsafe impl Ioctl for MapperCall<'_> {
    type Output = ();

    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        opcode::read_write::<[u8; HEADER_BYTES]>(MAPPER, self.command)
    }

    fn as_ptr(&mut self) -> *mut c_void {
        self.buffer.as_mut_ptr().cast()
    }

    unsafe fn output_from_ptr(_: IoctlOutput, _: *mut c_void) -> Result<(), Errno> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{DeviceMapper, MapperCall, device_in, number, put_text};
    use rustix::io::Errno;
    use rustix::ioctl::Ioctl;

    #[test]
    fn calls_have_the_numbers_of_the_kernel() {
        let call = MapperCall { command: 3, buffer: &mut [] };
        assert_eq!(call.opcode(), 0xc138_fd03, "DM_DEV_CREATE");
    }

    #[test]
    fn fields_are_read_within_an_answer_only() {
        let mut field = [0; 4];
        put_text(&mut field, "abc").unwrap();
        assert_eq!(put_text(&mut field, "abcd"), Err(Errno::INVAL));
        assert_eq!(put_text(&mut field, "a\0"), Err(Errno::INVAL));
        assert_eq!((number(&[1, 0, 0, 0], 0), number(&[1], 0)), (1, 0));
        assert_eq!(device_in(&[7; 20]), 0);
    }

    #[test]
    fn a_device_that_does_not_exist_has_no_status() {
        let mapper = match DeviceMapper::open() {
            Ok(mapper) => mapper,
            Err(errno) => {
                // The node can exist without the driver.
                let absent = [Errno::NOENT, Errno::NODEV, Errno::NXIO, Errno::ACCESS, Errno::PERM];
                assert!(absent.contains(&errno), "{errno}");
                return;
            }
        };
        assert_eq!(mapper.status("TREERING-none"), Ok(None));
        assert_eq!(mapper.remove("TREERING-none"), Err(Errno::NXIO));
        assert_eq!(mapper.has_target("no-such-target"), Ok(false));
    }
}
