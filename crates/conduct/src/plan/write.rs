//! Writes a plan as a document that reads back to the same plan, with every default explicit.
//!
//! Keys and values are written by `toml_writer`, on which `toml` and `toml_edit` are built. Neither
//! of these can be used: `toml` would write the device of a variant as a separate table, and
//! `toml_edit` has no integers as large as a seed.

use std::fmt::Write;
use std::path::Path;

use toml_writer::{ToTomlKey, ToTomlValue};
use treering_model::{
    Accelerator, ArrayLayer, CacheLayer, CryptLayer, DeviceSpec, ExtraModule, GuestSpec, JobOption,
    Layer, LimitSettings, LoopLayer, OverlayLayer, SnapshotLayer, ThinLayer, Variant,
};

use super::document::written_options;
use super::{
    JobCommands, Judging, Machine, ObservedIn, Observing, Plan, PlannedJob, RANK_TIMEOUT_SECONDS,
    Stopping, function_names,
};
use crate::kernels::commit_in_plan;

/// Keys of a section with their values, both as TOML.
#[derive(Default)]
struct SectionKeys(Vec<(String, String)>);

impl SectionKeys {
    fn put(&mut self, key: &str, value: impl ToTomlValue) -> &mut Self {
        self.put_raw(key, value.to_toml_value())
    }

    fn put_some(&mut self, key: &str, value: Option<impl ToTomlValue>) -> &mut Self {
        if let Some(value) = value {
            self.put(key, value);
        }
        self
    }

    /// Adds an array of strings, unless it is empty.
    fn put_strings(&mut self, key: &str, strings: &[String]) -> &mut Self {
        self.put_some(key, Some(strings).filter(|strings| !strings.is_empty()))
    }

    fn put_path(&mut self, key: &str, path: &Path) -> &mut Self {
        self.put(key, path.to_string_lossy().as_ref())
    }

    /// Adds a command, unless it is empty; a shell command is written as a string.
    fn put_command(&mut self, key: &str, words: &[String]) -> &mut Self {
        match words {
            [] => self,
            [shell, flag, line] if shell == "sh" && flag == "-c" => self.put(key, line),
            words => self.put(key, words),
        }
    }

    fn put_raw(&mut self, key: &str, value: String) -> &mut Self {
        self.0.push((key.to_toml_key(), value));
        self
    }

    fn pairs(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(key, value)| format!("{key} = {value}"))
    }

    /// Keys as an inline table in braces.
    fn inline(&self) -> String {
        format!("{{ {} }}", self.pairs().collect::<Vec<String>>().join(", "))
    }

    /// Writes the section, unless it has no keys.
    fn write(&self, header: &str, to: &mut String) {
        if !self.0.is_empty() && !header.is_empty() {
            let _memory_takes_it = writeln!(to, "\n{header}");
        }
        for pair in self.pairs() {
            let _memory_takes_it = writeln!(to, "{pair}");
        }
    }
}

impl Plan {
    /// Plan as a TOML document. TOML cannot spell paths that are not UTF-8: invalid bytes are
    /// replaced.
    pub fn to_toml(&self) -> String {
        let mut to = String::new();
        self.top().write("", &mut to);
        stopping(&self.stopping).write("[stopping]", &mut to);
        let shared = shared_device(&self.variants);
        shared.map(device).unwrap_or_default().write("[device]", &mut to);
        self.guest.as_ref().map(guest).unwrap_or_default().write("[guest]", &mut to);
        self.aging.as_ref().map(aging).unwrap_or_default().write("[aging]", &mut to);
        for each in &self.variants {
            variant(each, shared.is_none()).write("[[variant]]", &mut to);
        }
        for planned in &self.jobs {
            let header = if planned.step.is_some() { "[[step]]" } else { "[[job]]" };
            job(planned).write(header, &mut to);
            let header = if planned.step.is_some() { "[step.options]" } else { "[job.options]" };
            options(&planned.options).write(header, &mut to);
        }
        observing(&self.observing).write("[observe]", &mut to);
        judging(&self.judging).write("[report]", &mut to);
        to
    }

