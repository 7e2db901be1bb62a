//! Application of settings to a job, one at a time.

mod steering;
mod verify;

use treering_script::SyncMode;

use treering_kit::faults::Fault;

use super::direction::Direction;
use super::distribution::Distribution;
use super::engine::Engine;
use super::extras::{FadviseHint, UnifiedReporting};
use super::keys::WITH_FIO;
use super::section::{
    Blocks, ExitScope, FileOrder, Preallocation, ReadWrite, Section, StatOptions, ThinkTime,
};
use super::values::{Amount, RawValue};

/// Largest request in bytes, since each request in flight has its own memory.
const BLOCK_MAX: u64 = 1 << 30;
/// Maximum number of files, and of clones, of a job.
const FILES_MAX: u64 = 1 << 20;
const CLONES_MAX: u64 = super::check::WORKERS_MAX;
/// Largest queue depth.
const DEPTH_MAX: u64 = 4096;
/// Maximum number of percentiles, as in fio.
const PERCENTILES_MAX: usize = 20;
/// Maximum number of sizes of one `bssplit`, as in fio.
const SPLITS_MAX: usize = 100;

const ALLOCATIONS: [(&str, Preallocation); 7] = [
    ("none", Preallocation::None),
    ("native", Preallocation::Native),
    ("posix", Preallocation::Posix),
    ("keep", Preallocation::Keep),
    ("truncate", Preallocation::Truncate),
    ("0", Preallocation::None),
    ("1", Preallocation::Posix),
];

const RW_WORDS: [(&str, bool, bool, bool); 11] = [
    ("read", true, false, false),
    ("write", false, true, false),
    ("randread", true, false, true),
    ("randwrite", false, true, true),
    ("rw", true, true, false),
    ("readwrite", true, true, false),
    ("randrw", true, true, true),
    ("trim", false, false, false),
    ("randtrim", false, false, true),
    ("trimwrite", false, true, false),
    ("randtrimwrite", false, true, true),
];

impl Section {
    /// Applies a setting to the section.
    pub(super) fn apply(&mut self, name: &str, value: &RawValue<'_>) -> Result<(), Fault> {
        let done = self.apply_requests(name, value)?
            || self.apply_files(name, value)?
            || self.apply_generator(name, value)?
            || self.apply_sync(name, value)?
            || self.apply_steering(name, value)?
            || self.apply_draws(name, value)?
            || self.apply_report(name, value)?;
        if done { Ok(()) } else { Err(value.refuse("cannot be set", WITH_FIO)) }
    }

