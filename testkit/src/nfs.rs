//! An NFS server for one test, nfs-ganesha on this machine, and guests whose kernels mount it over
//! a network bridge. Everything is removed when this is dropped.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::network::{NetworkBridge, ip, run, set_link};
use crate::{LoopFs, cannot_loop_mount, is_root, is_tool, temp_dir};

const PORT: u16 = 12049;
/// Last byte of the first guest's IP address.
const FIRST_ADDRESS: usize = 10;
/// First five bytes of the guests' MAC addresses, from the locally administered range.
const MAC: &str = "52:54:00:00:01";
/// Maximum boot time of a guest, generous for emulation on a busy machine.
const BOOT_TIMEOUT: Duration = Duration::from_secs(300);

/// Boot files of the guests.
#[derive(Clone, Copy, Debug)]
pub struct GuestSystem<'s> {
    /// The image of a kernel.
    pub kernel: &'s Path,
    /// Initramfs without the file `/mounts`. Its `/init` reads `name` and `address` from its
    /// environment, mounts the entries of that file, and prints `the client is ready`.
    pub initramfs: &'s Path,
}

/// Guests that have mounted one filesystem by NFS.
#[derive(Debug)]
pub struct NfsGuests {
    guests: Vec<Child>,
    server: Option<Child>,
    bridge: NetworkBridge,
    files: TempDir,
    /// Unmounted last, after the server has ended.
    exported: LoopFs,
}

/// Reason why NFS guests cannot run here, if any.
pub fn cannot_nfs() -> Option<String> {
    if !is_root() {
        return Some("needs root to link guests".to_owned());
    }
    let tools = ["ganesha.nfsd", "ip", "qemu-system-x86_64"];
    let missing = tools.into_iter().find(|tool| !is_tool(tool));
    let tun = Path::new("/dev/net/tun").exists();
    missing
        .map(|tool| format!("{tool} is not installed"))
        .or_else(|| (!tun).then(|| "there is no /dev/net/tun".to_owned()))
        .or_else(|| cannot_loop_mount("xfs"))
}

impl NfsGuests {
    /// Exports a directory for each version of NFS. No guest runs yet.
    pub fn serve(versions: &[&str]) -> Self {
        let mut nfs = Self {
            guests: Vec::new(),
            server: None,
            bridge: NetworkBridge::new(),
            files: temp_dir(),
            exported: LoopFs::new("xfs", 400),
        };
        let directories: Vec<_> = versions.iter().map(|version| nfs.directory(version)).collect();
        directories
            .iter()
            .for_each(|dir| std::fs::create_dir(dir).expect("a directory can be made"));
        let at = |name: &str| nfs.files.path().join(name);
        let text = configuration(&nfs.bridge.address(), nfs.files.path(), &directories);
        std::fs::write(at("server.conf"), text).expect("written");
        std::fs::write(at("mounts"), mounts(&nfs.bridge.address(), versions, &directories))
            .expect("written");
        let mut server = Command::new("ganesha.nfsd");
        server.arg("-F").arg("-f").arg(at("server.conf")).arg("-L").arg(at("server.log"));
        let server = server.arg("-p").arg(at("server.pid")).stdin(Stdio::null());
        nfs.server = Some(server.spawn().expect("the server starts"));
        nfs
    }

    /// Directory for an NFS version; the path is the same here and in the guests.
    pub fn directory(&self, version: &str) -> PathBuf {
        self.exported.path().join(format!("nfs-{version}"))
    }

    /// Path of the file that the guests need as `/mounts`.
    pub fn mounts(&self) -> PathBuf {
        self.files.path().join("mounts")
    }

    /// Boots this many guests, and waits until each has mounted every export.
    pub fn boot(&mut self, system: GuestSystem<'_>, guests: usize) {
        for guest in 0..guests {
            let tap = self.tap(guest);
            run(ip(&["tuntap", "add", "dev", &tap, "mode", "tap"]));
            self.bridge.join(&tap);
            let started = self.qemu(system, guest).spawn();
            self.guests.push(started.expect("QEMU starts"));
        }
        for guest in 0..guests {
            let began = Instant::now();
            while !self.console(guest).contains("the client is ready") {
                let is_over = self.guests[guest].try_wait().expect("it can be asked").is_some();
                let is_late = began.elapsed() > BOOT_TIMEOUT;
                assert!(!is_over && !is_late, "{}", self.console(guest));
                sleep(Duration::from_millis(100));
            }
        }
    }

