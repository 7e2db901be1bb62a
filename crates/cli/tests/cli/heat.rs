//! Hot data from block traces, and their location on the device.

use std::fs;

use serde_json::Value;
use treering_model::{Artifact, Caution, CautionCode, HeatReport, LayoutHeat};
use treering_testkit::{LoopFs, require_loop_fs, require_root, skip};

use crate::program;
use crate::trial::last;

#[test]
fn requests_are_attributed_to_files_and_regions() {
    require_root!();
    require_loop_fs!("xfs");
    let place = LoopFs::new("xfs", 400);
    let program = program();
    // 90 % of the requests go to the first tenth of the file, past the page cache.
    let job = "[global]\nfilename=data\nrw=randread\nbs=4k\nnorandommap\ndirect=1\n\
               [hot]\nsize=2m\nnumber_ios=900\nio_size=1g\n\
               [cold]\noffset=2m\nsize=18m\nnumber_ios=100\n";
    fs::write(program.home().join("j.fio"), job).unwrap();
    let dir = place.path().join("d");
    let words = ["run", "fio", "j.fio", "--dir", dir.to_str().unwrap(), "--layout", "--trace"];
    program.run(words.iter().chain(&["--heat", "--heat-half-life", "3600"])).ends_with(0);
    let trial = last(&program);
    let of = |kind: &str, name: &str| -> Vec<&Artifact> {
        let all = trial.artifacts.iter();
        all.filter(|made| made.kind == kind && made.name == name).collect()
    };
    let layer = |made: &Artifact| -> LayoutHeat {
        made.read(LayoutHeat::KIND, LayoutHeat::VERSION).unwrap()
    };
    let calls = layer(of(LayoutHeat::KIND, "").last().unwrap());
    assert!(calls.cells.iter().sum::<f64>() > 990.0, "{calls:?}");
    let Some(requests) = of(HeatReport::KIND, LayoutHeat::REQUESTS).last().copied() else {
        skip("no block traces here");
        return;
    };
    let heat: HeatReport = requests.read(HeatReport::KIND, HeatReport::VERSION).unwrap();
    let device = heat.device.unwrap();
    assert!(device.requests >= 1000 && device.left_out == 0, "{device:?}");
    assert!(device.placed_bytes >= 1000 * 4096, "{device:?}");
    assert!(device.other_bytes + device.free_bytes.unwrap() < device.bytes / 2, "{device:?}");
    assert_eq!(heat.hottest_files[0].counts.reads, 1000);
    let hot = &heat.hottest_ranges[..2];
    assert!(hot.iter().all(|range| range.offset < 2 << 20), "{hot:?}");
    // Requests to the device have the locations of the calls.
    let requests = layer(of(LayoutHeat::KIND, LayoutHeat::REQUESTS).last().unwrap());
    let hottest = |heat: &LayoutHeat| {
        let cells = heat.cells.iter().enumerate();
        let place = cells.max_by(|one, other| one.1.total_cmp(other.1)).unwrap().0;
        place as u64 * heat.cell_bytes
    };
    assert!(hottest(&calls).abs_diff(hottest(&requests)) < 2 << 20);
    let html = program.run(["show", "last", "--format", "html"]).ends_with(0).stdout;
    assert!(html.contains("Hot data on the device") && html.contains("map-hot"));
    assert!(html.contains("requests that the device received"));
}

#[test]
fn a_trace_shows_which_files_were_hot() {
    require_root!();
    require_loop_fs!("ext4");
    let place = LoopFs::new("ext4", 64);
    let (hot, gone) = (place.path().join("sub/hot"), place.path().join("gone"));
    fs::create_dir(place.path().join("sub")).unwrap();
    let program = program();
    let trace = program.home().join("t.trace");
    let script = format!(
        "dd if=/dev/zero of={gone} bs=1M count=4 oflag=direct status=none; \
         dd if=/dev/zero of={hot} bs=1M count=2 oflag=direct status=none; \
         for n in 1 2 3; do dd if={hot} of=/dev/null bs=1M iflag=direct status=none; done; \
         rm {gone}; sync",
        gone = gone.display(),
        hot = hot.display()
    );
    let dir = place.path().to_str().unwrap();
    let words = ["trace", "--dir", dir, "--out", trace.to_str().unwrap(), "--", "sh", "-c"];
    let tried = program.run(words.iter().chain(&[script.as_str()]));
    if tried.code != Some(0) {
        skip(&format!("no block traces here: {}", tried.stderr.trim()));
        return;
    }
    let words = ["layout", dir, "--heat", trace.to_str().unwrap()];
    let reported = program.run(words.iter().chain(&["--format", "json"])).ends_with(0).stdout;
    let reported: Value = serde_json::from_str(&reported).unwrap();
    assert_eq!(reported["treering_heat"]["version"], 1);
    assert_eq!(reported["hottest_files"][0]["path"], "sub/hot");
    assert_eq!(reported["hottest_files"][0]["counts"]["read_bytes"], 6 << 20);
    assert_eq!(reported["hottest_files"][0]["counts"]["written_bytes"], 2 << 20);
    let free = reported["device"]["free_bytes"].as_u64().unwrap();
    assert!((3 << 20..=4 << 20).contains(&free), "what is gone is free: {free}");
    let page = program.run(words).ends_with(0).stdout;
    let output = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(output.contains("sub/hot") && output.contains("space that is free now"), "{page}");
    let html = program.run(words.iter().chain(&["--format", "html"])).ends_with(0).stdout;
    assert!(html.contains("map-hot"));
    let other = LoopFs::new("ext4", 16);
    let other = other.path().to_str().unwrap();
    let wrong = program.run(["layout", other, "--heat", trace.to_str().unwrap()]);
    assert!(wrong.stderr.contains("assumed to be the same"), "{}", wrong.stderr);
    let nothing = program.home().join("nothing");
    fs::write(&nothing, "nothing").unwrap();
    program.run(["layout", dir, "--heat", nothing.to_str().unwrap()]).ends_with(3);
}

#[test]
fn unattributed_requests_are_reported() {
    require_root!();
    require_loop_fs!("btrfs");
    let place = LoopFs::new("btrfs", 256);
    let program = program();
    let dir = place.path().join("d");
    let words = ["run", "fs_mark", "--dir", dir.to_str().unwrap(), "--files", "20"];
    program.run(words.iter().chain(&["-q", "--heat", "--trace"])).ends_with(0);
    let trial = last(&program);
    assert!(trial.artifacts.iter().all(|made| made.name != LayoutHeat::REQUESTS));
    let is_reported = |caution: &Caution| {
        caution.code == CautionCode::TraceIncomplete
            && caution.message.contains("cannot be attributed to files")
    };
    assert!(trial.cautions.iter().any(is_reported), "{:?}", trial.cautions);
}
