//! The test programs of the workspace: building them, and what each of them holds of the machine.

use std::error::Error;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cargo_metadata::{Message, MetadataCommand, TargetKind};

use crate::checkout;

/// Programs whose tests hold loop devices and mounts, with how many tests run at a time for each
/// CPU: those of `documents` mostly wait until a command of a page has run for some seconds.
const ON_DEVICES: [(&str, usize); 3] = [("documents", 3), ("cli", 2), ("devices", 1)];

/// Asks for the tests that boot kernels.
const KERNELS: &str = "TREERING_KERNELS";
/// Names the static program for guests. Where it is missing, those tests build one, which takes
/// minutes.
const STATIC: &str = "TREERING_STATIC";
/// Builds it on the way.
const WRAPPER: &str = "scripts/rustc-static.sh";

/// One program.
#[derive(Clone, Debug)]
pub(crate) struct CiProgram {
    /// The package's name.
    pub(crate) package: String,
    version: String,
    /// The target's name: `cli`, or that of the library.
    pub(crate) target: String,
    /// The package's folder, in which its tests begin.
    folder: PathBuf,
    executable: PathBuf,
    /// Only tests with this in their names; empty: all.
    filter: &'static str,
    /// The program itself, static, where kernels are to be booted and it was built.
    guest: Option<PathBuf>,
}

impl CiProgram {
    /// True if its tests hold loop devices; such programs run one after the other.
    pub(crate) fn is_on_devices(&self) -> bool {
        ON_DEVICES.iter().any(|(name, _)| *name == self.target)
    }

    /// The program with those of its tests that have this in their names.
    pub(crate) fn only(self, filter: &'static str) -> Self {
        Self { filter, ..self }
    }

    /// Number of concurrent tests on a machine with `cpus` CPUs.
    pub(crate) fn threads(&self, cpus: usize) -> usize {
        let listed = ON_DEVICES.iter().find(|(name, _)| *name == self.target);
        cpus * listed.map_or(1, |(_, threads)| *threads)
    }

    /// The command that runs its tests, as cargo would.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.executable);
        command
            .args(Some(self.filter).filter(|filter| !filter.is_empty()))
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .env("CARGO_PKG_NAME", &self.package)
            .env("CARGO_PKG_VERSION", &self.version)
            .envs(self.guest.as_ref().map(|program| (STATIC, program)));
        command
    }
}

/// Builds all of them, sorted by package and target.
pub(crate) fn build(root: &Path) -> Result<Vec<CiProgram>, Box<dyn Error>> {
    let packages = MetadataCommand::new().current_dir(root).no_deps().exec()?.packages;
    let is_set = |name: &str| std::env::var_os(name).is_some();
    let is_wrapped = is_set(KERNELS) && !is_set(STATIC) && !is_set("RUSTC_WRAPPER");
    let mut child = checkout::cargo()
        .args(["test", "--workspace", "--no-run", "--message-format=json-render-diagnostics"])
        .envs(is_wrapped.then(|| ("RUSTC_WRAPPER", root.join(WRAPPER))))
        .current_dir(root)
        .stdout(Stdio::piped())
        .spawn()?;
    let output = child.stdout.take().ok_or("cargo has no output")?;
    let (mut programs_found, mut guest) = (Vec::new(), None);
    for message in Message::parse_stream(BufReader::new(output)) {
        let Message::CompilerArtifact(made) = message? else { continue };
        if is_wrapped && made.target.name == "treering" && !made.profile.test {
            guest = made.executable.as_ref().and_then(|program| static_twin(program.as_std_path()));
        }
        let Some(executable) = made.executable.filter(|_| made.profile.test) else { continue };
        let package = packages.iter().find(|package| package.id == made.package_id);
        if let Some(package) = package
            && !made.target.kind.contains(&TargetKind::Example)
        {
            programs_found.push(CiProgram {
                package: package.name.to_string(),
                version: package.version.to_string(),
                target: made.target.name,
                folder: package.manifest_path.parent().ok_or("a manifest in no folder")?.into(),
                executable: executable.into(),
                filter: "",
                guest: None,
            });
        }
    }
    if !child.wait()?.success() {
        return Err("the tests do not compile".into());
    }
    programs_found.iter_mut().for_each(|program| program.guest.clone_from(&guest));
    programs_found.sort_by(|a, b| (&a.package, &a.target).cmp(&(&b.package, &b.target)));
    Ok(programs_found)
}

/// The static twin of a program, unless it is older: then it is not of the same sources.
fn static_twin(program: &Path) -> Option<PathBuf> {
    let twin = program.parent()?.join("deps/treering-static");
    let made = |path: &Path| path.metadata().and_then(|file| file.modified()).ok();
    (made(&twin)? >= made(program)?).then_some(twin)
}
