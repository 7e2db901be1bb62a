//! Page of `treering doctor`: problems first, then the inventory of the machine, its smallest
//! detectable difference, and the next commands.

pub mod json;
pub mod next;
pub mod severity;

use treering_model::{
    DiskLatencies, DiskSummary, Fact, FilesystemSupport, ProbeLatency, ProbeNoise,
};

use self::json::{Diagnosis, StoreFindings};
use super::identity::minute;
use crate::{Block, Cell, Report};

const KIB: f64 = 1024.0;
/// Share of all CPUs, in percent, from which what other programs use decides a measurement.
const BUSY_PERCENT: f64 = 50.0;
/// Facts about CPU time that this program did not get, with the words for who got it.
const TAKERS: [(&str, &str); 2] = [
    ("conditions.other_programs_percent", "other programs use"),
    ("conditions.stolen_percent", "the host takes"),
];

/// Builds the page; `plan` describes the size of the plan, one line per entry.
pub fn page(found: &Diagnosis<'_>, plan: &[String]) -> Report {
    let mut page = Report::new(format!("Doctor: {}", found.path));
    if let Some(verdict) = busy(found.environment) {
        page.paragraph(verdict);
    }
    let count = found.obstacles.len() + found.cautions.len();
    page.paragraph(match count {
        0 => "No problem affects measurements here.".to_owned(),
        1 => "One problem affects measurements here.".to_owned(),
        count => format!("{count} problems affect measurements here, worst first."),
    });
    for line in plan {
        page.paragraph(line.as_str());
    }
    for obstacle in found.obstacles {
        page.note(format!("cannot be used as it is: {obstacle}"));
    }
    if !found.cautions.is_empty() {
        page.blocks.push(Block::Cautions { cautions: found.cautions.to_vec() });
    }
    page.heading("What is here");
    key_values(&mut page, here(found));
    page.heading("How precisely it can be measured");
    if !found.noise.is_empty() {
        key_values(&mut page, found.noise.iter().map(noise).collect());
    }
    page.paragraph(resolution(found));
    page.heading("What to try next");
    for next in found.next {
        page.command(&next.purpose, &next.command);
    }
    page.heading("Findings");
    let pair = |fact: &Fact| (fact.name.clone(), fact.value.clone());
    key_values(&mut page, found.environment.iter().map(pair).collect());
    page
}

fn key_values(page: &mut Report, pairs: Vec<(String, String)>) {
    page.key_values(pairs.into_iter().map(|(key, value)| (key, Cell::text(value))));
}

/// Verdict about a machine that works for others.
fn busy(environment: &[Fact]) -> Option<String> {
    TAKERS.iter().find_map(|(name, who)| {
        let fact = environment.iter().find(|fact| fact.name == *name)?;
        let percent: f64 = fact.value.parse().ok().filter(|percent| *percent >= BUSY_PERCENT)?;
        Some(format!("Not now: {who} {percent:.0} % of all CPUs, which would be measured as well."))
    })
}

/// Latencies of the disk in words, each with its purpose.
fn disk(disk: &DiskLatencies) -> Vec<(&'static str, String)> {
    let synced = format!("4 KiB appended and synced: {}", latency(&disk.synced_write));
    let read = disk.direct_read.as_ref().map(|read| {
        let words = latency(read);
        format!("4 KiB past the page cache: {words}; the drive's own cache may have answered")
    });
    let read = read.unwrap_or_else(|| "no reads past the page cache here".to_owned());
    vec![("synced writes", synced), ("direct reads", read)]
}

fn latency(one: &ProbeLatency) -> String {
    let (median, longest) = (milliseconds(one.median_ms), milliseconds(one.max_ms));
    format!("{median} (median of {}, the longest {longest})", one.n)
}

/// Formats a latency with about three significant digits.
fn milliseconds(ms: f64) -> String {
    match ms {
        ms if ms < 0.1 => format!("{:.1} µs", ms * 1000.0),
        ms if ms < 1.0 => format!("{:.0} µs", ms * 1000.0),
        ms if ms < 10.0 => format!("{ms:.2} ms"),
        ms => format!("{ms:.1} ms"),
    }
}

/// Store in words.
fn store(store: &StoreFindings) -> String {
    match store.newest_unix_ms {
        Some(newest) => format!("{}, newest trial {} UTC", store.path, minute(newest)),
        None => format!("none yet; they will be in {}", store.path),
    }
}