    /// The address of a guest.
    pub fn address(&self, guest: usize) -> String {
        format!("{}.{}", self.bridge.network(), FIRST_ADDRESS + guest)
    }

    /// Address of this machine, as the guests see it.
    pub fn host(&self) -> String {
        self.bridge.address()
    }

    /// Console output of a guest.
    pub fn console(&self, guest: usize) -> String {
        let console = std::fs::read(self.files.path().join(format!("console-{guest}")));
        String::from_utf8_lossy(&console.unwrap_or_default()).into_owned()
    }

    /// Takes the network link of a guest down, or up again.
    pub fn set_link(&self, guest: usize, is_up: bool) {
        set_link(&self.tap(guest), is_up);
    }

    fn tap(&self, guest: usize) -> String {
        format!("{}t{guest}", self.bridge.name())
    }

    fn qemu(&self, system: GuestSystem<'_>, guest: usize) -> Command {
        let console = self.files.path().join(format!("console-{guest}"));
        let tap = self.tap(guest);
        let line = format!(
            "console=ttyS0 loglevel=4 panic=-1 name=client{guest} address={}",
            self.address(guest)
        );
        let network = format!("tap,id=net,ifname={tap},script=no,downscript=no");
        let device = format!("virtio-net-pci,netdev=net,mac={MAC}:{guest:02x}");
        let mut qemu = Command::new("qemu-system-x86_64");
        qemu.args(["-accel", "tcg", "-machine", "q35", "-cpu", "max", "-smp", "1", "-m", "768"])
            .args(["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-serial"])
            .arg(format!("file:{}", console.display()))
            .args(["-netdev", &network, "-device", &device])
            .arg("-kernel")
            .arg(system.kernel)
            .arg("-initrd")
            .arg(system.initramfs)
            .args(["-append", &line])
            .stdin(Stdio::null());
        qemu
    }
}

impl Drop for NfsGuests {
    fn drop(&mut self) {
        for child in self.guests.iter_mut().chain(&mut self.server) {
            let _ended_already = child.kill();
            let _it_is_gone = child.wait();
        }
        for guest in 0..self.guests.len() {
            let _not_there = ip(&["link", "del", &self.tap(guest)]).output();
        }
    }
}

/// Configuration of the server: NFS version 4 only, without a portmapper, and without a grace
/// period for former clients. Directories and attributes are not cached, since tests also change
/// the directories on this machine.
fn configuration(address: &str, files: &Path, directories: &[PathBuf]) -> String {
    let begin = format!(
        "NFS_CORE_PARAM {{ Protocols = 4; NFS_Port = {PORT}; Bind_addr = {address}; \
         Enable_NLM = false; Enable_RQUOTA = false; Enable_UDP = false; }}\n\
         NFSV4 {{ Graceless = true; Minor_Versions = 1, 2; RecoveryBackend = fs; \
         RecoveryRoot = {}; Only_Numeric_Owners = true; }}\n\
         MDCACHE {{ Dir_Chunk = 0; }}\n",
        files.display()
    );
    let exports = directories.iter().enumerate().map(|(number, dir)| {
        format!(
            "EXPORT {{ Export_Id = {}; Path = {}; Pseudo = /e{number}; Access_Type = RW; \
             Squash = No_Root_Squash; Sectype = sys; Protocols = 4; Transports = TCP; \
             Attr_Expiration_Time = 0; FSAL {{ Name = VFS; }} }}\n",
            number + 1,
            dir.display()
        )
    });
    begin + &exports.collect::<String>()
}

/// Content of the file `/mounts`: mount source, mount point and options.
fn mounts(address: &str, versions: &[&str], directories: &[PathBuf]) -> String {
    let line = |(number, (version, dir)): (usize, (&&str, &PathBuf))| {
        format!(
            "{address}:/e{number} {} vers={version},proto=tcp,port={PORT},hard,addr={address}\n",
            dir.display()
        )
    };
    versions.iter().zip(directories).enumerate().map(line).collect()
}
