//! HTML pages in a real browser, if one is installed: at three widths and in dark mode, with
//! hostile names, a page makes no requests, has no errors, and no text exceeds its drawing.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use treering_model::{
    BetterDirection, Cell, Ending, Fact, IntervalTotals, Latency, Metric, Op, OpTotals,
    PhaseTotals, RunMode, Scope, TaskTotals, TrialEvent, TrialHeader, TrialId, TrialSink, Unit,
};
use treering_store::{Access, Store};
use treering_testkit::{Program, skip, temp_dir_in};

use crate::program;

/// Text that would run as a script if it were not escaped.
pub(crate) const HOSTILE: &str =
    "</script><script>window.harmed=1</script><img src=x onerror=harmed=1>\"'&";

/// Script that records errors from the start of the page.
const EAR: &str = "<script>window.wrong=[];\
    addEventListener('error',(e)=>wrong.push('error '+e.message),true);\
    addEventListener('securitypolicyviolation',(e)=>wrong.push('refused '+e.blockedURI));</script>";

/// Script that inspects the complete page, and sends its observations to the surrounding page.
const EYE: &str = r#"<script>
const drawings = Array.from(document.querySelectorAll("figure.chart > svg"))
  .filter((svg) => svg.getBoundingClientRect().width > 0);
const outside = [], overlapping = [];
for (const svg of drawings) {
  const view = svg.viewBox.baseVal;
  const boxes = Array.from(svg.querySelectorAll("text"), (text) => [text, text.getBBox()]);
  for (const [text, box] of boxes) {
    const right = box.x + box.width, bottom = box.y + box.height;
    if (box.x < -4 || right > view.width + 4 || bottom > view.height + 4) {
      outside.push(text.textContent.slice(0, 40));
    }
  }
  const ticks = boxes.filter(([text]) => text.classList.contains("tick"));
  ticks.forEach(([text, a], place) => ticks.slice(place + 1).forEach(([other, b]) => {
    const apart = a.x + a.width <= b.x || b.x + b.width <= a.x
      || a.y + a.height <= b.y + 2 || b.y + b.height <= a.y + 2;
    if (!apart) overlapping.push(text.textContent + "|" + other.textContent);
  }));
}
const table = document.querySelector("table");
const names = () => Array.from(table.tBodies[0].rows, (row) => row.cells[0].textContent);
const before = names();
table.tHead.rows[0].cells[0].click();
table.tHead.rows[0].cells[0].click();
const count = (what) => document.querySelectorAll(what).length;
parent.postMessage("SEEN" + btoa(unescape(encodeURIComponent(JSON.stringify({
  width: innerWidth,
  scroll: document.documentElement.scrollWidth,
  wrong: window.wrong,
  harmed: window.harmed === 1,
  requests: performance.getEntriesByType("resource").map((one) => one.name),
  outside, overlapping,
  before, after: names(),
  drawings: drawings.length,
  forest: count("figure.forest"), rounds: count("figure.ratios"),
  latencies: count("figure.latencies"), timeline: count("figure.timeline"),
  icons: Math.max(0, ...[...document.querySelectorAll(".legend svg")].map(
    (icon) => icon.getBoundingClientRect().width)),
  aging: count("figure.aging"), details: count("details"), buttons: count("button"),
  titles: count("figure.chart title"), images: count("img"),
  paper: getComputedStyle(document.body).backgroundColor,
})))) + "END", "*");
</script>"#;

fn latency(ns: u64) -> Latency {
    let mut latency = Latency::new();
    (0..500).for_each(|call| latency.record(ns * (100 + call) / 100));
    latency
}