fn here(found: &Diagnosis<'_>) -> Vec<(String, String)> {
    let here = found.inventory;
    let rights = if here.is_root {
        "root: filesystems can be made and mounted, caches dropped"
    } else {
        "not root: directories can be compared; filesystems cannot be made or mounted"
    };
    let ready: Vec<String> =
        here.filesystems.iter().filter(|one| one.is_ready).map(ready).collect();
    let missing = here.filesystems.iter().filter(|one| !one.is_ready && one.is_usual);
    let mut lines = vec![("rights", rights.to_owned())];
    lines.push(("filesystems that can be made", listed(&ready)));
    for one in missing {
        let why = one.how.as_deref().unwrap_or("not known");
        lines.push(("cannot be made", format!("{}: {why}", one.name)));
    }
    lines.extend(here.devices.iter().map(|one| ("device", device(one))));
    lines.extend(found.disk.map(disk).unwrap_or_default());
    lines.push(("loop devices", yes(here.loop_devices, "only root can attach them")));
    let tracing = here.block_tracing.as_deref().map(|way| format!("yes, by {way}"));
    let reason =
        if here.is_root { "no: neither perf_event nor tracefs" } else { "no: requires root" };
    lines.push(("block tracing", tracing.unwrap_or_else(|| reason.to_owned())));
    let tools: Vec<String> =
        here.tools.iter().map(|tool| format!("{} ({})", tool.name, tool.path)).collect();
    lines.push(("classic tools installed", listed(&tools)));
    if !here.logs.is_empty() {
        lines.push(("logs to import", listed(&here.logs)));
    }
    lines.extend(found.store.map(|one| ("stored results", store(one))));
    lines.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn yes(is_so: bool, why_not: &str) -> String {
    if is_so { "yes".to_owned() } else { format!("no: {why_not}") }
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn ready(one: &FilesystemSupport) -> String {
    match &one.version {
        Some(version) => format!("{} ({version})", one.name),
        None => one.name.to_owned(),
    }
}

fn device(one: &DiskSummary) -> String {
    let mut words = vec![one.node.clone()];
    words.extend(one.bytes.map(|bytes| format!("{:.1} GiB", bytes as f64 / KIB / KIB / KIB)));
    words.extend(one.model.clone());
    let said = |is: bool, yes: &str, no: &str| if is { yes } else { no }.to_owned();
    words.extend(one.is_rotational.map(|is| said(is, "rotational", "not rotational")));
    words.extend(one.is_free.map(|is| said(is, "unused, and no data seen", "in use or not empty")));
    words.join(", ")
}

fn noise(one: &ProbeNoise) -> (String, String) {
    let what = if one.probe == "cpu" { "computing" } else { "small files" };
    let varied = format!(
        "varies by {:.1} % (coefficient of variation of {} values in three seconds)",
        one.variation_percent, one.n
    );
    (what.to_owned(), varied)
}

fn resolution(found: &Diagnosis<'_>) -> String {
    let Some(resolution) = found.resolution else {
        return "Too little could be measured.".to_owned();
    };
    format!(
        "A difference above {} % would be detected four times out of five with {} rounds of {} s, \
         at the .05 level, if whole runs vary as this probe did. A comparison reports its own \
         noise and the rounds it needs.",
        figure(resolution.percent),
        resolution.rounds,
        resolution.run_seconds
    )
}

/// Formats an estimate in percent with two significant digits.
fn figure(percent: f64) -> String {
    if percent < 10.0 { format!("{percent:.1}") } else { format!("{percent:.0}") }
}

#[cfg(test)]
mod tests {
    use super::{busy, disk, milliseconds, store};
    use crate::pages::doctor::json::StoreFindings;
    use treering_model::{DiskLatencies, Fact, ProbeLatency};

    fn facts(others: &str, stolen: &str) -> Vec<Fact> {
        let named =
            [("conditions.other_programs_percent", others), ("conditions.stolen_percent", stolen)];
        let fact =
            |(name, value): (&str, &str)| Fact { name: name.to_owned(), value: value.to_owned() };
        named.map(fact).to_vec()
    }

    #[test]
    fn a_machine_that_works_for_others_is_not_to_be_measured_now() {
        let verdict = |others, stolen| busy(&facts(others, stolen));
        let words =
            "Not now: other programs use 71 % of all CPUs, which would be measured as well.";
        assert_eq!(verdict("71.2", "0.00").as_deref(), Some(words));
        let stolen = verdict("3.00", "64.0").unwrap();
        assert!(stolen.starts_with("Not now: the host takes 64 %"), "{stolen}");
        assert_eq!(verdict("49.9", "12.0"), None);
        assert_eq!(busy(&[]), None);
    }

    #[test]
    fn latencies_of_the_disk_say_how_many_requests_they_are_of() {
        let latency = |n, median_ms, max_ms| ProbeLatency { n, median_ms, max_ms };
        let synced_write = latency(45, 4.2834, 18.51);
        let direct_read = Some(latency(512, 0.0416, 0.62));
        let rows = disk(&DiskLatencies { synced_write, direct_read });
        let (_, written) = &rows[0];
        let words = "4 KiB appended and synced: 4.28 ms (median of 45, the longest 18.5 ms)";
        assert_eq!(written, words);
        assert!(rows[1].1.contains("41.6 µs (median of 512, the longest 620 µs)"), "{rows:?}");
        let none = disk(&DiskLatencies { synced_write: latency(1, 2.0, 2.0), direct_read: None });
        assert_eq!(none[1].1, "no reads past the page cache here");
        assert_eq!(milliseconds(1234.5), "1234.5 ms");
    }

    #[test]
    fn a_store_that_is_not_there_yet_is_named_with_its_path() {
        let of = |newest_unix_ms| {
            store(&StoreFindings { path: "/data/results.treering".to_owned(), newest_unix_ms })
        };
        assert_eq!(of(None), "none yet; they will be in /data/results.treering");
        assert_eq!(of(Some(0)), "/data/results.treering, newest trial 1970-01-01 00:00 UTC");
    }
}
