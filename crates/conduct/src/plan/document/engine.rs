//! Keys of a job for the engine: contents of files, timed calls, hot data. `treering run` has
//! options of the same names and meanings.

use treering_script::{Job, WorkloadManifest};

use super::format::JobTable;
use super::tree::{Optional, Placed};
use super::values::PayloadName;
use crate::plan::error::Fault;
use crate::plan::{HEAT_HALF_LIFE_SECONDS, JobEngine, JobPayload};

/// Engine options of the job of a section.
pub(super) fn engine(section: &JobTable, manifest: &WorkloadManifest) -> Result<JobEngine, Fault> {
    let payload = match section.payload.value().map(|choice| choice.0) {
        Some(PayloadName::Classic) => JobPayload::classic(manifest.classic_payload),
        Some(PayloadName::Random) | None => JobPayload::Random,
    };
    let mut compressibility = 0;
    if let Some(share) = &section.compressibility {
        let percent = share.0 * 100.0;
        let whole = (0..=100_u8).find(|whole| (percent - f64::from(*whole)).abs() < 1e-9);
        compressibility = whole.ok_or_else(|| {
            let message = "`compressibility` is a whole number of percent";
            share.fault(message, "").hint("write for example compressibility = \"30%\"")
        })?;
        if compressibility > 0 && payload != JobPayload::Random {
            let message = "`compressibility` goes with payload = \"random\" only";
            return Err(share.key_fault(message, "").hint("leave one of the two out"));
        }
    }
    let records_heat = section.heat.value().unwrap_or(false);
    if let (Some(half_life), false) = (&section.heat_half_life, records_heat) {
        let message = "`heat-half-life` goes with heat = true only";
        return Err(half_life.key_fault(message, "").hint("write heat = true, or leave it out"));
    }
    let half_life = section.heat_half_life.value().map_or(HEAT_HALF_LIFE_SECONDS, |it| it.0);
    Ok(JobEngine {
        payload,
        compressibility,
        latency: section.latency.value().map(|choice| choice.0).unwrap_or_default(),
        heat_half_life_seconds: records_heat.then_some(half_life),
    })
}

/// Refuses keys that have no effect on a job run by an external program.
pub(super) fn check_external_program(section: &JobTable, job: &dyn Job) -> Result<(), Fault> {
    let keys: [Option<Placed<&str>>; 4] = [
        section.payload.key(),
        section.compressibility.key(),
        section.latency.key(),
        section.heat.key(),
    ];
    let Some(key) = keys.into_iter().flatten().next().filter(|_| job.is_by_program()) else {
        return Ok(());
    };
    let message = format!("`{}` has no effect on the external program", *key);
    Err(key.fault(message, "").hint("leave it out, or run the job natively"))
}