    fn top(&self) -> SectionKeys {
        let mut keys = SectionKeys::default();
        let conditions = &self.conditions;
        keys.put("name", &self.name);
        keys.put_some("question", Some(&self.question).filter(|text| !text.is_empty()));
        if let Stopping::Fixed { rounds } = self.stopping {
            keys.put("rounds", rounds);
        }
        keys.put("seed", conditions.seed)
            .put("warm-up", conditions.warm_up)
            .put_some("phase-seconds", conditions.phase_seconds)
            .put("control", conditions.control)
            .put("remount", conditions.remount)
            .put_raw("settle-seconds", conditions.settle_seconds.to_string());
        // Kernels that were built are files.
        let build = self.build.as_ref().filter(|_| commit_in_plan(self).is_some());
        let machine = Some(conditions.machine).filter(|machine| *machine != Machine::Guest);
        keys.put_some("machine", machine.map(Machine::name)).put_some("build", build);
        keys
    }
}

fn stopping(rule: &Stopping) -> SectionKeys {
    let mut keys = SectionKeys::default();
    match rule {
        Stopping::Fixed { .. } => {}
        Stopping::Precision { half_width, fewest, most } => {
            keys.put("rule", "precision").put("half-width", share(*half_width));
            keys.put("fewest", fewest).put("most", most);
        }
        Stopping::Time { minutes, fewest, most } => {
            keys.put("rule", "time").put_raw("minutes", minutes.to_string());
            keys.put("fewest", fewest).put("most", most);
        }
        Stopping::Sequential { looks } => {
            keys.put("rule", "sequential").put("looks", looks);
        }
    }
    keys
}

/// Options of the aging run; the variants have their ages.
fn aging(planned: &PlannedJob) -> SectionKeys {
    let mut keys = SectionKeys::default();
    keys.put_raw("options", options(&written_options(planned)).inline());
    keys
}

/// Keys of a guest, apart from its kernel.
fn guest(guest: &GuestSpec) -> SectionKeys {
    let mut keys = SectionKeys::default();
    let timeout = guest.timeout_seconds;
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let module = |module: &ExtraModule| match module {
        ExtraModule::OfKernel(name) => name.clone(),
        ExtraModule::File(path) => text(path),
    };
    let modules: Vec<String> = guest.modules.iter().map(module).collect();
    let files: Vec<String> = guest.files.iter().map(|path| text(path)).collect();
    keys.put_some("cpus", guest.cpus)
        .put("memory", size(guest.memory_bytes))
        .put("disk", guest.disk.name())
        .put_some("accelerator", guest.accelerator.map(Accelerator::name))
        .put_some("timeout", Some(timeout).filter(|it| *it != GuestSpec::TIMEOUT_SECONDS))
        .put_some("append", Some(&guest.append).filter(|words| !words.is_empty()))
        .put_some("root", guest.root.as_deref().map(text))
        .put_some("queues", guest.queues)
        .put_some("iothread", guest.has_iothread.then_some(true))
        .put_some("rotational", guest.is_rotational.then_some(true))
        .put_some("numa", guest.numa_nodes)
        .put_some("program", guest.program.as_deref().map(text))
        .put_some("qemu", guest.qemu.as_deref().map(text))
        .put_strings("qemu-options", &guest.qemu_options)
        .put_strings("modules", &modules)
        .put_strings("files", &files);
    keys
}

