//! `/proc/pressure`: time in which tasks of the machine waited for a resource. Absent where the
//! kernel does not account it.

use treering_model::Unit;
use treering_model::metrics::MetricSpec;
use treering_model::metrics::kernel::{
    CPU_PRESSURE_SECONDS, IO_PRESSURE_SECONDS, MEMORY_PRESSURE_SECONDS,
};

use super::super::reading::Reading;
use super::super::scene::CounterScene;
use super::CounterSource;
use crate::places::KernelRoots;

/// Resources with the metric of their `some` line.
const RESOURCES: [(&str, MetricSpec); 3] = [
    ("cpu", CPU_PRESSURE_SECONDS),
    ("io", IO_PRESSURE_SECONDS),
    ("memory", MEMORY_PRESSURE_SECONDS),
];
const MICROSECOND_NS: u64 = 1000;

struct Pressure(KernelRoots);

/// Opens the files.
pub(super) fn open(scene: &CounterScene) -> Option<Box<dyn CounterSource>> {
    scene.roots.proc("pressure/io")?;
    Some(Box::new(Pressure(scene.roots.clone())))
}

impl CounterSource for Pressure {
    fn read(&mut self) -> Vec<Reading> {
        let of_resource = |&(resource, spec): &(&str, MetricSpec)| {
            let file = format!("pressure/{resource}");
            values(&self.0.proc(&file).unwrap_or_default(), resource, spec)
        };
        RESOURCES.iter().flat_map(of_resource).collect()
    }
}

fn values(text: &str, resource: &str, spec: MetricSpec) -> Vec<Reading> {
    let source = format!("/proc/pressure/{resource}");
    let reading = |line: &str| {
        let (word, _) = line.split_once(' ')?;
        let total = line.split(' ').find_map(|word| word.strip_prefix("total="))?;
        let total_ns = total.parse::<u64>().ok()?.saturating_mul(MICROSECOND_NS);
        let name = format!("pressure.{resource}.{word}");
        let reading = Reading::counter(name, &source, Unit::Nanoseconds, total_ns);
        Some(if word == "some" { reading.promoted(spec) } else { reading })
    };
    text.lines().filter_map(reading).collect()
}

#[cfg(test)]
mod tests {
    use super::{IO_PRESSURE_SECONDS, values};

    #[test]
    fn totals_are_microseconds() {
        let text = "some avg10=0.36 avg60=0.13 avg300=6.08 total=42\n\
                    full avg10=0.00 avg60=0.01 avg300=0.55 total=7\n";
        let readings = values(text, "io", IO_PRESSURE_SECONDS);
        assert_eq!((readings[0].value, readings[1].value), (42_000, 7_000));
        assert!(readings[0].metric.is_some() && readings[1].metric.is_none());
    }
}
