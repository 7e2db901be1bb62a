//! Cost of recording block traces: runs a command with and without a recording, in turns, and
//! prints its elapsed and CPU time, events, losses, and the recording thread's CPU time per event.
//!
//! `cargo run --release -p treering-observe --example trace_cost -- DIRECTORY ROUNDS WAY COMMAND…`;
//! without arguments, it prints the cost of writing, reading and analysing an event of a prepared
//! trace.
#![expect(
    clippy::disallowed_macros,
    clippy::unwrap_used,
    reason = "a program of its own, for whoever works on the recorder"
)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use treering_observe::block_trace::{BlockRecorder, RecorderOptions, TraceMethod, devices_under};
use treering_sys::thread_cpu;
use treering_trace::{
    Action, DeviceNumber, Operation, RequestEvent, RequestFlags, TraceAnalyzer, TraceDevice,
    TraceEntry, TraceReader, TraceWriter,
};

/// Number of requests in the prepared trace; each is queued, issued and completed.
const REQUESTS: u64 = 1_000_000;
/// Requests in flight at a time.
const DEPTH: u64 = 32;
/// Number of sectors of its device: 16 GiB.
const SECTORS: u64 = 32 << 20;

/// Clock tick of `/proc/PID/stat` in milliseconds: a hundredth of a second on every architecture.
const TICK_MS: u64 = 10;

fn main() {
    let mut words = std::env::args_os().skip(1);
    let Some(dir) = words.next() else {
        prepared();
        return;
    };
    let rounds: u32 = words.next().unwrap().to_str().unwrap().parse().unwrap();
    let method = match words.next().unwrap().to_str().unwrap() {
        "tracefs" => TraceMethod::Tracefs,
        "perf_event" => TraceMethod::PerfEvent,
        other => panic!("{other} is no way; tracefs and perf_event are"),
    };
    let command: Vec<_> = words.collect();
    assert!(!command.is_empty(), "a command is missing");
    let run = || {
        let mut child =
            Command::new(&command[0]).args(&command[1..]).stdout(Stdio::null()).spawn().unwrap();
        while !treering_sys::child_has_ended(child.id()).unwrap() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let cpu_ms = cpu_ms(child.id());
        assert!(child.wait().unwrap().success(), "the command fails");
        cpu_ms
    };
    run();
    println!("round  untraced s (CPU s)  traced s (CPU s)  events  events/s  lost  CPU ns/event");
    for round in 0..rounds {
        // Who comes first changes from round to round.
        let mut untraced = None;
        if round % 2 == 0 {
            untraced = Some(timed(run));
        }
        let traced = recorded(Path::new(&dir), method, run);
        let untraced = untraced.unwrap_or_else(|| timed(run));
        println!("{round:5}  {untraced}  {traced}");
    }
}

/// Elapsed time, and CPU time of the command.
fn timed(run: impl Fn() -> u64) -> String {
    let began = Instant::now();
    let cpu_ms = run();
    format!("{:.3} ({:.2})", began.elapsed().as_secs_f64(), cpu_ms as f64 / 1e3)
}

fn recorded(dir: &Path, method: TraceMethod, run: impl Fn() -> u64) -> String {
    let devices = devices_under(dir).unwrap();
    let options = RecorderOptions { method: Some(method), ..RecorderOptions::default() };
    let recorder = BlockRecorder::begin(&devices, options, Vec::new()).unwrap();
    // When it answers, the thread has its name.
    recorder.cut().unwrap();
    let before_ns = recording_cpu_ns();
    let began = Instant::now();
    let reported = timed(run);
    let took = began.elapsed().as_secs_f64();
    let figures = recorder.cut().unwrap().figures;
    let cpu_ns = recording_cpu_ns() - before_ns;
    let lost = recorder.stop().unwrap().lost_events;
    let events = figures.events;
    let each = cpu_ns as f64 / events.max(1) as f64;
    format!("{reported}  {events}  {:.0}  {lost}  {each:.0}", events as f64 / took)
}

/// CPU time of a child that has ended, including its own children.
fn cpu_ms(process: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields = stat.rsplit_once(')').unwrap().1.split_whitespace();
    // utime, stime, cutime and cstime.
    fields.skip(11).take(4).map(|word| word.parse::<u64>().unwrap() * TICK_MS).sum()
}

/// CPU time of the recording thread of this process.
fn recording_cpu_ns() -> u64 {
    let threads = std::fs::read_dir("/proc/self/task").unwrap().map(|entry| entry.unwrap().path());
    let word = |path: &Path, file| std::fs::read_to_string(path.join(file)).unwrap_or_default();
    let mut recording = threads.filter(|path| word(path, "comm").trim() == "block trace");
    let stat = word(&recording.next().unwrap(), "schedstat");
    stat.split_whitespace().next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

/// Events of random reads, in chronological order.
fn entries() -> Vec<TraceEntry> {
    let number = DeviceNumber::new(7, 0);
    let device = TraceDevice { number, name: "loop0".to_owned(), sectors: SECTORS };
    let mut entries = vec![TraceEntry::Device(device)];
    let event = |time_ns: u64, request: u64, action| {
        // An odd factor takes requests all over the device.
        let sector = request.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (SECTORS / 8) * 8;
        let (operation, flags) = (Operation::Read, RequestFlags::default());
        let device = number;
        let (process, cpu, error) = (77, u32::from(request & 1 == 1), 0);
        let bytes = 4096;
        TraceEntry::Event(RequestEvent {
            time_ns,
            sector,
            bytes,
            device,
            action,
            operation,
            flags,
            process,
            cpu,
            error,
        })
    };
    for request in 0..REQUESTS + DEPTH {
        let now_ns = request * 4000;
        if request < REQUESTS {
            entries.push(event(now_ns, request, Action::Queue));
            entries.push(event(now_ns + 500, request, Action::Issue));
        }
        if let Some(done) = request.checked_sub(DEPTH) {
            entries.push(event(now_ns + 900, done, Action::Complete));
        }
    }
    entries
}

/// Cost of the steps of reading a trace.
fn prepared() {
    let entries = entries();
    let events = entries.len() as f64 - 1.0;
    let cpu_ns = || {
        let cpu = thread_cpu();
        cpu.user_ns + cpu.system_ns
    };
    let reported = |label: &str, before_ns: u64| {
        let each = (cpu_ns() - before_ns) as f64 / events;
        println!("{label}: {each:.1} ns of CPU an event");
    };
    for _ in 0..3 {
        let before = cpu_ns();
        let mut file = Vec::new();
        let mut writer = TraceWriter::new(&mut file).unwrap();
        entries.iter().for_each(|entry| writer.entry(entry).unwrap());
        writer.finish().unwrap();
        reported("written to a file of ours", before);
        println!("  {:.2} bytes an event", file.len() as f64 / events);
        let before = cpu_ns();
        let mut reader = TraceReader::new(file.as_slice()).unwrap();
        let mut read = 0u64;
        while let Some(entry) = reader.next_entry().unwrap() {
            read += u64::from(matches!(entry, TraceEntry::Event(_)));
        }
        reported("read from it", before);
        assert_eq!(read as f64, events);
        let before = cpu_ns();
        let mut analyst = TraceAnalyzer::new(0);
        entries.iter().for_each(|entry| analyst.entry(entry));
        let digest = analyst.cut(REQUESTS * 4000);
        reported("analysed", before);
        assert_eq!(digest.figures.reads.requests, REQUESTS);
    }
}
