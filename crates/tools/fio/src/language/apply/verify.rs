//! Settings of buffer contents and verification.

use treering_kit::faults::Fault;

use super::super::pattern::Pattern;
use super::super::section::Section;
use super::super::values::RawValue;
use super::super::verifying::VerifyKind;

const COUNT_MAX: u64 = u32::MAX as u64;

impl Section {
    pub(super) fn apply_verify(&mut self, name: &str, value: &RawValue<'_>) -> Result<bool, Fault> {
        let verify = &mut self.extras.verify;
        match name {
            "verify" => {
                let kinds = VerifyKind::NAMES.map(|(name, kind)| (name, Some(kind)));
                let none = [("0", None), ("none", None)];
                verify.kind = value.word(&[&none[..], &kinds[..]].concat())?;
            }
            "do_verify" => verify.reads_again = value.switch()?,
            "verify_only" => verify.only = value.switch()?,
            "verify_interval" => verify.interval = value.size()?,
            "verify_offset" => verify.offset = value.size()?,
            "verify_pattern" => {
                verify.pattern = Some(pattern(value)?);
                // As in the original, a pattern without a kind implies one.
                verify.kind = verify.kind.or(Some(VerifyKind::PatternHeader));
            }
            "verify_fatal" => verify.fatal = value.switch()?,
            "verify_state_save" => verify.saves_state = value.switch()?,
            "verify_dump" => verify.dump = value.switch()?,
            "verify_backlog" => verify.backlog = value.size()?,
            "verify_backlog_batch" => verify.batch = value.number(0, COUNT_MAX)?,
            // The result does not depend on which thread verifies, nor in which order.
            "verify_async" => value.number(0, COUNT_MAX).map(|_| ())?,
            "verify_async_cpus" => {}
            "verifysort" => value.number(0, COUNT_MAX).map(|_| ())?,
            "trim_percentage" => verify.trimmed_percent = value.number(0, 100)?,
            "trim_backlog" => verify.trim_backlog = value.size()?,
            "trim_backlog_batch" => value.number(0, COUNT_MAX).map(|_| ())?,
            "trim_verify_zero" => value.switch().map(|_| ())?,
            "experimental_verify" => value.switch().map(|_| ())?,
            "buffer_pattern" => self.extras.buffer_pattern = Some(pattern(value)?),
            "buffer_compress_percentage" => self.extras.content.zeros = value.number(0, 100)?,
            "buffer_compress_chunk" => self.extras.content.part = value.size()?,
            "dedupe_percentage" => self.extras.content.alike = value.number(0, 100)?,
            "dedupe_mode" => {
                let among = value.word(&[("repeat", 0), ("working_set", 5)])?;
                self.extras.content.among = among.max(self.extras.content.among);
            }
            "dedupe_working_set_percentage" => self.extras.content.among = value.number(1, 100)?,
            // Clones draw from their own seeds.
            "dedupe_global" => value.switch().map(|_| ())?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn pattern(value: &RawValue<'_>) -> Result<Pattern, Fault> {
    let right = "a pattern is of numbers, texts in quotes and %o, as 0xdeadface or \"abc\"";
    Pattern::read(value.text).ok_or_else(|| value.refuse("is no pattern", right))
}
