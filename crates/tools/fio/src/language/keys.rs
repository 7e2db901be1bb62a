//! Keys of job files: those supported, and those known to the original only.

use treering_kit::faults::{Fault, Faults, Place, shown};
use treering_model::nearest::nearest;

/// Supported names, with the canonical key of each.
pub(crate) const KNOWN: &[(&str, &str)] = &[
    ("name", "name"),
    ("description", "description"),
    ("rw", "rw"),
    ("readwrite", "rw"),
    ("rw_sequencer", "rw_sequencer"),
    ("bs", "bs"),
    ("blocksize", "bs"),
    ("bsrange", "bsrange"),
    ("blocksize_range", "bsrange"),
    ("bssplit", "bssplit"),
    ("ba", "ba"),
    ("blockalign", "ba"),
    ("bs_unaligned", "bs_unaligned"),
    ("blocksize_unaligned", "bs_unaligned"),
    ("bs_is_seq_rand", "bs_is_seq_rand"),
    ("size", "size"),
    ("io_size", "io_size"),
    ("io_limit", "io_size"),
    ("filesize", "filesize"),
    ("offset", "offset"),
    ("fileoffset", "offset"),
    ("offset_increment", "offset_increment"),
    ("number_ios", "number_ios"),
    ("nrfiles", "nrfiles"),
    ("nr_files", "nrfiles"),
    ("openfiles", "openfiles"),
    ("file_service_type", "file_service_type"),
    ("directory", "directory"),
    ("filename", "filename"),
    ("filename_format", "filename_format"),
    ("unique_filename", "unique_filename"),
    ("ioengine", "ioengine"),
    ("iodepth", "iodepth"),
    ("iodepth_batch", "iodepth_batch"),
    ("iodepth_batch_submit", "iodepth_batch"),
    ("iodepth_batch_complete_min", "iodepth_batch_complete_min"),
    ("iodepth_batch_complete", "iodepth_batch_complete_min"),
    ("iodepth_batch_complete_max", "iodepth_batch_complete_max"),
    ("iodepth_low", "iodepth_low"),
    ("direct", "direct"),
    ("buffered", "buffered"),
    ("sync", "sync"),
    ("numjobs", "numjobs"),
    ("thread", "thread"),
    ("runtime", "runtime"),
    ("timeout", "runtime"),
    ("time_based", "time_based"),
    ("ramp_time", "ramp_time"),
    ("startdelay", "startdelay"),
    ("loops", "loops"),
    ("group_reporting", "group_reporting"),
    ("new_group", "new_group"),
    ("stonewall", "stonewall"),
    ("wait_for_previous", "stonewall"),
    ("exitall", "exitall"),
    ("exit_what", "exit_what"),
    ("fsync", "fsync"),
    ("fdatasync", "fdatasync"),
    ("sync_file_range", "sync_file_range"),
    ("end_fsync", "end_fsync"),
    ("fsync_on_close", "fsync_on_close"),
    ("invalidate", "invalidate"),
    ("rwmixread", "rwmixread"),
    ("rwmixwrite", "rwmixwrite"),
    ("fallocate", "fallocate"),
    ("norandommap", "norandommap"),
    ("randrepeat", "randrepeat"),
    ("allrandrepeat", "allrandrepeat"),
    ("randseed", "randseed"),
    ("random_generator", "random_generator"),
    ("random_distribution", "random_distribution"),
    ("percentage_random", "percentage_random"),
    ("create_on_open", "create_on_open"),
    ("create_fsync", "create_fsync"),
    ("create_serialize", "create_serialize"),
    ("overwrite", "overwrite"),
    ("unlink", "unlink"),
    ("rate", "rate"),
    ("rate_iops", "rate_iops"),
    ("rate_process", "rate_process"),
    ("thinktime", "thinktime"),
    ("thinktime_blocks", "thinktime_blocks"),
    ("thinktime_blocks_type", "thinktime_blocks_type"),
    ("zonemode", "zonemode"),
    ("verify", "verify"),
    ("do_verify", "do_verify"),
    ("verify_only", "verify_only"),
    ("verify_interval", "verify_interval"),
    ("verify_offset", "verify_offset"),
    ("verify_pattern", "verify_pattern"),
    ("verify_fatal", "verify_fatal"),
    ("verify_dump", "verify_dump"),
    ("verify_state_save", "verify_state_save"),
    ("verify_async", "verify_async"),
    ("verify_async_cpus", "verify_async_cpus"),
    ("verify_backlog", "verify_backlog"),
    ("verify_backlog_batch", "verify_backlog_batch"),
    ("verifysort", "verifysort"),
    ("verifysort_nr", "verifysort"),
    ("trim_percentage", "trim_percentage"),
    ("trim_verify_zero", "trim_verify_zero"),
    ("trim_backlog", "trim_backlog"),
    ("trim_backlog_batch", "trim_backlog_batch"),
    ("experimental_verify", "experimental_verify"),
    ("buffer_pattern", "buffer_pattern"),
    ("zero_buffers", "zero_buffers"),
    ("refill_buffers", "refill_buffers"),
    ("scramble_buffers", "scramble_buffers"),
    ("percentile_list", "percentile_list"),
    ("clat_percentiles", "clat_percentiles"),
    ("lat_percentiles", "lat_percentiles"),
    ("slat_percentiles", "slat_percentiles"),
    ("disable_lat", "disable_lat"),
    ("disable_clat", "disable_clat"),
    ("disable_slat", "disable_slat"),
    ("disable_bw", "disable_bw"),
    ("disable_bw_measurement", "disable_bw"),
    ("gtod_reduce", "gtod_reduce"),
    ("unified_rw_reporting", "unified_rw_reporting"),
    ("mixed", "unified_rw_reporting"),
    ("per_job_logs", "per_job_logs"),
    ("log_offset", "log_offset"),
    ("write_iolog", "write_iolog"),
    ("mem", "mem"),
    ("iomem", "mem"),
    ("io_submit_mode", "io_submit_mode"),
    ("kb_base", "kb_base"),
    ("write_lat_log", "write_lat_log"),
    ("write_bw_log", "write_bw_log"),
    ("write_hist_log", "write_hist_log"),
    ("log_hist_msec", "log_hist_msec"),
    ("log_hist_coarseness", "log_hist_coarseness"),
    ("write_iops_log", "write_iops_log"),
    ("log_avg_msec", "log_avg_msec"),
    ("log_max_value", "log_max_value"),
    ("log_compression", "log_compression"),
    ("log_compression_cpus", "log_compression_cpus"),
    ("rate_ignore_thinktime", "rate_ignore_thinktime"),
    ("flow", "flow"),
    ("flow_id", "flow_id"),
    ("flow_sleep", "flow_sleep"),
    ("flow_watermark", "flow_watermark"),
    ("rate_min", "rate_min"),
    ("ratemin", "rate_min"),
    ("rate_iops_min", "rate_iops_min"),
    ("rate_cycle", "rate_cycle"),
    ("ratecycle", "rate_cycle"),
    ("zonesize", "zonesize"),
    ("zonerange", "zonerange"),
    ("zoneskip", "zoneskip"),
    ("continue_on_error", "continue_on_error"),
    ("ignore_error", "ignore_error"),
    ("error_dump", "error_dump"),
    ("wait_for", "wait_for"),
    ("cpus_allowed", "cpus_allowed"),
    ("cpumask", "cpumask"),
    ("cpus_allowed_policy", "cpus_allowed_policy"),
    ("nice", "nice"),
    ("prio", "prio"),
    ("prioclass", "prioclass"),
    ("clocksource", "clocksource"),
    ("lockfile", "lockfile"),
    ("fixedbufs", "fixedbufs"),
    ("registerfiles", "registerfiles"),
    ("sqthread_poll", "sqthread_poll"),
    ("sqthread_poll_cpu", "sqthread_poll_cpu"),
    ("nonvectored", "nonvectored"),
    ("force_async", "force_async"),
    ("userspace_reap", "userspace_reap"),
    ("serialize_overlap", "serialize_overlap"),
    ("softrandommap", "softrandommap"),
    ("allow_file_create", "allow_file_create"),
    ("allow_mounted_write", "allow_mounted_write"),
    ("write_barrier", "write_barrier"),
    ("barrier", "write_barrier"),
    ("iomem_align", "iomem_align"),
    ("mem_align", "iomem_align"),
    ("gtod_cpu", "gtod_cpu"),
    ("lockmem", "lockmem"),
    ("threads", "thread"),
    ("exitall_on_error", "exitall_on_error"),
    ("stats", "stats"),
    ("uid", "uid"),
    ("gid", "gid"),
    ("max_latency", "max_latency"),
    ("fadvise_hint", "fadvise_hint"),
    ("pre_read", "pre_read"),
    ("unlink_each_loop", "unlink_each_loop"),
    ("fill_device", "fill_device"),
    ("fill_fs", "fill_device"),
    ("offset_align", "offset_align"),
    ("buffer_compress_percentage", "buffer_compress_percentage"),
    ("buffer_compress_chunk", "buffer_compress_chunk"),
    ("dedupe_percentage", "dedupe_percentage"),
    ("dedupe_mode", "dedupe_mode"),
    ("dedupe_working_set_percentage", "dedupe_working_set_percentage"),
    ("dedupe_global", "dedupe_global"),
    ("thinktime_spin", "thinktime_spin"),
    ("log_entries", "log_entries"),
    ("read_iolog", "read_iolog"),
    ("replay_no_stall", "replay_no_stall"),
    ("thinktime_iotime", "thinktime_iotime"),
    ("file_append", "file_append"),
    ("create_only", "create_only"),
    ("significant_figures", "significant_figures"),
    ("unit_base", "unit_base"),
    ("bwavgtime", "bwavgtime"),
    ("iopsavgtime", "iopsavgtime"),
    ("numa_cpu_nodes", "numa_cpu_nodes"),
    ("numa_mem_policy", "numa_mem_policy"),
    ("hipri", "hipri"),
    ("nowait", "nowait"),
    ("uncached", "uncached"),
    ("hipri_percentage", "hipri_percentage"),
    ("cmdprio_percentage", "cmdprio_percentage"),
    ("cgroup_nodelete", "cgroup_nodelete"),
    ("latency_target", "latency_target"),
    ("latency_window", "latency_window"),
    ("latency_percentile", "latency_percentile"),
    ("latency_run", "latency_run"),
    ("steadystate", "steadystate"),
    ("ss", "steadystate"),
    ("steadystate_duration", "steadystate_duration"),
    ("ss_dur", "steadystate_duration"),
    ("steadystate_ramp_time", "steadystate_ramp_time"),
    ("ss_ramp", "steadystate_ramp_time"),
    ("disk_util", "disk_util"),
];