/// Records a trial that has every kind of chart.
pub(crate) fn record(
    store: &mut Store,
    trial: TrialId,
    label: &str,
    place: i64,
    slow: u64,
    cell: Option<Cell>,
) {
    let kind = format!("create{HOSTILE}");
    let op = |op, ns| OpTotals { op, calls: 500, errors: 0, bytes: 0, latency: latency(ns * slow) };
    let phase = PhaseTotals {
        name: format!("aging{HOSTILE}"),
        wall_ns: 8_000_000_000 * slow,
        bytes: 1 << 30,
        tasks: 20,
        ops: vec![op(Op::Create, 9_000), op(Op::Write, 4_000), op(Op::Sync, 70_000)],
        intervals: (0..8)
            .map(|second| IntervalTotals { second, calls: 9, bytes: 1 << 27 })
            .collect(),
        ..PhaseTotals::default()
    };
    let task = |task: u32| TaskTotals {
        task,
        kind: kind.clone(),
        wall_ns: slow * 1_000_000 * u64::from(100 + task),
        bytes: 1 << 20,
        ..TaskTotals::default()
    };
    let fact = |name: &str, value: String| Fact { name: name.to_owned(), value };
    let mut events = vec![
        TrialEvent::Began(TrialHeader {
            started_unix_ms: place,
            treering_version: "0.1.0".to_owned(),
            label: label.to_owned(),
            target: format!("/nowhere/{HOSTILE}"),
            parameters: vec![("runs".to_owned(), HOSTILE.to_owned())],
            cell,
            ..TrialHeader::new(trial, &format!("compilebench{HOSTILE}"), RunMode::Native)
        }),
        TrialEvent::Environment {
            facts: vec![
                fact("filesystem.type", format!("{HOSTILE}{slow}")),
                fact("filesystem.mount_options", format!("rw,subvol={HOSTILE}{slow}")),
                fact(HOSTILE, HOSTILE.repeat(9)),
            ],
        },
        TrialEvent::PhaseBegan { phase: 0, name: phase.name.clone(), at_ns: 0 },
    ];
    events.extend((0..20).map(|place| TrialEvent::TaskEnded(task(place))));
    events.push(TrialEvent::PhaseEnded(phase));
    let rate = (100 + place % 7) as f64 / slow as f64;
    let scope = Scope::Kind(kind.clone());
    let rate =
        Metric::new("mib_per_second", scope, rate, Unit::MibPerSecond, BetterDirection::Higher);
    events.push(TrialEvent::Measured(rate.primary().of_tasks(3)));
    events.push(TrialEvent::Ended { ending: Ending::Completed, at_ns: 1_000_000_000 });
    let mut recorder = store.recorder();
    for event in &events {
        recorder.accept(event).unwrap();
    }
}

/// Observations of a browser that shows a page in a window of this width, as JSON.
pub(crate) fn seen(browser: &Path, page: &Path, width: u32, dark: bool) -> Value {
    // A browser window cannot be as narrow as a phone, but a frame can.
    let around = page.with_file_name("around.html");
    let frame = format!(
        "<!DOCTYPE html><meta name=color-scheme content='light dark'><script>\
         addEventListener('message', (e) => document.title = e.data);</script>\
         <iframe style='border:0;width:{width}px;height:900px' src='{}'></iframe>",
        page.file_name().unwrap().to_str().unwrap()
    );
    std::fs::write(&around, frame).unwrap();
    let profile = temp_dir_in(&std::env::temp_dir());
    let mut command = Command::new(browser);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]);
    command.args(["--enable-logging=stderr", "--virtual-time-budget=5000", "--dump-dom"]);
    command.arg(format!("--user-data-dir={}", profile.path().display()));
    command.arg("--window-size=1600,1000");
    if dark {
        command.arg("--blink-settings=preferredColorScheme=0");
    }
    let output = command.arg(format!("file://{}", around.display())).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let spoken: Vec<&str> = errors.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(spoken.is_empty(), "{spoken:?}");
    let dom = String::from_utf8_lossy(&output.stdout);
    let (_, rest) = dom.split_once("SEEN").unwrap_or_else(|| panic!("no word: {errors}"));
    let (word, _) = rest.split_once("END").unwrap();
    serde_json::from_slice(&from_base64(word)).unwrap()
}

