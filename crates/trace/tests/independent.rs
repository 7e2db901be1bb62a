//! Comparison of the figures of random traces with a second, simple and slow calculation, which
//! examines every pair of events.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "places in lists of a test"
)]

use proptest::prelude::*;
use treering_model::{Scope, Unit};
use treering_trace::{
    Action, CountingEvent, DeviceNumber, DiskReplay, ModelledDisk, Operation, RequestEvent,
    RequestFlags, RequestOrder, TraceAnalyzer, TraceDevice, TraceDigest, TraceEntry, TraceWindow,
    summarise,
};

/// Request with the times of its submission, issue and completion.
#[derive(Clone, Debug)]
struct Request {
    queued: u64,
    issued: u64,
    done: u64,
    sector: u64,
    sectors: u32,
    operation: Operation,
    device: DeviceNumber,
}

impl Request {
    fn event(&self, action: Action, time_ns: u64) -> RequestEvent {
        RequestEvent {
            time_ns,
            sector: self.sector,
            bytes: self.sectors * 512,
            device: self.device,
            action,
            operation: self.operation,
            flags: RequestFlags::default(),
            process: 1,
            cpu: 0,
            error: 0,
        }
    }
}

/// Requests that do not overlap, so that every completion has one issue only.
fn requests() -> impl Strategy<Value = Vec<Request>> {
    let times_of_request =
        (0u64..2_000_000_000, 1u64..5_000_000, 1u64..5_000_000, 0u64..3000, 1u32..64);
    let kind = (any::<bool>(), 0u32..2);
    prop::collection::vec((times_of_request, kind), 1..80).prop_map(|draws| {
        let request = |(number, ((queued, wait, work, gap, sectors), (write, minor)))| Request {
            queued,
            issued: queued + wait,
            done: queued + wait + work,
            sector: (number as u64 * 7919 % 97) * 4096 + gap,
            sectors,
            operation: if write { Operation::Write } else { Operation::Read },
            device: DeviceNumber::new(7, minor),
        };
        draws.into_iter().enumerate().map(request).collect()
    })
}

fn events(requests: &[Request]) -> Vec<RequestEvent> {
    let mut events: Vec<RequestEvent> = requests
        .iter()
        .flat_map(|draw| {
            [
                draw.event(Action::Queue, draw.queued),
                draw.event(Action::Issue, draw.issued),
                draw.event(Action::Complete, draw.done),
            ]
        })
        .collect();
    events.sort_by_key(|event| event.time_ns);
    events
}

fn digest(events: &[RequestEvent]) -> TraceDigest {
    let mut entries = events.iter().map(|event| TraceEntry::Event(*event));
    summarise(TraceWindow::default(), || Ok(entries.next())).expect("nothing is read").whole
}

/// Number of seeks, their distances, and the share of blocks that follow, for requests in the order
/// of issue.
fn order(requests: &[Request]) -> (u64, u64, u64, u64, u64) {
    let mut sorted: Vec<&Request> = requests.iter().collect();
    sorted.sort_by_key(|request| request.issued);
    let (mut seeks, mut distance, mut sequential, mut blocks, mut following) = (0, 0, 0, 0, 0);
    for (place, request) in sorted.iter().enumerate() {
        let own = u64::from(request.sectors).div_ceil(8);
        blocks += own;
        following += own - 1;
        let before = sorted[..place].iter().rev().find(|other| other.device == request.device);
        let Some(before) = before else { continue };
        let end = i128::from(before.sector) + i128::from(before.sectors);
        let apart = (i128::from(request.sector) - end).unsigned_abs() as u64;
        sequential += u64::from(apart == 0);
        following += u64::from(apart == 0);
        if apart > 128 {
            seeks += 1;
            distance += apart * 512;
        }
    }
    (seeks, distance, sequential, blocks, following)
}