fn variant(variant: &Variant, with_device: bool) -> SectionKeys {
    let mut keys = SectionKeys::default();
    let filesystem = Some(&variant.filesystem).filter(|name| !name.is_empty());
    keys.put("name", &variant.name)
        .put_some("against", variant.against.as_ref())
        .put_some("filesystem", filesystem)
        .put_strings("mkfs", &variant.mkfs)
        .put_strings("mount", &variant.mount)
        .put_some("image", variant.image.as_ref())
        .put_some("age", variant.age.map(|age| age.operations))
        .put_some("tree", variant.age.map(|age| age.tree.name()))
        .put_some("kernel", variant.kernel.as_ref());
    if let Some(spec) = &variant.guest {
        keys.put_path("kernel", &spec.kernel).put_raw("guest", guest(spec).inline());
    }
    let settings = &variant.settings;
    for (key, pairs) in [("sysctl", &settings.sysctl), ("sysfs", &settings.sysfs)] {
        if !pairs.is_empty() {
            keys.put_raw(key, options(pairs).inline());
        }
    }
    if !settings.layers.is_empty() {
        let written: Vec<String> = settings.layers.iter().map(layer).collect();
        keys.put_raw("layers", format!("[{}]", written.join(", ")));
    }
    if let Some(second) = &settings.second_device {
        let key = if second.is_journal() { "journal" } else { "second-device" };
        keys.put_raw(key, device(second.spec()).inline());
    }
    if !settings.env.is_empty() {
        let mut variables = SectionKeys::default();
        for (name, value) in &settings.env {
            variables.put(name, value);
        }
        keys.put_raw("env", variables.inline());
    }
    if !settings.limits.is_empty() {
        keys.put_raw("limits", limits(&settings.limits).inline());
    }
    if !settings.options.is_empty() {
        keys.put_raw("options", changed_options(&settings.options).inline());
    }
    keys.put_command("prepare", &settings.prepare).put_command("cleanup", &settings.cleanup);
    let percent = Some(variant.handicap_percent).filter(|percent| *percent > 0);
    keys.put_some("handicap", percent.map(|percent| format!("{percent}%")));
    if with_device {
        keys.put_raw("device", device(&variant.device).inline());
    }
    keys
}

/// Layer as an inline table in braces.
fn layer(layer: &Layer) -> String {
    let mut keys = SectionKeys::default();
    match layer {
        Layer::Loop(LoopLayer { on, mkfs, mount, bytes, sparse, direct_io }) => {
            keys.put("on", on)
                .put_strings("mkfs", mkfs)
                .put_strings("mount", mount)
                .put_some("size", bytes.map(size))
                .put("sparse", sparse)
                .put("direct-io", direct_io);
        }
        Layer::Crypt(CryptLayer { cipher, key_bits, sector_bytes, flags }) => {
            keys.put("cipher", cipher).put("key-bits", key_bits).put("sector-bytes", sector_bytes);
            for flag in flags {
                keys.put(&flag.replace('_', "-"), true);
            }
        }
        Layer::Linear => {}
        Layer::Thin(ThinLayer { block_bytes }) => {
            keys.put("block-bytes", block_bytes);
        }
        Layer::Snapshot(SnapshotLayer { chunk_bytes }) => {
            keys.put("chunk-bytes", chunk_bytes);
        }
        Layer::Md(ArrayLayer { level, disks, chunk_bytes, stripe_cache, threads }) => {
            keys.put("level", level)
                .put_some("disks", *disks)
                .put_some("chunk-bytes", Some(*chunk_bytes).filter(|_| *level != 1))
                .put_some("stripe-cache", *stripe_cache)
                .put_some("threads", *threads);
        }
        Layer::Bcache(CacheLayer { mode, bucket_bytes, cache_percent, sequential_cutoff }) => {
            keys.put("mode", mode)
                .put("bucket-bytes", bucket_bytes)
                .put("cache-percent", cache_percent)
                .put_some("sequential-cutoff", *sequential_cutoff);
        }
        Layer::Overlay(OverlayLayer { mount }) => {
            keys.put_strings("mount", mount);
        }
    }
    if keys.0.is_empty() {
        return layer.name().to_toml_value();
    }
    let mut table = SectionKeys::default();
    table.put_raw(layer.name(), keys.inline());
    table.inline()
}

