//! Output of resolved jobs as a job file with every option, including defaults.

use std::fmt::Write;

use treering_script::SyncMode;

use super::direction::Direction;
use super::distribution::Distribution;
use super::engine::Engine;
use super::logs::LogOptions;
use super::section::{Blocks, ExitScope, FileOrder, Preallocation, Section};
use super::steering::RangeSync;
use super::values::Amount;
use super::verifying::VerifyKind;

/// Formats the jobs as a job file.
pub(crate) fn show(jobs: &[Section]) -> String {
    let mut out = String::new();
    for (number, job) in jobs.iter().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        // Writing into a string cannot fail.
        let _ = writeln!(out, "[{}]", job.heading.title);
        for (key, value) in job.resolved() {
            let _ = writeln!(out, "{key}={value}");
        }
    }
    out
}

fn switch(on: bool) -> String {
    u8::from(on).to_string()
}

fn amount(amount: Amount) -> String {
    match amount {
        Amount::Bytes(bytes) => bytes.to_string(),
        Amount::Percent(percent) => format!("{percent}%"),
    }
}

fn both(of: impl Fn(Direction) -> String) -> String {
    let values = Direction::ALL.map(of);
    // Trims equal writes unless set separately.
    if values[1] == values[2] { values[..2].join(",") } else { values.join(",") }
}

fn time(us: u64) -> String {
    format!("{us}us")
}

fn paths(paths: &[String]) -> String {
    let escaped: Vec<String> = paths.iter().map(|path| path.replace(':', "\\:")).collect();
    escaped.join(":")
}