/// Names that only the original supports, by topic.
const FOREIGN: &[(&str, &[&str])] = &[
    ("verifying what was written", &["verify_state_load"]),
    ("trimming", &["num_range"]),
    (
        "zones",
        &[
            "zonecapacity",
            "read_beyond_wp",
            "max_open_zones",
            "job_max_open_zones",
            "ignore_zone_limits",
            "zone_reset_threshold",
            "zone_reset_frequency",
        ],
    ),
    (
        "replaying a log of requests",
        &[
            "read_iolog_chunked",
            "replay_redirect",
            "replay_scale",
            "replay_align",
            "replay_time_scale",
            "replay_skip",
            "merge_blktrace_file",
            "merge_blktrace_scalars",
            "merge_blktrace_iters",
        ],
    ),
    (
        "other logs of requests",
        &[
            "log_prio",
            "log_store_compressed",
            "log_unix_epoch",
            "log_alternate_epoch",
            "log_alternate_epoch_clock_id",
        ],
    ),
    (
        "where and how a job is scheduled",
        &[
            "cgroup",
            "cgroup_weight",
            "ioscheduler",
            "exec_prerun",
            "exec_postrun",
            "thinkcycles",
            "profile",
        ],
    ),
    ("memory and what stands in it", &["hugepage-size"]),
    (
        "details of one engine",
        &[
            "thp",
            "libaio_vectored",
            "cmdprio_class",
            "cmdprio",
            "cmdprio_bssplit",
            "hostname",
            "port",
            "protocol",
            "readfua",
            "writefua",
            "sg_write_mode",
            "rwf_hipri",
            "donorname",
            "inplace",
        ],
    ),
    ("other ways to make and to take files", &["opendir", "atomic", "write_hint", "use_os_rand"]),
    ("other ways to count and to tell", &["block_error_percentiles", "block_error_hist"]),
];

