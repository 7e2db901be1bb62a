//! Two guests whose kernels have mounted a shared filesystem by NFS, with a rank in each: MPICH's
//! launcher on the host starts the ranks through `nfs_client.c`. The requirements are those of
//! `kernels` and `mpi`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use treering_guest::{Kernel, needed};
use treering_model::{CautionCode, Ending, GuestDisk, Trial};
use treering_testkit::{
    FinishedCommand, GuestSystem, NfsGuests, RunningProgram, TempDir, cannot_nfs, is_tool, skip,
    temp_dir, wait_until,
};

use crate::bisecting::compiled;
use crate::kernels::{fact, initramfs, packages, trials};
use crate::mpi::{Mpi, fs_mark};
use crate::program;

const CLIENT: &str = concat!(include_str!("guest_modules.c"), include_str!("nfs_client.c"));
/// Proxy that hydra, the launcher of MPICH, starts on each machine.
const PROXY: &str = "/usr/bin/hydra_pmi_proxy";
const VERSIONS: [&str; 2] = ["4.2", "4.1"];
const STARTS_MAX: u32 = 5;

/// Clients in guests.
struct Clients {
    mpi: Mpi,
    shared: NfsGuests,
    place: TempDir,
}

impl Clients {
    /// Starts two guests that have mounted every version; `None` if a required program is missing.
    fn two() -> Option<Self> {
        let mpi = Mpi::of("mpich")?;
        let kernels = packages()?;
        if let Some(why) = cannot_nfs() {
            skip(&why);
            return None;
        }
        let tools = ["cpio", "dpkg-deb", "strip", PROXY];
        if let Some(missing) = tools.into_iter().find(|tool| !is_tool(tool)) {
            skip(&format!("{missing} is not installed"));
            return None;
        }
        let place = temp_dir();
        let call = place.path().join("call");
        compiled(CLIENT, &call).or_else(|| {
            skip("nothing can be compiled statically here");
            None
        })?;
        let mut shared = NfsGuests::serve(&VERSIONS);
        let (tree, archive) = (place.path().join("tree"), place.path().join("initramfs"));
        tree_of_client(&tree, mpi.binary());
        fs::copy(shared.mounts(), tree.join("mounts")).unwrap();
        let kernel = with_network(&kernels[0], &place.path().join("kernel"));
        let image = place.path().join("vmlinuz");
        fs::write(&image, &kernel.image).unwrap();
        let mut modules = needed(&kernel, GuestDisk::Virtio, "nfsv4", &[]).unwrap();
        let of_network = needed(&kernel, GuestDisk::Virtio, "virtio_net", &[]).unwrap();
        modules.extend(of_network);
        let mut seen = BTreeSet::new();
        modules.retain(|module| seen.insert(module.name.clone()));
        initramfs(&tree, &call, &modules, &archive);
        shared.boot(GuestSystem { kernel: &image, initramfs: &archive }, 2);
        let clients = Self { mpi, shared, place };
        clients.warm_up();
        Some(clients)
    }

    /// Starts ranks until they reach one another. In guests that have just booted UCX, below MPICH,
    /// sometimes reports the other rank as unreachable.
    fn warm_up(&self) {
        let mut ran = None;
        for _ in 0..STARTS_MAX {
            let mut command = self.ranks(&[0, 1]);
            fs_mark(&mut command, "/tmp", Path::new("/root/warm-up.db"), "1");
            let this = FinishedCommand::run(&mut command);
            if !this.stderr.contains("unreachable") {
                return;
            }
            ran = Some(this);
        }
        panic!("the guests do not reach one another: {}", ran.unwrap());
    }

    /// Launcher command that starts ranks in these guests.
    fn launcher(&self, guests: &[usize]) -> String {
        let addresses: Vec<_> = guests.iter().map(|guest| self.shared.address(*guest)).collect();
        format!(
            "mpirun.mpich -launcher rsh -launcher-exec {} -genv UCX_NET_DEVICES eth0 -wdir /tmp \
             -localhost {} -hosts {}",
            self.place.path().join("call").display(),
            self.shared.host(),
            addresses.join(",")
        )
    }
}

/// Unpacks a kernel package and reads it with its network modules. Those in their usual folders are
/// not read, since guests have no network, so they are moved to the folder of out-of-tree modules.
fn with_network(package: &Path, to: &Path) -> Kernel {
    FinishedCommand::run(Command::new("dpkg-deb").arg("-x").arg(package).arg(to)).ends_with(0);
    for release in fs::read_dir(to.join("lib/modules")).unwrap().flatten() {
        fs::create_dir(release.path().join("extra")).unwrap();
        for folder in ["net", "drivers/net"] {
            let own = release.path().join("extra").join(folder.replace('/', "-"));
            fs::rename(release.path().join("kernel").join(folder), own).unwrap();
        }
    }
    Kernel::read(to).unwrap()
}

