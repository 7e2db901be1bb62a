//! On-disk record of a campaign across boots: plan, campaign, requested kernel, and the boot that
//! reached it. Results are in the store.

use std::str::FromStr;

use treering_model::TrialId;

use super::loader::BootLoader;
use crate::PlanIdentity;

/// First line of a record.
const HEADER: &str = "treering reboot 1";

/// Record of a campaign across boots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RebootRecord {
    /// Name and digest of the plan.
    pub plan: PlanIdentity,
    /// Campaign, as the ID of its first trial.
    pub campaign: TrialId,
    /// Boot loader in use.
    pub loader: BootLoader,
    /// Last requested boot; `None` before the first.
    pub request: Option<BootRequest>,
}

/// A requested boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootRequest {
    /// Release of the kernel.
    pub release: String,
    /// Identifier of the boot in which the request was made.
    pub from: String,
    /// True once the boot loader has accepted the request.
    pub is_set: bool,
    /// Identifier of the boot with the requested kernel; `None` until it has come up.
    pub reached: Option<String>,
}

impl RebootRecord {
    pub(super) fn to_text(&self) -> String {
        let mut lines = vec![
            HEADER.to_owned(),
            format!("plan {}", self.plan.to_text()),
            format!("campaign {}", self.campaign.text()),
            format!("loader {}", self.loader.name()),
        ];
        if let Some(request) = &self.request {
            let word = if request.is_set { "asked" } else { "asking" };
            lines.push(format!("{word} {} {}", request.from, request.release));
            lines.extend(request.reached.as_ref().map(|boot| format!("reached {boot}")));
        }
        lines.push("end\n".to_owned());
        lines.join("\n")
    }

    /// Parses a record; the error is the reason why it is invalid.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let mut lines = text.lines();
        if lines.next() != Some(HEADER) {
            return Err("it does not begin as a record of this version");
        }
        let (mut plan, mut campaign, mut loader, mut request) = (None, None, None, None);
        for line in lines {
            if line == "end" {
                let (Some(plan), Some(campaign), Some(loader)) = (plan, campaign, loader) else {
                    return Err("plan, campaign or loader is missing");
                };
                return Ok(Self { plan, campaign, loader, request });
            }
            let (key, value) = line.split_once(' ').ok_or("a line has no value")?;
            match key {
                "plan" => plan = PlanIdentity::parse(value),
                "campaign" => campaign = TrialId::from_str(value).ok(),
                "loader" => loader = BootLoader::named(value),
                "asked" | "asking" => {
                    let (from, release) = value.split_once(' ').ok_or("a boot has no kernel")?;
                    request = Some(BootRequest {
                        release: release.to_owned(),
                        from: from.to_owned(),
                        is_set: key == "asked",
                        reached: None,
                    });
                }
                "reached" => match &mut request {
                    Some(request) => request.reached = Some(value.to_owned()),
                    None => return Err("a boot was reached and never asked for"),
                },
                _ => return Err("a line is unknown"),
            }
        }
        Err("its end is missing")
    }
}

#[cfg(test)]
mod tests {
    use super::{BootRequest, RebootRecord};
    use crate::PlanIdentity;
    use crate::reboot::BootLoader;
    use treering_model::TrialId;

    #[test]
    fn reboot_records_round_trip_and_truncated_ones_are_rejected() {
        let plan = PlanIdentity { name: "two\nlines".to_owned(), digest: "9f3c".to_owned() };
        let boot = |reached: Option<&str>, is_set| BootRequest {
            release: "6.1.0-47-amd64".to_owned(),
            from: "0ff1".to_owned(),
            is_set,
            reached: reached.map(str::to_owned),
        };
        for request in
            [None, Some(boot(None, false)), Some(boot(None, true)), Some(boot(Some("b"), true))]
        {
            let (campaign, loader) = (TrialId::new(), BootLoader::Grub);
            let record = RebootRecord { plan: plan.clone(), campaign, loader, request };
            let text = record.to_text();
            assert_eq!(RebootRecord::parse(&text), Ok(record));
            for end in (0..text.len() - 1).filter(|&end| text.is_char_boundary(end)) {
                assert!(RebootRecord::parse(&text[..end]).is_err(), "{}", &text[..end]);
            }
        }
    }
}
