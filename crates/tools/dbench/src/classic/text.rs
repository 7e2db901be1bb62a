//! Output in the original's words: per-second lines, the table, and the result.

use std::fmt::Write;

use crate::language::OperationKind;
use treering_script::OperationSpans;

use super::account::{ClientAccount, LoadPass};
use super::tick::{FIRST_SECOND, ProgressTick, RunPhase};

/// Result line of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunResult<'r> {
    /// Megabytes in a second.
    pub megabytes: f64,
    /// Number of clients, over all processes.
    pub clients: u32,
    /// Number of processes that run the clients.
    pub processes: u32,
    /// Maximum latency.
    pub latency_ns: u64,
    /// Labels of the sync options in use.
    pub labels: &'r [&'static str],
}

/// The first lines.
pub(crate) fn header(seconds: u64, load: &str, warmup: u64) -> String {
    format!(
        "dbench version 4.00 - Copyright Andrew Tridgell 1999-2004\n\nRunning for {seconds} \
         seconds with load '{load}' and minimum warmup {warmup} secs\n"
    )
}

/// Line printed once all clients are set up and released.
pub(crate) fn releasing(processes: u32) -> String {
    format!(
        "0 of {processes} processes prepared for launch   0 sec\n{processes} of {processes} \
         processes prepared for launch   0 sec\nreleasing clients\n"
    )
}

/// Converts to milliseconds.
fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// Per-second line; empty for the first second.
pub(crate) fn tick(tick: &ProgressTick) -> String {
    if tick.seconds < FIRST_SECOND {
        return String::new();
    }
    let word = match tick.part {
        RunPhase::WarmUp => "warmup",
        RunPhase::Measured => "execute",
        RunPhase::Over => return cleanup(tick.active, tick.seconds),
    };
    let ProgressTick { active, lines, seconds, latency_ns, .. } = *tick;
    let (megabytes, latency) = (tick.megabytes(), ms(latency_ns));
    format!(
        "{active:4}  {lines:8}  {megabytes:7.2} MB/sec  {word} {seconds:3.0} sec  latency \
         {latency:.3} ms\n"
    )
}

/// The line of a second while clients remove their files.
pub(crate) fn cleanup(active: u64, seconds: f64) -> String {
    if seconds < FIRST_SECOND {
        String::new()
    } else {
        format!("{active:4}  cleanup {seconds:3.0} sec\n")
    }
}

/// Machine-readable tick line, in the format of dbench 5.0.
pub(crate) fn machine_tick(tick: &ProgressTick) -> String {
    if tick.seconds < FIRST_SECOND {
        return String::new();
    }
    let letter = match tick.part {
        RunPhase::WarmUp => 'W',
        RunPhase::Measured => 'R',
        RunPhase::Over => 'C',
    };
    let ProgressTick { active, lines, seconds, latency_ns, .. } = *tick;
    let (megabytes, latency) = (tick.megabytes(), ms(latency_ns));
    format!("@{letter}@{active}@{lines}@{megabytes:.2}@{seconds:.0}@{latency:.3}@\n")
}

/// The table of operations.
pub(crate) fn table(spans: &OperationSpans) -> String {
    let mut text = " Operation      Count    AvgLat    MaxLat\n".to_owned();
    text += &format!(" {}\n", "-".repeat(40));
    for kind in OperationKind::ALL {
        let row = spans.row(kind as usize);
        if row.count > 0 {
            let (mean, most) = (row.mean_ns() / 1e6, ms(row.longest_ns));
            let _ = writeln!(text, " {:12} {:7} {mean:9.3} {most:9.3}", kind.name(), row.count);
        }
    }
    text
}

/// Machine-readable operation table.
pub(crate) fn machine_table(spans: &OperationSpans) -> String {
    let rows = OperationKind::ALL.into_iter().map(|kind| (kind, spans.row(kind as usize)));
    rows.filter(|(_, row)| row.count > 0).fold(String::new(), |text, (kind, row)| {
        let (mean, most) = (row.mean_ns() / 1e6, ms(row.longest_ns));
        text + &format!(":{}:{}:{mean:.3}:{most:.3}:\n", kind.name(), row.count)
    })
}

/// Operation tables of all clients.
pub(crate) fn per_client(clients: &[ClientAccount]) -> String {
    let tables = clients.iter().map(|client| {
        let ClientAccount { client, lines, all_bytes, spans, .. } = client;
        format!("Client {client} did {lines} lines and {all_bytes} bytes\n{}\n", table(spans))
    });
    format!("Per client results:\n{}", tables.collect::<String>())
}

/// Execution time of each pass of a client.
pub(crate) fn passes(client: u64, passes: &[LoadPass]) -> String {
    let line = |pass: &LoadPass| {
        let whole = |ns: u64| ns / 1_000_000;
        let (took, at) = (whole(pass.took_ns), whole(pass.at_ns));
        format!("{client:4} completed in {took} ms at time {at} ms\n")
    };
    passes.iter().map(line).collect()
}

