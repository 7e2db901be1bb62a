//! One setting after the other, each put where it belongs.

mod steering;
mod verify;

use treering_script::SyncMode;

use treering_kit::faults::Fault;

use super::direction::Direction;
use super::distribution::Distribution;
use super::engine::Engine;
use super::extras::{Advice, Unified};
use super::keys::WITH_FIO;
use super::section::{Allocation, Blocks, Exits, ReadWrite, Reported, Section, Service, Think};
use super::values::{Amount, Given};

/// The largest request; each that is under way has memory of its own.
const BLOCK_MAX: u64 = 1 << 30;
/// More files or clones than anybody has.
const FILES_MAX: u64 = 1 << 20;
const CLONES_MAX: u64 = 1024;
/// The deepest queue.
const DEPTH_MAX: u64 = 4096;
/// The longest list of percentiles that fio takes.
const PERCENTILES_MAX: usize = 20;
/// Sizes in one `bssplit`, as many as fio takes.
const SPLITS_MAX: usize = 100;

const ALLOCATIONS: [(&str, Allocation); 7] = [
    ("none", Allocation::None),
    ("native", Allocation::Native),
    ("posix", Allocation::Posix),
    ("keep", Allocation::Keep),
    ("truncate", Allocation::Truncate),
    ("0", Allocation::None),
    ("1", Allocation::Posix),
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
    /// Puts a setting where it belongs.
    pub(super) fn apply(&mut self, name: &str, given: &Given<'_>) -> Result<(), Fault> {
        let done = self.apply_requests(name, given)?
            || self.apply_files(name, given)?
            || self.apply_generator(name, given)?
            || self.apply_sync(name, given)?
            || self.apply_steering(name, given)?
            || self.apply_draws(name, given)?
            || self.apply_report(name, given)?;
        if done { Ok(()) } else { Err(given.refuse("cannot be set", WITH_FIO)) }
    }

    fn apply_requests(&mut self, name: &str, given: &Given<'_>) -> Result<bool, Fault> {
        match name {
            "rw" => self.rw(given)?,
            "rw_sequencer" => {
                self.repeats = given.word(&[("sequential", false), ("identical", true)])?;
            }
            "bs" => pairs(given, |direction, part| {
                self.blocks[direction.place()].least = block(part)?;
                self.blocks[direction.place()].most = self.blocks[direction.place()].least;
                self.blocks[direction.place()].split.clear();
                Ok(())
            })?,
            "bsrange" => pairs(given, |direction, part| {
                let (least, most) = part.range()?;
                block(&part.part(&least.to_string()))?;
                block(&part.part(&most.to_string()))?;
                let align = self.blocks[direction.place()].align;
                self.blocks[direction.place()] = Blocks { least, most, split: Vec::new(), align };
                Ok(())
            })?,
            "bssplit" => pairs(given, |direction, part| {
                let split = split(part)?;
                let sizes = || split.iter().map(|(size, _)| *size);
                let blocks = &mut self.blocks[direction.place()];
                blocks.least = sizes().min().unwrap_or(blocks.least);
                blocks.most = sizes().max().unwrap_or(blocks.most);
                blocks.split = if split.len() > 1 { split } else { Vec::new() };
                Ok(())
            })?,
            "ba" => pairs(given, |direction, part| {
                self.blocks[direction.place()].align = Some(block(part)?);
                Ok(())
            })?,
            "bs_unaligned" => self.unaligned = given.switch()?,
            "bs_is_seq_rand" => self.blocks_by_order = given.switch()?,
            "ioengine" => {
                let other = |_| {
                    let names: Vec<&str> = Engine::NAMES.iter().map(|(name, _)| *name).collect();
                    let right = format!("engines here are {}; {WITH_FIO}", names.join(", "));
                    given.refuse("is an engine that treering does not have", right)
                };
                self.engine = given.word(&Engine::NAMES).map_err(other)?;
            }
            "iodepth" => self.depth = given.number(1, DEPTH_MAX)?,
            "iodepth_batch" => self.batch = given.number(0, DEPTH_MAX)?,
            "iodepth_batch_complete_min" => self.least_reaped = given.number(0, DEPTH_MAX)?,
            "iodepth_batch_complete_max" => self.most_reaped = given.number(0, DEPTH_MAX)?,
            "iodepth_low" => self.depth_low = given.number(0, DEPTH_MAX)?,
            "direct" => self.direct = given.switch()?,
            "buffered" => self.direct = !given.switch()?,
            "rwmixread" => self.mix_read = given.number(0, 100)?,
            "rwmixwrite" => self.mix_read = 100 - given.number(0, 100)?,
            "refill_buffers" => self.extras.refill_buffers = given.switch()?,
            "scramble_buffers" => self.extras.scramble_buffers = given.switch()?,
            // What is written does not hang on it: natively a payload, under fio's name zeros.
            "zero_buffers" => given.switch().map(|_| ())?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn rw(&mut self, given: &Given<'_>) -> Result<(), Fault> {
        let (word, more) = match given.text.split_once(':') {
            Some((word, more)) => (word, Some(more)),
            None => (given.text, None),
        };
        let Some(&(_, reads, writes, random)) = RW_WORDS.iter().find(|(name, ..)| *name == word)
        else {
            let words: Vec<&str> = RW_WORDS.iter().map(|(name, ..)| *name).collect();
            let right = format!("rw is one of: {}; {WITH_FIO}", words.join(", "));
            return Err(given.refuse("is not known here", right));
        };
        self.rw = ReadWrite { reads, writes, trims: word.contains("trim"), random };
        (self.sequence, self.hole) = (1, 0);
        let Some(more) = more else { return Ok(()) };
        let part = given.part(more);
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

    fn apply_files(&mut self, name: &str, given: &Given<'_>) -> Result<bool, Fault> {
        match name {
            "size" => self.size = Some(given.amount()?),
            "io_size" => {
                let nothing = [Amount::Bytes(0), Amount::Percent(0)];
                self.io_size = Some(given.amount()?).filter(|amount| !nothing.contains(amount));
            }
            "filesize" => self.file_size = Some(given.range()?).filter(|(low, _)| *low > 0),
            "offset" => self.offset = given.amount()?,
            "offset_increment" => self.offset_increment = given.amount()?,
            "number_ios" => self.number_ios = given.number(0, u64::MAX)?,
            "nrfiles" => self.files = given.number(1, FILES_MAX)?,
            "openfiles" => self.open_files = given.number(0, FILES_MAX)?,
            "file_service_type" => self.service(given)?,
            "directory" => self.directories = paths(given)?,
            "filename" => self.filenames = paths(given)?,
            "filename_format" => given.text.clone_into(&mut self.filename_format),
            "unique_filename" => self.unique_filename = given.switch()?,
            "fallocate" => self.allocation = given.word(&ALLOCATIONS)?,
            "create_on_open" => self.create_on_open = given.switch()?,
            "create_fsync" => self.create_fsync = given.switch()?,
            "create_serialize" => {
                // Files are made one job after the other, also where that is not asked for.
                given.switch()?;
            }
            "fadvise_hint" => {
                let words = [
                    ("0", Advice::Nothing),
                    ("1", Advice::Usual),
                    ("random", Advice::Random(true)),
                    ("sequential", Advice::Random(false)),
                ];
                self.extras.advice = given.word(&words)?;
            }
            "pre_read" => self.extras.reads_before = given.switch()?,
            "unlink_each_loop" => self.extras.unlinks_each_pass = given.switch()?,
            "fill_device" => self.extras.fills = given.switch()?,
            "offset_align" => self.extras.offset_align = given.size()?,
            "file_append" => self.extras.appends = given.switch()?,
            "create_only" => self.extras.creates_only = given.switch()?,
            "overwrite" => self.overwrite = given.switch()?,
            "unlink" => self.unlink = given.switch()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn service(&mut self, given: &Given<'_>) -> Result<(), Fault> {
        let (word, requests) = given.text.split_once(':').unwrap_or((given.text, "1"));
        self.extras.service = Distribution::Even;
        if let "zipf" | "pareto" | "normal" | "gauss" = word {
            let text = given.text.replacen("gauss", "normal", 1);
            self.extras.service = Distribution::read(&given.part(&text))?;
            (self.service, self.service_requests) = (Service::Random, 1);
            return Ok(());
        }
        let words = [
            ("random", Service::Random),
            ("roundrobin", Service::RoundRobin),
            ("sequential", Service::Sequential),
        ];
        self.service = given.part(word).word(&words)?;
        self.service_requests = given.part(requests).number(1, u64::from(u32::MAX))?;
        Ok(())
    }

    fn apply_generator(&mut self, name: &str, given: &Given<'_>) -> Result<bool, Fault> {
        match name {
            "numjobs" => self.clones = given.number(1, CLONES_MAX)?,
            "thread" => self.thread = given.switch()?,
            "runtime" => self.runtime_us = given.time_us(1_000_000)?,
            "time_based" => self.time_based = given.switch()?,
            "ramp_time" => self.ramp_us = given.time_us(1_000_000)?,
            "startdelay" => {
                let (least, most) = given.text.split_once('-').unwrap_or((given.text, given.text));
                let time = |text| given.part(text).time_us(1_000_000);
                self.start_delay_us = [time(least)?, time(most)?];
                if !self.start_delay_us.is_sorted() {
                    let right = "write the shorter one first, as 1-2";
                    return Err(given.refuse("is not a range of times", right));
                }
            }
            "loops" => self.loops = given.number(1, u64::from(u32::MAX))?,
            "group_reporting" => self.group_reporting = given.switch()?,
            "new_group" => self.new_group = given.switch()?,
            "stonewall" => self.stonewall = given.switch()?,
            "exitall" => self.exits = given.switch()?.then_some(self.exits_with),
            "exit_what" => {
                let words =
                    [("group", Exits::Group), ("stonewall", Exits::Stonewall), ("all", Exits::All)];
                self.exits_with = given.word(&words)?;
                self.exits = self.exits.map(|_| self.exits_with);
            }
            "rate" => pairs(given, |direction, part| {
                self.rate[direction.place()] = part.size()?;
                Ok(())
            })?,
            "rate_iops" => pairs(given, |direction, part| {
                self.rate_iops[direction.place()] = part.number(0, u64::from(u32::MAX))?;
                Ok(())
            })?,
            "thinktime" => self.think.us = given.time_us(1)?,
            "thinktime_blocks" => {
                let blocks = given.number(1, u64::from(u32::MAX))?;
                self.think = Think { blocks, ..self.think };
            }
            "thinktime_iotime" => self.think.io_us = given.time_us(1_000_000)?,
            "thinktime_blocks_type" => {
                given.word(&[("complete", ()), ("issue", ())])?;
            }
            // A pause is as long, whether it keeps the processor busy or not.
            "thinktime_spin" => given.time_us(1).map(|_| ())?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn apply_sync(&mut self, name: &str, given: &Given<'_>) -> Result<bool, Fault> {
        match name {
            "fsync" => self.fsync = given.number(0, u64::from(u32::MAX))?,
            "fdatasync" => self.fdatasync = given.number(0, u64::from(u32::MAX))?,
            "sync_file_range" => self.sync_file_range(given)?,
            "end_fsync" => self.end_fsync = given.switch()?,
            "fsync_on_close" => self.fsync_on_close = given.switch()?,
            "invalidate" => self.invalidate = given.switch()?,
            "sync" => {
                let words = [
                    ("0", SyncMode::No),
                    ("none", SyncMode::No),
                    ("1", SyncMode::All),
                    ("sync", SyncMode::All),
                    ("dsync", SyncMode::Data),
                ];
                self.synchronous = given.word(&words)?;
            }
            _ => return self.apply_verify(name, given),
        }
        Ok(true)
    }

    fn apply_draws(&mut self, name: &str, given: &Given<'_>) -> Result<bool, Fault> {
        match name {
            "norandommap" => self.draws.random_map = !given.switch()?,
            "randrepeat" => self.draws.repeatable = given.switch()?,
            "allrandrepeat" => self.draws.all_repeatable = given.switch()?,
            "randseed" => self.draws.seed = given.number(0, u64::MAX)?,
            "random_generator" => {
                let words = [
                    ("tausworthe", (false, false)),
                    ("lfsr", (true, false)),
                    ("tausworthe64", (false, true)),
                ];
                (self.draws.register, self.draws.long) = given.word(&words)?;
            }
            "random_distribution" => self.draws.distribution = Distribution::read(given)?,
            "percentage_random" => pairs(given, |direction, part| {
                self.draws.percent_random[direction.place()] = part.number(0, 100)?;
                Ok(())
            })?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn apply_report(&mut self, name: &str, given: &Given<'_>) -> Result<bool, Fault> {
        match name {
            "name" => given.text.clone_into(&mut self.name),
            "description" => self.description = Some(given.text.to_owned()),
            "percentile_list" => self.reported.percentiles = percentiles(given)?,
            "clat_percentiles" => self.reported.clat_percentiles = given.switch()?,
            "lat_percentiles" => self.reported.lat_percentiles = given.switch()?,
            "slat_percentiles" => self.reported.slat_percentiles = given.switch()?,
            "disable_lat" => self.reported.disable_lat = given.switch()?,
            "disable_clat" => self.reported.disable_clat = given.switch()?,
            "disable_slat" => self.reported.disable_slat = given.switch()?,
            "disable_bw" => self.reported.disable_bw = given.switch()?,
            "gtod_reduce" => {
                if given.switch()? {
                    self.reported = Reported {
                        percentiles: self.reported.percentiles.clone(),
                        ..Reported::NONE
                    };
                }
            }
            "unified_rw_reporting" => {
                let words = [
                    ("none", Unified::Apart),
                    ("0", Unified::Apart),
                    ("mixed", Unified::Mixed),
                    ("1", Unified::Mixed),
                    ("both", Unified::Both),
                    ("2", Unified::Both),
                ];
                self.extras.unified = given.word(&words)?;
            }
            "log_offset" => self.logs.offsets = given.switch()?,
            "read_iolog" => self.extras.replays = Some(given.text.to_owned()),
            "replay_no_stall" => self.extras.replay_stalls = !given.switch()?,
            "write_iolog" => self.logs.requests = Some(prefix(given)?),
            "per_job_logs" => self.logs.together = !given.switch()?,
            "write_lat_log" => self.logs.latencies = Some(prefix(given)?),
            "write_bw_log" => self.logs.bandwidth = Some(prefix(given)?),
            "write_iops_log" => self.logs.iops = Some(prefix(given)?),
            "bwavgtime" => self.extras.sampled_ms[0] = given.number(1, u64::from(u32::MAX))?,
            "iopsavgtime" => self.extras.sampled_ms[1] = given.number(1, u64::from(u32::MAX))?,
            "significant_figures" => {
                let figures = given.number(1, 10)?;
                self.extras.numbers.figures = usize::try_from(figures).unwrap_or(4);
            }
            "unit_base" => {
                let words = [("0", false), ("8", false), ("1", true)];
                self.extras.numbers.bits = given.word(&words)?;
            }
            "log_avg_msec" => self.logs.average_ms = given.number(0, u64::from(u32::MAX))?,
            // Looked at where the disk is.
            "disk_util" => given.switch().map(|_| ())?,
            // Read before all others.
            "kb_base" => {}
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// A value for all directions, or one for reads and one for writes (and one for trims): an empty
/// one leaves what was before.
pub(super) fn pairs(
    given: &Given<'_>,
    mut set: impl FnMut(Direction, &Given<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let parts: Vec<&str> = given.text.split(',').map(str::trim).collect();
    match parts.as_slice() {
        [both] => {
            Direction::ALL.into_iter().try_for_each(|direction| set(direction, &given.part(both)))
        }
        [reads, writes, rest @ ..] if rest.len() < 2 => {
            // Trims are as writes, unless they have a part of their own.
            let trims = rest.first().unwrap_or(writes);
            for (direction, text) in Direction::ALL.into_iter().zip([reads, writes, trims]) {
                if !text.is_empty() {
                    set(direction, &given.part(text))?;
                }
            }
            Ok(())
        }
        _ => Err(given.refuse("has too many parts", "give one value, or one for reads and writes")),
    }
}

/// The size of a request.
fn block(given: &Given<'_>) -> Result<u64, Fault> {
    match given.size()? {
        bytes @ 1..=BLOCK_MAX => Ok(bytes),
        _ => {
            let right = format!("a request is from 1 byte to 1g; {WITH_FIO}");
            Err(given.refuse("is not the size of a request", right))
        }
    }
}

/// Sizes with their percentages; those without share what is left.
fn split(given: &Given<'_>) -> Result<Vec<(u64, u64)>, Fault> {
    let mut sizes = Vec::new();
    let (mut sum, mut without) = (0, 0);
    for part in given.text.split(':') {
        let (size, percent) = part.split_once('/').unwrap_or((part, ""));
        let size = block(&given.part(size))?;
        let percent = match percent.trim() {
            "" => None,
            percent => Some(given.part(percent).number(0, 100)?),
        };
        sum += percent.unwrap_or(0);
        without += u64::from(percent.is_none());
        sizes.push((size, percent));
    }
    if sum > 100 || (without == 0 && sum != 100) || sizes.len() > SPLITS_MAX {
        let right = "the percentages of a bssplit make 100, as 4k/60:8k/40";
        return Err(given.refuse("does not make 100 percent", right));
    }
    let share = (100 - sum).checked_div(without).unwrap_or(0);
    let mut split: Vec<(u64, u64)> =
        sizes.into_iter().map(|(size, percent)| (size, percent.unwrap_or(share))).collect();
    // The rarest one is looked at first, as in the original.
    split.sort_by_key(|&(_, percent)| percent);
    Ok(split)
}

fn paths(given: &Given<'_>) -> Result<Vec<String>, Fault> {
    let paths = split_paths(given.text);
    paths.ok_or_else(|| given.refuse("is no path", "a path has from 1 to 3800 bytes"))
}

/// Paths with colons between; a colon in a path has a backslash before it. `None` where one of them
/// can be none.
pub(super) fn split_paths(text: &str) -> Option<Vec<String>> {
    let mut all = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\\' if chars.peek() == Some(&':') => all.last_mut().into_iter().for_each(|path| {
                path.extend(chars.next());
            }),
            ':' => all.push(String::new()),
            other => all.last_mut().into_iter().for_each(|path| path.push(other)),
        }
    }
    let is_path = |path: &String| !path.is_empty() && path.len() <= 3800;
    all.iter().all(is_path).then_some(all)
}

/// What the names of logs begin with; nothing stands for the job's name.
fn prefix(given: &Given<'_>) -> Result<String, Fault> {
    if given.text.len() > 3800 || given.text.contains('\0') {
        return Err(given.refuse("is no path", "a path has up to 3800 bytes"));
    }
    Ok(given.text.to_owned())
}

fn percentiles(given: &Given<'_>) -> Result<Vec<f64>, Fault> {
    let right = "percentiles are up to 20 numbers above 0 and up to 100, as 50:99:99.9";
    let mut all = Vec::new();
    for part in given.text.split([':', ',']) {
        let plain = part.trim().bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let number = part.trim().parse::<f64>().ok().filter(|_| plain);
        match number.filter(|number| *number > 0.0 && *number <= 100.0) {
            Some(number) => all.push(number),
            None => return Err(given.refuse("is no list of percentiles", right)),
        }
    }
    all.sort_by(f64::total_cmp);
    if all.len() > PERCENTILES_MAX {
        return Err(given.refuse("is no list of percentiles", right));
    }
    Ok(all)
}