fn name_of<T: PartialEq>(words: &[(&'static str, T)], meant: &T) -> String {
    words.iter().find(|(_, one)| one == meant).map_or("", |(word, _)| *word).to_owned()
}

const ALLOCATIONS: [(&str, Preallocation); 5] = [
    ("none", Preallocation::None),
    ("native", Preallocation::Native),
    ("posix", Preallocation::Posix),
    ("keep", Preallocation::Keep),
    ("truncate", Preallocation::Truncate),
];

const SERVICES: [(&str, FileOrder); 3] = [
    ("random", FileOrder::Random),
    ("roundrobin", FileOrder::RoundRobin),
    ("sequential", FileOrder::Sequential),
];

const SYNCS: [(&str, SyncMode); 3] =
    [("0", SyncMode::No), ("1", SyncMode::All), ("dsync", SyncMode::Data)];

const EXITS: [(&str, ExitScope); 3] =
    [("group", ExitScope::Group), ("stonewall", ExitScope::Stonewall), ("all", ExitScope::All)];

impl Section {
    /// Every option with its value, in a fixed order.
    pub(crate) fn resolved(&self) -> Vec<(&'static str, String)> {
        let mut options = Vec::new();
        if self.name != self.heading.title {
            options.push(("name", self.name.clone()));
        }
        if let Some(description) = &self.description {
            options.push(("description", description.clone()));
        }
        self.resolved_requests(&mut options);
        self.resolved_files(&mut options);
        self.resolved_generator(&mut options);
        self.resolved_report(&mut options);
        options
    }

    fn resolved_requests(&self, options: &mut Vec<(&'static str, String)>) {
        let rw = match (self.rw.random, self.sequence, self.hole) {
            (true, 2.., _) => format!("{}:{}", self.rw.name(), self.sequence),
            (false, _, hole) if hole != 0 => format!("{}:{hole}", self.rw.name()),
            _ => self.rw.name().to_owned(),
        };
        options.push(("rw", rw));
        options.push((
            "rw_sequencer",
            if self.repeats { "identical" } else { "sequential" }.to_owned(),
        ));
        let split = |blocks: &Blocks| !blocks.split.is_empty();
        options.push(("bsrange", both(|direction| range(self.blocks(direction)))));
        if self.blocks.iter().any(split) {
            options.push(("bssplit", both(|direction| splits(self.blocks(direction)))));
        }
        options.push(("ba", both(|direction| self.align(direction).to_string())));
        options.push(("bs_unaligned", switch(self.unaligned)));
        options.push(("bs_is_seq_rand", switch(self.blocks_by_order)));
        options.push(("ioengine", name_of(&Engine::NAMES, &self.engine)));
        options.push(("iodepth", self.depth.to_string()));
        options.push(("iodepth_batch", self.batch.to_string()));
        options.push(("iodepth_batch_complete_min", self.least_reaped.to_string()));
        options.push(("iodepth_batch_complete_max", self.most_reaped.to_string()));
        options.push(("iodepth_low", self.depth_low.to_string()));
        options.push(("direct", switch(self.direct)));
        options.push(("sync", name_of(&SYNCS, &self.synchronous)));
        options.push(("rwmixread", self.mix_read.to_string()));
        self.resolved_verify(options);
        options.push(("refill_buffers", switch(self.extras.refill_buffers)));
        options.push(("scramble_buffers", switch(self.extras.scramble_buffers)));
    }

    fn resolved_verify(&self, options: &mut Vec<(&'static str, String)>) {
        if let Some(pattern) = &self.extras.buffer_pattern {
            options.push(("buffer_pattern", pattern.text().to_owned()));
        }
        let verify = &self.extras.verify;
        let Some(kind) = verify.kind else { return };
        options.push(("verify", name_of(&VerifyKind::NAMES, &kind)));
        options.push(("do_verify", switch(verify.reads_again)));
        options.push(("verify_only", switch(verify.only)));
        options.push(("verify_interval", verify.interval.to_string()));
        options.push(("verify_offset", verify.offset.to_string()));
        if let Some(pattern) = &verify.pattern {
            options.push(("verify_pattern", pattern.text().to_owned()));
        }
        options.push(("verify_fatal", switch(verify.fatal)));
        options.push(("verify_dump", switch(verify.dump)));
        options.push(("verify_backlog", verify.backlog.to_string()));
        options.push(("verify_backlog_batch", verify.batch.to_string()));
        options.push(("trim_percentage", verify.trimmed_percent.to_string()));
        options.push(("trim_backlog", verify.trim_backlog.to_string()));
    }

    fn resolved_files(&self, options: &mut Vec<(&'static str, String)>) {
        if let Some(size) = self.size {
            options.push(("size", amount(size)));
        }
        if let Some(bytes) = self.io_size {
            options.push(("io_size", amount(bytes)));
        }
        if let Some((low, high)) = self.file_size {
            options.push(("filesize", format!("{low}-{high}")));
        }
        options.push(("offset", amount(self.offset)));
        options.push(("offset_increment", amount(self.offset_increment)));
        options.push(("number_ios", self.number_ios.to_string()));
        options.push(("nrfiles", self.files.to_string()));
        options.push(("openfiles", self.open_files.to_string()));
        let service = match self.extras.service {
            Distribution::Even => {
                format!("{}:{}", name_of(&SERVICES, &self.service), self.service_requests)
            }
            ref drawn => drawn.word(),
        };
        options.push(("file_service_type", service));
        if !self.filenames.is_empty() {
            options.push(("filename", paths(&self.filenames)));
        } else if !self.directories.is_empty() {
            options.push(("directory", paths(&self.directories)));
        }
        options.push(("filename_format", self.filename_format.clone()));
        options.push(("unique_filename", switch(self.unique_filename)));
        options.push(("fallocate", name_of(&ALLOCATIONS, &self.allocation)));
        options.push(("create_on_open", switch(self.create_on_open)));
        options.push(("create_fsync", switch(self.create_fsync)));
        options.push(("overwrite", switch(self.overwrite)));
        for (name, is_on) in
            [("file_append", self.extras.appends), ("create_only", self.extras.creates_only)]
        {
            if is_on {
                options.push((name, switch(true)));
            }
        }
        options.push(("unlink", switch(self.unlink)));
    }

    fn resolved_generator(&self, options: &mut Vec<(&'static str, String)>) {
        options.push(("numjobs", self.clones.to_string()));
        options.push(("thread", switch(self.thread)));
        options.push(("runtime", time(self.runtime_us)));
        options.push(("time_based", switch(self.time_based)));
        options.push(("ramp_time", time(self.ramp_us)));
        let [least, most] = self.start_delay_us;
        let delay = if most > least { format!("{least}us-{most}us") } else { time(least) };
        options.push(("startdelay", delay));
        options.push(("loops", self.loops.to_string()));
        options.push(("group_reporting", switch(self.group_reporting)));
        options.push(("new_group", switch(self.new_group)));
        options.push(("stonewall", switch(self.stonewall)));
        options.push(("exitall", switch(self.exits.is_some())));
        options.push(("exit_what", name_of(&EXITS, &self.exits_with)));
        options.push(("rate", both(|direction| self.rate[direction.place()].to_string())));
        options
            .push(("rate_iops", both(|direction| self.rate_iops[direction.place()].to_string())));
        let latency = self.extras.latency;
        if latency.ns > 0 {
            options.push(("latency_target", time(latency.ns / 1000)));
            options.push(("latency_window", time(latency.window_us)));
            options.push(("latency_percentile", latency.percentile.to_string()));
            options.push(("latency_run", switch(latency.runs)));
        }
        let steady = self.extras.steady;
        if steady.seconds > 0 {
            let criterion = format!("{}:{}{}", steady.word(), steady.limit, steady.unit());
            options.push(("steadystate", criterion));
            options.push(("steadystate_duration", format!("{}s", steady.seconds)));
            options.push(("steadystate_ramp_time", time(steady.ramp_us)));
        }
        options.push(("thinktime", time(self.think.us)));
        options.push(("thinktime_blocks", self.think.blocks.to_string()));
        if self.think.io_us > 0 {
            options.push(("thinktime_iotime", time(self.think.io_us)));
        }
        if self.extras.skips_pauses {
            options.push(("rate_ignore_thinktime", switch(true)));
        }
        let flags = self.extras.request_flags;
        let flags =
            [("hipri", flags.polled), ("nowait", flags.no_wait), ("uncached", flags.uncached)];
        options.extend(
            flags.into_iter().filter(|(_, is_on)| *is_on).map(|(key, _)| (key, switch(true))),
        );
        options.push(("fsync", self.fsync.to_string()));
        options.push(("fdatasync", self.fdatasync.to_string()));
        let sync = self.extras.range_sync;
        if sync.every > 0 {
            let words = RangeSync::WORDS.into_iter().filter(|(_, flag)| sync.flags & flag != 0);
            let words: Vec<&str> = words.map(|(word, _)| word).collect();
            options.push(("sync_file_range", format!("{}:{}", words.join(","), sync.every)));
        }
        options.push(("end_fsync", switch(self.end_fsync)));
        options.push(("fsync_on_close", switch(self.fsync_on_close)));
        options.push(("invalidate", switch(self.invalidate)));
    }

    fn resolved_report(&self, options: &mut Vec<(&'static str, String)>) {
        options.push(("norandommap", switch(!self.draws.random_map)));
        options.push(("random_distribution", self.draws.distribution.word()));
        options.push(("randrepeat", switch(self.draws.repeatable)));
        options.push(("allrandrepeat", switch(self.draws.all_repeatable)));
        options.push(("randseed", self.draws.seed.to_string()));
        options.push((
            "percentage_random",
            both(|direction| self.draws.percent_random[direction.place()].to_string()),
        ));
        let percentiles: Vec<String> =
            self.reported.percentiles.iter().map(f64::to_string).collect();
        options.push(("percentile_list", percentiles.join(":")));
        options.push(("clat_percentiles", switch(self.reported.clat_percentiles)));
        options.push(("lat_percentiles", switch(self.reported.lat_percentiles)));
        options.push(("slat_percentiles", switch(self.reported.slat_percentiles)));
        options.push(("disable_lat", switch(self.reported.disable_lat)));
        options.push(("disable_clat", switch(self.reported.disable_clat)));
        options.push(("disable_slat", switch(self.reported.disable_slat)));
        options.push(("disable_bw", switch(self.reported.disable_bw)));
        let LogOptions {
            latencies,
            bandwidth,
            iops,
            histograms,
            average_ms,
            together,
            offsets,
            requests,
            ..
        } = &self.logs;
        for (key, prefix) in [
            ("write_lat_log", latencies),
            ("write_bw_log", bandwidth),
            ("write_iops_log", iops),
            ("write_hist_log", histograms),
        ] {
            let named = prefix.as_ref().map(|prefix| match prefix.as_str() {
                "" => self.name.clone(),
                prefix => prefix.to_owned(),
            });
            options.extend(named.map(|prefix| (key, prefix)));
        }
        if histograms.is_some() {
            options.push(("log_hist_msec", self.logs.histogram_ms.to_string()));
            options.push(("log_hist_coarseness", self.logs.histogram_coarseness.to_string()));
        }
        options.push(("log_avg_msec", average_ms.to_string()));
        options.push(("log_max_value", switch(self.logs.has_maxima)));
        options.push(("per_job_logs", switch(!together)));
        options.push(("log_offset", switch(*offsets)));
        options.extend(requests.as_ref().map(|path| ("write_iolog", path.clone())));
    }
}

fn range(blocks: &Blocks) -> String {
    format!("{}-{}", blocks.least, blocks.most)
}

fn splits(blocks: &Blocks) -> String {
    if blocks.split.is_empty() {
        // A range is written as such; a split of a single size equals a range.
        return if blocks.least == blocks.most {
            format!("{}/100", blocks.least)
        } else {
            String::new()
        };
    }
    let split: Vec<String> =
        blocks.split.iter().map(|(size, percent)| format!("{size}/{percent}")).collect();
    split.join(":")
}