    fn apply_requests(&mut self, name: &str, value: &RawValue<'_>) -> Result<bool, Fault> {
        match name {
            "rw" => self.rw(value)?,
            "rw_sequencer" => {
                self.repeats = value.word(&[("sequential", false), ("identical", true)])?;
            }
            "bs" => pairs(value, |direction, part| {
                self.blocks[direction.place()].least = block(part)?;
                self.blocks[direction.place()].most = self.blocks[direction.place()].least;
                self.blocks[direction.place()].split.clear();
                Ok(())
            })?,
            "bsrange" => pairs(value, |direction, part| {
                let (least, most) = part.range()?;
                block(&part.part(&least.to_string()))?;
                block(&part.part(&most.to_string()))?;
                let align = self.blocks[direction.place()].align;
                self.blocks[direction.place()] = Blocks { least, most, split: Vec::new(), align };
                Ok(())
            })?,
            "bssplit" => pairs(value, |direction, part| {
                let split = split(part)?;
                let sizes = || split.iter().map(|(size, _)| *size);
                let blocks = &mut self.blocks[direction.place()];
                blocks.least = sizes().min().unwrap_or(blocks.least);
                blocks.most = sizes().max().unwrap_or(blocks.most);
                blocks.split = if split.len() > 1 { split } else { Vec::new() };
                Ok(())
            })?,
            "ba" => pairs(value, |direction, part| {
                self.blocks[direction.place()].align = Some(block(part)?);
                Ok(())
            })?,
            "bs_unaligned" => self.unaligned = value.switch()?,
            "bs_is_seq_rand" => self.blocks_by_order = value.switch()?,
            "ioengine" => {
                let other = |_| {
                    let names: Vec<&str> = Engine::NAMES.iter().map(|(name, _)| *name).collect();
                    let right = format!("engines here are {}; {WITH_FIO}", names.join(", "));
                    value.refuse("is an engine that treering does not have", right)
                };
                self.engine = match value.text {
                    // The original takes any name that begins so for this engine.
                    text if text.starts_with("aio") || text.starts_with("linuxaio") => {
                        Engine::Libaio
                    }
                    _ => value.word(&Engine::NAMES).map_err(other)?,
                };
            }
            "iodepth" => self.depth = value.number(1, DEPTH_MAX)?,
            "iodepth_batch" => self.batch = value.number(0, DEPTH_MAX)?,
            "iodepth_batch_complete_min" => self.least_reaped = value.number(0, DEPTH_MAX)?,
            "iodepth_batch_complete_max" => self.most_reaped = value.number(0, DEPTH_MAX)?,
            "iodepth_low" => self.depth_low = value.number(0, DEPTH_MAX)?,
            "direct" => self.direct = value.switch()?,
            "buffered" => self.direct = !value.switch()?,
            "rwmixread" => self.mix_read = value.number(0, 100)?,
            "rwmixwrite" => self.mix_read = 100 - value.number(0, 100)?,
            "refill_buffers" => self.extras.refill_buffers = value.switch()?,
            "scramble_buffers" => self.extras.scramble_buffers = value.switch()?,
            // Written data does not depend on it: natively the payload, under fio's name zeros.
            "zero_buffers" => value.switch().map(|_| ())?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn rw(&mut self, value: &RawValue<'_>) -> Result<(), Fault> {
        let (word, more) = match value.text.split_once(':') {
            Some((word, more)) => (word, Some(more)),
            None => (value.text, None),
        };
        let Some(&(_, reads, writes, random)) = RW_WORDS.iter().find(|(name, ..)| *name == word)
        else {
            let words: Vec<&str> = RW_WORDS.iter().map(|(name, ..)| *name).collect();
            let right = format!("rw is one of: {}; {WITH_FIO}", words.join(", "));
            return Err(value.refuse("is not known here", right));
        };
        self.rw = ReadWrite { reads, writes, trims: word.contains("trim"), random };
        (self.sequence, self.hole) = (1, 0);
        let Some(more) = more else { return Ok(()) };
        let part = value.part(more);
        if random {
            self.sequence = part.number(1, u64::from(u32::MAX))?;
            return Ok(());
        }
        let (negative, size) = match more.strip_prefix('-') {
            Some(size) => (true, part.part(size).size()?),
            None => (false, part.size()?),
        };
        let hole = i64::try_from(size).unwrap_or(i64::MAX);
        self.hole = if negative { -hole } else { hole };
        Ok(())
    }

    fn apply_files(&mut self, name: &str, value: &RawValue<'_>) -> Result<bool, Fault> {
        match name {
            "size" => self.size = Some(value.amount()?),
            "io_size" => {
                let nothing = [Amount::Bytes(0), Amount::Percent(0)];
                self.io_size = Some(value.amount()?).filter(|amount| !nothing.contains(amount));
            }
            "filesize" => self.file_size = Some(value.range()?).filter(|(low, _)| *low > 0),
            "offset" => self.offset = value.amount()?,
            "offset_increment" => self.offset_increment = value.amount()?,
            "number_ios" => self.number_ios = value.number(0, u64::MAX)?,
            "nrfiles" => self.files = value.number(1, FILES_MAX)?,
            "openfiles" => self.open_files = value.number(0, FILES_MAX)?,
            "file_service_type" => self.service(value)?,
            "directory" => self.directories = paths(value)?,
            "filename" => self.unplaced.extend(paths(value)?),
            "filename_format" => value.text.clone_into(&mut self.filename_format),
            "unique_filename" => self.unique_filename = value.switch()?,
            "fallocate" => self.allocation = value.word(&ALLOCATIONS)?,
            "create_on_open" => self.create_on_open = value.switch()?,
            "create_fsync" => self.create_fsync = value.switch()?,
            "create_serialize" => {
                // Files are always created one job after the other, with or without this option.
                value.switch()?;
            }
            "fadvise_hint" => {
                let words = [
                    ("0", FadviseHint::Nothing),
                    ("1", FadviseHint::Usual),
                    ("random", FadviseHint::Random(true)),
                    ("sequential", FadviseHint::Random(false)),
                ];
                self.extras.advice = value.word(&words)?;
            }
            "pre_read" => self.extras.reads_before = value.switch()?,
            "unlink_each_loop" => self.extras.unlinks_each_pass = value.switch()?,
            "fill_device" => self.extras.fills = value.switch()?,
            "offset_align" => self.extras.offset_align = value.size()?,
            "file_append" => self.extras.appends = value.switch()?,
            "create_only" => self.extras.creates_only = value.switch()?,
            "overwrite" => self.overwrite = value.switch()?,
            "unlink" => self.unlink = value.switch()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn service(&mut self, value: &RawValue<'_>) -> Result<(), Fault> {
        let (word, requests) = value.text.split_once(':').unwrap_or((value.text, "1"));
        self.extras.service = Distribution::Even;
        if let "zipf" | "pareto" | "normal" | "gauss" = word {
            let text = value.text.replacen("gauss", "normal", 1);
            self.extras.service = Distribution::read(&value.part(&text))?;
            (self.service, self.service_requests) = (FileOrder::Random, 1);
            return Ok(());
        }
        let words = [
            ("random", FileOrder::Random),
            ("roundrobin", FileOrder::RoundRobin),
            ("sequential", FileOrder::Sequential),
        ];
        self.service = value.part(word).word(&words)?;
        self.service_requests = value.part(requests).number(1, u64::from(u32::MAX))?;
        Ok(())
    }

    fn apply_generator(&mut self, name: &str, value: &RawValue<'_>) -> Result<bool, Fault> {
        match name {
            "numjobs" => self.clones = value.number(1, CLONES_MAX)?,
            "thread" => self.thread = value.switch()?,
            "runtime" => self.runtime_us = value.time_us(1_000_000)?,
            "time_based" => self.time_based = value.switch()?,
            "ramp_time" => self.ramp_us = value.time_us(1_000_000)?,
            "startdelay" => {
                let (least, most) = value.text.split_once('-').unwrap_or((value.text, value.text));
                let time = |text| value.part(text).time_us(1_000_000);
                self.start_delay_us = [time(least)?, time(most)?];
                if !self.start_delay_us.is_sorted() {
                    let right = "write the shorter one first, as 1-2";
                    return Err(value.refuse("is not a range of times", right));
                }
            }
            "loops" => self.loops = value.number(1, u64::from(u32::MAX))?,
            "group_reporting" => self.group_reporting = value.switch()?,
            "new_group" => self.new_group = value.switch()?,
            "stonewall" => self.stonewall = value.switch()?,
            "exitall" => self.exits = value.switch()?.then_some(self.exits_with),
            "exit_what" => {
                let words = [
                    ("group", ExitScope::Group),
                    ("stonewall", ExitScope::Stonewall),
                    ("all", ExitScope::All),
                ];
                self.exits_with = value.word(&words)?;
                self.exits = self.exits.map(|_| self.exits_with);
            }
            "rate" => pairs(value, |direction, part| {
                self.rate[direction.place()] = part.size()?;
                Ok(())
            })?,
            "rate_iops" => pairs(value, |direction, part| {
                self.rate_iops[direction.place()] = part.number(0, u64::from(u32::MAX))?;
                Ok(())
            })?,
            "thinktime" => self.think.us = value.time_us(1)?,
            "thinktime_blocks" => {
                let blocks = value.number(1, u64::from(u32::MAX))?;
                self.think = ThinkTime { blocks, ..self.think };
            }
            "thinktime_iotime" => self.think.io_us = value.time_us(1_000_000)?,
            "thinktime_blocks_type" => {
                value.word(&[("complete", ()), ("issue", ())])?;
            }
            // A pause has the same length, whether or not it spins.
            "thinktime_spin" => value.time_us(1).map(|_| ())?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn apply_sync(&mut self, name: &str, value: &RawValue<'_>) -> Result<bool, Fault> {
        match name {
            "fsync" => self.fsync = value.number(0, u64::from(u32::MAX))?,
            "fdatasync" => self.fdatasync = value.number(0, u64::from(u32::MAX))?,
            "sync_file_range" => self.sync_file_range(value)?,
            "end_fsync" => self.end_fsync = value.switch()?,
            "fsync_on_close" => self.fsync_on_close = value.switch()?,
            "invalidate" => self.invalidate = value.switch()?,
            "sync" => {
                let words = [
                    ("0", SyncMode::No),
                    ("none", SyncMode::No),
                    ("1", SyncMode::All),
                    ("sync", SyncMode::All),
                    ("dsync", SyncMode::Data),
                ];
                self.synchronous = value.word(&words)?;
            }
            _ => return self.apply_verify(name, value),
        }
        Ok(true)
    }

    fn apply_draws(&mut self, name: &str, value: &RawValue<'_>) -> Result<bool, Fault> {
        match name {
            "norandommap" => self.draws.random_map = !value.switch()?,
            "randrepeat" => self.draws.repeatable = value.switch()?,
            "allrandrepeat" => self.draws.all_repeatable = value.switch()?,
            "randseed" => self.draws.seed = value.number(0, u64::MAX)?,
            "random_generator" => {
                let words = [
                    ("tausworthe", (false, false)),
                    ("lfsr", (true, false)),
                    ("tausworthe64", (false, true)),
                ];
                (self.draws.register, self.draws.long) = value.word(&words)?;
            }
            "random_distribution" => self.draws.distribution = Distribution::read(value)?,
            "percentage_random" => pairs(value, |direction, part| {
                self.draws.percent_random[direction.place()] = part.number(0, 100)?;
                Ok(())
            })?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn apply_report(&mut self, name: &str, value: &RawValue<'_>) -> Result<bool, Fault> {
        match name {
            "name" => value.text.clone_into(&mut self.name),
            "description" => self.description = Some(value.text.to_owned()),
            "percentile_list" => self.reported.percentiles = percentiles(value)?,
            "clat_percentiles" => self.reported.clat_percentiles = value.switch()?,
            "lat_percentiles" => self.reported.lat_percentiles = value.switch()?,
            "slat_percentiles" => self.reported.slat_percentiles = value.switch()?,
            "disable_lat" => self.reported.disable_lat = value.switch()?,
            "disable_clat" => self.reported.disable_clat = value.switch()?,
            "disable_slat" => self.reported.disable_slat = value.switch()?,
            "disable_bw" => self.reported.disable_bw = value.switch()?,
            "gtod_reduce" => {
                if value.switch()? {
                    self.reported = StatOptions {
                        percentiles: self.reported.percentiles.clone(),
                        ..StatOptions::NONE
                    };
                }
            }
            "unified_rw_reporting" => {
                let words = [
                    ("none", UnifiedReporting::Apart),
                    ("0", UnifiedReporting::Apart),
                    ("mixed", UnifiedReporting::Mixed),
                    ("1", UnifiedReporting::Mixed),
                    ("both", UnifiedReporting::Both),
                    ("2", UnifiedReporting::Both),
                ];
                self.extras.unified = value.word(&words)?;
            }
            "read_iolog" => self.extras.replays = Some(value.text.to_owned()),
            "replay_no_stall" => self.extras.replay_stalls = !value.switch()?,
            "bwavgtime" => self.extras.sampled_ms[0] = value.number(1, u64::from(u32::MAX))?,
            "iopsavgtime" => self.extras.sampled_ms[1] = value.number(1, u64::from(u32::MAX))?,
            "significant_figures" => {
                let figures = value.number(1, 10)?;
                self.extras.numbers.figures = usize::try_from(figures).unwrap_or(4);
            }
            "unit_base" => {
                let words = [("0", false), ("8", false), ("1", true)];
                self.extras.numbers.bits = value.word(&words)?;
            }
            // The session reads the option where it measures the disk.
            "disk_util" => value.switch().map(|_| ())?,
            // The option is read before all others.
            "kb_base" => {}
            _ => return self.apply_log(name, value),
        }
        Ok(true)
    }

    fn apply_log(&mut self, name: &str, value: &RawValue<'_>) -> Result<bool, Fault> {
        match name {
            "log_offset" => self.logs.offsets = value.switch()?,
            "write_iolog" => self.logs.requests = Some(prefix(value)?),
            "per_job_logs" => self.logs.together = !value.switch()?,
            "write_lat_log" => self.logs.latencies = Some(prefix(value)?),
            "write_bw_log" => self.logs.bandwidth = Some(prefix(value)?),
            "write_iops_log" => self.logs.iops = Some(prefix(value)?),
            "write_hist_log" => self.logs.histograms = Some(prefix(value)?),
            "log_hist_msec" => self.logs.histogram_ms = value.number(0, u64::from(u32::MAX))?,
            "log_hist_coarseness" => {
                let power = value.number(0, 6)?;
                self.logs.histogram_coarseness = u32::try_from(power).unwrap_or(0);
            }
            "log_avg_msec" => self.logs.average_ms = value.number(0, u64::from(u32::MAX))?,
            "log_max_value" => self.logs.has_maxima = value.switch()?,
            // Lines are written while the clone works, so that there is nothing to compress.
            "log_compression" => value.size().map(|_| ())?,
            "log_compression_cpus" => {
                let plain = |c: char| c.is_ascii_digit() || matches!(c, ',' | '-' | ':');
                if !value.text.chars().all(plain) {
                    return Err(value.refuse("is no list of processors", "write 0,2-4"));
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Parses a value for all directions, or one for reads and one for writes (and one for trims): an
/// empty part keeps the previous value.
pub(super) fn pairs(
    value: &RawValue<'_>,
    mut set: impl FnMut(Direction, &RawValue<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let parts: Vec<&str> = value.text.split(',').map(str::trim).collect();
    match parts.as_slice() {
        [both] => {
            Direction::ALL.into_iter().try_for_each(|direction| set(direction, &value.part(both)))
        }
        [reads, writes, rest @ ..] if rest.len() < 2 => {
            // Trims are as writes, unless they have a part of their own.
            let trims = rest.first().unwrap_or(writes);
            for (direction, text) in Direction::ALL.into_iter().zip([reads, writes, trims]) {
                if !text.is_empty() {
                    set(direction, &value.part(text))?;
                }
            }
            Ok(())
        }
        _ => Err(value.refuse("has too many parts", "give one value, or one for reads and writes")),
    }
}

/// Parses the size of a request.
fn block(value: &RawValue<'_>) -> Result<u64, Fault> {
    match value.size()? {
        bytes @ 1..=BLOCK_MAX => Ok(bytes),
        _ => {
            let right = format!("a request is from 1 byte to 1g; {WITH_FIO}");
            Err(value.refuse("is not the size of a request", right))
        }
    }
}

/// Parses sizes with percentages; sizes without one share the rest.
fn split(value: &RawValue<'_>) -> Result<Vec<(u64, u64)>, Fault> {
    let mut sizes = Vec::new();
    let (mut sum, mut without) = (0, 0);
    for part in value.text.split(':') {
        let (size, percent) = part.split_once('/').unwrap_or((part, ""));
        let size = block(&value.part(size))?;
        let percent = match percent.trim() {
            "" => None,
            percent => {
                let end = percent.find(|c: char| !c.is_ascii_digit()).unwrap_or(percent.len());
                Some(value.part(&percent[..end]).number(0, 100)?)
            }
        };
        sum += percent.unwrap_or(0);
        without += u64::from(percent.is_none());
        sizes.push((size, percent));
    }
    if sum > 100 || (without == 0 && sum != 100) || sizes.len() > SPLITS_MAX {
        let right = "the percentages of a bssplit make 100, as 4k/60:8k/40";
        return Err(value.refuse("does not make 100 percent", right));
    }
    let share = (100 - sum).checked_div(without).unwrap_or(0);
    let mut split: Vec<(u64, u64)> =
        sizes.into_iter().map(|(size, percent)| (size, percent.unwrap_or(share))).collect();
    // As in the original, the rarest size is tried first.
    split.sort_by_key(|&(_, percent)| percent);
    Ok(split)
}

fn paths(value: &RawValue<'_>) -> Result<Vec<String>, Fault> {
    let paths = split_paths(value.text);
    paths.ok_or_else(|| value.refuse("is no path", "a path has from 1 to 3800 bytes"))
}

/// Splits paths at colons, except after a backslash. `None` if a path is invalid.
pub(super) fn split_paths(text: &str) -> Option<Vec<String>> {
    let mut paths = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\\' if chars.peek() == Some(&':') => paths.last_mut().into_iter().for_each(|path| {
                path.extend(chars.next());
            }),
            ':' => paths.push(String::new()),
            other => paths.last_mut().into_iter().for_each(|path| path.push(other)),
        }
    }
    let is_path = |path: &String| !path.is_empty() && path.len() <= 3800;
    paths.iter().all(is_path).then_some(paths)
}

/// Filename prefix of logs; empty for the job's name.
fn prefix(value: &RawValue<'_>) -> Result<String, Fault> {
    if value.text.len() > 3800 || value.text.contains('\0') {
        return Err(value.refuse("is no path", "a path has up to 3800 bytes"));
    }
    Ok(value.text.to_owned())
}

fn percentiles(value: &RawValue<'_>) -> Result<Vec<f64>, Fault> {
    let right = "percentiles are up to 20 numbers above 0 and up to 100, as 50:99:99.9";
    let mut percentiles = Vec::new();
    for part in value.text.split([':', ',']) {
        let plain = part.trim().bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let number = part.trim().parse::<f64>().ok().filter(|_| plain);
        match number.filter(|number| *number > 0.0 && *number <= 100.0) {
            Some(number) => percentiles.push(number),
            None => return Err(value.refuse("is no list of percentiles", right)),
        }
    }
    percentiles.sort_by(f64::total_cmp);
    if percentiles.len() > PERCENTILES_MAX {
        return Err(value.refuse("is no list of percentiles", right));
    }
    Ok(percentiles)
}