/// Copies the files that a client needs besides its init program and modules: the program, the
/// proxy of the launcher, and the libraries of both, as far as they exist on this machine.
fn tree_of_client(tree: &Path, program: &Path) {
    let put = |path: &Path| {
        let to = tree.join(path.strip_prefix("/").unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        to
    };
    let mut strip = Command::new("strip");
    FinishedCommand::run(strip.arg("-o").arg(put(program)).arg(program)).ends_with(0);
    fs::copy(PROXY, put(Path::new(PROXY))).unwrap();
    let said = FinishedCommand::run(Command::new("ldd").arg(program).arg(PROXY)).ends_with(0);
    let paths = said.stdout.split_whitespace().filter(|word| word.starts_with("/lib"));
    for library in paths.collect::<BTreeSet<_>>() {
        fs::copy(library, put(Path::new(library))).unwrap();
    }
    for folder in ["dev", "proc", "sys", "run", "tmp", "root", "etc"] {
        fs::create_dir_all(tree.join(folder)).unwrap();
    }
}

impl Clients {
    /// Writes a plan whose variants are the versions of NFS, with these keys at the top.
    fn plan(&self, top: &str, files: u32) -> PathBuf {
        let variant = |version: &str| {
            let dir = self.shared.directory(version);
            format!(
                "[[variant]]\nname = \"vers={version}\"\ndevice = {{ directory = \"{}\" }}\n",
                dir.display()
            )
        };
        let text = format!(
            "warm-up = false\n{top}\nlauncher = \"{}\"\nmpi-program = \"{}\"\n{}\
             [[job]]\nworkload = \"mdtest\"\nranks = 2\noptions = {{ items = {files} }}\n",
            self.launcher(&[0, 1]),
            self.mpi.binary().display(),
            VERSIONS.map(variant).concat()
        );
        let plan = self.place.path().join("plan.toml");
        fs::write(&plan, text).unwrap();
        plan
    }

    /// Command that starts a rank of the program in each of these guests; the caller adds
    /// arguments.
    fn ranks(&self, guests: &[usize]) -> Command {
        let launcher = self.launcher(guests);
        let mut words = launcher.split(' ');
        let mut command = Command::new(words.next().unwrap());
        self.mpi.program.prepare(&mut command);
        command.args(words).args(["-n", &guests.len().to_string()]).arg(self.mpi.binary());
        command
    }

    /// Runs the program in one guest.
    fn run_in(&self, guest: usize, words: &[&str]) -> FinishedCommand {
        FinishedCommand::run(self.ranks(&[guest]).args(words))
    }

    fn compare(&self, plan: &Path) -> (FinishedCommand, Vec<Trial>) {
        let store = self.place.path().join("results.db");
        let program = program();
        let mut command = program.command(["compare", "--store"]);
        let ran = FinishedCommand::run(command.arg(&store).arg(plan));
        assert!(store.exists(), "{ran}");
        (ran, trials(&store))
    }
}

#[test]
fn a_plan_compares_versions_of_nfs_with_a_rank_in_each_of_two_guests() {
    let Some(clients) = Clients::two() else { return };
    let (ran, kept) = clients.compare(&clients.plan("rounds = 2", 20));
    ran.clone().ends_with(0);
    assert_eq!(kept.len(), 4, "{ran}");
    for trial in &kept {
        assert_eq!(trial.ending, Ending::Completed, "{ran}");
        assert_eq!(fact(trial, "ranks.hosts"), Some("2"));
        assert!(fact(trial, "ranks.mount").unwrap().starts_with("nfs4 "));
        let variant = &trial.beginning.cell.as_ref().unwrap().variant;
        let options = fact(trial, "filesystem.super_options").unwrap();
        assert!(options.split(',').any(|option| option == variant), "{options}");
        let codes = trial.cautions.iter().map(|caution| caution.code);
        assert!(!codes.into_iter().any(|code| code == CautionCode::NotShared), "{ran}");
    }
    for version in VERSIONS {
        let left = fs::read_dir(clients.shared.directory(version)).unwrap();
        assert_eq!(left.count(), 0);
    }
}

#[test]
fn a_disconnected_guest_ends_the_run_and_measurements_are_stored() {
    let Some(clients) = Clients::two() else { return };
    let dir = clients.shared.directory("4.2");
    let mut command = clients.ranks(&[0, 1]);
    fs_mark(&mut command, dir.to_str().unwrap(), Path::new("/root/results.db"), "20");
    command.args(["--iterations", "1000", "--rank-timeout", "10"]);
    let running = RunningProgram::start(&mut command);
    wait_until("files are made", || {
        fs::read_dir(dir.join("fs_mark-0")).map_or(0, Iterator::count) > 60
    });
    clients.shared.set_link(1, false);
    let ran = running.finish();
    assert_ne!(ran.code, Some(0), "{ran}");
    let words = ["show", "last", "--format", "json", "--store", "/root/results.db"];
    let shown = clients.run_in(0, &words).ends_with(0);
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(shown["state"], "failed", "{ran}");
    let why = shown["why"].as_str().unwrap();
    assert!(why.contains("rank 1 on client1"), "{why}");
    assert!(shown["phases"].as_array().unwrap().len() > 1, "{shown}");
}

#[test]
fn a_pack_of_one_guest_is_repeated_in_another() {
    let Some(clients) = Clients::two() else { return };
    let shared = clients.shared.directory("4.1");
    let pack = shared.join("night.pack");
    let pack = pack.to_str().unwrap();
    let run = ["run", "fs_mark", "--files", "20", "--size", "4096", "--dir", "/tmp", "--quiet"];
    clients.run_in(0, &run).ends_with(0);
    clients.run_in(0, &["pack", "last", "-o", pack]).ends_with(0);
    let store = "/root/results.db";
    let repeat = ["repeat", pack, "--dir", "/tmp", "--quiet", "--store", store];
    let ran = clients.run_in(1, &repeat).ends_with(0);
    assert!(ran.stdout.contains("packed") && ran.stdout.contains("here"), "{ran}");
    let listed = ["list", "--format", "json", "--store", store];
    let listed = clients.run_in(1, &listed).ends_with(0);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();

    assert_eq!(listed["trials"].as_array().map(Vec::len), Some(2), "{listed}");
    // Exported trials have no machine names.
    let exported =
        clients.run_in(1, &["export", "--format", "json", "--store", store]).ends_with(0);
    assert!(
        exported.stdout.contains("host-1") && !exported.stdout.contains("client0"),
        "{exported}"
    );
}