/// True if the original knows the key.
pub(crate) fn is_key(key: &str) -> bool {
    KNOWN.iter().any(|(known, _)| *known == key)
        || FOREIGN.iter().any(|(_, names)| names.contains(&key))
}

/// Likely intended key for one that the original does not know.
pub(crate) fn nearest_key(key: &str) -> Option<&'static str> {
    let foreign = FOREIGN.iter().flat_map(|(_, names)| names.iter().copied());
    nearest(key, KNOWN.iter().map(|(known, _)| *known).chain(foreign))
}

/// Keys whose value on the command line only follows `=`, and is never the next word. Any number
/// but 0 sets them.
const SETS: [&str; 19] = [
    "hipri",
    "exitall_on_error",
    "userspace_reap",
    "fixedbufs",
    "registerfiles",
    "sqthread_poll",
    "verify_only",
    "time_based",
    "thread",
    "group_reporting",
    "stonewall",
    "wait_for_previous",
    "new_group",
    "norandommap",
    "exitall",
    "bs_unaligned",
    "blocksize_unaligned",
    "refill_buffers",
    "zero_buffers",
];

/// True if the key takes no value on the command line.
pub(crate) fn is_switch_key(key: &str) -> bool {
    SETS.contains(&key)
}

/// Canonical key of a name.
pub(super) fn canonical_key(
    key: &str,
    place: Place,
    faults: &Faults<'_>,
) -> Result<&'static str, Fault> {
    if let Some((_, name)) = KNOWN.iter().find(|(known, _)| *known == key) {
        return Ok(name);
    }
    if let Some((what, _)) = FOREIGN.iter().find(|(_, names)| names.contains(&key)) {
        let what = format!("{}: treering does not do this: {what}", shown(key));
        return Err(faults.error(place, what).hint(WITH_FIO));
    }
    let error = faults.error(place, format!("'{}' is not a key of a job", shown(key)));
    Err(match nearest_key(key) {
        Some(name) => error.hint(format!("perhaps {name} is meant")),
        None => error.hint("docs/workloads/fio-jobfile.md lists the keys"),
    })
}

/// Hint for jobs that only the original can run.
pub(crate) const WITH_FIO: &str = "leave it out, or have the original run the job with --with-fio";

#[cfg(test)]
mod tests {
    use super::{FOREIGN, Faults, KNOWN, Place, canonical_key};

    #[test]
    fn every_key_is_in_one_list_only() {
        let foreign: Vec<&str> =
            FOREIGN.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        for (key, name) in KNOWN {
            assert!(!foreign.contains(key), "{key}");
            assert!(KNOWN.iter().any(|(known, _)| known == name), "{key}: {name}");
        }
    }

    #[test]
    fn an_unknown_key_is_refused_with_the_nearest_known_one() {
        let faults = Faults::new("f", b"");
        let place = Place::new(3, 1);
        let hint = |key| canonical_key(key, place, &faults).unwrap_err().hint.unwrap();
        assert_eq!(hint("sizes"), "perhaps size is meant");
        assert_eq!(hint("RW"), "perhaps rw is meant");
        assert!(hint("colour_of_the_disk").contains("lists the keys"));
        assert!(hint("verify_state_load").contains("--with-fio"));
        assert_eq!(canonical_key("blocksize", place, &faults).unwrap(), "bs");
    }
}