fn job(planned: &PlannedJob) -> SectionKeys {
    let mut keys = SectionKeys::default();
    keys.put("name", &planned.name)
        .put_some("against", planned.against.as_ref())
        .put("workload", &planned.workload)
        .put_some("measure", Some(false).filter(|_| !planned.is_measured()))
        .put_some("below-overlay", Some(true).filter(|_| planned.is_below_overlay()))
        .put_some("directory", planned.step.as_ref().and_then(|step| step.directory.as_ref()));
    if let Some(launch) = &planned.launch {
        keys.put("ranks", launch.ranks).put_strings("launcher", &launch.launcher);
        if let Some(program) = &launch.program {
            keys.put_path("mpi-program", program);
        }
        let timeout = Some(launch.timeout_seconds);
        keys.put_some("rank-timeout", timeout.filter(|it| *it != RANK_TIMEOUT_SECONDS));
    }
    for (name, value) in planned.engine.parameters() {
        match name.as_str() {
            "heat" | "heat-half-life" => keys.put_raw(&name, value),
            _ => keys.put(&name, value),
        };
    }
    let JobCommands { prepare, cleanup } = &planned.around;
    keys.put_command("prepare", prepare).put_command("cleanup", cleanup);
    keys
}

/// Options of a job; an option with several values is an array.
fn options(options: &[(String, String)]) -> SectionKeys {
    let mut keys = SectionKeys::default();
    let mut names: Vec<&str> = Vec::new();
    for (name, value) in options {
        if names.contains(&name.as_str()) {
            continue;
        }
        names.push(name);
        let same = options.iter().filter(|(other, _)| other == name);
        let values: Vec<&str> = same.map(|(_, value)| value.as_str()).collect();
        match values.len() {
            1 => keys.put_raw(name, option_value(value)),
            _ => keys.put(name, values),
        };
    }
    keys
}

fn limits(limits: &LimitSettings) -> SectionKeys {
    let mut keys = SectionKeys::default();
    keys.put_some("memory", limits.memory_bytes.map(size))
        .put_some("cpu", limits.cpu_percent.map(|percent| format!("{percent}%")))
        .put_some("io-read", limits.io_read_bytes.map(size))
        .put_some("io-write", limits.io_write_bytes.map(size));
    keys
}

/// Options that a variant changes: for every job, and in a table for a single job.
fn changed_options(changes: &[JobOption]) -> SectionKeys {
    let mut keys = SectionKeys::default();
    let of = |job: Option<&str>| {
        let mut keys = SectionKeys::default();
        for change in changes.iter().filter(|change| change.job.as_deref() == job) {
            match change.values.as_slice() {
                [] => keys.put(&change.name, false),
                [value] => keys.put_raw(&change.name, option_value(value)),
                values => keys.put(&change.name, values),
            };
        }
        keys
    };
    keys.0.extend(of(None).0);
    let mut jobs: Vec<&str> = changes.iter().filter_map(|change| change.job.as_deref()).collect();
    jobs.dedup();
    for job in jobs {
        keys.put_raw(job, of(Some(job)).inline());
    }
    keys
}

/// Device of the variants, if all have the same.
fn shared_device(variants: &[Variant]) -> Option<&DeviceSpec> {
    let first = &variants.first()?.device;
    variants.iter().all(|variant| variant.device == *first).then_some(first)
}

fn device(spec: &DeviceSpec) -> SectionKeys {
    let mut keys = SectionKeys::default();
    match spec {
        DeviceSpec::Loop { bytes, count, sparse, direct_io, sector_bytes, directory, disk } => {
            keys.put("loop", size(*bytes))
                .put("count", count)
                .put("sparse", sparse)
                .put("direct-io", direct_io)
                .put("sector-bytes", sector_bytes)
                .put_some("images", directory.as_ref().map(|path| path.to_string_lossy()))
                .put_some("disk", disk.as_ref());
        }
        DeviceSpec::Block { paths } => {
            let paths: Vec<_> = paths.iter().map(|path| path.to_string_lossy()).collect();
            keys.put("block", paths);
        }
        DeviceSpec::Directory { path } => {
            keys.put_path("directory", path);
        }
    }
    keys
}

