//! Sizes of the files of a job, and the range of each that the job works on.

use crate::language::{Amount, Engine, Section};

use super::tausworthe::Tausworthe;

/// Maximum number of blocks of a random map: with a bit each, the map takes 1 GiB.
const BLOCKS_MAX: u64 = 1 << 33;

/// Range of a file that a job works on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    /// Start of the range.
    pub(super) offset: u64,
    /// Length of the range.
    pub(super) bytes: u64,
    /// Size of the file after layout.
    pub(super) file_bytes: u64,
    /// Size of the file before layout.
    pub(super) found_bytes: u64,
    /// Start of the range in every pass after the first; its end is computed from here. A relative
    /// offset then refers to the current size of the file.
    pub(super) later_offset: u64,
}

impl Extent {
    /// End of the range.
    pub(super) const fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }

    /// Upper bound of the end of any request.
    pub(super) const fn limit(&self) -> u64 {
        self.later_offset.saturating_add(self.bytes)
    }

    /// True if the file must be extended before the job begins.
    pub(super) const fn is_short(&self) -> bool {
        self.end() > self.found_bytes
    }
}

/// Ranges of all files of a clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Extents {
    pub(super) files: Vec<Extent>,
    /// Value of `size` in bytes, resolved.
    pub(super) size: u64,
}

impl Extents {
    /// Ends the requests to devices, whose places among the files are true, where the devices end.
    pub(super) fn within_devices(mut self, are_devices: impl Iterator<Item = bool>) -> Self {
        for (extent, _) in self.files.iter_mut().zip(are_devices).filter(|(_, is_it)| *is_it) {
            extent.file_bytes = extent.found_bytes;
        }
        self
    }
}

/// Reason why the sizes of the files cannot be determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SizeError {
    /// No option states a size, and the files do not exist.
    NoSize,
    /// The range begins after the end of a file.
    Behind,
    /// The range is shorter than the smallest request.
    TooSmall,
    /// The random map would need too much memory.
    TooMany,
}

impl SizeError {
    /// Message for the user.
    pub(super) const fn why(self) -> &'static str {
        match self {
            Self::NoSize => "you need to specify size=",
            Self::Behind => "the offset lies behind the end of the file",
            Self::TooSmall => "blocksize is larger than data set range",
            Self::TooMany => "more than 2^33 blocks for the random map: write norandommap",
        }
    }
}

/// Ranges of files that had these sizes before layout. `draws` generates random file sizes.
pub(super) fn extents(
    job: &Section,
    clone: u64,
    existing: &[u64],
    mut draws: Tausworthe,
) -> Result<Extents, SizeError> {
    if let Some(replay) = &job.extras.replay {
        // The log determines the offsets.
        let whole =
            |&found_bytes: &u64| Extent { file_bytes: u64::MAX, found_bytes, ..Extent::default() };
        return Ok(Extents { files: existing.iter().map(whole).collect(), size: replay.bytes() });
    }
    let (least, count) = (job.least_block(), existing.len().max(1) as u64);
    let (size, percent) = match job.size {
        Some(Amount::Bytes(bytes)) => (bytes, 100),
        Some(Amount::Percent(percent)) => (0, percent),
        None => (0, 100),
    };
    // Engines without files take the stated size, or no limit.
    let unreal = if size > 0 { size / count } else { u64::MAX };
    let unreal = (job.engine == Engine::Null).then(|| vec![unreal; existing.len()]);
    let sizes = unreal.as_deref().unwrap_or(existing);
    let total = sizes.iter().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
    if matches!(total, 0 | u64::MAX) && size == 0 && job.file_size.is_none() {
        return Err(SizeError::NoSize);
    }
    let each = size / count;
    // The remainder extends the first files, by a request each.
    let mut longer = (size - each * count) / least;
    let mut files = Vec::with_capacity(sizes.len());
    for &found_bytes in sizes {
        let offset = start(job, clone, found_bytes);
        let bytes = match job.file_size {
            None => {
                let more = if longer > 0 { least } else { 0 };
                longer = longer.saturating_sub(1);
                match each + more {
                    0 => found_bytes.checked_sub(offset).ok_or(SizeError::Behind)?,
                    bytes => bytes,
                }
            }
            Some((low, high)) if found_bytes < low || found_bytes > high => {
                if offset > low {
                    return Err(SizeError::Behind);
                }
                let whole = if low == high { low } else { drawn(low, high, least, &mut draws) };
                whole.checked_sub(offset).ok_or(SizeError::Behind)?
            }
            Some(_) => found_bytes.checked_sub(offset).ok_or(SizeError::Behind)?,
        };
        let mut extent = Extent { offset, bytes, found_bytes, ..Extent::default() };
        if percent < 100 {
            let whole = u128::from(extent.end()) * u128::from(percent) / 100;
            let bytes = u64::try_from(whole).unwrap_or(u64::MAX).min(extent.bytes);
            extent.bytes = bytes - bytes % least;
        }
        extent.file_bytes = extent.end().max(found_bytes);
        extent.later_offset = start(job, clone, extent.file_bytes);
        files.push(extent);
    }
    let sum = files.iter().fold(0_u64, |sum, extent| sum.saturating_add(extent.bytes));
    let size = if size == 0 || (sum > 0 && size > sum) { sum } else { size };
    if size < least || job.io_bytes(size).is_some_and(|bytes| bytes < least) {
        return Err(SizeError::TooSmall);
    }
    if job.rw.random && job.draws.random_map && sum / least > BLOCKS_MAX {
        return Err(SizeError::TooMany);
    }
    Ok(Extents { files, size })
}

/// Start of a clone's range in a file.
fn start(job: &Section, clone: u64, found_bytes: u64) -> u64 {
    if job.extras.appends {
        return found_bytes;
    }
    let of = |amount: Amount| match amount {
        Amount::Bytes(bytes) => bytes,
        Amount::Percent(percent) => {
            let bytes = u128::from(found_bytes) * u128::from(percent) / 100;
            u64::try_from(bytes).unwrap_or(u64::MAX)
        }
    };
    let more = of(job.offset_increment).saturating_mul(clone);
    let offset = of(job.offset).saturating_add(more);
    let is_share = |amount| matches!(amount, Amount::Percent(1..));
    let aligns = is_share(job.offset) || is_share(job.offset_increment);
    // Percentages are rounded up to the alignment.
    if aligns {
        let align =
            if job.extras.offset_align > 0 { job.extras.offset_align } else { job.least_block() };
        offset.checked_next_multiple_of(align).unwrap_or(offset)
    } else {
        offset
    }
}

fn drawn(low: u64, high: u64, least: u64, draws: &mut Tausworthe) -> u64 {
    let bytes = low + draws.below(high - low);
    bytes - bytes % least
}
