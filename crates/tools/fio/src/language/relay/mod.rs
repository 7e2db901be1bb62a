//! Job files relayed to the original: unchanged except for the location of files.
//!
//! Keys are not interpreted, except for those that lead out of the target or determine reporting
//! groups. Every `[global]` setting is copied to the jobs after it.

mod devices;

use std::fmt::Write;

use treering_script::ConfigError;

use treering_kit::faults::{Fault, Faults, Place, shown};

use super::ParseContext;
use super::expand::expand;
use super::lines::{self, Lines, Setting};
use super::section::Section;
pub(crate) use devices::named_devices;

/// Prefix of the `description` by which a relayed job, followed by its number, is recognised.
const MARK: &str = "treering ";

/// Job relayed to the original.
#[derive(Clone, Debug, Default)]
pub(crate) struct RelayedJob {
    /// Parsed name, files, directories and report grouping of the job; other options keep their
    /// defaults.
    pub section: Section,
    /// Relayed settings, in their order.
    pub settings: Vec<(String, Option<String>)>,
}

/// Parses the jobs of a file without interpreting their keys.
pub(crate) fn relay(
    file: &str,
    text: &[u8],
    only: &[String],
    around: &ParseContext<'_>,
) -> Result<Vec<RelayedJob>, ConfigError> {
    let (sections, mut to) = Lines::read(file, text, around)?;
    let jobs = jobs(sections, only, around, &to);
    jobs.map_err(|fault| to.refuse(fault))
}

fn jobs(
    sections: Vec<lines::Section>,
    only: &[String],
    around: &ParseContext<'_>,
    to: &Faults<'_>,
) -> Result<Vec<RelayedJob>, Fault> {
    let mut global = RelayedJob::default();
    let mut jobs = Vec::new();
    for read in sections {
        if !read.is_global() && !only.is_empty() && !only.contains(&read.name) {
            continue;
        }
        let mut relayed = global.clone();
        relayed.section.name.clone_from(&read.name);
        for setting in &read.settings {
            relayed.take(setting, around, to)?;
        }
        relayed.section.place_files();
        if read.is_global() {
            global = relayed;
            // The stonewall applies to the first job after it only.
            continue;
        }
        let Section { filenames, files, .. } = &mut relayed.section;
        filenames.truncate(usize::try_from(*files).unwrap_or(usize::MAX));
        relayed.check(read.place, to)?;
        jobs.push(relayed);
    }
    if jobs.is_empty() {
        return Err(to
            .error(Place::START, "there is no job")
            .hint("a job is a section with a name of its own, as [reader]"));
    }
    Ok(jobs)
}

/// Number of the job with this description.
pub(crate) fn number_of(description: &str) -> Option<usize> {
    description.strip_prefix(MARK)?.parse().ok()
}

/// Reason why a key must not be set in a job below a target; `None` if it may.
fn refusal(key: &str, value: &str) -> Option<&'static str> {
    let leads_out = value.starts_with('/') || value.split('/').any(|part| part == "..");
    match key {
        "exec_prerun" | "exec_postrun" => Some("a command of the shell is not kept in the target"),
        "opendir" => Some("the files of a whole directory are not the target's"),
        "read_iolog" | "merge_blktrace_file" | "replay_redirect" => {
            Some("a log of requests names files of its own")
        }
        "cgroup" | "cgroup_weight" | "cgroup_nodelete" => Some("cgroups are not the target's"),
        "mem" | "iomem" if value.contains(':') => Some("a file outside the target"),
        "filename_format" if value.split('/').any(|part| part == "..") => {
            Some("it leads out of the target")
        }
        "write_iolog" if leads_out => Some("it leads out of the target"),
        "name" if value.contains('/') => Some("a name has no slash"),
        key if key.starts_with("write_") && key.ends_with("_log") && leads_out => {
            Some("it leads out of the target")
        }
        _ => None,
    }
}

impl RelayedJob {
    fn take(
        &mut self,
        setting: &Setting,
        around: &ParseContext<'_>,
        to: &Faults<'_>,
    ) -> Result<(), Fault> {
        let key = setting.key.as_str();
        let written = setting.value.as_deref();
        let expanded = expand(written.unwrap_or("1"), around.environment, around.machine);
        let text = expanded.map_err(|why| {
            to.error(setting.value_place, format!("{}: {why}", shown(key)))
                .hint("set the variable, or write the value itself")
        })?;
        if let Some(why) = refusal(key, &text) {
            let what = format!("{}: '{}': {why}", shown(key), shown(text.as_ref()));
            return Err(to.error(setting.place, what).hint("leave it out"));
        }
        let is_on = text != "0";
        let section = &mut self.section;
        match key {
            "directory" | "filename" => {
                let paths = super::apply::split_paths(&text).ok_or_else(|| {
                    to.error(
                        setting.value_place,
                        format!("{key}: '{}' is no path", shown(text.as_ref())),
                    )
                    .hint("a path has from 1 to 3800 bytes")
                })?;
                let wrong = |path: &String| {
                    path.contains([';', '#', '\\']) || path.chars().any(char::is_control)
                };
                if key == "filename"
                    && let Some(path) = paths.iter().find(|path| wrong(path))
                {
                    let what = format!("filename: '{}' cannot be handed on", shown(path));
                    return Err(to
                        .error(setting.value_place, what)
                        .hint("name files without ; # and \\"));
                }
                if key == "directory" {
                    section.directories = paths;
                } else {
                    section.unplaced.extend(paths);
                }
                return Ok(());
            }
            "group_reporting" => {
                section.group_reporting = is_on;
                return Ok(());
            }
            "description" => {
                section.description = Some(text.into_owned());
                return Ok(());
            }
            "unified_rw_reporting" | "mixed" => return Ok(()),
            "stonewall" | "wait_for_previous" => section.stonewall = is_on,
            "name" => section.name = text.into_owned(),
            "nrfiles" => section.files = text.parse().unwrap_or(section.files),
            _ => {}
        }
        self.settings.retain(|(before, _)| before != key);
        self.settings.push((key.to_owned(), setting.value.clone()));
        Ok(())
    }