fn observing(observing: &Observing) -> SectionKeys {
    let mut keys = SectionKeys::default();
    if observing.is_wanted() {
        let rounds = Some(observing.rounds).filter(|_| observing.place == ObservedIn::Own);
        keys.put("trace", observing.trace)
            .put("layout", observing.layout)
            .put_some("layout-every", Some(observing.layout_every).filter(|every| *every > 0))
            .put_strings("functions", &function_names(&observing.functions))
            .put("in", observing.place.name())
            .put_some("rounds", rounds);
    }
    keys
}

fn judging(judging: &Judging) -> SectionKeys {
    let mut keys = SectionKeys::default();
    keys.put_strings("primary", &judging.primary)
        .put_some("threshold", judging.threshold.map(share))
        .put_strings("ignore", &judging.ignore);
    keys
}

/// TOML value that reads back to the same text: numbers and `true` are unquoted.
fn option_value(value: &str) -> String {
    let is_number = value.parse::<u64>().is_ok_and(|number| number.to_string() == value);
    if is_number || value == "true" { value.to_owned() } else { value.to_toml_value() }
}

/// Size with the largest suffix that keeps it exact.
pub(super) fn size(bytes: u64) -> String {
    let suffixes = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let whole = |shift: &u32| bytes != 0 && bytes.trailing_zeros() >= *shift;
    match suffixes.iter().find(|(_, shift)| whole(shift)) {
        Some((suffix, shift)) => format!("{}{suffix}", bytes >> shift),
        None => bytes.to_string(),
    }
}

/// Exact percentage of a fraction: its shortest decimal representation with the point moved two
/// places.
fn share(share: f64) -> String {
    let scientific = format!("{:e}", share.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let point = exponent.parse::<i64>().unwrap_or_default() + 3;
    let percent = match usize::try_from(point) {
        Ok(point) if point >= digits.len() => {
            format!("{digits}{}", "0".repeat(point - digits.len()))
        }
        Ok(point) if point > 0 => format!("{}.{}", &digits[..point], &digits[point..]),
        _ => {
            let zeros = usize::try_from(-point).unwrap_or_default();
            format!("0.{}{digits}", "0".repeat(zeros))
        }
    };
    let percent = percent.trim_start_matches('0');
    let percent = match percent.chars().next() {
        None => "0".to_owned(),
        Some('.') => format!("0{percent}"),
        Some(_) => percent.to_owned(),
    };
    format!("{percent}%")
}

#[cfg(test)]
mod tests {
    use super::{option_value, share, size};

    #[test]
    fn sizes_are_written_exactly() {
        assert_eq!(size(8 << 30), "8GiB");
        assert_eq!(size(1536), "1536");
        assert_eq!(size(3 << 39), "1536GiB");
        assert_eq!(size(0), "0");
    }

    #[test]
    fn shares_are_written_as_percentages() {
        let cases = [
            (0.015, "1.5%"),
            (0.03, "3%"),
            (0.0, "0%"),
            (1.0, "100%"),
            (0.0001, "0.01%"),
            (0.123_45, "12.345%"),
            (2.5, "250%"),
            (0.5, "50%"),
            (1e-7, "0.00001%"),
        ];
        for (value, written) in cases {
            assert_eq!(share(value), written);
        }
    }

    #[test]
    fn option_values_are_quoted_only_if_needed() {
        assert_eq!(option_value("007"), "\"007\"");
        assert_eq!(option_value("7"), "7");
        assert_eq!(option_value("true"), "true");
    }
}
