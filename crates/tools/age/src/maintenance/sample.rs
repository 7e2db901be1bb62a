//! Selection of the files that a run of maintenance works on.

use treering_script::Random;

use crate::generator::OperationGenerator;
use crate::operation::LiveFile;

/// Draws the files of a run of maintenance in the order of their populations, and adds them to the
/// fingerprint. The draw depends on the seed, the profile and the number of operations so far;
/// later operations do not depend on it.
pub(crate) fn take_files(
    generator: &mut OperationGenerator,
    index: usize,
    operations: u64,
) -> Vec<(usize, LiveFile)> {
    let model = generator.model();
    let Some(plan) = model.maintenance.get(index).cloned() else { return Vec::new() };
    let all = 0..model.files.len();
    let part = format!("maintenance {} {}", plan.name, plan.number(operations));
    let mut random = Random::for_part(generator.seed(), &part);
    let mut taken = Vec::new();
    if plan.takes_files() {
        for files in all.filter(|files| plan.files.is_none_or(|only| only == *files)) {
            let standing = generator.standing(files);
            let mut places: Vec<usize> = (0..standing.len()).collect();
            if plan.share < 1.0 {
                random.shuffle(&mut places);
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a share of a length is not above it"
                )]
                places.truncate((standing.len() as f64 * plan.share).ceil() as usize);
                places.sort_unstable();
            }
            taken.extend(places.into_iter().map(|place| (files, standing[place])));
        }
    }
    generator.note_maintenance(index, &taken);
    taken
}