/// Mean and maximum number of requests in flight, computed from every moment at which one begins or
/// ends.
fn depth(requests: &[Request], begin: u64, end: u64) -> (f64, u64) {
    let mut moments: Vec<u64> =
        requests.iter().flat_map(|request| [request.issued, request.done]).collect();
    moments.extend([begin, end]);
    moments.sort_unstable();
    moments.dedup();
    let at = |time: u64| {
        requests.iter().filter(|request| request.issued <= time && time < request.done).count()
            as u64
    };
    let sum: f64 = moments.windows(2).map(|two| at(two[0]) as f64 * (two[1] - two[0]) as f64).sum();
    (sum / (end - begin).max(1) as f64, moments.iter().map(|time| at(*time)).max().unwrap_or(0))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn digests_agree_with_a_direct_calculation(requests in requests()) {
        let mut starts: Vec<u64> = requests.iter().map(|request| request.issued).collect();
        starts.sort_unstable();
        starts.dedup();
        // Two events at the same time have no order that both calculations must agree on.
        prop_assume!(starts.len() == requests.len());
        let entries = events(&requests);
        let figures = digest(&entries).figures;
        let (begin, end) = (entries[0].time_ns, entries[entries.len() - 1].time_ns);
        prop_assert_eq!(figures.span_ns, end - begin);
        prop_assert_eq!(figures.events, entries.len() as u64);
        let requests_of = |operation: Operation| {
            requests.iter().filter(move |request| request.operation == operation)
        };
        let kinds = [(Operation::Read, &figures.reads), (Operation::Write, &figures.writes)];
        for (operation, reported) in kinds {
            prop_assert_eq!(reported.requests, requests_of(operation).count() as u64);
            let bytes = requests_of(operation).map(|request| u64::from(request.sectors) * 512);
            let bytes: u64 = bytes.sum();
            prop_assert_eq!(reported.bytes, bytes);
            for (latency, from) in [
                (&reported.issue_to_complete, (|r: &Request| r.issued) as fn(&Request) -> u64),
                (&reported.queue_to_complete, |r: &Request| r.queued),
            ] {
                let mut times: Vec<u64> =
                    requests_of(operation).map(|request| request.done - from(request)).collect();
                times.sort_unstable();
                prop_assert_eq!(latency.samples, times.len() as u64);
                if times.is_empty() { continue; }
                for (share, reported) in [(0.5, latency.p50_ns), (0.99, latency.p99_ns)] {
                    let place = ((times.len() as f64 * share).ceil() as usize).max(1) - 1;
                    let exact = times[place] as f64;
                    prop_assert!((reported as f64 - exact).abs() <= exact * 0.01 + 1.0);
                }
            }
        }
        let (seeks, distance, sequential, blocks, following) = order(&requests);
        prop_assert_eq!(figures.ordered_by, RequestOrder::Issue);
        prop_assert_eq!((figures.seeks, figures.seek_bytes), (seeks, distance));
        prop_assert_eq!(figures.sequential, sequential);
        prop_assert_eq!((figures.blocks, figures.following), (blocks, following));
        let (mean, most) = depth(&requests, begin, end);
        prop_assert!((figures.depth_mean - mean).abs() < 1e-6 + mean * 1e-9);
        prop_assert!(figures.depth_max >= most && figures.depth_max <= most + 1);
        let by_device: u64 = figures.devices.iter().map(|device| device.seeks).sum();
        prop_assert_eq!(by_device, seeks);
    }

    #[test]
    fn timeline_totals_equal_the_digest(requests in requests()) {
        let digest = digest(&events(&requests));
        let slots = &digest.timeline.slots;
        let sum = |of: fn(&treering_trace::TimeSlot) -> u64| slots.iter().map(of).sum::<u64>();
        let figures = &digest.figures;
        prop_assert_eq!(sum(|slot| slot.reads), figures.reads.requests);
        prop_assert_eq!(sum(|slot| slot.write_bytes), figures.writes.bytes);
        prop_assert_eq!(sum(|slot| slot.seeks), figures.seeks);
        let depth = sum(|slot| slot.depth_ns) as f64 / figures.span_ns.max(1) as f64;
        prop_assert!((depth - figures.depth_mean).abs() < 1e-6 + depth * 1e-9);
    }

    #[test]
    fn phase_digests_add_up_to_the_whole(requests in requests(), cut in 0.0f64..1.0) {
        let entries = events(&requests);
        let place = (entries.len() as f64 * cut) as usize;
        let mut analyst = TraceAnalyzer::new(entries[0].time_ns);
        entries[..place].iter().for_each(|event| analyst.event(event));
        let at = entries[place.saturating_sub(1)].time_ns;
        let first = analyst.cut(at).figures;
        entries[place..].iter().for_each(|event| analyst.event(event));
        let second = analyst.cut(entries[entries.len() - 1].time_ns).figures;
        let whole = digest(&entries).figures;
        let requests = |figures: &treering_trace::TraceFigures| {
            (figures.reads.requests, figures.reads.issue_to_complete.samples,
             figures.writes.queue_to_complete.samples, figures.writes.bytes)
        };
        let (a, b) = (requests(&first), requests(&second));
        prop_assert_eq!((a.0 + b.0, a.1 + b.1, a.2 + b.2, a.3 + b.3), requests(&whole));
        if first.events == 0 || first.ordered_by == whole.ordered_by {
            prop_assert_eq!(first.seeks + second.seeks, whole.seeks);
        }
    }
}

