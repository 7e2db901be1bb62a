//! Settings of buffer contents and verification.

use treering_kit::faults::Fault;

use super::super::pattern::Pattern;
use super::super::section::Section;
use super::super::values::RawValue;
use super::super::verifying::VerifyKind;

const COUNT_MAX: u64 = u32::MAX as u64;

impl Section {
    pub(super) fn apply_verify(&mut self, name: &str, given: &RawValue<'_>) -> Result<bool, Fault> {
        let verify = &mut self.extras.verify;
        match name {
            "verify" => {
                let kinds = VerifyKind::NAMES.map(|(name, kind)| (name, Some(kind)));
                let none = [("0", None), ("none", None)];
                verify.kind = given.word(&[&none[..], &kinds[..]].concat())?;
            }
            "do_verify" => verify.reads_again = given.switch()?,
            "verify_only" => verify.only = given.switch()?,
            "verify_interval" => verify.interval = given.size()?,
            "verify_offset" => verify.offset = given.size()?,
            "verify_pattern" => {
                verify.pattern = Some(pattern(given)?);
                // As in the original, a pattern without a kind implies one.
                verify.kind = verify.kind.or(Some(VerifyKind::PatternHeader));
            }
            "verify_fatal" => verify.fatal = given.switch()?,
            "verify_state_save" => verify.saves_state = given.switch()?,
            "verify_dump" => verify.dump = given.switch()?,
            "verify_backlog" => verify.backlog = given.size()?,
            "verify_backlog_batch" => verify.batch = given.number(0, COUNT_MAX)?,
            // The result does not depend on which thread verifies, nor in which order.
            "verify_async" => given.number(0, COUNT_MAX).map(|_| ())?,
            "verify_async_cpus" => {}
            "verifysort" => given.number(0, COUNT_MAX).map(|_| ())?,
            "trim_percentage" => verify.trimmed_percent = given.number(0, 100)?,
            "trim_backlog" => verify.trim_backlog = given.size()?,
            "trim_backlog_batch" => given.number(0, COUNT_MAX).map(|_| ())?,
            "trim_verify_zero" => given.switch().map(|_| ())?,
            "experimental_verify" => given.switch().map(|_| ())?,
            "buffer_pattern" => self.extras.buffer_pattern = Some(pattern(given)?),
            "buffer_compress_percentage" => self.extras.content.zeros = given.number(0, 100)?,
            "buffer_compress_chunk" => self.extras.content.part = given.size()?,
            "dedupe_percentage" => self.extras.content.alike = given.number(0, 100)?,
            "dedupe_mode" => {
                let among = given.word(&[("repeat", 0), ("working_set", 5)])?;
                self.extras.content.among = among.max(self.extras.content.among);
            }
            "dedupe_working_set_percentage" => self.extras.content.among = given.number(1, 100)?,
            // Clones draw from their own seeds.
            "dedupe_global" => given.switch().map(|_| ())?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn pattern(given: &RawValue<'_>) -> Result<Pattern, Fault> {
    let right = "a pattern is of numbers, texts in quotes and %o, as 0xdeadface or \"abc\"";
    Pattern::read(given.text).ok_or_else(|| given.refuse("is no pattern", right))
}