/// Machine-readable pass times.
pub(crate) fn machine_passes(client: u64, passes: &[LoadPass]) -> String {
    let line = |pass: &LoadPass| format!("@E@{client}@{}@\n", pass.took_ns / 1_000_000);
    passes.iter().map(line).collect()
}

/// The result.
pub(crate) fn result(result: &RunResult<'_>) -> String {
    let RunResult { clients, processes, latency_ns, labels, .. } = *result;
    let labels = labels.iter().fold(String::new(), |text, label| text + " (" + label + ")");
    let (megabytes, latency) = (general(result.megabytes), ms(latency_ns));
    format!(
        "Throughput {megabytes} MB/sec{labels}  {clients} clients  {processes} procs  \
         max_latency={latency:.3} ms\n"
    )
}

/// Machine-readable result line.
pub(crate) fn machine_result(result: &RunResult<'_>) -> String {
    let RunResult { clients, processes, latency_ns, .. } = *result;
    let (megabytes, latency) = (general(result.megabytes), ms(latency_ns));
    format!(";{megabytes};{clients};{processes};{latency:.3};\n")
}

/// Number in the format of C's `%g`: six significant digits without trailing zeros.
fn general(number: f64) -> String {
    let scientific = format!("{number:.5e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let Ok(exponent) = exponent.parse::<i32>() else { return scientific };
    let trimmed = |text: &str| {
        let has_zeros = text.contains('.');
        let cut = || text.trim_end_matches('0').trim_end_matches('.');
        if has_zeros { cut().to_owned() } else { text.to_owned() }
    };
    if !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trimmed(digits), exponent.abs());
    }
    let decimals = usize::try_from(5 - exponent).unwrap_or_default();
    trimmed(&format!("{number:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use treering_script::OperationSpans;

    use super::{RunResult, general, machine_passes, machine_result, passes, per_client, result};
    use super::{machine_table, machine_tick, table, tick};
    use crate::classic::account::{ClientAccount, LoadPass};
    use crate::classic::tick::{ProgressTick, RunPhase};
    use crate::language::OperationKind;

    const TICK: ProgressTick = ProgressTick {
        part: RunPhase::Measured,
        active: 2,
        lines: 90_760,
        bytes: 855_000_000,
        seconds: 9.0001,
        latency_ns: 355_893_000,
        measured_ns: 0,
    };

    #[test]
    fn progress_lines_match_the_original() {
        let line = "   2     90760    95.00 MB/sec  execute   9 sec  latency 355.893 ms\n";
        assert_eq!(tick(&TICK), line);
        let warmup = ProgressTick { part: RunPhase::WarmUp, ..TICK };
        assert!(tick(&warmup).contains(" MB/sec  warmup   9 sec  latency"));
        assert_eq!(tick(&ProgressTick { part: RunPhase::Over, ..TICK }), "   2  cleanup   9 sec\n");
        assert_eq!(tick(&ProgressTick { seconds: 0.8, ..TICK }), "");
        assert_eq!(machine_tick(&TICK), "@R@2@90760@95.00@9@355.893@\n");
    }

    #[test]
    fn tables_and_results_match_the_original() {
        let mut spans = OperationSpans::new(OperationKind::COUNT);
        for took_ns in [10_000, 16_382_000] {
            spans.record(OperationKind::Flush as usize, false, Some(0), Some(took_ns));
        }
        let rows = " Operation      Count    AvgLat    MaxLat\n \
                    ----------------------------------------\n \
                    Flush              2     8.196    16.382\n";
        assert_eq!(table(&spans), rows);
        assert_eq!(machine_table(&spans), ":Flush:2:8.196:16.382:\n");
        let mut client = ClientAccount::new(1);
        (client.lines, client.all_bytes, client.spans) = (47, 50_000, spans);
        let text = format!("Per client results:\nClient 1 did 47 lines and 50000 bytes\n{rows}\n");
        assert_eq!(per_client(&[client]), text);
        let mut end = RunResult {
            megabytes: 94.99844,
            clients: 2,
            processes: 2,
            latency_ns: 355_893_000,
            labels: &[],
        };
        let line = "Throughput 94.9984 MB/sec  2 clients  2 procs  max_latency=355.893 ms\n";
        assert_eq!(result(&end), line);
        assert_eq!(machine_result(&end), ";94.9984;2;2;355.893;\n");
        end.labels = &["sync open", "sync dirs"];
        assert!(result(&end).contains(" MB/sec (sync open) (sync dirs)  2 clients"));
        let samples = [LoadPass { took_ns: 123_999_999, at_ns: 456_000_000 }];
        assert_eq!(passes(3, &samples), "   3 completed in 123 ms at time 456 ms\n");
        assert_eq!(machine_passes(3, &samples), "@E@3@123@\n");
    }

    #[test]
    fn numbers_are_formatted_as_by_printf() {
        for (number, text) in [
            (0.0, "0"),
            (94.9984, "94.9984"),
            (3_156.123_456, "3156.12"),
            (0.019_997_3, "0.0199973"),
            (0.00001, "1e-05"),
            (1_234_567.0, "1.23457e+06"),
            (999_999.7, "1e+06"),
            (100.0, "100"),
        ] {
            assert_eq!(general(number), text);
        }
    }
}