#[test]
fn a_handmade_trace_gives_the_expected_figures() {
    let device = DeviceNumber::new(8, 1);
    let ms = 1_000_000;
    let read = |number: u64, sector: u64, sectors: u32| Request {
        queued: number * 10 * ms,
        issued: number * 10 * ms + ms,
        done: number * 10 * ms + 5 * ms,
        sector,
        sectors,
        operation: Operation::Read,
        device,
    };
    // Two in a row, one 128 sectors further (no seek), one far behind 2^33 (a seek), one back.
    let far = (1u64 << 33) + 1;
    let requests = [
        read(0, 0, 64),
        read(1, 64, 64),
        read(2, 256, 64),
        read(3, far, 64),
        read(4, far + 64 + 129, 8),
    ];
    let device = TraceEntry::Device(TraceDevice {
        number: device,
        name: "sda1".to_owned(),
        sectors: 1 << 34,
    });
    let mut entries = std::iter::once(device)
        .chain([TraceEntry::Phase { time_ns: 0, name: "read".to_owned() }])
        .chain(events(&requests).into_iter().map(TraceEntry::Event))
        .chain([TraceEntry::Phase { time_ns: 100 * ms, name: String::new() }]);
    let summary = summarise(TraceWindow::default(), || Ok(entries.next())).unwrap();
    assert_eq!(summary.phases.len(), 1);
    let figures = &summary.phases[0].1.figures;
    assert_eq!(figures.span_ns, 100 * ms);
    assert_eq!((figures.seeks, figures.sequential), (2, 1));
    assert_eq!(figures.seek_bytes, (far - 320 + 129) * 512);
    // 33 blocks: all but the first of each request follow their predecessor, and so does the first
    // of the second.
    assert_eq!((figures.blocks, figures.following), (33, 29));
    assert!((figures.layout_score().unwrap() - 29.0 / 32.0).abs() < 1e-12);
    assert!((figures.depth_mean - 0.2).abs() < 1e-12);
    assert_eq!(figures.devices[0].name, "sda1");
    let metrics = figures.metrics(&Scope::Phase("read".to_owned()));
    let value = |name: &str| metrics.iter().find(|metric| metric.name == name).unwrap();
    assert_eq!(value("trace_seeks").value, 2.0);
    assert_eq!(value("trace_requests_per_second").value, 50.0);
    assert_eq!(value("trace_read_mib_per_second").unit, Unit::MibPerSecond);
    assert!(
        (value("trace_read_mib_per_second").value - 264.0 * 512.0 / 1_048_576.0 * 10.0).abs()
            < 1e-9
    );
    let p50 = value("trace_read_issue_to_complete_p50_ns").value;
    assert!((p50 / 4e6 - 1.0).abs() < 0.01, "{p50}");
    // The map marks every request at its position, and nothing else.
    let map = &summary.whole.maps[0];
    let marks: Vec<_> = map.marks(&map.reads).collect();
    assert!(map.row_sectors * map.rows >= far && map.first_sector == 0);
    assert_eq!(marks.len(), 5);
}

