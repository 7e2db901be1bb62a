//! Writes a plan as a document that reads back to the same plan, every default spelled out.
//!
//! The `toml` crate reads plans but does not write them: from a struct it would write the device of
//! a variant as a table of its own behind the variant. Here a variant is one block.

use std::fmt::Write;
use std::path::Path;

use treering_model::{DeviceSpec, GuestSpec, Variant};

use super::{Machine, ObservedIn, Plan, PlannedJob, RANK_TIMEOUT_SECONDS, Stopping};

impl Plan {
    /// Plan as a TOML document. TOML cannot spell paths that are not UTF-8: invalid bytes are
    /// replaced.
    pub fn to_toml(&self) -> String {
        let mut to = String::new();
        line(&mut to, "name", &text(&self.name));
        if !self.question.is_empty() {
            line(&mut to, "question", &text(&self.question));
        }
        if let Stopping::Fixed { rounds } = self.stopping {
            line(&mut to, "rounds", &rounds.to_string());
        }
        let conditions = &self.conditions;
        line(&mut to, "seed", &conditions.seed.to_string());
        line(&mut to, "warm-up", &conditions.warm_up.to_string());
        line(&mut to, "control", &conditions.control.to_string());
        line(&mut to, "remount", &conditions.remount.to_string());
        line(&mut to, "settle-seconds", &conditions.settle_seconds.to_string());
        if conditions.machine != Machine::Guest {
            line(&mut to, "machine", &text(conditions.machine.name()));
        }
        stopping(&mut to, &self.stopping);
        let shared = shared_device(&self.variants);
        if let Some(spec) = shared {
            header(&mut to, "[device]");
            device_keys(spec).into_iter().for_each(|(key, value)| line(&mut to, key, &value));
        }
        if let Some(guest) = &self.guest {
            header(&mut to, "[guest]");
            guest_keys(guest).into_iter().for_each(|(key, value)| line(&mut to, key, &value));
        }
        self.variants.iter().for_each(|each| variant(&mut to, each, shared.is_none()));
        self.jobs.iter().for_each(|planned| job(&mut to, planned));
        self.write_observing(&mut to);
        self.write_judging(&mut to);
        to
    }

    fn write_observing(&self, to: &mut String) {
        let observing = &self.observing;
        if !observing.is_wanted() {
            return;
        }
        header(to, "[observe]");
        line(to, "trace", &observing.trace.to_string());
        line(to, "layout", &observing.layout.to_string());
        if observing.layout_every > 0 {
            line(to, "layout-every", &observing.layout_every.to_string());
        }
        line(to, "in", &text(observing.place.name()));
        if observing.place == ObservedIn::Own {
            line(to, "rounds", &observing.rounds.to_string());
        }
    }

    fn write_judging(&self, to: &mut String) {
        let judging = &self.judging;
        if judging.primary.is_empty() && judging.threshold.is_none() {
            return;
        }
        header(to, "[report]");
        if !judging.primary.is_empty() {
            line(to, "primary", &texts(&judging.primary));
        }
        if let Some(threshold) = judging.threshold {
            line(to, "threshold", &share(threshold));
        }
    }
}

fn stopping(to: &mut String, rule: &Stopping) {
    match rule {
        Stopping::Fixed { .. } => {}
        Stopping::Precision { half_width, fewest, most } => {
            header(to, "[stopping]");
            line(to, "rule", "\"precision\"");
            line(to, "half-width", &share(*half_width));
            line(to, "fewest", &fewest.to_string());
            line(to, "most", &most.to_string());
        }
        Stopping::Time { minutes, fewest, most } => {
            header(to, "[stopping]");
            line(to, "rule", "\"time\"");
            line(to, "minutes", &minutes.to_string());
            line(to, "fewest", &fewest.to_string());
            line(to, "most", &most.to_string());
        }
        Stopping::Sequential { looks } => {
            header(to, "[stopping]");
            line(to, "rule", "\"sequential\"");
            let looks: Vec<String> = looks.iter().map(u32::to_string).collect();
            line(to, "looks", &format!("[{}]", looks.join(", ")));
        }
    }
}

/// Keys of a guest, apart from its kernel.
fn guest_keys(guest: &GuestSpec) -> Vec<(&'static str, String)> {
    let mut keys = vec![
        ("cpus", guest.cpus.to_string()),
        ("memory", text(&size(guest.memory_bytes))),
        ("disk", text(guest.disk.name())),
    ];
    keys.extend(guest.accelerator.map(|one| ("accelerator", text(one.name()))));
    if guest.timeout_seconds != GuestSpec::TIMEOUT_SECONDS {
        keys.push(("timeout", guest.timeout_seconds.to_string()));
    }
    keys
}

