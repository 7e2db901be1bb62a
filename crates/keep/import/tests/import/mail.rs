//! The published report of 2012, which is no part of the project: two kernels and four tools in
//! one mail.

use treering_import::{Content, ForeignTrial, import};
use treering_model::CautionCode;
use treering_testkit::{shared, skip};

#[test]
fn the_published_mail_holds_six_outputs() {
    let Some(path) = shared("seeds/001_26b0cef4a741bd4e.txt") else {
        skip("the published mail is not here");
        return;
    };
    let imported = import(&std::fs::read(path).unwrap());
    let tools: Vec<&str> = imported.found.iter().map(|found| found.tool).collect();
    assert_eq!(tools, ["fs_mark", "fs_mark", "ffsb", "ffsb", "compilebench", "compilebench"]);
    let trial = |place: usize| -> &ForeignTrial {
        match &imported.found[place].content {
            Content::Foreign(trial) => trial,
            Content::Own(_) => panic!("an own trial"),
        }
    };
    for place in [0, 1] {
        assert_eq!(trial(place).phases.len(), 30);
        assert_eq!(trial(place).target.split(' ').count(), 8);
    }
    // What the shares of operations come to: published nowhere, and few.
    let operations = |place: usize| {
        let named = |metric: &&treering_model::Metric| metric.name == "operations";
        trial(place).metrics.iter().find(named).unwrap().value
    };
    assert_eq!((operations(2), operations(3)), (38.0, 73.0));
    for place in [2, 3] {
        assert_eq!(trial(place).cautions[0].code, CautionCode::TooFewOperations);
    }
    for place in [4, 5] {
        assert_eq!(trial(place).tasks.len(), 133);
        assert!(!trial(place).is_interrupted);
    }
    // The summary agrees with the lines; only blktrace spoke between them.
    let remarks: Vec<usize> = imported.remarks.iter().map(|remark| remark.line).collect();
    assert_eq!(remarks, [722, 877], "{:?}", imported.remarks);
}
