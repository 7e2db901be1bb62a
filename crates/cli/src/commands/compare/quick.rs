//! Options of a quick plan, from the arguments of `treering compare`.

use treering_conduct::plan::{QUICK_OPTIONS, QuickOptions, QuickStopping};
use treering_model::nearest::suggestion;

use crate::arguments::{QuickArgs, metric_names, percentage, settings_of_words, size};
use crate::commands::workload;
use crate::failure::Failure;

/// Reads the options of a quick plan, without its kernels.
pub(super) fn options(args: &QuickArgs) -> Result<QuickOptions, Failure> {
    let workload = workload(&args.workload).ok_or_else(|| {
        let known: Vec<&str> =
            treering_registry::workloads().iter().map(|one| one.manifest().name).collect();
        let message = format!("--workload: there is no workload '{}'", args.workload);
        Failure::usage(message).hint(suggestion(&args.workload, &known, "workloads"))
    })?;
    let words = match args.options.as_slice() {
        [] if args.workload == "compilebench" => {
            QUICK_OPTIONS.map(|(name, value)| format!("--{name}={value}")).to_vec()
        }
        given => given.to_vec(),
    };
    let percentage_of = |name, text: &Option<String>| {
        text.as_deref().map(|text| percentage(name, text)).transpose()
    };
    Ok(QuickOptions {
        name: args.name.clone(),
        workload,
        settings: settings_of_words(workload.manifest().native, &words)?,
        filesystems: args.filesystems.clone(),
        directories: args.directories.clone(),
        kernels: Vec::new(),
        machine: args.machine,
        devices: args.device.clone(),
        image_bytes: args.size.as_deref().map(|text| size("--size", text)).transpose()?,
        images: args.images.clone(),
        disk: args.disk.clone(),
        mount: args.mount.clone(),
        primary: metric_names(&args.primary),
        threshold: percentage_of("--threshold", &args.threshold)?,
        stopping: match (percentage_of("--precision", &args.precision)?, args.rounds) {
            _ if args.sequential => QuickStopping::Sequential,
            (Some(half_width), _) => {
                QuickStopping::Precision { half_width, most_rounds: args.most_rounds.into() }
            }
            (None, Some(rounds)) => QuickStopping::Rounds(rounds.into()),
            (None, None) => QuickStopping::Minutes(args.minutes),
        },
        seed: args.seed,
        warm_up: !args.no_warm_up,
        control: args.control,
        current_dir: std::env::current_dir(),
    })
}