    fn check(&self, place: Place, to: &Faults<'_>) -> Result<(), Fault> {
        let section = &self.section;
        if section.name.contains('/') && section.filenames.is_empty() {
            let what = format!("[{}]: the name has a slash", shown(&section.name));
            return Err(to.error(place, what).hint("the files are named after the job"));
        }
        Ok(())
    }

    /// True if the job sets the key.
    pub(crate) fn sets(&self, key: &str) -> bool {
        self.settings.iter().any(|(set, _)| set == key)
    }

    /// Job section for the original; files and description come last.
    pub(crate) fn write(&self, number: usize, more: &[(String, String)]) -> String {
        let mut text = format!("[{}]\n", self.section.name);
        // Writing into a string cannot fail.
        for (key, value) in &self.settings {
            let _ = match value {
                Some(value) => writeln!(text, "{key}={value}"),
                None => writeln!(text, "{key}"),
            };
        }
        for (key, value) in more {
            let _ = writeln!(text, "{key}={value}");
        }
        let _ = writeln!(text, "description={MARK}{number}");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::Machine;
    use super::{ParseContext, RelayedJob, number_of, relay};
    use treering_script::ConfigError;

    fn relayed(text: &str) -> Result<Vec<RelayedJob>, ConfigError> {
        let reader = |_: &str, _: &str| Err("none".to_owned());
        let environment = |name: &str| (name == "D").then(|| "/mnt/a".to_owned());
        let machine = Machine { cpus: 2, page_bytes: 4096, memory_mib: 1024 };
        let around = ParseContext::new(&reader, &environment, machine);
        relay("f", text.as_bytes(), &[], &around)
    }

    #[test]
    fn settings_are_relayed_except_for_paths() {
        let text = "[global]\nsize=1m\nverify=crc32c\ndirectory=${D}:/b\n[a]\nthread\nsize=2m\n\
                    group_reporting\n[global]\nbs=8k\n[b]\nstonewall\nnumjobs=$ncpus\n";
        let jobs = relayed(text).unwrap();
        assert_eq!(jobs.len(), 2);
        assert_eq!(
            jobs[0].write(0, &[("directory".to_owned(), "../x".to_owned())]),
            "[a]\nverify=crc32c\nthread\nsize=2m\ndirectory=../x\ndescription=treering 0\n"
        );
        assert_eq!(
            jobs[1].write(1, &[]),
            "[b]\nsize=1m\nverify=crc32c\nbs=8k\nstonewall\nnumjobs=$ncpus\n\
             description=treering 1\n"
        );
        assert_eq!(jobs[0].section.directories, ["/mnt/a", "/b"]);
        assert!(jobs[0].section.group_reporting && !jobs[1].section.group_reporting);
        assert!(!jobs[0].section.stonewall && jobs[1].section.stonewall);
        assert_eq!((number_of("treering 1"), number_of("a job")), (Some(1), None));
    }

    #[test]
    fn paths_outside_the_target_are_refused_with_their_position() {
        for line in [
            "exec_prerun=true",
            "opendir=/etc",
            "read_iolog=log",
            "write_bw_log=/etc/x",
            "write_lat_log=a/../../x",
            "filename_format=../$jobname",
            "mem=mmaphuge:/huge/x",
            "name=../x",
            "filename=${NONE}",
            "filename=a\\b",
            "cgroup=x",
        ] {
            let error = relayed(&format!("[a]\n{line}\n")).unwrap_err();
            assert!(error.message.starts_with("f:2:"), "{line}: {}", error.message);
            assert!(error.hint.is_some(), "{line}");
        }
        assert!(relayed("[../a]\nsize=1m\n").is_err());
        let jobs = relayed("[a]\nfilename=x/y\ndirectory=a:b\n").unwrap();
        assert_eq!(jobs[0].section.filenames, ["a/x/y"]);
        assert!(relayed("").is_err());
        assert!(relayed("[a]\nwrite_bw_log=log\nwrite_lat_log\nfilename=a\\:b\n").is_ok());
    }
}
