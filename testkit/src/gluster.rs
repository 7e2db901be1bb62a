//! A GlusterFS for one test: a brick on a loop device, and clients in network namespaces of their
//! own. Everything is removed when this is dropped.
//!
//! Server and clients are given their volume files directly: no glusterd, no state of the machine.

use std::fmt::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::network::{NetworkBridge, ip, run, set_link};
use crate::{LoopFs, cannot_loop_mount, is_root, is_tool, temp_dir};

/// Timeout of clients for a silent server, in seconds.
const PING_SECONDS: u32 = 3;

/// Clients of one GlusterFS.
#[derive(Debug)]
pub struct GlusterClients {
    bridge: NetworkBridge,
    clients: Vec<PathBuf>,
    files: TempDir,
    /// Unmounted last, after the server has ended.
    brick: LoopFs,
}

/// Reason why GlusterFS cannot run here, if any.
pub fn cannot_gluster() -> Option<String> {
    if !is_root() {
        return Some("needs root to make network namespaces".to_owned());
    }
    let tools = ["glusterfsd", "glusterfs", "ip", "nsenter"];
    let missing = tools.into_iter().find(|tool| !is_tool(tool));
    missing.map(|tool| format!("{tool} is not installed")).or_else(|| cannot_loop_mount("xfs"))
}

impl GlusterClients {
    /// Starts a server on a brick of this size, and mounts `clients` clients, at most 9.
    pub fn new(clients: usize, mebibytes: u64) -> Self {
        let (brick, files) = (LoopFs::new("xfs", mebibytes), temp_dir());
        let made = Self {
            bridge: NetworkBridge::new(),
            clients: (0..clients).map(|number| files.path().join(format!("c{number}"))).collect(),
            files,
            brick,
        };
        made.connect();
        made.serve();
        made
    }

    /// Mount point of each client.
    pub fn clients(&self) -> &[PathBuf] {
        &self.clients
    }

    /// Path of any client's mount point, with `{rank}` for the number of the client.
    pub fn pattern(&self) -> PathBuf {
        self.files.path().join("c{rank}")
    }

    /// Takes the network link of a client down, or up again.
    pub fn set_link(&self, client: usize, is_up: bool) {
        set_link(&self.veth(client), is_up);
    }

    /// Directory on the server in which GlusterFS stores the files.
    pub fn brick(&self) -> PathBuf {
        self.brick.path().join("brick")
    }

    fn veth(&self, client: usize) -> String {
        format!("{}v{client}", self.bridge.name())
    }

    fn namespace(&self, client: usize) -> String {
        format!("{}n{client}", self.bridge.name())
    }

    /// Creates a network namespace for each client and connects it to the bridge.
    fn connect(&self) {
        let network = self.bridge.network();
        for client in 0..self.clients.len() {
            let (veth, namespace) = (self.veth(client), self.namespace(client));
            let address = format!("{network}.{}/24", 10 + client);
            run(ip(&["netns", "add", &namespace]));
            let link = ["link", "add", &veth, "type", "veth", "peer", "name", "eth0", "netns"];
            run(ip(&link).arg(&namespace));
            self.bridge.join(&veth);
            run(ip(&["-n", &namespace, "addr", "add", &address, "dev", "eth0"]));
            run(ip(&["-n", &namespace, "link", "set", "eth0", "up"]));
        }
    }

    fn serve(&self) {
        std::fs::create_dir(self.brick()).expect("a directory can be made");
        let free = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let port = free.expect("there is a free port").port();
        let at = |name: &str| self.files.path().join(name);
        std::fs::write(at("server.vol"), server_volume(&self.brick(), port)).expect("written");
        std::fs::write(at("client.vol"), client_volume(self.bridge.network(), port))
            .expect("written");
        run(Command::new("glusterfsd")
            .arg("-f")
            .arg(at("server.vol"))
            .arg("-p")
            .arg(at("s.pid"))
            .arg("-l")
            .arg(at("server.log")));
        for (number, dir) in self.clients.iter().enumerate() {
            std::fs::create_dir(dir).expect("a mount point can be made");
            let namespace = format!("--net=/var/run/netns/{}", self.namespace(number));
            run(Command::new("nsenter")
                .arg(namespace)
                .arg("glusterfs")
                .arg("-f")
                .arg(at("client.vol"))
                .arg("-p")
                .arg(at(&format!("c{number}.pid")))
                .arg("-l")
                .arg(at(&format!("c{number}.log")))
                .arg(dir));
            let began = Instant::now();
            while std::fs::read_dir(dir).is_err() {
                assert!(began.elapsed() < Duration::from_secs(60), "a client does not connect");
                sleep(Duration::from_millis(50));
            }
        }
    }
}

impl Drop for GlusterClients {
    fn drop(&mut self) {
        for (number, dir) in self.clients.iter().enumerate() {
            let _not_mounted = Command::new("umount").arg("-l").arg(dir).output();
            self.kill(&format!("c{number}.pid"));
            let _not_there = ip(&["netns", "del", &self.namespace(number)]).output();
            let _gone_with_it = ip(&["link", "del", &self.veth(number)]).output();
        }
        self.kill("s.pid");
    }
}

impl GlusterClients {
    /// Kills the process whose id is in this file, and waits until it is gone.
    fn kill(&self, file: &str) {
        let Ok(process) = std::fs::read_to_string(self.files.path().join(file)) else { return };
        let _ended_already = Command::new("kill").args(["-s", "KILL", process.trim()]).output();
        let began = Instant::now();
        while Path::new("/proc").join(process.trim()).exists()
            && began.elapsed() < Duration::from_secs(10)
        {
            sleep(Duration::from_millis(20));
        }
    }
}

fn server_volume(brick: &Path, port: u16) -> String {
    let mut text = String::new();
    let layers = [
        ("posix", "storage/posix", format!("option directory {}", brick.display())),
        ("locks", "features/locks", "subvolumes posix".to_owned()),
        ("brick", "performance/io-threads", "subvolumes locks".to_owned()),
        (
            "server",
            "protocol/server",
            format!(
                "option transport-type tcp\n  option transport.socket.listen-port {port}\n  \
                 option auth.addr.brick.allow *\n  subvolumes brick"
            ),
        ),
    ];
    for (name, kind, options) in layers {
        let _to_a_string = write!(text, "volume {name}\n  type {kind}\n  {options}\nend-volume\n");
    }
    text
}

fn client_volume(network: &str, port: u16) -> String {
    format!(
        "volume remote\n  type protocol/client\n  option transport-type tcp\n  \
         option remote-host {network}.1\n  option remote-port {port}\n  \
         option remote-subvolume brick\n  option ping-timeout {PING_SECONDS}\nend-volume\n"
    )
}