#[test]
fn a_window_excludes_events_outside_it() {
    let far = 1u64 << 30;
    let requests: Vec<Request> = (0..100)
        .map(|number| Request {
            queued: number * 1000,
            issued: number * 1000 + 100,
            done: number * 1000 + 500,
            sector: if number % 2 == 0 { number * 8 } else { far + number * 8 },
            sectors: 8,
            operation: Operation::Write,
            device: DeviceNumber::new(7, 0),
        })
        .collect();
    let entries = events(&requests);
    let within = |window: TraceWindow| {
        let mut entries = entries.iter().map(|event| TraceEntry::Event(*event));
        summarise(window, || Ok(entries.next())).unwrap().whole.figures
    };
    let near = within(TraceWindow { offsets: Some((0, far * 512)), times_ns: None });
    assert_eq!((near.writes.requests, near.seeks), (50, 0));
    let early = within(TraceWindow { times_ns: Some((0, 50_000)), offsets: None });
    assert_eq!((early.writes.requests, early.seeks), (50, 49));
}

#[test]
fn requests_are_clipped_to_the_window_and_times_start_with_it() {
    let long = Request {
        queued: 10_000,
        issued: 10_100,
        done: 10_500,
        sector: 0,
        sectors: 1024,
        operation: Operation::Write,
        device: DeviceNumber::new(7, 0),
    };
    let entries = events(&[long]);
    let within = |offsets: (u64, u64)| {
        let mut entries = entries.iter().map(|event| TraceEntry::Event(*event));
        let window = TraceWindow { offsets: Some(offsets), times_ns: Some((0, 90_000)) };
        summarise(window, || Ok(entries.next())).unwrap()
    };
    for offsets in [(128 << 10, 256 << 10), (0, 256 << 10), (256 << 10, u64::MAX)] {
        let summary = within(offsets);
        let map = &summary.whole.maps[0];
        let last = (offsets.1 / 512).min(1024);
        assert_eq!(
            (map.first_sector, map.rows * map.row_sectors),
            (offsets.0 / 512, last - offsets.0 / 512)
        );
        assert_eq!((summary.whole.figures.writes.requests, summary.from_ns), (1, 0));
    }
    assert!(within((512 << 10, 1 << 20)).whole.maps.is_empty(), "it ends where the window begins");
}

/// Ten writes of 8 sectors, one after the other, each queued, issued and completed 100 ns apart.
fn ten() -> Vec<Request> {
    let numbered = |number: u64| Request {
        queued: number * 1000,
        issued: number * 1000 + 100,
        done: number * 1000 + 200,
        sector: number * 8,
        sectors: 8,
        operation: Operation::Write,
        device: DeviceNumber::new(7, 0),
    };
    (0..10).map(numbered).collect()
}

#[test]
fn a_trace_without_completions_is_counted_by_its_best_event_kind() {
    let with = |actions: &[Action]| {
        let mut entries = events(&ten());
        entries.retain(|event| actions.contains(&event.action));
        digest(&entries)
    };
    let cases = [
        (&[Action::Issue][..], CountingEvent::Issue),
        (&[Action::Queue], CountingEvent::Queue),
        (&[Action::Queue, Action::Issue], CountingEvent::Issue),
        (&[Action::Complete], CountingEvent::Complete),
        (&[Action::Queue, Action::Issue, Action::Complete], CountingEvent::Complete),
    ];
    for (actions, by) in cases {
        let TraceDigest { figures, timeline, maps, .. } = with(actions);
        assert_eq!(figures.counted_by, by, "{actions:?}");
        assert_eq!((figures.writes.requests, figures.writes.bytes), (10, 40_960), "{actions:?}");
        assert_eq!((figures.seeks, figures.sequential), (0, 9), "{actions:?}");
        assert_eq!(figures.devices[0].requests, 10, "{actions:?}");
        assert_eq!(timeline.slots.iter().map(|slot| slot.writes).sum::<u64>(), 10, "{actions:?}");
        assert_eq!(maps.len(), 1, "{actions:?}");
        let is_whole = by == CountingEvent::Complete && actions.len() > 1;
        assert_eq!(figures.depth_max > 0, is_whole, "what never ends is no queue: {actions:?}");
    }
}

#[test]
fn bio_devices_take_depth_and_latency_from_queue_events() {
    let mut entries = events(&ten());
    entries.retain(|event| event.action != Action::Issue);
    let TraceDigest { figures, latency, timeline, .. } = digest(&entries);
    assert_eq!((figures.writes.requests, figures.counted_by), (10, CountingEvent::Complete));
    assert_eq!(figures.writes.queue_to_complete.samples, 10);
    assert_eq!((figures.writes.issue_to_complete.samples, figures.depth_max), (0, 1));
    // The device is recognised as bio-based only at the completion of the first request.
    assert!((figures.depth_mean - 9.0 * 200.0 / 9200.0).abs() < 1e-9, "{}", figures.depth_mean);
    assert_eq!(latency.bins[0].samples, 10);
    assert_eq!((latency.bins[0].max_ns, timeline.slots[0].latency_ns_max), (200, 200));
}