fn variant(to: &mut String, variant: &Variant, with_device: bool) {
    header(to, "[[variant]]");
    line(to, "name", &text(&variant.name));
    if let Some(against) = &variant.against {
        line(to, "against", &text(against));
    }
    if !variant.filesystem.is_empty() {
        line(to, "filesystem", &text(&variant.filesystem));
    }
    for (key, options) in [("mkfs", &variant.mkfs), ("mount", &variant.mount)] {
        if !options.is_empty() {
            line(to, key, &texts(options));
        }
    }
    if let Some(image) = &variant.image {
        line(to, "image", &text(image));
    }
    if let Some(kernel) = &variant.kernel {
        line(to, "kernel", &text(kernel));
    }
    if let Some(guest) = &variant.guest {
        line(to, "kernel", &path(&guest.kernel));
        let pairs = guest_keys(guest);
        let pairs: Vec<_> = pairs.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        line(to, "guest", &format!("{{ {} }}", pairs.join(", ")));
    }
    if variant.handicap_percent > 0 {
        line(to, "handicap", &text(&format!("{}%", variant.handicap_percent)));
    }
    if with_device {
        let pairs = device_keys(&variant.device);
        let pairs: Vec<String> =
            pairs.into_iter().map(|(key, value)| format!("{key} = {value}")).collect();
        line(to, "device", &format!("{{ {} }}", pairs.join(", ")));
    }
}

fn job(to: &mut String, planned: &PlannedJob) {
    header(to, "[[job]]");
    line(to, "name", &text(&planned.name));
    line(to, "workload", &text(&planned.workload));
    if let Some(launch) = &planned.launch {
        line(to, "ranks", &launch.ranks.to_string());
        if !launch.launcher.is_empty() {
            line(to, "launcher", &texts(&launch.launcher));
        }
        if let Some(program) = &launch.program {
            line(to, "mpi-program", &path(program));
        }
        if launch.timeout_seconds != RANK_TIMEOUT_SECONDS {
            line(to, "rank-timeout", &launch.timeout_seconds.to_string());
        }
    }
    if !planned.options.is_empty() {
        header(to, "[job.options]");
        let is_first = |place: usize, name: &str| {
            !planned.options[..place].iter().any(|(other, _)| other == name)
        };
        for (place, (name, value)) in planned.options.iter().enumerate() {
            let same = planned.options.iter().filter(|(other, _)| other == name);
            let all: Vec<String> = same.map(|(_, value)| value.clone()).collect();
            match all.len() {
                1 => line(to, &key(name), &option_value(value)),
                _ if is_first(place, name) => line(to, &key(name), &texts(&all)),
                _ => {}
            }
        }
    }
}

/// Device of all variants, if they have the same.
fn shared_device(variants: &[Variant]) -> Option<&DeviceSpec> {
    let first = &variants.first()?.device;
    variants.iter().all(|variant| variant.device == *first).then_some(first)
}

fn device_keys(spec: &DeviceSpec) -> Vec<(&'static str, String)> {
    match spec {
        DeviceSpec::Loop { bytes, count, sparse, direct_io, sector_bytes, directory, disk } => {
            let mut keys = vec![
                ("loop", text(&size(*bytes))),
                ("count", count.to_string()),
                ("sparse", sparse.to_string()),
                ("direct-io", direct_io.to_string()),
                ("sector-bytes", sector_bytes.to_string()),
            ];
            keys.extend(directory.as_ref().map(|directory| ("images", path(directory))));
            keys.extend(disk.as_ref().map(|disk| ("disk", text(disk))));
            keys
        }
        DeviceSpec::Block { paths } => {
            let paths: Vec<String> = paths.iter().map(|device| path(device)).collect();
            vec![("block", format!("[{}]", paths.join(", ")))]
        }
        DeviceSpec::Directory { path: directory } => vec![("directory", path(directory))],
    }
}

fn header(to: &mut String, header: &str) {
    let _memory_takes_it = writeln!(to, "\n{header}");
}

fn line(to: &mut String, key: &str, value: &str) {
    let _memory_takes_it = writeln!(to, "{key} = {value}");
}

fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { text(name) }
}

/// TOML value that reads back to the same text: numbers and `true` are unquoted.
fn option_value(value: &str) -> String {
    let is_number = value.parse::<u64>().is_ok_and(|number| number.to_string() == value);
    if is_number || value == "true" { value.to_owned() } else { text(value) }
}

fn path(path: &Path) -> String {
    text(&path.to_string_lossy())
}

fn texts(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|each| text(each)).collect();
    format!("[{}]", texts.join(", "))
}

/// TOML basic string.
fn text(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            control if control.is_control() => {
                let _memory_takes_it = write!(quoted, "\\u{:04X}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// Size with the largest suffix that keeps it exact.
fn size(bytes: u64) -> String {
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
    text(&format!("{percent}%"))
}

#[cfg(test)]
mod tests {
    use super::{key, option_value, share, size, text};

    #[test]
    fn sizes_lose_nothing() {
        assert_eq!(size(8 << 30), "8GiB");
        assert_eq!(size(1536), "1536");
        assert_eq!(size(3 << 39), "1536GiB");
        assert_eq!(size(0), "0");
    }

    #[test]
    fn shares_are_percentages_as_people_write_them() {
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
            assert_eq!(share(value), format!("\"{written}\""));
        }
    }

    #[test]
    fn texts_and_keys_are_quoted_where_they_must_be() {
        assert_eq!(text("a\"b\\c\nd\u{7f}"), "\"a\\\"b\\\\c\\u000Ad\\u007F\"");
        assert_eq!(key("drop-caches"), "drop-caches");
        assert_eq!(key("a b"), "\"a b\"");
        assert_eq!(option_value("007"), "\"007\"");
        assert_eq!(option_value("7"), "7");
        assert_eq!(option_value("true"), "true");
    }
}
