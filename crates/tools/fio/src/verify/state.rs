//! State file that the original leaves for a clone with verifiable writes
//! (`local-JOB-N-verify.state`): the last write that a later run would verify.

use super::sums::crc32c;

const VERSION: u64 = 3;
const NAME_BYTES: usize = 64;
/// Length of the generator's state, which is not reported: 0.
const GENERATOR_BYTES: usize = 56;
/// Length of the file number and offset of a last completed write, of which none are reported.
const WRITE_BYTES: u64 = 16;

/// File name of the state of the clone with this number among all, from 0.
pub(crate) fn state_name(job: &str, number: usize) -> String {
    format!("local-{}-{number}-verify.state", job.replace('/', "."))
}

/// File content of the state: the job's name, the clone's number, the depth of its queue, its files
/// and how many writes it has made.
pub(crate) fn state(job: &str, number: usize, [depth, files, writes]: [u64; 3]) -> Vec<u8> {
    let word = |number: u64| u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes();
    let mut body = 0_u64.to_le_bytes().to_vec();
    body.extend(word(depth));
    body.extend(word(files));
    body.extend(writes.to_le_bytes());
    body.extend((number as u64).to_le_bytes());
    body.extend([0; GENERATOR_BYTES]);
    let mut name = [0; NAME_BYTES];
    name.iter_mut().zip(job.bytes().take(NAME_BYTES - 1)).for_each(|(to, from)| *to = from);
    body.extend(name);
    let room = depth.saturating_mul(files).saturating_mul(WRITE_BYTES);
    body.resize(body.len() + usize::try_from(room).unwrap_or(0), 0);
    let mut state = Vec::new();
    for number in [VERSION, body.len() as u64, u64::from(crc32c(&body))] {
        state.extend(number.to_le_bytes());
    }
    state.extend(body);
    state
}

#[cfg(test)]
mod tests {
    use super::{state, state_name};

    #[test]
    fn state_file_reserves_space_for_the_last_writes() {
        assert_eq!(state_name("a/b", 2), "local-a.b-2-verify.state");
        assert_eq!(state("a", 0, [1, 1, 256]).len(), 192);
        assert_eq!(state("a", 0, [16, 1, 256]).len(), 432);
        assert_eq!(state("a", 0, [1, 5, 256])[..8], 3_u64.to_le_bytes());
    }
}
