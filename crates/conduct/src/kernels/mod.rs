//! Kernels that are built from source: `git:REVISION` as a kernel to compare, and the steps of a
//! bisection. Both keep what they build in the same cache.

mod bisect;
mod cache;
mod product;
mod repository;
mod worktree;

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use treering_model::Fingerprint;
use treering_sys::{SIGINT, SIGTERM, StopFlag, kill_group, leave_with_parent, terminate_group};

use crate::failure::{Failure, FailureKind};
use crate::host::Host;
use crate::plan::{KernelChoice, Plan};

pub use bisect::{BisectOptions, BisectStep, bisect_step};
pub(crate) use cache::commit_of;
use cache::{BuildKey, KernelCache};
use product::made_kernel;
use repository::{CONFIGURATION, Commit, Repository};
use worktree::Worktree;

/// Interval of checks for the end of a build and for a stop signal.
const STEP: Duration = Duration::from_millis(50);
/// Time limit for a build to end after it was asked to.
const LEAVING_MAX: Duration = Duration::from_secs(10);
/// Beginning of the name of a kernel that is built from a commit.
const GIT: &str = "git:";

/// Reports whether a kernel is named as a commit, `git:REVISION`.
pub fn is_commit(kernel: &Path) -> bool {
    revision(kernel).is_some()
}

/// Commit that a variant of the plan names as its kernel, if any.
pub fn commit_in_plan(plan: &Plan) -> Option<&Path> {
    let guests = plan.variants.iter().filter_map(|variant| variant.guest.as_ref());
    guests.map(|guest| guest.kernel.as_path()).find(|kernel| is_commit(kernel))
}

/// Refuses a plan with a kernel that is not built yet.
///
/// # Errors
/// When a variant names a commit.
pub(crate) fn refuse_commits(plan: &Plan) -> Result<(), Failure> {
    let Some(commit) = commit_in_plan(plan) else { return Ok(()) };
    let message = format!("{} is a commit and not built yet", commit.display());
    Err(Failure::usage(message).hint("`treering compare PLAN` builds it"))
}

fn revision(kernel: &Path) -> Option<&str> {
    kernel.to_str()?.strip_prefix(GIT)
}

/// Build of a kernel.
#[derive(Debug)]
pub struct KernelBuild {
    /// Command for `sh -c`.
    pub command: String,
    /// File that receives its output.
    pub output: OwnedFd,
    /// Flag that ends the build when it is raised.
    pub stop: StopFlag,
}

/// Sources of kernels, and the cache of those that were built.
#[derive(Debug)]
pub struct KernelSources {
    /// Directory in a working tree of the kernel's repository.
    pub directory: PathBuf,
    /// Directory of the kernels that were built.
    pub cache: PathBuf,
    /// Build of a kernel that is not in the cache; `None` if nothing can be built.
    pub build: Option<KernelBuild>,
}

/// Kernels to compare, as far as they exist.
#[derive(Debug, Default)]
pub struct ChosenKernels {
    /// Kernels in the order in which they were named.
    pub kernels: Vec<KernelChoice>,
    /// Lines about kernels that would have to be built first.
    pub unbuilt: Vec<String>,
}

impl KernelSources {
    /// Finds the kernels of these names: files, and commits as `git:REVISION`. Commits that are not
    /// in the cache are built there if `builds`, and otherwise listed as unbuilt.
    ///
    /// # Errors
    /// If a commit does not exist, is not built and cannot be, or its kernel cannot be kept.
    pub fn choose(
        &self,
        names: &[PathBuf],
        builds: bool,
        host: &dyn Host,
    ) -> Result<ChosenKernels, Failure> {
        let mut chosen = ChosenKernels::default();
        for file in names {
            let Some(revision) = revision(file) else {
                chosen.kernels.push(KernelChoice { name: None, file: file.clone() });
                continue;
            };
            let (repository, key) = self.key_of(revision)?;
            let name = Some(key.commit.name.clone());
            match self.cache().find(&key) {
                Some(file) => chosen.kernels.push(KernelChoice { name, file }),
                None if builds => {
                    let file = self.build_commit(&repository, &key, host)?;
                    chosen.kernels.push(KernelChoice { name, file });
                }
                None => chosen.unbuilt.push(format!(
                    "git:{revision} is {} and not built yet: `{}` will build it in {}",
                    key.commit.short(),
                    key.command,
                    self.cache.display()
                )),
            }
        }
        Ok(chosen)
    }

