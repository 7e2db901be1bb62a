//! `treering store overview`: the whole store in one file. Its first section, its links to the
//! details, and hostile names, also in a real browser if one is installed.

use std::path::{Path, PathBuf};

use serde_json::Value;
use treering_model::{Cell, CellRole, TrialId};
use treering_store::{Access, Store};
use treering_testkit::Program;

use crate::browser::{HOSTILE, browser, is_harmless, made_up, probe, record, seen};
use crate::history::month;
use crate::program;

const DAY_MS: i64 = 86_400_000;

/// Script that opens each link target of the overview in turn, and reports its observations.
const EYE: &str = r##"<script>
const until = async (what) => { while (!what()) await new Promise((done) => setTimeout(done, 20)); };
const open = async (link) => {
  const before = document.querySelector("#detail h1");
  location.hash = link;
  await until(() => document.querySelector("#detail h1") !== before);
  const detail = document.getElementById("detail");
  return { title: document.title, text: detail.innerText, focus: document.activeElement === detail,
    home: document.getElementById("overview").hidden, tables: detail.querySelectorAll("table").length };
};
const first = (start) => [...document.querySelectorAll("a")]
  .map((link) => link.getAttribute("href")).find((href) => href.startsWith(start));
(async () => {
  const found = {};
  const scroll = () => document.documentElement.scrollWidth;
  found.widths = [scroll()];
  found.series = await open(first("#series-"));
  found.widths.push(scroll());
  found.trial = await open(first("#trial-"));
  found.widths.push(scroll());
  found.comparison = await open(first("#comparison-"));
  found.absent = await open("#trial-00000000");
  location.hash = "#overview";
  await until(() => document.getElementById("detail").hidden);
  const words = document.getElementById("words");
  const rows = () => document.querySelectorAll(".matrix tbody tr:not([hidden])").length;
  found.rows = [rows()];
  words.value = "no such metric";
  words.dispatchEvent(new Event("input"));
  found.rows.push(rows());
  found.sparks = document.querySelectorAll("svg.spark").length;
  found.wrong = window.wrong;
  found.harmed = window.harmed === 1;
  found.images = document.querySelectorAll("img").length;
  found.requests = performance.getEntriesByType("resource").map((one) => one.name);
  parent.postMessage("SEEN" + btoa(unescape(encodeURIComponent(JSON.stringify(found)))) + "END", "*");
})();
</script>"##;

/// Creates a campaign of two variants over twelve days, with half the speed on the newest days.
fn hostile_store(file: &Path) {
    let mut store = Store::open(file, Access::ReadWrite).unwrap();
    for day in 1..=12 {
        let campaign = TrialId::new();
        for round in 1..=2 {
            let slower = if day > 8 { 2 } else { 1 };
            for (variant, slow) in [("ext4", 1), ("xfs", slower)] {
                let cell = Cell {
                    campaign,
                    plan: format!("plan{HOSTILE}"),
                    digest: "digest".to_owned(),
                    variant: format!("{variant}{HOSTILE}"),
                    job: format!("job{HOSTILE}"),
                    round,
                    role: CellRole::Round,
                };
                let is_first = round == 1 && variant == "ext4";
                let trial = if is_first { campaign } else { TrialId::new() };
                let started = day * DAY_MS + i64::from(round);
                record(&mut store, trial, HOSTILE, started, slow, Some(cell));
            }
        }
    }
}

fn page_of(program: &Program) -> PathBuf {
    program.home().join("store.html")
}

fn written(program: &Program, words: &[&str]) -> String {
    let page = page_of(program);
    let out = ["overview", "-o", page.to_str().unwrap()];
    program.run([&out, words].concat()).ends_with(0);
    std::fs::read_to_string(page).unwrap()
}

#[test]
fn the_page_begins_with_changes() {
    let program = month(|day| if day < 17 { 1000.0 } else { 900.0 });
    let ran = program.run(["overview"]).ends_with(0);
    let message =
        "1 of 1 series changed within their newest 20 points: 1 for the worse, 0 for the better.";
    assert!(
        ran.stderr.contains(message) && ran.stderr.contains("28 of 28 trials"),
        "{}",
        ran.stderr
    );
    let page = ran.stdout;
    assert!(page.contains(message) && page.contains("worse (-9.9 %) from 2025-11-17 on"), "{page}");
    assert!(page.contains("svg class=\"spark\"") && page.contains("▼ -9.9 %"), "a small chart");
    assert!(page.contains("default-src 'none'") && !page.contains("http://"), "no network");
    let recent = written(&program, &["--recent", "5"]);
    assert!(recent.contains("0 of 1 series changed within their newest 5 points"), "not recent");
}

#[test]
fn every_series_comparison_and_trial_is_included() {
    let program = program();
    let file = made_up(&program);
    hostile_store(&file);
    let page = written(&program, &["--store", file.to_str().unwrap()]);
    let names: Vec<&str> = page
        .split("data-names=\"")
        .skip(1)
        .flat_map(|rest| rest.split_once('"').unwrap().0.split(' '))
        .collect();
    let count = |start: &str| names.iter().filter(|name| name.starts_with(start)).count();
    let counts = ["series-", "comparison-", "trial-", "trials-"].map(count);
    assert_eq!(counts, [2, 12, 48, 1], "{names:?}");
    for link in page.split("href=\"#").skip(1) {
        let (link, _) = link.split_once('"').unwrap();
        let is_place = page.contains(&format!("id=\"{link}\""));
        assert!(is_place || names.contains(&link), "{link} leads nowhere");
    }
    // Stored names appear neither as markup nor as the end of a script.
    assert!(!page.contains("<img") && !page.contains(HOSTILE), "hostile text");
    assert_eq!(page.matches("<script").count(), page.matches("</script>").count());
}

#[test]
fn missing_data_are_reported() {
    let program = month(|_| 1000.0);
    program.run(["overview", "--metric", "speed"]).ends_with(2).complains("files_per_second");
    program.run(["overview", "--store", "nowhere"]).ends_with(2);
    program.run(["overview", "-o", "/no/such/directory/page.html"]).ends_with(3);
}

#[test]
fn a_browser_opens_the_details_and_goes_back() {
    let Some(browser) = browser() else { return };
    let program = program();
    let file = made_up(&program);
    hostile_store(&file);
    written(&program, &["--store", file.to_str().unwrap()]);
    let page = page_of(&program);
    probe(&page, EYE);
    for (width, dark) in [(320, false), (2000, true)] {
        let seen = seen(browser, &page, width, dark);
        let message = format!("{width}: {seen:#}");
        is_harmless(&seen, &message);
        for (detail, words) in [
            ("series", "Points"),
            ("trial", "Environment"),
            ("comparison", "Campaign"),
            ("absent", "treering show 00000000"),
        ] {
            let shown = &seen[detail];
            assert!(shown["text"].as_str().unwrap().contains(words), "{detail}: {message}");
            assert_eq!(
                (&shown["focus"], &shown["home"]),
                (&true.into(), &true.into()),
                "{message}"
            );
        }
        assert!(seen["trial"]["text"].as_str().unwrap().contains(HOSTILE), "as text: {message}");
        assert_eq!(seen["rows"], Value::from(vec![1, 0]), "the filter: {message}");
        assert_eq!(seen["sparks"], 2, "{message}");
        let is_wide = |wide: &Value| wide.as_u64() > Some(width.into());
        assert!(!seen["widths"].as_array().unwrap().iter().any(is_wide), "{message}");
    }
}
