//! Faults point at the options in the plan that a rehearsal refuses.

use std::cell::RefCell;

use treering_conduct::plan::document::{Known, read};
use treering_lab::{DeviceError, RefusedPart, RehearsalError};
use treering_model::Variant;

const PLAN: &str = r#"
[device]
loop = "1GiB"

[[variant]]
name = "plain"
filesystem = "ext4"

[[variant]]
name = "plain again"
filesystem = "ext4"

[[variant]]
name = "other"
filesystem = "ext4"
mkfs = "-O nonsense"
mount = ["noatime", "nonsense=1"]
sysctl = { "vm.swappiness" = 1, "vm.nonsense" = 1 }
"#;

/// Message for a plan whose last variant is refused for this part, and the number of variants that
/// were tried.
fn refused(part: Option<RefusedPart>, why: &str) -> (String, usize) {
    let tried = RefCell::new(0);
    let rehearsal = |variant: &Variant| {
        *tried.borrow_mut() += 1;
        let error = Box::new(DeviceError::Unfit(why.to_owned()).into());
        let refused = Err(RehearsalError { part: part.clone(), error });
        if variant.mkfs.is_empty() { Ok(()) } else { refused }
    };
    let known = Known {
        workloads: treering_registry::workloads(),
        filesystems: &["ext4"],
        rehearsal: Some(&rehearsal),
        ..Known::default()
    };
    let error = read(PLAN, "plan.toml", &known).unwrap_err();
    let count = *tried.borrow();
    (error.to_string(), count)
}

#[test]
fn refused_parts_are_located_and_equal_variants_are_tried_once() {
    for (part, why, place) in [
        (Some(RefusedPart::Mkfs), "Invalid filesystem option set: nonsense", "plan.toml:16:8"),
        (Some(RefusedPart::Mount), "ext4: Unknown parameter 'nonsense'", "plan.toml:17:21"),
        (Some(RefusedPart::Mount), "Invalid argument", "plan.toml:17:9"),
        (Some(RefusedPart::Sysctl("vm.nonsense".to_owned())), "no such setting", "plan.toml:18:33"),
        (None, "still in use", "plan.toml:14:8"),
    ] {
        let (message, tried) = refused(part, why);
        assert!(message.contains(why) && message.contains(place), "{message}");
        assert_eq!(tried, 2, "two of three are equal but for their names");
    }
}