    /// Finds the kernels of variants that name a commit, as [`KernelSources::choose`] does; returns
    /// lines about those that would have to be built first.
    ///
    /// # Errors
    /// As for [`KernelSources::choose`].
    pub fn find_kernels_of(
        &self,
        plan: &mut Plan,
        builds: bool,
        host: &dyn Host,
    ) -> Result<Vec<String>, Failure> {
        let mut unbuilt = Vec::new();
        let guests = plan.variants.iter_mut().filter_map(|variant| variant.guest.as_mut());
        for guest in guests.filter(|guest| is_commit(&guest.kernel)) {
            let mut chosen = self.choose(std::slice::from_ref(&guest.kernel), builds, host)?;
            match chosen.kernels.pop() {
                Some(kernel) => guest.kernel = kernel.file,
                None => unbuilt.append(&mut chosen.unbuilt),
            }
        }
        unbuilt.dedup();
        Ok(unbuilt)
    }

    /// Builds the kernel of the working tree in which this process is, unless it was built before;
    /// `kernel` is the path that the build makes, if it is known. Returns the kernel, or the reason
    /// why there is none.
    ///
    /// # Errors
    /// If the build was interrupted, or its kernel cannot be kept.
    fn build_here(
        &self,
        build: &KernelBuild,
        kernel: Option<&Path>,
        host: &dyn Host,
    ) -> Result<Result<PathBuf, String>, Failure> {
        let repository = Repository::find(&self.directory)?;
        let key = repository.as_ref().map(|it| Self::key_here(it, build)).transpose()?;
        if let Some((kept, key)) = key.as_ref().and_then(|key| Some((self.cache().find(key)?, key)))
        {
            host.say(&format!("{} was built before: {}", key.commit.short(), kept.display()));
            return Ok(Ok(kept));
        }
        let began = now(host);
        let saved = key.as_ref().map(|key| self.save_configuration(key)).transpose()?;
        let built = build.run(&self.directory, Stdio::null(), host);
        if let Some((repository, key)) = repository.as_ref().zip(key.as_ref()) {
            restore_configuration(repository, &key.configuration)?;
        }
        if let Some(saved) = saved.flatten() {
            std::fs::remove_file(&saved).map_err(|error| Failure::of_path(&saved, &error))?;
        }
        let made = built?.and_then(|()| match kernel {
            Some(kernel) => Ok(self.directory.join(kernel)),
            None => made_kernel(&self.directory, began).map_err(|error| error.to_string()),
        });
        match (made, &key) {
            // An image alone may have its modules anywhere.
            (Ok(kernel), Some(key)) if is_whole(&kernel) => self.cache().keep(key, &kernel).map(Ok),
            (made, _) => Ok(made),
        }
    }

    /// Saves the configuration of the working tree while a build may change it; returns the file.
    ///
    /// # Errors
    /// If a killed build has left one, or it cannot be written.
    fn save_configuration(&self, key: &BuildKey) -> Result<Option<PathBuf>, Failure> {
        if key.configuration.is_empty() {
            return Ok(None);
        }
        let name = Fingerprint::from_bytes(self.directory.as_os_str().as_encoded_bytes()).text();
        let saved = self.cache.join(format!("config-{name}"));
        if saved.exists() {
            let message = format!(
                "{} is the .config from before a build that was killed in {}",
                saved.display(),
                self.directory.display()
            );
            let hint = "copy it back to .config, or remove it if .config is right";
            return Err(Failure::environment(message).hint(hint));
        }
        let written = std::fs::create_dir_all(&self.cache)
            .and_then(|()| std::fs::write(&saved, &key.configuration));
        written.map_err(|error| Failure::of_path(&saved, &error)).map(|()| Some(saved))
    }

