//! The test programs of the workspace: building them, and which of them hold loop devices.

use std::error::Error;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cargo_metadata::{Message, MetadataCommand, TargetKind};

use crate::checkout;

/// Programs whose tests hold loop devices and mounts, and their number of concurrent tests for each
/// CPU. Tests of `documents` mostly wait for commands of a page that run for some seconds.
const ON_DEVICES: [(&str, usize); 3] = [("documents", 3), ("cli", 2), ("devices", 1)];

/// Environment variable that enables the tests that boot kernels.
const KERNELS: &str = "TREERING_KERNELS";
/// Environment variable with the path of the static program for guests. If it is not set, those
/// tests build the program, which takes minutes.
const STATIC: &str = "TREERING_STATIC";
/// Compiler wrapper that also builds the static program.
const WRAPPER: &str = "scripts/rustc-static.sh";

/// A test program.
#[derive(Clone, Debug)]
pub(crate) struct CiProgram {
    /// Name of the package.
    pub(crate) package: String,
    version: String,
    /// Name of the target: `cli`, or that of the library.
    pub(crate) target: String,
    /// Folder of the package, the working directory of its tests.
    folder: PathBuf,
    executable: PathBuf,
    /// Part of the names of the tests to run; empty for all tests.
    filter: &'static str,
    /// The static program for guests, if kernels are to be booted and it was built.
    guest: Option<PathBuf>,
}

impl CiProgram {
    /// True if the tests hold loop devices; such programs run one after the other.
    pub(crate) fn is_on_devices(&self) -> bool {
        ON_DEVICES.iter().any(|(name, _)| *name == self.target)
    }

    /// Limits the program to the tests with this text in their names.
    pub(crate) fn only(self, filter: &'static str) -> Self {
        Self { filter, ..self }
    }

    /// Number of concurrent tests on a machine with `cpus` CPUs.
    pub(crate) fn threads(&self, cpus: usize) -> usize {
        let listed = ON_DEVICES.iter().find(|(name, _)| *name == self.target);
        cpus * listed.map_or(1, |(_, threads)| *threads)
    }

    /// Command that runs the tests, as cargo would.
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

/// Builds all test programs, sorted by package and target.
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
        let Message::CompilerArtifact(artifact) = message? else { continue };
        if is_wrapped && artifact.target.name == "treering" && !artifact.profile.test {
            guest = artifact
                .executable
                .as_ref()
                .and_then(|program| static_build(program.as_std_path()));
        }
        let Some(executable) = artifact.executable.filter(|_| artifact.profile.test) else {
            continue;
        };
        let package = packages.iter().find(|package| package.id == artifact.package_id);
        if let Some(package) = package
            && !artifact.target.kind.contains(&TargetKind::Example)
        {
            programs_found.push(CiProgram {
                package: package.name.to_string(),
                version: package.version.to_string(),
                target: artifact.target.name,
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

/// Path of the static build of a program, unless it is older and thus of other sources.
fn static_build(program: &Path) -> Option<PathBuf> {
    let static_program = program.parent()?.join("deps/treering-static");
    let modified_at = |path: &Path| path.metadata().and_then(|file| file.modified()).ok();
    (modified_at(&static_program)? >= modified_at(program)?).then_some(static_program)
}