#[test]
fn zeroing_writes_move_no_data() {
    let mut requests = ten();
    requests[3].operation = Operation::WriteZeroes;
    requests[4].operation = Operation::Discard;
    let mut figures = digest(&events(&requests)).figures;
    assert_eq!((figures.writes.requests, figures.discards.requests), (9, 1));
    assert_eq!((figures.write_zeroes, figures.write_zeroes_bytes), (1, 4096));
    figures.program_write_bytes = Some(8 * 4096);
    assert_eq!(figures.write_amplification(), Some(1.0));
    figures.missing_bytes = 4096;
    assert_eq!(figures.write_amplification(), None, "it would be too small");
}

#[test]
fn a_request_that_the_device_returned_counts_once() {
    let [first, second] = [(0, 1000), (64, 2000)].map(|(sector, issued)| Request {
        queued: issued - 500,
        issued,
        done: issued + 700,
        sector,
        sectors: 64,
        operation: Operation::Read,
        device: DeviceNumber::new(7, 0),
    });
    let returned = [
        // The driver returned this one before it took it: there is no earlier issue.
        first.event(Action::Requeue, 900),
        first.event(Action::Issue, 1000),
        first.event(Action::Requeue, 1100),
        first.event(Action::Issue, 1200),
        first.event(Action::Complete, 1700),
        second.event(Action::Issue, 2000),
        second.event(Action::Requeue, 2100),
        second.event(Action::Issue, 2200),
        second.event(Action::Complete, 2700),
    ];
    let figures = digest(&returned).figures;
    assert_eq!((figures.reads.requests, figures.requeues), (2, 3));
    assert_eq!((figures.seeks, figures.sequential), (0, 1));
    // The device had it from its last issue: for 500 ns, not 700.
    assert!((499.0..510.0).contains(&figures.reads.issue_to_complete.mean_ns));
    let mut replay = DiskReplay::new(&ModelledDisk::named("hdd-7200").unwrap());
    returned.iter().for_each(|event| replay.entry(&TraceEntry::Event(*event)));
    assert_eq!(replay.end()[0].requests, 2);
    // Without completions the issues count, each request once.
    let issued: Vec<RequestEvent> =
        returned.into_iter().filter(|event| event.action != Action::Complete).collect();
    assert_eq!(digest(&issued).figures.reads.requests, 2);
}

#[test]
fn a_stored_trace_gives_the_figures_of_the_recording() {
    let mut entries = vec![TraceEntry::note(TraceEntry::BEGIN_NS, 0)];
    let mut requests = ten();
    requests.iter_mut().for_each(|request| {
        (request.queued, request.issued, request.done) =
            (request.queued + 5000, request.issued + 5000, request.done + 5000);
    });
    entries.extend(events(&requests).into_iter().map(TraceEntry::Event));
    let mut recorded = TraceAnalyzer::new(0);
    entries.iter().for_each(|entry| recorded.entry(entry));
    let mut recorded = recorded.end(50_000);
    recorded.figures.program_write_bytes = Some(40_960);
    recorded.figures.missing_bytes = 512;
    entries.extend([
        TraceEntry::note(TraceEntry::END_NS, 50_000),
        TraceEntry::note(TraceEntry::PROGRAM_WRITE_BYTES, 40_960),
        TraceEntry::note(TraceEntry::MISSING_BYTES, 512),
        TraceEntry::note("what a later version tells", 1),
    ]);
    let within = |window: TraceWindow| {
        let mut entries = entries.iter().cloned();
        summarise(window, || Ok(entries.next())).unwrap().whole
    };
    assert_eq!(within(TraceWindow::default()), recorded);
    assert_eq!(recorded.figures.span_ns, 50_000);
    // Notes about the whole recording do not belong to a window.
    let part = within(TraceWindow { times_ns: Some((0, 9000)), offsets: None }).figures;
    assert_eq!((part.program_write_bytes, part.missing_bytes, part.span_ns), (None, 0, 9000));
}