    fn cache(&self) -> KernelCache {
        KernelCache { directory: self.cache.clone() }
    }

    /// Identity of the kernel of a commit with the configuration of the working tree.
    fn key_of(&self, revision: &str) -> Result<(Repository, BuildKey), Failure> {
        let Some(build) = &self.build else {
            let message = format!("git:{revision} is a commit, and nothing says how to build it");
            let hint = "give --build CMD, such as --build 'make -s -j8 olddefconfig bindeb-pkg'";
            return Err(Failure::usage(message).hint(hint));
        };
        let Some(repository) = Repository::find(&self.directory)? else {
            let message =
                format!("git:{revision}: {} is in no repository", self.directory.display());
            return Err(Failure::usage(message).hint("start treering in the kernel's repository"));
        };
        let commit = repository.commit(revision)?;
        let key = key(&repository, build, commit);
        Ok((repository, key))
    }

    /// Identity of the kernel of the working tree as it is, with changes that are in no commit.
    fn key_here(repository: &Repository, build: &KernelBuild) -> Result<BuildKey, Failure> {
        let commit = repository.commit("HEAD")?;
        let changes = repository.changes()?;
        Ok(BuildKey { changes, ..key(repository, build, commit) })
    }

    /// Builds a commit in the working tree of the cache.
    fn build_commit(
        &self,
        repository: &Repository,
        key: &BuildKey,
        host: &dyn Host,
    ) -> Result<PathBuf, Failure> {
        let Some(build) = &self.build else {
            return Err(Failure::new(FailureKind::Bug, "a build without its command"));
        };
        let configured = (&key.commit, key.configuration.as_slice());
        let tree = Worktree::check_out(repository, &self.cache, configured)?;
        let name = &key.commit.name;
        host.say(&format!("{name}: checked out in {}", tree.path.display()));
        let began = now(host);
        // The build holds the lock of the tree, too, for as long as any part of it runs.
        let lock = tree.lock.try_clone().map_err(|error| Failure::of_path(&tree.path, &error))?;
        let made = build.run(&tree.path, lock.into(), host)?;
        let made =
            made.and_then(|()| made_kernel(&tree.path, began).map_err(|error| error.to_string()));
        let kernel = made.map_err(|why| Failure::environment(why).context(name))?;
        self.cache().keep(key, &kernel)
    }
}

/// Identity of the kernel of a commit, with the configuration of the working tree.
fn key(repository: &Repository, build: &KernelBuild, commit: Commit) -> BuildKey {
    let configuration = repository.configuration().unwrap_or_default();
    BuildKey { commit, configuration, command: build.command.clone(), changes: Vec::new() }
}

/// Time of the host, by which files of a build are told from earlier ones.
fn now(host: &dyn Host) -> SystemTime {
    let passed = u64::try_from(host.unix_ms()).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::from_millis(passed)
}

/// Reports whether a kernel has its modules with it: a package, or a directory.
fn is_whole(kernel: &Path) -> bool {
    let is_package = |end| kernel.extension().is_some_and(|own| own == end);
    kernel.is_dir() || is_package("deb") || is_package("rpm")
}

/// Puts the configuration of the working tree back, which a build of an older commit changes: the
/// next one would begin with what that commit did not know.
fn restore_configuration(repository: &Repository, configuration: &[u8]) -> Result<(), Failure> {
    let is_same = repository.configuration().as_deref() == Some(configuration);
    if configuration.is_empty() || is_same {
        return Ok(());
    }
    // The file may be a link, and a full disk must not cost it.
    let file = repository.top.join(CONFIGURATION);
    let file = file.canonicalize().unwrap_or(file);
    let new = file.with_extension("treering-new");
    let written = File::create(&new).and_then(|mut new_file| {
        new_file.write_all(configuration)?;
        new_file.sync_all()?;
        std::fs::rename(&new, &file)
    });
    written.map_err(|error| Failure::of_path(&file, &error))
}

