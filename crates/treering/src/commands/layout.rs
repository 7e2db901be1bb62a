//! `treering layout`: where files lie on disk, and what is free: of a directory, a device or an
//! image, which are never written to.

use std::io::{IsTerminal, stderr};
use std::ops::ControlFlow;
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};
use treering_lab::{Sight, SightKind};
use treering_observe::layout::{Met, Survey, SurveyError, SurveyPlan, survey};
use treering_report::pages::layout::{View, page, write_json};
use treering_script::with_causes;

use super::output;
use crate::arguments::LayoutArgs;
use crate::failure::{Failure, Kind};

/// Does what was asked for.
pub(crate) fn run(args: &LayoutArgs) -> Result<ExitCode, Failure> {
    let sight = Sight::open(&args.path)?;
    let plan = SurveyPlan {
        sample: args.sample,
        seed: args.seed,
        map: false,
        write_back: !args.no_sync && !matches!(sight.kind(), SightKind::Private { .. }),
    };
    let Survey { layout, .. } = watched(&sight, &plan)?;
    let path = args.path.to_string_lossy();
    let through = through(sight.kind());
    let view = View { path: &path, through: &through };
    if args.output.format.as_deref() == Some("json") {
        output::with_writer(args.output.output.as_deref(), |out| write_json(&layout, &view, out))?;
    } else {
        output::write(&page(&layout, &view), &args.output)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// In words, through what is looked.
fn through(kind: &SightKind) -> String {
    match kind {
        SightKind::Directory => String::new(),
        SightKind::Mounted { point, root } => {
            let part = match root.to_str() {
                Some("/") => String::new(),
                _ => format!(", which shows only {} of it", root.display()),
            };
            format!("its mount at {}{part}", point.display())
        }
        SightKind::Private { fs_type, options } => {
            format!("a mount of treering's own ({fs_type}, {options}): the journal is not replayed")
        }
    }
}

/// The survey, with its progress on a terminal. It can be killed at any time: nothing is left.
fn watched(sight: &Sight, plan: &SurveyPlan) -> Result<Survey, Failure> {
    let bar = stderr().is_terminal().then(|| {
        let bar = ProgressBar::new_spinner();
        let template = "{spinner} {pos} files{msg}  {per_sec}  {elapsed}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar
    });
    let mut news = |met: &Met, total: Option<u64>| {
        if let Some(bar) = &bar {
            bar.set_position(met.files);
            if let (Some(total), None) = (total, bar.length()) {
                bar.set_message(format!(" of {total}"));
                bar.set_length(total);
            }
        }
        ControlFlow::Continue(())
    };
    let surveyed = survey(sight.root(), plan, &mut news);
    if let Some(bar) = &bar {
        bar.finish_and_clear();
    }
    surveyed.map_err(|error| {
        let hint = match &error {
            SurveyError::NoExtents(_) => {
                Some("ext4, xfs, btrfs and f2fs tell; a filesystem in memory has no places")
            }
            SurveyError::Failed(..) | SurveyError::Stopped => None,
        };
        Failure::new(Kind::Environment, with_causes(&error)).maybe_hint(hint)
    })
}