fn from_base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.bytes().filter_map(|c| DIGITS.iter().position(|digit| *digit == c));
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0usize, 0);
    for digit in digits {
        bits = bits << 6 | digit;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from(bits >> held & 0xff).unwrap());
        }
    }
    bytes
}

/// Path of a browser, if one is installed.
pub(crate) fn browser() -> Option<&'static Path> {
    let known = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
    let found = known.into_iter().map(Path::new).find(|path| path.exists());
    if found.is_none() {
        skip("chromium is not installed");
    }
    found
}

/// Path of a store with made-up trials.
pub(crate) fn made_up(program: &Program) -> PathBuf {
    std::fs::create_dir_all(program.data()).unwrap();
    program.data().join("made-up.treering")
}

/// Inserts the error recorder at the beginning of a page, and the script `eye` at its end.
pub(crate) fn probe(page: &Path, eye: &str) {
    let text = std::fs::read_to_string(page).unwrap();
    std::fs::write(page, text.replacen("<head>", &format!("<head>{EAR}"), 1) + eye).unwrap();
}

/// Asserts that a page had no errors, made no requests, and escaped every made-up name.
pub(crate) fn is_harmless(seen: &Value, said: &str) {
    for none in ["wrong", "requests"] {
        assert_eq!(seen[none].as_array().map(Vec::len), Some(0), "{none} at {said}");
    }
    assert_eq!((&seen["harmed"], &seen["images"]), (&false.into(), &0.into()), "{said}");
}

#[test]
fn a_browser_shows_complete_pages_without_requests() {
    let Some(browser) = browser() else { return };
    let program = program();
    let file = made_up(&program);
    let mut store = Store::open(&file, Access::ReadWrite).unwrap();
    let sides = [format!("base{HOSTILE}"), format!("half{HOSTILE}"), "third".to_owned()];
    for round in 0..6 {
        for (place, (label, slow)) in (0..).zip(sides.iter().zip(1..)) {
            record(&mut store, TrialId::new(), label, 10 * round + place, slow, None);
        }
    }
    drop(store);
    let page = program.home().join("page.html");
    let (file, out) = (file.to_str().unwrap(), page.to_str().unwrap());
    program.run(["report", "--store", file, "--format", "html", "-o", out]).ends_with(0);
    probe(&page, EYE);
    for (width, dark) in [(360, false), (800, false), (1400, false), (1400, true)] {
        let seen = seen(browser, &page, width, dark);
        let message = format!("{width}: {seen:#}");
        is_harmless(&seen, &message);
        for none in ["outside", "overlapping"] {
            assert_eq!(seen[none].as_array().map(Vec::len), Some(0), "{none} at {message}");
        }
        assert_eq!(seen["details"], 8, "{message}");
        assert_eq!(seen["width"], width, "{message}");
        assert!(seen["icons"].as_f64().is_some_and(|wide| wide > 4.0 && wide < 40.0), "{message}");
        assert!(seen["scroll"].as_u64() <= Some(width.into()), "{message}");
        let counts = ["forest", "rounds", "latencies", "timeline", "aging"].map(|sort| &seen[sort]);
        assert_eq!(counts, [1, 1, 3, 1, 1].map(Value::from).each_ref(), "{message}");
        assert_eq!(seen["drawings"], 7, "{message}");
        assert!(
            seen["titles"].as_u64() > Some(60) && seen["buttons"].as_u64() > Some(2),
            "{message}"
        );
        let mut turned = seen["before"].as_array().unwrap().clone();
        turned.sort_by_key(|name| std::cmp::Reverse(name.to_string().to_lowercase()));
        assert_eq!(seen["after"].as_array().unwrap(), &turned, "{message}");
        let paper = seen["paper"].as_str().unwrap();
        assert_eq!(paper == "rgb(255, 255, 255)", !dark, "{message}");
    }
}