impl KernelBuild {
    /// Runs the build in this directory; returns the reason if it failed.
    ///
    /// # Errors
    /// If there is no shell, or the user interrupts the build.
    fn run(
        &self,
        directory: &Path,
        stdin: Stdio,
        host: &dyn Host,
    ) -> Result<Result<(), String>, Failure> {
        host.say(&format!("building: {}", self.command));
        let cannot = |error: std::io::Error| {
            Failure::environment(format!("cannot run sh for --build: {error}"))
        };
        let output = self.output.try_clone().map_err(cannot)?;
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &self.command]).current_dir(directory).stdin(stdin).stdout(output);
        let mut build = leave_with_parent(&mut shell).spawn().map_err(cannot)?;
        let mut asked: Option<Instant> = None;
        let status = loop {
            if let Some(status) = build.try_wait().map_err(cannot)? {
                break status;
            }
            match asked {
                None if self.stop.is_raised() => {
                    asked = Some(Instant::now());
                    terminate_group(&build);
                }
                Some(at) if at.elapsed() > LEAVING_MAX => kill_group(&build),
                _ => {}
            }
            std::thread::sleep(STEP);
        };
        if asked.is_some() || self.stop.is_raised() {
            // What the shell has left behind would go on writing in the tree.
            kill_group(&build);
        }
        let ended = |signal: i32| {
            let message = format!("the build was ended by signal {signal}");
            Err(Failure::new(FailureKind::Interrupted, message))
        };
        match (self.stop.signal(), status.code(), status.signal()) {
            (Some(signal), ..) | (_, _, Some(signal @ (SIGINT | SIGTERM))) => ended(signal),
            (None, Some(0), _) => Ok(Ok(())),
            _ => Ok(Err(format!("this revision does not build ({status})"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{KernelBuild, KernelSources, is_commit};
    use crate::host::Host;
    use std::cell::RefCell;
    use std::fs::{self, File};
    use std::os::fd::OwnedFd;
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::time::{Duration, SystemTime};
    use treering_sys::{SIGTERM, StopFlag};

    /// Host that remembers what was said.
    #[derive(Default)]
    struct Listener(RefCell<Vec<String>>);

    impl Host for Listener {
        fn say(&self, words: &str) {
            self.0.borrow_mut().push(words.to_owned());
        }

        fn unix_ms(&self) -> i64 {
            // The time of a file that is written now.
            let file = tempfile::tempfile().unwrap().metadata().unwrap();
            let passed = file.modified().unwrap().duration_since(SystemTime::UNIX_EPOCH).unwrap();
            i64::try_from(passed.as_millis()).unwrap()
        }
    }

    impl Listener {
        /// Number of builds so far.
        fn builds(&self) -> usize {
            self.0.borrow().iter().filter(|words| words.starts_with("building: ")).count()
        }
    }

    fn git(directory: &Path, words: &[&str]) {
        let mut git = Command::new("git");
        git.current_dir(directory).args(["-c", "user.name=t", "-c", "user.email=t@t"]).args(words);
        assert!(git.output().unwrap().status.success(), "{words:?}");
    }

    /// Repository with the tags v1 and v2 and a configuration, and the sources of its kernels.
    fn repository(place: &Path, command: &str) -> KernelSources {
        let directory = place.join("linux");
        fs::create_dir(&directory).unwrap();
        git(&directory, &["init", "-q"]);
        fs::write(directory.join(".gitignore"), ".config\nout\n").unwrap();
        for tag in ["v1", "v2"] {
            fs::write(directory.join("revision"), tag).unwrap();
            git(&directory, &["add", "-A"]);
            git(&directory, &["commit", "-q", "-m", tag]);
            git(&directory, &["tag", tag]);
        }
        fs::write(directory.join(".config"), "CONFIG_A=y\n").unwrap();
        let output: OwnedFd = File::create("/dev/null").unwrap().into();
        let build =
            Some(KernelBuild { command: command.to_owned(), output, stop: StopFlag::new() });
        KernelSources { directory, cache: place.join("kernels"), build }
    }

    /// Builds a package beside the tree that contains the revision and the configuration.
    const PACKAGE: &str = "cat revision .config >../linux-image-x_1_amd64.deb && echo z >>.config";

    #[test]
    fn commits_are_built_once_for_each_configuration_and_command() {
        let place = tempfile::tempdir().unwrap();
        let mut sources = repository(place.path(), PACKAGE);
        let host = Listener::default();
        let names = ["git:v1", "git:HEAD", "/a.deb"].map(PathBuf::from);
        assert!(is_commit(&names[0]) && !is_commit(&names[2]));
        let unbuilt = sources.choose(&names, false, &host).unwrap();
        assert_eq!((unbuilt.unbuilt.len(), unbuilt.kernels.len(), host.builds()), (2, 1, 0));
        let chosen = sources.choose(&names, true, &host).unwrap();
        assert_eq!(host.builds(), 2);
        let text = |at: usize| fs::read_to_string(&chosen.kernels[at].file).unwrap();
        assert_eq!((text(0), text(1)), ("v1CONFIG_A=y\n".to_owned(), "v2CONFIG_A=y\n".to_owned()));
        let name = |at: usize| chosen.kernels[at].name.clone();
        assert_eq!(name(0).as_deref(), Some("v1"));
        assert!(name(1).unwrap().starts_with("HEAD "), "{:?}", name(1));
        // The working tree of the user is as it was.
        let own = fs::read_to_string(sources.directory.join("revision")).unwrap();
        assert_eq!(own, "v2");
        let own = fs::read_to_string(sources.directory.join(".config")).unwrap();
        assert_eq!(own, "CONFIG_A=y\n");
        // The same commit under another name is the same kernel.
        let again = sources.choose(&[PathBuf::from("git:v2")], true, &host).unwrap();
        assert_eq!((&again.kernels[0].file, host.builds()), (&chosen.kernels[1].file, 2));
        fs::write(sources.directory.join(".config"), "CONFIG_A=m\n").unwrap();
        let other = sources.choose(&names[..1], true, &host).unwrap();
        assert_eq!(fs::read_to_string(&other.kernels[0].file).unwrap(), "v1CONFIG_A=m\n");
        sources.build.as_mut().unwrap().command.push_str(" && true");
        sources.choose(&names[..1], true, &host).unwrap();
        assert_eq!(host.builds(), 4);
    }

    #[test]
    fn steps_and_comparisons_share_what_was_built() {
        let place = tempfile::tempdir().unwrap();
        let sources = repository(place.path(), PACKAGE);
        let host = Listener::default();
        let build = sources.build.as_ref().unwrap();
        let here = |sources: &KernelSources| sources.build_here(build, None, &host).unwrap();
        let kept = here(&sources).unwrap();
        // The configuration is put back, so that the next revision begins with the same one.
        let own = fs::read_to_string(sources.directory.join(".config")).unwrap();
        assert_eq!(own, "CONFIG_A=y\n");
        let chosen = sources.choose(&[PathBuf::from("git:v2")], true, &host).unwrap();
        assert_eq!((&chosen.kernels[0].file, host.builds()), (&kept, 1));
        assert_eq!(here(&sources).unwrap(), kept);
        // Changes that are in no commit make another kernel.
        fs::write(sources.directory.join("revision"), "patched").unwrap();
        let patched = here(&sources).unwrap();
        assert_eq!(fs::read_to_string(&patched).unwrap(), "patchedCONFIG_A=y\n");
        assert_eq!(host.builds(), 2);
        // So does a file that git does not know yet, by its content.
        for content in ["one", "two", "one"] {
            fs::write(sources.directory.join("new.c"), content).unwrap();
            here(&sources).unwrap();
        }
        assert_eq!(host.builds(), 4);
    }

    #[test]
    fn a_signal_ends_a_build_and_leaves_the_trees_and_the_configuration_whole() {
        let place = tempfile::tempdir().unwrap();
        let command = "echo changed >>.config && touch ../began && sleep 60 & wait";
        let mut sources = repository(place.path(), command);
        let build = sources.build.as_ref().unwrap();
        let (began, stop) = (place.path().join("began"), build.stop.clone());
        let raising = std::thread::spawn(move || {
            while !began.exists() {
                std::thread::sleep(Duration::from_millis(5));
            }
            stop.raise(SIGTERM);
        });
        let host = Listener::default();
        let failure = sources.build_here(build, None, &host).unwrap_err();
        raising.join().unwrap();
        assert!(failure.message().contains("ended by signal 15"), "{failure}");
        let own = fs::read_to_string(sources.directory.join(".config")).unwrap();
        assert_eq!(own, "CONFIG_A=y\n");
        // The flag is still raised: the build of a commit ends, too; its tree can be used again.
        let name = [PathBuf::from("git:v1")];
        sources.choose(&name, true, &host).unwrap_err();
        let build = sources.build.as_mut().unwrap();
        (build.stop, build.command) = (StopFlag::new(), PACKAGE.to_owned());
        sources.choose(&name, true, &host).unwrap();
        // A kill while the tree was being made leaves its record without the directory's number.
        let trees = fs::read_dir(sources.cache.join("trees")).unwrap().flatten().next().unwrap();
        let record = trees.path().join("treering-tree.json");
        let text = fs::read_to_string(&record).unwrap();
        let history = text.split(",\"inode\"").next().unwrap();
        fs::write(&record, format!("{history},\"inode\":null}}")).unwrap();
        sources.build.as_mut().unwrap().command.push_str(" && true");
        sources.choose(&name, true, &host).unwrap();
        assert_eq!(fs::read_to_string(&record).unwrap().split(',').count(), 2);
    }

    #[test]
    fn builds_that_fail_or_make_nothing_are_told() {
        let place = tempfile::tempdir().unwrap();
        let mut sources = repository(place.path(), "exit 7");
        let host = Listener::default();
        let name = [PathBuf::from("git:v1")];
        let told = |sources: &KernelSources| {
            sources.choose(&name, true, &host).unwrap_err().message().to_owned()
        };
        assert!(told(&sources).contains("v1: this revision does not build (exit status: 7)"));
        sources.build.as_mut().unwrap().command = "true".to_owned();
        assert!(told(&sources).contains("made neither a package"));
        let missing = sources.choose(&[PathBuf::from("git:--help")], true, &host).unwrap_err();
        assert!(missing.message().contains("no such commit"), "{missing}");
        // A directory in the place of the tree is left alone.
        let trees = fs::read_dir(sources.cache.join("trees")).unwrap().flatten().next().unwrap();
        let mut entries = fs::read_dir(trees.path()).unwrap().flatten().map(|entry| entry.path());
        let tree = entries.find(|path| path.is_dir()).unwrap();
        fs::rename(&tree, place.path().join("moved")).unwrap();
        fs::create_dir(&tree).unwrap();
        fs::write(tree.join("mine"), "").unwrap();
        assert!(told(&sources).contains("is not the tree that was made here"));
        assert!(tree.join("mine").exists());
        sources.build = None;
        assert!(told(&sources).contains("nothing says how to build it"));
        sources.directory = place.path().to_owned();
        assert!(sources.choose(&name, true, &host).is_err());
    }
}
