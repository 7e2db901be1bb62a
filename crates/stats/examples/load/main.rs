//! Coverage of the load search: the share of searches whose interval contains the rate at which a
//! simulated server just keeps the latency limit in the long run. Prints the table of
//! docs/evidence/load.md.
#![expect(clippy::disallowed_macros, reason = "an example prints its tables")]

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use treering_stats::{LoadAnswer, LoadProbe, LoadSearch, LoadTerms};

const SEARCHES: u32 = 200;
/// Duration of a probe and of the warm-up before it, in seconds.
const PROBE: f64 = 3.0;
const WARM_UP: f64 = 1.0;
/// Number of simulated requests that determine the long-run share of late ones.
const LONG: usize = 8_000_000;
/// Consecutive requests per part.
const PART: usize = 200_000;

/// Distribution of service times, with a mean of one millisecond.
#[derive(Clone, Copy)]
enum Service {
    Constant,
    /// Log-normal; the logarithms have this standard deviation.
    Lognormal(f64),
}

fn unit(source: &mut Xoshiro256PlusPlus) -> f64 {
    ((source.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

impl Service {
    fn seconds(self, source: &mut Xoshiro256PlusPlus) -> f64 {
        match self {
            Self::Constant => 1e-3,
            Self::Lognormal(sigma) => {
                let radius = (-2.0 * unit(source).ln()).sqrt();
                let normal = radius * (std::f64::consts::TAU * unit(source)).cos();
                1e-3 * (sigma * normal - sigma * sigma / 2.0).exp()
            }
        }
    }
}

/// Arrival times and latencies of Poisson arrivals at a queue with `servers` servers, first come,
/// first served.
fn latencies(
    (service, servers): (Service, usize),
    rate: f64,
    mut continues: impl FnMut(usize, f64) -> bool,
    source: &mut Xoshiro256PlusPlus,
) -> Vec<(f64, f64)> {
    let mut free = vec![0.0_f64; servers];
    let (mut at, mut requests) = (0.0, Vec::new());
    loop {
        at -= unit(source).ln() / rate;
        if !continues(requests.len(), at) {
            return requests;
        }
        let first = (0..servers).min_by(|a, b| free[*a].total_cmp(&free[*b])).unwrap_or(0);
        let end = free[first].max(at) + service.seconds(source);
        free[first] = end;
        requests.push((at, end - at));
    }
}

/// Share of late requests in the long run.
fn long_run(
    server: (Service, usize),
    (rate, bound): (f64, f64),
    source: &mut Xoshiro256PlusPlus,
) -> f64 {
    let mut late = 0_u32;
    for _ in 0..LONG / PART {
        let part = latencies(server, rate, |count, _| count < PART + PART / 10, source);
        let counted = part.iter().skip(PART / 10);
        late += counted.map(|(_, latency)| u32::from(*latency > bound)).sum::<u32>();
    }
    f64::from(late) / LONG as f64
}

/// Rate at which the long-run share of late requests equals `allowed`, found by bisection.
fn true_rate(server: (Service, usize), bound: f64, allowed: f64) -> f64 {
    let (mut low, mut high) = (0.05 * 1e3 * server.1 as f64, 1e3 * server.1 as f64);
    for _ in 0..12 {
        let middle = f64::midpoint(low, high);
        let mut source = Xoshiro256PlusPlus::seed_from_u64(99);
        let late = long_run(server, (middle, bound), &mut source);
        if late <= allowed { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// Simulates one probe of `treering load`.
fn probe(
    server: (Service, usize),
    (rate, bound): (f64, f64),
    source: &mut Xoshiro256PlusPlus,
) -> LoadProbe {
    // The command probes low rates for longer, too.
    let seconds = PROBE.max(500.0 / rate);
    let mut requests = latencies(server, rate, |_, at| at < WARM_UP + seconds, source);
    requests.retain(|(at, _)| *at >= WARM_UP);
    let late = requests.iter().filter(|(_, latency)| *latency > bound).count();
    LoadProbe { rate, due: requests.len() as f64, late: late as f64 }
}

fn main() {
    println!(
        "| service | at once | p99 within | rate in the long run | in the interval | median error | \
         interval, half | probes |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let servers = [
        (Service::Constant, 1, 0.005, "constant"),
        (Service::Constant, 8, 0.002, "constant"),
        (Service::Lognormal(1.0), 1, 0.02, "lognormal, σ = 1"),
        (Service::Lognormal(1.0), 8, 0.008, "lognormal, σ = 1"),
        (Service::Lognormal(0.3), 32, 0.003, "lognormal, σ = .3"),
    ];
    for (service, count, bound, name) in servers {
        let (server, allowed) = ((service, count), 0.01);
        let true_rate = true_rate(server, bound, allowed);
        let mut source = Xoshiro256PlusPlus::seed_from_u64(1);
        let (mut errors, mut widths, mut held, mut probes) = (Vec::new(), Vec::new(), 0_u32, 0);
        for seed in 0..SEARCHES {
            let terms = LoadTerms {
                lowest: 100.0,
                highest: 1e6,
                allowed,
                precision: 0.1,
                seed: seed.into(),
            };
            let mut search = LoadSearch::new(terms);
            while let Some(rate) = search.next_rate() {
                search.probed(probe(server, (rate, bound), &mut source));
            }
            probes += search.probes();
            let LoadAnswer::At { rate, interval } = search.answer() else { continue };
            held += u32::from(interval.contains(true_rate));
            errors.push((rate / true_rate).ln());
            widths.push((interval.high / interval.low).ln() / 2.0);
        }
        let middle = |values: &mut Vec<f64>| {
            values.sort_by(f64::total_cmp);
            100.0 * values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
        };
        println!(
            "| {name} | {count} | {} ms | {true_rate:.0}/s | {:.0} % | {:+.1} % | {:.1} % | \
             {:.0} |",
            1e3 * bound,
            100.0 * f64::from(held) / f64::from(SEARCHES),
            middle(&mut errors),
            middle(&mut widths),
            probes as f64 / f64::from(SEARCHES)
        );
    }
}
